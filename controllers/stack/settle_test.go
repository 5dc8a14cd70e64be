package stack

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/controllers/internal/source"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// stackAt is a Stack of a generation, with the spec's defaults.
func stackAt(generation int64) *v1alpha1.Stack {
	return &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Generation: generation}}
}

// brief shows the conditions as "Ready=False/Reason" and the like.
func brief(status v1alpha1.StackStatus) []string {
	var out []string
	for _, c := range status.Conditions {
		out = append(out, fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason))
	}
	return out
}

// The table of reasons (operator.md 1.3, engine.md 4.10): for every error what the
// conditions say, whether it is tried again, and what an unchanged Stack may skip.
func TestRefused(t *testing.T) {
	_, invalid := source.Resolve(t.Context(), nil, &v1alpha1.Stack{})
	kind := func(k model.Kind, c model.Class) error { return model.Errorf(k, c, "it") }
	because := func(c model.Class, cause error) error { return model.Errorf(model.StateError, c, "it: %w", cause) }
	const stalled, reconciling = "Stalled=True/", "Reconciling=True/"
	cases := []struct {
		err   error
		at    stage
		ready string
		other []string
		again again
	}{
		{kind(model.LanguageError, model.ClassUser), stagePlan, "CompileFailed", []string{stalled + "CompileFailed"}, againNever},
		{kind(model.CycleError, model.ClassUser), stagePlan, "CompileFailed", []string{stalled + "CompileFailed"}, againNever},
		{kind(model.IRError, model.ClassUser), stagePlan, "CompileFailed", []string{stalled + "CompileFailed"}, againNever},
		{kind(model.AtlantideError, model.ClassUser), stagePlan, "CompileFailed", []string{stalled + "CompileFailed"}, againNever},
		{kind(model.FuelExhaustedError, model.ClassUser), stagePlan, "FuelExhausted", []string{stalled + "FuelExhausted"}, againNever},
		{invalid, stagePlan, "InputInvalid", []string{stalled + "InputInvalid"}, againNever},
		{kind(model.ProviderError, model.ClassUser), stagePlan, "InputInvalid", []string{stalled + "InputInvalid"}, againNever},
		{kind(model.PreventDestroyError, model.ClassUser), stagePlan, "PreventDestroy", []string{stalled + "PreventDestroy"}, againNever},
		{kind(model.SecretsError, model.ClassTransient), stagePlan, "SecretsUnavailable", []string{reconciling + "SecretsUnavailable"}, againBackoff},
		{kind(model.SecretsError, model.ClassTransient), stageRun, "SecretsUnavailable", []string{reconciling + "SecretsUnavailable"}, againBackoff},
		{kind(model.SecretsError, model.ClassTransient), stageDestroy, "SecretsUnavailable", []string{reconciling + "SecretsUnavailable"}, againBackoff},
		{kind(model.SecretsError, model.ClassUser), stagePlan, "SecretsUnavailable", []string{stalled + "SecretsUnavailable"}, againNever},
		{kind(model.PolicyViolationError, model.ClassUser), stageRun, "PolicyViolation", []string{stalled + "PolicyViolation", "PolicyViolated=True/PolicyViolation"}, againNever},
		{kind(model.PreventDestroyError, model.ClassUser), stageDestroy, "PreventDestroy", []string{stalled + "PreventDestroy"}, againNever},
		{because(model.ClassUser, state.ErrNameTaken), stagePlan, "StateKeyConflict", []string{stalled + "StateKeyConflict"}, againInterval},
		{because(model.ClassUser, state.ErrForeignInstallation), stagePlan, "StateKeyConflict", []string{stalled + "StateKeyConflict"}, againInterval},
		{kind(model.StateError, model.ClassUser), stagePlan, "InputInvalid", []string{stalled + "InputInvalid"}, againNever},
		{kind(model.StateError, model.ClassUser), stageRun, "InputInvalid", []string{stalled + "InputInvalid"}, againNever},
		{kind(model.AtlantideError, model.ClassTransient), stageRun, "ApplyHalted", []string{reconciling + "ApplyHalted"}, againBackoff},
		{because(model.ClassTransient, state.ErrUnavailable), stagePlan, "StateUnavailable", []string{reconciling + "StateUnavailable"}, againBackoff},
		{because(model.ClassTransient, state.ErrUnavailable), stageDestroy, "StateUnavailable", []string{reconciling + "StateUnavailable"}, againBackoff},
		{because(model.ClassUser, state.ErrNewerSchema), stagePlan, "StateUnavailable", []string{reconciling + "StateUnavailable"}, againBackoff},
		{because(model.ClassTransient, state.ErrPlanApplying), stagePlan, "", []string{reconciling + "LeaseHeld", "Locked=True/LeaseHeld"}, againPoll},
		{kind(model.LockError, model.ClassTransient), stageRun, "", []string{reconciling + "LeaseHeld", "Locked=True/LeaseHeld"}, againPoll},
		{kind(model.LeaseLostError, model.ClassTransient), stageRun, "LeaseLost", []string{reconciling + "LeaseLost"}, againBackoff},
		{kind(model.FencedWriteError, model.ClassTransient), stageRun, "LeaseLost", []string{reconciling + "LeaseLost"}, againBackoff},
		{kind(model.PlanDriftError, model.ClassTransient), stageRun, "PlanDrifted", []string{reconciling + "PlanDrifted"}, againNow},
		{because(model.ClassTransient, state.ErrStalePlan), stagePlan, "PlanDrifted", []string{reconciling + "PlanDrifted"}, againNow},
		{kind(model.InterruptedRunError, model.ClassTransient), stageRun, "Progressing", []string{reconciling + "Progressing"}, againNow},
		{kind(model.ProviderError, model.ClassTransient), stageRun, "ApplyHalted", []string{reconciling + "ApplyHalted"}, againBackoff},
		{kind(model.ProviderError, model.ClassUnknown), stageRun, "ApplyHalted", []string{reconciling + "ApplyHalted"}, againBackoff},
		{kind(model.ProviderError, model.ClassUser), stageRun, "ApplyHalted", []string{stalled + "ApplyHalted"}, againNever},
		{kind(model.ProviderError, model.ClassTransient), stageDestroy, "Destroying", []string{reconciling + "Destroying"}, againBackoff},
		{errors.New("the API server is away"), stagePlan, "Progressing", []string{reconciling + "Progressing"}, againBackoff},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%v at %d", c.err, c.at), func(t *testing.T) {
			o := refused(c.err, c.at)
			was := v1alpha1.StackStatus{Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Applied"}}}
			ready := "Ready=False/" + c.ready
			switch c.ready {
			case "":
				ready = "Ready=True/Applied" // somebody else's work says nothing about this Stack
			case "StateUnavailable":
				ready = "Ready=Unknown/StateUnavailable"
			}
			next := settle(was, stackAt(1), findings{}, o, noon)
			if diff := cmp.Diff(append([]string{ready}, c.other...), brief(next)); diff != "" {
				t.Error(diff)
			}
			if o.again != c.again {
				t.Errorf("again %d, want %d", o.again, c.again)
			}
			if remembered := o.concluded != 0; remembered != (c.again == againNever) {
				t.Errorf("remembered: %v", remembered)
			}
			if retried := next.Failure != nil && next.Failure.NextRetryTime != nil; retried != (c.again == againBackoff || c.again == againNow && o.failed != nil) {
				t.Errorf("failure %+v", next.Failure)
			}
		})
	}
}

