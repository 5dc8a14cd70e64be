package lang

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// resource is a declared node as the config sees it. Its fields are a snapshot taken
// at construction; reading one gives a copy.
type resource struct {
	object
	id, stack, name string
	class           *resourceClass
	fields          map[string]starlark.Value // inputs after defaults, merging and coercion
	properties      map[string]any            // the same, canonical
	lifecycle       *lifecycle
	dependsOn       []string // sorted, distinct
	at              origin
}

// resourceClass is the constructor of a resource type.
type resourceClass struct {
	object
	ev        *evaluation
	typ       *model.ResourceType
	inputs    int                 // how many fields are not computed
	constants starlark.StringDict // made when one is read
}

func newResourceClass(ev *evaluation, typ *model.ResourceType) *resourceClass {
	c := &resourceClass{ev: ev, typ: typ}
	for i := range typ.Fields {
		if typ.Fields[i].Mutability != model.Computed {
			c.inputs++
		}
	}
	return c
}

func (c *resourceClass) Name() string   { return c.typ.Class }
func (c *resourceClass) String() string { return "<class '" + c.typ.Class + "'>" }
func (c *resourceClass) Type() string   { return "type" }
func (c *resourceClass) PyType() string { return "type" }

// PyRepr implements py.Renderer.
func (c *resourceClass) PyRepr(*starlark.Thread) (string, error) { return c.String(), nil }

// Attr exposes the constants of the class and what it says of itself; the model API is
// refused by name (lang.md §3.3).
func (c *resourceClass) Attr(name string) (starlark.Value, error) {
	if c.constants == nil {
		c.constants = make(starlark.StringDict, len(c.typ.Constants))
		for i := range c.typ.Constants {
			c.constants[c.typ.Constants[i].Name] = c.ev.constant(&c.typ.Constants[i])
		}
	}
	if v := c.constants[name]; v != nil {
		return v, nil
	}
	switch name {
	case "type_name":
		return constantMethod(name, c.typ.Name), nil
	case "provider_name":
		return constantMethod(name, c.typ.Provider), nil
	}
	return nil, modelAPI(name, c.typ.Class)
}

func constantMethod(name, result string) starlark.Value {
	return method(name, nil, func([]starlark.Value) (starlark.Value, error) { return starlark.String(result), nil })
}

// AttrNames implements starlark.HasAttrs; no config can list them, a hint may.
func (c *resourceClass) AttrNames() []string {
	names := []string{"type_name", "provider_name"}
	for i := range c.typ.Constants {
		names = append(names, c.typ.Constants[i].Name)
	}
	return names
}

// modelAPI refuses what no config may read of a resource, its class or a structured
// value.
func modelAPI(name, of string) error {
	switch name {
	case "copy", "dict", "json", "schema", "validate":
		return languageErrorf("'%s' of %s cannot be read; only declared fields can", name, of)
	}
	return nil
}

// CallInternal declares a resource (lang.md §13.1): its name, the stack's defaults,
// validation, ordering, registration, in this order.
func (c *resourceClass) CallInternal(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if c.typ.Unsupported != "" {
		return nil, languageErrorf("%s cannot be declared: %s", c.typ.Name, c.typ.Unsupported)
	}
	name, err := c.nameOf(t, args)
	if err != nil {
		return nil, err
	}
	if name, err = c.ev.scoped(name); err != nil {
		return nil, err
	}
	given, err := c.split(t, kwargs)
	if err != nil {
		return nil, err
	}
	if err := c.stackDefaults(name, given.fields); err != nil {
		return nil, err
	}
	fields, err := c.validated(t, name, given.fields)
	if err != nil {
		return nil, err
	}
	stack := c.ev.ambient.stack
	res := &resource{
		id:     model.NodeID(stack, c.typ.Name, name),
		stack:  stack,
		name:   name,
		class:  c,
		fields: fields,
		at:     c.ev.origin(t),
	}
	if res.lifecycle, err = lifecycleOf(given.lifecycle); err != nil {
		return nil, err
	}
	c.warnIgnored(t, res.lifecycle)
	if res.dependsOn, err = nodeIDs(t, given.dependsOn); err != nil {
		return nil, err
	}
	if res.properties, err = c.properties(t, fields); err != nil {
		return nil, err
	}
	// What is kept of a resource beside its values: its node, its place in the graph, its
	// hashes.
	if err := c.ev.meter.Reserve(nodeBytes + fieldBytes*int64(len(fields))); err != nil {
		return nil, err
	}
	return res, c.ev.registry.addResource(res)
}

