package stack

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/controllers/internal/planstore"
	"github.com/atlantide-org/atlantide-operator/controllers/internal/source"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// checkHead reads the Stack and its source from the API server and compares them
// with what the plan was made from (AP-13, AP-14, AP-17, AP-19). What cannot be read
// refuses (AP-15).
func (r *Reconciler) checkHead(ctx context.Context, n *run) error {
	live := &v1alpha1.Stack{}
	err := r.Live.Get(ctx, n.scope.key(), live)
	if apierrors.IsNotFound(err) {
		return staleHead("the Stack is gone")
	}
	if err != nil {
		return model.Errorf(model.AtlantideError, model.ClassTransient, "cannot read the Stack before its plan runs: %w", err)
	}
	if why := headChange(n, live); why != "" {
		return staleHead(why)
	}
	if n.operation == operationDestroy || live.Spec.Source.ConfigMapRef == nil {
		return nil // the generation stands for the source
	}
	from, err := source.Resolve(ctx, r.Live, live)
	if err != nil {
		return err
	}
	if from.Digest != n.record.Head.Revision {
		return staleHead("ConfigMap '" + live.Spec.Source.ConfigMapRef.Name + "' was changed")
	}
	return nil
}

// headChange says what of a Stack is not as the plan was made from, "" if all is.
func headChange(n *run, live *v1alpha1.Stack) string {
	deleting := n.operation == operationDestroy
	head := n.record.Head
	switch {
	case head.UID == "" || string(live.UID) != head.UID:
		return "the Stack was deleted and made again"
	case live.DeletionTimestamp.IsZero() == deleting:
		return "the Stack was deleted"
	case live.Generation != head.Generation:
		return "the Stack was changed"
	case live.Spec.Suspend:
		return "the Stack was suspended"
	case n.verdict == verdictApproved && approvalOf(live) != n.record.ChangesetDigest:
		return "the approval was withdrawn"
	case n.verdict == verdictContinued && approvalToken(approvalOf(live)) != n.scope.approval:
		return "the approval of the run that is continued was withdrawn"
	}
	return ""
}

// checkRecord loads the current record and compares it with the one that runs; the
// first time, it becomes Applying (AP-16, AP-25).
func (r *Reconciler) checkRecord(ctx context.Context, n *run) error {
	partition := n.scope.partition()
	current, err := r.Plans.Current(ctx, partition)
	if err != nil {
		return err
	}
	if n.started {
		return planstore.Check(current, n.record, state.PlanApplying)
	}
	if err := planstore.Check(current, n.record, state.PlanPlanned); err != nil {
		return err
	}
	moved, err := r.Plans.Advance(ctx, partition, n.record.ID, []state.PlanStatus{state.PlanPlanned}, state.PlanApplying, "", n.lock.fence())
	if err != nil {
		return err
	}
	if !moved {
		return staleHead("the plan was superseded")
	}
	n.started, n.scope.ran = true, true
	return nil
}

// staleHead is the error of a head that moved since the plan was made (AP-21).
func staleHead(why string) error {
	return model.Errorf(model.PlanDriftError, model.ClassTransient, "%s after the plan was made; what is left is planned again", why)
}
