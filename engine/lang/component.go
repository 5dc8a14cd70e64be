package lang

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/lang/lower"
	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// componentBase is Component: what a component class descends from.
var componentBase = &class{name: "Component"}

// componentClass is a class of the component dialect. Calling it makes a component:
// what its __init__ declares gets the component's name before its own.
type componentClass struct {
	object
	ev      *evaluation
	name    string
	module  *codeModule
	base    *componentClass // nil = Component itself
	members map[string]member
}

type member struct {
	kind  string // lower.MemberMethod and so on
	value starlark.Value
}

const initMethod = "__init__"

func (c *componentClass) Name() string   { return c.name }
func (c *componentClass) String() string { return "<class '" + c.name + "'>" }
func (c *componentClass) Type() string   { return "type" }
func (c *componentClass) PyType() string { return "type" }

// PyRepr implements py.Renderer.
func (c *componentClass) PyRepr(*starlark.Thread) (string, error) { return c.String(), nil }

// Attr exposes the constants and static methods of the class.
func (c *componentClass) Attr(name string) (starlark.Value, error) {
	if m, ok := c.find(name); ok && (m.kind == lower.MemberConstant || m.kind == lower.MemberStatic) {
		return m.value, nil
	}
	return nil, nil
}

// AttrNames implements starlark.HasAttrs; no config can list them, a hint may.
func (c *componentClass) AttrNames() []string {
	var names []string
	for ; c != nil; c = c.base {
		for name, m := range c.members {
			if m.kind == lower.MemberConstant || m.kind == lower.MemberStatic {
				names = append(names, name)
			}
		}
	}
	return names
}

// find is a member of the class or of the nearest class above that has one.
func (c *componentClass) find(name string) (member, bool) {
	for ; c != nil; c = c.base {
		if m, ok := c.members[name]; ok {
			return m, true
		}
	}
	return member{}, false
}

// CallInternal makes a component: its name is checked, and what __init__ declares is
// declared within its scope. __init__ gets the plain name.
func (c *componentClass) CallInternal(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	name, err := c.nameOf(t, args, kwargs)
	if err != nil {
		return nil, err
	}
	outer := c.ev.ambient.scope
	if c.ev.ambient.scope, err = c.ev.scoped(name); err != nil {
		return nil, err
	}
	made := &component{class: c, attrs: map[string]starlark.Value{}}
	result, err := py.Call(t, c.initOf(made), args, kwargs)
	if err != nil {
		return nil, c.asCalled(err)
	}
	if result != starlark.None {
		return nil, py.TypeErrorf("%s() of '%s' must return None, not a %s", initMethod, c.name, py.TypeName(result))
	}
	c.ev.ambient.scope = outer
	made.complete = true
	return made, nil
}

// asCalled names the class in the refusal of its arguments, where Python names the
// function that the config does not know.
func (c *componentClass) asCalled(err error) error {
	refused, direct := err.(*model.Error) //nolint:errorlint // an error from inside of the function is wrapped
	if direct {
		if rest, ok := strings.CutPrefix(refused.Message, initMethod+"()"); ok {
			refused.Message = c.name + "()" + rest
		}
	}
	return err
}

