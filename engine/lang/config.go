package lang

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// configValue is Config(...): the environments that a config declares (lang.md §10.3).
type configValue struct {
	object
	ev       *evaluation
	schema   []*variable             // sorted by name, well-known ones included
	envs     map[string]*environment // by name
	names    []string                // sorted
	selected []string                // sorted
}

// variable is a declared variable of all environments: var(...) or a schema's field.
type variable struct {
	object
	name     string
	kind     string         // str, int, float, bool, list or dict
	value    starlark.Value // default; nil = required
	nullable bool
}

// wellKnown variables exist in every environment, declared or not.
var wellKnown = []struct{ name, kind string }{{"name_prefix", "str"}, {"region", "str"}, {"tags", "dict"}}

// variableKinds are the types a variable may have.
var variableKinds = []string{"bool", "dict", "float", "int", "list", "str"}

func (v *variable) Type() string { return "Var" }

// PyRepr implements py.Renderer.
func (v *variable) PyRepr(t *starlark.Thread) (string, error) {
	kind := v.kind
	if v.nullable && v.value != starlark.None {
		kind += " | None"
	}
	if v.value == nil {
		return "var(" + kind + ")", nil
	}
	value, err := py.Repr(t, v.value)
	return "var(" + kind + ", default=" + value + ")", err
}

func (v *variable) Attr(name string) (starlark.Value, error) {
	switch name {
	case "type":
		return py.Builtins()[v.kind], nil
	case "default":
		if v.value == nil {
			return starlark.None, nil
		}
		return copyValue(v.value), nil
	case "required":
		return starlark.Bool(v.value == nil), nil
	case "nullable":
		return starlark.Bool(v.nullable), nil
	}
	return nil, nil
}

func (v *variable) AttrNames() []string { return []string{"default", "nullable", "required", "type"} }

// kindMatches reports whether a value is of a variable's type: without coercion, and
// a bool is no number.
func kindMatches(kind string, v starlark.Value) bool {
	switch v.(type) {
	case starlark.Bool:
		return kind == "bool"
	case starlark.Int:
		return kind == "int" || kind == "float"
	case starlark.Float:
		return kind == "float"
	case starlark.String:
		return kind == "str"
	case *starlark.List:
		return kind == "list"
	case *starlark.Dict:
		return kind == "dict"
	}
	return false
}

