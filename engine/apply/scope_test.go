package apply

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/lease/leasetest"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/memory"
)

// A run writes what its plan has a verdict on, whatever a mistake of the engine asks
// for (LS-2).
func TestWritesStayInThePlan(t *testing.T) {
	const partition, declared, left, foreign = "p", "s:test.T:declared", "s:test.T:left", "s:test.T:foreign"
	old := &state.PendingDestroy{NodeID: left, Row: &state.Row{ID: left}, Mode: state.DestroyBeforeCreate}
	p := &plan.Plan{
		Changes: []plan.Change{
			{NodeID: declared, Action: plan.Create, Desired: &ir.Node{ID: declared}},
			{NodeID: left + plan.PendingSuffix, Action: plan.Delete, PendingDestroy: old},
		},
		Snapshot: &state.Snapshot{Pending: map[string]*state.PendingDestroy{left: old}},
	}
	for _, c := range []struct {
		reason string
		batch  state.Batch
		ok     bool
	}{
		{"a declared node", state.Batch{PutRows: []*state.Row{{ID: declared}}}, true},
		{"an old half that was found", state.Batch{DeletePending: []string{left}}, true},
		{"outputs have no node", state.Batch{SetOutputs: map[string]state.Output{"s:x": {Value: "v"}}}, true},
		{"the row of another node", state.Batch{PutRows: []*state.Row{{ID: declared}, {ID: foreign}}}, false},
		{"its delete", state.Batch{DeleteRows: []string{foreign}}, false},
		{"an old half of it", state.Batch{PutPending: []*state.PendingDestroy{{NodeID: foreign, Row: &state.Row{ID: declared}}}}, false},
		{"an old half that is it", state.Batch{PutPending: []*state.PendingDestroy{{NodeID: declared, Row: &state.Row{ID: foreign}}}}, false},
		{"the end of its old half", state.Batch{DeletePending: []string{foreign}}, false},
		{"the name under which an old half is listed", state.Batch{DeleteRows: []string{left + plan.PendingSuffix}}, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			store := memory.New()
			holder := leasetest.NewLocal(func() string { return "run" }, func(ctx context.Context, f model.Fence) error { return store.Claim(ctx, partition, f) })
			handle, err := holder.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			r := &Run{Schemas: &model.Schemas{}, Store: store, Partition: partition, Lease: handle, NodeTimeout: time.Minute}
			x := r.begin(t.Context(), p)
			defer x.end()
			err = x.commit(c.batch)
			if c.ok != (err == nil) {
				t.Fatalf("error %v", err)
			}
			if !c.ok && (model.KindOf(err) != model.AtlantideError || !strings.Contains(err.Error(), "bug")) {
				t.Errorf("error %s %v, want an AtlantideError that asks for a report", model.KindOf(err), err)
			}
			if serial, err := store.Serial(t.Context(), partition); err != nil || (serial == 1) != c.ok {
				t.Errorf("serial %d, %v", serial, err)
			}
		})
	}
}