// What a resource or a structured value takes, in bytes.
const (
	nodeBytes  = 768
	fieldBytes = 64
)

func (c *resourceClass) nameOf(t *starlark.Thread, args starlark.Tuple) (string, error) {
	if len(args) != 1 {
		return "", py.TypeErrorf("%s() takes one positional argument, the name of the resource, but %d were given; write %s(\"name\", field=value, …)", c.typ.Class, len(args), c.typ.Class)
	}
	name, ok := args[0].(starlark.String)
	if !ok {
		return "", registryErrorf("resource name %s must be a str, not %s", py.Show(t, args[0]), py.TypeName(args[0]))
	}
	if !model.ValidName(string(name)) {
		return "", invalidName("resource", string(name))
	}
	return string(name), nil
}

// arguments are the keyword arguments of a constructor.
type arguments struct {
	fields               map[string]starlark.Value
	lifecycle, dependsOn starlark.Value
}

// split takes the arguments that are no fields aside and turns sets into lists.
func (c *resourceClass) split(t *starlark.Thread, kwargs []starlark.Tuple) (arguments, error) {
	a := arguments{fields: make(map[string]starlark.Value, c.inputs)}
	for _, kw := range kwargs {
		name := text(kw[0])
		switch name {
		case "lifecycle":
			a.lifecycle = kw[1]
			continue
		case "depends_on":
			a.dependsOn = kw[1]
			continue
		}
		v, err := withoutSets(t, kw[1])
		if err != nil {
			return a, err
		}
		a.fields[name] = v
	}
	return a, nil
}

// stackDefaults adds what the open stack gives (providers.md 1.15).
func (c *resourceClass) stackDefaults(name string, given map[string]starlark.Value) error {
	a := &c.ev.ambient
	if c.input("region") != nil && given["region"] == nil && a.region != "" {
		given["region"] = starlark.String(a.region)
	}
	if a.prefix != nil {
		for i := range c.typ.Fields {
			f := &c.typ.Fields[i]
			if f.PhysicalName && given[f.Name] == nil {
				given[f.Name] = starlark.String(*a.prefix + "-" + name + "-" + a.stack)
			}
		}
	}
	tags := c.input("tags")
	if tags == nil || a.tags == nil || a.tags.Len() == 0 {
		return nil
	}
	own := given["tags"]
	if defaults, isMap := tags.Default.(map[string]any); own == nil && !tags.Required && (!isMap || len(defaults) > 0) {
		own = fromModel(tags.Default)
	}
	switch own := own.(type) {
	case nil, starlark.NoneType:
		given["tags"] = a.tags
	case *starlark.Dict:
		if err := payOverlay(c.ev.meter, a.tags, own); err != nil {
			return err
		}
		given["tags"] = overlay(a.tags, own)
	default:
		return irErrorf("%s '%s': tags is a %s, which cannot be merged with the tags of stack '%s' at config time; pass a dict", c.typ.Name, name, py.TypeName(own), a.stack)
	}
	return nil
}

// input is the declaration of a field that is not computed.
func (c *resourceClass) input(name string) *model.Field {
	if f := c.typ.Field(name); f != nil && f.Mutability != model.Computed {
		return f
	}
	return nil
}

