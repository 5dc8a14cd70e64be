package py

import (
	"maps"

	"go.starlark.net/starlark"
)

type methodFunc = func(t *thread, recv value, args tuple, kwargs kwargsT) (value, error)

var readOnlySetMethods = map[string]methodFunc{
	"copy":                 setCopyMethod,
	"difference":           setCombine("difference", "-", -1),
	"intersection":         setCombine("intersection", "&", -1),
	"isdisjoint":           setTest("isdisjoint", isDisjoint),
	"issubset":             setTest("issubset", isSubset),
	"issuperset":           setTest("issuperset", func(m *Meter, x, y *starlark.Set) (bool, error) { return isSubset(m, y, x) }),
	"symmetric_difference": setCombine("symmetric_difference", "^", 1),
	"union":                setCombine("union", "|", -1),
}

var frozenSetMethods = methodTable(nil, readOnlySetMethods)

var setMethods = methodTable(
	map[string]costMode{"add": costArgs, "discard": costArgs, "update": costArgs, "pop": costShared},
	withReadOnly(map[string]methodFunc{
		"add":                         setAddMethod,
		"clear":                       setClear,
		"difference_update":           setUpdate("difference_update", "-", -1),
		"discard":                     setDiscard("discard", false),
		"intersection_update":         setUpdate("intersection_update", "&", -1),
		"pop":                         setPop,
		"remove":                      setDiscard("remove", true),
		"symmetric_difference_update": setUpdate("symmetric_difference_update", "^", 1),
		"update":                      setUpdateUnion,
	}))

func withReadOnly(fns map[string]methodFunc) map[string]methodFunc {
	maps.Copy(fns, readOnlySetMethods)
	return fns
}

func setCopyMethod(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	if err := noArgs("copy", args, kwargs); err != nil {
		return nil, err
	}
	if f, ok := recv.(*FrozenSet); ok {
		return f, nil
	}
	return copySet(MeterOf(t), recv.(*starlark.Set))
}

// collectSet is the set of the elements of any iterable; a set is not copied.
func collectSet(t *thread, x value) (*starlark.Set, error) {
	if s, ok := setOf(x); ok {
		return s, nil
	}
	next, err := stepsOf(t, x)
	if err != nil {
		return nil, err
	}
	m := MeterOf(t)
	if err := m.Reserve(dictBytes); err != nil {
		return nil, err
	}
	s := starlark.NewSet(0)
	for {
		v, err := next()
		if err != nil {
			return nil, err
		}
		if v == nil {
			return s, nil
		}
		if err := setAdd(m, s, v); err != nil {
			return nil, err
		}
	}
}

// combineAll is recv op each argument in turn, as a new set.
func combineAll(t *thread, name, op string, most int, recv value, args tuple, kwargs kwargsT) (*starlark.Set, error) {
	if len(kwargs) > 0 {
		return nil, TypeErrorf("%s() takes no keyword arguments", name)
	}
	if most >= 0 && len(args) != most {
		return nil, TypeErrorf("%s() takes exactly one argument (%d given)", name, len(args))
	}
	m := MeterOf(t)
	base, _ := setOf(recv)
	result, err := copySet(m, base)
	if err != nil {
		return nil, err
	}
	for _, a := range args {
		other, err := collectSet(t, a)
		if err != nil {
			return nil, err
		}
		if result, err = setOperation(m, op, result, other); err != nil {
			return nil, err
		}
	}
	return result, nil
}

func setCombine(name, op string, most int) methodFunc {
	return func(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
		result, err := combineAll(t, name, op, most, recv, args, kwargs)
		if err != nil {
			return nil, err
		}
		if _, frozen := recv.(*FrozenSet); frozen {
			return newFrozenSet(result), nil
		}
		return result, nil
	}
}

func setUpdate(name, op string, most int) methodFunc {
	return func(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
		result, err := combineAll(t, name, op, most, recv, args, kwargs)
		if err != nil {
			return nil, err
		}
		s := recv.(*starlark.Set)
		if err := s.Clear(); err != nil {
			return nil, TypeErrorf("a set that cannot be changed was updated")
		}
		return starlark.None, insertAll(MeterOf(t), s, result)
	}
}

func setUpdateUnion(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	if len(kwargs) > 0 {
		return nil, TypeErrorf("update() takes no keyword arguments")
	}
	m := MeterOf(t)
	for _, a := range args {
		elems, err := drain(t, a)
		if err != nil {
			return nil, err
		}
		for _, e := range elems {
			if err := setAdd(m, recv.(*starlark.Set), e); err != nil {
				return nil, err
			}
		}
	}
	return starlark.None, nil
}

func setTest(name string, test func(m *Meter, x, y *starlark.Set) (bool, error)) methodFunc {
	return func(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
		bound, err := BindArgs(name, []string{"other", "/"}, args, kwargs)
		if err != nil {
			return nil, err
		}
		x, _ := setOf(recv)
		y, err := collectSet(t, bound[0])
		if err != nil {
			return nil, err
		}
		ok, err := test(MeterOf(t), x, y)
		return starlark.Bool(ok), err
	}
}

func isDisjoint(m *Meter, x, y *starlark.Set) (bool, error) {
	for e := range x.Elements() {
		found, err := setHas(m, y, e)
		if err != nil || found {
			return false, err
		}
	}
	return true, nil
}

func setAddMethod(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("set.add", []string{"element", "/"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	return starlark.None, setAdd(MeterOf(t), recv.(*starlark.Set), bound[0])
}

func setClear(_ *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	if err := noArgs("set.clear", args, kwargs); err != nil {
		return nil, err
	}
	if err := recv.(*starlark.Set).Clear(); err != nil {
		return nil, TypeErrorf("a set that cannot be changed was cleared")
	}
	return starlark.None, nil
}

func setDiscard(name string, must bool) methodFunc {
	return func(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
		bound, err := BindArgs("set."+name, []string{"element", "/"}, args, kwargs)
		if err != nil {
			return nil, err
		}
		found, err := setRemove(MeterOf(t), recv.(*starlark.Set), bound[0])
		if err != nil {
			return nil, err
		}
		if must && !found {
			return nil, KeyErrorf("%s", Show(t, bound[0]))
		}
		return starlark.None, nil
	}
}

// setPop removes the first element in the order of a set (lang.md §5.7).
func setPop(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	if err := noArgs("set.pop", args, kwargs); err != nil {
		return nil, err
	}
	s := recv.(*starlark.Set)
	if s.Len() == 0 {
		return nil, KeyErrorf("'pop from an empty set'")
	}
	elems, err := sortedElements(t, s)
	if err != nil {
		return nil, err
	}
	_, err = setRemove(MeterOf(t), s, elems[0])
	return elems[0], err
}
