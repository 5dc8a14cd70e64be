package apply

import (
	"context"

	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// earlyPhase destroys what a destroy-first replace must wait for, dependents first
// (EX-42). The nodes among it that are made again are made in phase 1.
func (x *execution) earlyPhase(ctx context.Context) error {
	early := x.plan.EarlyDestroys()
	if len(early) == 0 {
		return nil
	}
	if err := x.pass(ctx, PhaseEarly); err != nil {
		return err
	}
	due := make(map[string]*plan.Change, len(early))
	for _, c := range early {
		due[recordedAs(c)] = c
	}
	g, err := recordedGraph(x.plan.Snapshot)
	if err != nil {
		return err
	}
	return x.walk(g, true, func(id string) error {
		switch c := due[id]; {
		case c == nil:
			return nil
		case c.Action == plan.Delete:
			return x.node(c, x.delete)
		default:
			return x.timed(c, x.deleteHalf) // its start is reported with the create
		}
	})
}

// recordedAs is the node of the recorded graph that stands for what a change takes away.
func recordedAs(c *plan.Change) string {
	if c.Action == plan.Replace && c.PendingDestroy != nil {
		return c.NodeID + plan.PendingSuffix
	}
	return c.NodeID
}

// deleteHalf destroys the old half of a replace and leaves the row of the new one,
// written ahead (EX-42). Its references are not known yet, so their digests follow with
// the create.
func (x *execution) deleteHalf(ctx context.Context, c *plan.Change) error {
	old, row := oldHalf(c), rowOf(c, x.NewID)
	if err := x.deletable(old); err != nil {
		return err
	}
	row.UpdatedAt = x.Now()
	entry := x.plan.Snapshot.Pending[c.NodeID]
	if c.PendingDestroy == nil {
		if err := x.settle(ctx, c.NodeID, entry); err != nil {
			return err
		}
		row.Status, row.Attempt = state.StatusCreating, x.NewID()
		entry = &state.PendingDestroy{NodeID: row.ID, Row: old, Mode: state.DestroyBeforeCreate}
		if err := x.ahead(state.Batch{PutRows: []*state.Row{row}, PutPending: []*state.PendingDestroy{entry}}); err != nil {
			return err
		}
	} else if primary := x.plan.Snapshot.Rows[c.NodeID]; primary != nil {
		// What the interrupted run may have made goes on standing for itself.
		row = primary
		if err := x.ahead(state.Batch{PutRows: []*state.Row{row}}); err != nil {
			return err
		}
	} else if err := x.writeAhead(row, nil); err != nil {
		return err
	}
	if err := x.destroyOld(ctx, entry, writtenAhead); err != nil {
		return err
	}
	x.note(func() {
		x.early[c.NodeID] = row
		x.undos = append(x.undos, undo{id: c.NodeID, kind: undoDestroyed, prior: old})
	})
	return nil
}
