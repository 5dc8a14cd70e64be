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
	*lease.Keeper
	locker *locker
	left   string // who held the Lease when it was taken over, "" if it was free

	record *v1.Lease // as last written; of the renewal alone once it runs

	end sync.Once
}

var (
	_ lease.Handle    = (*handle)(nil)
	_ lease.Observed  = (*handle)(nil)
	_ lease.Successor = (*handle)(nil)
)

// newHandle is the lock of a Lease that was written after asked.
func newHandle(l *locker, fence model.Fence, written *v1.Lease, asked lease.Moment, left string) *handle {
	h := &handle{locker: l, record: written, left: left}
	h.Keeper = lease.NewKeeper(lease.Keeping{
		Fence: fence, Times: lease.Times{TTL: l.options.TTL, Renew: l.options.Renew, Grace: l.options.Grace},
		Clock: l.hands(), Delay: l.options.Jitter, Renew: h.renew,
		Text: func(why string) string {
			return "the lock of Stack " + l.stack.String() + " was lost: " + why +
				"; the run stops, nothing is rolled back, and the next plan starts from what was recorded"
		},
	}, asked)
	return h
}

// TookOver implements lease.Successor.
func (h *handle) TookOver() (holder string) { return h.left }

// renew writes the time of the next renewal over the record (LS-9).
func (h *handle) renew(ctx context.Context, sent time.Time) error {
	l := h.locker
	for range attempts {
		next := h.record.DeepCopy()
		at := metav1.NewMicroTime(sent)
		next.Spec.RenewTime = &at
		written, err := l.write(ctx, h.record, next)
		switch {
		case err == nil:
			h.record = written
			return nil
		case apierrors.IsNotFound(err):
			return lease.GoneError("its Lease was deleted")
		case !apierrors.IsConflict(err):
			return err
		}
		// Somebody wrote it: go on only while it is still ours.
		live, err := l.get(ctx)
		switch {
		case err != nil:
			return err
		case live == nil:
			return lease.GoneError("its Lease was deleted")
		case !isOf(live, h.Fence()) || live.UID != h.record.UID:
			return lease.GoneError("somebody else holds its Lease")
		}
		h.record = live
	}
	return errors.New("the lease is written by others all the time")
}

// Release implements lease.Handle (LS-10).
func (h *handle) Release(ctx context.Context) (err error) {
	h.end.Do(func() {
		lost := h.End("it was released")
		err = h.locker.giveBack(ctx, h.Fence())
		h.locker.leave(h.locker.partition)
		if lost {
			err = nil // the loss was reported; this was a courtesy to the next holder
		}
	})
	return err
}

// giveBack frees the lock in the store, then in the API server, each only if it is
// still that of the fence.
func (l *locker) giveBack(ctx context.Context, fence model.Fence) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*l.options.RequestTimeout)
	defer cancel()
	return errors.Join(l.options.Epochs.ClearHolder(ctx, l.partition, fence), l.clear(ctx, fence))
}

// Abandon implements lease.Handle: the Lease lapses, and its holder is waited for like
// any other.
func (h *handle) Abandon() {
	h.end.Do(func() {
		h.End("it was abandoned")
		h.locker.leave(h.locker.partition)
	})
}
