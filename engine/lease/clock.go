package lease

import "time"

// Clock is the time that a lock is kept by.
type Clock interface {
	// Now is monotonic: it neither jumps nor stands still while the process runs.
	Now() time.Time
	// Wall is what the machine takes for the time. That the two drift apart tells of a
	// machine that slept, or of a clock that was set (LS-12).
	Wall() time.Time
	NewTimer(d time.Duration) Timer
}

// Timer is a time.Timer of a Clock.
type Timer interface {
	C() <-chan time.Time
	Stop() bool
	Reset(d time.Duration) bool
}

// machine is the clock of the machine. Its monotonic part stands still while the machine
// sleeps, where the wall clock does not.
type machine struct{}

func (machine) Now() time.Time { return time.Now() }

func (machine) Wall() time.Time { return time.Now().Round(0) }

func (machine) NewTimer(d time.Duration) Timer { return timer{time.NewTimer(d)} }

type timer struct{ timer *time.Timer }

func (t timer) C() <-chan time.Time { return t.timer.C }

func (t timer) Stop() bool { return t.timer.Stop() }

func (t timer) Reset(d time.Duration) bool { return t.timer.Reset(d) }
