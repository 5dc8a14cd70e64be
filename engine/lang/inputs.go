package lang

import (
	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
)

// api is the atlantide handle: inputs, secrets and the pure functions (lang.md §8.3).
type api struct {
	object
	attrs starlark.StringDict
}

func (ev *evaluation) handle() starlark.Value {
	attrs := py.Helpers()
	attrs["input"] = py.NewNative("input", ev.input)
	attrs["secret"] = py.NewNative("secret", ev.newSecretRef("secret"))
	return &api{attrs: attrs}
}

func (*api) Type() string                               { return "AtlantideAPI" }
func (*api) PyRepr(*starlark.Thread) (string, error)    { return "<atlantide config API>", nil }
func (a *api) Attr(name string) (starlark.Value, error) { return a.attrs[name], nil }
func (a *api) AttrNames() []string                      { return a.attrs.Keys() }

// input is atlantide.input(name, default=…). What is read is recorded, defaults
// included; what is not leaves no trace.
func (ev *evaluation) input(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	p, err := py.BindArgs("input", []string{"name", "default?"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	name, ok := p[0].(starlark.String)
	if !ok {
		return nil, py.TypeErrorf("input() name must be a str, not %s", py.TypeName(p[0]))
	}
	if p[1] != nil {
		ev.defaults[string(name)] = py.TypeName(p[1])
	}
	if given, ok := ev.options.Inputs[string(name)]; ok {
		v := fromModel(given)
		if err := chargeCopy(t, v); err != nil {
			return nil, err
		}
		ev.consumed[string(name)] = given
		return v, nil
	}
	if p[1] == nil {
		return nil, languageErrorf("input '%s' is not set; pass it with --var, set it under [inputs], or give a default", string(name))
	}
	recorded, err := canonical(t, p[1], "input '"+string(name)+"'")
	if err != nil {
		return nil, err
	}
	ev.consumed[string(name)] = recorded
	return p[1], nil
}
