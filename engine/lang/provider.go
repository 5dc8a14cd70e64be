package lang

import (
	"errors"
	"maps"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// addProvider adds the module of a provider, and its submodules that export more.
func (ev *evaluation) addProvider(modules map[string]*module, p *model.ProviderSchema) {
	whole := &module{make: func() starlark.StringDict { return ev.providerNames(p) }, components: p.Components, path: p.Module}
	modules[p.Module] = whole
	for i := range p.Helpers {
		sub := p.Helpers[i].Module
		if sub == "" || modules[p.Module+"."+sub] != nil {
			continue
		}
		modules[p.Module+"."+sub] = &module{make: func() starlark.StringDict {
			names := maps.Clone(whole.table())
			ev.addHelpers(names, p, sub)
			return names
		}, components: p.Components, path: p.Module}
	}
}

// providerNames is the classes of a provider's types and of the structured values
// that their fields take, its constants and its helpers.
func (ev *evaluation) providerNames(p *model.ProviderSchema) starlark.StringDict {
	d := starlark.StringDict{}
	for _, typ := range p.Types {
		d[typ.Class] = newResourceClass(ev, typ)
		for i := range typ.Fields {
			ev.addNested(d, &typ.Fields[i].Type)
		}
	}
	for i := range p.Constants {
		d[p.Constants[i].Name] = ev.constant(&p.Constants[i])
	}
	ev.addHelpers(d, p, "")
	return d
}

func (ev *evaluation) addNested(d starlark.StringDict, t *model.FieldType) {
	if t.Elem != nil {
		ev.addNested(d, t.Elem)
	}
	if t.Nested == nil || d.Has(t.Nested.Name) {
		return
	}
	d[t.Nested.Name] = ev.nestedClass(t.Nested)
	for i := range t.Nested.Fields {
		ev.addNested(d, &t.Nested.Fields[i].Type)
	}
}

// constant is a constant as the config sees it: nothing that a config could change.
func (ev *evaluation) constant(c *model.Constant) starlark.Value {
	if len(c.Members) > 0 {
		attrs := make(starlark.StringDict, len(c.Members))
		for i := range c.Members {
			attrs[c.Members[i].Name] = ev.constant(&c.Members[i])
		}
		return &class{name: c.Name, attrs: attrs}
	}
	if c.Nested != nil {
		fields := map[string]starlark.Value{}
		values, _ := c.Value.(map[string]any)
		for i := range c.Nested.Fields {
			f := &c.Nested.Fields[i]
			if v, given := values[f.Name]; given {
				fields[f.Name] = fromModel(v)
			} else {
				fields[f.Name] = fromModel(f.Default)
			}
		}
		return ev.newNested(c.Nested, fields)
	}
	return fromModel(c.Value)
}

// addHelpers adds the helpers that a submodule alone exports, or with "" all others.
func (ev *evaluation) addHelpers(d starlark.StringDict, p *model.ProviderSchema, sub string) {
	for i := range p.Helpers {
		if h := &p.Helpers[i]; h.Module == sub {
			d[h.Name] = py.NewNative(h.Name, func(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				return ev.callHelper(t, h, args, kwargs)
			})
		}
	}
}

func (ev *evaluation) callHelper(t *starlark.Thread, h *model.Helper, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	call := model.HelperCall{Args: map[string]any{}, JSON: func(v any) (string, error) { return ev.toJSON(t, v) }}
	params := h.Params
	if h.Rest != "" {
		params = append([]string{"*"}, params...)
		for _, v := range args {
			call.Rest = append(call.Rest, toHelper(v))
		}
		args = nil
	}
	bound, err := py.BindArgs(h.Name, params, args, kwargs)
	if err != nil {
		return nil, err
	}
	for i, v := range bound {
		if v != nil {
			call.Args[paramName(h.Params[i])] = toHelper(v)
		}
	}
	result, err := h.Call(call)
	var python *py.Error
	var typed *model.Error
	switch {
	case err == nil:
		return fromHelper(t, result)
	case errors.As(err, &python), errors.As(err, &typed):
		return nil, err // of the language: what JSON gave
	}
	return nil, py.ValueErrorf("%s() %v", h.Name, err)
}

func paramName(param string) string {
	if last := len(param) - 1; last >= 0 && param[last] == '?' {
		return param[:last]
	}
	return param
}

// toHelper opens what a helper may look into.
func toHelper(v starlark.Value) any {
	switch v := v.(type) {
	case starlark.NoneType:
		return nil
	case starlark.String:
		return string(v)
	}
	return v
}

// fromHelper is the value of a helper's result. The helper's own containers are paid
// for; opaque values are the config's and were.
func fromHelper(t *starlark.Thread, v any) (starlark.Value, error) {
	switch v := v.(type) {
	case starlark.Value:
		return v, nil
	case string:
		return starlark.String(v), payText(t, len(v))
	case []any:
		if err := py.MeterOf(t).Alloc(valueBytes * int64(len(v))); err != nil {
			return nil, err
		}
		items := make([]starlark.Value, len(v))
		for i := range v {
			item, err := fromHelper(t, v[i])
			if err != nil {
				return nil, err
			}
			items[i] = item
		}
		return starlark.NewList(items), nil
	case model.Object:
		if err := py.MeterOf(t).Alloc(2 * valueBytes * int64(len(v))); err != nil {
			return nil, err
		}
		d := starlark.NewDict(len(v))
		for _, m := range v {
			item, err := fromHelper(t, m.Value)
			if err != nil {
				return nil, err
			}
			_ = d.SetKey(starlark.String(m.Key), item) // a new dict takes any text as key
		}
		return d, nil
	}
	return starlark.None, nil
}

func payText(t *starlark.Thread, n int) error { return py.MeterOf(t).Alloc(int64(n)) }

func (ev *evaluation) toJSON(t *starlark.Thread, v any) (string, error) {
	value, err := fromHelper(t, v)
	if err != nil {
		return "", err
	}
	encoded, err := py.Call(t, ev.builtins["to_json"], starlark.Tuple{value}, nil)
	return text(encoded), err
}
