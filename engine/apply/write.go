package apply

import (
	"context"
	"errors"
	"slices"
	"time"

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
	if err := x.seal(&batch, fence.Epoch); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(x.writes, x.NodeTimeout)
	defer cancel()
	err := x.persist(ctx, func() error { return x.Store.Commit(ctx, x.Partition, fence, batch) })
	if model.IsKind(err, model.FencedWriteError) {
		return x.lose(err)
	}
	if err != nil && x.writes.Err() != nil {
		return x.lostOver(err)
	}
	if err == nil {
		x.keep(batch)
	}
	return stateError(err)
}

// lostOver is that the lock ended while a write was tried, with why the write did not succeed
// until then: a store that takes no write takes no renewal either.
func (x *execution) lostOver(err error) error {
	lost := context.Cause(x.writes)
	if !errors.Is(err, state.ErrUnavailable) || errors.Is(err, context.Canceled) {
		return lost
	}
	return grouped(asError(lost), []*model.Error{asError(stateError(err))})
}

// ahead writes what precedes a change of the world, and thereby proves the right to it
// (EX-18).
func (x *execution) ahead(batch state.Batch) error {
	batch.Ahead = true
	return x.commit(batch)
}

// persist asks the store, and asks again while it is not available and the lock is held
// (LS-22): every try proves the fence anew, and a write whose answer was lost may be
// repeated.
func (x *execution) persist(ctx context.Context, ask func() error) error {
	for attempt := 0; ; attempt++ {
		err := ask()
		if err == nil || x.Backoff == nil || !errors.Is(err, state.ErrUnavailable) || x.Lease.Check() != nil {
			return err
		}
		wait, again := x.Backoff(attempt)
		if !again {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// seal gives a batch rows of its own, with what is sensitive encrypted: nothing is written
// on any other way.
func (x *execution) seal(batch *state.Batch, epoch int64) error {
	rows, entries := slices.Clone(batch.PutRows), slices.Clone(batch.PutPending)
	seal := x.sealer()
	for i, row := range rows {
		sealed, err := seal.row(row)
		if err != nil {
			return err
		}
		rows[i] = sealed.Clone()
		rows[i].Epoch = epoch
	}
	for i, entry := range entries {
		sealed, err := seal.row(entry.Row)
		if err != nil {
			return err
		}
		entries[i] = &state.PendingDestroy{NodeID: entry.NodeID, Row: sealed.Clone(), Mode: entry.Mode}
	}
	batch.PutRows, batch.PutPending = rows, entries
	return nil
}

// sealer is what decides what of the run is a secret.
func (x *execution) sealer() sealer {
	return sealer{Secrets: x.Secrets, schemas: x.Schemas, values: x.values(), stored: x.row, outputs: x.plan.Snapshot.Outputs}
}

// keep remembers what is written: the fence keeps everybody else from writing, so that
// a rollback need not read it back.
func (x *execution) keep(batch state.Batch) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range batch.DeleteRows {
		x.written[id] = nil
	}
	for _, row := range batch.PutRows {
		x.written[row.ID] = row
	}
}

// row is the row of a node as it is now; nil without one.
func (x *execution) row(id string) *state.Row {
	x.mu.Lock()
	defer x.mu.Unlock()
	if row, ok := x.written[id]; ok {
		return row
	}
	return x.plan.Snapshot.Rows[id]
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
