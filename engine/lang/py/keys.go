package py

import (
	"go.starlark.net/starlark"
)

// In a dict or set True, 1 and 1.0 are one key, the first one stays (lang.md §5.3).
// Starlark's table already treats 1 and 1.0 so, but not a bool. A key, or a tuple
// holding one, that equals 0 or 1 is therefore looked for in its other spellings.

// table is what a dict and a set have in common.
type table interface {
	has(k value) (bool, error)
	scan(yield func(k value) bool)
	size() int
}

type dictTable struct{ d *starlark.Dict }

func (t dictTable) has(k value) (bool, error) { _, ok, err := t.d.Get(k); return ok, err }
func (t dictTable) size() int                 { return t.d.Len() }
func (t dictTable) scan(yield func(value) bool) {
	for k := range t.d.Entries() {
		if !yield(k) {
			return
		}
	}
}

type setTable struct{ s *starlark.Set }

func (t setTable) has(k value) (bool, error)   { return t.s.Has(k) }
func (t setTable) size() int                   { return t.s.Len() }
func (t setTable) scan(yield func(value) bool) { t.s.Elements()(yield) }

// maxSpellings is the number of 0/1 leaves up to which every spelling of a tuple key
// is tried; beyond, the table is searched.
const maxSpellings = 4

// findKey is the key of the table that equals k, or k itself and false.
func findKey(m *Meter, t table, k value) (value, bool, error) {
	if err := checkHashable(k); err != nil {
		return nil, false, err
	}
	if err := m.chargeChain(t.size(), k); err != nil {
		return nil, false, err
	}
	if err := m.tick(); err != nil {
		return nil, false, err
	}
	found, err := t.has(k)
	if err != nil {
		return nil, false, LanguageErrorf("a key is nested too deeply to compare")
	}
	if found || t.size() == 0 {
		return k, found, nil
	}
	switch k := k.(type) {
	case starlark.Bool, starlark.Int, starlark.Float:
		if other := respell(k); other != nil {
			if found, _ := t.has(other); found {
				return other, true, nil
			}
		}
	case starlark.Tuple:
		return findTuple(m, t, k)
	}
	return k, false, nil
}

func findTuple(m *Meter, t table, k tuple) (value, bool, error) {
	leaves := countSpellable(k)
	if leaves == 0 {
		return k, false, nil
	}
	if leaves <= maxSpellings {
		for mask := 1; mask < 1<<leaves; mask++ {
			bits := mask
			other := spellTuple(k, &bits)
			if found, _ := t.has(other); found {
				return other, true, nil
			}
		}
		return k, false, nil
	}
	var hit value
	t.scan(func(other value) bool {
		if o, ok := other.(tuple); ok && len(o) == len(k) {
			if eq, err := (equality{m}).eq(o, k, 0); err == nil && eq {
				hit = o
				return false
			}
		}
		return true
	})
	if hit != nil {
		return hit, true, nil
	}
	return k, false, nil
}

// respell is the bool for a number that equals 0 or 1, the int for a bool, and nil
// for anything else.
func respell(k value) value {
	switch k := k.(type) {
	case starlark.Bool:
		return boolInt(k)
	case starlark.Int:
		if i, ok := k.Int64(); ok && (i == 0 || i == 1) {
			return starlark.Bool(i == 1)
		}
	case starlark.Float:
		if k == 0 || k == 1 {
			return starlark.Bool(k == 1)
		}
	}
	return nil
}

func countSpellable(k tuple) int {
	n := 0
	for _, e := range k {
		if nested, ok := e.(tuple); ok {
			n += countSpellable(nested)
		} else if respell(e) != nil {
			n++
		}
	}
	return n
}

// spellTuple respells the leaves whose bit is set, taking one bit per leaf.
func spellTuple(k tuple, bits *int) tuple {
	spelled := make(tuple, len(k))
	for i, e := range k {
		if nested, ok := e.(tuple); ok {
			spelled[i] = spellTuple(nested, bits)
			continue
		}
		spelled[i] = e
		if other := respell(e); other != nil {
			if *bits&1 == 1 {
				spelled[i] = other
			}
			*bits >>= 1
		}
	}
	return spelled
}

// checkHashable refuses what may not be a key, naming the part that may not.
func checkHashable(k value) error {
	switch k := k.(type) {
	case starlark.String, starlark.Int, starlark.Bool, starlark.Float, starlark.NoneType, *FrozenSet:
		return nil
	case starlark.Tuple:
		for _, e := range k {
			if err := checkHashable(e); err != nil {
				return err
			}
		}
		return nil
	case *starlark.List, *starlark.Dict, *starlark.Set:
		return TypeErrorf("unhashable type: '%s'", TypeName(k))
	default:
		if _, err := k.Hash(); err != nil {
			return TypeErrorf("unhashable type: '%s'", TypeName(k))
		}
		return nil
	}
}

