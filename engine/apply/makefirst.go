package apply

import (
	"context"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// replaceFirst makes the new half of a node beside the old one, which is recorded in the
// same write as the new row and left to the clean-up after the phase (EX-12, EX-13).
func (x *execution) replaceFirst(ctx context.Context, c *plan.Change, inputs map[string]any, row *state.Row) error {
	if x.oneObject(c.Prior, inputs) {
		return failed(model.Errorf(model.ProviderError, model.ClassUser,
			"the replacement of %s would be the same object as the old one, which could not be destroyed after it; "+
				"give it another name, or drop create_before_destroy", row.ID), "create", row)
	}
	err := x.settle(ctx, c.NodeID, x.plan.Snapshot.Pending[c.NodeID])
	if err == nil {
		row.Status, row.Attempt = state.StatusCreating, x.NewID()
		err = x.ahead(state.Batch{PutRows: []*state.Row{row}, PutPending: []*state.PendingDestroy{firstEntry(c.Prior)}})
	}
	if err == nil {
		err = x.make(ctx, row, inputs, nil, writtenAhead)
	}
	return x.doneFirst(row, err, c.Prior, c.Prior, inputs)
}

// finishFirst goes on with a create-first replace that an earlier run began. The config may
// have changed since: what the interruption may have left of another identity is destroyed
// at once, as nothing was made from what was never confirmed; and where the config went
// back to the old half, that is taken back.
func (x *execution) finishFirst(ctx context.Context, c *plan.Change, inputs map[string]any, row *state.Row) error {
	primary, old := x.plan.Snapshot.Rows[c.NodeID], c.PendingDestroy.Row
	back, known := x.identities(old, row, inputs)
	switch {
	case back && old.Status != state.StatusCreated, // it may be gone, and its attempt spent
		!back && !known, // the new half might take the old one over, which then goes
		!back && x.oneObject(old, inputs):
		return x.finish(ctx, c, inputs, row)
	}
	if primary != nil && x.movedAway(primary, row, inputs) {
		if err := x.destroy(ctx, primary, notWrittenAhead); err != nil {
			return err
		}
		primary = nil
	}
	if back {
		return x.takeBack(ctx, c, inputs, row)
	}
	err := x.writeAhead(row, primary)
	if err == nil {
		err = x.make(ctx, row, inputs, primary, writtenAhead)
	}
	// A clean-up of an earlier run may have got to the old half: if this is undone, that is
	// looked at again rather than trusted.
	return x.doneFirst(row, err, old, x.doomed(old), inputs)
}

// takeBack makes the old half of an interrupted replace the node's own again. It is created
// over, as what an interrupted delete leaves is: a clean-up may have got to it.
func (x *execution) takeBack(ctx context.Context, c *plan.Change, inputs map[string]any, row *state.Row) error {
	old := c.PendingDestroy.Row
	outputs, err := x.Secrets.opened(old)
	if err != nil {
		return unreadable(old, err)
	}
	row.Outputs = outputs
	row.Status, row.Attempt = state.StatusCreating, x.NewID()
	if err := x.ahead(state.Batch{PutRows: []*state.Row{row}, DeletePending: []string{c.NodeID}}); err != nil {
		return err
	}
	x.note(func() { x.report.Downgraded[c.NodeID] = string(plan.Update) })
	err = x.make(ctx, row, inputs, old, writtenAhead)
	return x.done(row, err, &x.report.Updated, undo{kind: undoUpdated, prior: old, inputs: inputs})
}

func firstEntry(old *state.Row) *state.PendingDestroy {
	return &state.PendingDestroy{NodeID: old.ID, Row: old, Mode: state.CreateBeforeDestroy}
}

// doneFirst leaves the old half to the clean-up and confirms the new one. back is the row
// that an undo writes.
func (x *execution) doneFirst(row *state.Row, err error, old, back *state.Row, inputs map[string]any) error {
	if err == nil {
		x.note(func() { x.old[row.ID] = firstEntry(old) })
	}
	return x.done(row, err, &x.report.Replaced, undo{kind: undoReplacedFirst, prior: back, inputs: inputs})
}

// oneObject reports whether a recorded half and what inputs describe would be one object in
// the world: of one address, or of one physical name. Planning finds it where that is
// written out (PL-11).
func (x *execution) oneObject(old *state.Row, inputs map[string]any) bool {
	schema := x.Schemas.Type(old.Type)
	if schema == nil {
		return false
	}
	was := x.inputsOf(old)
	if address, known := schema.ObjectAddress(was); known {
		now, known := schema.ObjectAddress(inputs)
		return known && now == address
	}
	for i := range schema.Fields {
		if f := &schema.Fields[i]; f.PhysicalName {
			name, known := was[f.Name]
			return known && name != nil && ir.Equal(name, inputs[f.Name])
		}
	}
	return false
}
