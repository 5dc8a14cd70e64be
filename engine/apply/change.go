package apply

import (
	"context"
	"maps"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// change does what phase 1 has to do for one node.
func (x *execution) change(id string) error {
	c := x.changes[id]
	switch {
	case c.Action == plan.Create:
		return x.node(c, x.create)
	case c.Action == plan.Update:
		return x.node(c, x.update)
	case c.Action == plan.Replace:
		return x.node(c, x.replace)
	case c.StateOnly:
		return x.node(c, x.rewrite)
	}
	x.note(func() { x.report.Noop = append(x.report.Noop, id) })
	return nil
}

// node runs the work of one node within its time and reports how it went.
func (x *execution) node(c *plan.Change, work func(ctx context.Context, c *plan.Change) error) error {
	detail := map[string]any{}
	if c.StateOnly {
		detail["state_only"] = true
	}
	x.emit(Event{Phase: "node_start", NodeID: c.NodeID, Action: string(c.Action), Detail: detail})
	ctx, cancel := context.WithTimeoutCause(x.calls, x.NodeTimeout, errNodeTimeout)
	defer cancel()
	err := work(ctx, c)
	if err == nil {
		x.emit(Event{Phase: "node_finish", NodeID: c.NodeID, Action: string(c.Action), Detail: detail})
		return nil
	}
	e := *asError(err)
	if e.NodeID == "" {
		e.NodeID = c.NodeID
	}
	x.note(func() { x.failures = append(x.failures, &e) })
	x.emit(Event{Phase: "node_fail", NodeID: c.NodeID, Action: string(c.Action), Detail: map[string]any{"error": e.Error()}})
	return &e
}

// create makes a node that has no confirmed row (EX-9). What an interrupted create of
// another identity may have left is destroyed first; one of the same identity is
// repeated with the same attempt.
func (x *execution) create(ctx context.Context, c *plan.Change) error {
	inputs, row, err := x.prepare(c)
	if err != nil {
		return err
	}
	left := x.plan.Snapshot.Rows[c.NodeID]
	if left != nil && x.movedAway(left, inputs) {
		err = x.remake(ctx, row, inputs, left)
	} else {
		if err = x.writeAhead(row, left); err == nil {
			err = x.make(ctx, row, inputs, left)
		}
	}
	return x.done(row, err, &x.report.Created)
}

// replace destroys the recorded half of a node and makes it anew (EX-11). A replace
// that an earlier run began is finished, from its entry (EX-13).
func (x *execution) replace(ctx context.Context, c *plan.Change) error {
	inputs, row, err := x.prepare(c)
	if err != nil {
		return err
	}
	primary, entry := x.plan.Snapshot.Rows[c.NodeID], x.plan.Snapshot.Pending[c.NodeID]
	switch {
	case c.PendingDestroy == nil:
		if err = x.settle(ctx, c.NodeID, entry); err == nil {
			err = x.remake(ctx, row, inputs, primary)
		}
	case primary != nil && x.movedAway(primary, inputs):
		// The config changed after the interruption: there may be two old halves.
		if err = x.destroyOld(ctx, entry, notWrittenAhead); err == nil {
			err = x.remake(ctx, row, inputs, primary)
		}
	default:
		if err = x.writeAhead(row, primary); err == nil {
			if err = x.destroyOld(ctx, entry, writtenAhead); err == nil {
				err = x.make(ctx, row, inputs, primary)
			}
		}
	}
	return x.done(row, err, &x.report.Replaced)
}

// remake records the old half beside the new row in one write, then destroys the one
// and makes the other.
func (x *execution) remake(ctx context.Context, row *state.Row, inputs map[string]any, old *state.Row) error {
	row.Status, row.Attempt = state.StatusCreating, x.NewID()
	entry := &state.PendingDestroy{NodeID: row.ID, Row: old, Mode: state.DestroyBeforeCreate}
	if err := x.commit(state.Batch{PutRows: []*state.Row{row}, PutPending: []*state.PendingDestroy{entry}}); err != nil {
		return err
	}
	if err := x.destroyOld(ctx, entry, writtenAhead); err != nil {
		return err
	}
	return x.make(ctx, row, inputs, nil)
}

// writeAhead records that a create is about to be called.
func (x *execution) writeAhead(row, left *state.Row) error {
	row.Status, row.Attempt = state.StatusCreating, ""
	if left != nil {
		row.Attempt = left.Attempt
		row.Outputs = left.Outputs
	}
	if row.Attempt == "" {
		row.Attempt = x.NewID()
	}
	return x.commit(state.Batch{PutRows: []*state.Row{row}})
}

// make calls create for a row that is written ahead. left is what an earlier try of
// this very create recorded. Outputs beside an error stay on the row.
func (x *execution) make(ctx context.Context, row *state.Row, inputs map[string]any, left *state.Row) error {
	request := x.request(row, inputs, left)
	request.Attempt = row.Attempt // a row of an older release may have none
	outputs, err := x.mutate(ctx, "create", row, writtenAhead, func(ctx context.Context, p Provider) (model.Outputs, error) {
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
//
// The row is poisoned before the call: if the run dies and the config goes back to what
// the row recorded, the next plan updates again instead of taking the node for
// unchanged. The write proves the fence as well (EX-18).
func (x *execution) update(ctx context.Context, c *plan.Change) error {
	inputs, row, err := x.prepare(c)
	if err != nil {
		return err
	}
	poisoned := *c.Prior
	poisoned.InputHash, poisoned.UpdatedAt = "", x.Now()
	if err := x.commit(state.Batch{PutRows: []*state.Row{&poisoned}}); err != nil {
		return err
	}
	request := x.request(row, inputs, c.Prior)
	outputs, err := x.mutate(ctx, "update", row, writtenAhead, func(ctx context.Context, p Provider) (model.Outputs, error) {
		return p.Update(ctx, request)
	})
	merged := maps.Clone(outputsOf(c.Prior))
	maps.Copy(merged, outputs)
	if err != nil {
		return x.notUpdated(ctx, err, c.Prior, merged)
	}
	row.Outputs, row.Attempt = merged, c.Prior.Attempt
	return x.done(row, nil, &x.report.Updated)
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

// rewrite brings the row of an unchanged node in line with the config, without a call
// (PL-3, EX-43).
func (x *execution) rewrite(_ context.Context, c *plan.Change) error {
	x.note(func() {
		x.report.Noop = append(x.report.Noop, c.NodeID)
		x.report.StateOnly = append(x.report.StateOnly, c.NodeID)
	})
	return x.commit(state.Batch{PutRows: []*state.Row{x.rewritten(c)}})
}

// sync does the same, in one write, for the nodes of which only columns that no plan
// shows differ.
func (x *execution) sync() error {
	var rows []*state.Row
	for i := range x.plan.Changes {
		if c := &x.plan.Changes[i]; c.Unsynced() {
			rows = append(rows, x.rewritten(c))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return x.commit(state.Batch{PutRows: rows})
}

// rewritten is the row of an unchanged node with what the config says of its lifecycle.
func (x *execution) rewritten(c *plan.Change) *state.Row {
	row := *c.Prior
	row.Kind = c.Desired.Kind
	row.PreventDestroy = c.Desired.PreventDestroy
	row.CreateBeforeDestroy = c.Desired.CreateBeforeDestroy
	row.DependsOn = plan.OrderingOnly(c.Desired)
	row.UpdatedAt = x.Now()
	return &row
}

// done makes the outputs of a node known, reports it and confirms its row, in this
// order (EX-9). Nothing happens when err is set.
func (x *execution) done(row *state.Row, err error, list *[]string) error {
	if err != nil {
		return err
	}
	x.note(func() {
		x.live[row.ID] = row.Outputs
		*list = append(*list, row.ID)
	})
	row.Status, row.UpdatedAt = state.StatusCreated, x.Now()
	return x.commit(state.Batch{PutRows: []*state.Row{row}})
}

// prepare resolves a node's inputs and makes its next row (EX-15).
func (x *execution) prepare(c *plan.Change) (inputs map[string]any, row *state.Row, err error) {
	n := c.Desired
	values := x.values()
	inputs, err = values.Concrete(n.Properties)
	if err != nil {
		return nil, nil, model.Errorf(model.KindOf(err), model.ClassOf(err), "%s: %w", n.ID, err)
	}
	other := ""
	x.note(func() { other = x.own(n.ID, n.Type, inputs) })
	if other != "" {
		e := model.Errorf(model.ProviderError, model.ClassUser,
			"%s is the same object as %s, and each would overwrite the other; give one of them another address", n.ID, other)
		e.NodeID, e.Op, e.ResourceType = n.ID, string(c.Action), n.Type
		return nil, nil, e
	}
	row = &state.Row{
		ID:                  n.ID,
		Type:                n.Type,
		Kind:                n.Kind,
		Provider:            n.Provider,
		ProviderVersion:     n.ProviderVersion,
		InputHash:           c.DesiredHash,
		Outputs:             map[string]any{},
		Properties:          n.Properties,
		Dependencies:        n.Dependencies,
		DependsOn:           plan.OrderingOnly(n),
		PreventDestroy:      n.PreventDestroy,
		CreateBeforeDestroy: n.CreateBeforeDestroy,
		Status:              state.StatusCreated,
		RefDigests:          plan.RefDigests(n, x.Schemas, values),
		UpdatedAt:           x.Now(),
		Epoch:               x.Lease.Fence().Epoch,
	}
	switch {
	case c.Prior != nil && c.Prior.RowUID != "":
		row.RowUID = c.Prior.RowUID
	case c.PendingDestroy != nil && c.PendingDestroy.Row.RowUID != "":
		row.RowUID = c.PendingDestroy.Row.RowUID
	default:
		row.RowUID = x.NewID()
	}
	return inputs, row, nil
}

// movedAway reports whether what a row being created stands for has another identity
// than inputs: an immutable field of it is known and differs. Creating over it would
// leave it behind with nobody who knows of it.
func (x *execution) movedAway(left *state.Row, inputs map[string]any) bool {
	schema := x.Schemas.Type(left.Type)
	if schema == nil || left.Kind == model.KindData {
		return false
	}
	was := x.before.Lenient(left.Properties)
	return slices.ContainsFunc(schema.Fields, func(f model.Field) bool {
		v, known := was[f.Name]
		return known && f.Mutability == model.Immutable && !ir.Equal(v, inputs[f.Name])
	})
}

// request is the argument of a call; recorded is nil for a node without a row.
func (x *execution) request(row *state.Row, inputs map[string]any, recorded *state.Row) *model.Request {
	r := &model.Request{Node: model.NodeOf(row.ID), Owner: x.Owner, Attempt: row.Attempt, Inputs: inputs, Source: x.Source}
	if recorded != nil {
		r.Attempt = recorded.Attempt
		r.Prior = &model.Prior{
			Outputs: model.Clone(outputsOf(recorded)).(map[string]any),
			Inputs:  x.before.Lenient(recorded.Properties),
		}
	}
	return r
}

func outputsOf(row *state.Row) map[string]any {
	if row.Outputs == nil {
		return map[string]any{}
	}
	return row.Outputs
}
