package py

import (
	"sort"

	"go.starlark.net/starlark"
)

var listMethods = methodTable(
	map[string]costMode{"append": costShared, "pop": costShared, "extend": costArgs},
	map[string]methodFunc{
		"append":  listAppend,
		"clear":   listClear,
		"copy":    listCopy,
		"count":   sequenceCount,
		"extend":  listExtend,
		"index":   sequenceIndex,
		"insert":  listInsert,
		"pop":     listPop,
		"remove":  listRemove,
		"reverse": listReverse,
		"sort":    listSort,
	})

var tupleMethods = methodTable(nil, map[string]methodFunc{
	"count": sequenceCount,
	"index": sequenceIndex,
})

func listAppend(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	if len(args) != 1 || len(kwargs) > 0 {
		return nil, TypeErrorf("list.append() takes exactly one argument (%d given)", len(args)+len(kwargs))
	}
	if err := MeterOf(t).Alloc(slotBytes); err != nil {
		return nil, err
	}
	if err := recv.(*starlark.List).Append(args[0]); err != nil {
		return nil, errListFixed()
	}
	return starlark.None, nil
}

func listClear(_ *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	if err := noArgs("list.clear", args, kwargs); err != nil {
		return nil, err
	}
	if err := recv.(*starlark.List).Clear(); err != nil {
		return nil, errListFixed()
	}
	return starlark.None, nil
}

func listCopy(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	if err := noArgs("list.copy", args, kwargs); err != nil {
		return nil, err
	}
	elems, err := drain(t, recv)
	return starlark.NewList(elems), err
}

