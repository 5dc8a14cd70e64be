package lang

import (
	"slices"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// The levels of a policy binding.
const (
	mandatory = "mandatory"
	advisory  = "advisory"
)

// policyNames is what atlantide.policy exports.
func (ev *evaluation) policyNames() starlark.StringDict {
	return starlark.StringDict{
		"enforce":             py.NewNative("enforce", ev.enforce),
		"PolicyLevel":         policyLevel(),
		"PolicyBinding":       &class{name: "PolicyBinding"},
		"REQUIRE_TAGS":        starlark.String("require-tags"),
		"REQUIRE_SECRET_REFS": starlark.String("require-secret-refs"),
		"DENY_DESTROY":        starlark.String("deny-destroy-in-protected"),
		"DENY_DESTROY_ALIAS":  starlark.String("deny-destroy-in-prod"),
	}
}

func policyLevel() starlark.Value {
	return &class{name: "PolicyLevel", attrs: starlark.StringDict{
		"MANDATORY": starlark.String(mandatory),
		"ADVISORY":  starlark.String(advisory),
	}}
}

func policyErrorf(format string, args ...any) *model.Error {
	return model.Errorf(model.PolicyConfigError, model.ClassUser, format, args...)
}

// enforce is enforce(name, *, level, types, **params) (lang.md §13.4). Whether the
// policy exists, and what it makes of the parameters, is checked at plan.
func (ev *evaluation) enforce(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var level, types starlark.Value
	var params []starlark.Tuple
	all := args
	for _, kw := range kwargs {
		switch text(kw[0]) {
		case "name":
			all = append(append(starlark.Tuple(nil), all...), kw[1])
		case "level":
			level = kw[1]
		case "types":
			types = kw[1]
		default:
			params = append(params, kw)
		}
	}
	if len(all) != 1 {
		return nil, py.TypeErrorf("enforce() takes the name of a policy and keyword arguments, but %d names were given", len(all))
	}
	name, ok := all[0].(starlark.String)
	if !ok {
		return nil, policyErrorf("enforce(): the name of a policy must be a str, not %s (%s)", py.Show(t, all[0]), py.TypeName(all[0]))
	}
	b := ir.PolicyBinding{Name: string(name), Level: mandatory, Params: map[string]any{}, At: ev.placeAt(ev.origin(t)).Extended()}
	if level != nil {
		s, ok := level.(starlark.String)
		if !ok || s != mandatory && s != advisory {
			err := policyErrorf("policy '%s': level must be '%s' or '%s', not %s (%s)", b.Name, mandatory, advisory, py.Show(t, level), py.TypeName(level))
			err.Hint = model.DidYouMean(string(s), []string{mandatory, advisory})
			return nil, err
		}
		b.Level = string(s)
	}
	var err error
	if b.Types, err = policyTypes(t, b.Name, types); err != nil {
		return nil, err
	}
	for _, kw := range params {
		key := text(kw[0])
		if b.Params[key], err = canonical(t, kw[1], "policy '"+b.Name+"': "+key); err != nil {
			return nil, err
		}
	}
	if err := ev.meter.Reserve(tableBytes); err != nil {
		return nil, err
	}
	ev.registry.policies = append(ev.registry.policies, b)
	return starlark.None, nil
}

// policyTypes reads types: one text or several, sorted; nil means all types.
func policyTypes(t *starlark.Thread, policy string, v starlark.Value) ([]string, error) {
	if isNone(v) {
		return nil, nil
	}
	if s, ok := v.(starlark.String); ok {
		return []string{string(s)}, nil
	}
	elements, err := items(t, v)
	if err != nil {
		return nil, policyErrorf("policy '%s': types must be a text or a list of texts, not %s (%s)", policy, py.Show(t, v), py.TypeName(v))
	}
	if len(elements) == 0 {
		return nil, policyErrorf("policy '%s': types is empty, so that it would bind nothing; name a type, or leave types out for all", policy)
	}
	out := make([]string, len(elements))
	for i, e := range elements {
		s, ok := e.(starlark.String)
		if !ok {
			return nil, policyErrorf("policy '%s': types must hold texts, not %s (%s)", policy, py.Show(t, e), py.TypeName(e))
		}
		out[i] = string(s)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
