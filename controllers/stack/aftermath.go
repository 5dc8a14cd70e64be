package stack

import (
	"context"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/controllers/internal/planstore"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// ranThrough is the outcome of a run that did all of its plan. It makes the Stack steady
// only if a plan of what is recorded now finds nothing more: what the run put off, and what
// follows from what it made (DF-13), is another plan's, which people see before it runs.
func (r *Reconciler) ranThrough(ctx context.Context, n *run, result *engine.Result) outcome {
	sc := n.scope
	left, known := r.remaining(ctx, n, result)
	if !known || len(left) > 0 {
		return unfinished(sc.found.plan.Text, left)
	}
	return applied(sc.found.state.Resources, sc.warnings, sc.found.plan.Text)
}

// remaining names what a plan after a run would do, from what the run saw of source and
// secrets, with why the run did not. When it is not known, the next reconcile says why.
func (r *Reconciler) remaining(ctx context.Context, n *run, result *engine.Result) (left []string, known bool) {
	if n.after == nil {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(detached(ctx), recordTimeout)
	defer cancel()
	next, err := r.planOf(ctx, n.scope, n.planned.compilation, n.after)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot plan once more after a run", "plan", n.record.ChangesetDigest)
		return nil, false
	}
	if planstore.Idle(next) {
		n.scope.warn(next)
		r.mark(ctx, n.scope, next)
		return nil, true
	}
	for i := range next.Changes {
		if c := &next.Changes[i]; c.Pending() {
			name := cut(c.NodeID, 128)
			if result != nil && result.Report != nil && result.Report.PutOff[c.NodeID] != "" {
				name += " (" + cut(result.Report.PutOff[c.NodeID], 256) + ")"
			}
			left = append(left, name)
		}
	}
	if len(left) == 0 {
		left = []string{"the outputs"}
	}
	return left, true
}

// unfinished is the outcome of a run that did all of its plan and after which more is to be
// done, or may be: that is planned at once. It counts as a try that failed, so that what
// never comes to rest is tried ever more seldom.
func unfinished(text string, left []string) outcome {
	o := outcome{
		label: labelApplied, ready: metav1.ConditionFalse, reason: v1alpha1.ReasonProgressing,
		message:  "applied " + text + "; whether anything is left to do is looked at next",
		abnormal: []string{v1alpha1.ConditionReconciling}, again: againNow,
	}
	if len(left) > 0 {
		o.message = bounded("applied " + text + "; left for the next plan: " + listed(left))
		o.failed = &failedTry{class: model.ClassTransient}
	}
	o.event = &notice{eventNormal, v1alpha1.ReasonApplied, "Apply", o.message}
	return o
}

// aftermath says what became of what a failed run did, "" if there is nothing to say.
func aftermath(report *apply.Report) string {
	undone, failed := 0, []string{}
	for _, id := range report.RolledBack {
		if _, no := report.RollbackFailed[id]; !no {
			undone++
		}
	}
	for id := range report.RollbackFailed {
		failed = append(failed, cut(id, 128))
	}
	text := ""
	if undone > 0 {
		text = "; " + counted(undone, "change") + " rolled back"
	}
	if len(failed) > 0 {
		text += "; not rolled back: " + listed(failed)
	}
	if report.RollbackSkipped != nil {
		text += "; " + *report.RollbackSkipped
	}
	return cut(text+mayBeLeft(report), maxMessage/3)
}

// mayBeLeft names what a run may have left behind that nothing will find again, with why,
// "" if there is nothing to say (EX-26, EX-35).
func mayBeLeft(report *apply.Report) string {
	var reasons []string
	for _, id := range slices.Sorted(maps.Keys(report.Orphaned)) {
		reasons = append(reasons, cut(id, 128)+": "+cut(report.Orphaned[id], 256))
	}
	if len(reasons) == 0 {
		return ""
	}
	return "; may be left behind: " + model.Listed(reasons, "; ")
}

// tellLeftBehind announces what a run that did all of its plan may have left behind. The
// conditions do not say so: the next plan could not tell it again.
func (r *Reconciler) tellLeftBehind(sc *scope, result *engine.Result) {
	if result == nil || result.Report == nil {
		return
	}
	if text := strings.TrimPrefix(mayBeLeft(result.Report), "; "); text != "" {
		r.emit(sc.stack, &notice{eventWarning, v1alpha1.EventLeftBehind, "Apply", bounded(text)})
	}
}
