package py

import (
	"context"
	"math"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Meter bounds one evaluation: steps, bytes, call depth and time. Every native
// charges it before the work (lang.md §7.3). A Meter serves one goroutine.
type Meter struct {
	ctx    context.Context
	limits Limits

	// steps counts VM steps; it points into the attached thread, so that charges
	// and the VM draw on one budget.
	steps *uint64
	max   uint64
	own   uint64

	unchecked int64 // units charged since ctx was last looked at
	walked    int64 // values visited by natives
	bytes     int64
	frames    int64 // bytes of the large frames of the calls at work
	calls     int   // nested calls
	nested    int   // nested text forms of values that render themselves

	exhausted bool
	failure   error
	stops     []func() bool
	text      textIndex      // of the last long text that was indexed
	hashes    map[uint32]int // keys of large tables by hash
}

// Limits bound an evaluation. A zero field takes its default.
type Limits struct {
	Fuel          int64 // units; one unit is one step of the reference
	MaxValueBytes int64 // of one value; 16 MiB, or a sixteenth of MaxTotalBytes if that is less
	MaxTotalBytes int64 // of all values made, freed ones included
	MaxCallDepth  int   // nested calls
}

// DefaultLimits are the limits of a run that sets none.
func DefaultLimits() Limits {
	return Limits{Fuel: 5_000_000, MaxValueBytes: 16 << 20, MaxTotalBytes: 256 << 20, MaxCallDepth: 1000}
}

const (
	// stepsPerUnit is how many VM steps a unit of fuel grants (lang.md §7.3).
	stepsPerUnit = 4
	// checkEvery is the number of units after which the context is looked at.
	checkEvery = 1 << 16
	// tickEvery is the number of visited values after which it is: a value is charged
	// several times, for its walk and for what is made of it.
	tickEvery = 1 << 13
	// maxDepth bounds every recursive walk over a value.
	maxDepth = 10_000
	meterKey = "py.meter"

	infinite = math.MaxInt64
)

// NewMeter makes a meter with a full budget.
func NewMeter(ctx context.Context, l Limits) *Meter {
	d := DefaultLimits()
	if l.Fuel <= 0 {
		l.Fuel = d.Fuel
	}
	if l.MaxTotalBytes <= 0 {
		l.MaxTotalBytes = d.MaxTotalBytes
	}
	if l.MaxValueBytes <= 0 {
		l.MaxValueBytes = min(d.MaxValueBytes, l.MaxTotalBytes/16)
	}
	if l.MaxCallDepth <= 0 {
		l.MaxCallDepth = d.MaxCallDepth
	}
	m := &Meter{ctx: ctx, limits: l, max: uint64(l.Fuel) * stepsPerUnit}
	m.steps = &m.own
	return m
}

// Attach makes t run under m: what is left of the budget is t's, and the end of m's
// context cancels t. A meter has one thread at a time; what ran on a former thread
// stays spent. Close releases the hold on the context.
func (m *Meter) Attach(t *starlark.Thread) {
	t.Steps = *m.steps
	m.steps = &t.Steps
	t.SetMaxExecutionSteps(m.max)
	t.OnMaxSteps = func(t *starlark.Thread) {
		m.exhausted = true
		t.Cancel("too many steps")
	}
	t.SetLocal(meterKey, m)
	m.stops = append(m.stops, context.AfterFunc(m.ctx, func() { t.Cancel("interrupted") }))
}

// Close ends the watch over the context.
func (m *Meter) Close() {
	for _, stop := range m.stops {
		stop()
	}
	m.stops = nil
}

// MeterOf is the meter t runs under. A thread without one is a programming error.
func MeterOf(t *starlark.Thread) *Meter {
	m, ok := t.Local(meterKey).(*Meter)
	if !ok {
		panic("py: the thread has no meter; Meter.Attach comes first")
	}
	return m
}

// Charge takes units of fuel, before the work they pay for.
func (m *Meter) Charge(units int64) error {
	if units <= 0 {
		return nil
	}
	if units > m.Left() {
		if err := m.interrupted(); err != nil {
			return err
		}
		return m.exhaust()
	}
	*m.steps += uint64(units) * stepsPerUnit
	m.unchecked += units
	if m.unchecked >= checkEvery {
		m.unchecked = 0
		return m.interrupted()
	}
	return nil
}

// tick counts a value that a native visits, paid for before, and looks at the context
// from time to time.
func (m *Meter) tick() error {
	if m == nil {
		return nil
	}
	if m.walked++; m.walked%tickEvery == 0 {
		return m.interrupted()
	}
	return nil
}

// Context is what the evaluation ends with.
func (m *Meter) Context() context.Context { return m.ctx }

// Left is the number of units that remain.
func (m *Meter) Left() int64 {
	if *m.steps >= m.max {
		return 0
	}
	return int64((m.max - *m.steps) / stepsPerUnit)
}

// Used is the number of units spent, VM steps included.
func (m *Meter) Used() int64 { return int64(*m.steps / stepsPerUnit) }

// Exhausted reports whether the fuel has run out.
func (m *Meter) Exhausted() bool { return m.exhausted }

// Cause is why the VM was stopped from outside: the error of an iterator, which the
// VM cannot report, the end of the fuel, or the end of the context. It is nil when
// nothing stopped it.
func (m *Meter) Cause() error {
	switch {
	case m.failure != nil:
		return m.failure
	case m.exhausted:
		return m.exhaust()
	default:
		return m.interrupted()
	}
}

// Alloc accounts for a value, or the growth of one, whose content takes so many bytes,
// before it is made.
func (m *Meter) Alloc(bytes int64) error {
	if err := m.Size(bytes); err != nil {
		return err
	}
	return m.Reserve(bytes)
}

// Size refuses a value of so many bytes when it is over the limit of one value.
func (m *Meter) Size(bytes int64) error {
	if bytes > m.limits.MaxValueBytes {
		return fuelErrorf("a value would take more than %d bytes; make a smaller one", m.limits.MaxValueBytes)
	}
	return nil
}

func (m *Meter) exhaust() error {
	m.exhausted = true
	return fuelErrorf("the config needs more than its budget of %d steps; make it do less, or raise the budget with --fuel or [lang] fuel", m.limits.Fuel)
}

func (m *Meter) interrupted() error {
	if m.ctx.Err() == nil {
		return nil
	}
	return model.Errorf(model.AtlantideError, model.ClassTransient, "the evaluation was interrupted: %w", context.Cause(m.ctx))
}

// fail stops the VM with err; an iterator has no other way to report one.
func (m *Meter) fail(t *thread, err error) {
	if m.failure == nil {
		m.failure = err
	}
	t.Cancel("iteration failed")
}

// call enters a call; every enter has its leave.
func (m *Meter) enterCall() error {
	if m.calls >= m.limits.MaxCallDepth {
		return fuelErrorf("calls are nested deeper than %d; end the recursion earlier", m.limits.MaxCallDepth)
	}
	m.calls++
	return nil
}

// leaveCall ends a call that was entered with so many bytes in frames.
func (m *Meter) leaveCall(frames int64) {
	m.calls--
	m.frames = frames
}

func errTooDeep() error {
	return fuelErrorf("a value is nested deeper than %d levels; flatten it", maxDepth)
}

// out is the charge for a large result of length n (lang.md §7.1).
func out(n int64) int64 {
	if n > 1024 {
		return n / 16
	}
	return 0
}

// satMul multiplies two lengths, stopping at infinite.
func satMul(a, b int64) int64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	if a > infinite/b {
		return infinite
	}
	return a * b
}

// satAdd adds two lengths, stopping at infinite.
func satAdd(a, b int64) int64 {
	if a > infinite-b {
		return infinite
	}
	return a + b
}
