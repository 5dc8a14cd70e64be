package apply

import (
	"context"
	"errors"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// deletePhase destroys what is not declared any more and did not have to go earlier,
// dependents first, in the order that the rows recorded (EX-2).
func (x *execution) deletePhase(ctx context.Context) error {
	due := map[string]*plan.Change{}
	for i := range x.plan.Changes {
		if c := &x.plan.Changes[i]; x.deletes(c) {
			due[c.NodeID] = c
		}
	}
	if len(due) == 0 {
		return nil
	}
	if err := x.pass(ctx, PhaseDelete); err != nil {
		return err
	}
	g, err := recordedGraph(x.plan.Snapshot)
	if err != nil {
		return err
	}
	return x.destroyAll(g, due)
}

// deletes reports whether a change still is to be deleted: each is at most once (EX-17).
func (x *execution) deletes(c *plan.Change) bool {
	return c.Action == plan.Delete && !x.gone[c.NodeID]
}

// delete destroys a recorded node and forgets it (EX-17), or the old half that an
// interrupted replace left.
//
// The row is marked before the call, as one that may or may not stand for something:
// if the run dies and the config wants the node again, the next plan creates it instead
// of taking it for unchanged. The write proves the fence as well (EX-18).
func (x *execution) delete(ctx context.Context, c *plan.Change) error {
	if c.PendingDestroy != nil {
		return x.settle(ctx, c.PendingDestroy.NodeID, c.PendingDestroy)
	}
	row := c.Prior
	proved := notWrittenAhead
	if err := x.deletable(row); err != nil {
		return err
	}
	if row.Kind != model.KindData {
		marked := x.doomed(row)
		if err := x.ahead(state.Batch{PutRows: []*state.Row{marked}}); err != nil {
			return err
		}
		proved = writtenAhead
	}
	if err := x.destroy(ctx, row, proved); err != nil {
		if ctx.Err() != nil {
			return err // cut short: the mark stays, for nobody knows
		}
		return x.alongside(err, state.Batch{PutRows: []*state.Row{row}})
	}
	x.note(func() {
		x.gone[row.ID] = true
		x.report.Deleted = append(x.report.Deleted, row.ID)
	})
	return x.commit(state.Batch{DeleteRows: []string{row.ID}})
}

// doomed is a row as it is while a delete may or may not have got to what it stands for. If
// that is known by its outputs, a later create is another attempt: providers refuse to use
// the token of something that is gone.
func (x *execution) doomed(row *state.Row) *state.Row {
	marked := *row
	if row.Status == state.StatusCreated {
		marked.Attempt = ""
	}
	marked.Status, marked.InputHash, marked.UpdatedAt = state.StatusCreating, "", x.Now()
	return &marked
}

// settle destroys an old half that an earlier run left behind and reports it as a
// delete; nothing for nil.
func (x *execution) settle(ctx context.Context, id string, entry *state.PendingDestroy) error {
	if entry == nil {
		return nil
	}
	if err := x.destroyOld(ctx, entry, notWrittenAhead); err != nil {
		return err
	}
	x.note(func() {
		x.gone[id+plan.PendingSuffix] = true
		x.report.Deleted = append(x.report.Deleted, id+plan.PendingSuffix)
	})
	return nil
}

// destroyOld destroys the old half of a replace; its entry goes once that is confirmed
// and before anything is made that could bear the same identity (EX-13).
func (x *execution) destroyOld(ctx context.Context, entry *state.PendingDestroy, proved bool) error {
	if err := x.destroy(ctx, entry.Row, proved); err != nil {
		return err
	}
	return x.commit(state.Batch{DeletePending: []string{entry.NodeID}})
}

// destroy calls the provider for a recorded half, rebuilt from its row against what
// was recorded when the run started; inputs that cannot be resolved any more are
// absent. A data source is only forgotten.
func (x *execution) destroy(ctx context.Context, row *state.Row, proved bool) error {
	if row.Kind == model.KindData {
		return nil
	}
	if x.Schemas.Type(row.Type) == nil {
		e := model.Errorf(model.ProviderError, model.ClassUser,
			"the type '%s' of %s is unknown; use a release that has it", row.Type, row.ID)
		e.NodeID, e.Op, e.ResourceType = row.ID, "delete", row.Type
		return e
	}
	if err := x.deletable(row); err != nil {
		return err
	}
	request := x.request(row, x.inputsOf(row), row)
	if err := x.shared(row, request.Inputs); err != nil {
		return err
	}
	_, err := x.mutate(ctx, "delete", row, proved, func(ctx context.Context, p Provider) (model.Outputs, error) {
		return nil, p.Delete(ctx, request)
	})
	return err
}

// deletable is an error if what a row stands for could not be found because something that
// is recorded of it does not open. It is asked before anything is written as well, so that
// the row stays as it is.
func (x *execution) deletable(row *state.Row) error {
	if row.Kind == model.KindData {
		return nil
	}
	if err := x.Secrets.located(row, x.Schemas, x.plan.Snapshot); err != nil {
		return failed(err, "delete", row)
	}
	return nil
}

// recordedGraph is the graph of the rows and of the old halves that are left, over
// what they recorded; an edge to what is gone is dropped (EX-2, RF-18). An old half
// goes after whatever was recorded to depend on its node.
func recordedGraph(s *state.Snapshot) (*graph.Graph, error) {
	edges := make(map[string][]string, len(s.Rows)+len(s.Pending))
	add := func(from string, row *state.Row) {
		targets := []string{}
		for _, to := range slices.Concat(row.Dependencies, row.DependsOn) {
			if s.Rows[to] != nil && to != row.ID {
				targets = append(targets, to)
			}
			if s.Pending[to] != nil && to != row.ID {
				targets = append(targets, to+plan.PendingSuffix)
			}
		}
		edges[from] = targets
	}
	for id, row := range s.Rows {
		add(id, row)
	}
	for id, entry := range s.Pending {
		add(id+plan.PendingSuffix, entry.Row)
	}
	g, err := graph.Build(edges)
	var e *model.Error
	if errors.As(err, &e) && e.Kind == model.CycleError {
		// Rows of different runs may contradict each other; they must go all the same.
		for _, cycle := range e.Cycles {
			for _, member := range cycle {
				edges[member] = slices.DeleteFunc(edges[member], func(to string) bool { return slices.Contains(cycle, to) })
			}
		}
		return graph.Build(edges)
	}
	return g, err
}

// keepers notes which node keeps which object through the run. Nodes that are made or
// changed are noted when their inputs are known.
func (x *execution) keepers() {
	for i := range x.plan.Changes {
		c := &x.plan.Changes[i]
		if row := x.plan.Snapshot.Rows[c.NodeID]; row != nil && c.Action == plan.Noop {
			x.own(row.ID, row.Type, plan.RecordedInputs(row, x.recorded, x.Secrets.Digests))
		}
	}
}

// own notes that a node is an object, and says which other node is the same one already.
func (x *execution) own(id, resourceType string, inputs map[string]any) (other string) {
	schema := x.Schemas.Type(resourceType)
	if schema == nil {
		return ""
	}
	address, known := schema.ObjectAddress(inputs)
	if !known {
		return ""
	}
	if owner := x.owners[address]; owner != "" && owner != id {
		return owner
	}
	x.owners[address] = id
	return ""
}

// shared refuses to destroy a half whose object another node owns by now. Planning
// refuses it where the address is written out; here it is found behind a reference.
func (x *execution) shared(row *state.Row, inputs map[string]any) error {
	address, known := x.Schemas.Type(row.Type).ObjectAddress(inputs)
	if !known {
		return nil
	}
	other := ""
	x.note(func() { other = x.owners[address] })
	if other == "" || other == row.ID {
		return nil
	}
	return failed(model.Errorf(model.ProviderError, model.ClassUser,
		"%s was not deleted: it is the same object as %s, which would go with it; give one of them another address", row.ID, other), "delete", row)
}