func TestReadyWhileTheStoreIsAway(t *testing.T) {
	away := refused(model.Errorf(model.StateError, model.ClassTransient, "it: %w", state.ErrUnavailable), stagePlan)
	for _, c := range []struct {
		reason     string
		was        []metav1.Condition
		want, next metav1.ConditionStatus
	}{
		{"never seen", nil, "False", "False"},
		{"was not ready", []metav1.Condition{{Type: "Ready", Status: "False", Reason: "CompileFailed"}}, "False", "False"},
		{"was ready", []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Applied"}}, "Unknown", "Unknown"},
		{"was in its first run", []metav1.Condition{{Type: "Ready", Status: "Unknown", Reason: "Progressing"}}, "False", "False"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			status := v1alpha1.StackStatus{Conditions: c.was}
			for i, want := range []metav1.ConditionStatus{c.want, c.next} {
				status = settle(status, stackAt(1), findings{}, away, noon)
				if got := meta.FindStatusCondition(status.Conditions, "Ready").Status; got != want {
					t.Errorf("try %d: Ready=%s, want %s", i+1, got, want)
				}
			}
			if status.Failure.Count != 2 {
				t.Errorf("%d failures", status.Failure.Count)
			}
			if status = settle(status, stackAt(1), findings{}, steady(2, nil), noon); status.Failure != nil || !meta.IsStatusConditionTrue(status.Conditions, "Ready") || len(status.Conditions) != 1 {
				t.Errorf("after it came back: %v, %+v", brief(status), status.Failure)
			}
		})
	}
}

