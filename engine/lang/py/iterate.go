package py

import (
	"go.starlark.net/starlark"
)

// Iterate is what a "for" walks: a list live, a str by code point, a dict by key with
// a check of its size, a set in order, a one-shot iterator onwards (lang.md §5.8). The
// result locks nothing. An error on the way stops the VM; Meter.Cause has it.
func Iterate(t *starlark.Thread, x starlark.Value) (starlark.Iterable, error) {
	next, err := stepsOf(t, x)
	if err != nil {
		return nil, err
	}
	return &Iterator{kind: "iterator", t: t, next: next}, MeterOf(t).Reserve(0)
}

// Collect is Iterate for a comprehension, which keeps something of every round.
func Collect(t *starlark.Thread, x starlark.Value) (starlark.Iterable, error) {
	next, err := stepsOf(t, x)
	if err != nil {
		return nil, err
	}
	m := MeterOf(t)
	return &Iterator{kind: "iterator", t: t, next: func() (value, error) {
		v, err := next()
		if v == nil || err != nil {
			return nil, err
		}
		return v, m.Reserve(slotBytes)
	}}, m.Reserve(iterBytes)
}

// stepFunc gives the next element, or nil at the end.
type stepFunc func() (value, error)

// Iterator is a one-shot iterator: what map, filter, zip, enumerate and reversed
// give, and the walk of a loop.
type Iterator struct {
	kind  string
	t     *thread
	next  stepFunc
	depth int // of the iterators under it
	done  bool
}

// step gives the next element, or nil at the end and ever after.
func (it *Iterator) step() (value, error) {
	if it.done {
		return nil, nil
	}
	v, err := it.next()
	it.done = v == nil
	return v, err
}

func (it *Iterator) String() string       { return "<" + it.kind + " object>" }
func (it *Iterator) Type() string         { return it.kind }
func (it *Iterator) Freeze()              {}
func (it *Iterator) Truth() starlark.Bool { return true }

// Hash is by kind; equality is identity.
func (it *Iterator) Hash() (uint32, error) { return hashText(it.kind), nil }

// Iterate goes on where the iterator stands.
func (it *Iterator) Iterate() starlark.Iterator { return it }

// Next implements starlark.Iterator.
func (it *Iterator) Next(p *starlark.Value) bool {
	v, err := it.step()
	if err != nil {
		MeterOf(it.t).fail(it.t, err)
		return false
	}
	if v == nil {
		return false
	}
	*p = v
	return true
}

// Done implements starlark.Iterator.
func (*Iterator) Done() {}

// stepsOf starts a walk over x.
func stepsOf(t *thread, x value) (stepFunc, error) {
	switch x := x.(type) {
	case *starlark.List:
		return indexSteps(x), nil
	case starlark.Tuple:
		return indexSteps(x), nil
	case starlark.String:
		return textSteps(string(x)), nil
	case *starlark.Dict:
		return (&View{x, viewKeys}).steps(t)
	case *View:
		return x.steps(t)
	case *starlark.Set:
		elems, err := sortedElements(t, x)
		return indexSteps(tuple(elems)), err
	case *FrozenSet:
		elems, err := sortedElements(t, x.set)
		return indexSteps(tuple(elems)), err
	case *Range:
		i := int64(0)
		return func() (value, error) {
			if i >= x.n {
				return nil, nil
			}
			i++
			return x.at(i - 1), nil
		}, nil
	case *Iterator:
		return x.step, nil
	default:
		return nil, notIterable(x)
	}
}

// indexSteps walks by index, so that what is appended meanwhile is reached too.
func indexSteps(x starlark.Indexable) stepFunc {
	i := 0
	return func() (value, error) {
		if i >= x.Len() {
			return nil, nil
		}
		i++
		return x.Index(i - 1), nil
	}
}

func textSteps(s string) stepFunc {
	return func() (value, error) {
		if s == "" {
			return nil, nil
		}
		_, size := decode(s)
		c := s[:size]
		s = s[size:]
		return starlark.String(c), nil
	}
}

// steps walks the entries there are now, and fails once their number has changed.
func (v *View) steps(t *thread) (stepFunc, error) {
	n := v.d.Len()
	m := MeterOf(t)
	if err := m.Charge(out(int64(n)) / 4); err != nil {
		return nil, err
	}
	if err := m.Reserve(int64(n) * slotBytes); err != nil {
		return nil, err
	}
	keys := v.d.Keys()
	i := 0
	return func() (value, error) {
		if v.d.Len() != n {
			return nil, RuntimeErrorf("dictionary changed size during iteration")
		}
		for i < len(keys) {
			k := keys[i]
			i++
			if v.kind == viewKeys {
				return k, nil
			}
			if err := m.chargeChain(n, k); err != nil {
				return nil, err
			}
			e, found, err := v.d.Get(k)
			if err != nil {
				return nil, err
			}
			if !found {
				continue
			}
			if v.kind == viewItems {
				return v.pick(k, e), m.Reserve(2 * slotBytes)
			}
			return e, nil
		}
		return nil, nil
	}, nil
}

// lengthOf is the number of elements of what has one.
func lengthOf(m *Meter, x value) (n int64, ok bool, err error) {
	switch x := x.(type) {
	case starlark.String:
		index, err := m.index(string(x))
		return int64(index.n), true, err
	case *Range:
		return x.n, true, nil
	case *starlark.List, starlark.Tuple, *starlark.Dict, *starlark.Set, *FrozenSet, *View:
		return int64(sizeOf(x)), true, nil
	case Bytes:
		return int64(len(x)), true, nil
	default:
		return 0, false, nil
	}
}

