package py

import (
	"strings"

	"go.starlark.net/starlark"
)

// GetItem is x[key].
func GetItem(t *starlark.Thread, x, key starlark.Value) (starlark.Value, error) {
	m := MeterOf(t)
	switch x := x.(type) {
	case *starlark.Dict:
		return dictItem(t, m, x, key)
	case *starlark.List:
		if s, ok := key.(*Slice); ok {
			elems, err := sliceElems(m, x, s)
			return starlark.NewList(elems), err
		}
		i, err := indexIn("list", key, int64(x.Len()))
		if err != nil {
			return nil, err
		}
		return x.Index(int(i)), nil
	case starlark.Tuple:
		if s, ok := key.(*Slice); ok {
			elems, err := sliceElems(m, x, s)
			return tuple(elems), err
		}
		i, err := indexIn("tuple", key, int64(len(x)))
		if err != nil {
			return nil, err
		}
		return x[i], nil
	case starlark.String:
		return textItem(m, string(x), key)
	case *Range:
		return rangeItem(m, x, key)
	case *Type:
		return typeItem(x, key)
	case Indexer:
		return x.PyGetItem(t, key)
	default:
		return nil, TypeErrorf("'%s' object is not subscriptable", TypeName(x))
	}
}

func dictItem(t *thread, m *Meter, d *starlark.Dict, key value) (value, error) {
	if err := m.chargeKey(d.Len(), key); err != nil {
		return nil, err
	}
	v, found, err := dictGet(m, d, key)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, errNoKey(t, d, key)
	}
	return v, nil
}

func textItem(m *Meter, s string, key value) (value, error) {
	if slice, ok := key.(*Slice); ok {
		return sliceText(m, s, slice)
	}
	index, err := m.index(s)
	if err != nil {
		return nil, err
	}
	i, err := indexIn("string", key, int64(index.n))
	if err != nil {
		return nil, err
	}
	return starlark.String(index.at(int(i))), m.Reserve(0)
}

func rangeItem(m *Meter, r *Range, key value) (value, error) {
	if s, ok := key.(*Slice); ok {
		sp, err := s.span(r.n)
		if err != nil {
			return nil, err
		}
		by := intOne
		if s.step != starlark.None {
			by, _ = asInt(s.step)
		}
		if err := m.chargeInt(bitLen(r.step) + bitLen(by)); err != nil {
			return nil, err
		}
		if err := m.chargeRange(r.start, r.stop, r.step); err != nil {
			return nil, err
		}
		return r.slice(sp.lo, sp.hi, by), nil
	}
	i, err := indexIn("range object", key, r.n)
	if err != nil {
		return nil, err
	}
	return r.at(i), nil
}

// typeItem is list[str]: a type expression.
func typeItem(y *Type, key value) (value, error) {
	switch y.name {
	case "list", "dict", "tuple", "set", "frozenset":
	default:
		return nil, TypeErrorf("type '%s' is not subscriptable", y.name)
	}
	var text strings.Builder
	parts, ok := key.(tuple)
	if !ok {
		parts = tuple{key}
	}
	for i, part := range parts {
		if !isTypeExpr(part) && part != Ellipsis {
			return nil, TypeErrorf("'%s' is no type expression", TypeName(part))
		}
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(typeText(part))
	}
	return newAlias(y.name + "[" + text.String() + "]")
}

// indexIn is an index into a sequence of length n, negative ones from the end.
func indexIn(what string, key value, n int64) (int64, error) {
	i, ok := asInt(key)
	if !ok {
		kind := what
		if what == "range object" {
			kind = "range"
		}
		return 0, TypeErrorf("%s indices must be integers or slices, not %s", kind, TypeName(key))
	}
	at, fits := i.Int64()
	if fits && at < 0 {
		at += n
	}
	if !fits || at < 0 || at >= n {
		return 0, IndexErrorf("%s index out of range", what)
	}
	return at, nil
}

// SetItem is x[key] = v.
func SetItem(t *starlark.Thread, x, key, v starlark.Value) error {
	switch x := x.(type) {
	case *starlark.Dict:
		return dictSet(MeterOf(t), x, key, v)
	case *starlark.List:
		if s, ok := key.(*Slice); ok {
			return setSlice(t, x, s, v)
		}
		i, err := indexIn("list assignment", key, int64(x.Len()))
		if err != nil {
			return err
		}
		if err := x.SetIndex(int(i), v); err != nil {
			return errListFixed()
		}
		return nil
	default:
		return TypeErrorf("'%s' object does not support item assignment", TypeName(x))
	}
}

// NewDict is a dict display: pairs is a list of (key, value) tuples. An equal key
// keeps its place and spelling, the last value wins.
func NewDict(t *starlark.Thread, pairs starlark.Indexable) (*starlark.Dict, error) {
	m := MeterOf(t)
	if err := m.Reserve(dictBytes); err != nil {
		return nil, err
	}
	d := starlark.NewDict(min(pairs.Len(), freeEntries)) // keys may be equal
	for i := range pairs.Len() {
		pair, ok := pairs.Index(i).(tuple)
		if !ok || len(pair) != 2 {
			return nil, TypeErrorf("a dict entry is not a pair")
		}
		if err := dictSet(m, d, pair[0], pair[1]); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// NewSet is a set display.
func NewSet(t *starlark.Thread, elems starlark.Indexable) (*starlark.Set, error) {
	m := MeterOf(t)
	if err := m.Reserve(dictBytes); err != nil {
		return nil, err
	}
	s := starlark.NewSet(min(elems.Len(), freeEntries))
	for i := range elems.Len() {
		if err := setAdd(m, s, elems.Index(i)); err != nil {
			return nil, err
		}
	}
	return s, nil
}
