// Package policy owns what a plan is judged by: the built-in policies, how a config and a
// resource type bind them, the rules that come from outside a config, and the verdict on
// the pending changes.
//
// It must never know how a plan is made or shown, nor in which language a rule is written.
package policy

import (
	"context"
	"maps"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Levels of a binding (PL-13).
const (
	Mandatory = "mandatory"
	Advisory  = "advisory"
)

// maxBindings bounds what one config enforces: each is asked about every change.
const maxBindings = 1000

// Set judges plans. The zero value knows the built-in policies and has no rules of its own.
// It is immutable and safe for concurrent use.
type Set struct{ rules []Rule }

// Policy makes the check of one binding. It is asked once a plan, when the first change
// that the binding applies to comes up; name is what the binding calls the policy. A
// parameter that it cannot take is a PolicyConfigError.
type Policy func(name string, params map[string]any) (Check, error)

// Check says what is wrong with a change: a message that starts with the node id, or
// nothing. Its error ends the plan. A check serves one plan, and one change at a time.
type Check func(ctx context.Context, c *Change) (message string, err error)

// Change is a pending change as policies see it (PL-12).
type Change struct {
	NodeID string
	Type   string
	Action string // create, update, replace or delete
	// Conditional: the replace may turn out unnecessary; policies take it for a replace
	// (DF-20).
	Conditional   bool
	ChangedFields []string
	Desired       map[string]any      // symbolic properties; nil when the node goes
	Prior         map[string]any      // recorded properties; nil when the node is new
	Schema        *model.ResourceType // nil where no provider declares the type any more
}

// Verdict is how a plan was judged.
type Verdict struct {
	Violations []Violation // by change, then by binding; at most MaxViolations and one a level
	Results    []Result    // of every binding in force, in order
}

// Violation is a binding's objection to a change.
type Violation struct {
	Policy, Level, NodeID, Message string
}

// Result is what one binding demands and whether all changes met it.
type Result struct {
	Name     string
	Digest   string
	Violated bool
}

// NewSet makes a set that judges by rules beside what configs and types bind.
func NewSet(rules ...Rule) (*Set, error) {
	s := &Set{rules: slices.Clone(rules)}
	for i := range s.rules {
		if err := s.rules[i].validate(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Judge evaluates the changes, which must be actionable and sorted by node id: each by
// the config's bindings in declaration order, then by those of its type, then by the
// set's rules (PL-12). A policy that nobody defines and a parameter that a policy does
// not take are errors once a change comes up that they would apply to.
func (s *Set) Judge(ctx context.Context, changes []Change, bindings []ir.PolicyBinding) (Verdict, error) {
	if len(bindings) > maxBindings {
		return Verdict{}, model.Errorf(model.PolicyConfigError, model.ClassUser, "the config enforces %d policies, and at most %d are taken; bind one to several types", len(bindings), maxBindings)
	}
	config := make([]*demand, len(bindings))
	for i, b := range bindings {
		d, err := ofBinding(b)
		if err != nil {
			return Verdict{}, err
		}
		config[i] = d
	}
	rules := make([]*demand, len(s.rules))
	for i := range s.rules {
		rules[i] = ofRule(&s.rules[i])
	}
	types := map[string][]*demand{}
	var found violations
	for i := range changes {
		c := &changes[i]
		own, err := ofType(types, c)
		if err != nil {
			return Verdict{}, err
		}
		for _, group := range [][]*demand{config, own, rules} {
			for _, d := range group {
				if err := d.judge(ctx, c, &found); err != nil {
					return Verdict{}, err
				}
			}
		}
	}
	demands := config
	for _, name := range slices.Sorted(maps.Keys(types)) {
		demands = append(demands, types[name]...)
	}
	return Verdict{Violations: found.list(), Results: results(append(demands, rules...))}, nil
}

func results(demands []*demand) []Result {
	out := make([]Result, len(demands))
	for i, d := range demands {
		out[i] = Result{Name: d.name, Digest: d.digest, Violated: d.violated}
	}
	return out
}
