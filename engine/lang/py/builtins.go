package py

import (
	"go.starlark.net/starlark"
)

// Builtins are the names every config sees (lang.md §8.1), the types among them.
func Builtins() starlark.StringDict {
	types := []*Type{StrType, IntType, FloatType, BoolType, ListType, DictType, TupleType, SetType, FrozenSetType}
	names := make(starlark.StringDict, len(types)+len(builtinFuncs))
	for _, y := range types {
		names[y.name] = y
	}
	for name, fn := range builtinFuncs {
		mode := costFull
		if name == "len" {
			mode = costShared
		}
		names[name] = &Native{name: name, mode: mode, fn: fn}
	}
	return names
}

var builtinFuncs = map[string]nativeFunc{
	"abs":       makeAbs,
	"all":       makeAll,
	"any":       makeAny,
	"divmod":    makeDivmod,
	"enumerate": makeEnumerate,
	"filter":    makeFilter,
	"len":       makeLen,
	"map":       makeMap,
	"max":       extreme("max", ">"),
	"min":       extreme("min", "<"),
	"range":     makeRange,
	"reversed":  makeReversed,
	"round":     makeRound,
	"sorted":    makeSorted,
	"sum":       makeSum,
	"zip":       makeZip,
}

func makeAbs(t *thread, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("abs", []string{"x", "/"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	if f, ok := bound[0].(starlark.Float); ok {
		if f < 0 || f == 0 {
			return 0 - f + 0, nil
		}
		return f, nil
	}
	i, ok := asInt(bound[0])
	if !ok {
		return nil, TypeErrorf("bad operand type for abs(): '%s'", TypeName(bound[0]))
	}
	if i.Sign() < 0 {
		return Unary(t, "-", i)
	}
	return i, nil
}

func makeAll(t *thread, args tuple, kwargs kwargsT) (value, error) {
	return quantify(t, "all", false, args, kwargs)
}

func makeAny(t *thread, args tuple, kwargs kwargsT) (value, error) {
	return quantify(t, "any", true, args, kwargs)
}

// quantify looks for an element whose truth is wanted.
func quantify(t *thread, name string, wanted bool, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs(name, []string{"iterable", "/"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	found, err := walk(t, bound[0], func(v value) (bool, error) { return bool(v.Truth()) == wanted, nil })
	return starlark.Bool(found == wanted), err
}

// walk visits elements until visit answers true, and says whether it did. Elements of
// an iterator are paid for by the batch.
func walk(t *thread, x value, visit func(value) (bool, error)) (bool, error) {
	next, err := stepsOf(t, x)
	if err != nil {
		return false, err
	}
	m := MeterOf(t)
	_, unsized := x.(*Iterator)
	for n := 1; ; n++ {
		v, err := next()
		if v == nil || err != nil {
			return false, err
		}
		if n%drainBatch == 0 {
			if err := m.interrupted(); err != nil {
				return false, err
			}
			if unsized {
				if err := m.Charge(drainBatch / 16); err != nil {
					return false, err
				}
			}
		}
		if stop, err := visit(v); stop || err != nil {
			return stop, err
		}
	}
}

func makeDivmod(t *thread, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("divmod", []string{"x", "y", "/"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	x, y := bound[0], bound[1]
	if !isNumber(x) || !isNumber(y) {
		return nil, errOperands("divmod()", x, y)
	}
	q, err := Binary(t, "//", x, y)
	if err != nil {
		return nil, err
	}
	r, err := Binary(t, "%", x, y)
	return tuple{q, r}, err
}

func makeLen(t *thread, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("len", []string{"obj", "/"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	n, ok, err := lengthOf(MeterOf(t), bound[0])
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, TypeErrorf("object of type '%s' has no len()", TypeName(bound[0]))
	case n == infinite:
		return nil, OverflowErrorf("the length is too large for an index")
	}
	return starlark.MakeInt64(n), nil
}

// extreme is min or max: the first element that no other beats.
func extreme(name, op string) nativeFunc {
	return func(t *thread, args tuple, kwargs kwargsT) (value, error) {
		bound, err := BindArgs(name, []string{"*", "key?", "default?"}, nil, kwargs)
		if err != nil {
			return nil, err
		}
		key, absent := bound[0], bound[1]
		elems := value(args)
		switch {
		case len(args) == 0:
			return nil, TypeErrorf("%s expected at least 1 argument, got 0", name)
		case len(args) == 1:
			elems = args[0]
		case absent != nil:
			return nil, TypeErrorf("cannot specify a default for %s() with multiple positional arguments", name)
		}
		var best, bestKey value
		_, err = walk(t, elems, func(v value) (bool, error) {
			k := v
			if key != nil && key != starlark.None {
				var err error
				if k, err = Call(t, key, tuple{v}, nil); err != nil {
					return false, err
				}
			}
			if best != nil {
				better, err := equality{MeterOf(t)}.order(op, k, bestKey, 0)
				if err != nil || !better {
					return false, err
				}
			}
			best, bestKey = v, k
			return false, nil
		})
		switch {
		case err != nil:
			return nil, err
		case best != nil:
			return best, nil
		case absent != nil:
			return absent, nil
		default:
			return nil, ValueErrorf("%s() iterable argument is empty", name)
		}
	}
}

func makeRange(t *thread, args tuple, kwargs kwargsT) (value, error) {
	if len(kwargs) > 0 {
		return nil, TypeErrorf("range() takes no keyword arguments")
	}
	if len(args) == 0 || len(args) > 3 {
		return nil, TypeErrorf("range expected 1 to 3 arguments, got %d", len(args))
	}
	parts := []starlark.Int{intZero, intZero, intOne}
	for i, a := range args {
		n, ok := asInt(a)
		if !ok {
			return nil, errNotInteger(a)
		}
		if len(args) == 1 {
			i = 1
		}
		parts[i] = n
	}
	if parts[2].Sign() == 0 {
		return nil, ValueErrorf("range() arg 3 must not be zero")
	}
	if err := MeterOf(t).chargeRange(parts[0], parts[1], parts[2]); err != nil {
		return nil, err
	}
	return newRange(parts[0], parts[1], parts[2]), nil
}

func makeRound(t *thread, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("round", []string{"number", "ndigits?"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	whole := bound[1] == nil || bound[1] == starlark.None
	digits := int64(0)
	if !whole {
		if digits, err = intArg(bound[1], 0); err != nil {
			return nil, err
		}
	}
	if f, ok := bound[0].(starlark.Float); ok {
		if !whole {
			rounded, err := roundFloat(float64(f), digits)
			return starlark.Float(rounded), err
		}
		return roundWhole(float64(f))
	}
	i, ok := asInt(bound[0])
	if !ok {
		return nil, TypeErrorf("type %s cannot be rounded", TypeName(bound[0]))
	}
	if err := MeterOf(t).chargeBits(i, i); err != nil {
		return nil, err
	}
	rounded := roundInt(i, digits)
	return rounded, MeterOf(t).number(rounded)
}

func makeSorted(t *thread, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("sorted", []string{"iterable", "/", "*", "key?", "reverse?"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	elems, err := drain(t, bound[0])
	if err != nil {
		return nil, err
	}
	return starlark.NewList(elems), sortElems(t, elems, bound[1], bound[2])
}
