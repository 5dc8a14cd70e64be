package py

import (
	"fmt"

	"go.starlark.net/starlark"
)

// View is what dict.keys(), values() and items() give: a window on the dict.
type View struct {
	d    *starlark.Dict
	kind viewKind
}

type viewKind uint8

const (
	viewKeys viewKind = iota
	viewValues
	viewItems
)

func (v *View) String() string { return "<" + v.Type() + " object>" }
func (v *View) Type() string {
	return [...]string{viewKeys: "dict_keys", viewValues: "dict_values", viewItems: "dict_items"}[v.kind]
}
func (v *View) Freeze()              {}
func (v *View) Truth() starlark.Bool { return v.d.Len() > 0 }
func (v *View) Hash() (uint32, error) {
	return 0, fmt.Errorf("unhashable type: '%s'", v.Type())
}

// Len is the number of entries.
func (v *View) Len() int { return v.d.Len() }

func (v *View) pick(k, e value) value {
	switch v.kind {
	case viewKeys:
		return k
	case viewValues:
		return e
	default:
		return tuple{k, e}
	}
}

// views compares a view: keys like a set of keys, items like a set of pairs, values by
// identity.
func (e equality) views(v *View, other value, depth int) (bool, error) {
	o, ok := other.(*View)
	if !ok {
		s, isSet := setOf(other)
		if !isSet || v.kind != viewKeys || s.Len() != v.d.Len() {
			return false, nil
		}
		for k := range v.d.Entries() {
			if found, err := setHas(e.m, s, k); err != nil || !found {
				return false, err
			}
		}
		return true, nil
	}
	if v.kind != o.kind || v.kind == viewValues || v.d.Len() != o.d.Len() {
		return v == o, nil
	}
	if v.kind == viewItems {
		return e.dicts(v.d, o.d, depth)
	}
	for k := range v.d.Entries() {
		if _, found, err := dictGet(e.m, o.d, k); err != nil || !found {
			return false, err
		}
	}
	return true, nil
}

func (v *View) contains(t *thread, x value) (bool, error) {
	m := MeterOf(t)
	switch v.kind {
	case viewKeys:
		return dictContains(m, v.d, x)
	case viewValues:
		if err := m.Charge(satMul(int64(v.d.Len()), m.deep(x))); err != nil {
			return false, err
		}
		for _, e := range v.d.Entries() {
			eq, err := equality{m}.eq(e, x, 0)
			if err != nil || eq {
				return eq, err
			}
		}
		return false, nil
	}
	if err := m.Charge(m.deep(x)); err != nil {
		return false, err
	}
	pair, ok := x.(tuple)
	if !ok || len(pair) != 2 {
		return false, nil
	}
	e, found, err := dictGet(m, v.d, pair[0])
	if err != nil || !found {
		return false, err
	}
	return equality{m}.eq(e, pair[1], 0)
}

func isSetLike(x value) bool {
	switch x := x.(type) {
	case *starlark.Set, *FrozenSet:
		return true
	case *View:
		return x.kind != viewValues
	default:
		return false
	}
}

// asSet is the set of the elements of a set-like value; a set is not copied.
func asSet(t *thread, x value) (*starlark.Set, error) {
	if s, ok := setOf(x); ok {
		return s, nil
	}
	v := x.(*View)
	m := MeterOf(t)
	set := starlark.NewSet(v.d.Len())
	for k, e := range v.d.Entries() {
		if err := setAdd(m, set, v.pick(k, e)); err != nil {
			return nil, err
		}
	}
	return set, nil
}

func sizeOf(x value) int {
	if s, ok := x.(interface{ Len() int }); ok {
		return s.Len()
	}
	return 0
}

// setOperation is x op y as a new set.
func setOperation(m *Meter, op string, x, y *starlark.Set) (*starlark.Set, error) {
	result := starlark.NewSet(0)
	put := func(from, other *starlark.Set, want bool) error {
		for e := range from.Elements() {
			found, err := setHas(m, other, e)
			if err != nil {
				return err
			}
			if found == want {
				if err := setAdd(m, result, e); err != nil {
					return err
				}
			}
		}
		return nil
	}
	switch op {
	case "&":
		return result, put(x, y, true)
	case "-":
		return result, put(x, y, false)
	case "^":
		if err := put(x, y, false); err != nil {
			return nil, err
		}
		return result, put(y, x, false)
	default:
		result, err := copySet(m, x)
		if err != nil || x == y {
			return result, err
		}
		for e := range y.Elements() {
			if found, err := setHas(m, result, e); err != nil {
				return nil, err
			} else if !found {
				if err := setAdd(m, result, e); err != nil {
					return nil, err
				}
			}
		}
		return result, nil
	}
}

func copySet(m *Meter, s *starlark.Set) (*starlark.Set, error) {
	if err := m.Alloc(int64(s.Len()) * entryBytes); err != nil {
		return nil, err
	}
	c := starlark.NewSet(s.Len())
	return c, insertAll(m, c, s)
}

// insertAll puts the elements of a set, which are distinct, into an empty one.
func insertAll(m *Meter, into, from *starlark.Set) error {
	for e := range from.Elements() {
		if err := m.chargeChain(into.Len(), e); err != nil {
			return err
		}
		if err := into.Insert(e); err != nil {
			return LanguageErrorf("an element is nested too deeply to compare")
		}
	}
	return nil
}
