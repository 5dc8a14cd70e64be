package stack

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
)

const (
	eventNormal  = corev1.EventTypeNormal
	eventWarning = corev1.EventTypeWarning
)

// finish is the only place that writes status at the end of a reconcile, emits its
// event, remembers it and says when it is looked at again.
func (r *Reconciler) finish(ctx context.Context, sc *scope, o outcome) (ctrl.Result, error) {
	r.Metrics.Reconciles.WithLabelValues(o.label).Inc()
	if o.gone {
		r.memory.drop(sc.key())
		return ctrl.Result{}, nil
	}
	if ctx.Err() != nil && o.failed != nil && !sc.ran {
		return ctrl.Result{}, nil // it failed because the operator stops; the next one looks again
	}
	ctx, cancel := context.WithTimeout(detached(ctx), recordTimeout)
	defer cancel()
	o = sc.scrubbed(o)
	written, err := r.writeOutcome(ctx, sc, o)
	if apierrors.IsNotFound(err) {
		r.memory.drop(sc.key())
		return ctrl.Result{}, nil
	}
	if o.event != nil && err == nil && (o.kept || tells(&sc.was, &sc.stack.Status)) {
		r.emit(sc.stack, o.event)
	}
	if written {
		ctrl.LoggerFrom(ctx).Info("reconciled", "outcome", o.label, "reason", readyReason(&sc.stack.Status), "generation", sc.fingerprint.generation)
	}
	if err != nil || o.concluded == 0 || sc.unshown || sc.unrecorded {
		r.memory.forget(sc.key())
	} else {
		r.memory.keep(sc.key(), sc.fingerprintOf(o.concluded))
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	after := delay(&sc.stack.Spec, o.again, failures(&sc.stack.Status))
	if retry := retryDelay(&sc.stack.Spec, 1); sc.unrecorded && (after == 0 || after > retry) || sc.unshown && after == 0 {
		after = retry
	}
	if after > soonDelay {
		after = r.Jitter(after)
	}
	return ctrl.Result{RequeueAfter: after}, nil
}

// writeOutcome writes the next status if it differs. A conflict means that the object
// was read too early; the outcome still holds for its generation, so it is settled
// again upon what is there now, unless that is newer than the outcome.
func (r *Reconciler) writeOutcome(ctx context.Context, sc *scope, o outcome) (written bool, err error) {
	if o.kept && (sc.found == findings{} || sc.found == findings{request: sc.stack.Status.LastHandledReconcileAt}) {
		return false, nil // the usual case: there is nothing to compare
	}
	for range 3 {
		next := settle(sc.stack.Status, sc.stack, sc.found, o, r.Now())
		written, err = r.write(ctx, sc.stack, next)
		if !apierrors.IsConflict(err) {
			return written, err
		}
		live := &v1alpha1.Stack{}
		if err := r.Live.Get(ctx, sc.key(), live); err != nil {
			return false, err
		}
		if live.UID != sc.stack.UID || live.Status.ObservedGeneration > sc.fingerprint.generation {
			return false, err
		}
		// The spec that was worked on stays; what is compared with is new.
		sc.stack.ResourceVersion, sc.stack.Status, sc.was = live.ResourceVersion, live.Status, live.Status
	}
	return false, err
}

// write patches status if next differs from it, and only if the object is as it was
// read (AP-35).
func (r *Reconciler) write(ctx context.Context, stack *v1alpha1.Stack, next v1alpha1.StackStatus) (bool, error) {
	if equality.Semantic.DeepEqual(stack.Status, next) {
		return false, nil
	}
	changed := stack.DeepCopy()
	changed.Status = next
	if err := r.Client.Status().Patch(ctx, changed, client.MergeFromWithOptions(stack, client.MergeFromWithOptimisticLock{})); err != nil {
		return false, err
	}
	stack.ResourceVersion, stack.Status = changed.ResourceVersion, changed.Status
	r.memory.note(client.ObjectKeyFromObject(stack), stack.ResourceVersion)
	return true, nil
}

// tells reports whether a change of status is worth an event: a retry that failed as
// before is not.
func tells(was, is *v1alpha1.StackStatus) bool {
	a, b := meta.FindStatusCondition(was.Conditions, v1alpha1.ConditionReady), meta.FindStatusCondition(is.Conditions, v1alpha1.ConditionReady)
	switch {
	case a == nil || b == nil, a.Status != b.Status, a.Reason != b.Reason, a.Message != b.Message:
		return true
	case was.LastHandledApproval != is.LastHandledApproval && is.LastHandledApproval != "":
		return true
	case !equality.Semantic.DeepEqual(was.LastApplied, is.LastApplied):
		return true
	}
	return false
}

func (r *Reconciler) emit(stack *v1alpha1.Stack, n *notice) {
	r.Events.Eventf(stack, nil, n.kind, n.reason, n.action, "%s", n.note)
}

func readyReason(status *v1alpha1.StackStatus) string {
	if ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady); ready != nil {
		return ready.Reason
	}
	return ""
}
