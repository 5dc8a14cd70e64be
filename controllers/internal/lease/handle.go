package lease

import (
	"context"
	"errors"
	"sync"
	"time"

	v1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// handle is a held lock. Its fence never changes (LS-9).
type handle struct {
	*locker
	fence model.Fence

	mu       sync.Mutex
	deadline time.Time // may act before it; moves with every renewal
	err      error     // why it may not act any more; set once
	lost     chan struct{}

	record *v1.Lease // as last written; of the renewal alone once it runs

	stop    context.CancelFunc
	stopped chan struct{} // closed when no renewal is or will be on the way
	end     sync.Once
}

var _ lease.Handle = (*handle)(nil)

func newHandle(l *locker, fence model.Fence, written *v1.Lease, sent time.Time) *handle {
	return &handle{locker: l, fence: fence, record: written, deadline: l.deadlineOf(sent), lost: make(chan struct{})}
}

// deadlineOf counts from before the request was sent: nobody can have seen its record
// earlier, so nobody may take it over before the holder stopped (LS-16c).
func (l *locker) deadlineOf(sent time.Time) time.Time {
	return sent.Add(l.options.TTL - l.options.Grace)
}

func (h *handle) Fence() model.Fence { return h.fence }

func (h *handle) Lost() <-chan struct{} { return h.lost }

// Check implements lease.Handle: the guard of ST-14.
func (h *handle) Check() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil && !h.options.Clock.Now().Before(h.deadline) {
		h.lose("it was not renewed in time")
	}
	return h.err
}

// lose ends the right to act, for good. The caller holds mu.
func (h *handle) lose(why string) {
	if h.err != nil {
		return
	}
	h.err = &model.Error{Kind: model.LeaseLostError, Class: model.ClassTransient, Message: "the lock of Stack " + h.stack.String() +
		" was lost: " + why + "; the run stops, nothing is rolled back, and the next plan starts from what was recorded"}
	close(h.lost)
}

func (h *handle) loseNow(why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lose(why)
}

// extend moves the deadline after a renewal that was sent at that time, unless the
// lock had lapsed before its answer came.
func (h *handle) extend(sent time.Time) {
	if h.Check() != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if next := h.deadlineOf(sent); next.After(h.deadline) {
		h.deadline = next
	}
}

func (h *handle) remaining() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.deadline.Sub(h.options.Clock.Now())
}

// start renews until the handle is stopped or lost.
func (h *handle) start() {
	ctx, cancel := context.WithCancel(context.Background())
	h.stop, h.stopped = cancel, make(chan struct{})
	go func() {
		defer close(h.stopped)
		defer cancel()
		h.renewUntilStopped(ctx)
	}()
}

// renewUntilStopped has one renewal on the way at a time and watches the deadline
// beside it, because a request may hang.
func (h *handle) renewUntilStopped(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	results := make(chan error, 1) // never blocks: the next one starts after it is read
	var onTheWay sync.WaitGroup
	defer func() {
		cancel()
		onTheWay.Wait()
	}()
	next := h.options.Clock.NewTimer(h.options.Jitter(h.options.Renew))
	defer next.Stop()
	for {
		expiry := h.options.Clock.NewTimer(h.remaining())
		select {
		case <-ctx.Done():
		case <-expiry.C():
		case <-next.C():
			onTheWay.Go(func() { results <- h.renew(ctx) })
		case err := <-results:
			wait := h.options.Jitter(h.options.Renew)
			if err != nil {
				wait = h.options.Jitter(h.options.Renew / 10) // until the deadline (LS-9)
			}
			next.Reset(wait)
		}
		expiry.Stop()
		if h.Check() != nil || ctx.Err() != nil {
			return
		}
	}
}

// renew writes the time of the next renewal over the record; nil when it landed, or
// when the lock turned out to be lost. An error may be tried again.
func (h *handle) renew(ctx context.Context) error {
	for range attempts {
		next := h.record.DeepCopy()
		sent := h.options.Clock.Now()
		at := metav1.NewMicroTime(sent)
		next.Spec.RenewTime = &at
		written, err := h.write(ctx, h.record, next)
		switch {
		case err == nil:
			h.record = written
			h.extend(sent)
			return nil
		case apierrors.IsNotFound(err):
			h.loseNow("its Lease was deleted")
			return nil
		case !apierrors.IsConflict(err):
			return err
		}
		// Somebody wrote it: go on only while it is still ours.
		live, err := h.get(ctx)
		switch {
		case err != nil:
			return err
		case live == nil:
			h.loseNow("its Lease was deleted")
			return nil
		case !isOf(live, h.fence) || live.UID != h.record.UID:
			h.loseNow("somebody else holds its Lease")
			return nil
		}
		h.record = live
	}
	return errors.New("the lease is written by others all the time")
}

// Release implements lease.Handle (LS-10).
func (h *handle) Release(ctx context.Context) (err error) {
	h.end.Do(func() {
		h.stop()
		<-h.stopped
		lost := h.Check() != nil
		err = h.giveBack(ctx)
		h.leave(h.partition)
		if lost {
			err = nil // the loss was reported; this was a courtesy to the next holder
		}
	})
	return err
}

// giveBack frees the lock in the store, then in the API server, each only if it is
// still ours.
func (h *handle) giveBack(ctx context.Context) error {
	h.loseNow("it was released")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*h.options.RequestTimeout)
	defer cancel()
	return errors.Join(h.options.Epochs.ClearHolder(ctx, h.partition, h.fence), h.clear(ctx, h.fence))
}

// Abandon implements lease.Handle: the Lease lapses, and its holder is waited for like
// any other.
func (h *handle) Abandon() {
	h.end.Do(func() {
		h.stop()
		<-h.stopped
		h.loseNow("it was abandoned")
		h.leave(h.partition)
	})
}
