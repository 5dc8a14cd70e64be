package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// holding does work under a lock and is the only way to one: it tells that the lock was
// taken, of its renewals, of its loss and of a release that failed (EX-39), and gives it
// back whatever happens, unless a call may still be in flight (LS-10).
func (e *Engine) holding(ctx context.Context, locker lease.Locker, work func(h *held) error) error {
	handle, err := locker.Acquire(ctx)
	if err != nil {
		return err
	}
	h := &held{Handle: handle, narrator: e.narrator(), inFlight: true} // until the work has returned
	defer func() {
		if h.inFlight {
			h.Abandon()
		}
	}()
	h.narrator.ofLock(h, lease.EventAcquire, map[string]any{"owner": h.Fence().Holder})
	h.narrator.ofRenewals(handle)
	err = work(h)
	h.narrator.ofLoss(h)
	if h.inFlight = h.abandoned; h.inFlight {
		return err
	}
	return h.release(ctx, err)
}

// underLock does work with the state of a place as it is under its lock.
func (e *Engine) underLock(ctx context.Context, at StatePlace, work func(h *held, current *state.Snapshot) error) error {
	return e.holding(ctx, at.Locker, func(h *held) error {
		current, err := at.Store.Load(ctx, at.Partition)
		if err != nil {
			return err
		}
		return work(h, current)
	})
}

// held is a lock while work is done under it.
type held struct {
	lease.Handle
	narrator  *narrator
	refused   error // by the fence of the store, before the guard knew of the loss
	abandoned bool  // the work left a call that may still be in flight
	inFlight  bool
}

// fenced notes a write that the fence refused: the lock is another's.
func (h *held) fenced(err error) error {
	if model.IsKind(err, model.FencedWriteError) {
		h.refused = err
	}
	return err
}

// loss is why the lock is lost; nil while it is not.
func (h *held) loss() error {
	if err := h.Check(); err != nil {
		return err
	}
	return h.refused
}

// releaseTimeout bounds the release of a lock; what is not released lapses.
const releaseTimeout = 15 * time.Second

// release gives the lock back. A release that fails goes with the error of the work and never
// replaces a result, for the lock ends by itself.
func (h *held) release(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	released := h.Release(ctx)
	if released == nil {
		return err
	}
	h.narrator.ofLock(h, lease.EventRelease, map[string]any{"error": released.Error()})
	var typed *model.Error
	if !errors.As(err, &typed) {
		return err
	}
	joined := *typed
	joined.AlsoFailed = append(slices.Clone(typed.AlsoFailed), model.Errorf(model.LockError, model.ClassTransient,
		"the lock could not be released and lapses by itself: %w", released))
	return &joined
}
