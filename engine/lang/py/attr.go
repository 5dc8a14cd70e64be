package py

import (
	"errors"

	"go.starlark.net/starlark"
)

// GetAttr is x.name: a method of a built-in value, or what the value itself offers.
func GetAttr(t *starlark.Thread, x starlark.Value, name string) (starlark.Value, error) {
	if methods := methodsOf(x); methods != nil {
		if m := methods[name]; m != nil {
			return &boundMethod{method: m, recv: x}, MeterOf(t).Reserve(0)
		}
		if class := classMethod(x, name); class != nil {
			return class, nil
		}
		return nil, errNoAttr(x, name)
	}
	if err := MeterOf(t).Reserve(slotBytes); err != nil {
		return nil, err
	}
	if getter, ok := x.(AttrGetter); ok {
		v, err := getter.PyGetAttr(t, name)
		if v == nil && err == nil {
			return nil, errNoAttr(x, name)
		}
		return v, err
	}
	switch x := x.(type) {
	case *Type:
		return typeAttr(x, name)
	case *Range:
		switch name {
		case "start":
			return x.start, nil
		case "stop":
			return x.stop, nil
		case "step":
			return x.step, nil
		}
		if m := rangeMethods[name]; m != nil {
			return &boundMethod{method: m, recv: x}, nil
		}
	case *starlark.Function, *starlark.Builtin, *Native, *boundMethod, *BoundFunction:
	case starlark.HasAttrs:
		v, err := x.Attr(name)
		var missing starlark.NoSuchAttrError
		if errors.As(err, &missing) || v == nil && err == nil {
			return nil, errNoAttr(x, name)
		}
		if err != nil {
			return nil, err
		}
		return Fresh(t, v)
	}
	return nil, errNoAttr(x, name)
}

// classMethod is a method of the type, reached through a value of it.
func classMethod(x value, name string) *Native {
	switch x.(type) {
	case *starlark.Dict:
		return DictType.class[name]
	case starlark.String:
		return StrType.class[name]
	default:
		return nil
	}
}

func errNoAttr(x value, name string) error {
	err := AttributeErrorf("'%s' object has no attribute '%s'", TypeName(x), name)
	if class, ok := x.(interface{ Name() string }); ok && TypeName(x) == "type" {
		err = AttributeErrorf("type object '%s' has no attribute '%s'", class.Name(), name)
	}
	return suggesting(err, name, publicNames(x))
}

func methodsOf(x value) map[string]*method {
	switch x.(type) {
	case starlark.String:
		return strMethods
	case *starlark.List:
		return listMethods
	case *starlark.Dict:
		return dictMethods
	case starlark.Tuple:
		return tupleMethods
	case *starlark.Set:
		return setMethods
	case *FrozenSet:
		return frozenSetMethods
	case starlark.Int, starlark.Bool:
		return intMethods
	case starlark.Float:
		return floatMethods
	default:
		return nil
	}
}

// typeAttr is a class method (dict.fromkeys) or an unbound method (str.lower).
func typeAttr(y *Type, name string) (value, error) {
	if class := y.class[name]; class != nil {
		return class, nil
	}
	m := y.methods[name]
	if m == nil {
		return nil, errNoAttr(y, name)
	}
	return &Native{name: y.name + "." + name, mode: m.mode, fn: func(t *thread, args tuple, kwargs kwargsT) (value, error) {
		if len(args) == 0 {
			return nil, TypeErrorf("unbound method %s.%s() needs an argument", y.name, name)
		}
		if !y.is(args[0]) {
			return nil, TypeErrorf("descriptor '%s' for '%s' objects doesn't apply to a '%s' object", name, y.name, TypeName(args[0]))
		}
		return m.fn(t, args[0], args[1:], kwargs)
	}}, nil
}

// methodTable names the methods after their keys.
func methodTable(cheap map[string]costMode, fns map[string]methodFunc) map[string]*method {
	table := make(map[string]*method, len(fns))
	for name, fn := range fns {
		table[name] = &method{name: name, mode: cheap[name], fn: fn}
	}
	return table
}

// noArgs binds a method without arguments.
func noArgs(name string, args tuple, kwargs kwargsT) error {
	if len(args) > 0 || len(kwargs) > 0 {
		return TypeErrorf("%s() takes no arguments (%d given)", name, len(args)+len(kwargs))
	}
	return nil
}
