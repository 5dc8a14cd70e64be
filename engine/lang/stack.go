package lang

import (
	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// ambient is what the open stacks and regions give to the resources declared inside
// of them. It is dynamic: a function called inside a stack declares into it.
type ambient struct {
	stack  string
	tags   *starlark.Dict // never changed once set; nil = none
	region string         // "" = none
	prefix *string        // nil = none; "" counts as set
	config *environment   // nil = none
	scope  string         // of the components being made: "outer-inner"; "" = none
}

// manager is what a with statement can open. Entering changes the ambient values;
// leaving puts the former ones back.
type manager interface {
	starlark.Value
	enter(a ambient) (inner ambient, bound starlark.Value, err error)
}

// maxOpen bounds how many managers can be open at once, recursion included.
const maxOpen = 10_000

func (ev *evaluation) enter(m manager) (starlark.Value, error) {
	if len(ev.saved) >= maxOpen {
		return nil, model.Errorf(model.FuelExhaustedError, model.ClassUser, "more than %d stacks and regions are open at once", maxOpen)
	}
	if s, ok := m.(*stack); ok {
		if err := payOverlay(ev.meter, ev.ambient.tags, s.tags); err != nil {
			return nil, err
		}
	}
	inner, bound, err := m.enter(ev.ambient)
	if err != nil {
		return nil, err
	}
	ev.saved = append(ev.saved, ev.ambient)
	ev.ambient = inner
	return bound, nil
}

func (ev *evaluation) exit() {
	last := len(ev.saved) - 1
	ev.ambient, ev.saved = ev.saved[last], ev.saved[:last]
}

// stack is Stack(...): immutable, opened by with any number of times.
type stack struct {
	object
	name, region string
	tags         *starlark.Dict
	prefix       *string
	config       *environment
}

func (s *stack) Type() string { return "Stack" }

func (s *stack) enter(a ambient) (ambient, starlark.Value, error) { //nolint:unparam // the interface asks for the error
	inner := ambient{
		stack:  s.name,
		tags:   overlay(a.tags, s.tags),
		region: s.region,
		prefix: s.prefix,
		config: s.config, // replaced also by none
		scope:  a.scope,
	}
	if inner.prefix == nil {
		inner.prefix = a.prefix
	}
	return inner, s, nil
}

// payOverlay takes the cost of an overlay.
func payOverlay(m *py.Meter, base, top *starlark.Dict) error {
	n := int64(0)
	for _, d := range []*starlark.Dict{base, top} {
		if d == nil || d.Len() == 0 {
			return nil
		}
		n += int64(d.Len())
	}
	if err := m.Charge(n / 16); err != nil {
		return err
	}
	return m.Reserve(tableBytes + 2*valueBytes*n)
}

// overlay is base with the entries of top over it, base's keys first.
func overlay(base, top *starlark.Dict) *starlark.Dict {
	if base == nil || base.Len() == 0 {
		return top
	}
	if top == nil || top.Len() == 0 {
		return base
	}
	out := starlark.NewDict(base.Len() + top.Len())
	for _, d := range []*starlark.Dict{base, top} {
		for k, v := range d.Entries() {
			_ = out.SetKey(k, v) // the keys were keys already
		}
	}
	return out
}

func (s *stack) Attr(name string) (starlark.Value, error) {
	switch name {
	case "name":
		return starlark.String(s.name), nil
	case "region":
		return starlark.String(s.region), nil
	case "tags":
		return copyDict(s.tags), nil
	case "name_prefix":
		return optionalText(s.prefix), nil
	case "config":
		return s.config.orNone(), nil
	}
	return nil, nil
}

func (s *stack) AttrNames() []string {
	return []string{"config", "name", "name_prefix", "region", "tags"}
}

// copyDict is a dict that the config may change; nil gives an empty one.
func copyDict(d *starlark.Dict) *starlark.Dict {
	if d == nil {
		return new(starlark.Dict)
	}
	return copyValue(d).(*starlark.Dict)
}

func optionalText(s *string) starlark.Value {
	if s == nil {
		return starlark.None
	}
	return starlark.String(*s)
}

// newStack is Stack(name, *, region, tags, name_prefix, config) (lang.md §11.1).
func newStack(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	p, err := py.BindArgs("Stack", []string{"name", "*", "region?", "tags?", "name_prefix?", "config?"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	name, ok := p[0].(starlark.String)
	if !ok {
		return nil, py.TypeErrorf("Stack() name must be a str, not %s", py.TypeName(p[0]))
	}
	s := &stack{name: string(name)}
	if !model.ValidName(s.name) {
		return nil, invalidName("stack", s.name)
	}
	if err := s.fromConfig(p[4]); err != nil {
		return nil, err
	}
	if p[1] != nil && p[1] != starlark.None {
		region, ok := p[1].(starlark.String)
		if !ok {
			return nil, py.TypeErrorf("Stack() region must be a str, not %s", py.TypeName(p[1]))
		}
		s.region = string(region)
	}
	if s.region == "" {
		return nil, s.noRegion()
	}
	if p[2] != nil && p[2] != starlark.None {
		tags, ok := p[2].(*starlark.Dict)
		if !ok {
			return nil, py.TypeErrorf("Stack() tags must be a dict, not %s", py.TypeName(p[2]))
		}
		if err := payOverlay(py.MeterOf(t), s.tags, tags); err != nil {
			return nil, err
		}
		s.tags = overlay(s.tags, copyDict(tags))
	}
	if p[3] != nil && p[3] != starlark.None {
		prefix, ok := p[3].(starlark.String)
		if !ok {
			return nil, py.TypeErrorf("Stack() name_prefix must be a str, not %s", py.TypeName(p[3]))
		}
		text := string(prefix)
		s.prefix = &text
	}
	return s, nil
}

func (s *stack) noRegion() error {
	if s.config != nil {
		return registryErrorf("stack '%s' has no region; pass region= or set 'region' in environment '%s' of the Config", s.name, s.config.name)
	}
	return registryErrorf("stack '%s' has no region; pass region= or an environment that sets one with config=", s.name)
}

// fromConfig takes what the environment says of a stack.
func (s *stack) fromConfig(v starlark.Value) error {
	if v == nil || v == starlark.None {
		return nil
	}
	env, ok := v.(*environment)
	if !ok {
		return languageErrorf("Stack() config must be an environment of a Config, not %s", py.TypeName(v))
	}
	s.config = env
	for _, key := range []string{"region", "tags", "name_prefix"} {
		switch v := env.values[key].(type) {
		case nil, starlark.NoneType:
			continue
		case starlark.String:
			if key == "region" {
				s.region = string(v)
				continue
			}
			if key == "name_prefix" {
				text := string(v)
				s.prefix = &text
				continue
			}
		case *starlark.Dict:
			if key == "tags" {
				s.tags = copyDict(v)
				continue
			}
		}
		want := "str"
		if key == "tags" {
			want = "dict"
		}
		return languageErrorf("environment '%s': '%s' must be a %s to be used by Stack(), not %s", env.name, key, want, py.TypeName(env.values[key]))
	}
	return nil
}

// regionBlock is region(name): a manager that overrides the active region alone.
type regionBlock struct {
	object
	region string
}

func (r *regionBlock) Type() string { return "region" }

func (r *regionBlock) enter(a ambient) (ambient, starlark.Value, error) {
	if r.region == "" {
		return a, nil, registryErrorf("region() needs a region that is not empty")
	}
	a.region = r.region
	return a, starlark.None, nil
}

func newRegion(_ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	p, err := py.BindArgs("region", []string{"name"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	name, ok := p[0].(starlark.String)
	if !ok && p[0] != starlark.None {
		return nil, py.TypeErrorf("region() name must be a str, not %s", py.TypeName(p[0]))
	}
	return &regionBlock{region: string(name)}, nil
}

// stackNames is the part of atlantide.core that reads or changes the ambient values.
func (ev *evaluation) stackNames() starlark.StringDict {
	reader := func(name string, read func() starlark.Value) starlark.Value {
		return py.NewNative(name, func(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			if _, err := py.BindArgs(name, nil, args, kwargs); err != nil {
				return nil, err
			}
			return py.Fresh(t, read())
		})
	}
	return starlark.StringDict{
		"Stack":          newClass("Stack", newStack),
		"StackReference": newClass("StackReference", ev.newStackReference),
		"region":         py.NewNative("region", newRegion),
		"output":         py.NewNative("output", ev.output),
		"DEFAULT_STACK":  starlark.String(model.DefaultStack),
		"current_stack":  reader("current_stack", func() starlark.Value { return starlark.String(ev.ambient.stack) }),
		"current_stack_tags": reader("current_stack_tags", func() starlark.Value {
			return copyDict(ev.ambient.tags)
		}),
		"current_stack_region": reader("current_stack_region", func() starlark.Value {
			if ev.ambient.region == "" {
				return starlark.None
			}
			return starlark.String(ev.ambient.region)
		}),
		"current_stack_name_prefix": reader("current_stack_name_prefix", func() starlark.Value {
			return optionalText(ev.ambient.prefix)
		}),
		"current_config": reader("current_config", func() starlark.Value { return ev.ambient.config.orNone() }),
	}
}

// output is output(name, value): it records a value of the current stack.
func (ev *evaluation) output(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	p, err := py.BindArgs("output", []string{"name", "value"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	name, ok := p[0].(starlark.String)
	if !ok {
		return nil, py.TypeErrorf("output() name must be a str, not %s", py.TypeName(p[0]))
	}
	stack := ev.ambient.stack
	value, err := canonical(t, p[1], "output "+stack+":"+string(name))
	if err != nil {
		return nil, err
	}
	if err := ev.meter.Reserve(nodeBytes / 4); err != nil {
		return nil, err
	}
	if err := ev.registry.addOutput(stack+":"+string(name), value, ev.origin(t)); err != nil {
		return nil, err
	}
	return stackOutputRef{stack: stack, name: string(name), run: ev}, nil
}
