package py

import (
	"math"

	"go.starlark.net/starlark"
)

// Starlark's hash tables chain what collides, and the hashes of numbers, tuples and
// short texts can be foreseen. A config could so make one step walk a chain of any
// length. The meter therefore counts the keys of large tables by their hash and charges
// the chain that a key may meet (lang.md §7.3: charge before doing).

const (
	// chainFree is the size of a table up to which a chain costs nothing.
	chainFree = 64
	// shortText is the length below which the hash of a text has no seed.
	shortText = 12
)

// chargeChain takes the cost of the chain k may meet in a table of n entries. Without
// a meter there is none to take it from.
func (m *Meter) chargeChain(n int, k value) error {
	if m == nil || n <= chainFree || !foreseeable(k) {
		return nil
	}
	h, err := k.Hash()
	if err != nil {
		return nil //nolint:nilerr // findKey says what is wrong
	}
	// A key of the same hash is compared; one that only shares the bucket is passed.
	passed := int64(n) / 64
	if _, ok := k.(starlark.String); ok {
		passed = int64(n) / 1024
	}
	return m.Charge(passed + int64(min(m.hashes[h], n))/2)
}

// addEntry accounts for a new entry k of a table that has n.
func (m *Meter) addEntry(n int, k value) error {
	if n > chainFree && foreseeable(k) {
		if h, err := k.Hash(); err == nil {
			if m.hashes == nil {
				m.hashes = map[uint32]int{}
			}
			m.hashes[h]++
		}
	}
	if n < freeEntries {
		return nil
	}
	return m.Reserve(entryBytes)
}

// foreseeable reports whether keys like k can be chosen to collide, as functions do that
// share a name. Small ints cannot: there are too few of them.
func foreseeable(k value) bool {
	switch k := k.(type) {
	case starlark.String:
		return len(k) < shortText
	case starlark.Int:
		i, ok := k.Int64()
		return !ok || i >= 1<<20 || i <= -1<<20
	case starlark.Float:
		return float64(k) != math.Trunc(float64(k)) || math.Abs(float64(k)) >= 1<<20
	case starlark.NoneType, starlark.Bool:
		return false
	default:
		return true
	}
}

// chains is the work of comparing a set with another of the same elements, beyond one
// step for each: what its colliding elements walk.
func chains(s *starlark.Set) int64 {
	if s.Len() <= chainFree {
		return 0
	}
	counts := make(map[uint32]int64, s.Len())
	work := int64(0)
	for e := range s.Elements() {
		if h, err := e.Hash(); err == nil {
			work += counts[h] / 2
			counts[h]++
		}
	}
	return work
}
