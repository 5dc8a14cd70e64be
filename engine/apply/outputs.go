package apply

import (
	"context"
	"slices"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/resolve"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// outputPhase resolves the declared outputs and commits what differs, removals and new
// values in one write (EX-19, EX-20, EX-22). An output that does not resolve keeps its
// committed value.
func (x *execution) outputPhase(ctx context.Context) error {
	batch := state.Batch{SetOutputs: map[string]state.Output{}}
	for _, key := range x.plan.Outputs.Retired {
		if _, committed := x.plan.Snapshot.Outputs[key]; committed {
			batch.RemoveOutputs = append(batch.RemoveOutputs, key)
		}
	}
	if x.plan.Compilation != nil {
		for _, declared := range x.plan.Compilation.Outputs {
			if err := x.output(declared, batch.SetOutputs); err != nil {
				return err
			}
		}
	}
	if len(batch.RemoveOutputs) == 0 && len(batch.SetOutputs) == 0 {
		return nil
	}
	if err := x.pass(ctx, PhaseOutputs); err != nil {
		return err
	}
	return x.commit(batch)
}

// idleTimeout bounds what an output of a run with nothing to do waits for its secret.
const idleTimeout = time.Minute

// Idle is the report of a run that has nothing to do: what stays as it is, and the outputs
// as they are.
func Idle(ctx context.Context, p *plan.Plan, schemas *model.Schemas, secrets Secrets) *Report {
	x := newExecution(&Run{Schemas: schemas, Secrets: secrets, NodeTimeout: idleTimeout}, p)
	x.writes = ctx
	if p.Compilation == nil {
		return x.report
	}
	x.report.Noop = append(x.report.Noop, p.Graph.IDs()...)
	for _, declared := range p.Compilation.Outputs {
		if value, err := x.values().Resolve(declared.Value); err == nil {
			x.tell(declared, value)
		}
	}
	return x.report
}

// tell reports the value of an output.
func (x *execution) tell(declared ir.Output, value any) (sensitive bool) {
	x.report.Outputs[declared.Key] = value
	if sensitive = x.sealer().sensitive(declared.Value) || x.Secrets.tells(value); sensitive {
		x.report.SensitiveOutputs = append(x.report.SensitiveOutputs, declared.Key)
	}
	return sensitive
}

func (x *execution) output(declared ir.Output, set map[string]state.Output) error {
	value, err := x.values().Resolve(declared.Value)
	if err != nil {
		return x.unresolved(declared, err)
	}
	if marker := resolve.Reserved(value); marker != "" {
		return model.Errorf(model.StateError, model.ClassUser,
			"output '%s' holds the reserved form %s and cannot be committed", declared.Key, marker)
	}
	if err := state.CheckDocument(value); err != nil {
		return model.Errorf(model.StateError, model.ClassUser, "output '%s' cannot be committed: it %w", declared.Key, err)
	}
	out := state.Output{Value: value, Sensitive: x.tell(declared, value), SourceNodes: sourceNodes(declared.Value)}
	committed, ok := x.plan.Snapshot.Outputs[declared.Key]
	now, known := x.committed(declared.Key)
	if !ok || !known || !ir.Equal(now, value) || committed.Sensitive != out.Sensitive || !slices.Equal(committed.SourceNodes, out.SourceNodes) {
		if out.Sensitive && x.Secrets.Recorder != nil {
			x.Secrets.told.tell(value)
			if out.Value, err = x.Secrets.Recorder.Seal(value, declared.Key, ""); err != nil {
				return err
			}
		}
		set[declared.Key] = out
	}
	return nil
}

// unresolved is the error of an output that cannot be made; nil when something that it is
// made from does not exist yet, as after a run that left its node out (EX-19).
func (x *execution) unresolved(declared ir.Output, err error) error {
	values := x.values()
	waits := false
	model.Walk(declared.Value, func(v model.Value) bool {
		if ref, ok := model.AsReference(v); ok {
			_, found := values.Output(ref)
			waits = waits || !found
		}
		if key, ok := model.AsStackOutput(v); ok {
			_, found := values.StackOutput(key)
			waits = waits || !found
		}
		return !waits
	})
	if waits {
		return nil
	}
	return model.Errorf(model.KindOf(err), model.ClassOf(err), "output '%s': %w", declared.Key, err)
}

// sourceNodes are the ids that a value is made from, sorted.
func sourceNodes(v any) []string {
	var ids []string
	for _, ref := range model.References(v) {
		ids = append(ids, ref.NodeID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
