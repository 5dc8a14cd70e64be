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

// Stored is the lock of one partition that its store keeps: for a command line, which has
// no other. It is safe for concurrent use, also by several processes.
type Stored struct {
	Records   Records
	Partition string
	Times     Times
	Owner     func() string // names an acquisition; nil = NewOwner

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
		return nil, errors.Join(err, l.Records.ClearHolder(ctx, l.Partition, h.Fence()))
	}
	h.Start()
	return h, nil
}

func (l *Stored) take(ctx context.Context, owner string) (*storedHandle, error) {
	clock := storedClock{now: l.Now, wall: l.Wall}
	asked := MomentOf(clock)
	fence, err := l.Records.TakeLock(ctx, l.Partition, owner, l.Times.TTL)
	if err != nil {
		return nil, err
	}
	return &storedHandle{lock: l, Keeper: NewKeeper(Keeping{
		Fence: fence, Times: l.Times, Clock: clock,
		Renew: func(ctx context.Context, _ time.Time) error { return l.renew(ctx, fence) },
		Text: func(why string) string {
			return "the lock was lost: " + why + "; the run stops, nothing is rolled back: run a refresh, then plan again"
		},
	}, asked)}, nil
}

func (l *Stored) renew(ctx context.Context, fence model.Fence) error {
	err := l.Records.RenewLock(ctx, l.Partition, fence, l.Times.TTL)
	if model.IsKind(err, model.FencedWriteError) {
		return GoneError("another run took it, or it was broken")
	}
	return err
}

func (l *Stored) owner() string {
	if l.Owner != nil {
		return l.Owner()
	}
	return NewOwner()
}

// storedClock is the clock of the machine, of which either hand may be another one.
type storedClock struct {
	machine
	now, wall func() time.Time
}

func (c storedClock) Now() time.Time {
	if c.now != nil {
		return c.now()
	}
	return c.machine.Now()
}

func (c storedClock) Wall() time.Time {
	if c.wall != nil {
		return c.wall()
	}
	return c.machine.Wall()
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
	*Keeper
	lock *Stored
	end  sync.Once
}

var (
	_ Handle   = (*storedHandle)(nil)
	_ Observed = (*storedHandle)(nil)
)

// Release implements Handle (LS-10).
func (h *storedHandle) Release(ctx context.Context) (err error) {
	h.end.Do(func() {
		lost := h.End("it was given back")
		// Also when it was lost, as a courtesy to the next holder: it is a no-op unless
		// the lock is still ours.
		if err = h.lock.Records.ClearHolder(ctx, h.lock.Partition, h.Fence()); lost {
			err = nil
		}
	})
	return err
}

// Abandon implements Handle: the lock ends by itself.
func (h *storedHandle) Abandon() { h.end.Do(func() { h.End("it was abandoned") }) }
