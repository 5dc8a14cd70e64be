package postgres

import (
	"testing"

	"github.com/google/uuid"

	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/hack/devenv"
)

// SC-22: each installation records the key that it seals with; of two processes that move
// it on at once, one does.
func TestSealingKey(t *testing.T) {
	dsn := devenv.Database(t)
	mine, other := open(t, dsn), open(t, dsn, func(o *Options) { o.Installation = "another" })
	record := func(s *Store, was, id string, want bool) {
		t.Helper()
		if did, err := s.RecordSealingKey(t.Context(), was, id); err != nil || did != want {
			t.Errorf("from %q to %q: %v, %v, want %v", was, id, did, err, want)
		}
	}
	recorded := func(s *Store, want string) {
		t.Helper()
		if id, err := s.SealingKey(t.Context()); err != nil || id != want {
			t.Errorf("recorded is %q, %v, want %q", id, err, want)
		}
	}
	recorded(mine, "")
	record(mine, "one", "two", false)
	record(mine, "", "one", true)
	record(mine, "", "two", false)
	recorded(mine, "one")
	record(mine, "one", "two", true)
	record(mine, "one", "three", false)
	recorded(mine, "two")
	recorded(other, "")
}

// SC-22: what was recorded with a key is found wherever it lies, and what needs none is
// not taken for it.
func TestHoldsKeyed(t *testing.T) {
	sealed := map[string]any{"$sealed": "v3:00000000:AAAA"}
	row := func(change func(*state.Row)) *state.Row {
		r := &state.Row{ID: "s:t:a", RowUID: uuid.NewString(), Outputs: map[string]any{"text": "$sealed"}}
		change(r)
		return r
	}
	for _, c := range []struct {
		reason string
		batch  state.Batch
		want   bool
	}{
		{"a plain row", state.Batch{PutRows: []*state.Row{row(func(*state.Row) {})}}, false},
		{"the digest of another stack's output has no key", state.Batch{PutRows: []*state.Row{row(func(r *state.Row) {
			r.SecretDigests = map[string]string{"$stack_output:s:x": "sha256:0"}
		})}}, false},
		{"a sealed output of a node", state.Batch{PutRows: []*state.Row{row(func(r *state.Row) { r.Outputs["value"] = sealed })}}, true},
		{"the digest of a secret", state.Batch{PutRows: []*state.Row{row(func(r *state.Row) { r.SecretDigests = map[string]string{"content": "00"} })}}, true},
		{"the digest of a sensitive reference", state.Batch{PutRows: []*state.Row{row(func(r *state.Row) { r.RefDigests = map[string]string{"content": "salted:00"} })}}, true},
		{"the old half of a replace", state.Batch{PutPending: []*state.PendingDestroy{{
			NodeID: "s:t:a", Mode: state.CreateBeforeDestroy, Row: row(func(r *state.Row) { r.Outputs["value"] = sealed })}}}, true},
		{"a committed output", state.Batch{SetOutputs: map[string]state.Output{"s:x": {Value: sealed, Sensitive: true}}}, true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			dsn := devenv.Database(t)
			s := open(t, dsn)
			partition := newPartition(t, s)
			if err := s.Commit(t.Context(), partition, take(t, s, partition, "h"), c.batch); err != nil {
				t.Fatal(err)
			}
			if holds, err := s.HoldsKeyed(t.Context()); err != nil || holds != c.want {
				t.Errorf("holds %v, %v, want %v", holds, err, c.want)
			}
			other := open(t, dsn, func(o *Options) { o.Installation = "another" })
			if holds, err := other.HoldsKeyed(t.Context()); err != nil || holds {
				t.Errorf("another installation holds %v, %v", holds, err)
			}
		})
	}
}
