package apply

import (
	"context"
	"maps"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// create makes a node that has no confirmed row (EX-9). What an interrupted create of
// another identity may have left is destroyed first; one of the same identity is
// repeated with the same attempt.
func (x *execution) create(ctx context.Context, c *plan.Change) error {
	inputs, row, err := x.prepare(c)
	if err != nil {
		return err
	}
	err = x.createOver(ctx, row, inputs, x.plan.Snapshot.Rows[c.NodeID])
	return x.done(row, err, &x.report.Created, undo{kind: undoCreated, inputs: inputs})
}

// createOver makes a node over what an earlier try of it left, if any.
func (x *execution) createOver(ctx context.Context, row *state.Row, inputs map[string]any, left *state.Row) error {
	if left != nil && x.movedAway(left, row, inputs) {
		if err := x.deletable(left); err != nil {
			return err
		}
		return x.remake(ctx, row, inputs, left)
	}
	if err := x.writeAhead(row, left); err != nil {
		return err
	}
	return x.make(ctx, row, inputs, left, writtenAhead)
}

// replace destroys the recorded half of a node and makes it anew, in the order that the
// plan says.
func (x *execution) replace(ctx context.Context, c *plan.Change) error {
	inputs, row, err := x.prepare(c)
	if err != nil {
		return err
	}
	return x.replaceWith(ctx, c, inputs, row)
}

// replaceWith runs a replace whose inputs and next row are there.
func (x *execution) replaceWith(ctx context.Context, c *plan.Change, inputs map[string]any, row *state.Row) error {
	if x.early[c.NodeID] == nil {
		if err := x.deletable(oldHalf(c)); err != nil {
			return err
		}
	}
	switch {
	case c.CreateBeforeDestroy && c.PendingDestroy != nil:
		return x.finishFirst(ctx, c, inputs, row)
	case c.CreateBeforeDestroy:
		return x.replaceFirst(ctx, c, inputs, row)
	case x.early[c.NodeID] != nil:
		return x.replaceEarly(ctx, c, inputs, row)
	case c.PendingDestroy != nil:
		return x.finish(ctx, c, inputs, row)
	}
	err := x.settle(ctx, c.NodeID, x.plan.Snapshot.Pending[c.NodeID])
	if err == nil {
		err = x.remake(ctx, row, inputs, c.Prior)
	}
	return x.done(row, err, &x.report.Replaced, undo{kind: undoReplaced, prior: c.Prior, inputs: inputs})
}

// replaceEarly makes the new half of a replace whose old one went in phase 0; that has an
// undo of its own.
func (x *execution) replaceEarly(ctx context.Context, c *plan.Change, inputs map[string]any, row *state.Row) error {
	ahead := x.early[c.NodeID]
	var err error
	if c.PendingDestroy != nil {
		err = x.createOver(ctx, row, inputs, ahead)
	} else if err = x.writeAhead(row, ahead); err == nil {
		err = x.make(ctx, row, inputs, nil, writtenAhead)
	}
	return x.done(row, err, &x.report.Replaced, undo{kind: undoCreated, inputs: inputs})
}

// finish goes on with a destroy-first replace that an earlier run began, from its entry
// (EX-13).
func (x *execution) finish(ctx context.Context, c *plan.Change, inputs map[string]any, row *state.Row) error {
	primary, entry := x.plan.Snapshot.Rows[c.NodeID], x.plan.Snapshot.Pending[c.NodeID]
	var err error
	if primary != nil && x.movedAway(primary, row, inputs) {
		// The config changed after the interruption: there may be two old halves.
		if err = x.destroyOld(ctx, entry, notWrittenAhead); err == nil {
			err = x.remake(ctx, row, inputs, primary)
		}
	} else if err = x.writeAhead(row, primary); err == nil {
		if err = x.destroyOld(ctx, entry, writtenAhead); err == nil {
			err = goneAlready(x.make(ctx, row, inputs, primary, notWrittenAhead), entry.Row)
		}
	}
	return x.done(row, err, &x.report.Replaced, undo{kind: undoReplaced, prior: entry.Row, inputs: inputs})
}

// oldHalf is what a replace takes away: of one that an earlier run began, what its entry
// keeps (EX-13).
func oldHalf(c *plan.Change) *state.Row {
	if c.PendingDestroy != nil {
		return c.PendingDestroy.Row
	}
	return c.Prior
}

// remake records the old half beside the new row in one write, then destroys the one
// and makes the other (EX-11).
func (x *execution) remake(ctx context.Context, row *state.Row, inputs map[string]any, old *state.Row) error {
	row.Status, row.Attempt = state.StatusCreating, x.NewID()
	entry := &state.PendingDestroy{NodeID: row.ID, Row: old, Mode: state.DestroyBeforeCreate}
	if err := x.ahead(state.Batch{PutRows: []*state.Row{row}, PutPending: []*state.PendingDestroy{entry}}); err != nil {
		return err
	}
	if err := x.destroyOld(ctx, entry, writtenAhead); err != nil {
		return err
	}
	return goneAlready(x.make(ctx, row, inputs, nil, notWrittenAhead), old)
}

// goneAlready is the error of a create whose old half was deleted before it, with what that
// means: nothing stands for the node until it is made again. nil stays nil (EX-11).
func goneAlready(err error, old *state.Row) error {
	if err == nil || old.Kind == model.KindData {
		return err
	}
	return hinted(err, "the old object of "+old.ID+" is deleted already; the next apply makes the node again")
}

// hinted is an error with a hint behind those that it has.
func hinted(err error, hint string) *model.Error {
	e := *asError(err)
	if e.Hint != "" {
		hint = e.Hint + "; " + hint
	}
	e.Hint = hint
	return &e
}

// writeAhead records that a create is about to be called.
func (x *execution) writeAhead(row, left *state.Row) error {
	row.Status, row.Attempt = state.StatusCreating, ""
	if left != nil {
		outputs, err := x.Secrets.opened(left)
		if err != nil {
			return unreadable(left, err) // the row would lose what it knows of an earlier try
		}
		row.Attempt, row.Outputs = left.Attempt, outputs
	}
	if row.Attempt == "" {
		row.Attempt = x.NewID()
	}
	return x.ahead(state.Batch{PutRows: []*state.Row{row}})
}

// make calls create for a row that is written ahead; proved says whether that write came
// right before. left is what an earlier try of this very create recorded. Outputs beside an
// error stay on the row.
func (x *execution) make(ctx context.Context, row *state.Row, inputs map[string]any, left *state.Row, proved bool) error {
	x.note(func() { x.tried[row.ID] = true })
	request := x.request(row, inputs, left)
	request.Attempt = row.Attempt // a row of an older release may have none
	outputs, err := x.mutate(ctx, "create", row, proved, func(ctx context.Context, p Provider) (model.Outputs, error) {
		return p.Create(ctx, request)
	})
	if err != nil {
		if len(outputs) > 0 {
			row.Outputs = outputs
			return x.alongside(err, state.Batch{PutRows: []*state.Row{row}})
		}
		return err
	}
	row.Outputs = outputs
	return nil
}

// update changes a node in place; the outputs are laid over the recorded ones (EX-10).
func (x *execution) update(ctx context.Context, c *plan.Change) error {
	inputs, row, err := x.resolved(c)
	if err != nil {
		return err
	}
	if c.Prior.InputHash == "" && x.movedOn(c.Prior, row, inputs) {
		return x.putOff(c)
	}
	if err := x.claim(c, inputs); err != nil {
		return err
	}
	return x.updateWith(ctx, c, inputs, row)
}

// movedOn reports whether what a node is to become is another object: a row that is marked
// for a look is planned as an update also where what it refers to changes in the same run
// and only now it shows that no update can do it.
func (x *execution) movedOn(prior, row *state.Row, inputs map[string]any) bool {
	if prior.Kind == model.KindData {
		return false
	}
	same, known := x.identities(prior, row, inputs)
	return known && !same
}

// putOff leaves a node and its mark as they are, at the address that it has: the next plan
// shows the replace that it needs, which nobody has seen in this one.
func (x *execution) putOff(c *plan.Change) error {
	if err := x.claim(c, x.inputsOf(c.Prior)); err != nil {
		return err
	}
	x.note(func() {
		x.report.PutOff[c.NodeID] = "it needs a replace that this plan did not show; plan again"
		x.report.Noop = append(x.report.Noop, c.NodeID)
	})
	return nil
}

// updateWith poisons the row before the call: if the run dies and the config goes back to
// what the row recorded, the next plan updates again instead of taking the node for
// unchanged. The write proves the fence as well (EX-18).
func (x *execution) updateWith(ctx context.Context, c *plan.Change, inputs map[string]any, row *state.Row) error {
	before, err := x.Secrets.opened(c.Prior)
	if err != nil {
		return err
	}
	poisoned := *c.Prior
	poisoned.InputHash, poisoned.UpdatedAt = "", x.Now()
	if err := x.ahead(state.Batch{PutRows: []*state.Row{&poisoned}}); err != nil {
		return err
	}
	request := x.request(row, inputs, c.Prior)
	outputs, err := x.mutate(ctx, "update", row, writtenAhead, func(ctx context.Context, p Provider) (model.Outputs, error) {
		return p.Update(ctx, request)
	})
	merged := maps.Clone(before)
	maps.Copy(merged, outputs)
	if err != nil {
		return x.notUpdated(ctx, err, c.Prior, merged)
	}
	row.Outputs, row.Attempt = merged, c.Prior.Attempt
	return x.done(row, nil, &x.report.Updated, undo{kind: undoUpdated, prior: c.Prior, inputs: inputs})
}

// notUpdated records what a failed update leaves: the row as it was, so that the next
// plan updates again, with the outputs that came back. One that was cut short stays
// poisoned, for nobody knows what it did.
func (x *execution) notUpdated(ctx context.Context, failure error, prior *state.Row, outputs map[string]any) error {
	row := *prior
	row.Outputs = outputs
	if ctx.Err() != nil {
		row.InputHash = ""
	}
	return x.alongside(failure, state.Batch{PutRows: []*state.Row{&row}})
}

// done makes the outputs of a node known, notes how to undo it, reports it and confirms
// its row, in this order (EX-9, EX-14). Nothing happens when err is set.
func (x *execution) done(row *state.Row, err error, list *[]string, u undo) error {
	if err != nil {
		return err
	}
	row.Status, row.UpdatedAt = state.StatusCreated, x.Now()
	u.id, u.made = row.ID, row
	x.note(func() {
		x.live[row.ID] = row.Outputs
		x.undos = append(x.undos, u)
		*list = append(*list, row.ID)
	})
	return x.commit(state.Batch{PutRows: []*state.Row{row}})
}
