package py

import (
	"go.starlark.net/starlark"
)

// What values take on a 64-bit machine, in bytes, rounded up. A value may be charged
// more than it takes and never much less: the collector lets the heap grow to twice
// what is alive, and that is all a process may take of a config's budget (lang.md §7.3).
const (
	valueBytes = 32  // of any value beside its content: its box, its header
	slotBytes  = 16  // of a reference in a list or tuple
	partBytes  = 64  // of an element or text that a native makes: slot, growth, box
	dictBytes  = 576 // of an empty dict or set, room for freeEntries included
	bigBytes   = 64  // of an int beyond 32 bits, beside its digits
	iterBytes  = 192 // of an iterator
	// entryBytes is what an entry of a dict or set takes: its part of a half full bucket.
	entryBytes = 160
	// wideFrame is how many slots a frame may have that counts only while it is in use.
	wideFrame = 1 << 14
	// freeEntries is how many entries a table holds without growing.
	freeEntries = 8
)

// Made accounts for what the interpreter made itself: the list or tuple of a display,
// a function.
func Made(t *starlark.Thread, v starlark.Value) (starlark.Value, error) {
	m := MeterOf(t)
	switch v := v.(type) {
	case *starlark.List:
		return v, m.Reserve(int64(v.Len())*slotBytes + valueBytes)
	case starlark.Tuple:
		return v, m.Reserve(int64(len(v)) * slotBytes)
	case *starlark.Function:
		return v, m.Reserve(int64(v.NumParams())*slotBytes + int64(v.NumFreeVars())*3*slotBytes + 3*valueBytes)
	}
	return v, nil
}

// Fresh accounts for a container that was made for the config to have, by its own size.
func Fresh(t *starlark.Thread, v starlark.Value) (starlark.Value, error) {
	if !isContainer(v) {
		return v, nil
	}
	n := int64(sizeOf(v))
	if tup, ok := v.(starlark.Tuple); ok {
		n = int64(len(tup))
	}
	return v, MeterOf(t).grow(n/16, n*partBytes)
}

// Frame accounts for the frame of a call of the function it stands in, of so many slots,
// until that call ends. A frame that is not held is one within another that is.
func Frame(t *starlark.Thread, slots int64, held bool) error {
	m := MeterOf(t)
	if err := m.Charge(slots / 64); err != nil {
		return err
	}
	if slots > wideFrame {
		// Made and dropped in a loop, such frames come faster than a busy collector frees.
		if err := m.Reserve(slots * slotBytes); err != nil {
			return err
		}
	}
	if !held {
		return nil
	}
	m.frames += slots * slotBytes
	return m.Reserve(0)
}

// Limit is how many bytes all values may take.
func (m *Meter) Limit() int64 { return m.limits.MaxTotalBytes }

// Room is how many bytes are left for values.
func (m *Meter) Room() int64 { return max(0, m.limits.MaxTotalBytes-m.bytes-m.frames) }

// Reserve accounts for so many bytes that are no single value.
func (m *Meter) Reserve(bytes int64) error {
	bytes = satAdd(bytes, valueBytes)
	if bytes > m.Room() {
		return fuelErrorf("the config makes more than %d bytes of values; make fewer or smaller ones", m.limits.MaxTotalBytes)
	}
	m.bytes += bytes
	return nil
}

// chargeRange takes the cost of a range, whose parts may be large.
func (m *Meter) chargeRange(start, stop, step starlark.Int) error {
	if err := m.chargeBits(start, stop, step); err != nil {
		return err
	}
	return m.Reserve(2*bigBytes + (bitLen(start)+bitLen(stop)+bitLen(step))/8)
}

// entries is what n entries take in a table of their own.
func entries(n int) int64 { return dictBytes + int64(max(n-freeEntries, 0))*entryBytes }

// number accounts for the result of an operator.
func (m *Meter) number(v value) error {
	switch v := v.(type) {
	case starlark.Float:
		return m.Alloc(0)
	case starlark.Int:
		if small, ok := v.Int64(); !ok {
			return m.Alloc(bigBytes + bitLen(v)/8)
		} else if small != int64(int32(small)) {
			return m.Alloc(bigBytes)
		}
	}
	return nil
}
