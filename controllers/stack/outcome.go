package stack

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/controllers/internal/source"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// outcome is what a reconcile came to: what the conditions will say, when to look
// again, and what to announce. Making one does no I/O.
type outcome struct {
	label string // of atlantide_reconcile_total

	// ready is the status of Ready; "" leaves Ready as it is, kept leaves all
	// conditions so.
	ready    metav1.ConditionStatus
	kept     bool
	reason   string
	message  string
	abnormal []string // the other conditions that are true

	failed *failing // counts as a failed try
	again  again
	ended  ending // what an unchanged sight may skip; 0 = nothing
	event  *notice
	gone   bool // there is no object any more to write to
}

type failing struct {
	class model.Class
	node  string
}

// again says when an outcome is looked at again by itself.
type again int

const (
	againNever    again = iota // only a change wakes it
	againInterval              // after spec.interval
	againNow                   // at once, but after the retry delay from the second failure on
	againBackoff               // after the retry delay
	againPoll                  // while another run works
)

type notice struct {
	kind   string // eventNormal or eventWarning
	reason string
	action string
	note   string
}

// Labels of atlantide_reconcile_total.
const (
	labelGone      = "gone"
	labelUnchanged = "unchanged"
	labelSteady    = "steady"
	labelApplied   = "applied"
	labelWaiting   = "waiting"
	labelStalled   = "stalled"
	labelRetry     = "retry"
	labelLocked    = "locked"
	labelReplan    = "replan"
	labelSuspended = "suspended"
	labelOrphaned  = "orphaned"
	labelDestroyed = "destroyed"
)

// stage is where an error arose; it decides what an error without a documented kind means.
type stage int

const (
	stagePlan    stage = iota // source, inputs, compile, plan
	stageRun                  // under the lock
	stageDestroy              // of a deleted Stack, planning included
)

// refused turns an error into the outcome that its kind and class ask for (engine.md
// 4.10): a user's error stalls until something changes, everything else is tried again.
func refused(err error, at stage) outcome {
	reason, kind := reasonOf(err, at)
	switch {
	case errors.Is(err, state.ErrPlanApplying), reason == v1alpha1.ReasonLeaseHeld:
		return outcome{
			label: labelLocked, reason: v1alpha1.ReasonLeaseHeld, message: describe(err), again: againPoll,
			abnormal: []string{v1alpha1.ConditionReconciling, v1alpha1.ConditionLocked},
		}
	case errors.Is(err, state.ErrStalePlan), kind == model.PlanDriftError:
		return replanned(err)
	case kind == model.InterruptedRunError:
		return outcome{
			label: labelRetry, ready: metav1.ConditionFalse, reason: v1alpha1.ReasonProgressing, again: againNow,
			message: bounded("handed over while the operator stops; the rest is planned again: " + err.Error()), abnormal: []string{v1alpha1.ConditionReconciling},
		}
	}
	o := outcome{
		label: labelRetry, ready: metav1.ConditionFalse, reason: reason, message: describe(err),
		abnormal: []string{v1alpha1.ConditionReconciling},
		failed:   &failing{class: model.ClassOf(err), node: nodeOf(err)},
		again:    againBackoff,
	}
	if o.failed.class == model.ClassUser && reason != v1alpha1.ReasonStateUnavailable {
		o.label, o.abnormal, o.again, o.ended = labelStalled, []string{v1alpha1.ConditionStalled}, againNever, endedStalled
	}
	o.event = &notice{eventWarning, reason, "Reconcile", o.message}
	return o
}

// replanned is the outcome of a run that found another head or changeset under the
// lock than the one that was decided on: nothing was started.
func replanned(err error) outcome {
	return outcome{
		label: labelReplan, ready: metav1.ConditionFalse, reason: v1alpha1.ReasonPlanDrifted, message: describe(err),
		abnormal: []string{v1alpha1.ConditionReconciling}, failed: &failing{class: model.ClassTransient}, again: againNow,
	}
}

