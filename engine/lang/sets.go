package lang

import (
	"slices"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
)

// items is the elements of an iterable, sets in their order, in a slice of its own.
func items(t *starlark.Thread, v starlark.Value) ([]starlark.Value, error) {
	elements, err := py.Chain(t, v)
	if err != nil {
		return nil, err
	}
	return append([]starlark.Value(nil), elements...), nil
}

// listable reports whether a list can be made of v: of whatever can be walked, but a
// text and a dict.
func listable(v starlark.Value) bool {
	switch v.(type) {
	case *starlark.List, starlark.Tuple, *starlark.Set, *py.FrozenSet, *py.View, *py.Range, *py.Iterator:
		return true
	}
	return false
}

// withoutSets is v with every set in it, at any depth of lists, tuples and dict
// values, as a list in the set's order (§5.7). What holds no set is shared.
func withoutSets(t *starlark.Thread, v starlark.Value) (starlark.Value, error) {
	if !holdsSet(v) {
		return v, nil
	}
	switch v := v.(type) {
	case *starlark.Set, *py.FrozenSet:
		elements, err := items(t, v)
		if err != nil {
			return nil, err
		}
		elements, err = eachWithoutSets(t, elements)
		return starlark.NewList(elements), err
	case *starlark.List:
		elements, err := eachWithoutSets(t, tupleOf(v))
		return starlark.NewList(elements), err
	case starlark.Tuple:
		elements, err := eachWithoutSets(t, v)
		return starlark.Tuple(elements), err
	case *starlark.Dict:
		return dictWithoutSets(t, v)
	}
	return v, nil
}

func dictWithoutSets(t *starlark.Thread, d *starlark.Dict) (starlark.Value, error) {
	out := starlark.NewDict(d.Len())
	for k, item := range d.Entries() {
		converted, err := withoutSets(t, item)
		if err != nil {
			return nil, err
		}
		_ = out.SetKey(k, converted)
	}
	return out, nil
}

func eachWithoutSets(t *starlark.Thread, elements []starlark.Value) ([]starlark.Value, error) {
	out := make([]starlark.Value, len(elements))
	for i, e := range elements {
		converted, err := withoutSets(t, e)
		if err != nil {
			return nil, err
		}
		out[i] = converted
	}
	return out, nil
}

func holdsSet(v starlark.Value) bool {
	switch v := v.(type) {
	case *starlark.Set, *py.FrozenSet:
		return true
	case *starlark.List:
		for i := range v.Len() {
			if holdsSet(v.Index(i)) {
				return true
			}
		}
	case starlark.Tuple:
		if slices.ContainsFunc(v, holdsSet) {
			return true
		}
	case *starlark.Dict:
		return anyItem(v, holdsSet)
	}
	return false
}

// anyItem reports whether a value of a dict is such. It stands by itself because a walk
// over a dict costs whoever holds it, and most values are no dicts.
func anyItem(d *starlark.Dict, is func(starlark.Value) bool) bool {
	for _, item := range d.Entries() {
		if is(item) {
			return true
		}
	}
	return false
}
