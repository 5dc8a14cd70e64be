package lang

import (
	"reflect"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
)

// object is what the values of the surface have in common: identity, truth, no text
// that would differ between runs.
type object struct{ _ byte } // not empty: distinct objects need distinct addresses

func (*object) String() string       { return "<object>" }
func (*object) Freeze()              {}
func (*object) Truth() starlark.Bool { return true }

// Hash is by identity. No order depends on it: tables keep the order of insertion.
func (o *object) Hash() (uint32, error) {
	return uint32(reflect.ValueOf(o).Pointer() >> 4), nil
}

// class is a type of the surface. Calling it makes a value, unless it is inert: one
// that is importable for its name alone.
type class struct {
	object
	name  string
	attrs starlark.StringDict
}

// Name is what messages call the class.
func (c *class) Name() string   { return c.name }
func (c *class) String() string { return "<class '" + c.name + "'>" }
func (c *class) Type() string   { return "type" }
func (c *class) PyType() string { return "type" }

// PyRepr implements py.Renderer.
func (c *class) PyRepr(*starlark.Thread) (string, error) { return c.String(), nil }

func (c *class) Attr(name string) (starlark.Value, error) { return c.attrs[name], nil }
func (c *class) AttrNames() []string                      { return c.attrs.Keys() }

type nativeFunc = func(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)

// constructor is a class that can be called.
type constructor struct {
	class
	call nativeFunc
}

func newClass(name string, call nativeFunc) *constructor {
	return &constructor{class: class{name: name}, call: call}
}

func (c *constructor) CallInternal(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return c.call(t, args, kwargs)
}

// copyValue copies the containers of plain data; everything else is shared. Whoever
// calls it has paid for the walk.
func copyValue(v starlark.Value) starlark.Value {
	switch v := v.(type) {
	case *starlark.List:
		items := make([]starlark.Value, v.Len())
		for i := range items {
			items[i] = copyValue(v.Index(i))
		}
		return starlark.NewList(items)
	case starlark.Tuple:
		items := make(starlark.Tuple, len(v))
		for i := range items {
			items[i] = copyValue(v[i])
		}
		return items
	case *starlark.Dict:
		out := starlark.NewDict(v.Len())
		for k, item := range v.Entries() {
			_ = out.SetKey(k, copyValue(item)) // a key of one dict is a key of another
		}
		return out
	case *starlark.Set:
		out := starlark.NewSet(v.Len())
		for e := range v.Elements() {
			_ = out.Insert(e)
		}
		return out
	}
	return v
}

// countValues is how many values copyValue visits.
func countValues(v starlark.Value) int64 {
	n := int64(1)
	switch v := v.(type) {
	case *starlark.List:
		for i := range v.Len() {
			n += countValues(v.Index(i))
		}
	case starlark.Tuple:
		for _, item := range v {
			n += countValues(item)
		}
	case *starlark.Dict:
		for _, item := range v.Entries() {
			n += 1 + countValues(item)
		}
	case *starlark.Set:
		n += int64(v.Len())
	}
	return n
}

// copyOf is a copy for the config to change, paid for.
func copyOf(m *py.Meter, v starlark.Value) (starlark.Value, error) {
	if err := payCopy(m, v); err != nil {
		return nil, err
	}
	return copyValue(v), nil
}

func chargeCopy(t *starlark.Thread, v starlark.Value) error { return payCopy(py.MeterOf(t), v) }

func payCopy(m *py.Meter, v starlark.Value) error {
	switch v.(type) {
	case *starlark.List, starlark.Tuple, *starlark.Dict, *starlark.Set:
		n := countValues(v)
		if err := m.Charge(n); err != nil {
			return err
		}
		return m.Alloc(n*valueBytes + countTables(v)*tableBytes)
	}
	return nil
}

// countTables is how many dicts and sets copyValue makes.
func countTables(v starlark.Value) (n int64) {
	switch v := v.(type) {
	case *starlark.List:
		for i := range v.Len() {
			n += countTables(v.Index(i))
		}
	case starlark.Tuple:
		for _, item := range v {
			n += countTables(item)
		}
	case *starlark.Dict:
		n = 1
		for _, item := range v.Entries() {
			n += countTables(item)
		}
	case *starlark.Set:
		n = 1
	}
	return n
}

// tableBytes is what an empty dict or set takes.
const tableBytes = 576

// valueBytes is what a value in a container takes, about.
const valueBytes = 64

// isNone reports whether an argument was left out or is None.
func isNone(v starlark.Value) bool { return v == nil || v == starlark.None }
