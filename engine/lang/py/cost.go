package py

import (
	"unicode/utf8"

	"go.starlark.net/starlark"
)

// deep is the number of nodes a full walk over v visits (lang.md §7.1). It stops
// once past what the meter has left, and answers infinite for a value that is cyclic
// or nested too deeply to walk.
func (m *Meter) deep(v value) int64 { return m.deepWithin(v, m.Left()) }

// deepWithin is deep with its own limit; an answer above the limit is a lower bound.
func (m *Meter) deepWithin(v value, limit int64) int64 {
	switch v := v.(type) {
	case starlark.String:
		return 1 + int64(utf8.RuneCountInString(string(v)))
	case Bytes:
		return 1 + int64(len(v))
	case starlark.Int, starlark.Bool, starlark.NoneType, starlark.Float:
		return 1 // as child has it, without a coster
	}
	c := coster{m: m, limit: limit}
	c.child(v, 0)
	return c.n
}

// chargeDeep takes the cost of a walk over v if v is a container.
func (m *Meter) chargeDeep(v value) error {
	if !isContainer(v) {
		return nil
	}
	return m.chargeWalk(v)
}

// chargeWalk takes the cost of a walk over v, whatever it is.
func (m *Meter) chargeWalk(v value) error {
	return m.Charge(m.deep(v))
}

func isContainer(v value) bool {
	switch v.(type) {
	case *starlark.List, starlark.Tuple, *starlark.Dict, *starlark.Set, *FrozenSet, *View:
		return true
	default:
		return false
	}
}

// keyCost is the cost of hashing v and comparing it as a key: of the walk, and of what a
// Weighted part of it weighs.
func (m *Meter) keyCost(v value) int64 {
	switch v := v.(type) {
	case starlark.String, Bytes, starlark.Int, starlark.Bool, starlark.NoneType, starlark.Float:
		return m.deepWithin(v, infinite)
	case Weighted:
		return satAdd(1, v.PyWeight())
	}
	c := coster{m: m, limit: m.Left(), weigh: true}
	c.child(v, 0)
	return c.n
}

// chargeBits takes the cost of arithmetic on ints; that on small ones is free.
func (m *Meter) chargeBits(ints ...starlark.Int) error {
	total := int64(0)
	for _, i := range ints {
		total += bitLen(i) / 64
	}
	if total < int64(len(ints))*4 {
		return nil
	}
	return m.Charge(total)
}

type coster struct {
	m        *Meter
	n, limit int64
	weigh    bool // count what a Weighted weighs
}

func (c *coster) add(n int64) bool {
	c.n = satAdd(c.n, n)
	return c.n <= c.limit
}

// child counts v below the top; it answers false when there is no use in going on.
func (c *coster) child(v value, depth int) bool {
	if depth > maxDepth || c.m.tick() != nil { // Charge will say which
		c.n = infinite
		return false
	}
	switch v := v.(type) {
	case starlark.String:
		return c.add(1 + int64(len(v))/64)
	case Bytes:
		return c.add(1 + int64(len(v))/64)
	case *Range:
		return c.add(satAdd(1, v.n))
	case *starlark.List:
		if !c.add(1 + int64(v.Len())) {
			return false
		}
		for i := range v.Len() {
			if !c.child(v.Index(i), depth+1) {
				return false
			}
		}
		return true
	case starlark.Tuple:
		if !c.add(1 + int64(len(v))) {
			return false
		}
		for _, e := range v {
			if !c.child(e, depth+1) {
				return false
			}
		}
		return true
	case *starlark.Dict:
		return c.dict(v, depth, viewItems)
	case *View:
		return c.dict(v.d, depth, v.kind)
	case *starlark.Set:
		return c.set(v, depth)
	case *FrozenSet:
		return c.add(v.chains) && c.set(v.set, depth)
	default:
		if w, ok := v.(Weighted); ok && c.weigh {
			return c.add(satAdd(1, w.PyWeight()))
		}
		return c.add(1)
	}
}

func (c *coster) dict(d *starlark.Dict, depth int, kind viewKind) bool {
	if !c.add(1 + int64(d.Len())) {
		return false
	}
	for k, v := range d.Entries() {
		if kind != viewValues && !c.child(k, depth+1) {
			return false
		}
		if kind != viewKeys && !c.child(v, depth+1) {
			return false
		}
	}
	return true
}

func (c *coster) set(s *starlark.Set, depth int) bool {
	if !c.add(1 + int64(s.Len())) {
		return false
	}
	for e := range s.Elements() {
		if !c.child(e, depth+1) {
			return false
		}
	}
	return true
}

// smallerDeep is the smaller deep of two containers. It does not walk the larger one
// much further than the smaller.
func (m *Meter) smallerDeep(x, y value) int64 {
	left := m.Left()
	for limit := int64(256); ; limit *= 4 {
		limit = min(limit, left)
		a, b := m.deepWithin(x, limit), m.deepWithin(y, limit)
		if n := min(a, b); n <= limit || n == infinite || limit == left {
			return n
		}
	}
}
