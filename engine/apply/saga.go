package apply

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// rollback undoes what phases 0 and 1 did, the latest first, and returns the failure with
// what went wrong on the way back (EX-23, EX-24, EX-31). It does not run when the lock is
// lost, nor when the run is handed over. The end of the run's context does not end it.
func (x *execution) rollback(ctx context.Context, failure error) error {
	if x.plan.OnFailure != plan.OnFailureRollback {
		return failure
	}
	if reason := x.unfit(ctx, failure); reason != "" {
		x.report.RollbackSkipped = &reason
		x.emit(Event{Phase: "rollback_skipped", Detail: map[string]any{"reason": reason}})
		return x.outranked(failure)
	}
	undos := slices.Clone(x.undos)
	slices.Reverse(undos)
	if len(undos) > 0 {
		ids := make([]string, len(undos))
		for i, u := range undos {
			ids[i] = u.id
		}
		x.emit(Event{Phase: "rollback_start", Detail: map[string]any{"nodes": ids}})
	}
	var failures []*model.Error
	for i, u := range undos {
		if x.isLost() {
			x.notAttempted(undos[i:])
			break
		}
		if err := x.undone(u); err != nil {
			failures = append(failures, err)
		}
	}
	return x.rolledBack(failure, failures)
}

// unfit is why a rollback must not begin; "" if it may.
func (x *execution) unfit(ctx context.Context, failure error) string {
	if errors.Is(context.Cause(ctx), ErrHandOver) {
		return "the run was handed over to another process, which goes on from what is recorded"
	}
	if err := x.Lease.Check(); err != nil {
		_ = x.lose(x.leaseLost())
	}
	if x.isLost() {
		return "the lock was lost: nothing was undone, and what the run made stays; refresh and plan again"
	}
	if errors.Is(failure, state.ErrUnavailable) {
		return "the state store is unavailable: what an undo did could not be recorded; plan again once it is back"
	}
	return ""
}

// outranked puts the loss of the lock before what failed beside it.
func (x *execution) outranked(failure error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.lost == nil || model.IsKind(failure, model.LeaseLostError) || model.IsKind(failure, model.FencedWriteError) {
		return failure
	}
	return grouped(asError(x.lost), []*model.Error{asError(failure)})
}

func (x *execution) isLost() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.lost != nil
}

func (x *execution) notAttempted(undos []undo) {
	for _, u := range undos {
		x.note(func() { x.report.RollbackFailed[u.id] = "not attempted: the lock was lost during the rollback" })
	}
}

// undone undoes one thing and reports it. The undo is shielded: its calls end with the
// node's time or the lock alone (EX-30).
func (x *execution) undone(u undo) *model.Error {
	x.note(func() {
		if !slices.Contains(x.report.RolledBack, u.id) {
			x.report.RolledBack = append(x.report.RolledBack, u.id)
		}
	})
	ctx, cancel := context.WithTimeoutCause(x.writes, x.NodeTimeout, errNodeTimeout)
	defer cancel()
	err := x.undo(ctx, u)
	detail := map[string]any{"undone": err == nil}
	if err != nil {
		detail["error"] = err.Error()
	}
	if x.remade[u.id] {
		detail["remade"] = true // with other outputs than before
	}
	x.emit(Event{Phase: "rollback_node", NodeID: u.id, Detail: detail})
	if err == nil {
		return nil
	}
	x.note(func() { x.report.RollbackFailed[u.id] = err.Error() })
	e := model.Errorf(model.RollbackError, model.ClassOf(err), "%s was not rolled back: %w", u.id, err)
	e.NodeID, e.Op = u.id, "rollback"
	return e
}

// rolledBack is the failure of a run with those of its rollback; never another one.
func (x *execution) rolledBack(failure error, failures []*model.Error) error {
	e := *asError(failure)
	if e.Kind == model.InterruptedRunError && e.NodeID == "" {
		e.Message = "the run was interrupted and what it had done was rolled back; plan again to see what is left"
	}
	if len(failures) > 0 && e.Kind == model.InterruptedRunError && e.NodeID == "" {
		e.Message = "the run was interrupted, and not all that it had done could be rolled back; refresh and plan again"
	}
	e.AlsoFailed = slices.Concat(e.AlsoFailed, failures)
	maps.DeleteFunc(x.remade, func(_ string, other bool) bool { return !other })
	if remade := slices.Sorted(maps.Keys(x.remade)); len(remade) > 0 {
		return hinted(&e, "the rollback made "+model.Listed(remade, ", ")+" anew, with other outputs than before; the next apply records what is made from them")
	}
	return &e
}

// poison marks the present row of a node before its undo, so that a rollback which dies
// half-way is visible to the next plan (EX-25). What a create made is marked as being
// made: its undo may take it away. It reports whether the write proved the fence.
func (x *execution) poison(u undo) (proved bool, err error) {
	row := x.row(u.id)
	if row == nil {
		return notWrittenAhead, nil
	}
	marked := *row
	marked.UpdatedAt = x.Now()
	if row.Status == state.StatusCreated { // one that is being made is visible as it is
		marked.InputHash = ""
	}
	if u.kind == undoCreated || u.kind == undoReplacedFirst {
		marked = *x.doomed(u.made) // its row may not have been confirmed
	}
	err = x.ahead(state.Batch{PutRows: []*state.Row{&marked}})
	if err == nil {
		return writtenAhead, nil
	}
	if x.isLost() {
		return notWrittenAhead, err
	}
	x.note(func() { x.report.PoisonFailed[u.id] = err.Error() })
	return notWrittenAhead, nil // the undo goes on (EX-29)
}

// staleDependents are the rows that were made from a node whose undo gave it other outputs,
// marked: they were undone before it, against what is gone now (EX-27). They are written with
// its own row, for once that has the new outputs only what reads them looks different.
func (x *execution) staleDependents(id string) []*state.Row {
	seen := map[string]bool{id: true}
	var stale []*state.Row
	rows := x.rows()
	for frontier := []string{id}; len(frontier) > 0; {
		up := frontier[len(frontier)-1]
		frontier = frontier[:len(frontier)-1]
		for _, row := range rows[up] {
			if seen[row.ID] {
				continue
			}
			seen[row.ID] = true
			frontier = append(frontier, row.ID)
			if row.Status != state.StatusCreated {
				continue // the next plan makes it in any case, and with the attempt that it has
			}
			marked := *row
			marked.InputHash, marked.UpdatedAt = "", x.Now()
			stale = append(stale, &marked)
		}
	}
	return stale
}

// rows are the present rows by what they were made from.
func (x *execution) rows() map[string][]*state.Row {
	x.mu.Lock()
	defer x.mu.Unlock()
	dependents := map[string][]*state.Row{}
	add := func(row *state.Row) {
		if row == nil || !x.scope[row.ID] {
			return
		}
		for _, up := range slices.Concat(row.Dependencies, row.DependsOn) {
			dependents[up] = append(dependents[up], row)
		}
	}
	for id, row := range x.plan.Snapshot.Rows {
		if _, written := x.written[id]; !written {
			add(row)
		}
	}
	for _, row := range x.written {
		add(row)
	}
	return dependents
}

// sameOutputs reports whether a re-create gave what was recorded.
func (x *execution) sameOutputs(prior *state.Row, outputs map[string]any) bool {
	was, err := x.Secrets.opened(prior)
	return err == nil && ir.Equal(was, outputs)
}
