package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// attempts bounds how often an acquisition starts over when others write the same
// Lease; each costs an epoch.
const attempts = 5

// locker takes the lock of one Stack.
type locker struct {
	*Leases
	partition string
	stack     types.NamespacedName
	leaseName string
}

// Acquire implements lease.Locker (LS-7). A lock that somebody else holds is a
// LockError; coming back later is how to wait for it.
func (l *locker) Acquire(ctx context.Context) (lease.Handle, error) {
	holder := l.options.Identity + "_" + l.options.NewRunID()
	if inside, entered := l.enter(l.partition, holder); !entered {
		return nil, l.lockError("is locked by '%s' of this process", inside)
	}
	h, err := l.acquire(ctx, holder)
	if err != nil {
		l.leave(l.partition)
		return nil, err
	}
	return h, nil
}

func (l *locker) acquire(ctx context.Context, holder string) (lease.Handle, error) {
	asked := map[int64]lease.Moment{} // before the writes of this acquisition, by epoch
	left := ""                        // who held the Lease that was written over
	var last error                    // of a write
	for range attempts {
		seen, err := l.get(ctx)
		if err != nil {
			return nil, l.unreachable("read", err)
		}
		if holderOf(seen) == holder {
			// A write of ours whose answer was lost.
			return l.claim(ctx, seen, holder, asked[epochOf(seen)], left)
		}
		if err := l.refuseHeld(seen); err != nil {
			return nil, err
		}
		// Only now: an epoch minted after the look and before the write orders epochs
		// as acquisitions (LS-8).
		epoch, err := l.options.Epochs.Mint(ctx, l.partition)
		if err != nil {
			return nil, err
		}
		moment := lease.MomentOf(l.hands())
		asked[epoch], left = moment, holderOf(seen)
		written, err := l.write(ctx, seen, l.taken(seen, holder, epoch, moment.Monotonic))
		if err == nil {
			return l.claim(ctx, written, holder, moment, left)
		}
		// A conflict, or no answer: what is there now decides.
		if last = l.unwritten(seen, err); ctx.Err() != nil || refused(err) {
			break
		}
	}
	return nil, last
}

// unwritten is the error of a write that failed: a LockError when somebody else wrote
// or removed the same Lease.
func (l *locker) unwritten(seen *v1.Lease, err error) error {
	switch {
	case seen == nil && apierrors.IsAlreadyExists(err), seen != nil && (apierrors.IsConflict(err) || apierrors.IsNotFound(err)):
		return l.lockError("is wanted by others at the same time; try again")
	case seen == nil:
		return l.unreachable("created", err)
	default:
		return l.unreachable("updated", err)
	}
}

// refused reports whether the API server understood a write and does not let us make
// it: the same again would cost an epoch and get the same answer.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}

// refuseHeld is a LockError unless the lease is free, or its record has not changed on
// this process's clock for as long as it lasts. Remote times are not read (LS-7).
func (l *locker) refuseHeld(seen *v1.Lease) error {
	now := l.options.Clock.Now()
	o := observationOf(seen, now, l.options.TTL)
	since := l.observe(l.partition, o)
	if o.holder == "" || now.Sub(since) >= o.duration {
		return nil
	}
	return l.lockError("is locked by '%s'; it is taken over when it was not renewed for %s, which is %s now",
		o.holder, o.duration, now.Sub(since).Round(time.Second))
}

// claim makes the written Lease count: from here on nobody else's writes commit.
func (l *locker) claim(ctx context.Context, written *v1.Lease, holder string, asked lease.Moment, left string) (lease.Handle, error) {
	fence := model.Fence{Epoch: epochOf(written), Holder: holder}
	transitions := ptr.Deref(written.Spec.LeaseTransitions, 0)
	claim := func() error {
		return l.options.Epochs.Claim(ctx, l.partition, fence, string(written.UID), transitions)
	}
	err := claim()
	if err != nil && model.ClassOf(err) == model.ClassTransient && !model.IsKind(err, model.LockError) {
		err = claim() // its answer may have been lost
	}
	if err != nil {
		return nil, errors.Join(err, l.clear(ctx, fence))
	}
	l.observe(l.partition, observation{})
	h := newHandle(l, fence, written, asked, left)
	if err := h.Check(); err != nil { // taking the lock took longer than it lasts
		return nil, errors.Join(err, l.giveBack(ctx, fence))
	}
	h.Start()
	return h, nil
}

