package py

import (
	"strings"

	"go.starlark.net/starlark"
)

// Binary is x op y for op of + - * / // % ** << >> & | ^. It never changes x
// (LX-2).
func Binary(t *starlark.Thread, op string, x, y starlark.Value) (starlark.Value, error) {
	if xi, ok := x.(starlark.Int); ok {
		if yi, ok := y.(starlark.Int); ok {
			if v, ok := smallInts(op, xi, yi); ok {
				if isSmall(v) {
					return v, nil
				}
				return v, MeterOf(t).number(v)
			}
			if v, ok, err := intBinary(MeterOf(t), op, xi, yi); ok {
				return counted(MeterOf(t), v, err)
			}
			return nil, errOperands(op, x, y)
		}
	}
	if v, ok, err := numberBinary(MeterOf(t), op, x, y); ok {
		return counted(MeterOf(t), v, err)
	}
	switch op {
	case "+":
		return add(t, x, y)
	case "*":
		return multiply(t, x, y)
	case "%":
		if s, ok := x.(starlark.String); ok {
			text, err := percent(t, string(s), y)
			return starlark.String(text), err
		}
	case "|", "&", "-", "^":
		if v, ok, err := combine(t, op, x, y); ok {
			return v, err
		}
	}
	return nil, errOperands(op, x, y)
}

// Unary is op x for op of - + ~.
func Unary(t *starlark.Thread, op string, x starlark.Value) (starlark.Value, error) {
	v, ok := numberUnary(op, x)
	if !ok {
		return nil, TypeErrorf("bad operand type for unary %s: '%s'", op, TypeName(x))
	}
	return counted(MeterOf(t), v, nil)
}

// counted is the result of an operator on numbers, accounted for.
func counted(m *Meter, v value, err error) (value, error) {
	if err != nil {
		return nil, err
	}
	return v, m.number(v)
}

func isSmall(v value) bool {
	i, ok := v.(starlark.Int)
	if !ok {
		return false
	}
	n, ok := i.Int64()
	return ok && n == int64(int32(n))
}

func errOperands(op string, x, y value) error {
	if op == "**" {
		op = "** or pow()"
	}
	return TypeErrorf("unsupported operand type(s) for %s: '%s' and '%s'", op, TypeName(x), TypeName(y))
}

func numberBinary(m *Meter, op string, x, y value) (v value, ok bool, err error) {
	if xb, isBool := x.(starlark.Bool); isBool {
		if yb, isBool := y.(starlark.Bool); isBool {
			switch op {
			case "&":
				return xb && yb, true, nil
			case "|":
				return xb || yb, true, nil
			case "^":
				return starlark.Bool(xb != yb), true, nil
			}
		}
	}
	xi, xok := asInt(x)
	yi, yok := asInt(y)
	if xok && yok {
		return intBinary(m, op, xi, yi)
	}
	xf, ok, err := asNumber(x)
	if !ok || err != nil {
		return nil, ok && isNumber(y), err
	}
	yf, ok, err := asNumber(y)
	if !ok || err != nil {
		return nil, ok, err
	}
	return floatBinary(m, op, xf, yf)
}

func isNumber(x value) bool {
	switch x.(type) {
	case starlark.Int, starlark.Float, starlark.Bool:
		return true
	default:
		return false
	}
}

func add(t *thread, x, y value) (value, error) {
	m := MeterOf(t)
	switch x := x.(type) {
	case starlark.String:
		y, ok := y.(starlark.String)
		if !ok {
			break
		}
		n := int64(len(x)) + int64(len(y))
		if err := m.grow(out(n), n); err != nil {
			return nil, err
		}
		return x + y, nil
	case *starlark.List:
		y, ok := y.(*starlark.List)
		if !ok {
			break
		}
		n := int64(x.Len()) + int64(y.Len())
		if err := m.grow(out(n), n*16); err != nil {
			return nil, err
		}
		elems := make([]value, 0, n)
		return starlark.NewList(appendIndexed(appendIndexed(elems, x), y)), nil
	case starlark.Tuple:
		y, ok := y.(starlark.Tuple)
		if !ok {
			break
		}
		n := int64(len(x)) + int64(len(y))
		if err := m.grow(out(n), n*16); err != nil {
			return nil, err
		}
		return append(append(make(tuple, 0, n), x...), y...), nil
	default:
		return nil, errOperands("+", x, y)
	}
	name := TypeName(x)
	return nil, TypeErrorf("can only concatenate %s (not %q) to %s", name, TypeName(y), name)
}

func appendIndexed(elems []value, x starlark.Indexable) []value {
	for i := range x.Len() {
		elems = append(elems, x.Index(i))
	}
	return elems
}

// grow charges steps and memory together.
func (m *Meter) grow(units, bytes int64) error {
	if err := m.Charge(units); err != nil {
		return err
	}
	return m.Alloc(bytes)
}

