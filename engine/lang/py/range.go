package py

import (
	"go.starlark.net/starlark"
)

// Range is a range(...) value.
type Range struct {
	start, stop, step starlark.Int
	n                 int64 // length; infinite beyond an int64
	small             bool  // every element fits an int64
	first, by         int64 // of a small one
}

func newRange(start, stop, step starlark.Int) *Range {
	r := &Range{start: start, stop: stop, step: step}
	span := stop.Sub(start)
	if step.Sign() < 0 {
		span = start.Sub(stop)
		step = intZero.Sub(step)
	}
	if span.Sign() > 0 {
		count := span.Add(step).Sub(intOne).Div(step)
		n, ok := count.Int64()
		if !ok {
			n = infinite
		}
		r.n = n
	}
	const bound = 1 << 62
	first, ok1 := start.Int64()
	last, ok2 := stop.Int64()
	by, ok3 := r.step.Int64()
	if ok1 && ok2 && ok3 && max(first, last, by) < bound && min(first, last, by) > -bound {
		r.small, r.first, r.by = true, first, by
	}
	return r
}

func (r *Range) String() string {
	text := "range(" + r.start.String() + ", " + r.stop.String()
	if i, ok := r.step.Int64(); !ok || i != 1 {
		text += ", " + r.step.String()
	}
	return text + ")"
}
func (r *Range) Type() string         { return "range" }
func (r *Range) Freeze()              {}
func (r *Range) Truth() starlark.Bool { return r.n > 0 }

// Hash agrees with equality by sequence.
func (r *Range) Hash() (uint32, error) {
	parts := tuple{starlark.MakeInt64(r.n), starlark.None, starlark.None}
	if r.n > 0 {
		parts[1] = r.start
	}
	if r.n > 1 {
		parts[2] = r.step
	}
	return parts.Hash()
}

// PyEqual implements Comparer.
func (r *Range) PyEqual(other starlark.Value) (bool, bool) {
	o, ok := other.(*Range)
	return ok && r.same(o), true
}

// Iterate lets Go code walk the range.
func (r *Range) Iterate() starlark.Iterator { return &rangeIterator{r: r} }

type rangeIterator struct {
	r *Range
	i int64
}

func (it *rangeIterator) Next(p *value) bool {
	if it.i >= it.r.n {
		return false
	}
	*p = it.r.at(it.i)
	it.i++
	return true
}

func (*rangeIterator) Done() {}

func (r *Range) at(i int64) value {
	if r.small {
		return starlark.MakeInt64(r.first + i*r.by)
	}
	return r.start.Add(r.step.Mul(starlark.MakeInt64(i)))
}

func (r *Range) same(o *Range) bool {
	if r.n != o.n {
		return false
	}
	return r.n == 0 || isSame(r.start, o.start) && (r.n == 1 || isSame(r.step, o.step))
}

// chargeFind takes the cost of looking for x.
func (r *Range) chargeFind(m *Meter, x value) error {
	i, _ := asInt(x)
	return m.chargeBits(i, r.start, r.step)
}

// find is the place of x in the range.
func (r *Range) find(x value) (value, bool) {
	i, ok := asInt(x)
	if f, isFloat := x.(starlark.Float); isFloat {
		whole, err := floatInt(float64(f))
		if err != nil {
			return nil, false
		}
		if c, ordered := compareNumbers(whole, f); !ordered || c != 0 {
			return nil, false
		}
		i, ok = whole, true
	}
	if !ok || r.n == 0 {
		return nil, false
	}
	offset := i.Sub(r.start)
	if offset.Mod(r.step).Sign() != 0 {
		return nil, false
	}
	place := offset.Div(r.step)
	if place.Sign() < 0 {
		return nil, false
	}
	if n, ok := place.Int64(); r.n != infinite && (!ok || n >= r.n) {
		return nil, false
	}
	return place, true
}

var rangeMethods = methodTable(nil, map[string]methodFunc{"count": rangeCount, "index": rangeIndex})

func rangeCount(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("range.count", []string{"value", "/"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	if err := recv.(*Range).chargeFind(MeterOf(t), bound[0]); err != nil {
		return nil, err
	}
	if _, found := recv.(*Range).find(bound[0]); found {
		return intOne, nil
	}
	return intZero, nil
}

func rangeIndex(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("range.index", []string{"value", "/"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	if err := recv.(*Range).chargeFind(MeterOf(t), bound[0]); err != nil {
		return nil, err
	}
	place, found := recv.(*Range).find(bound[0])
	if !found {
		return nil, ValueErrorf("%s is not in range", Show(t, bound[0]))
	}
	return place, nil
}

// slice is the range of every by-th element from lo until hi.
func (r *Range) slice(lo, hi int64, by starlark.Int) *Range {
	at := func(i int64) starlark.Int { return r.start.Add(r.step.Mul(starlark.MakeInt64(i))) }
	return newRange(at(lo), at(hi), r.step.Mul(by))
}
