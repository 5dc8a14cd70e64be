// Package lease owns the lock's contract: how a run takes the right to write a
// partition, how it learns that it lost it, and the guard that stands before every
// provider call.
//
// It must never know what the lock is made of: the operator's is a Kubernetes Lease
// with an epoch from Postgres (controllers/internal/lease).
package lease

import (
	"context"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Locker takes the lock of one partition. Somebody else holding it is a LockError
// that names the holder; nothing was changed then.
type Locker interface {
	Acquire(ctx context.Context) (Handle, error)
}

// Handle is a held lock. It renews itself until it is released or lost.
type Handle interface {
	// Fence is what state writes of this run must carry.
	Fence() model.Fence
	// Check is the guard: nil while the run may act, a LeaseLostError from the
	// moment that it may not, for good (ST-14). It does no I/O.
	Check() error
	// Lost is closed when Check starts to fail.
	Lost() <-chan struct{}
	// Release gives the lock back; only when no provider call is in flight (LS-10).
	// After a loss it stops renewing and reports nothing.
	Release(ctx context.Context) error
	// Abandon stops renewing and lets the lock lapse: a call may still be in flight.
	Abandon()
}

// Phases of the events by which who holds a lock tells of it (EX-39).
const (
	EventAcquire = "lease_acquire"
	EventRenew   = "lease_renew"
	EventLost    = "lease_lost"
	EventRelease = "lease_release" // one that failed
)

// Observed is a Handle that tells of its renewals (EX-39). The sink is called from another
// goroutine than that of the work and must not block; that it panics breaks nothing.
type Observed interface {
	Observe(sink func(Renewal))
}

// Renewal is one try to renew a lock; Err is nil when it landed.
type Renewal struct{ Err error }

// Successor is a Handle that knows whom it took the lock from: the holder that had not
// given it back when it ended, "" if it was free (LS-17).
type Successor interface {
	TookOver() (holder string)
}
