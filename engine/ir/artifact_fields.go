package ir

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// conforms holds the properties of a node to its type, as the constructor did when it
// was compiled: a provider may take for granted what that promises. A field that a
// newer version of the provider added may be missing, if it is not required. No value
// stands in the error: it may be one that is not to be shown.
func conforms(n *Node, t *model.ResourceType) error {
	c := conformance{node: n}
	for _, name := range sortedKeys(n.Properties) {
		f := t.Field(name)
		if f == nil || f.Mutability == model.Computed {
			c.fail(name, "is not a field that can be given")
			continue
		}
		value := n.Properties[name]
		if f.Literal && model.IsHandle(value) {
			c.fail(name, "must be a literal")
		}
		c.loose = model.HasHandle(value)
		c.value(&f.Type, value, name)
	}
	for i := range t.Fields {
		f := &t.Fields[i]
		if _, given := n.Properties[f.Name]; f.Required && f.Mutability != model.Computed && !given {
			c.fail(f.Name, "is required")
		}
	}
	c.rules(t.Rules, n.Properties, "")
	if c.err != nil {
		return c.err
	}
	return nil
}

// conformance keeps the first thing that is wrong with a node.
type conformance struct {
	node *Node
	// loose: the field holds a handle somewhere. Compilation then leaves all of it as it
	// was written, so that a scalar may still be the text of another, and forgives what
	// is wrong with a part that holds a handle (providers.md 1.14).
	loose bool
	err   *model.Error
}

func (c *conformance) fail(path, format string, args ...any) {
	if c.err == nil {
		c.err = malformed("the artifact holds %s, whose %+.80q %s", c.node.ID, path, fmt.Sprintf(format, args...))
	}
}

func (c *conformance) value(t *model.FieldType, v any, path string) {
	switch {
	case model.IsHandle(v):
	case v == nil:
		if !t.Nullable && t.Kind != model.KindAny {
			c.fail(path, "must not be null")
		}
	case t.Kind == model.KindAny:
	case t.Kind == model.KindList:
		c.list(t, v, path)
	case t.Kind == model.KindMap:
		c.mapping(t, v, path)
	case t.Kind == model.KindNested:
		c.nested(t, v, path)
	case t.Kind == model.KindUnion:
		c.union(t, v, path)
	case t.Kind == model.KindSecret:
		c.fail(path, "must be a handle on a secret")
	default:
		c.scalar(t, v, path)
	}
}

// mismatch refuses a value of another shape than its type.
func (c *conformance) mismatch(v any, path, shape string) {
	if !c.loose || !model.HasHandle(v) {
		c.fail(path, "must be %s", shape)
	}
}

func (c *conformance) list(t *model.FieldType, v any, path string) {
	items, ok := v.([]any)
	if !ok {
		c.mismatch(v, path, "a list")
		return
	}
	if t.Elem == nil {
		return
	}
	for i, item := range items {
		c.value(t.Elem, item, path+"."+strconv.Itoa(i))
	}
}

func (c *conformance) mapping(t *model.FieldType, v any, path string) {
	members, ok := v.(map[string]any)
	if !ok {
		c.mismatch(v, path, "a map")
		return
	}
	if t.Elem == nil {
		return
	}
	for _, key := range sortedKeys(members) {
		c.value(t.Elem, members[key], path+"."+key)
	}
}

func (c *conformance) nested(t *model.FieldType, v any, path string) {
	members, ok := v.(map[string]any)
	if !ok {
		c.mismatch(v, path, "a map")
		return
	}
	fields := t.Nested.Fields
	for i := range fields {
		f := &fields[i]
		value, given := members[f.Name]
		switch {
		case given:
			c.value(&f.Type, value, path+"."+f.Name)
		case f.Required:
			c.fail(path+"."+f.Name, "is required")
		}
	}
	for _, key := range sortedKeys(members) {
		if !slices.ContainsFunc(fields, func(f model.Field) bool { return f.Name == key }) {
			c.fail(path+"."+key, "is not a field of %s", t.Nested.Name)
		}
	}
	c.rules(t.Nested.Rules, members, path+".")
}

// union judges a value by the alternative that has its shape.
func (c *conformance) union(t *model.FieldType, v any, path string) {
	_, isList := v.([]any)
	for i := range t.Alternatives {
		if a := &t.Alternatives[i]; isList == (a.Kind == model.KindList) {
			c.value(a, v, path)
			return
		}
	}
	c.mismatch(v, path, "of another type")
}

func (c *conformance) scalar(t *model.FieldType, v any, path string) {
	if !fits(t.Kind, v) {
		if !c.loose || !isScalar(v) {
			c.mismatch(v, path, "of another type")
		}
		return
	}
	if s, ok := v.(string); ok && len(t.OneOf) > 0 && !slices.Contains(t.OneOf, s) {
		c.fail(path, "must be one of %s", strings.Join(t.OneOf, ", "))
	}
	for _, check := range t.Checks {
		if !check.Holds(v) {
			c.fail(path, "must %s", check.Must)
		}
	}
}

func fits(kind model.TypeKind, v any) bool {
	switch v.(type) {
	case string:
		return kind == model.KindString
	case int64:
		return kind == model.KindInt || kind == model.KindFloat
	case float64:
		return kind == model.KindFloat
	case bool:
		return kind == model.KindBool
	}
	return false
}

func isScalar(v any) bool {
	switch v.(type) {
	case string, int64, float64, bool:
		return true
	}
	return false
}

// rules asks the constraints over several fields, once each field by itself is good.
func (c *conformance) rules(rules []model.Rule, fields map[string]any, path string) {
	for i := range rules {
		if c.err != nil {
			return
		}
		r := &rules[i]
		values := make(map[string]model.Value, len(r.Fields))
		for _, name := range r.Fields {
			values[name] = fields[name]
		}
		if !r.Holds(values) {
			c.fail(path+strings.Join(r.Fields, ", "), "must %s", r.Must)
		}
	}
}