func (c *componentClass) nameOf(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (string, error) {
	var given starlark.Value
	if len(args) > 0 {
		given = args[0]
	} else if i := slices.IndexFunc(kwargs, func(kw starlark.Tuple) bool { return text(kw[0]) == "name" }); i >= 0 {
		given = kwargs[i][1]
	}
	if given == nil {
		return "", py.TypeErrorf("%s() takes the name of the component first", c.name)
	}
	name, ok := given.(starlark.String)
	if !ok {
		return "", registryErrorf("component name %s must be a str, not %s", py.Show(t, given), py.TypeName(given))
	}
	if !model.ValidName(string(name)) {
		return "", invalidName("component", string(name))
	}
	return string(name), nil
}

// initOf is the __init__ that a class has or inherits, bound to an object; c is nil for
// Component, whose own takes the name and keeps it.
func (c *componentClass) initOf(o *component) starlark.Value {
	if m, ok := c.find(initMethod); ok {
		f, _ := m.value.(*starlark.Function)
		return &py.BoundFunction{Func: f, Self: o}
	}
	return py.NewNative(initMethod, func(_ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		p, err := py.BindArgs(o.class.name, []string{"name"}, args, kwargs)
		if err != nil {
			return nil, err
		}
		o.attrs["name"] = p[0]
		return starlark.None, nil
	})
}

// component is an object of a component class. It is no node; once made, it is frozen.
type component struct {
	object
	class    *componentClass
	attrs    map[string]starlark.Value
	complete bool
}

func (o *component) Type() string { return o.class.name }

// PyGetAttr implements py.AttrGetter in Python's order: a property of the class, an
// attribute of the object, another member of the class.
func (o *component) PyGetAttr(t *starlark.Thread, name string) (starlark.Value, error) {
	m, ok := o.class.find(name)
	if ok && m.kind == lower.MemberProperty {
		return py.Call(t, m.value, starlark.Tuple{o}, nil)
	}
	if v := o.attrs[name]; v != nil {
		return v, nil
	}
	if ok && m.kind == lower.MemberMethod {
		f, _ := m.value.(*starlark.Function)
		return &py.BoundFunction{Func: f, Self: o}, nil
	}
	return m.value, nil
}

// AttrNames lists what a hint may name: attributes and members.
func (o *component) AttrNames() []string {
	names := slices.Collect(maps.Keys(o.attrs))
	for c := o.class; c != nil; c = c.base {
		names = slices.AppendSeq(names, maps.Keys(c.members))
	}
	return names
}

func (o *component) set(m *py.Meter, name string, v starlark.Value) error {
	if o.complete {
		return languageErrorf("'%s' of a %s cannot be set: a component does not change after it was made", name, o.class.name)
	}
	if own, ok := o.class.find(name); ok && own.kind == lower.MemberProperty {
		return py.AttributeErrorf("property '%s' of '%s' object has no setter", name, o.class.name)
	}
	if err := m.Alloc(2 * valueBytes); err != nil {
		return err
	}
	o.attrs[name] = v
	return nil
}

// scoped is a name with those of the components being made before it. It is paid for:
// names have no other limit.
func (ev *evaluation) scoped(name string) (string, error) {
	if ev.ambient.scope == "" {
		return name, nil
	}
	full := ev.ambient.scope + "-" + name
	return full, ev.meter.Alloc(int64(len(full)))
}

// child is child(Type, local_name, *args, **fields): it declares a part of a component.
func (ev *evaluation) child(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if ev.ambient.scope == "" {
		return nil, languageErrorf("child() declares a part of a component; it can be called only while a component is made")
	}
	if len(args) == 0 {
		return nil, py.TypeErrorf("child() takes a type and a name")
	}
	switch args[0].(type) {
	case *resourceClass, *componentClass:
		return py.Call(t, args[0], args[1:], kwargs)
	}
	return nil, py.TypeErrorf("child() takes a resource type or a component first, not %s", py.TypeName(args[0]))
}

// componentIntrinsics are what only a module in the component dialect calls.
func (ev *evaluation) componentIntrinsics(in *codeModule) map[string]intrinsic {
	return map[string]intrinsic{
		lower.Component: func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			return ev.newComponentClass(in, text(args[0]), args[1], args[2].(*starlark.List))
		},
		lower.Super: func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			c, _ := args[0].(*componentClass)
			o, ok := args[1].(*component)
			if c == nil || !ok || !o.class.descends(c) {
				return nil, py.TypeErrorf("super() takes an object of the class that it stands in, not %s", py.TypeName(args[1]))
			}
			return c.base.initOf(o), nil
		},
		lower.SetAttr: func(t *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			o, ok := args[1].(*component)
			if !ok {
				return nil, py.AttributeErrorf("'%s' object has no attribute '%s' that can be set", py.TypeName(args[1]), text(args[2]))
			}
			return starlark.None, o.set(py.MeterOf(t), text(args[2]), args[0])
		},
		lower.Raise: func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			return nil, raised(args[0], args[1])
		},
	}
}

func (ev *evaluation) newComponentClass(in *codeModule, name string, base starlark.Value, members *starlark.List) (starlark.Value, error) {
	c := &componentClass{ev: ev, name: name, module: in, members: make(map[string]member, members.Len())}
	if base != componentBase {
		parent, ok := base.(*componentClass)
		if !ok || parent.module.tree != in.tree {
			return nil, componentErrorf("%s: the base of class '%s' must be Component or a component class of the same tree", in.file, name)
		}
		c.base = parent
	}
	for i := range members.Len() {
		m := tupleOf(members.Index(i))
		c.members[text(m[1])] = member{kind: text(m[0]), value: m[2]}
	}
	return c, nil
}

// descends reports whether c is other or below it.
func (c *componentClass) descends(other *componentClass) bool {
	for ; c != nil; c = c.base {
		if c == other {
			return true
		}
	}
	return false
}

// errorClass is a documented error as a name: a component raises it.
type errorClass struct {
	class
	kind model.Kind
}

// ofARun are the errors that say something about a run, its lock or its store. Whoever
// sees one acts on it, so that no config may make one up.
var ofARun = []model.Kind{
	model.FencedWriteError, model.InterruptedRunError, model.LeaseLostError, model.LockError,
	model.PlanDriftError, model.RollbackError, model.StateError,
}

// maxRaised bounds the text of a raised error, in code points.
const maxRaised = 2000

func raised(what, message starlark.Value) error {
	c, ok := what.(*errorClass)
	if !ok {
		return py.TypeErrorf("raise takes an error class of atlantide.core, not %s", py.TypeName(what))
	}
	if slices.Contains(ofARun, c.kind) {
		return componentErrorf("a component cannot raise %s, which tells of a run; raise RegistryError or LanguageError", c.kind)
	}
	content, ok := message.(starlark.String)
	if !ok {
		return py.TypeErrorf("%s() takes a text, not %s", c.name, py.TypeName(message))
	}
	shown := string(content)
	if utf8.RuneCountInString(shown) > maxRaised {
		shown = string([]rune(shown)[:maxRaised]) + "…"
	}
	return model.Errorf(c.kind, model.ClassUser, "%s", shown)
}
