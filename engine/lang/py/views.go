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

// Hash is that of values alone, which are equal by identity.
func (v *View) Hash() (uint32, error) {
	if v.kind == viewValues {
		return hashText("dict_values"), nil
	}
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

// setLikes compares sets and views: keys like a set of keys, items like a set of pairs,
// values by identity.
func (e equality) setLikes(x, y value, depth int) (bool, error) {
	xs, xok := setOf(x)
	ys, yok := setOf(y)
	switch {
	case xok && yok:
		return sameSet(e.m, xs, ys)
	case !isSetLike(x) || !isSetLike(y):
		return isSame(x, y), nil
	case sizeOf(x) != sizeOf(y):
		return false, nil
	}
	return e.within(x, y, depth)
}

// within reports whether the set-like y holds every element of x.
func (e equality) within(x, y value, depth int) (bool, error) {
	if sizeOf(x) > sizeOf(y) {
		return false, nil
	}
	all, failure := true, error(nil)
	visit := func(v value) bool {
		all, failure = e.holds(y, v, depth)
		return all && failure == nil
	}
	switch x := x.(type) {
	case *View:
		for k, v := range x.d.Entries() {
			if !visit(x.pick(k, v)) {
				break
			}
		}
	default:
		xs, _ := setOf(x)
		xs.Elements()(visit)
	}
	return all && failure == nil, failure
}

// holds reports whether x is an element of the set-like c.
func (e equality) holds(c, x value, depth int) (bool, error) {
	v, isView := c.(*View)
	if !isView {
		s, _ := setOf(c)
		return setHas(e.m, s, x)
	}
	if v.kind == viewKeys {
		_, found, err := dictGet(e.m, v.d, x)
		return found, err
	}
	pair, ok := x.(tuple)
	if !ok || len(pair) != 2 {
		return false, nil
	}
	other, found, err := dictGet(e.m, v.d, pair[0])
	if err != nil || !found {
		return false, err
	}
	return e.eq(other, pair[1], depth+1)
}

// orderSetLikes is x op y by subset.
func (e equality) orderSetLikes(op string, x, y value, depth int) (bool, error) {
	switch op {
	case "<":
		if sizeOf(x) == sizeOf(y) {
			return false, nil
		}
		return e.within(x, y, depth)
	case "<=":
		return e.within(x, y, depth)
	case ">":
		return e.orderSetLikes("<", y, x, depth)
	default:
		return e.within(y, x, depth)
	}
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
	return equality{m}.holds(v, x, 0)
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

func sizeOf(x value) int {
	if s, ok := x.(interface{ Len() int }); ok {
		return s.Len()
	}
	return 0
}

// setOperation is x op y as a new set.
func setOperation(m *Meter, op string, x, y *starlark.Set) (*starlark.Set, error) {
	if err := m.Reserve(dictBytes); err != nil {
		return nil, err
	}
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
	if err := m.Alloc(entries(s.Len())); err != nil {
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
