package stack

import (
	"context"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// runLock is a Locker that tells when it was taken and stays held when the engine is
// done with it: what became of the plan is recorded under the same fence (operator.md
// 1.8, steps 13 to 15). Whoever made it must call close.
type runLock struct {
	inner lease.Locker
	taken func(ctx context.Context, handle lease.Handle)

	handle    lease.Handle // nil = not held
	abandoned bool
}

func (l *runLock) Acquire(ctx context.Context) (lease.Handle, error) {
	handle, err := l.inner.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	l.handle = handle
	l.taken(ctx, handle)
	return keptHandle{Handle: handle, lock: l}, nil
}

// fence is what writes of the run carry.
func (l *runLock) fence() *model.Fence {
	fence := l.handle.Fence()
	return &fence
}

// close releases the lock unless it was abandoned, never taken, or closed before.
func (l *runLock) close(ctx context.Context) error {
	if l.handle == nil || l.abandoned {
		return nil
	}
	handle := l.handle
	l.handle = nil
	return handle.Release(detached(ctx))
}

// keptHandle is the engine's view of a runLock.
type keptHandle struct {
	lease.Handle
	lock *runLock
}

// Observe lets the engine tell of renewals, where the lock does (EX-39).
func (h keptHandle) Observe(sink func(lease.Renewal)) {
	if observed, ok := h.Handle.(lease.Observed); ok {
		observed.Observe(sink)
	}
}

// tookOver is who held the lock before and never gave it back, "" if nobody.
func tookOver(handle lease.Handle) string {
	if successor, ok := handle.(lease.Successor); ok {
		return successor.TookOver()
	}
	return ""
}

// Release leaves the lock to close.
func (keptHandle) Release(context.Context) error { return nil }

func (h keptHandle) Abandon() {
	h.lock.abandoned = true
	h.Handle.Abandon()
}

// recordTimeout bounds what is still written when the operator stops.
const recordTimeout = 20 * time.Second

// detached outlives the reconcile: results are recorded even while the operator stops.
func detached(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }
