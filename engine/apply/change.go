package apply

import (
	"context"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// changePhase creates, updates and replaces, and rewrites the rows of state-only
// changes and of those that the plan brings in line silently.
func (x *execution) changePhase(ctx context.Context) error {
	pending := slices.ContainsFunc(x.plan.Changes, func(c plan.Change) bool { return c.Action != plan.Delete && c.Pending() })
	if pending || x.plan.Unsynced() {
		if err := x.pass(ctx, PhaseChange); err != nil {
			return err
		}
		if err := x.sync(); err != nil {
			return err
		}
	}
	if x.plan.Compilation == nil {
		return nil // what a destroy leaves alone is no news
	}
	if !pending {
		x.report.Noop = append(x.report.Noop, x.plan.Graph.IDs()...)
		return nil
	}
	return x.walk(x.plan.Graph, false, x.change)
}

// change does what phase 1 has to do for one node.
func (x *execution) change(id string) error {
	c := x.changes[id]
	switch {
	case c.Action == plan.Create:
		return x.node(c, x.create)
	case c.Action == plan.Update:
		return x.node(c, x.update)
	case c.Action == plan.Replace && c.Conditional:
		return x.node(c, x.judge)
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
	if err := x.timed(c, work); err != nil {
		return err
	}
	action := string(c.Action)
	x.note(func() {
		if taken := x.report.Downgraded[c.NodeID]; taken != "" {
			action, detail["planned"] = taken, string(c.Action)
		}
		if x.report.PutOff[c.NodeID] != "" {
			action, detail["planned"] = string(plan.Noop), string(c.Action)
		}
	})
	x.emit(Event{Phase: "node_finish", NodeID: c.NodeID, Action: action, Detail: detail})
	return nil
}

// timed runs the work of one node within its time and notes its failure (EX-3, EX-32).
func (x *execution) timed(c *plan.Change, work func(ctx context.Context, c *plan.Change) error) error {
	ctx, cancel := context.WithTimeoutCause(x.calls, x.NodeTimeout, errNodeTimeout)
	defer cancel()
	err := work(ctx, c)
	if err == nil {
		return nil
	}
	if x.goneEarly(c) {
		err = goneAlready(err, oldHalf(c))
	}
	e := *asError(err)
	if e.NodeID == "" {
		e.NodeID = c.NodeID
	}
	x.note(func() { x.failures = append(x.failures, &e) })
	x.emit(Event{Phase: "node_fail", NodeID: c.NodeID, Action: string(c.Action), Detail: map[string]any{"error": e.Error()}})
	return &e
}

// goneEarly reports whether the old half of a node went in phase 0 and does not come back:
// nothing is undone, or an undo would meet what the create may have made (EX-26).
func (x *execution) goneEarly(c *plan.Change) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.early[c.NodeID] != nil && (x.tried[c.NodeID] || x.plan.OnFailure != plan.OnFailureRollback)
}

// judge decides whether a conditional replace is needed, before any write or call for
// the node, and does what it comes to (DF-20).
func (x *execution) judge(ctx context.Context, c *plan.Change) error {
	inputs, row, err := x.prepare(c)
	if err != nil {
		return err
	}
	action, _, err := plan.Judgement{Schemas: x.Schemas, Digests: x.Secrets.Digests, Before: x.before, Now: x.values()}.Decide(c)
	if err != nil {
		return err
	}
	switch action {
	case plan.Replace:
		if c.Protected() {
			e := model.Errorf(model.PreventDestroyError, model.ClassUser,
				"prevent_destroy protects %s, and what it refers to has changed so that it would have to be replaced; "+
					"undo that change, or remove the flag and plan again", c.NodeID)
			e.Nodes = []string{c.NodeID}
			return e
		}
		return x.replaceWith(ctx, c, inputs, row)
	case plan.Update:
		x.note(func() { x.report.Downgraded[c.NodeID] = string(plan.Update) })
		return x.updateWith(ctx, c, inputs, row)
	default:
		x.note(func() { x.report.Downgraded[c.NodeID] = string(plan.Noop) })
		return x.collapse(c, row)
	}
}

// collapse moves the row of a node on whose replace turned out unnecessary: what it
// stands for stays as it is (DF-20, EX-43).
func (x *execution) collapse(c *plan.Change, row *state.Row) error {
	prior := c.Prior
	row.Outputs, row.ProviderVersion, row.SecretDigests = prior.Outputs, prior.ProviderVersion, prior.SecretDigests
	row.Attempt, row.Status, row.RefreshedOutputs = prior.Attempt, prior.Status, prior.RefreshedOutputs
	x.note(func() {
		x.report.Noop = append(x.report.Noop, c.NodeID)
		x.undos = append(x.undos, undo{id: c.NodeID, kind: undoRow, prior: prior})
	})
	return x.commit(state.Batch{PutRows: []*state.Row{row}})
}

// rewrite brings the row of an unchanged node in line with the config, without a call
// (PL-3, EX-43).
func (x *execution) rewrite(_ context.Context, c *plan.Change) error {
	x.note(func() {
		x.report.Noop = append(x.report.Noop, c.NodeID)
		x.report.StateOnly = append(x.report.StateOnly, c.NodeID)
		x.undos = append(x.undos, undo{id: c.NodeID, kind: undoRow, prior: c.Prior})
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
	row.DependsOn = plan.RecordedOrder(c.Desired)
	row.UpdatedAt = x.Now()
	return &row
}
