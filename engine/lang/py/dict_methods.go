package py

import (
	"go.starlark.net/starlark"
)

var dictMethods = methodTable(
	map[string]costMode{
		"get": costShared, "pop": costShared, "setdefault": costShared,
		"keys": costShared, "values": costShared, "items": costShared,
		"popitem": costArgs, "update": costArgs,
	},
	map[string]methodFunc{
		"clear":      dictClear,
		"copy":       dictCopy,
		"get":        dictGetMethod,
		"items":      dictView("items", viewItems),
		"keys":       dictView("keys", viewKeys),
		"pop":        dictPop,
		"popitem":    dictPopitem,
		"setdefault": dictSetdefault,
		"update":     dictUpdate,
		"values":     dictView("values", viewValues),
	})

func dictClear(_ *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	if err := noArgs("dict.clear", args, kwargs); err != nil {
		return nil, err
	}
	if err := recv.(*starlark.Dict).Clear(); err != nil {
		return nil, TypeErrorf("a dict that cannot be changed was cleared")
	}
	return starlark.None, nil
}

func dictCopy(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	if err := noArgs("dict.copy", args, kwargs); err != nil {
		return nil, err
	}
	return copyDict(MeterOf(t), recv.(*starlark.Dict))
}

func dictView(name string, kind viewKind) methodFunc {
	return func(_ *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
		if err := noArgs("dict."+name, args, kwargs); err != nil {
			return nil, err
		}
		return &View{recv.(*starlark.Dict), kind}, nil
	}
}

func dictGetMethod(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	v, _, err := lookUp(t, "dict.get", dictGet, recv, args, kwargs)
	if v == nil && err == nil {
		return starlark.None, nil
	}
	return v, err
}

func dictPop(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	v, key, err := lookUp(t, "dict.pop", dictDelete, recv, args, kwargs)
	if v == nil && err == nil {
		return nil, KeyErrorf("%s", Show(t, key))
	}
	return v, err
}

// lookUp is what get and pop have in common: the value of a key, else the given default,
// else nil.
func lookUp(t *thread, name string, find func(*Meter, *starlark.Dict, value) (value, bool, error),
	recv value, args tuple, kwargs kwargsT,
) (v, key value, err error) {
	bound, err := BindArgs(name, []string{"key", "default?", "/"}, args, kwargs)
	if err != nil {
		return nil, nil, err
	}
	d, m := recv.(*starlark.Dict), MeterOf(t)
	if err := m.chargeKey(d.Len(), bound[0]); err != nil {
		return nil, nil, err
	}
	v, found, err := find(m, d, bound[0])
	if err == nil && !found {
		v = bound[1]
	}
	return v, bound[0], err
}

func dictPopitem(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	if err := noArgs("dict.popitem", args, kwargs); err != nil {
		return nil, err
	}
	d := recv.(*starlark.Dict)
	if d.Len() == 0 {
		return nil, KeyErrorf("'popitem(): dictionary is empty'")
	}
	// The table has no way to its last entry but through all of them.
	if err := MeterOf(t).Charge(int64(d.Len()) / 16); err != nil {
		return nil, err
	}
	var key value
	for k := range d.Entries() {
		key = k
	}
	v, _, err := dictDelete(MeterOf(t), d, key)
	return tuple{key, v}, err
}

func dictSetdefault(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("dict.setdefault", []string{"key", "default?", "/"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	d := recv.(*starlark.Dict)
	m := MeterOf(t)
	if err := m.chargeKey(d.Len(), bound[0]); err != nil {
		return nil, err
	}
	v, found, err := dictGet(m, d, bound[0])
	if err != nil || found {
		return v, err
	}
	v = starlark.None
	if bound[1] != nil {
		v = bound[1]
	}
	return v, dictSet(m, d, bound[0], v)
}

func dictUpdate(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	if len(args) > 1 {
		return nil, TypeErrorf("update expected at most 1 argument, got %d", len(args))
	}
	return starlark.None, fillDict(t, recv.(*starlark.Dict), args, kwargs)
}

// fillDict stores what dict(...) and update(...) are given: a mapping or pairs, then
// keywords.
func fillDict(t *thread, d *starlark.Dict, args tuple, kwargs kwargsT) error {
	m := MeterOf(t)
	if len(args) == 1 {
		if from, ok := args[0].(*starlark.Dict); ok {
			if err := mergeInto(m, d, from); err != nil {
				return err
			}
		} else if err := fillPairs(t, d, args[0]); err != nil {
			return err
		}
	}
	for _, kv := range kwargs {
		if err := dictSet(m, d, kv[0], kv[1]); err != nil {
			return err
		}
	}
	return nil
}

func fillPairs(t *thread, d *starlark.Dict, pairs value) error {
	next, err := stepsOf(t, pairs)
	if err != nil {
		return err
	}
	m := MeterOf(t)
	for i := 0; ; i++ {
		item, err := next()
		if err != nil {
			return err
		}
		if item == nil {
			return nil
		}
		if _, err := stepsOf(t, item); err != nil {
			return TypeErrorf("cannot convert dictionary update sequence element #%d to a sequence", i)
		}
		pair, err := drain(t, item)
		if err != nil {
			return err
		}
		if len(pair) != 2 {
			return ValueErrorf("dictionary update sequence element #%d has length %d; 2 is required", i, len(pair))
		}
		if err := dictSet(m, d, pair[0], pair[1]); err != nil {
			return err
		}
	}
}

// dictFromkeys is dict.fromkeys(iterable, value=None).
func dictFromkeys(t *thread, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("dict.fromkeys", []string{"iterable", "value?", "/"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	v := value(starlark.None)
	if bound[1] != nil {
		v = bound[1]
	}
	next, err := stepsOf(t, bound[0])
	if err != nil {
		return nil, err
	}
	m := MeterOf(t)
	if err := m.Reserve(dictBytes); err != nil {
		return nil, err
	}
	d := starlark.NewDict(0)
	for {
		k, err := next()
		if err != nil {
			return nil, err
		}
		if k == nil {
			return d, nil
		}
		if err := dictSet(m, d, k, v); err != nil {
			return nil, err
		}
	}
}