// drainBatch is how many elements are drained between two charges.
const drainBatch = 1024

// drain is the elements of an iterable, in a new slice. What the elements cost is the
// caller's; an iterator without a length pays for the memory as it goes.
func drain(t *thread, x value) ([]value, error) {
	m := MeterOf(t)
	var elems []value
	switch x := x.(type) {
	case *starlark.List, starlark.Tuple:
		indexed := x.(starlark.Indexable)
		if err := m.Alloc(int64(indexed.Len()) * 16); err != nil {
			return nil, err
		}
		return appendIndexed(make([]value, 0, indexed.Len()), indexed), nil
	case *starlark.Set:
		return sortedElements(t, x)
	case *FrozenSet:
		return sortedElements(t, x.set)
	case *Range:
		if err := m.Alloc(satMul(x.n, 16)); err != nil {
			return nil, err
		}
		elems = make([]value, 0, x.n)
	}
	next, err := stepsOf(t, x)
	if err != nil {
		return nil, err
	}
	_, unsized := x.(*Iterator)
	for {
		if len(elems)%drainBatch == 0 {
			if err := m.drained(int64(len(elems)), unsized); err != nil {
				return nil, err
			}
		}
		v, err := next()
		if err != nil {
			return nil, err
		}
		if v == nil {
			return elems, m.Reserve(int64(len(elems)%drainBatch) * partBytes)
		}
		elems = append(elems, v)
	}
}

// drained accounts for the batch of elements that comes after the first n; those of an
// iterator have not been paid for.
func (m *Meter) drained(n int64, unsized bool) error {
	if err := m.Size((n + drainBatch) * 16); err != nil {
		return err
	}
	if err := m.interrupted(); err != nil {
		return err
	}
	if n == 0 {
		return nil
	}
	if unsized {
		if err := m.Charge(drainBatch / 16); err != nil {
			return err
		}
	}
	return m.Reserve(drainBatch * partBytes)
}

// Unpack is the elements of x for n targets; the target at star, if star is not
// negative, takes the surplus as a list (lang.md §4.3).
func Unpack(t *starlark.Thread, x starlark.Value, n, star int) (starlark.Tuple, error) {
	if star >= 0 {
		return unpackStarred(t, x, n, star)
	}
	next, err := stepsOf(t, x)
	if err != nil {
		return nil, unpackType(x, err)
	}
	elems := make(tuple, 0, n)
	for {
		v, err := next()
		if err != nil {
			return nil, err
		}
		switch {
		case v == nil && len(elems) < n:
			return nil, LanguageErrorf("not enough values to unpack (expected %d, got %d)", n, len(elems))
		case v == nil:
			return elems, nil
		case len(elems) == n:
			return nil, LanguageErrorf("too many values to unpack (expected %d)", n)
		}
		elems = append(elems, v)
	}
}

func unpackType(x value, err error) error {
	if _, ok := err.(*Error); ok && !isContainer(x) { //nolint:errorlint // an error that came out of a call is wrapped, and stays as it is
		return TypeErrorf("cannot unpack non-iterable %s object", TypeName(x))
	}
	return err
}

func unpackStarred(t *thread, x value, n, star int) (tuple, error) {
	m := MeterOf(t)
	length, sized, err := lengthOf(m, x)
	if err != nil {
		return nil, err
	}
	if err := m.Charge(length); err != nil {
		return nil, err
	}
	all, err := drain(t, x)
	if err != nil {
		return nil, unpackType(x, err)
	}
	if !sized {
		if err := m.Charge(int64(len(all))); err != nil {
			return nil, err
		}
	}
	if len(all) < n-1 {
		return nil, LanguageErrorf("not enough values to unpack (expected at least %d, got %d)", n-1, len(all))
	}
	after := len(all) - (n - 1 - star)
	if err := m.Reserve(int64(after-star) * slotBytes); err != nil {
		return nil, err
	}
	elems := make(tuple, 0, n)
	elems = append(elems, all[:star]...)
	elems = append(elems, starlark.NewList(append([]value(nil), all[star:after]...)))
	return append(elems, all[after:]...), nil
}

// Chain is the arguments of a call with starred ones: every iterable expanded, its
// length charged before (lang.md §7.1).
func Chain(t *starlark.Thread, iterables ...starlark.Value) (starlark.Tuple, error) {
	m := MeterOf(t)
	var args tuple
	for _, x := range iterables {
		if part, ok := x.(starlark.Tuple); ok && len(iterables) == 1 {
			return part, m.Charge(int64(len(part)))
		}
		length, sized, err := lengthOf(m, x)
		if err != nil {
			return nil, err
		}
		if err := m.Charge(length); err != nil {
			return nil, err
		}
		elems, err := drain(t, x)
		if err != nil {
			return nil, err
		}
		if !sized {
			if err := m.Charge(int64(len(elems))); err != nil {
				return nil, err
			}
		}
		args = append(args, elems...)
	}
	return args, nil
}

// notIterable asks whether a function was meant to be called.
func notIterable(x value) error {
	err := &Error{Name: "TypeError", Message: "'" + TypeName(x) + "' object is not iterable"}
	if f, ok := x.(starlark.Callable); ok && TypeName(x) == "function" && f.Name() != "lambda" {
		err.Hint = "call it: " + f.Name() + "()"
	}
	return err
}
