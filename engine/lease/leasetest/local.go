package leasetest

import (
	"context"
	"sync"

	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Local is the lock of one partition within one process, for tests of what works under a lock.
// It is never lost; what a run abandons stays locked until the process ends.
type Local struct {
	claim  func(ctx context.Context, fence model.Fence) error
	holder func() string

	mu    sync.Mutex
	epoch int64
	held  *localHandle
}

// NewLocal makes a lock whose fences claim hands to the store. holder names a run; it
// is asked once per acquisition.
func NewLocal(holder func() string, claim func(ctx context.Context, fence model.Fence) error) *Local {
	return &Local{claim: claim, holder: holder}
}

// Acquire implements Locker.
func (l *Local) Acquire(ctx context.Context) (lease.Handle, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held != nil {
		return nil, model.Errorf(model.LockError, model.ClassTransient,
			"the lock is held by '%s'; wait for it to finish", l.held.fence.Holder)
	}
	l.epoch++
	h := &localHandle{lock: l, fence: model.Fence{Epoch: l.epoch, Holder: l.holder()}, lost: make(chan struct{})}
	if err := l.claim(ctx, h.fence); err != nil {
		return nil, err
	}
	l.held = h
	return h, nil
}

type localHandle struct {
	lock  *Local
	fence model.Fence
	lost  chan struct{}
}

func (h *localHandle) Fence() model.Fence { return h.fence }

func (h *localHandle) Check() error { return nil }

func (h *localHandle) Lost() <-chan struct{} { return h.lost }

func (h *localHandle) Release(context.Context) error {
	h.lock.mu.Lock()
	defer h.lock.mu.Unlock()
	if h.lock.held == h {
		h.lock.held = nil
	}
	return nil
}

func (h *localHandle) Abandon() {}
