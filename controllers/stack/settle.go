package stack

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// findings are what a reconcile learned for status, beside its outcome; nil and ""
// leave what status says.
type findings struct {
	artifact    *v1alpha1.StackArtifact
	plan        *v1alpha1.StackPlan
	lastApplied *v1alpha1.StackApplied
	state       *v1alpha1.StackState
	outputs     *v1alpha1.StackOutputs
	request     string // the request that was acted on, as a token
	approval    *handledApproval
	idle        bool // nothing is pending, so a pending plan is superseded
	unlocked    bool // the run that status shows the lock of has ended
}

// handledApproval is what became of the approval annotation.
type handledApproval struct {
	digest     string // what LastHandledApproval becomes
	early      *v1alpha1.EarlyApproval
	superseded string // digest of the approved plan that another one took the place of
}

// settle is the next status: what was, what was found, and what came out of it. It is
// pure, so that a write that met a conflict can be made again from the newer status.
func settle(was v1alpha1.StackStatus, stack *v1alpha1.Stack, f findings, o outcome, now time.Time) v1alpha1.StackStatus {
	next := *was.DeepCopy()
	if f.request != "" {
		next.LastHandledReconcileAt = f.request
	}
	if f.approval != nil {
		next.LastHandledApproval, next.EarlyApproval = f.approval.digest, f.approval.early
	}
	replace(&next.Artifact, f.artifact)
	replace(&next.Plan, f.plan)
	replace(&next.LastApplied, f.lastApplied)
	replace(&next.State, f.state)
	replace(&next.Outputs, f.outputs)
	if f.idle && awaited(&next) != "" {
		next.Plan.Decision = v1alpha1.PlanSuperseded
	}
	if f.unlocked {
		next.Lock = nil
	}
	if o.kept {
		return next
	}
	next.Lock = nil
	next.ObservedGeneration = max(next.ObservedGeneration, stack.Generation) // never moves back (AP-35)
	conditions(&next, stack.Generation, o, now)
	countFailure(&next, o, now)
	if after := delay(&stack.Spec, o.again, failures(&next)); o.failed != nil && after > 0 && o.again != againInterval {
		retry := metav1.NewTime(now.Add(after)).Rfc3339Copy()
		next.Failure.NextRetryTime = &retry
	}
	return next
}

func replace[T any](old **T, found *T) {
	if found != nil {
		*old = found
	}
}

// conditions writes Ready and exactly those abnormal conditions that are true.
func conditions(next *v1alpha1.StackStatus, generation int64, o outcome, now time.Time) {
	set := func(kind string, status metav1.ConditionStatus) {
		meta.SetStatusCondition(&next.Conditions, metav1.Condition{
			Type: kind, Status: status, Reason: o.reason, Message: o.message,
			ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now).Rfc3339Copy(),
		})
	}
	ready := o.ready
	if ready == "" && meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionReady) == nil {
		ready = metav1.ConditionUnknown
	}
	if o.reason == v1alpha1.ReasonStateUnavailable {
		ready = readyWithoutStore(next.Conditions)
	}
	if ready != "" {
		set(v1alpha1.ConditionReady, ready)
	}
	for _, kind := range []string{
		v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled, v1alpha1.ConditionApprovalRequired,
		v1alpha1.ConditionPolicyViolated, v1alpha1.ConditionLocked,
	} {
		if slices.Contains(o.abnormal, kind) {
			set(kind, metav1.ConditionTrue)
		} else {
			meta.RemoveStatusCondition(&next.Conditions, kind)
		}
	}
}

// readyWithoutStore is Ready while the state store does not answer: what was True is not known
// any more, what was not is still not.
func readyWithoutStore(was []metav1.Condition) metav1.ConditionStatus {
	ready := meta.FindStatusCondition(was, v1alpha1.ConditionReady)
	if ready == nil || ready.Status == metav1.ConditionFalse ||
		ready.Status == metav1.ConditionUnknown && ready.Reason != v1alpha1.ReasonStateUnavailable {
		return metav1.ConditionFalse
	}
	return metav1.ConditionUnknown
}

// countFailure counts tries that failed in a row. What neither failed nor succeeded, a
// lock that somebody else holds, leaves the count; a user's error is one failure however
// often it is looked at.
func countFailure(next *v1alpha1.StackStatus, o outcome, now time.Time) {
	if o.failed == nil {
		if o.again != againPoll {
			next.Failure = nil
		}
		return
	}
	failed := v1alpha1.StackFailure{Count: 1, Class: o.failed.class.String(), Node: o.failed.node, LastTime: metav1.NewTime(now).Rfc3339Copy()}
	switch was := next.Failure; {
	case was == nil:
	case o.failed.class != model.ClassUser:
		failed.Count += was.Count
	case was.Class == failed.Class && was.Node == failed.Node:
		failed.LastTime = was.LastTime
	}
	next.Failure = &failed
}

func failures(status *v1alpha1.StackStatus) int32 {
	if status.Failure == nil {
		return 0
	}
	return status.Failure.Count
}

// Delays that a Stack does not set.
const (
	defaultInterval = 10 * time.Minute
	firstRetry      = 10 * time.Second
	lastRetry       = 15 * time.Minute
	pollDelay       = 10 * time.Second
	soonDelay       = 200 * time.Millisecond // a cache has caught up until then
	nowDelay        = time.Millisecond       // as soon as a delayed queue can
)

// delay is the time until a Stack is looked at again by itself, 0 = not at all.
func delay(spec *v1alpha1.StackSpec, when again, failures int32) time.Duration {
	switch when {
	case againInterval:
		if spec.Interval != nil {
			return min(max(spec.Interval.Duration, time.Minute), 24*time.Hour)
		}
		return defaultInterval
	case againPoll:
		return pollDelay
	case againSoon:
		return soonDelay
	case againNow:
		if failures <= 1 {
			return nowDelay
		}
		return retryDelay(spec, failures-1)
	case againBackoff:
		return retryDelay(spec, failures)
	default:
		return 0
	}
}

func retryDelay(spec *v1alpha1.StackSpec, failures int32) time.Duration {
	if spec.RetryInterval != nil {
		return max(spec.RetryInterval.Duration, 5*time.Second)
	}
	d := firstRetry
	for range min(max(failures, 1), 16) - 1 {
		d = min(2*d, lastRetry)
	}
	return d
}
