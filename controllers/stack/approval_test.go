package stack

import (
	"testing"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
)

const (
	digestA = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	digestB = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func TestJudge(t *testing.T) {
	cases := []struct {
		reason            string
		needed            bool
		approval, handled string
		want              verdict
		echo              string // LastHandledApproval afterwards, the plan not having run
	}{
		{"nothing to approve", false, "", "", verdictFree, ""},
		{"an early approval stays for its plan", false, digestB, "", verdictFree, ""},
		{"no approval", true, "", "", verdictWaiting, ""},
		{"taking it off forgets the echo", true, "", digestB, verdictWaiting, ""},
		{"the full digest", true, digestA, "", verdictApproved, ""},
		{"the full digest, after another one", true, digestA, digestB, verdictApproved, ""},
		{"another plan's digest", true, digestB, "", verdictMismatch, digestB},
		{"another plan's digest, seen before", true, digestB, digestB, verdictWaiting, digestB},
		{"a truncated digest", true, digestA[:19], "", verdictMismatch, digestA[:19]},
		{"without the algorithm", true, digestA[7:], "", verdictMismatch, digestA[7:]},
		{"upper case", true, "SHA256:" + digestA[7:], "", verdictMismatch, "SHA256:" + digestA[7:]},
		{"white space", true, digestA + " ", "", verdictMismatch, digestA + " "},
		{"used or void before", true, digestA, digestA, verdictSpent, digestA},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			v := judge(c.needed, c.approval, c.handled, digestA)
			if v != c.want {
				t.Errorf("verdict %d, want %d", v, c.want)
			}
			if echo := handledApproval(c.approval, c.handled, v, false); echo != c.echo {
				t.Errorf("echo %q, want %q", echo, c.echo)
			}
		})
	}
	if echo := handledApproval(digestA, "", verdictApproved, true); echo != digestA {
		t.Errorf("a used approval leaves the echo %q", echo)
	}
}

// An approval given to A is void once B took A's place, and stays void when A is back.
func TestApprovalDoesNotOutliveItsPlan(t *testing.T) {
	handled := ""
	for _, step := range []struct {
		pending string
		want    verdict
	}{
		{digestA, verdictApproved}, {digestB, verdictMismatch}, {digestB, verdictWaiting}, {digestA, verdictSpent}, {digestA, verdictSpent},
	} {
		v := judge(true, digestA, handled, step.pending)
		if v != step.want {
			t.Fatalf("%s pending: verdict %d, want %d", step.pending[:9], v, step.want)
		}
		handled = handledApproval(digestA, handled, v, false)
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

func TestSuperseded(t *testing.T) {
	pending := func(digest string) *v1alpha1.StackStatus {
		return &v1alpha1.StackStatus{Plan: &v1alpha1.StackPlan{Digest: digest, Decision: v1alpha1.PlanPending}}
	}
	appliedA := pending(digestA)
	appliedA.Plan.Decision = v1alpha1.PlanApplied
	told := settle(*pending(digestB), &v1alpha1.Stack{}, findings{approval: new(digestA)}, outcome{ready: "False", reason: v1alpha1.ReasonPlanDrifted}, noon)
	cases := []struct {
		reason           string
		was              *v1alpha1.StackStatus
		approval, digest string
		want             string
	}{
		{"no plan before", &v1alpha1.StackStatus{}, digestA, digestB, ""},
		{"no approval", pending(digestA), "", digestB, ""},
		{"the same plan", pending(digestA), digestA, digestA, ""},
		{"the approved plan was pending", pending(digestA), digestA, digestB, digestA},
		{"the approved plan was applied", appliedA, digestA, digestB, ""},
		{"still told", &told, digestA, digestB, digestA},
		{"another plan since", &told, digestA, digestA[:70] + "0", ""},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			if got := superseded(c.was, c.approval, c.digest); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
