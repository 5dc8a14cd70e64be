package stack

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/controllers/internal/planview"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Operations as status.lock shows them.
const (
	operationApply   = "Apply"
	operationDestroy = "Destroy"
)

// apply runs a plan that may run (operator.md 1.8, steps 12 to 15).
func (r *Reconciler) apply(ctx context.Context, sc *scope, pl *planned, record *state.PlanRecord, v verdict) outcome {
	run := r.begin(sc, pl, record, v, operationApply)
	if err := r.checkHead(ctx, run); err != nil {
		return refused(err, stagePlan)
	}
	working, done := r.working(ctx, run)
	defer done()
	result, err := r.Engine.Apply(working, engine.ApplyRequest{
		Compilation: pl.compilation, Partition: sc.partition(), Store: r.Store.UnderPlan(record.ID, record.Hash), Locker: run.lock,
		Owner: sc.owner(), OnFailure: onFailure(sc.stack), Expect: record.ChangesetDigest, Gate: run.gate(r),
		Secrets: sc.session, Recorder: sc.session.Recorder(), Parallelism: parallelism(&sc.stack.Spec),
	})
	r.recordResult(ctx, run, result, err)
	if err != nil {
		return run.failed(err, stageRun, result)
	}
	sc.found.plan = planStatus(record, v1alpha1.PlanApplied)
	sc.found.lastApplied = appliedStatus(record, metav1.NewTime(r.Now()), sc.found.state.Serial)
	r.tellLeftBehind(sc, result)
	return r.ranThrough(ctx, run, result)
}

// run is a plan on its way through the engine.
type run struct {
	scope     *scope
	planned   *planned
	record    *state.PlanRecord
	verdict   verdict
	operation string
	lock      *runLock
	started   bool        // the record says Applying
	phase     apply.Phase // the last that began; "" = none
	interrupt context.CancelCauseFunc
	ended     func() error    // why it was told to end; nil = it was not
	after     *state.Snapshot // what is recorded at its end; nil = not known
}

func (r *Reconciler) begin(sc *scope, pl *planned, record *state.PlanRecord, v verdict, operation string) *run {
	n := &run{scope: sc, planned: pl, record: record, verdict: v, operation: operation}
	decision := v1alpha1.PlanPending
	if v.approved() {
		decision = v1alpha1.PlanApproved
	}
	sc.found.plan = planStatus(record, decision)
	n.lock = &runLock{
		inner: r.Leases.For(sc.key(), sc.stack.UID),
		taken: func(ctx context.Context, handle lease.Handle) {
			r.announce(ctx, n, handle.Fence())
			if from := tookOver(handle); from != "" {
				r.survey(ctx, sc, handle, from)
				r.announce(ctx, n, handle.Fence())
			}
		},
	}
	return n
}

// announce shows the lock in status, with the plan that is about to run and what a run
// before it left. It is the one write besides the last; a run does not depend on it.
func (r *Reconciler) announce(ctx context.Context, n *run, fence model.Fence) {
	sc := n.scope
	r.runs.add(sc.key(), fence.Epoch, n)
	o := outcome{
		reason: v1alpha1.ReasonProgressing, message: "plan " + sc.found.plan.Text + " is being applied",
		abnormal: []string{v1alpha1.ConditionReconciling}, again: againPoll,
	}
	if sc.stack.Status.ObservedGeneration != sc.stack.Generation {
		o.ready = metav1.ConditionUnknown
	}
	if n.operation == operationDestroy {
		o.ready, o.reason, o.message = metav1.ConditionFalse, v1alpha1.ReasonDestroying, "plan "+sc.found.plan.Text+" is being applied before the Stack goes"
	}
	if sc.survey != "" {
		o.message = bounded(o.message + "; " + sc.survey)
	}
	lock := &v1alpha1.StackLock{
		Lease: r.Leases.Name(sc.key(), sc.stack.UID), Epoch: fence.Epoch, Holder: fence.Holder,
		Operation: n.operation, AcquiredAt: metav1.NewTime(r.Now()).Rfc3339Copy(),
	}
	found := sc.found
	found.request = "" // answered at the end
	next := settle(sc.stack.Status, sc.stack, found, o, r.Now())
	next.Lock = lock
	if _, err := r.write(ctx, sc.stack, next); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot show the lock in status")
	}
}

// gate is asked under the lock before each phase (AP-16 to AP-25): the head, read from
// the API server, and the record must be those that were decided on.
func (n *run) gate(r *Reconciler) func(context.Context, apply.Phase, *plan.Plan) error {
	return func(ctx context.Context, phase apply.Phase, _ *plan.Plan) error {
		if err := r.checkHeadLocked(ctx, n); err != nil {
			return err
		}
		if err := r.checkRecord(ctx, n); err != nil {
			return orInterrupted(ctx, err)
		}
		n.phase = phase
		return nil
	}
}

// recordResult writes down what became of the plan, reads the state once more, both
// under the lock, and gives the lock back. What fails of that changes nothing of what
// the run did: it is logged, and the next reconcile looks at everything again.
func (r *Reconciler) recordResult(ctx context.Context, n *run, result *engine.Result, runErr error) {
	ctx, cancel := context.WithTimeout(detached(ctx), recordTimeout)
	defer cancel()
	sc := n.scope
	note := func(what string, err error) {
		if err != nil {
			sc.unrecorded = true
			ctrl.LoggerFrom(ctx).Error(err, "cannot "+what+" after a run", "plan", n.record.ChangesetDigest)
		}
	}
	if n.started {
		to, reason := state.PlanApplied, ""
		if runErr != nil {
			to, reason = state.PlanApplyFailed, cut(runErr.Error(), 256)
		}
		if n.handedOver(runErr) {
			reason = handedOver
		}
		_, err := r.Plans.Advance(ctx, sc.partition(), n.record.ID, []state.PlanStatus{state.PlanApplying}, to, reason, n.lock.fence())
		note("record the plan", err)
	}
	if n.started || runErr == nil {
		snapshot, err := r.Store.Load(ctx, sc.partition())
		note("read the state", err)
		switch {
		case err == nil:
			sc.observe(snapshot)
			n.after = snapshot
		case runErr == nil:
			sc.found.state.Resources = resourcesAfter(n.record.Summary)
		}
	}
	note("give the lock back", n.lock.close(ctx))
	if n.used(runErr) {
		sc.found.approval.digest, sc.found.approval.early = sc.approval, nil
	}
	going := n.operation == operationDestroy && runErr == nil // and its view with it
	if n.started && result != nil && !going {
		view := planview.View{Digest: n.record.ChangesetDigest, Plan: result.Plan, Report: result.Report}
		if view.Plan == nil {
			view.Plan = n.planned.plan
		}
		if runErr != nil {
			view.Failed = describe(runErr)
		}
		sc.warn(view.Plan)
		r.show(ctx, sc, view)
	}
}

// used reports whether the approval that is there was for this plan and is used up.
func (n *run) used(runErr error) bool {
	return n.scope.approval == n.record.ChangesetDigest && (n.started || runErr == nil)
}

// resourcesAfter is how many resources a plan leaves when all of it was done.
func resourcesAfter(s state.PlanSummary) int32 {
	return int32(min(s.Create+s.Update+s.Replace+s.StateOnly+s.Unchanged, 1<<30))
}
