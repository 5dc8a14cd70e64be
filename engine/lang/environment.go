package lang

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// environment is one environment of a Config, validated and immutable. Lists and
// dicts belong to it alone (lang.md §10.4).
type environment struct {
	object
	class  string
	name   string
	config *configValue
	values map[string]starlark.Value // every declared variable
}

// orNone is the environment as a value of the config.
func (e *environment) orNone() starlark.Value {
	if e == nil {
		return starlark.None
	}
	return e
}

func (e *environment) Type() string { return e.class }

// PyRepr implements py.Renderer.
func (e *environment) PyRepr(t *starlark.Thread) (string, error) {
	values, err := py.Repr(t, e.asDict())
	return e.class + "('" + e.name + "', " + values + ")", err
}

// asDict is a new dict of all variables, sorted by name.
func (e *environment) asDict() *starlark.Dict {
	out := starlark.NewDict(len(e.values))
	for _, name := range slices.Sorted(maps.Keys(e.values)) {
		_ = out.SetKey(starlark.String(name), e.values[name])
	}
	return out
}

func (e *environment) Attr(name string) (starlark.Value, error) {
	switch name {
	case "name":
		return starlark.String(e.name), nil
	case "as_dict":
		return method("as_dict", nil, func([]starlark.Value) (starlark.Value, error) { return e.asDict(), nil }), nil
	case "get":
		return py.NewNative("get", e.get), nil
	}
	if v := e.values[name]; v != nil {
		return v, nil
	}
	return nil, e.unknown("'"+name+"'", name)
}

func (e *environment) AttrNames() []string {
	return append([]string{"as_dict", "get", "name"}, slices.Sorted(maps.Keys(e.values))...)
}

func (e *environment) unknown(shown, name string) error {
	err := languageErrorf("environment '%s' has no variable %s; declared are %s", e.name, shown, strings.Join(e.config.declared(), ", "))
	err.Hint = model.DidYouMean(name, e.AttrNames())
	return err
}

func (e *environment) get(_ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	p, err := py.BindArgs("get", []string{"key", "default?"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	if key, ok := p[0].(starlark.String); ok {
		if v := e.values[string(key)]; v != nil {
			return v, nil
		}
	}
	if p[1] == nil {
		return starlark.None, nil
	}
	return p[1], nil
}

// PyGetItem implements py.Indexer.
func (e *environment) PyGetItem(t *starlark.Thread, key starlark.Value) (starlark.Value, error) {
	name, ok := key.(starlark.String)
	switch {
	case ok && name == "name":
		return starlark.String(e.name), nil
	case ok && e.values[string(name)] != nil:
		return e.values[string(name)], nil
	}
	return nil, e.unknown(py.Show(t, key), string(name))
}

// PyContains implements py.Container: true for declared variables.
func (e *environment) PyContains(_ *starlark.Thread, x starlark.Value) (bool, error) {
	name, ok := x.(starlark.String)
	return ok && e.values[string(name)] != nil, nil
}

// schemaBase is EnvSchema itself.
type schemaBase struct{ object }

func (*schemaBase) Type() string   { return "type" }
func (*schemaBase) PyType() string { return "type" }
func (*schemaBase) PyRepr(*starlark.Thread) (string, error) {
	return "<class 'EnvSchema'>", nil
}

// schemaClass is a class that inherits EnvSchema.
type schemaClass struct {
	object
	name   string
	fields []*variable // in declaration order
}

func (*schemaClass) Type() string   { return "type" }
func (*schemaClass) PyType() string { return "type" }
func (c *schemaClass) PyRepr(*starlark.Thread) (string, error) {
	return "<class '" + c.name + "'>", nil
}

// classBase verifies that EnvSchema still is what it was (lang.md §3.5).
func (ev *evaluation) classBase(class string, base starlark.Value) (starlark.Value, error) {
	if base == starlark.Value(ev.schema) {
		return base, nil
	}
	return nil, languageErrorf("class '%s' must inherit the EnvSchema of atlantide.core, but the name EnvSchema was bound to something else", class)
}

// classField declares a field: args are the class, the field, the type, whether None
// is allowed, and the default if there is one.
func (ev *evaluation) classField(t *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
	if err := ev.meter.Charge(1); err != nil {
		return nil, err
	}
	v := &variable{name: text(args[1]), kind: text(args[2]), nullable: bool(args[3].Truth())}
	switch {
	case len(args) < 5 && v.nullable:
		v.value = starlark.None
	case len(args) < 5:
	case args[4] == starlark.None:
		v.value, v.nullable = starlark.None, true
	case !kindMatches(v.kind, args[4]):
		return nil, languageErrorf("the default of %s.%s must be of type %s, not %s (%s)", text(args[0]), v.name, v.kind, py.Show(t, args[4]), py.TypeName(args[4]))
	default:
		value, err := py.Call(t, defaultOf, args[4:], nil)
		if err != nil {
			return nil, err
		}
		v.value = value
	}
	return v, nil
}

// defaultOf copies the default of a field. It is a native so that the walk is paid
// for, as in a call that a config writes; a value that holds itself ends there.
var defaultOf = py.NewNative("default", func(t *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return copyOf(py.MeterOf(t), args[0])
})

func newSchemaClass(name string, fields *starlark.List) *schemaClass {
	c := &schemaClass{name: name}
	for i := range fields.Len() {
		c.fields = append(c.fields, fields.Index(i).(*variable))
	}
	return c
}

// identifier reports whether a name could be written in a config.
func identifier(name string) bool {
	for i, r := range name {
		start := r == '_' || unicode.In(r, unicode.L, unicode.Nl)
		if !start && (i == 0 || !unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc)) {
			return false
		}
	}
	return name != ""
}
