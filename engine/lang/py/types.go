package py

import (
	"strings"

	"go.starlark.net/starlark"
)

// The built-in types. var(int) tells them apart by identity.
var (
	StrType = &Type{
		name: "str", make: makeStr, methods: strMethods, is: isA[starlark.String],
		class: map[string]*Native{"maketrans": {name: "str.maketrans", fn: strMaketrans}},
	}
	IntType       = &Type{name: "int", make: makeInt, methods: intMethods, is: func(v value) bool { _, ok := asInt(v); return ok }}
	FloatType     = &Type{name: "float", make: makeFloat, methods: floatMethods, is: isA[starlark.Float]}
	BoolType      = &Type{name: "bool", mode: costShared, make: makeBool, methods: intMethods, is: isA[starlark.Bool]}
	ListType      = &Type{name: "list", make: makeList, methods: listMethods, is: isA[*starlark.List]}
	TupleType     = &Type{name: "tuple", make: makeTuple, methods: tupleMethods, is: isA[starlark.Tuple]}
	SetType       = &Type{name: "set", make: makeSet, methods: setMethods, is: isA[*starlark.Set]}
	FrozenSetType = &Type{name: "frozenset", make: makeFrozenSet, methods: frozenSetMethods, is: isA[*FrozenSet]}
	DictType      = &Type{
		name: "dict", make: makeDict, methods: dictMethods, is: isA[*starlark.Dict],
		class: map[string]*Native{"fromkeys": {name: "dict.fromkeys", fn: dictFromkeys}},
	}
)

func isA[T value](v value) bool { _, ok := v.(T); return ok }

func makeStr(t *thread, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("str", []string{"object?"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	if bound[0] == nil {
		return starlark.String(""), nil
	}
	text, err := Str(t, bound[0])
	return starlark.String(text), err
}

func makeInt(t *thread, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("int", []string{"x?", "/", "base?"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	x := bound[0]
	if bound[1] != nil {
		s, ok := x.(starlark.String)
		if !ok {
			return nil, TypeErrorf("int() can't convert non-string with explicit base")
		}
		base, err := intArg(bound[1], 10)
		if err != nil {
			return nil, err
		}
		if base != 0 && (base < 2 || base > 36) {
			return nil, ValueErrorf("int() base must be >= 2 and <= 36, or 0")
		}
		i, err := parseInt(t, string(s), int(base))
		return i, err
	}
	switch x := x.(type) {
	case nil:
		return intZero, nil
	case starlark.String:
		i, err := parseInt(t, string(x), 10)
		return i, err
	case starlark.Float:
		i, err := floatInt(float64(x))
		return i, err
	}
	i, ok := asInt(x)
	if !ok {
		return nil, TypeErrorf("int() argument must be a string or a real number, not '%s'", TypeName(x))
	}
	return i, nil
}

func makeFloat(_ *thread, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("float", []string{"x?", "/"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	switch x := bound[0].(type) {
	case nil:
		return starlark.Float(0), nil
	case starlark.String:
		f, err := parseFloat(string(x))
		return starlark.Float(f), err
	default:
		f, ok, err := asNumber(x)
		if !ok {
			return nil, TypeErrorf("float() argument must be a string or a real number, not '%s'", TypeName(x))
		}
		return starlark.Float(f), err
	}
}

func makeBool(_ *thread, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("bool", []string{"object?", "/"}, args, kwargs)
	if err != nil || bound[0] == nil {
		return starlark.False, err
	}
	return bound[0].Truth(), nil
}

func oneIterable(name string, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs(name, []string{"iterable?", "/"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	if bound[0] == nil {
		return tuple{}, nil
	}
	return bound[0], nil
}

func makeList(t *thread, args tuple, kwargs kwargsT) (value, error) {
	x, err := oneIterable("list", args, kwargs)
	if err != nil {
		return nil, err
	}
	elems, err := drain(t, x)
	return starlark.NewList(elems), err
}

func makeTuple(t *thread, args tuple, kwargs kwargsT) (value, error) {
	x, err := oneIterable("tuple", args, kwargs)
	if err != nil {
		return nil, err
	}
	if same, ok := x.(tuple); ok {
		return same, nil
	}
	elems, err := drain(t, x)
	return tuple(elems), err
}

func makeSet(t *thread, args tuple, kwargs kwargsT) (value, error) {
	x, err := oneIterable("set", args, kwargs)
	if err != nil {
		return nil, err
	}
	return freshSet(t, x)
}

// freshSet is the set of the elements of x, which no one else holds.
func freshSet(t *thread, x value) (*starlark.Set, error) {
	if s, ok := setOf(x); ok {
		return copySet(MeterOf(t), s)
	}
	return collectSet(t, x)
}

func makeFrozenSet(t *thread, args tuple, kwargs kwargsT) (value, error) {
	x, err := oneIterable("frozenset", args, kwargs)
	if err != nil {
		return nil, err
	}
	set, err := freshSet(t, x)
	if err != nil {
		return nil, err
	}
	return newFrozenSet(set), nil
}

func makeDict(t *thread, args tuple, kwargs kwargsT) (value, error) {
	if len(args) > 1 {
		return nil, TypeErrorf("dict expected at most 1 argument, got %d", len(args))
	}
	if err := MeterOf(t).Reserve(dictBytes); err != nil {
		return nil, err
	}
	d := starlark.NewDict(0)
	return d, fillDict(t, d, args, kwargs)
}

// Join is the parts of an f-string, all texts, as one.
func Join(t *starlark.Thread, parts starlark.Indexable) (string, error) {
	total := int64(0)
	for i := range parts.Len() {
		s, ok := parts.Index(i).(starlark.String)
		if !ok {
			return "", TypeErrorf("a part of an f-string is a %s", TypeName(parts.Index(i)))
		}
		total += int64(len(s))
	}
	if err := MeterOf(t).grow(out(total), total); err != nil {
		return "", err
	}
	var b strings.Builder
	b.Grow(int(total))
	for i := range parts.Len() {
		b.WriteString(string(parts.Index(i).(starlark.String)))
	}
	return b.String(), nil
}
