package py

import (
	"math"
	"math/big"
	"reflect"
	"strings"
	"unsafe"

	"go.starlark.net/starlark"
)

// Compare is x op y for op of < <= > >= == != in, not in, is, is not.
func Compare(t *starlark.Thread, op string, x, y starlark.Value) (starlark.Value, error) {
	switch op {
	case "==", "!=":
		eq, err := equal(t, x, y)
		return starlark.Bool(eq == (op == "==")), err
	case "in", "not in":
		found, err := contains(t, y, x)
		return starlark.Bool(found == (op == "in")), err
	case "is", "is not":
		if err := MeterOf(t).chargeScalars(x, y); err != nil {
			return nil, err
		}
		return starlark.Bool(isSame(x, y) == (op == "is")), nil
	default:
		less, err := order(t, op, x, y)
		return starlark.Bool(less), err
	}
}

// equal is x == y, charged.
func equal(t *thread, x, y value) (bool, error) {
	m := MeterOf(t)
	if err := m.chargeCompare(x, y); err != nil {
		return false, err
	}
	return equality{m}.eq(x, y, 0)
}

// chargeScalars takes the cost of comparing two texts, ints or handles.
func (m *Meter) chargeScalars(x, y value) error {
	switch x := x.(type) {
	case starlark.String:
		if y, ok := y.(starlark.String); ok {
			return m.Charge(int64(min(len(x), len(y))) / 64)
		}
	case Bytes:
		if y, ok := y.(Bytes); ok {
			return m.Charge(int64(min(len(x), len(y))) / 64)
		}
	case starlark.Int:
		if _, small := x.Int64(); !small {
			return m.chargeBits(x)
		}
		if y, ok := y.(starlark.Int); ok {
			if _, small := y.Int64(); !small {
				return m.chargeBits(y)
			}
		}
	case Composite: // its parts are charged as they are compared
	case Weighted:
		if y, ok := y.(Weighted); ok {
			return m.Charge(min(x.PyWeight(), y.PyWeight()))
		}
	}
	return nil
}

func (m *Meter) chargeCompare(x, y value) error {
	if err := m.chargeScalars(x, y); err != nil {
		return err
	}
	if isContainer(x) && isContainer(y) {
		return m.Charge(m.smallerDeep(x, y))
	}
	return nil
}

// equality compares what is charged already; it charges the chains of colliding keys
// and the parts of composites.
type equality struct{ m *Meter }

func (e equality) eq(x, y value, depth int) (bool, error) {
	if depth > maxDepth {
		return false, errTooDeep()
	}
	if err := e.m.tick(); err != nil {
		return false, err
	}
	switch x := x.(type) {
	case starlark.String:
		y, ok := y.(starlark.String)
		return ok && x == y, nil
	case starlark.Int, starlark.Float, starlark.Bool:
		if !isNumber(y) {
			return false, nil
		}
		c, ordered := compareNumbers(x, y)
		return ordered && c == 0, nil
	case starlark.NoneType:
		return y == starlark.None, nil
	case *starlark.List:
		y, ok := y.(*starlark.List)
		if !ok || x.Len() != y.Len() {
			return false, nil
		}
		return e.sequences(x, y, depth)
	case starlark.Tuple:
		y, ok := y.(starlark.Tuple)
		if !ok || len(x) != len(y) {
			return false, nil
		}
		return e.sequences(x, y, depth)
	case *starlark.Dict:
		y, ok := y.(*starlark.Dict)
		if !ok {
			return false, nil
		}
		return e.dicts(x, y, depth)
	case *starlark.Set, *FrozenSet, *View:
		return e.setLikes(x, y, depth)
	case *Range:
		y, ok := y.(*Range)
		return ok && x.same(y), nil
	default:
		return e.others(x, y, depth)
	}
}

func (e equality) others(x, y value, depth int) (bool, error) {
	if isSame(x, y) {
		return true, nil
	}
	if xc, ok := x.(Composite); ok {
		yc, ok := y.(Composite)
		if !ok || reflect.TypeOf(x) != reflect.TypeOf(y) {
			return false, nil
		}
		if e.m != nil {
			if err := e.m.Charge(1); err != nil {
				return false, err
			}
		}
		xp, yp := xc.PyParts(), yc.PyParts()
		if len(xp) != len(yp) {
			return false, nil
		}
		if e.m != nil {
			if err := e.m.Charge(e.m.smallerDeep(xp, yp)); err != nil {
				return false, err
			}
		}
		return e.sequences(xp, yp, depth)
	}
	if c, ok := x.(Comparer); ok {
		if eq, ok := c.PyEqual(y); ok {
			return eq, nil
		}
	}
	if c, ok := y.(Comparer); ok {
		if eq, ok := c.PyEqual(x); ok {
			return eq, nil
		}
	}
	return false, nil
}