func sequenceCount(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("count", []string{"value", "/"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	m := MeterOf(t)
	n := 0
	seq := recv.(starlark.Indexable)
	for i := range seq.Len() {
		_, found, err := indexOf(m, seq, bound[0], i, i+1)
		if err != nil {
			return nil, err
		}
		if found {
			n++
		}
	}
	return starlark.MakeInt(n), nil
}

func listExtend(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("list.extend", []string{"iterable", "/"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	elems, err := drain(t, bound[0])
	if err != nil {
		return nil, err
	}
	list := recv.(*starlark.List)
	if err := MeterOf(t).Size(int64(list.Len()+len(elems)) * slotBytes); err != nil {
		return nil, err
	}
	if err := MeterOf(t).Reserve(int64(len(elems)) * slotBytes); err != nil {
		return nil, err
	}
	for _, e := range elems {
		if err := list.Append(e); err != nil {
			return nil, errListFixed()
		}
	}
	return starlark.None, nil
}

func sequenceIndex(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("index", []string{"value", "start?", "stop?", "/"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	for _, limit := range bound[1:] {
		if limit == starlark.None {
			return nil, TypeErrorf("slice indices must be integers")
		}
	}
	seq := recv.(starlark.Indexable)
	lo, hi, err := window(bound[1], bound[2], int64(seq.Len()))
	if err != nil {
		return nil, err
	}
	i, found, err := indexOf(MeterOf(t), seq, bound[0], int(min(lo, int64(seq.Len()))), int(hi))
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, ValueErrorf("%s is not in %s", Show(t, bound[0]), TypeName(recv))
	}
	return starlark.MakeInt(i), nil
}

// window is the start and end of a search, as a slice reads them; lo may pass n.
func window(start, end value, n int64) (lo, hi int64, err error) {
	read := func(v value, absent int64) (int64, error) {
		if v == nil || v == starlark.None {
			return absent, nil
		}
		i, err := sliceIndex(v)
		if err != nil {
			return 0, err
		}
		if i < 0 {
			i = max(satAdd(i, n), 0)
		}
		return i, nil
	}
	if lo, err = read(start, 0); err != nil {
		return 0, 0, err
	}
	hi, err = read(end, n)
	return lo, min(hi, n), err
}

func listInsert(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("list.insert", []string{"index", "object", "/"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	list := recv.(*starlark.List)
	at, err := sizeArg(bound[0], 0)
	if err != nil {
		return nil, err
	}
	n := int64(list.Len())
	if at < 0 {
		at = max(satAdd(at, n), 0)
	}
	return callOwn(t, list, "insert", tuple{starlark.MakeInt64(min(at, n)), bound[1]})
}

// callOwn calls a method of starlark's own list, which reaches the elements.
func callOwn(t *thread, list *starlark.List, name string, args tuple) (value, error) {
	own, err := list.Attr(name)
	if err != nil {
		return nil, err
	}
	v, err := own.(*starlark.Builtin).CallInternal(t, args, nil)
	if err != nil {
		return nil, errListFixed()
	}
	return v, nil
}

// moveShift is how many elements a step of fuel moves in a pop from the front.
const moveShift = 8

func listPop(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("list.pop", []string{"index?", "/"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	list := recv.(*starlark.List)
	n := int64(list.Len())
	at, err := sizeArg(bound[0], -1)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, IndexErrorf("pop from empty list")
	}
	if at < 0 {
		at = satAdd(at, n)
	}
	if at < 0 || at >= n {
		return nil, IndexErrorf("pop index out of range")
	}
	if err := MeterOf(t).Charge((n - at) >> moveShift); err != nil {
		return nil, err
	}
	return callOwn(t, list, "pop", tuple{starlark.MakeInt64(at)})
}

func listRemove(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("list.remove", []string{"value", "/"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	list := recv.(*starlark.List)
	i, found, err := indexOf(MeterOf(t), list, bound[0], 0, list.Len())
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, ValueErrorf("list.remove(x): x not in list")
	}
	if _, err := callOwn(t, list, "pop", tuple{starlark.MakeInt(i)}); err != nil {
		return nil, err
	}
	return starlark.None, nil
}

func listReverse(_ *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	if err := noArgs("list.reverse", args, kwargs); err != nil {
		return nil, err
	}
	list := recv.(*starlark.List)
	for i, j := 0, list.Len()-1; i < j; i, j = i+1, j-1 {
		a, b := list.Index(i), list.Index(j)
		if list.SetIndex(i, b) != nil || list.SetIndex(j, a) != nil {
			return nil, errListFixed()
		}
	}
	return starlark.None, nil
}

func listSort(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("list.sort", []string{"*", "key?", "reverse?"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	list := recv.(*starlark.List)
	elems, err := drain(t, list)
	if err != nil {
		return nil, err
	}
	n := list.Len()
	if err := sortElems(t, elems, bound[0], bound[1]); err != nil {
		return nil, err
	}
	if list.Len() != n {
		return nil, ValueErrorf("list modified during sort")
	}
	return starlark.None, replaceElems(list, elems)
}

// sortElems sorts in place: stable, also in reverse, keys computed once.
func sortElems(t *thread, elems []value, key, reverse value) error {
	keys := elems
	if key != nil && key != starlark.None {
		if err := MeterOf(t).Alloc(int64(len(elems)) * 16); err != nil {
			return err
		}
		keys = make([]value, len(elems))
		for i, e := range elems {
			k, err := Call(t, key, tuple{e}, nil)
			if err != nil {
				return err
			}
			keys[i] = k
		}
	}
	s := &sorter{m: MeterOf(t), elems: elems, keys: keys, shared: key == nil || key == starlark.None}
	if reverse != nil && bool(reverse.Truth()) {
		s.flip()
		s.reverse = true
	}
	sort.Stable(s)
	if s.reverse {
		s.flip()
	}
	return s.err
}

// sorter sorts elems by keys. In reverse it sorts the flipped list ascending and is
// flipped again, which keeps equal elements in their order.
type sorter struct {
	m       *Meter
	elems   []value
	keys    []value
	shared  bool // keys are elems
	reverse bool
	n       int64
	err     error
}

func (s *sorter) Len() int { return len(s.elems) }
func (s *sorter) Swap(i, j int) {
	s.elems[i], s.elems[j] = s.elems[j], s.elems[i]
	if !s.shared {
		s.keys[i], s.keys[j] = s.keys[j], s.keys[i]
	}
}

func (s *sorter) Less(i, j int) bool {
	if s.err != nil {
		return false
	}
	if s.n++; s.n%drainBatch == 0 {
		if s.err = s.m.interrupted(); s.err != nil {
			return false
		}
	}
	less, err := equality{s.m}.order("<", s.keys[i], s.keys[j], 0)
	s.err = err
	return less
}

func (s *sorter) flip() {
	for i, j := 0, len(s.elems)-1; i < j; i, j = i+1, j-1 {
		s.Swap(i, j)
	}
}
