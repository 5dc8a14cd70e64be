package postgres

import (
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/hack/devenv"
)

// T-166: a write that is refused in the middle of its transaction leaves the one connection
// that there is fit for the next.
func TestRefusedWriteLeavesTheConnection(t *testing.T) {
	s := open(t, devenv.Database(t), func(o *Options) { o.MaxConns = 1 })
	id := newPartition(t, s)
	stale := take(t, s, id, "run-1")
	current := take(t, s, id, "run-2")
	batch := state.Batch{PutRows: []*state.Row{{ID: "s:local.Null:a", Type: "local.Null", Status: state.StatusCreated}}}
	for range 3 {
		wantKind(t, "a stale write", s.Commit(t.Context(), id, stale, batch), model.FencedWriteError)
		if err := s.Commit(t.Context(), id, current, batch); err != nil {
			t.Fatalf("the write after it: %v", err)
		}
	}
	if snapshot, err := s.Load(t.Context(), id); err != nil || len(snapshot.Rows) != 1 {
		t.Errorf("%+v, %v", snapshot, err)
	}
}

// T-167: what cannot be read is an error, never an empty state, an unheld lock or a fence
// that stands.
func TestUnreadableIsNotEmpty(t *testing.T) {
	s := open(t, devenv.Database(t))
	id := newPartition(t, s)
	fence := take(t, s, id, "run-1")
	s.Close()
	if snapshot, err := s.Load(t.Context(), id); snapshot != nil || !model.IsKind(err, model.StateError) {
		t.Errorf("loaded %+v, %v", snapshot, err)
	}
	if serial, err := s.Serial(t.Context(), id); !model.IsKind(err, model.StateError) {
		t.Errorf("serial %d, %v", serial, err)
	}
	if holds, err := s.Holds(t.Context(), id); !model.IsKind(err, model.StateError) {
		t.Errorf("holds %+v, %v", holds, err)
	}
	wantKind(t, "the fence", s.CheckFence(t.Context(), id, fence), model.StateError)
	if err := s.CheckFence(t.Context(), id, fence); model.IsKind(err, model.FencedWriteError) {
		t.Errorf("the fence is said to be lost: %v", err)
	}
}