func (e equality) sequences(x, y starlark.Indexable, depth int) (bool, error) {
	for i := range min(x.Len(), y.Len()) {
		eq, err := e.eq(x.Index(i), y.Index(i), depth+1)
		if err != nil || !eq {
			return false, err
		}
	}
	return true, nil
}

func (e equality) dicts(x, y *starlark.Dict, depth int) (bool, error) {
	if x.Len() != y.Len() {
		return false, nil
	}
	for k, v := range x.Entries() {
		other, found, err := dictGet(e.m, y, k)
		if err != nil || !found {
			return false, err
		}
		if eq, err := e.eq(v, other, depth+1); err != nil || !eq {
			return false, err
		}
	}
	return true, nil
}

// compareNumbers is exact between ints and floats; a NaN is ordered with nothing.
func compareNumbers(x, y value) (c int, ordered bool) {
	xi, xInt := asInt(x)
	yi, yInt := asInt(y)
	switch {
	case xInt && yInt:
		c, _ := xi.Cmp(yi, 0)
		return c, true
	case xInt:
		c, ordered := compareIntFloat(xi, float64(y.(starlark.Float)))
		return c, ordered
	case yInt:
		c, ordered := compareIntFloat(yi, float64(x.(starlark.Float)))
		return -c, ordered
	}
	xf, yf := x.(starlark.Float), y.(starlark.Float)
	switch {
	case xf < yf:
		return -1, true
	case xf > yf:
		return 1, true
	default:
		return 0, xf == yf
	}
}

// maxFloatBits is the length of the largest int that is a float.
const maxFloatBits = 1024

func compareIntFloat(i starlark.Int, f float64) (int, bool) {
	switch {
	case math.IsNaN(f):
		return 0, false
	case math.IsInf(f, 1):
		return -1, true
	case math.IsInf(f, -1):
		return 1, true
	}
	if small, ok := i.Int64(); ok && small > -1<<53 && small < 1<<53 {
		switch s := float64(small); {
		case s < f:
			return -1, true
		case s > f:
			return 1, true
		default:
			return 0, true
		}
	}
	if i.BigInt().BitLen() > maxFloatBits { // beyond every float
		return i.Sign(), true
	}
	return new(big.Float).SetInt(i.BigInt()).Cmp(big.NewFloat(f)), true
}

// order is x op y for op of < <= > >=, charged.
func order(t *thread, op string, x, y value) (bool, error) {
	m := MeterOf(t)
	if err := m.chargeCompare(x, y); err != nil {
		return false, err
	}
	return equality{m}.order(op, x, y, 0)
}

func (e equality) order(op string, x, y value, depth int) (bool, error) {
	if depth > maxDepth {
		return false, errTooDeep()
	}
	if err := e.m.tick(); err != nil {
		return false, err
	}
	switch x := x.(type) {
	case starlark.String:
		if y, ok := y.(starlark.String); ok {
			return decide(op, strings.Compare(string(x), string(y))), nil
		}
	case starlark.Int, starlark.Float, starlark.Bool:
		if isNumber(y) {
			c, ordered := compareNumbers(x, y)
			return ordered && decide(op, c), nil
		}
	case *starlark.List:
		if y, ok := y.(*starlark.List); ok {
			return e.orderSequences(op, x, y, depth)
		}
	case starlark.Tuple:
		if y, ok := y.(starlark.Tuple); ok {
			return e.orderSequences(op, x, y, depth)
		}
	case *starlark.Set, *FrozenSet, *View:
		if isSetLike(x) && isSetLike(y) {
			return e.orderSetLikes(op, x, y, depth)
		}
	}
	return false, TypeErrorf("'%s' not supported between instances of '%s' and '%s'", op, TypeName(x), TypeName(y))
}