func (c *resourceClass) validated(t *starlark.Thread, name string, given map[string]starlark.Value) (map[string]starlark.Value, error) {
	v := &validation{ev: c.ev, thread: t}
	open := c.open(given)
	fields := v.fields(c.typ.Fields, given, "")
	if len(v.problems) == 0 {
		v.rules(c.typ.Rules, fields, "")
	}
	what := c.typ.Name + " '" + name + "'"
	if err := v.err(what); err != nil {
		return nil, err
	}
	return fields, c.fill(t, what, open, fields)
}

// open is the fields that may have to be filled: those that were not given.
func (c *resourceClass) open(given map[string]starlark.Value) []*model.Field {
	var open []*model.Field
	for i := range c.typ.Fields {
		if f := &c.typ.Fields[i]; f.Fill != nil && given[f.Name] == nil {
			open = append(open, f)
		}
	}
	return open
}

// fill works out, from the source tree, the fields that were left out and stand for
// what another one names (providers.md 1.13, rule 2).
func (c *resourceClass) fill(t *starlark.Thread, what string, open []*model.Field, fields map[string]starlark.Value) error {
	for _, f := range open {
		if isNone(fields[f.Fill.From]) {
			continue
		}
		v, err := c.ev.sources.filling(c.ev.meter, f.Fill.Kind, text(fields[f.Fill.From]))
		var typed *model.Error
		switch {
		case errors.As(err, &typed):
			return err
		case errors.Is(err, errNoTree):
			return languageErrorf("%s: %s is worked out from what %s names, and %s cannot be read: %v; give %s",
				what, f.Name, f.Fill.From, py.Show(t, fields[f.Fill.From]), err, f.Name)
		case err != nil:
			return languageErrorf("%s: %s is worked out from what %s names, and %s cannot be read: %v",
				what, f.Name, f.Fill.From, py.Show(t, fields[f.Fill.From]), err)
		}
		fields[f.Name] = v
	}
	return nil
}

// properties is the canonical form of validated fields.
func (c *resourceClass) properties(t *starlark.Thread, fields map[string]starlark.Value) (map[string]any, error) {
	out := make(map[string]any, len(fields))
	lowered := canonicalizer{thread: t, root: "<root>."}
	for i := range c.typ.Fields {
		f := &c.typ.Fields[i]
		if f.Mutability == model.Computed {
			continue
		}
		lowered.field = f.Name
		v, err := lowered.value(fields[f.Name])
		if err != nil {
			return nil, err
		}
		out[f.Name] = v
	}
	return out, nil
}

