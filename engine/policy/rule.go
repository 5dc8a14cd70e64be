package policy

import (
	"path"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Rule is a demand from outside a config, as a platform team makes it.
type Rule struct {
	Name  string
	Level string
	// Types are globs over type names ("aws.*"); none = every type. Actions are those
	// judged; none = every action.
	Types   []string
	Actions []string
	Params  map[string]any
	Policy  Policy
	// PolicyDigest says which policy it is, so that another one gives the rule another
	// digest.
	PolicyDigest string

	digest string
}

// Limits of a rule.
const (
	maxRuleName  = 512
	maxFilters   = 256
	maxGlobBytes = 256
)

var actions = []string{"create", "update", "replace", "delete"}

// Builtin is a rule's part for a built-in policy.
func Builtin(name string) (policy Policy, digest string, err error) {
	if policy = builtins()[name]; policy == nil {
		return nil, "", model.Errorf(model.RegistryError, model.ClassUser, "no built-in policy is called '%s'; there are %s", name, joined(Names()))
	}
	return policy, "builtin:" + name, nil
}

// validate checks the rule whole, parameters included, and digests what it demands.
func (r *Rule) validate() error {
	if r.Name == "" || len(r.Name) > maxRuleName || r.Policy == nil || r.PolicyDigest == "" {
		return configError(r.Name, "a rule needs a name of at most %d bytes, a policy and the policy's digest", maxRuleName)
	}
	if err := validLevel(r.Name, r.Level); err != nil {
		return err
	}
	if len(r.Types) > maxFilters || len(r.Actions) > maxFilters {
		return configError(r.Name, "a rule names at most %d types and actions", maxFilters)
	}
	for _, glob := range r.Types {
		if _, err := path.Match(glob, ""); err != nil || len(glob) > maxGlobBytes || glob == "" {
			return configError(r.Name, "%s is no glob over type names, as 'aws.*' is", model.Repr(glob))
		}
	}
	for _, action := range r.Actions {
		if !slices.Contains(actions, action) {
			return configError(r.Name, "%s is no action; there are %s", model.Repr(action), joined(actions))
		}
	}
	if _, err := r.Policy(r.Name, r.Params); err != nil {
		return err
	}
	var err error
	r.digest, err = ir.Digest(map[string]any{
		"level": r.Level, "types": list(r.Types), "actions": list(r.Actions), "params": orEmpty(r.Params), "policy": r.PolicyDigest,
	})
	return err
}

// applies asks for the type and the action. A glob was checked when the set was made.
func (r *Rule) applies(c *Change) bool {
	if len(r.Actions) > 0 && !slices.Contains(r.Actions, c.Action) {
		return false
	}
	return len(r.Types) == 0 || slices.ContainsFunc(r.Types, func(glob string) bool {
		matched, _ := path.Match(glob, c.Type)
		return matched
	})
}

// list is sorted and without repetitions: the order of filters says nothing.
func list(texts []string) []any {
	out := []any{}
	for _, text := range slices.Compact(slices.Sorted(slices.Values(texts))) {
		out = append(out, text)
	}
	return out
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}