func multiply(t *thread, x, y value) (value, error) {
	if v, ok, err := repeat(t, x, y); ok {
		return v, err
	}
	if v, ok, err := repeat(t, y, x); ok {
		return v, err
	}
	return nil, errOperands("*", x, y)
}

// repeat is x * y for a sequence x; ok is false when x is none.
func repeat(t *thread, x, y value) (v value, ok bool, err error) {
	switch x.(type) {
	case starlark.String, *starlark.List, starlark.Tuple:
	default:
		return nil, false, nil
	}
	times, ok := asInt(y)
	if !ok {
		return nil, true, TypeErrorf("can't multiply sequence by non-int of type '%s'", TypeName(y))
	}
	n, fits := times.Int64()
	if !fits {
		if times.Sign() < 0 || sizeOf(x) == 0 {
			return nil, true, errIndexSize()
		}
		n = infinite
	}
	n = max(n, 0)
	m := MeterOf(t)
	switch x := x.(type) {
	case starlark.String:
		length := int64(countRunes(string(x)))
		if err := m.grow(satMul(length, n), satMul(int64(len(x)), n)); err != nil {
			return nil, true, err
		}
		if len(x) == 0 {
			return x, true, nil
		}
		return starlark.String(strings.Repeat(string(x), int(n))), true, nil
	case *starlark.List:
		elems, err := repeatElems(m, x, n)
		return starlark.NewList(elems), true, err
	default:
		elems, err := repeatElems(m, x.(starlark.Tuple), n)
		return tuple(elems), true, err
	}
}

func repeatElems(m *Meter, x starlark.Indexable, n int64) ([]value, error) {
	length := satMul(int64(x.Len()), n)
	if err := m.grow(length, satMul(length, 16)); err != nil {
		return nil, err
	}
	elems := make([]value, 0, length)
	for x.Len() > 0 && int64(len(elems)) < length {
		elems = appendIndexed(elems, x)
	}
	return elems, nil
}

// combine is | & - ^ on dicts, sets and what compares like sets.
func combine(t *thread, op string, x, y value) (v value, ok bool, err error) {
	if op == "|" {
		if xd, ok := x.(*starlark.Dict); ok {
			if yd, ok := y.(*starlark.Dict); ok {
				v, err := uniteDicts(t, xd, yd)
				return v, true, err
			}
		}
		if isTypeExpr(x) && isTypeExpr(y) && (x != starlark.None || y != starlark.None) {
			alias, err := newAlias(typeText(x) + " | " + typeText(y))
			return alias, true, err
		}
	}
	_, xset := setOf(x)
	_, yset := setOf(y)
	withView := isSetLike(x) && !xset || isSetLike(y) && !yset
	if bothSets := xset && yset; !bothSets && !withView {
		return nil, false, nil
	}
	set, err := combineSets(t, op, x, y)
	if err != nil {
		return nil, true, err
	}
	if _, frozen := x.(*FrozenSet); frozen && !withView {
		return newFrozenSet(set), true, nil
	}
	return set, true, nil
}

// combineSets is x op y of two iterables. A view takes any other one beside it, where a
// set needs a set.
func combineSets(t *thread, op string, x, y value) (*starlark.Set, error) {
	m := MeterOf(t)
	total := int64(0)
	for _, side := range []value{x, y} {
		n, _, err := lengthOf(m, side)
		if err != nil {
			return nil, err
		}
		total = satAdd(total, n)
	}
	if err := m.Charge(out(total)); err != nil {
		return nil, err
	}
	xs, err := collectSet(t, x)
	if err != nil {
		return nil, err
	}
	ys, err := collectSet(t, y)
	if err != nil {
		return nil, err
	}
	return setOperation(m, op, xs, ys)
}

func isTypeExpr(x value) bool {
	switch x.(type) {
	case *Type, *Alias, starlark.NoneType:
		return true
	default:
		return false
	}
}

func typeText(x value) string {
	if y, ok := x.(*Type); ok {
		return y.name
	}
	return x.String()
}

func uniteDicts(t *thread, x, y *starlark.Dict) (value, error) {
	m := MeterOf(t)
	if err := m.Charge(out(int64(x.Len() + y.Len()))); err != nil {
		return nil, err
	}
	union, err := copyDict(m, x)
	if err != nil {
		return nil, err
	}
	return union, mergeInto(m, union, y)
}

func copyDict(m *Meter, d *starlark.Dict) (*starlark.Dict, error) {
	if err := m.Alloc(entries(d.Len())); err != nil {
		return nil, err
	}
	c := starlark.NewDict(d.Len())
	for k, v := range d.Entries() {
		if err := m.chargeChain(c.Len(), k); err != nil {
			return nil, err
		}
		if err := c.SetKey(k, v); err != nil {
			return nil, LanguageErrorf("a key is nested too deeply to compare")
		}
	}
	return c, nil
}

func mergeInto(m *Meter, d, from *starlark.Dict) error {
	if d == from {
		return nil
	}
	for k, v := range from.Entries() {
		if err := dictSet(m, d, k, v); err != nil {
			return err
		}
	}
	return nil
}
