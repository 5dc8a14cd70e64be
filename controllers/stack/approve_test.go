package stack

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/controllers/internal/planview"
)

func withInputs(raw string) func(*v1alpha1.Stack) {
	return func(s *v1alpha1.Stack) { s.Spec.Inputs = &apiextensionsv1.JSON{Raw: []byte(raw)} }
}

func approve(digest string) func(*v1alpha1.Stack) {
	return annotate(v1alpha1.AnnotationApprove, digest)
}

// replacePending is a Stack whose plan replaces a file and waits.
func replacePending(l *land) *v1alpha1.Stack {
	l.Helper()
	s := l.applied(l.create(l.stackOf("greeting", variantA())))
	s = l.settled(l.edit(s, setConfig(greeting("out/hello.txt", "hello atlantide"))), metav1.ConditionFalse, v1alpha1.ReasonApprovalRequired)
	if p := s.Status.Plan; p.Decision != v1alpha1.PlanPending || !p.Destructive || !strings.Contains(p.Text, "±1") {
		l.Errorf("plan %+v", p)
	}
	if !meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionApprovalRequired) || !strings.Contains(message(s), s.Status.Plan.Digest) {
		l.Errorf("conditions %v, message %q", brief(s.Status), message(s))
	}
	return s
}

func TestReplaceWaitsForItsApproval(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	o := l.operate()
	s := replacePending(l)
	digest := s.Status.Plan.Digest
	if text := l.view(s)[planview.KeyText]; !strings.Contains(text, "± replace") {
		t.Errorf("plan.txt:\n%s", text)
	}
	calls := o.spent().ProviderCalls
	for _, wrong := range []string{digest[:20], digest[:70] + "x", strings.TrimPrefix(digest, digestPrefix), "yes", strings.Repeat("y", 200_000)} {
		s = l.edit(s, approve(wrong))
		l.eventually(func(g gomega.Gomega) {
			g.Expect(l.read(s).Status.LastHandledApproval).To(gomega.Equal(approvalToken(wrong)))
			g.Expect(l.events(s, v1alpha1.EventApprovalDigestMismatch)).NotTo(gomega.BeEmpty())
		})
		s = l.settled(s, metav1.ConditionFalse, v1alpha1.ReasonApprovalRequired)
	}
	if spent := o.spent().ProviderCalls - calls; spent != 0 || l.files(s)["out/hello.txt"] != "" || s.Status.Plan.Digest != digest {
		t.Errorf("%d provider calls, files %q", spent, l.files(s))
	}
	s = l.applied(l.edit(s, approve(digest)))
	files := l.files(s)
	if files["out/hello.txt"] != "hello atlantide" || files["out/greeting.txt"] != "" || len(files) != 2 {
		t.Errorf("files %q", files)
	}
	if s.Status.Plan.Decision != v1alpha1.PlanApplied || s.Status.LastHandledApproval != digest {
		t.Errorf("plan %+v, echo %q", s.Status.Plan, s.Status.LastHandledApproval)
	}
}

func TestEditVoidsAnApproval(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	l.operate()
	s := replacePending(l)
	digest := s.Status.Plan.Digest
	// Approval and edit arrive together: the approved plan never was the current one.
	s = l.edit(s, func(s *v1alpha1.Stack) {
		approve(digest)(s)
		setConfig(greeting("out/other.txt", "hello atlantide"))(s)
	})
	s = l.settled(s, metav1.ConditionFalse, v1alpha1.ReasonPlanDrifted)
	if s.Status.Plan.Digest == digest || !strings.Contains(message(s), "its approval is void") || len(l.files(s)) != 2 || l.files(s)["out/greeting.txt"] == "" {
		t.Errorf("message %q, files %q", message(s), l.files(s))
	}
	// Back at the first plan, its approval stays void until it is given anew.
	s = l.edit(s, setConfig(greeting("out/hello.txt", "hello atlantide")))
	s = l.settled(s, metav1.ConditionFalse, v1alpha1.ReasonApprovalRequired)
	if s.Status.Plan.Digest != digest || !strings.Contains(message(s), "take it off first") {
		t.Errorf("plan %s, message %q", s.Status.Plan.Digest, message(s))
	}
	s = l.edit(s, func(s *v1alpha1.Stack) { delete(s.Annotations, v1alpha1.AnnotationApprove) })
	l.eventually(func(g gomega.Gomega) { g.Expect(l.read(s).Status.LastHandledApproval).To(gomega.BeEmpty()) })
	l.applied(l.edit(s, approve(digest)))
}

