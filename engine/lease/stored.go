package lease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Records is the lock of a partition as a store keeps it: every acquisition has a new and
// larger epoch, which no renewal changes.
type Records interface {
	TakeLock(ctx context.Context, partition, holder string, ttl time.Duration) (model.Fence, error)
	// RenewLock is a FencedWriteError when the lock is another's; any other error leaves
	// that open.
	RenewLock(ctx context.Context, partition string, fence model.Fence, ttl time.Duration) error
	ClearHolder(ctx context.Context, partition string, fence model.Fence) error
}

// What Stored.Events is told of (EX-39).
const (
	EventAcquire = "lease_acquire"
	EventRenew   = "lease_renew"
	EventLost    = "lease_lost"
)

// Stored is the lock of one partition that its store keeps: for a command line, which has
// no other. It is safe for concurrent use, also by several processes.
type Stored struct {
	Records   Records
	Partition string
	Times     Times
	Owner     func() string // names an acquisition; nil = NewOwner
	// Events is told what happens to the lock, with the reason of what went wrong; may be
	// nil; must not block.
	Events func(phase, owner, reason string)

	Now  func() time.Time // monotonic; nil = time.Now
	Wall func() time.Time // what the machine takes for the time; nil = time.Now without its monotonic part
}

// Acquire implements Locker.
func (l *Stored) Acquire(ctx context.Context) (Handle, error) {
	owner := l.owner()
	h, err := l.take(ctx, owner)
	if err != nil && model.ClassOf(err) == model.ClassTransient && !model.IsKind(err, model.LockError) && ctx.Err() == nil {
		h, err = l.take(ctx, owner) // its answer may have been lost
	}
	if err != nil {
		return nil, err
	}
	if err := h.Check(); err != nil { // taking the lock took longer than it lasts
		return nil, errors.Join(err, l.Records.ClearHolder(ctx, l.Partition, h.fence))
	}
	l.event(EventAcquire, owner, "")
	h.start()
	return h, nil
}

func (l *Stored) take(ctx context.Context, owner string) (*storedHandle, error) {
	sent, wall := l.now(), l.wall()
	fence, err := l.Records.TakeLock(ctx, l.Partition, owner, l.Times.TTL)
	if err != nil {
		return nil, err
	}
	return &storedHandle{lock: l, fence: fence, began: sent, wall: wall, deadline: sent.Add(l.Times.TTL - l.Times.Grace), lost: make(chan struct{})}, nil
}

func (l *Stored) event(phase, owner, reason string) {
	if l.Events != nil {
		l.Events(phase, owner, reason)
	}
}

func (l *Stored) owner() string {
	if l.Owner != nil {
		return l.Owner()
	}
	return NewOwner()
}

func (l *Stored) now() time.Time {
	if l.Now != nil {
		return l.Now()
	}
	return time.Now()
}

func (l *Stored) wall() time.Time {
	if l.Wall != nil {
		return l.Wall()
	}
	return time.Now().Round(0)
}

// NewOwner names an acquisition, never a process: "{host}-{pid}-{12 hex}" (ST-12).
func NewOwner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), uuid.NewString()[24:])
}

// storedHandle is a held lock.
type storedHandle struct {
	lock  *Stored
	fence model.Fence
	began time.Time // before the lock was asked for,
	wall  time.Time // and what the machine took that for

	mu       sync.Mutex
	deadline time.Time // may act before it; moves with every renewal
	err      error     // why it may not act any more; set once
	lost     chan struct{}

	stop    context.CancelFunc
	stopped chan struct{} // closed when no renewal is or will be on the way
	end     sync.Once
}

var _ Handle = (*storedHandle)(nil)

func (h *storedHandle) Fence() model.Fence { return h.fence }

func (h *storedHandle) Lost() <-chan struct{} { return h.lost }

