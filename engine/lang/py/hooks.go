package py

import (
	"go.starlark.net/starlark"
)

// Optional interfaces of a value defined outside this package. A value with none of
// them has identity, truth and attributes, and nothing else.

// Renderer has a text form that is the same in every run. What it renders of its
// parts goes through Repr, which charges.
type Renderer interface {
	PyRepr(t *starlark.Thread) (string, error)
}

// TypeNamer names its type in messages; without it the value's Type() stands.
type TypeNamer interface{ PyType() string }

// AttrGetter has attributes that may have to be computed; nil is none of that name.
type AttrGetter interface {
	PyGetAttr(t *starlark.Thread, name string) (starlark.Value, error)
}

// Indexer can be subscripted.
type Indexer interface {
	PyGetItem(t *starlark.Thread, key starlark.Value) (starlark.Value, error)
}

// Container has its own "in".
type Container interface {
	PyContains(t *starlark.Thread, x starlark.Value) (bool, error)
}

// Comparer has its own "==". ok is false when it does not know the other value. Such
// a value's Hash must agree with it.
type Comparer interface {
	PyEqual(other starlark.Value) (equal, ok bool)
}

// TypeName is the type's name as messages give it (lang.md §1).
func TypeName(x starlark.Value) string {
	switch x := x.(type) {
	case starlark.String:
		return "str"
	case *starlark.Function, *starlark.Builtin, *Native, *boundMethod, *BoundFunction:
		return "function"
	case *Type:
		return "type"
	case TypeNamer:
		return x.PyType()
	case nil:
		return "NoneType"
	case starlark.Callable:
		return "function"
	default:
		return x.Type()
	}
}

// Weighted is a value whose comparison or hash walks more than one step is meant for: a
// handle with long texts, a combinator of many operands. PyWeight is how many steps.
type Weighted interface{ PyWeight() int64 }

// Composite is compared by its Go type and its parts. A value holding values of a
// config implements it and not Comparer, so that the comparison of a cyclic or shared
// structure stays bounded. Its Hash must agree.
type Composite interface{ PyParts() starlark.Tuple }
