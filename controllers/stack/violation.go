package stack

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/controllers/internal/planview"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// violates is the outcome of a plan that a mandatory policy objects to: it is shown whole,
// and waits for another configuration (PL-13).
func (r *Reconciler) violates(ctx context.Context, sc *scope, pl *planned, record *state.PlanRecord) outcome {
	r.show(ctx, sc, planview.View{Digest: record.ChangesetDigest, Plan: pl.plan})
	sc.found.plan = planStatus(record, v1alpha1.PlanPending)
	return violated(pl.plan)
}

func violated(p *plan.Plan) outcome {
	var objections []string
	for _, v := range p.Violations {
		if v.Level == plan.LevelMandatory {
			objections = append(objections, v.Policy+" on "+v.NodeID+": "+v.Message)
		}
	}
	o := outcome{
		label: labelStalled, ready: metav1.ConditionFalse, reason: v1alpha1.ReasonPolicyViolation,
		message:  bounded("a mandatory policy objects to the plan: " + model.Listed(objections, "; ")),
		abnormal: []string{v1alpha1.ConditionStalled, v1alpha1.ConditionPolicyViolated},
		failed:   &failedTry{class: model.ClassUser}, concluded: concludedStalled,
	}
	o.event = &notice{eventWarning, o.reason, "Plan", o.message}
	return o
}
