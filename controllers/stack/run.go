package stack

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/controllers/internal/planview"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/apply"
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
func (r *Reconciler) apply(ctx context.Context, p *pass, m *making, record *state.PlanRecord, v verdict) outcome {
	run := r.begin(p, m, record, v, operationApply)
	if err := r.unmovedHead(ctx, run); err != nil {
		return refused(err, stagePlan)
	}
	result, err := r.Engine.Apply(ctx, engine.ApplyRequest{
		Compilation: m.compilation, Partition: p.partition(), Store: r.Store, Locker: run.lock,
		Owner: p.owner(), OnFailure: plan.OnFailureHalt, Expect: record.ChangesetDigest, Gate: run.gate(r),
	})
	err = r.conclude(ctx, run, result, err)
	if err != nil {
		return run.failed(err, stageRun)
	}
	run.succeeded(metav1.NewTime(r.Now()).Rfc3339Copy())
	return applied(p.found.state.Resources, p.found.plan.Text)
}

// run is a plan on its way through the engine.
type run struct {
	pass      *pass
	making    *making
	record    *state.PlanRecord
	verdict   verdict
	operation string
	lock      *runLock
	started   bool // the record says Applying
}

func (r *Reconciler) begin(p *pass, m *making, record *state.PlanRecord, v verdict, operation string) *run {
	n := &run{pass: p, making: m, record: record, verdict: v, operation: operation}
	decision := v1alpha1.PlanPending
	if v == verdictApproved {
		decision = v1alpha1.PlanApproved
	}
	p.found.plan = planStatus(record, decision)
	n.lock = &runLock{
		inner: r.Leases.For(p.key(), p.stack.UID),
		taken: func(ctx context.Context, fence model.Fence) { r.announce(ctx, n, fence) },
	}
	return n
}

// announce shows the lock in status, with the plan that is about to run. It is the one
// write besides the last; a run does not depend on it.
func (r *Reconciler) announce(ctx context.Context, n *run, fence model.Fence) {
	p := n.pass
	o := outcome{
		reason: v1alpha1.ReasonProgressing, message: "plan " + p.found.plan.Text + " is being applied",
		abnormal: []string{v1alpha1.ConditionReconciling}, again: againPoll,
	}
	if p.stack.Status.ObservedGeneration != p.stack.Generation {
		o.ready = metav1.ConditionUnknown
	}
	if n.operation == operationDestroy {
		o.ready, o.reason, o.message = metav1.ConditionFalse, v1alpha1.ReasonDestroying, "plan "+p.found.plan.Text+" is being applied before the Stack goes"
	}
	lock := &v1alpha1.StackLock{
		Lease: r.Leases.Name(p.key(), p.stack.UID), Epoch: fence.Epoch, Holder: fence.Holder,
		Operation: n.operation, AcquiredAt: metav1.NewTime(r.Now()).Rfc3339Copy(),
	}
	found := p.found
	found.request = "" // answered at the end
	next := settle(p.stack.Status, p.stack, found, o, r.Now())
	next.Lock = lock
	if _, err := r.write(ctx, p.stack, next); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot show the lock in status")
	}
}

// gate is asked under the lock before each phase (AP-16 to AP-25): the head, read from
// the API server, and the record must be those that were decided on.
func (n *run) gate(r *Reconciler) func(context.Context, apply.Phase, *plan.Plan) error {
	return func(ctx context.Context, _ apply.Phase, _ *plan.Plan) error {
		if err := r.unmovedHead(ctx, n); err != nil {
			return err
		}
		return r.unmovedRecord(ctx, n)
	}
}

// conclude records what became of the plan and reads the state once more, both under
// the lock, and gives the lock back. It returns the run's error, or its own.
func (r *Reconciler) conclude(ctx context.Context, n *run, result *engine.Result, runErr error) error {
	ctx, cancel := context.WithTimeout(detached(ctx), recordTimeout)
	defer cancel()
	err := runErr
	if n.started {
		to, reason := state.PlanApplied, ""
		if runErr != nil {
			to, reason = state.PlanApplyFailed, cut(runErr.Error(), 256)
		}
		if _, e := r.Plans.Advance(ctx, n.pass.partition(), n.record.ID, []state.PlanStatus{state.PlanApplying}, to, reason, n.lock.fence()); e != nil && err == nil {
			err = e
		}
	}
	if n.started || runErr == nil {
		if snapshot, e := r.Store.Load(ctx, n.pass.partition()); e == nil {
			n.pass.sees(snapshot)
		} else if err == nil {
			err = e
		}
	}
	if e := n.lock.close(ctx); e != nil && err == nil {
		err = e
	}
	going := n.operation == operationDestroy && runErr == nil // and its view with it
	if n.started && result != nil && !going {
		view := planview.View{Digest: n.record.ChangesetDigest, Plan: result.Plan, Report: result.Report}
		if view.Plan == nil {
			view.Plan = n.making.plan
		}
		if runErr != nil {
			view.Failed = describe(runErr)
		}
		r.show(ctx, n.pass, view)
	}
	return err
}

// succeeded takes over into status what the run did.
func (n *run) succeeded(now metav1.Time) {
	p := n.pass
	p.found.plan = planStatus(n.record, v1alpha1.PlanApplied)
	p.found.lastApplied = &v1alpha1.StackApplied{
		IRDigest: n.record.Head.ArtifactDigest, PlanDigest: n.record.ChangesetDigest,
		Time: now, StateSerial: p.found.state.Serial,
	}
	used := p.approval == n.record.ChangesetDigest
	handled := handledApproval(p.approval, p.stack.Status.LastHandledApproval, n.verdict, used)
	p.found.approval = &handled
}

// failed is the outcome of a run that did not do all of its plan.
func (n *run) failed(err error, at stage) outcome {
	o := refused(err, at)
	if n.verdict == verdictApproved && o.reason == v1alpha1.ReasonPlanDrifted {
		o.abnormal = append(o.abnormal, v1alpha1.ConditionApprovalRequired)
	}
	return o
}
