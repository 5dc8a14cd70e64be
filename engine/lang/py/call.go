package py

import (
	"slices"
	"sort"
	"strings"

	"go.starlark.net/starlark"
)

// Call is fn(*args, **kwargs). A function of the config is checked for its arguments
// and entered; anything else first pays for a walk over its arguments and gets its
// set arguments as sorted lists (lang.md §4.2, §7.1).
func Call(t *starlark.Thread, fn starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	m := MeterOf(t)
	if method, ok := fn.(*BoundFunction); ok {
		fn = method.Func
		args = append(starlark.Tuple{method.Self}, args...)
	}
	if err := m.enterCall(); err != nil {
		return nil, err
	}
	defer m.leaveCall(m.frames)

	switch fn := fn.(type) {
	case *starlark.Function:
		if err := m.Charge(bindCost(fn, kwargs)); err != nil {
			return nil, err
		}
		if err := checkArity(fn, args, kwargs); err != nil {
			return nil, err
		}
		return starlark.Call(t, fn, args, kwargs)
	case *Native:
		return callNative(t, m, fn.mode, nil, args, kwargs, fn.fn)
	case *boundMethod:
		return callMethod(t, m, fn, args, kwargs)
	case *Type:
		if fn == StrType {
			if err := m.chargeArgs(fn.mode, args, kwargs); err != nil {
				return nil, err
			}
			return fn.make(t, args, kwargs)
		}
		return callNative(t, m, fn.mode, nil, args, kwargs, fn.make)
	case starlark.Callable:
		return callNative(t, m, costFull, nil, args, kwargs, func(t *thread, args tuple, kwargs kwargsT) (value, error) {
			return starlark.Call(t, fn, args, kwargs)
		})
	default:
		return nil, TypeErrorf("'%s' object is not callable", TypeName(fn))
	}
}

func callNative(t *thread, m *Meter, mode costMode, recv value, args tuple, kwargs kwargsT, fn nativeFunc) (value, error) {
	if recv != nil && mode == costFull {
		if err := m.Charge(m.deep(recv)); err != nil {
			return nil, err
		}
	}
	if err := m.chargeArgs(mode, args, kwargs); err != nil {
		return nil, err
	}
	args, kwargs, err := sortSets(t, args, kwargs)
	if err != nil {
		return nil, err
	}
	if err := m.Reserve(0); err != nil { // the box of the result
		return nil, err
	}
	return fn(t, args, kwargs)
}

func callMethod(t *thread, m *Meter, b *boundMethod, args tuple, kwargs kwargsT) (value, error) {
	return callNative(t, m, b.mode, b.recv, args, kwargs, func(t *thread, args tuple, kwargs kwargsT) (value, error) {
		return b.fn(t, b.recv, args, kwargs)
	})
}

func (m *Meter) chargeArgs(mode costMode, args tuple, kwargs kwargsT) error {
	if mode == costShared {
		return m.Charge(int64(len(args) + len(kwargs)))
	}
	for _, a := range args {
		if err := m.Charge(m.deep(a)); err != nil {
			return err
		}
	}
	for _, kv := range kwargs {
		if err := m.Charge(m.deep(kv[1])); err != nil {
			return err
		}
	}
	return nil
}

// sortSets turns the arguments that are sets into sorted lists. The caller's slices
// stay as they are.
func sortSets(t *thread, args tuple, kwargs kwargsT) (tuple, kwargsT, error) {
	copied := false
	for i, a := range args {
		s, ok := setOf(a)
		if !ok {
			continue
		}
		elems, err := sortedElements(t, s)
		if err != nil {
			return nil, nil, err
		}
		if !copied {
			args, copied = slices.Clone(args), true
		}
		args[i] = starlark.NewList(elems)
	}
	copied = false
	for i, kv := range kwargs {
		s, ok := setOf(kv[1])
		if !ok {
			continue
		}
		elems, err := sortedElements(t, s)
		if err != nil {
			return nil, nil, err
		}
		if !copied {
			kwargs, copied = slices.Clone(kwargs), true
		}
		kwargs[i] = tuple{kv[0], starlark.NewList(elems)}
	}
	return args, kwargs, nil
}

func functionName(fn *starlark.Function) string {
	if fn.Name() == "lambda" {
		return "<lambda>"
	}
	// A config's name holds no "%"; what follows one tells namesakes apart.
	name, _, _ := strings.Cut(fn.Name(), "%")
	return name
}

// bindCost is what binding takes: every keyword is looked for among the parameters.
// That of an ordinary call is part of the call.
func bindCost(fn *starlark.Function, kwargs kwargsT) int64 {
	const ordinary = 1024
	if work := int64(fn.NumParams()) * int64(len(kwargs)+1); work > ordinary {
		return work / 32
	}
	return 0
}

// checkArity binds the arguments as the VM will, for an error at the call.
func checkArity(fn *starlark.Function, args tuple, kwargs kwargsT) error {
	n := fn.NumParams()
	name := functionName(fn)
	if most := n - fn.NumKwonlyParams(); len(args) > most && !fn.HasVarargs() {
		return LanguageErrorf("%s() takes %d positional argument%s but %d %s given",
			name, most, plural(most), len(args), wasWere(len(args)))
	}
	if len(kwargs) == 0 && len(args) == n {
		return nil
	}
	bound := make([]bool, n)
	for i := range min(len(args), n) {
		bound[i] = true
	}
	var refused []string
	for _, kv := range kwargs {
		if i, ok := paramIndex(fn, kv[0]); !ok || bound[i] {
			refused = append(refused, quote(string(kv[0].(starlark.String)), quoteText))
		} else {
			bound[i] = true
		}
	}
	if len(refused) > 0 {
		sort.Strings(refused)
		err := LanguageErrorf("%s() got unexpected or repeated keyword argument%s %s",
			name, plural(len(refused)), strings.Join(refused, ", "))
		return suggesting(err, strings.Trim(refused[0], "'"), paramNames(fn))
	}
	for i, ok := range bound {
		if !ok && fn.ParamDefault(i) == nil {
			param, _ := fn.Param(i)
			return LanguageErrorf("%s() misses its argument '%s'", name, param)
		}
	}
	return nil
}

func paramNames(fn *starlark.Function) []string {
	names := make([]string, fn.NumParams())
	for i := range names {
		names[i], _ = fn.Param(i)
	}
	return names
}

func paramIndex(fn *starlark.Function, name value) (int, bool) {
	for i := range fn.NumParams() {
		if param, _ := fn.Param(i); name == starlark.String(param) {
			return i, true
		}
	}
	return 0, false
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

func wasWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}