// reasonOf is the reason of a condition for an error.
func reasonOf(err error, at stage) (reason string, kind model.Kind) {
	kind = model.KindOf(err)
	if errors.Is(err, state.ErrNameTaken) || errors.Is(err, state.ErrForeignInstallation) {
		return v1alpha1.ReasonStateKeyConflict, kind
	}
	if _, ok := errors.AsType[source.InvalidError](err); ok {
		return v1alpha1.ReasonInputInvalid, kind
	}
	switch kind {
	case model.FuelExhaustedError:
		return v1alpha1.ReasonFuelExhausted, kind
	case model.PreventDestroyError:
		return v1alpha1.ReasonPreventDestroy, kind
	case model.LeaseLostError, model.FencedWriteError:
		return v1alpha1.ReasonLeaseLost, kind
	case model.LockError:
		return v1alpha1.ReasonLeaseHeld, kind
	case model.StateError:
		return v1alpha1.ReasonStateUnavailable, kind
	case model.LanguageError, model.IRError, model.ArtifactError, model.CycleError, model.StackOutputCycleError,
		model.RegistryError, model.ComponentError, model.PolicyConfigError, model.TargetError:
		return v1alpha1.ReasonCompileFailed, kind
	}
	switch {
	case at == stageDestroy:
		return v1alpha1.ReasonDestroying, kind
	case at == stageRun:
		return v1alpha1.ReasonApplyHalted, kind
	case kind == model.ProviderError:
		return v1alpha1.ReasonInputInvalid, kind
	case model.ClassOf(err) == model.ClassUser:
		return v1alpha1.ReasonCompileFailed, kind
	default:
		return v1alpha1.ReasonProgressing, kind
	}
}

func nodeOf(err error) string {
	if e, ok := errors.AsType[*model.Error](err); ok {
		return cut(e.NodeID, 512)
	}
	return ""
}

// steady is the outcome of a Stack whose configuration is what is recorded.
func steady(resources int32) outcome {
	return outcome{
		label: labelSteady, ready: metav1.ConditionTrue, reason: v1alpha1.ReasonApplied,
		message: fmt.Sprintf("%s as declared", counted(int(resources), "resource")),
		again:   againInterval, ended: endedSteady,
	}
}

// applied is the outcome of a run that did all of its plan.
func applied(resources int32, text string) outcome {
	o := steady(resources)
	o.label = labelApplied
	o.event = &notice{eventNormal, v1alpha1.ReasonApplied, "Apply", bounded(fmt.Sprintf("applied %s; %s", text, o.message))}
	return o
}

// waiting is the outcome of a plan that may not run yet. superseded is the digest of
// an approved plan that this one took the place of, "" if there is none.
func waiting(v verdict, plan *v1alpha1.StackPlan, approval, superseded string) outcome {
	o := outcome{
		label: labelWaiting, ready: metav1.ConditionFalse, reason: v1alpha1.ReasonApprovalRequired,
		abnormal: []string{v1alpha1.ConditionApprovalRequired}, again: againInterval, ended: endedWaiting,
	}
	var b strings.Builder
	if superseded != "" {
		o.reason = v1alpha1.ReasonPlanDrifted
		fmt.Fprintf(&b, "the approved plan %s is superseded, its approval is void; ", short(superseded))
	}
	fmt.Fprintf(&b, "plan %s waits for approval; approve it with the annotation %s=%s", plan.Text, v1alpha1.AnnotationApprove, plan.Digest)
	if v == verdictSpent {
		b.WriteString("; the annotation that is there was used or void before: take it off first")
	}
	o.message = bounded(b.String())
	o.event = &notice{eventNormal, o.reason, "Plan", o.message}
	if v == verdictMismatch && superseded == "" {
		o.event = &notice{eventWarning, v1alpha1.EventApprovalDigestMismatch, "Approve", bounded(fmt.Sprintf(
			"the approval %s names no pending plan and approves nothing; pending is %s", cut(approval, 128), plan.Digest))}
	}
	return o
}

// listed names the first few of a set of ids and counts the rest.
func listed(ids []string) string {
	const most = 10
	slices.Sort(ids)
	if len(ids) <= most {
		return strings.Join(ids, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(ids[:most], ", "), len(ids)-most)
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
