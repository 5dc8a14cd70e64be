package stack

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/controllers/internal/source"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

// compiled is a compilation with the revision of the source that it was made from.
type compiled struct {
	revision    string
	compilation *ir.Compilation
}

// stillSteady is the first look of a process at a Stack that status shows as steady: one
// compile and one indexed query tell whether it still is, with no state read and no plan
// made. Whatever is not certain is planned, which finds everything else and says what is
// wrong; so is every Stack that reads secrets or data, which the mark is never set for.
func (r *Reconciler) stillSteady(ctx context.Context, sc *scope) (outcome, bool) {
	if !r.memory.meet(sc.key()) || !sc.saidSteady() {
		return outcome{}, false
	}
	// The version comes before the content, as in plan.
	version, err := r.sourceVersion(ctx, sc.stack)
	if err != nil {
		return outcome{}, false
	}
	from, err := source.Resolve(ctx, r.Live, sc.stack)
	if err != nil {
		return outcome{}, false
	}
	c, err := r.compile(ctx, sc, from)
	if err != nil {
		return outcome{}, false
	}
	// The artifact with its revision, and the generation, are the head that was planned and
	// recorded before status said so.
	if len(sc.warnings) > 0 || artifactOf(headOf(sc.stack, from, c)) != *sc.stack.Status.Artifact {
		return outcome{}, false
	}
	serial, unchanged, err := r.Engine.Unchanged(ctx, engine.UnchangedRequest{
		Compilation: c, Partition: sc.partition(), Store: r.Store, Owner: sc.owner(),
	})
	if err != nil || !unchanged || serial != sc.stack.Status.State.Serial {
		return outcome{}, false
	}
	sc.fingerprint.sourceVersion, sc.fingerprint.serial = version, serial
	return steady(sc.stack.Status.State.Resources, nil), true
}

// saidSteady reports whether status shows this generation as applied, with no run, no plan
// and no approval that anything may still come of.
func (sc *scope) saidSteady() bool {
	status := &sc.stack.Status
	return meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady) && readyReason(status) == v1alpha1.ReasonApplied &&
		status.ObservedGeneration == sc.stack.Generation && status.Artifact != nil && status.State != nil &&
		status.Lock == nil && status.Failure == nil && awaited(status) == "" &&
		status.LastHandledApproval == sc.approval && status.EarlyApproval == nil
}

// mark leaves for the next process what a plan with nothing to do found out. Without it that
// one plans once more.
func (r *Reconciler) mark(ctx context.Context, sc *scope, p *plan.Plan) {
	if err := r.Engine.Remember(ctx, sc.partition(), r.Store, sc.owner(), p); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot mark what is recorded as applied")
	}
}