func TestCommentKeepsAnApproval(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	l.operate()
	s := replacePending(l)
	digest := s.Status.Plan.Digest
	s = l.edit(s, func(s *v1alpha1.Stack) {
		approve(digest)(s)
		setConfig("# moved by request\n" + greeting("out/hello.txt", "hello atlantide"))(s)
	})
	s = l.applied(s)
	if s.Status.LastApplied.PlanDigest != digest || l.files(s)["out/hello.txt"] == "" {
		t.Errorf("applied %s, files %q", s.Status.LastApplied.PlanDigest, l.files(s))
	}
}

func TestApprovalRequirements(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	l.operate()
	s := l.settled(l.create(l.stackOf("greeting", variantA(), require(v1alpha1.ApprovalAlways))), metav1.ConditionFalse, v1alpha1.ReasonApprovalRequired)
	if s.Status.Plan.Destructive || len(l.files(s)) != 0 {
		t.Errorf("plan %+v, files %q", s.Status.Plan, l.files(s))
	}
	s = l.applied(l.edit(s, approve(s.Status.Plan.Digest)))
	// Never lets a replace through.
	s = l.applied(l.edit(s, func(s *v1alpha1.Stack) {
		require(v1alpha1.ApprovalNever)(s)
		setConfig(greeting("out/hello.txt", "hello atlantide"))(s)
	}))
	if l.files(s)["out/hello.txt"] == "" {
		t.Errorf("files %q", l.files(s))
	}
	// A pending plan that the next edit makes needless is superseded.
	s = l.settled(l.edit(s, func(s *v1alpha1.Stack) {
		require(v1alpha1.ApprovalAlways)(s)
		setConfig(greeting("out/hello.txt", "hello world"))(s)
	}), metav1.ConditionFalse, v1alpha1.ReasonApprovalRequired)
	s = l.applied(l.edit(s, setConfig(greeting("out/hello.txt", "hello atlantide"))))
	if s.Status.Plan.Decision != v1alpha1.PlanSuperseded {
		t.Errorf("plan %+v", s.Status.Plan)
	}
	// Nor is it to be read as pending; what the last run did still is.
	view := l.view(s)
	if strings.Contains(view[planview.KeyText], "~ update") || strings.Contains(view[planview.KeyText], s.Status.Plan.Digest) || strings.Contains(view[planview.KeyPayload], s.Status.Plan.Digest) {
		t.Errorf("plan.txt:\n%s", view[planview.KeyText])
	}
	if !strings.Contains(view[planview.KeyRun], s.Status.LastApplied.PlanDigest) {
		t.Errorf("run.json %s", view[planview.KeyRun])
	}
}

// pair declares the file a, and the file b or not.
func pair(a string, b bool) string {
	config := "from atlantide.core import Stack\nfrom atlantide.providers.local import File\n\n" +
		"with Stack(\"demo\", region=\"eu-north-1\"):\n    File(\"a\", path=\"a.txt\", content=\"" + a + "\")\n"
	if b {
		config += "    File(\"b\", path=\"b.txt\", content=\"b\")\n"
	}
	return config
}

// removalOfB is a Stack whose plan to delete b waits.
func removalOfB(l *land) *v1alpha1.Stack {
	l.Helper()
	s := l.applied(l.create(l.stackOf("pair", pair("a", true))))
	return l.settled(l.edit(s, setConfig(pair("a", false))), metav1.ConditionFalse, v1alpha1.ReasonApprovalRequired)
}

// An approval is void when its plan is superseded, also by one that needs no approval.
func TestHarmlessEditVoidsAnApproval(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	l.operate()
	s := removalOfB(l)
	digest := s.Status.Plan.Digest
	for _, c := range []struct{ reason, a string }{{"nothing to do", "a"}, {"an update", "changed"}} {
		s = l.applied(l.edit(s, func(s *v1alpha1.Stack) {
			approve(digest)(s)
			setConfig(pair(c.a, true))(s)
		}))
		if s.Status.LastHandledApproval != digest {
			t.Errorf("%s: echo %q", c.reason, s.Status.LastHandledApproval)
		}
		s = l.settled(l.edit(s, setConfig(pair(c.a, false))), metav1.ConditionFalse, v1alpha1.ReasonApprovalRequired)
		if s.Status.Plan.Digest != digest || !strings.Contains(message(s), "take it off first") || l.files(s)["b.txt"] != "b" {
			t.Errorf("%s: plan %s, want %s; message %q, files %q", c.reason, s.Status.Plan.Digest, digest, message(s), l.files(s))
		}
		s = l.edit(s, func(s *v1alpha1.Stack) { delete(s.Annotations, v1alpha1.AnnotationApprove) })
		l.eventually(func(g gomega.Gomega) { g.Expect(l.read(s).Status.LastHandledApproval).To(gomega.BeEmpty()) })
	}
}

