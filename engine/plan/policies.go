package plan

import (
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
)

// Levels of a violation (PL-13).
const (
	LevelMandatory = "mandatory"
	LevelAdvisory  = "advisory"
)

// Violation is a policy's objection.
type Violation struct {
	Policy  string `json:"policy"`
	Level   string `json:"level"`
	NodeID  string `json:"node_id"`
	Message string `json:"message"`
}

// PolicyChecker judges what a plan would do (PL-12). It is asked once, after everything
// else: changes are the actionable ones by node id, bindings those of the config in
// declaration order. An unknown policy and a parameter that it does not take are errors.
type PolicyChecker interface {
	Check(changes []*Change, bindings []ir.PolicyBinding) (PolicyVerdict, error)
}

// PolicyVerdict is how the policies judged a plan.
type PolicyVerdict struct {
	Violations []Violation // by change, then by binding
	// Results name every policy that was asked, in order. They enter the changeset
	// digest, so that an approval covers what was demanded.
	Results []PolicyResult
}

// PolicyResult is one policy's part in the changeset digest.
type PolicyResult struct {
	Name   string
	Digest string // of all that the policy demands: level, types, parameters, rules
	Result string // PolicyPassed or PolicyViolated
}

// Results of a policy.
const (
	PolicyPassed   = "passed"
	PolicyViolated = "violated"
)

// evaluate asks the policies.
func (p *Plan) evaluate(checker PolicyChecker) error {
	bindings := p.Compilation.Policies
	if checker == nil {
		return nil
	}
	var changes []*Change
	for i := range p.Changes {
		if p.Changes[i].Actionable() {
			changes = append(changes, &p.Changes[i])
		}
	}
	verdict, err := checker.Check(changes, bindings)
	if err != nil {
		return err
	}
	p.evaluated = true
	p.Violations, p.Policies = verdict.Violations, verdict.Results
	p.Blocked = slices.ContainsFunc(p.Violations, func(v Violation) bool { return v.Level == LevelMandatory })
	return nil
}

// policyEntries name each policy, what it demands and how it judged.
func (p *Plan) policyEntries(c *ir.Compilation) ([]any, error) {
	results := p.Policies
	if !p.evaluated {
		var err error
		if results, err = p.bindingResults(c.Policies); err != nil {
			return nil, err
		}
	}
	entries := make([]any, len(results))
	for i, r := range results {
		entries[i] = map[string]any{"name": r.Name, "digest": r.Digest, "result": r.Result}
	}
	return entries, nil
}

// bindingResults stand for the config's bindings where nobody evaluated them.
func (p *Plan) bindingResults(bindings []ir.PolicyBinding) ([]PolicyResult, error) {
	results := make([]PolicyResult, len(bindings))
	for i, binding := range bindings {
		digest, err := binding.Digest()
		if err != nil {
			return nil, err
		}
		results[i] = PolicyResult{Name: binding.Name, Digest: digest, Result: PolicyPassed}
		if slices.ContainsFunc(p.Violations, func(v Violation) bool { return v.Policy == binding.Name }) {
			results[i].Result = PolicyViolated
		}
	}
	return results, nil
}
