package engine

import (
	"context"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/policy"
)

// judge is what plan asks of policies.
type judge func(changes []*plan.Change, bindings []ir.PolicyBinding) (plan.PolicyVerdict, error)

func (j judge) Check(changes []*plan.Change, bindings []ir.PolicyBinding) (plan.PolicyVerdict, error) {
	return j(changes, bindings)
}

// policies judge by what the config and the types bind and by the rules of the set.
func (e *Engine) policies(ctx context.Context, set *policy.Set) plan.PolicyChecker {
	if set == nil {
		set = new(policy.Set)
	}
	schemas := e.Registry.Schemas()
	return judge(func(changes []*plan.Change, bindings []ir.PolicyBinding) (plan.PolicyVerdict, error) {
		pending := make([]policy.Change, len(changes))
		for i, c := range changes {
			pending[i] = judged(c, schemas)
		}
		verdict, err := set.Judge(ctx, pending, bindings)
		if err != nil {
			return plan.PolicyVerdict{}, err
		}
		out := plan.PolicyVerdict{
			Violations: make([]plan.Violation, len(verdict.Violations)),
			Results:    make([]plan.PolicyResult, len(verdict.Results)),
		}
		for i, v := range verdict.Violations {
			out.Violations[i] = plan.Violation{Policy: v.Policy, Level: v.Level, NodeID: v.NodeID, Message: v.Message}
		}
		for i, r := range verdict.Results {
			out.Results[i] = plan.PolicyResult{Name: r.Name, Digest: r.Digest, Result: plan.PolicyPassed}
			if r.Violated {
				out.Results[i].Result = plan.PolicyViolated
			}
		}
		return out, nil
	})
}

// judged is a change as policies see it. The old half that an interrupted replace left is
// what the change takes away (EX-13).
func judged(c *plan.Change, schemas *model.Schemas) policy.Change {
	out := policy.Change{
		NodeID: c.NodeID, Type: model.TypeOf(c.NodeID), Action: string(c.Action),
		Conditional: c.Conditional, ChangedFields: c.ChangedFields,
	}
	out.Schema = schemas.Type(out.Type)
	if c.Desired != nil {
		out.Desired = present(c.Desired.Properties)
	}
	switch {
	case c.Prior != nil:
		out.Prior = present(c.Prior.Properties)
	case c.PendingDestroy != nil:
		out.Prior = present(c.PendingDestroy.Row.Properties)
	}
	return out
}

// present is a side that is there, even without properties.
func present(properties map[string]any) map[string]any {
	if properties == nil {
		return map[string]any{}
	}
	return properties
}