// An approval that comes before its plan waits for it; what comes up meanwhile neither
// uses nor voids it (operator.md 1.13).
func TestEarlyApproval(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	l.operate()
	s := removalOfB(l)
	digest := s.Status.Plan.Digest
	s = l.applied(l.edit(s, setConfig(pair("a", true))))
	s = l.edit(s, approve(digest))
	l.eventually(func(g gomega.Gomega) {
		early := l.read(s).Status.EarlyApproval
		g.Expect(early).NotTo(gomega.BeNil())
		g.Expect(early.Digest).To(gomega.Equal(digest))
	})
	// One that runs without asking.
	s = l.applied(l.edit(s, setConfig(pair("changed", true))))
	// One that waits as well.
	s = l.settled(l.edit(s, func(s *v1alpha1.Stack) {
		require(v1alpha1.ApprovalAlways)(s)
		setConfig(pair("again", true))(s)
	}), metav1.ConditionFalse, v1alpha1.ReasonApprovalRequired)
	if s.Status.EarlyApproval == nil || s.Status.LastHandledApproval != "" || !strings.Contains(message(s), "is for plan "+short(digest)) {
		t.Errorf("early %+v, echo %q, message %q", s.Status.EarlyApproval, s.Status.LastHandledApproval, message(s))
	}
	l.eventually(func(g gomega.Gomega) {
		g.Expect(l.events(s, v1alpha1.EventApprovalDigestMismatch)).NotTo(gomega.BeEmpty())
	})
	s = l.applied(l.edit(s, setConfig(pair("changed", false))))
	if s.Status.LastApplied.PlanDigest != digest || s.Status.LastHandledApproval != digest || s.Status.EarlyApproval != nil || l.files(s)["b.txt"] != "" {
		t.Errorf("applied %+v, echo %q, early %+v, files %q", s.Status.LastApplied, s.Status.LastHandledApproval, s.Status.EarlyApproval, l.files(s))
	}
	// It was used once.
	s = l.settled(l.edit(s, setConfig(pair("changed", true))), metav1.ConditionFalse, v1alpha1.ReasonApprovalRequired)
	s = l.applied(l.edit(s, require(v1alpha1.ApprovalDestructive)))
	s = l.settled(l.edit(s, setConfig(pair("changed", false))), metav1.ConditionFalse, v1alpha1.ReasonApprovalRequired)
	if s.Status.Plan.Digest != digest || l.files(s)["b.txt"] != "b" {
		t.Errorf("plan %s, want %s; files %q", s.Status.Plan.Digest, digest, l.files(s))
	}
}

// A suspended Stack runs nothing, approved or not; the approval stands when it is
// resumed and the plan is still the same.
func TestApprovalWhileSuspended(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	o := l.operate()
	s := removalOfB(l)
	digest, calls := s.Status.Plan.Digest, o.spent().ProviderCalls
	s = l.edit(s, func(s *v1alpha1.Stack) { s.Spec.Suspend = true })
	l.eventually(func(g gomega.Gomega) { g.Expect(l.events(s, v1alpha1.EventSuspended)).NotTo(gomega.BeEmpty()) })
	s = l.edit(s, approve(digest))
	o.cached(s)
	o.reconcile(s)
	if now := l.read(s); o.spent().ProviderCalls != calls || now.Status.LastHandledApproval != "" || l.files(s)["b.txt"] != "b" {
		t.Errorf("echo %q, files %q", now.Status.LastHandledApproval, l.files(s))
	}
	s = l.applied(l.edit(s, func(s *v1alpha1.Stack) { s.Spec.Suspend = false }))
	if s.Status.LastApplied.PlanDigest != digest || l.files(s)["b.txt"] != "" {
		t.Errorf("applied %+v, files %q", s.Status.LastApplied, l.files(s))
	}
}
