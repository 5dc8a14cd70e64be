package stack

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

const (
	digestA = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	digestB = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func TestJudge(t *testing.T) {
	since := func(d time.Duration) *v1alpha1.EarlyApproval {
		return &v1alpha1.EarlyApproval{Digest: digestA, Since: metav1.NewTime(noon.Add(-d))}
	}
	early := func(digest string) *v1alpha1.EarlyApproval {
		return &v1alpha1.EarlyApproval{Digest: digest, Since: metav1.NewTime(noon)}
	}
	invalid := approvalToken
	cases := []struct {
		reason string
		needed bool
		a      approval
		want   verdict
		echo   string // LastHandledApproval afterwards, the plan not having run
		early  *v1alpha1.EarlyApproval
	}{
		{"nothing to approve", false, approval{}, verdictFree, "", nil},
		{"no approval", true, approval{}, verdictWaiting, "", nil},
		{"taking it off forgets the echo", true, approval{handled: digestB}, verdictWaiting, "", nil},
		{"the full digest", true, approval{given: digestA, pending: digestA}, verdictApproved, "", nil},
		{"the full digest, after another one", true, approval{given: digestA, handled: digestB}, verdictApproved, "", nil},
		{"used or void before", true, approval{given: digestA, handled: digestA}, verdictSpent, digestA, nil},
		{"used, as the record alone says", true, approval{given: digestA, used: true}, verdictSpent, digestA, nil},
		{"another plan's digest, seen before", true, approval{given: digestB, handled: digestB}, verdictWaiting, digestB, nil},
		// An approval of the plan that waited so far is void with that plan, whatever
		// took its place.
		{"its plan is superseded by one that waits", true, approval{given: digestB, pending: digestB}, verdictMismatch, digestB, nil},
		{"its plan is superseded by one that needs none", false, approval{given: digestB, pending: digestB}, verdictFree, digestB, nil},
		// One that came before its plan waits for it.
		{"early, beside a plan that waits", true, approval{given: digestB, pending: digestA}, verdictEarly, "", early(digestB)},
		{"early, beside a plan that needs none", false, approval{given: digestB}, verdictFree, "", early(digestB)},
		{"early, for long", true, approval{given: digestB, early: early(digestB), now: noon.Add(time.Hour)}, verdictEarly, "", early(digestB)},
		{"early, its plan is there", true, approval{given: digestA, early: since(earlyLifetime - 1)}, verdictApproved, "", nil},
		{"early, its plan is there too late", true, approval{given: digestA, early: since(earlyLifetime)}, verdictSpent, digestA, nil},
		{"early, and late for another plan", true, approval{given: digestA, early: since(earlyLifetime), pending: digestB}, verdictSpent, digestA, nil},
		{"early, another one in its place", true, approval{given: digestB, early: since(earlyLifetime)}, verdictEarly, "", early(digestB)},
		// What is no digest never approves anything.
		{"a truncated digest", true, approval{given: invalid(digestA[:19])}, verdictMismatch, invalid(digestA[:19]), nil},
		{"without the algorithm", true, approval{given: invalid(digestA[7:])}, verdictMismatch, invalid(digestA[7:]), nil},
		{"upper case", true, approval{given: invalid("SHA256:" + digestA[7:])}, verdictMismatch, invalid("SHA256:" + digestA[7:]), nil},
		{"white space", true, approval{given: invalid(digestA + " ")}, verdictMismatch, invalid(digestA + " "), nil},
		{"no digest, seen before", true, approval{given: invalid("yes"), handled: invalid("yes")}, verdictWaiting, invalid("yes"), nil},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			if c.a.now.IsZero() {
				c.a.now = noon
			}
			if v := c.a.judge(c.needed, digestA); v != c.want {
				t.Errorf("verdict %d, want %d", v, c.want)
			}
			if echo := c.a.handledBy(digestA); echo != c.echo {
				t.Errorf("echo %q, want %q", echo, c.echo)
			}
			if diff := cmp.Diff(c.early, c.a.waitsBeside(digestA)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Law: whatever plans come one after the other, an approval lets at most one run
// through, exactly its own, and none after another plan took the place of its own.
func TestApprovalLaw(t *testing.T) {
	digests := []string{digestA, digestB, digestPrefix + strings.Repeat("c", 64)}
	rapid.Check(t, func(t *rapid.T) {
		status := v1alpha1.StackStatus{}
		given, runs, voided := "", 0, false
		for i := range rapid.IntRange(1, 20).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "annotate") {
				if next := rapid.SampledFrom(append([]string{""}, digests...)).Draw(t, "approval"); next != given {
					given, runs, voided = next, 0, false
				}
			}
			plan := rapid.SampledFrom(digests).Draw(t, "plan")
			needed := rapid.Bool().Draw(t, "needed")
			voided = voided || awaited(&status) == given && given != plan
			a := approval{given: given, handled: status.LastHandledApproval, pending: awaited(&status), early: status.EarlyApproval, now: noon.Add(time.Duration(i) * time.Hour)}
			v := a.judge(needed, plan)
			status.LastHandledApproval, status.EarlyApproval = a.handledBy(plan), a.waitsBeside(plan)
			status.Plan = &v1alpha1.StackPlan{Digest: plan, Decision: v1alpha1.PlanPending}
			if v == verdictApproved {
				if plan != given || voided || runs > 0 {
					t.Fatalf("%s runs under the approval of %s, void %v, after %d runs", plan[7:8], given, voided, runs)
				}
			}
			if !needed || v.mayRun() {
				status.Plan.Decision = v1alpha1.PlanApplied
				if plan == given {
					runs++
					status.LastHandledApproval, status.EarlyApproval = given, nil
				}
			}
			if given != "" && status.EarlyApproval != nil && status.EarlyApproval.Digest != given {
				t.Fatalf("%+v waits, given is %s", status.EarlyApproval, given)
			}
		}
	})
}

func TestUsedUnder(t *testing.T) {
	for _, status := range []state.PlanStatus{
		state.PlanPlanned, state.PlanNoChanges, state.PlanErrored, state.PlanDiscarded, state.PlanSuperseded,
		state.PlanApplying, state.PlanApplied, state.PlanApplyFailed,
	} {
		want := status == state.PlanApplying || status == state.PlanApplied || status == state.PlanApplyFailed
		if got := usedUnder(&state.PlanRecord{ChangesetDigest: digestA, Status: status}, digestA); got != want {
			t.Errorf("%s: %v", status, got)
		}
		if usedUnder(&state.PlanRecord{ChangesetDigest: digestA, Status: status}, digestB) || usedUnder(&state.PlanRecord{Status: status}, "") {
			t.Errorf("%s: another digest was used", status)
		}
	}
	if usedUnder(nil, digestA) {
		t.Error("no plan was used")
	}
}

func TestTokens(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	for text, want := range map[string]string{"": "", digestA: digestA, digestB: digestB} {
		if got := approvalToken(text); got != want {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	for _, text := range []string{"yes", digestA[:70], digestA + "\n", "invalid-000000000000", long} {
		if got := approvalToken(text); len(got) != 20 || !strings.HasPrefix(got, "invalid-") || got == approvalToken(text+"x") {
			t.Errorf("%.80q becomes %q", text, got)
		}
	}
	for text, want := range map[string]string{"": "", "2026-11-30T12:00:00.123456789Z": "2026-11-30T12:00:00.123456789Z", long[:253]: long[:253]} {
		if got := requestToken(text); got != want {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	if got := requestToken(long[:254]); !isDigest(got) || got == requestToken(long) {
		t.Errorf("a long token becomes %q", got)
	}
}

func TestApprovalNeeded(t *testing.T) {
	cases := []struct {
		reason                string
		required              v1alpha1.ApprovalRequirement
		destructive, deletion bool
		want                  bool
	}{
		{"absent means Destructive", "", true, false, true},
		{"a harmless plan", "", false, false, false},
		{"Destructive", v1alpha1.ApprovalDestructive, true, false, true},
		{"the deletion is the request", v1alpha1.ApprovalDestructive, true, true, false},
		{"Always", v1alpha1.ApprovalAlways, false, false, true},
		{"Always, deletion too", v1alpha1.ApprovalAlways, true, true, true},
		{"Never", v1alpha1.ApprovalNever, true, false, false},
		{"a value of another release", "Sometimes", false, false, true},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			if got := approvalNeeded(c.required, c.destructive, c.deletion); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// That an approved plan was superseded is told as long as the plan in its place waits.
func TestStillTold(t *testing.T) {
	status := func(reason, handled string) *v1alpha1.StackStatus {
		s := settle(v1alpha1.StackStatus{Plan: &v1alpha1.StackPlan{Digest: digestB, Decision: v1alpha1.PlanPending}}, &v1alpha1.Stack{},
			findings{approval: &handledApproval{digest: handled}}, outcome{ready: "False", reason: reason}, noon)
		return &s
	}
	told := status(v1alpha1.ReasonPlanDrifted, digestA)
	cases := []struct {
		reason        string
		was           *v1alpha1.StackStatus
		given, digest string
		want          string
	}{
		{"no plan before", &v1alpha1.StackStatus{}, digestA, digestB, ""},
		{"told, and the same plan waits", told, digestA, digestB, digestA},
		{"another plan since", told, digestA, digestA, ""},
		{"another approval since", told, digestB, digestB, ""},
		{"it was not told", status(v1alpha1.ReasonApprovalRequired, digestA), digestA, digestB, ""},
		{"it is not void", status(v1alpha1.ReasonPlanDrifted, ""), digestA, digestB, ""},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			if got := stillTold(c.was, c.given, c.digest); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