// newVar is var(type, default=…) (lang.md §10.1).
func (ev *evaluation) newVar(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	p, err := py.BindArgs("var", []string{"type_", "default?"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	v := &variable{}
	for _, kind := range variableKinds {
		if p[0] == ev.builtins[kind] {
			v.kind = kind
		}
	}
	if v.kind == "" {
		return nil, languageErrorf("var() type must be one of %s, not %s", strings.Join(variableKinds, ", "), shownType(t, p[0]))
	}
	v.value = p[1]
	v.nullable = v.value == starlark.None
	if v.value != nil && !v.nullable && !kindMatches(v.kind, v.value) {
		return nil, languageErrorf("var(%s) default %s is of type %s", v.kind, py.Show(t, v.value), py.TypeName(v.value))
	}
	if v.value != nil {
		v.value = copyValue(v.value)
	}
	return v, nil
}

// shownType is how a message shows what was given for a type.
func shownType(t *starlark.Thread, v starlark.Value) string {
	if b, ok := v.(*py.Type); ok {
		return b.Name()
	}
	return py.Show(t, v)
}

// newConfig is Config(schema=None, *, envs). Every environment is validated, whether
// selected or not; the first error wins.
func (ev *evaluation) newConfig(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	p, err := py.BindArgs("Config", []string{"schema?", "*", "envs?"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	declared, class, err := schemaOf(t, p[0])
	if err != nil {
		return nil, err
	}
	envs, ok := p[1].(*starlark.Dict)
	if !ok {
		if p[1] == nil {
			return nil, languageErrorf("Config() needs envs=, a dict from environment name to values")
		}
		return nil, languageErrorf("Config() envs must be a dict from environment name to values, not %s", py.TypeName(p[1]))
	}
	c := &configValue{ev: ev, schema: withWellKnown(declared), envs: map[string]*environment{}}
	if err := c.environments(t, class, envs); err != nil {
		return nil, err
	}
	if ev.config != nil {
		return nil, languageErrorf("Config() may be called once; declare all environments in the first one")
	}
	if err := c.choose(ev.options.Envs); err != nil {
		return nil, err
	}
	ev.config = c
	ev.selected = c.selected
	return c, nil
}

// schemaOf reads the schema argument: a class, a dict of var(...), or nothing.
func schemaOf(t *starlark.Thread, v starlark.Value) (declared []*variable, class string, err error) {
	switch v := v.(type) {
	case nil, starlark.NoneType:
		return nil, "EnvView", nil
	case *schemaBase:
		return nil, "EnvSchema", nil
	case *schemaClass:
		return v.fields, v.name, nil
	case *starlark.Dict:
		for k, entry := range v.Entries() {
			declaration, ok := entry.(*variable)
			if !ok {
				return nil, "", languageErrorf("Config() schema entry %s must be a var(...), not %s", py.Show(t, k), py.TypeName(entry))
			}
			name, ok := k.(starlark.String)
			if !ok {
				return nil, "", languageErrorf("Config() schema name %s must be a str, not %s", py.Show(t, k), py.TypeName(k))
			}
			if why := badVariableName(string(name)); why != "" {
				return nil, "", languageErrorf("Config() schema name '%s' %s", string(name), why)
			}
			named := *declaration
			named.name = string(name)
			declared = append(declared, &named)
		}
		return declared, "EnvView", nil
	}
	return nil, "", languageErrorf("Config() schema must be an EnvSchema class or a dict of var(...), not %s", py.TypeName(v))
}

// badVariableName says why a name could not be read back as env.<name>.
func badVariableName(name string) string {
	switch {
	case !identifier(name):
		return "is not an identifier, so that env.<name> could not be written"
	case strings.HasPrefix(name, "_"):
		return "starts with '_', which a config cannot read"
	case slices.Contains(hardKeywords, name):
		return "is a keyword, so that env." + name + " could not be written"
	case slices.Contains(reservedNames, name):
		return "is reserved (" + strings.Join(reservedNames, ", ") + ")"
	}
	return ""
}

// reservedNames are attributes of every environment.
var reservedNames = []string{"as_dict", "get", "name"}

var hardKeywords = strings.Fields("False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield")

// withWellKnown adds the variables that every environment has, sorted by name.
func withWellKnown(declared []*variable) []*variable {
	out := slices.Clone(declared)
	for _, w := range wellKnown {
		if !slices.ContainsFunc(out, func(v *variable) bool { return v.name == w.name }) {
			out = append(out, &variable{name: w.name, kind: w.kind, value: starlark.None, nullable: true})
		}
	}
	slices.SortFunc(out, func(a, b *variable) int { return strings.Compare(a.name, b.name) })
	return out
}

func (c *configValue) environments(t *starlark.Thread, class string, envs *starlark.Dict) error {
	if envs.Len() == 0 {
		return languageErrorf("Config() envs is empty; declare at least one environment")
	}
	values := map[string]starlark.Value{}
	for k, v := range envs.Entries() {
		name, ok := k.(starlark.String)
		if !ok {
			return registryErrorf("environment name %s must be a str, not %s", py.Show(t, k), py.TypeName(k))
		}
		values[string(name)] = v
	}
	c.names = slices.Sorted(maps.Keys(values))
	for _, name := range c.names {
		if !model.ValidName(name) {
			return invalidName("environment", name)
		}
		given, ok := values[name].(*starlark.Dict)
		if !ok {
			return languageErrorf("environment '%s' must be a dict of values, not %s", name, py.TypeName(values[name]))
		}
		env, err := c.environment(t, class, name, given)
		if err != nil {
			return err
		}
		c.envs[name] = env
	}
	return nil
}

// environment validates the values of one environment and fills in defaults.
func (c *configValue) environment(t *starlark.Thread, class, name string, given *starlark.Dict) (*environment, error) {
	env := &environment{class: class, name: name, config: c, values: map[string]starlark.Value{}}
	for k := range given.Entries() {
		key, ok := k.(starlark.String)
		if !ok || c.variable(string(key)) == nil {
			err := languageErrorf("environment '%s' sets %s, which is not declared; declared are %s", name, py.Show(t, k), strings.Join(c.declared(), ", "))
			err.Hint = model.DidYouMean(string(key), c.declared())
			return nil, err
		}
	}
	m := py.MeterOf(t)
	for _, v := range c.schema {
		if err := m.Charge(1); err != nil {
			return nil, err
		}
		if err := m.Reserve(valueBytes); err != nil {
			return nil, err
		}
		value, ok, err := given.Get(starlark.String(v.name))
		if err != nil {
			return nil, err
		}
		if !ok {
			value = v.value
		}
		switch {
		case value == nil:
			return nil, languageErrorf("environment '%s' does not set '%s', which is required", name, v.name)
		case value == starlark.None && v.nullable:
		case value == starlark.None:
			return nil, languageErrorf("environment '%s': '%s' must be of type %s, not None (NoneType)", name, v.name, v.kind)
		case !kindMatches(v.kind, value):
			return nil, languageErrorf("environment '%s': '%s' must be of type %s, not %s (%s)", name, v.name, v.kind, py.Show(t, value), py.TypeName(value))
		}
		if err := chargeCopy(t, value); err != nil {
			return nil, err
		}
		env.values[v.name] = copyValue(value)
	}
	return env, nil
}

func (c *configValue) variable(name string) *variable {
	i, found := slices.BinarySearchFunc(c.schema, name, func(v *variable, name string) int { return strings.Compare(v.name, name) })
	if !found {
		return nil
	}
	return c.schema[i]
}

// declared lists the variables.
func (c *configValue) declared() []string {
	names := make([]string, len(c.schema))
	for i, v := range c.schema {
		names[i] = v.name
	}
	return names
}

// choose applies the requested selection; nil selects all.
func (c *configValue) choose(requested []string) error {
	if requested == nil {
		c.selected = c.names
		return nil
	}
	chosen := map[string]bool{}
	for _, name := range requested {
		if c.envs[name] == nil {
			return c.unknownEnv("--env", name)
		}
		chosen[name] = true
	}
	c.selected = slices.Sorted(maps.Keys(chosen))
	return nil
}

func (c *configValue) unknownEnv(where, name string) error {
	err := languageErrorf("%s: environment '%s' is not declared; declared are %s", where, name, strings.Join(c.names, ", "))
	err.Hint = model.DidYouMean(name, c.names)
	return err
}

func (c *configValue) Type() string { return "Config" }

// PyRepr implements py.Renderer.
func (c *configValue) PyRepr(*starlark.Thread) (string, error) {
	quoted := make([]string, len(c.names))
	for i, name := range c.names {
		quoted[i] = "'" + name + "'"
	}
	return fmt.Sprintf("Config(envs=[%s])", strings.Join(quoted, ", ")), nil
}

func (c *configValue) Attr(name string) (starlark.Value, error) {
	switch name {
	case "envs":
		return method("envs", nil, func([]starlark.Value) (starlark.Value, error) {
			out := make([]starlark.Value, len(c.selected))
			for i, name := range c.selected {
				out[i] = c.envs[name]
			}
			return starlark.NewList(out), nil
		}), nil
	case "env":
		return method("env", []string{"name"}, func(p []starlark.Value) (starlark.Value, error) {
			env := c.envs[text(p[0])]
			if env == nil {
				return nil, c.unknownEnv("env()", text(p[0]))
			}
			return env, nil
		}), nil
	case "names":
		return method("names", nil, func([]starlark.Value) (starlark.Value, error) {
			out := make([]starlark.Value, len(c.names))
			for i, name := range c.names {
				out[i] = starlark.String(name)
			}
			return starlark.NewList(out), nil
		}), nil
	case "schema":
		out := starlark.NewDict(len(c.schema))
		for _, v := range c.schema {
			_ = out.SetKey(starlark.String(v.name), v)
		}
		return out, nil
	}
	return nil, nil
}

func (c *configValue) AttrNames() []string { return []string{"env", "envs", "names", "schema"} }

// method is a bound method whose parameters are all required.
func method(name string, params []string, f func([]starlark.Value) (starlark.Value, error)) starlark.Value {
	return py.NewNative(name, func(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		p, err := py.BindArgs(name, params, args, kwargs)
		if err != nil {
			return nil, err
		}
		v, err := f(p)
		if err != nil {
			return nil, err
		}
		return py.Fresh(t, v)
	})
}

func (ev *evaluation) declaredEnvs() []string {
	if ev.config == nil {
		return nil
	}
	return ev.config.names
}