// hashOf is a hash under which True, 1 and 1.0 agree at any depth.
func hashOf(v value) (uint32, error) {
	switch v := v.(type) {
	case starlark.Bool:
		return boolInt(v).Hash()
	case starlark.Tuple:
		h := uint32(0x345678)
		for _, e := range v {
			one, err := hashOf(e)
			if err != nil {
				return 0, err
			}
			h = (h ^ one) * 1000003
		}
		return h, nil
	default:
		return v.Hash()
	}
}

// chargeKey takes the cost of using k as a key of a table of n entries: the walk over
// a tuple or frozenset, the hash of a long text, the search for a tuple that has many
// spellings.
func (m *Meter) chargeKey(n int, k value) error {
	switch k := k.(type) {
	case starlark.String:
		if len(k) > 1024 {
			return m.Charge(int64(len(k)) / 64)
		}
	case starlark.Tuple:
		if err := m.Charge(m.keyCost(k)); err != nil {
			return err // before another walk: shared parts may make it endless
		}
		if countWithin(k, 0) > maxSpellings {
			return m.Charge(int64(n))
		}
		return nil
	case *FrozenSet, Weighted:
		return m.Charge(m.keyCost(k))
	}
	return nil
}

// countWithin is countSpellable with an end to its depth, for keys not yet charged.
func countWithin(k tuple, depth int) int {
	if depth > maxDepth {
		return maxSpellings + 1
	}
	n := 0
	for _, e := range k {
		if nested, ok := e.(tuple); ok {
			n += countWithin(nested, depth+1)
		} else if respell(e) != nil {
			n++
		}
		if n > maxSpellings {
			break
		}
	}
	return n
}

// dictGet looks k up; the charge is the caller's.
func dictGet(m *Meter, d *starlark.Dict, k value) (value, bool, error) {
	k, found, err := findKey(m, dictTable{d}, k)
	if err != nil || !found {
		return nil, false, err
	}
	return d.Get(k)
}

// dictSet stores k; a key that is there keeps its place and its spelling.
func dictSet(m *Meter, d *starlark.Dict, k, v value) error {
	if err := m.chargeKey(d.Len(), k); err != nil {
		return err
	}
	k, found, err := findKey(m, dictTable{d}, k)
	if err != nil {
		return err
	}
	if !found {
		if err := m.addEntry(d.Len(), k); err != nil {
			return err
		}
	}
	if err := d.SetKey(k, v); err != nil {
		return TypeErrorf("a dict that cannot be changed was assigned to")
	}
	return nil
}

func dictDelete(m *Meter, d *starlark.Dict, k value) (value, bool, error) {
	k, found, err := findKey(m, dictTable{d}, k)
	if err != nil || !found {
		return nil, false, err
	}
	v, found, err := d.Delete(k)
	if err != nil {
		return nil, false, TypeErrorf("a dict that cannot be changed was assigned to")
	}
	return v, found, nil
}

func setHas(m *Meter, s *starlark.Set, k value) (bool, error) {
	_, found, err := findKey(m, setTable{s}, k)
	return found, err
}

// setAdd puts k into the set unless it is there. A second NaN would render like the
// first, so that the set could have no order (§5.7); it is refused here.
func setAdd(m *Meter, s *starlark.Set, k value) error {
	if err := m.chargeKey(s.Len(), k); err != nil {
		return err
	}
	k, found, err := findKey(m, setTable{s}, k)
	if err != nil {
		return err
	}
	if found {
		if isNaN(k) {
			return errRenderAlike("nan")
		}
		return nil
	}
	if err := m.addEntry(s.Len(), k); err != nil {
		return err
	}
	if err := s.Insert(k); err != nil {
		return TypeErrorf("a set that cannot be changed was added to")
	}
	return nil
}

func setRemove(m *Meter, s *starlark.Set, k value) (bool, error) {
	k, found, err := findKey(m, setTable{s}, k)
	if err != nil || !found {
		return false, err
	}
	return s.Delete(k)
}

// sameSet reports whether two sets hold equal elements.
func sameSet(m *Meter, x, y *starlark.Set) (bool, error) {
	if x.Len() != y.Len() {
		return false, nil
	}
	return isSubset(m, x, y)
}

func isSubset(m *Meter, x, y *starlark.Set) (bool, error) {
	if x.Len() > y.Len() {
		return false, nil
	}
	for e := range x.Elements() {
		found, err := setHas(m, y, e)
		if err != nil || !found {
			return false, err
		}
	}
	return true, nil
}

func errRenderAlike(text string) error {
	return LanguageErrorf("a set holds distinct elements that render alike (%s), so it has no order; use a list", text)
}
