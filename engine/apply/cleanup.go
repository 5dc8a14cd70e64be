package apply

import (
	"context"

	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

// cleanupPhase destroys the old halves of create-first replaces, and before each of them
// what is deleted and was made from it (phase 1b).
func (x *execution) cleanupPhase(ctx context.Context) error {
	if len(x.old) == 0 {
		return nil
	}
	if err := x.pass(ctx, PhaseCleanup); err != nil {
		return x.orphaned(err)
	}
	g, err := recordedGraph(x.plan.Snapshot)
	if err != nil {
		return x.orphaned(err)
	}
	due := x.cleanups()
	seeds := make([]string, 0, len(due))
	for id := range due {
		seeds = append(seeds, id)
	}
	for _, id := range g.Closure(seeds, true) {
		if c := x.changes[id]; due[id] == nil && c != nil && x.deletes(c) {
			due[id] = c
		}
	}
	return x.orphaned(x.destroyAll(g, due))
}

// cleanups are the old halves as changes, by their node in the recorded graph: that of a
// replace which began in this run is the node itself.
func (x *execution) cleanups() map[string]*plan.Change {
	due := make(map[string]*plan.Change, len(x.old))
	for id, entry := range x.old {
		due[recordedAs(x.changes[id])] = &plan.Change{NodeID: id + plan.PendingSuffix, Action: plan.Delete, PendingDestroy: entry}
	}
	return due
}

// destroyAll destroys what is due, dependents first.
func (x *execution) destroyAll(g *graph.Graph, due map[string]*plan.Change) error {
	return x.walk(g, true, func(id string) error {
		switch c := due[id]; {
		case c == nil:
			return nil
		case c.PendingDestroy != nil && x.old[c.PendingDestroy.NodeID] != nil:
			return x.node(c, x.cleanup)
		default:
			return x.node(c, x.delete)
		}
	})
}

// cleanup destroys the old half of a replace of this run.
func (x *execution) cleanup(ctx context.Context, c *plan.Change) error {
	id := c.PendingDestroy.NodeID
	err := x.destroyOld(ctx, c.PendingDestroy, notWrittenAhead)
	x.note(func() {
		if err == nil {
			x.cleaned[id] = true
		} else {
			x.report.orphan(id, "its old half was not destroyed: "+err.Error())
			x.told[id] = true
		}
	})
	return err
}

// orphaned names the old halves that are left when a run ends early (EX-35, X-37).
func (x *execution) orphaned(failure error) error {
	if failure == nil {
		return nil
	}
	x.note(func() {
		for id := range x.old {
			if !x.cleaned[id] && !x.told[id] {
				x.report.orphan(id, "its old half is left; it is recorded, and the next plan deletes it")
			}
		}
	})
	return failure
}

// orphan names a node of which something is left, beside what was said of it before.
func (r *Report) orphan(id, reason string) {
	if said := r.Orphaned[id]; said != "" {
		reason = said + "; " + reason
	}
	r.Orphaned[id] = reason
}