// Law: settling the same outcome twice changes nothing more, unless it counts a failure,
// and observedGeneration never moves back.
func TestSettleLaw(t *testing.T) {
	outcomes := []outcome{
		steady(1, nil), applied(1, []string{"it"}, "+1 ~0 ±0 -0"), unfinished("+1 ~0 ±0 -0", nil), unfinished("+1 ~0 ±0 -0", []string{"it"}), {label: labelUnchanged, kept: true},
		refused(model.Errorf(model.LanguageError, model.ClassUser, "it"), stagePlan),
		refused(model.Errorf(model.LockError, model.ClassTransient, "it"), stageRun),
		waiting(verdictWaiting, &v1alpha1.StackPlan{Digest: digestA}, "", ""),
		blocked(v1alpha1.ReasonDeletionSuspended, "it"),
		refused(model.Errorf(model.StateError, model.ClassUser, "it: %w", state.ErrNameTaken), stagePlan), lookAgain(),
	}
	rapid.Check(t, func(t *rapid.T) {
		status, highest := v1alpha1.StackStatus{}, int64(0)
		for i := range rapid.IntRange(1, 8).Draw(t, "steps") {
			o := rapid.SampledFrom(outcomes).Draw(t, "outcome")
			stack := stackAt(rapid.Int64Range(1, 4).Draw(t, "generation"))
			now := noon.Add(time.Duration(i) * time.Minute)
			status = settle(status, stack, findings{}, o, now)
			if !o.kept {
				highest = max(highest, stack.Generation)
			}
			if status.ObservedGeneration != highest {
				t.Fatalf("observedGeneration %d, want %d", status.ObservedGeneration, highest)
			}
			again := settle(status, stack, findings{}, o, now.Add(time.Hour))
			if o.failed != nil && o.failed.class != model.ClassUser {
				again.Failure = status.Failure
			}
			if diff := cmp.Diff(status, again); diff != "" {
				t.Fatalf("the same outcome again would write:\n%s", diff)
			}
			if !o.kept && len(status.Conditions) != 1+len(o.abnormal) {
				t.Fatalf("conditions %v for %v", brief(status), o.abnormal)
			}
		}
	})
}

// A change that the API server did not take because the cache was behind says nothing
// about the Stack.
func TestNotWritten(t *testing.T) {
	resource := schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: "stacks"}
	for _, c := range []struct {
		err   error
		quiet bool
	}{
		{apierrors.NewConflict(resource, "s", errors.New("it moved")), true},
		{apierrors.NewNotFound(resource, "s"), true},
		{apierrors.NewForbidden(resource, "s", errors.New("no rights")), false},
		{errors.New("the API server is away"), false},
	} {
		o := notWritten(c.err, stagePlan)
		was := v1alpha1.StackStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Applied"}}}
		next := settle(was, stackAt(2), findings{}, o, noon)
		if quiet := cmp.Equal(was, next) && o.event == nil && o.again == againSoon; quiet != c.quiet {
			t.Errorf("%v: quiet %v, %v", c.err, quiet, brief(next))
		}
	}
}

// A lock in status goes with the run it was of, also while nothing else is written.
func TestUnlocked(t *testing.T) {
	was := v1alpha1.StackStatus{Lock: &v1alpha1.StackLock{Epoch: 4}, ObservedGeneration: 1}
	suspended := outcome{label: labelSuspended, kept: true}
	if next := settle(was, stackAt(2), findings{}, suspended, noon); next.Lock == nil {
		t.Error("a run that may live lost its lock in status")
	}
	if next := settle(was, stackAt(2), findings{unlocked: true}, suspended, noon); next.Lock != nil || next.ObservedGeneration != 1 {
		t.Errorf("status %+v", next)
	}
}

func TestDelay(t *testing.T) {
	spec := func(interval, retry time.Duration) *v1alpha1.StackSpec {
		s := &v1alpha1.StackSpec{}
		if interval != 0 {
			s.Interval = &metav1.Duration{Duration: interval}
		}
		if retry != 0 {
			s.RetryInterval = &metav1.Duration{Duration: retry}
		}
		return s
	}
	cases := []struct {
		reason   string
		spec     *v1alpha1.StackSpec
		when     again
		failures int32
		want     time.Duration
	}{
		{"never", spec(0, 0), againNever, 3, 0},
		{"the usual interval", spec(0, 0), againInterval, 0, 10 * time.Minute},
		{"one's own interval", spec(time.Hour, 0), againInterval, 0, time.Hour},
		{"an interval from before the schema", spec(time.Second, 0), againInterval, 0, time.Minute},
		{"first failure", spec(0, 0), againBackoff, 1, 10 * time.Second},
		{"second failure", spec(0, 0), againBackoff, 2, 20 * time.Second},
		{"seventh failure", spec(0, 0), againBackoff, 7, 640 * time.Second},
		{"eighth failure", spec(0, 0), againBackoff, 8, 15 * time.Minute},
		{"long after", spec(0, 0), againBackoff, 1 << 30, 15 * time.Minute},
		{"one's own retry interval", spec(0, time.Minute), againBackoff, 9, time.Minute},
		{"at once", spec(0, 0), againNow, 1, time.Millisecond},
		{"at once, again and again", spec(0, 0), againNow, 2, 10 * time.Second},
		{"while another run works", spec(0, 0), againPoll, 5, 10 * time.Second},
		{"while the cache is behind", spec(0, time.Hour), againSoon, 5, 200 * time.Millisecond},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			if got := delay(c.spec, c.when, c.failures); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
