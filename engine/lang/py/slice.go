package py

import (
	"go.starlark.net/starlark"
)

// Slice is the lo:hi:step of a subscript.
type Slice struct{ lo, hi, step value }

// NewSlice makes the key of x[lo:hi:step]; an absent part is None or nil.
func NewSlice(lo, hi, step starlark.Value) starlark.Value {
	s := &Slice{lo, hi, step}
	for _, part := range []*value{&s.lo, &s.hi, &s.step} {
		if *part == nil {
			*part = starlark.None
		}
	}
	return s
}

func (s *Slice) String() string        { return "<slice object>" }
func (s *Slice) Type() string          { return "slice" }
func (s *Slice) Freeze()               {}
func (s *Slice) Truth() starlark.Bool  { return true }
func (s *Slice) Hash() (uint32, error) { return 0, TypeErrorf("unhashable type: 'slice'") }

// span is a slice applied to a length: count elements from lo, by steps of step.
type span struct{ lo, hi, step, count int64 }

func (s *Slice) span(n int64) (span, error) {
	step := int64(1)
	if s.step != starlark.None {
		i, err := sliceIndex(s.step)
		if err != nil {
			return span{}, err
		}
		if i == 0 {
			return span{}, ValueErrorf("slice step cannot be zero")
		}
		step = max(i, -infinite)
	}
	lowest, highest := int64(0), n
	if step < 0 {
		lowest, highest = -1, n-1
	}
	bound := func(part value, absent int64) (int64, error) {
		if part == starlark.None {
			return absent, nil
		}
		i, err := sliceIndex(part)
		if err != nil {
			return 0, err
		}
		if i < 0 {
			i = satAdd(i, n)
		}
		return min(max(i, lowest), highest), nil
	}
	first, last := lowest, highest
	if step < 0 {
		first, last = highest, lowest
	}
	lo, err := bound(s.lo, first)
	if err != nil {
		return span{}, err
	}
	hi, err := bound(s.hi, last)
	if err != nil {
		return span{}, err
	}
	sp := span{lo: lo, hi: hi, step: step}
	switch {
	case step > 0 && lo < hi:
		sp.count = (hi-lo-1)/step + 1
	case step < 0 && lo > hi:
		sp.count = (lo-hi-1)/-step + 1
	}
	return sp, nil
}

// sliceIndex is a part of a slice; one beyond an int64 counts as its end.
func sliceIndex(x value) (int64, error) {
	i, ok := asInt(x)
	if !ok {
		return 0, TypeErrorf("slice indices must be integers or None")
	}
	n, ok := i.Int64()
	if ok {
		return max(n, -infinite), nil
	}
	if i.Sign() < 0 {
		return -infinite, nil
	}
	return infinite, nil
}

func sliceText(m *Meter, s string, key *Slice) (value, error) {
	index, err := m.index(s)
	if err != nil {
		return nil, err
	}
	sp, err := key.span(int64(index.n))
	if err != nil {
		return nil, err
	}
	if err := m.Charge(sp.count / 64); err != nil {
		return nil, err
	}
	if sp.step == 1 {
		return starlark.String(index.slice(int(sp.lo), int(sp.hi))), nil
	}
	if err := m.Alloc(min(sp.count*4, int64(len(s)))); err != nil {
		return nil, err
	}
	b := make([]byte, 0, sp.count)
	if index.ascii {
		for i, at := int64(0), sp.lo; i < sp.count; i, at = i+1, at+sp.step {
			b = append(b, s[at])
		}
		return starlark.String(b), nil
	}
	// A pass over the runes is cheaper than seeking each one.
	if err := m.Charge(int64(len(s)) / 64); err != nil {
		return nil, err
	}
	if err := m.Reserve(int64(len(s)) * 4); err != nil {
		return nil, err
	}
	runes := runesOf(s)
	for i, at := int64(0), sp.lo; i < sp.count; i, at = i+1, at+sp.step {
		b = AppendRune(b, runes[at])
	}
	return starlark.String(b), nil
}

func sliceElems(m *Meter, x starlark.Indexable, key *Slice) ([]value, error) {
	sp, err := key.span(int64(x.Len()))
	if err != nil {
		return nil, err
	}
	if err := m.grow(sp.count/16, sp.count*16); err != nil {
		return nil, err
	}
	elems := make([]value, 0, sp.count)
	for i, at := int64(0), sp.lo; i < sp.count; i, at = i+1, at+sp.step {
		elems = append(elems, x.Index(int(at)))
	}
	return elems, nil
}

// setSlice is list[lo:hi:step] = v.
func setSlice(t *thread, list *starlark.List, key *Slice, v value) error {
	if _, err := key.span(int64(list.Len())); err != nil {
		return err
	}
	elems, err := drain(t, v)
	if err != nil {
		if _, ok := err.(*Error); ok && !isContainer(v) { //nolint:errorlint // an error that came out of a call is wrapped, and stays as it is
			return TypeErrorf("can only assign an iterable")
		}
		return err
	}
	n := list.Len()
	sp, err := key.span(int64(n))
	if err != nil {
		return err
	}
	m := MeterOf(t)
	if sp.step != 1 {
		if int64(len(elems)) != sp.count {
			return ValueErrorf("attempt to assign sequence of size %d to extended slice of size %d", len(elems), sp.count)
		}
		if err := m.Charge(sp.count / 16); err != nil {
			return err
		}
		for i, at := 0, sp.lo; i < len(elems); i, at = i+1, at+sp.step {
			if err := list.SetIndex(int(at), elems[i]); err != nil {
				return errListFixed()
			}
		}
		return nil
	}
	hi := max(sp.hi, sp.lo)
	total := int64(n) - (hi - sp.lo) + int64(len(elems))
	if err := m.grow(total/16, total*16); err != nil {
		return err
	}
	all := make([]value, 0, total)
	for i := range int(sp.lo) {
		all = append(all, list.Index(i))
	}
	all = append(all, elems...)
	for i := int(hi); i < n; i++ {
		all = append(all, list.Index(i))
	}
	return replaceElems(list, all)
}

// replaceElems makes elems the content of the list.
func replaceElems(list *starlark.List, elems []value) error {
	if len(elems) != list.Len() {
		if err := list.Clear(); err != nil {
			return errListFixed()
		}
		for _, e := range elems {
			if err := list.Append(e); err != nil {
				return errListFixed()
			}
		}
		return nil
	}
	for i, e := range elems {
		if err := list.SetIndex(i, e); err != nil {
			return errListFixed()
		}
	}
	return nil
}

func errListFixed() error {
	return TypeErrorf("a list that cannot be changed was assigned to")
}