// Check implements Handle: the guard of ST-14 and LS-12.
func (h *storedHandle) Check() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.lock.now()
	slept := h.lock.wall().Sub(h.wall) - now.Sub(h.began)
	switch {
	case h.err != nil:
	case !now.Before(h.deadline):
		h.lose("it was not renewed in time")
	case slept.Abs() > h.lock.Times.Grace:
		h.lose("the clock was set, or the machine slept, by " + slept.Round(time.Second).String())
	}
	return h.err
}

// lose ends the right to act, for good. The caller holds mu.
func (h *storedHandle) lose(why string) {
	if h.err != nil {
		return
	}
	h.err = &model.Error{Kind: model.LeaseLostError, Class: model.ClassTransient, Message: "the lock was lost: " + why +
		"; the run stops, nothing is rolled back: run a refresh, then plan again"}
	close(h.lost)
	h.lock.event(EventLost, h.fence.Holder, why)
}

func (h *storedHandle) loseNow(why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lose(why)
}

// extend moves the deadline after a renewal that was sent at that time, unless the lock
// had ended before its answer came.
func (h *storedHandle) extend(sent time.Time) {
	if h.Check() != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if next := sent.Add(h.lock.Times.TTL - h.lock.Times.Grace); next.After(h.deadline) {
		h.deadline = next
	}
}

func (h *storedHandle) remaining() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.deadline.Sub(h.lock.now())
}

// start renews until the handle is stopped or lost.
func (h *storedHandle) start() {
	ctx, cancel := context.WithCancel(context.Background())
	h.stop, h.stopped = cancel, make(chan struct{})
	go func() {
		defer close(h.stopped)
		defer cancel()
		h.keep(ctx)
	}()
}

// keep has one renewal on the way at a time and watches the deadline beside it, because a
// request may hang.
func (h *storedHandle) keep(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	results := make(chan error, 1) // never blocks: the next one starts after it is read
	var onTheWay sync.WaitGroup
	defer func() {
		cancel()
		onTheWay.Wait()
	}()
	next := time.NewTimer(h.lock.Times.Renew)
	defer next.Stop()
	for {
		expiry := time.NewTimer(h.remaining())
		select {
		case <-ctx.Done():
		case <-expiry.C:
		case <-next.C:
			onTheWay.Go(func() { results <- h.renew(ctx) })
		case err := <-results:
			wait := h.lock.Times.Renew
			if err != nil {
				wait /= 10 // until the deadline (LS-9)
			}
			next.Reset(wait)
		}
		expiry.Stop()
		if ctx.Err() != nil || h.Check() != nil {
			return
		}
	}
}

// renew moves the end of the lock; nil when it did, or when the lock turned out to be
// another's. An error may be tried again.
func (h *storedHandle) renew(ctx context.Context) error {
	sent := h.lock.now()
	err := h.lock.Records.RenewLock(ctx, h.lock.Partition, h.fence, h.lock.Times.TTL)
	switch {
	case err == nil:
		h.extend(sent)
		h.lock.event(EventRenew, h.fence.Holder, "")
	case model.IsKind(err, model.FencedWriteError):
		h.loseNow("another run took it, or it was broken")
		err = nil
	case ctx.Err() == nil:
		h.lock.event(EventRenew, h.fence.Holder, err.Error())
	}
	return err
}

// quit ends the renewals; it reports whether the lock was lost before.
func (h *storedHandle) quit() (lost bool) {
	h.stop()
	<-h.stopped
	if lost = h.Check() != nil; !lost {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.err = &model.Error{Kind: model.LeaseLostError, Class: model.ClassUnknown, Message: "the lock was given back"}
		close(h.lost)
	}
	return lost
}

// Release implements Handle (LS-10).
func (h *storedHandle) Release(ctx context.Context) (err error) {
	h.end.Do(func() {
		lost := h.quit()
		// Also when it was lost, as a courtesy to the next holder: it is a no-op unless
		// the lock is still ours.
		if err = h.lock.Records.ClearHolder(ctx, h.lock.Partition, h.fence); lost {
			err = nil
		}
	})
	return err
}

// Abandon implements Handle: the lock ends by itself.
func (h *storedHandle) Abandon() { h.end.Do(func() { h.quit() }) }
