package state_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/statetest"
)

func TestRowDocument(t *testing.T) {
	if _, err := state.RowFromDocument(map[string]any{"id": "s:local.File:a", "dependencies": []any{int64(1)}}); err == nil {
		t.Error("a record whose field has another type was read")
	} else if !strings.Contains(err.Error(), "s:local.File:a") || !strings.Contains(err.Error(), "dependencies") {
		t.Errorf("%v does not name node and field", err)
	}
	row, err := state.RowFromDocument(map[string]any{"id": "s:local.File:a", "from_another_release": true})
	if err != nil || row.ID != "s:local.File:a" {
		t.Errorf("an unknown key made the record unreadable: %v", err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		want := statetest.DrawRow(rt, "s:local.File:a")
		got, err := state.RowFromDocument(want.Document())
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("row (-want +got):\n%s", diff)
		}
	})
}

// Writing a merged batch and writing its parts in turn end in the same state.
func TestMerge(t *testing.T) {
	ids := []string{"s:t:a", "s:t:b"}
	rapid.Check(t, func(rt *rapid.T) {
		batches := make([]state.Batch, rapid.IntRange(1, 4).Draw(rt, "batches"))
		for i := range batches {
			b := &batches[i]
			b.SetOutputs = map[string]state.Output{}
			for _, id := range ids {
				what := rapid.IntRange(0, 7).Draw(rt, "what")
				if what&1 > 0 {
					b.DeleteRows, b.DeletePending, b.RemoveOutputs = append(b.DeleteRows, id), append(b.DeletePending, id), append(b.RemoveOutputs, id)
				}
				if what&2 > 0 {
					b.PutRows = append(b.PutRows, &state.Row{ID: id, Epoch: int64(i)})
					b.PutPending = append(b.PutPending, &state.PendingDestroy{NodeID: id, Row: &state.Row{ID: id, Epoch: int64(i)}})
				}
				if what&4 > 0 {
					b.SetOutputs[id] = state.Output{Value: int64(i)}
				}
			}
		}
		want, got := content{}, content{}
		for _, b := range batches {
			want.write(b)
		}
		got.write(state.Merge(batches...))
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("(-in turn +merged):\n%s", diff)
		}
	})
}

// content is what a store holds, by kind and key.
type content map[string]any

func (c content) write(b state.Batch) {
	for kind, keys := range map[string][]string{"row ": b.DeleteRows, "pending ": b.DeletePending, "output ": b.RemoveOutputs} {
		for _, key := range keys {
			delete(c, kind+key)
		}
	}
	for _, r := range b.PutRows {
		c["row "+r.ID] = r
	}
	for _, p := range b.PutPending {
		c["pending "+p.NodeID] = p
	}
	for key, o := range b.SetOutputs {
		c["output "+key] = o
	}
}