// clear frees the Lease if it is still that of the fence, keeping transitions and
// epoch. It goes on when ctx was cancelled: nobody else does it.
func (l *locker) clear(ctx context.Context, fence model.Fence) error {
	ctx = context.WithoutCancel(ctx)
	var err error
	for range attempts {
		var held *v1.Lease
		if held, err = l.get(ctx); err != nil || held == nil || !isOf(held, fence) {
			break
		}
		held.Spec.HolderIdentity = new("")
		if _, err = l.write(ctx, held, held); !apierrors.IsConflict(err) {
			break
		}
	}
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return l.unreachable("released", err)
}

// Delete removes the Lease of a Stack whose finalizer is done: its last act (LS-3). A
// lease that is held, and not long enough unchanged to be taken over, is a LockError;
// one that is not there is no error.
func (l *Leases) Delete(ctx context.Context, stack types.NamespacedName, uid types.UID) error {
	k := l.locker(stack, uid)
	seen, err := k.get(ctx)
	if err != nil {
		return k.unreachable("read", err)
	}
	if seen == nil {
		l.forget(k.partition)
		return nil
	}
	if err := k.refuseHeld(seen); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, l.options.RequestTimeout)
	defer cancel()
	// Only this very record: somebody may take it in this moment.
	err = l.options.Client.Leases(l.options.Namespace).Delete(ctx, k.leaseName, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &seen.UID, ResourceVersion: &seen.ResourceVersion}})
	switch {
	case err == nil, apierrors.IsNotFound(err):
		l.forget(k.partition)
		return nil
	case apierrors.IsConflict(err):
		return k.lockError("was just locked by somebody")
	default:
		return k.unreachable("deleted", err)
	}
}

// get reads the Lease from the API server, nil when there is none.
func (l *locker) get(ctx context.Context) (*v1.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, l.options.RequestTimeout)
	defer cancel()
	got, err := l.options.Client.Leases(l.options.Namespace).Get(ctx, l.leaseName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return got, nil
}

// write creates the Lease, or replaces exactly the one that was seen.
func (l *locker) write(ctx context.Context, seen, next *v1.Lease) (*v1.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, l.options.RequestTimeout)
	defer cancel()
	client := l.options.Client.Leases(l.options.Namespace)
	if seen == nil {
		return client.Create(ctx, next, metav1.CreateOptions{})
	}
	return client.Update(ctx, next, metav1.UpdateOptions{})
}

// isOf reports whether the Lease is the one that the fence was claimed under.
func isOf(l *v1.Lease, fence model.Fence) bool {
	return holderOf(l) == fence.Holder && epochOf(l) == fence.Epoch
}

func (l *locker) lockError(format string, args ...any) error {
	return &model.Error{Kind: model.LockError, Class: model.ClassTransient, Message: "Stack " + l.stack.String() + " " + fmt.Sprintf(format, args...)}
}

// unreachable is the error of a request that did not get through. It is no LockError:
// nobody else is known to hold the lock.
func (l *locker) unreachable(done string, err error) error {
	return &model.Error{Kind: model.AtlantideError, Class: model.ClassTransient, Cause: err,
		Message: fmt.Sprintf("the lease %s of Stack %s could not be %s: %s; it is tried again", l.leaseName, l.stack, done, reasonOf(err))}
}

// reasonOf says what the API server said, without its address.
func reasonOf(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return string(status.Status().Reason)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	return "the API server is unreachable"
}
