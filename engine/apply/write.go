package apply

import (
	"context"
	"errors"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// commit writes state under the run's fence. The guard is asked first, and a refusal
// by the fence is a lost lock (EX-28). A write ends with the lock, never with the run:
// what a provider did must be recorded. The rows are copied, so that a caller may go
// on changing them.
func (x *execution) commit(batch state.Batch) error {
	if err := x.Lease.Check(); err != nil {
		return x.lose(x.leaseLost())
	}
	if err := x.inScope(batch); err != nil {
		return err
	}
	fence := x.Lease.Fence()
	for i, row := range batch.PutRows {
		batch.PutRows[i] = row.Clone()
		batch.PutRows[i].Epoch = fence.Epoch
	}
	ctx, cancel := context.WithTimeout(x.writes, x.NodeTimeout)
	defer cancel()
	err := x.Store.Commit(ctx, x.Partition, fence, batch)
	if model.IsKind(err, model.FencedWriteError) {
		return x.lose(err)
	}
	if err != nil && x.writes.Err() != nil {
		return context.Cause(x.writes)
	}
	return stateError(err)
}

// scope is what a run of the plan may write: the nodes that it has a verdict on and the
// old halves that it found (LS-2).
func scope(p *plan.Plan) map[string]bool {
	ids := make(map[string]bool, len(p.Changes))
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.PendingDestroy != nil {
			ids[c.PendingDestroy.NodeID] = true
			continue
		}
		ids[c.NodeID] = true
	}
	return ids
}

// inScope refuses a write of what the plan is not about, which is a mistake of the
// engine.
func (x *execution) inScope(batch state.Batch) error {
	ids := slices.Concat(batch.DeleteRows, batch.DeletePending)
	for _, row := range batch.PutRows {
		ids = append(ids, row.ID)
	}
	for _, entry := range batch.PutPending {
		ids = append(ids, entry.NodeID, entry.Row.ID)
	}
	for _, id := range ids {
		if !x.scope[id] {
			return model.Errorf(model.AtlantideError, model.ClassUnknown,
				"nothing was written: %s is not part of the plan that runs; report this as a bug", id)
		}
	}
	return nil
}

// alongside writes what a failure leaves to record and returns the failure; a write
// that fails too goes with it.
func (x *execution) alongside(failure error, batch state.Batch) error {
	err := x.commit(batch)
	if err == nil {
		return failure
	}
	if model.IsKind(err, model.LeaseLostError) || model.IsKind(err, model.FencedWriteError) {
		return err
	}
	e := *asError(failure)
	e.AlsoFailed = append(e.AlsoFailed, asError(err))
	return &e
}

// stateError types an error of the store.
func stateError(err error) error {
	var typed *model.Error
	if err == nil || errors.As(err, &typed) {
		return err
	}
	return model.Errorf(model.StateError, model.ClassTransient, "the state could not be written: %w", err)
}
