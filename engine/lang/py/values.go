package py

import (
	"fmt"
	"hash/maphash"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Native is a callable written in Go.
type Native struct {
	name string
	mode costMode
	fn   nativeFunc
}

type nativeFunc = func(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)

// costMode says what a call of a native costs beforehand (lang.md §7.1).
type costMode uint8

const (
	costFull   costMode = iota // deep of every argument and of the receiver
	costArgs                   // deep of every argument
	costShared                 // one per argument
)

// NewNative makes a callable of fn. Call hands it its arguments with sets already
// turned into sorted lists and the fuel charged.
func NewNative(name string, fn func(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)) starlark.Callable {
	return &Native{name: name, fn: fn}
}

func (n *Native) Name() string          { return n.name }
func (n *Native) String() string        { return "<function " + n.name + ">" }
func (n *Native) Type() string          { return "function" }
func (n *Native) Freeze()               {}
func (n *Native) Truth() starlark.Bool  { return true }
func (n *Native) Hash() (uint32, error) { return hashText(n.name), nil }

// CallInternal implements starlark.Callable.
func (n *Native) CallInternal(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return n.fn(t, args, kwargs)
}

// method is a method of a built-in type.
type method struct {
	name string
	mode costMode
	fn   func(t *thread, recv value, args tuple, kwargs kwargsT) (value, error)
}

type boundMethod struct {
	*method
	recv value
}

func (b *boundMethod) Name() string          { return b.name }
func (b *boundMethod) String() string        { return "<function " + b.name + ">" }
func (b *boundMethod) Type() string          { return "function" }
func (b *boundMethod) Freeze()               {}
func (b *boundMethod) Truth() starlark.Bool  { return true }
func (b *boundMethod) Hash() (uint32, error) { return hashText(b.name), nil }
func (b *boundMethod) CallInternal(t *thread, args tuple, kwargs kwargsT) (value, error) {
	return b.fn(t, b.recv, args, kwargs)
}

// BoundFunction is a function of the language as the method of a value: Self comes
// before the arguments of a call.
type BoundFunction struct {
	Func *starlark.Function
	Self starlark.Value
}

func (b *BoundFunction) Name() string          { return functionName(b.Func) }
func (b *BoundFunction) String() string        { return "<function " + b.Name() + ">" }
func (b *BoundFunction) Type() string          { return "function" }
func (b *BoundFunction) Freeze()               {}
func (b *BoundFunction) Truth() starlark.Bool  { return true }
func (b *BoundFunction) Hash() (uint32, error) { return hashText(b.Name()), nil }

// CallInternal implements starlark.Callable.
func (b *BoundFunction) CallInternal(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return Call(t, b, args, kwargs)
}

// Type is a built-in type as a value: it makes values when called, and can be told
// apart from other callables.
type Type struct {
	name    string
	mode    costMode
	make    nativeFunc
	methods map[string]*method // unbound: str.upper
	class   map[string]*Native // dict.fromkeys
	is      func(value) bool
}

func (y *Type) Name() string          { return y.name }
func (y *Type) String() string        { return "<class '" + y.name + "'>" }
func (y *Type) Type() string          { return "type" }
func (y *Type) Freeze()               {}
func (y *Type) Truth() starlark.Bool  { return true }
func (y *Type) Hash() (uint32, error) { return hashText(y.name), nil }

// CallInternal implements starlark.Callable.
func (y *Type) CallInternal(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return y.make(t, args, kwargs)
}

// Alias is what list[str] and str | None give: a type expression, good for nothing
// but to be named in an error.
type Alias struct{ text string }

// maxAlias bounds the text of a type expression; no parameter has use for a longer one.
const maxAlias = 1000

func newAlias(text string) (value, error) {
	if len(text) > maxAlias {
		return nil, fuelErrorf("a type expression is longer than %d bytes; write a shorter one", maxAlias)
	}
	return &Alias{text: text}, nil
}

func (a *Alias) String() string        { return a.text }
func (a *Alias) Type() string          { return "GenericAlias" }
func (a *Alias) Freeze()               {}
func (a *Alias) Truth() starlark.Bool  { return true }
func (a *Alias) Hash() (uint32, error) { return hashText(a.text), nil }

// PyRepr implements Renderer.
func (a *Alias) PyRepr(*starlark.Thread) (string, error) { return a.text, nil }

// PyEqual implements Comparer.
func (a *Alias) PyEqual(other starlark.Value) (bool, bool) {
	b, ok := other.(*Alias)
	return ok && a.text == b.text, true
}

// Bytes is the value of a bytes literal: opaque (LX-10).
type Bytes string

func (b Bytes) String() string        { return "b" + quote(string(b), quoteBytes) }
func (b Bytes) Type() string          { return "bytes" }
func (b Bytes) Freeze()               {}
func (b Bytes) Truth() starlark.Bool  { return len(b) > 0 }
func (b Bytes) Hash() (uint32, error) { return hashText(string(b)), nil }

// PyRepr implements Renderer.
func (b Bytes) PyRepr(*starlark.Thread) (string, error) { return b.String(), nil }

// PyEqual implements Comparer.
func (b Bytes) PyEqual(other starlark.Value) (bool, bool) {
	c, ok := other.(Bytes)
	return ok && b == c, true
}

type ellipsis struct{}

// Ellipsis is the value of "...".
var Ellipsis starlark.Value = ellipsis{}

func (ellipsis) String() string                          { return "Ellipsis" }
func (ellipsis) Type() string                            { return "ellipsis" }
func (ellipsis) Freeze()                                 {}
func (ellipsis) Truth() starlark.Bool                    { return true }
func (ellipsis) Hash() (uint32, error)                   { return 0x656c6c, nil }
func (ellipsis) PyRepr(*starlark.Thread) (string, error) { return "Ellipsis", nil }

// FrozenSet is an immutable set.
type FrozenSet struct {
	set    *starlark.Set
	chains int64 // see chains
}

func newFrozenSet(s *starlark.Set) *FrozenSet { return &FrozenSet{s, chains(s)} }

func (f *FrozenSet) String() string       { return "<frozenset object>" }
func (f *FrozenSet) Type() string         { return "frozenset" }
func (f *FrozenSet) Freeze()              {}
func (f *FrozenSet) Truth() starlark.Bool { return f.set.Len() > 0 }

// Len is the number of elements.
func (f *FrozenSet) Len() int { return f.set.Len() }

// Hash agrees with equality by content, whatever the order of insertion.
func (f *FrozenSet) Hash() (uint32, error) {
	h := uint32(1927868237) + uint32(f.set.Len())
	for v := range f.set.Elements() {
		one, err := hashOf(v)
		if err != nil {
			return 0, err
		}
		h += (one ^ one<<16 ^ 89869747) * 3644798167
	}
	return h, nil
}

// CompareSameType lets the hash table of a dict compare keys, which deep has paid for.
func (f *FrozenSet) CompareSameType(op syntax.Token, y starlark.Value, _ int) (bool, error) {
	eq, err := sameSet(nil, f.set, y.(*FrozenSet).set)
	if err != nil {
		return false, err
	}
	switch op {
	case syntax.EQL:
		return eq, nil
	case syntax.NEQ:
		return !eq, nil
	default:
		return false, fmt.Errorf("frozenset %s frozenset is not defined here", op)
	}
}

// setOf is the table of a set or frozenset.
func setOf(x value) (*starlark.Set, bool) {
	switch x := x.(type) {
	case *starlark.Set:
		return x, true
	case *FrozenSet:
		return x.set, true
	default:
		return nil, false
	}
}

var nameSeed = maphash.MakeSeed()

func hashText(s string) uint32 { return uint32(maphash.String(nameSeed, s)) }