// nodeIDs reads depends_on: resources and node ids, in whatever a list can be made of.
func nodeIDs(t *starlark.Thread, v starlark.Value) ([]string, error) {
	if v == nil {
		return nil, nil
	}
	if !listable(v) {
		return nil, irErrorf("depends_on must be a list of resources and node ids, not %s; write depends_on=[…]", describe(v))
	}
	elements, err := items(t, v)
	if err != nil {
		return nil, err
	}
	if err := py.MeterOf(t).Reserve(edgeBytes * int64(len(elements))); err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(elements))
	for _, e := range elements {
		switch e := e.(type) {
		case starlark.String:
			ids = append(ids, string(e))
		case *resource:
			ids = append(ids, e.id)
		default:
			return nil, irErrorf("depends_on holds a value of type %s; it may hold resources and node ids", describe(e))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

func describe(v starlark.Value) string {
	if r, ok := v.(*resource); ok {
		return r.class.typ.Class
	}
	return py.TypeName(v)
}

// outputMeant is what of a resource was probably meant where the resource itself stands,
// as the value of a field: ".arn".
func (r *resource) outputMeant(field string) string {
	var outputs []string
	for i := range r.class.typ.Fields {
		if f := &r.class.typ.Fields[i]; f.Mutability == model.Computed {
			outputs = append(outputs, f.Name)
		}
	}
	for _, name := range outputs {
		if field == name || strings.HasSuffix(field, "_"+name) {
			return "." + name
		}
	}
	if i := slices.Index(outputs, "arn"); i >= 0 {
		return ".arn"
	}
	if len(outputs) == 0 {
		return ""
	}
	return "." + outputs[0]
}

func (r *resource) Type() string { return r.class.typ.Class }

// Attr reads a field: an input as its value, a computed one as a reference.
func (r *resource) Attr(name string) (starlark.Value, error) {
	if f := r.class.typ.Field(name); f != nil {
		if f.Mutability == model.Computed {
			return ref{node: r.id, attr: name, run: r.class.ev}, nil
		}
		return copyOf(r.class.ev.meter, r.fields[name])
	}
	switch name {
	case "logical_name":
		return starlark.String(r.name), nil
	case "stack":
		return starlark.String(r.stack), nil
	case "node_id":
		return starlark.String(r.id), nil
	case "lifecycle":
		return r.lifecycle, nil
	case "depends_on":
		out := make(starlark.Tuple, len(r.dependsOn))
		for i, id := range r.dependsOn {
			out[i] = starlark.String(id)
		}
		return out, nil
	}
	return r.class.Attr(name)
}

func (r *resource) AttrNames() []string {
	names := []string{"depends_on", "lifecycle", "logical_name", "node_id", "provider_name", "stack", "type_name"}
	for _, f := range r.class.typ.Fields {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names
}

// nested is a structured value built by its constructor: validated, all fields present.
type nested struct {
	object
	ev     *evaluation
	typ    *model.NestedType
	fields map[string]starlark.Value
	handle bool // some field is or holds a handle
}

func (ev *evaluation) newNested(typ *model.NestedType, fields map[string]starlark.Value) *nested {
	n := &nested{ev: ev, typ: typ, fields: fields}
	for _, v := range fields {
		n.handle = n.handle || holdsHandle(v)
	}
	return n
}

func (n *nested) Type() string { return n.typ.Name }

func (n *nested) Attr(name string) (starlark.Value, error) {
	v := n.fields[name]
	if v == nil {
		return nil, modelAPI(name, n.typ.Name)
	}
	return copyOf(n.ev.meter, v)
}

func (n *nested) AttrNames() []string { return slices.Sorted(maps.Keys(n.fields)) }

// PyParts implements py.Composite: fields may hold any value.
func (n *nested) PyParts() starlark.Tuple {
	parts := make(starlark.Tuple, 0, len(n.fields)+1)
	parts = append(parts, starlark.String(n.typ.Name))
	for _, name := range n.AttrNames() {
		parts = append(parts, n.fields[name])
	}
	return parts
}

// Hash refuses: what is equal by fields would need a hash by fields.
func (n *nested) Hash() (uint32, error) {
	return 0, py.TypeErrorf("unhashable type: '%s'", n.typ.Name)
}

// nestedClass is the constructor of a structured value; its arguments are keywords.
func (ev *evaluation) nestedClass(typ *model.NestedType) starlark.Value {
	return newClass(typ.Name, func(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if len(args) > 0 {
			return nil, py.TypeErrorf("%s() takes keyword arguments only", typ.Name)
		}
		given := make(map[string]starlark.Value, len(typ.Fields))
		for _, kw := range kwargs {
			value, err := withoutSets(t, kw[1])
			if err != nil {
				return nil, err
			}
			given[text(kw[0])] = value
		}
		v := &validation{ev: ev, thread: t}
		fields := v.fields(typ.Fields, given, "")
		if len(v.problems) == 0 {
			v.rules(typ.Rules, fields, "")
		}
		if err := v.err(typ.Name); err != nil {
			return nil, err
		}
		return ev.newNested(typ, fields), ev.meter.Reserve(fieldBytes * int64(len(fields)+4))
	})
}

// sortedNames lists names for messages.
func sortedNames(fields []model.Field) []string {
	names := make([]string, 0, len(fields))
	for _, f := range fields {
		if f.Mutability != model.Computed {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return names
}
