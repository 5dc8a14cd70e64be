package stack

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Why a run is told to end, beside apply.ErrHandOver.
var (
	errCancelled = errors.New("the run was cancelled by request")
	errTooLong   = errors.New("the run took longer than spec.timeout")
)

// working is what a run works in. The operator's end hands the run over: nothing is undone
// and another operator goes on (EX-37). A request to cancel it and the end of its time are
// interrupts, after which the failure mode counts (EX-36). Whichever comes first is why.
func (r *Reconciler) working(ctx context.Context, n *run) (working context.Context, done func()) {
	working, n.interrupt = context.WithCancelCause(context.WithoutCancel(ctx))
	if ctx.Err() != nil {
		n.interrupt(apply.ErrHandOver)
	}
	stopped := context.AfterFunc(ctx, func() { n.interrupt(apply.ErrHandOver) })
	timer := time.AfterFunc(runTimeout(&n.scope.stack.Spec), func() { n.interrupt(errTooLong) })
	n.ended = func() error { return context.Cause(working) }
	return working, func() {
		stopped()
		timer.Stop()
		r.runs.drop(n.scope.key())
		n.interrupt(nil)
	}
}

// runs are those under way in this process, by what they can be cancelled with.
type runs struct {
	mu    sync.Mutex
	under map[types.NamespacedName]running
}

type running struct {
	epoch int64
	run   *run
}

func (r *runs) add(key types.NamespacedName, epoch int64, n *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.under == nil {
		r.under = map[types.NamespacedName]running{}
	}
	r.under[key] = running{epoch, n}
}

func (r *runs) drop(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.under, key)
}

// cancel interrupts the run of a Stack if its epoch is the one that is asked for.
func (r *runs) cancel(key types.NamespacedName, asked string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if under, ok := r.under[key]; ok && asked == strconv.FormatInt(under.epoch, 10) {
		under.run.interrupt(errCancelled)
	}
}

// cancelRun hears of a request to cancel while the reconcile that works is busy with its run.
func (r *Reconciler) cancelRun(_ context.Context, e event.UpdateEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	r.runs.cancel(client.ObjectKeyFromObject(e.ObjectNew), e.ObjectNew.GetAnnotations()[v1alpha1.AnnotationCancel])
}

// interrupted reports whether a run ended because it was told to, for a reason, and for
// nothing else.
func (n *run) interrupted(err, why error) bool {
	return n.ended != nil && errors.Is(n.ended(), why) && model.IsKind(err, model.InterruptedRunError)
}

// wasCancelled reports whether somebody cancelled a run that failed. What else went wrong in
// it meanwhile does not make it one that begins again; what ended with the lock is no
// outcome of this run.
func (n *run) wasCancelled(err error) bool {
	return n.ended != nil && errors.Is(n.ended(), errCancelled) && !model.IsKind(err, model.LeaseLostError) && !model.IsKind(err, model.FencedWriteError)
}

func (n *run) handedOver(err error) bool { return n.interrupted(err, apply.ErrHandOver) }

// failed is the outcome of a run that did not do all of its plan.
func (n *run) failed(err error, at stage, result *engine.Result) outcome {
	report := apply.NewReport()
	if result != nil && result.Report != nil {
		report = result.Report
	}
	switch {
	case n.wasCancelled(err):
		return n.cancelled(err, report)
	case n.interrupted(err, errTooLong):
		return n.tooLong(err, report)
	}
	o := refused(err, at)
	if n.verdict.approved() && o.reason == v1alpha1.ReasonPlanDrifted {
		o.abnormal = append(o.abnormal, v1alpha1.ConditionApprovalRequired)
	}
	if o.reason == v1alpha1.ReasonApplyHalted {
		o = o.because(n.reasonOfFailure(report))
	}
	return o.with(aftermath(report))
}

// reasonOfFailure says what became of what a failed run did (operator.md 1.3). What comes
// after phase 1 is never undone (EX-1).
func (n *run) reasonOfFailure(report *apply.Report) string {
	switch {
	case len(report.RollbackFailed) > 0:
		return v1alpha1.ReasonRollbackFailed
	case failureMode(n.scope.stack) == v1alpha1.FailureHalt, report.RollbackSkipped != nil:
		return v1alpha1.ReasonApplyHalted
	case n.phase == "", n.phase == apply.PhaseEarly, n.phase == apply.PhaseChange:
		return v1alpha1.ReasonApplyFailed
	default:
		return v1alpha1.ReasonApplyHalted
	}
}

// cancelled is the outcome of a run that somebody cancelled: it is not begun again before
// something changes or is asked for.
func (n *run) cancelled(err error, report *apply.Report) outcome {
	o := outcome{
		label: labelStalled, ready: metav1.ConditionFalse, reason: v1alpha1.ReasonCancelled,
		message:  bounded("cancelled as " + v1alpha1.AnnotationCancel + " asks; change the Stack, or request a reconcile, to go on: " + describe(err)),
		abnormal: []string{v1alpha1.ConditionStalled}, concluded: concludedStalled,
	}
	o.event = &notice{eventWarning, o.reason, "Cancel", o.message}
	return o.with(aftermath(report))
}

// staysCancelled reports whether what was cancelled is all that there is to do still: an
// operator that started since does not begin it again. A destroy is made from no artifact;
// that a Stack is deleted makes a generation of its own.
func (sc *scope) staysCancelled() bool {
	was := &sc.was
	if readyReason(was) != v1alpha1.ReasonCancelled || was.ObservedGeneration != sc.stack.Generation || was.LastHandledReconcileAt != sc.found.request {
		return false
	}
	return !sc.stack.DeletionTimestamp.IsZero() || was.Artifact != nil && sc.found.artifact != nil && *was.Artifact == *sc.found.artifact
}

// tooLong is the outcome of a run that was interrupted because its time was over.
func (n *run) tooLong(err error, report *apply.Report) outcome {
	o := outcome{
		label: labelRetry, ready: metav1.ConditionFalse, reason: v1alpha1.ReasonTimeout,
		message:  bounded(fmt.Sprintf("not done within %s, the spec.timeout; it is tried again: %s", runTimeout(&n.scope.stack.Spec), err)),
		abnormal: []string{v1alpha1.ConditionReconciling}, failed: &failedTry{class: model.ClassTransient}, again: againBackoff,
	}
	o.event = &notice{eventWarning, o.reason, "Reconcile", o.message}
	return o.with(aftermath(report))
}