func decide(op string, c int) bool {
	switch op {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	default:
		return c >= 0
	}
}

func (e equality) orderSequences(op string, x, y starlark.Indexable, depth int) (bool, error) {
	for i := range min(x.Len(), y.Len()) {
		a, b := x.Index(i), y.Index(i)
		eq, err := e.eq(a, b, depth+1)
		if err != nil {
			return false, err
		}
		if !eq {
			return e.order(op, a, b, depth+1)
		}
	}
	return decide(op, x.Len()-y.Len()), nil
}

// isSame is identity, and for ints, floats and strs equality of the same type.
func isSame(x, y value) bool {
	switch x := x.(type) {
	case starlark.Int:
		y, ok := y.(starlark.Int)
		if !ok {
			return false
		}
		c, _ := x.Cmp(y, 0)
		return c == 0
	case starlark.Tuple:
		y, ok := y.(starlark.Tuple)
		return ok && len(x) == len(y) && unsafe.SliceData(x) == unsafe.SliceData(y) //nolint:gosec // addresses are compared, nothing is read through them
	case starlark.String, starlark.Float, starlark.Bool, starlark.NoneType,
		*starlark.List, *starlark.Dict, *starlark.Set, *starlark.Function:
		return x == y
	default:
		return reflect.TypeOf(x) == reflect.TypeOf(y) && reflect.TypeOf(x).Comparable() && x == y
	}
}

// contains is x in c.
func contains(t *thread, c, x value) (bool, error) {
	m := MeterOf(t)
	switch c := c.(type) {
	case starlark.String:
		s, ok := x.(starlark.String)
		if !ok {
			return false, TypeErrorf("'in <string>' requires string as left operand, not %s", TypeName(x))
		}
		if err := m.Charge(int64(len(s)+len(c)) / 64); err != nil {
			return false, err
		}
		return strings.Contains(string(c), string(s)), nil
	case *starlark.Dict:
		return dictContains(m, c, x)
	case *starlark.Set:
		return setContains(m, c, x)
	case *FrozenSet:
		return setContains(m, c.set, x)
	case *View:
		return c.contains(t, x)
	case *starlark.List:
		return sequenceContains(m, c, x)
	case starlark.Tuple:
		return sequenceContains(m, c, x)
	case *Range:
		if err := c.chargeFind(m, x); err != nil {
			return false, err
		}
		_, found := c.find(x)
		return found, nil
	case Container:
		return c.PyContains(t, x)
	case *Iterator:
		return iteratorContains(t, c, x)
	default:
		return false, TypeErrorf("argument of type '%s' is not iterable", TypeName(c))
	}
}

func dictContains(m *Meter, d *starlark.Dict, x value) (bool, error) {
	if err := m.Charge(m.keyCost(x)); err != nil {
		return false, err
	}
	_, found, err := findKey(m, dictTable{d}, x)
	return found, err
}

func setContains(m *Meter, s *starlark.Set, x value) (bool, error) {
	if err := m.Charge(m.keyCost(x)); err != nil {
		return false, err
	}
	if inner, ok := x.(*starlark.Set); ok {
		x = newFrozenSet(inner)
	}
	return setHas(m, s, x)
}

func sequenceContains(m *Meter, c starlark.Indexable, x value) (bool, error) {
	if err := m.Charge(satMul(int64(c.Len()), m.deep(x))); err != nil {
		return false, err
	}
	_, found, err := indexOf(m, c, x, 0, c.Len())
	return found, err
}

// indexOf is the place of the first element that is or equals x.
func indexOf(m *Meter, c starlark.Indexable, x value, lo, hi int) (int, bool, error) {
	for i := lo; i < hi && i < c.Len(); i++ {
		e := c.Index(i)
		if isSame(e, x) && !isNaN(x) {
			return i, true, nil
		}
		eq, err := equality{m}.eq(e, x, 0)
		if err != nil || eq {
			return i, eq, err
		}
	}
	return 0, false, nil
}

func isNaN(x value) bool {
	f, ok := x.(starlark.Float)
	return ok && math.IsNaN(float64(f))
}

func iteratorContains(t *thread, it *Iterator, x value) (bool, error) {
	for {
		e, err := it.step()
		if err != nil || e == nil {
			return false, err
		}
		if eq, err := equal(t, e, x); err != nil || eq {
			return eq, err
		}
	}
}
