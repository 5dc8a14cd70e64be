package stack

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

	failed    *failedTry // counts as a failed try
	again     again
	concluded conclusion // what an unchanged fingerprint may skip; 0 = nothing
	event     *notice
	gone      bool // there is no object any more to write to
}

type failedTry struct {
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
	againSoon                  // when the cache has caught up
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
	case reason == v1alpha1.ReasonStateKeyConflict:
		return conflicting(err)
	case kind == model.InterruptedRunError:
		return outcome{
			label: labelRetry, ready: metav1.ConditionFalse, reason: v1alpha1.ReasonProgressing, again: againNow,
			message: bounded("handed over while the operator stops; the rest is planned again: " + err.Error()), abnormal: []string{v1alpha1.ConditionReconciling},
		}
	}
	o := outcome{
		label: labelRetry, ready: metav1.ConditionFalse, reason: reason, message: describe(err),
		abnormal: []string{v1alpha1.ConditionReconciling},
		failed:   &failedTry{class: model.ClassOf(err), node: nodeOf(err)},
		again:    againBackoff,
	}
	if o.failed.class == model.ClassUser && reason != v1alpha1.ReasonStateUnavailable {
		o.label, o.abnormal, o.again, o.concluded = labelStalled, []string{v1alpha1.ConditionStalled}, againNever, concludedStalled
	}
	if reason == v1alpha1.ReasonPolicyViolation {
		o.abnormal = append(o.abnormal, v1alpha1.ConditionPolicyViolated)
	}
	o.event = &notice{eventWarning, reason, "Reconcile", o.message}
	return o
}

// because is the outcome under another reason.
func (o outcome) because(reason string) outcome {
	o.reason = reason
	if o.event != nil {
		event := *o.event
		event.reason = reason
		o.event = &event
	}
	return o
}

// with is the outcome with more to say at the end of its message.
func (o outcome) with(more string) outcome {
	if more == "" {
		return o
	}
	return o.saying(cut(o.message, maxMessage-len(more)) + more)
}

// saying is the outcome with another message.
func (o outcome) saying(message string) outcome {
	o.message = message
	if o.event != nil {
		event := *o.event
		event.note = message
		o.event = &event
	}
	return o
}

// scrubbed is the outcome of a failure without any secret that the reconcile read: the text
// of others may repeat what they were called with (EX-41).
func (sc *scope) scrubbed(o outcome) outcome {
	if sc.session == nil || !o.quotes() {
		return o
	}
	return o.saying(bounded(sc.session.Scrub(o.message)))
}

// quotes reports whether the message of an outcome may hold what a provider said.
func (o outcome) quotes() bool {
	return o.failed != nil || o.label == labelRetry || o.reason == v1alpha1.ReasonCancelled
}

// notWritten is the outcome of a change of the Stack itself that the API server did not
// take. A conflict only says that the cache was behind.
func notWritten(err error, at stage) outcome {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return lookAgain()
	}
	return refused(err, at)
}

// lookAgain is the outcome of a reconcile that was overtaken: it says nothing.
func lookAgain() outcome { return outcome{label: labelReplan, kept: true, again: againSoon} }

// conflicting is the outcome of a name or a state that belongs to somebody else. Only a
// change mends it, but one of the other's: it is looked at again by itself.
func conflicting(err error) outcome {
	o := outcome{
		label: labelStalled, ready: metav1.ConditionFalse, reason: v1alpha1.ReasonStateKeyConflict, message: describe(err),
		abnormal: []string{v1alpha1.ConditionStalled}, failed: &failedTry{class: model.ClassUser}, again: againInterval,
	}
	o.event = &notice{eventWarning, o.reason, "Reconcile", o.message}
	return o
}

// replanned is the outcome of a run that found another head or changeset under the
// lock than the one that was decided on: it started nothing, or nothing more.
func replanned(err error) outcome {
	return outcome{
		label: labelReplan, ready: metav1.ConditionFalse, reason: v1alpha1.ReasonPlanDrifted, message: describe(err),
		abnormal: []string{v1alpha1.ConditionReconciling}, failed: &failedTry{class: model.ClassTransient}, again: againNow,
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
	case model.SecretsError:
		return v1alpha1.ReasonSecretsUnavailable, kind
	case model.PolicyViolationError:
		return v1alpha1.ReasonPolicyViolation, kind
	case model.StateError:
		if model.ClassOf(err) == model.ClassUser && !errors.Is(err, state.ErrNewerSchema) {
			return v1alpha1.ReasonInputInvalid, kind // what is declared cannot be recorded
		}
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
func steady(resources int32, warnings []string) outcome {
	o := outcome{
		label: labelSteady, ready: metav1.ConditionTrue, reason: v1alpha1.ReasonApplied,
		message: counted(int(resources), "resource") + " as declared",
		again:   againInterval, concluded: concludedSteady,
	}
	switch n := len(warnings); {
	case n == 1:
		o.message += "; warning: " + warnings[0]
	case n > 1:
		o.message += fmt.Sprintf("; %d warnings, the first: %s", n, warnings[0])
	}
	o.message = bounded(o.message)
	return o
}

// applied is the outcome of a run after which there is nothing left to do.
func applied(resources int32, warnings []string, text string) outcome {
	o := steady(resources, warnings)
	o.label = labelApplied
	o.event = &notice{eventNormal, v1alpha1.ReasonApplied, "Apply", bounded(fmt.Sprintf("applied %s; %s", text, o.message))}
	return o
}

// waiting is the outcome of a plan that may not run yet. given is the approval, as a
// token, and superseded the digest of an approved plan that this one took the place of,
// "" if there is none.
func waiting(v verdict, plan *v1alpha1.StackPlan, given, superseded string) outcome {
	o := outcome{
		label: labelWaiting, ready: metav1.ConditionFalse, reason: v1alpha1.ReasonApprovalRequired,
		abnormal: []string{v1alpha1.ConditionApprovalRequired}, again: againInterval, concluded: concludedWaiting,
	}
	var b strings.Builder
	if superseded != "" {
		o.reason = v1alpha1.ReasonPlanDrifted
		fmt.Fprintf(&b, "the approved plan %s is superseded, its approval is void; ", short(superseded))
	}
	fmt.Fprintf(&b, "plan %s waits for approval; approve it with the annotation %s=%s", plan.Text, v1alpha1.AnnotationApprove, plan.Digest)
	switch v {
	case verdictSpent:
		b.WriteString("; the annotation that is there was used or void before: take it off first")
	case verdictEarly:
		fmt.Fprintf(&b, "; the approval that is there is for plan %s and waits for it", short(given))
	default:
	}
	o.message = bounded(b.String())
	o.event = &notice{eventNormal, o.reason, "Plan", o.message}
	switch {
	case v == verdictEarly:
		o.event = &notice{eventWarning, v1alpha1.EventApprovalDigestMismatch, "Approve", bounded(fmt.Sprintf(
			"the approval is for plan %s and waits for it; pending is %s", given, plan.Digest))}
	case v == verdictMismatch && superseded == "":
		o.event = &notice{eventWarning, v1alpha1.EventApprovalDigestMismatch, "Approve", bounded(fmt.Sprintf(
			"the approval is not the full digest of a plan, \"sha256:\" and 64 hex digits, and approves nothing; pending is %s", plan.Digest))}
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
