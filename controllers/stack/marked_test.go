package stack

import (
	"sync/atomic"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/controllers/internal/secrets"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// What an operator that starts cannot be certain of is planned, whatever was applied before.
func TestRestartPlansWhatIsNotCertain(t *testing.T) {
	t.Parallel()
	fromMap := func(s *v1alpha1.Stack) {
		s.Spec.Source = v1alpha1.StackSource{ConfigMapRef: &v1alpha1.ConfigMapSource{Name: "conf", Entrypoint: "infra.py"}}
	}
	for _, c := range []struct {
		reason  string
		config  string
		change  func(*v1alpha1.Stack)
		between func(l *land, s *v1alpha1.Stack)
		check   func(g gomega.Gomega, l *land, was, now *v1alpha1.Stack)
	}{
		{"the config changed", variantA(), func(*v1alpha1.Stack) {},
			func(l *land, s *v1alpha1.Stack) { l.edit(s, setConfig(greeting("out/greeting.txt", "hello world"))) },
			func(g gomega.Gomega, l *land, was, _ *v1alpha1.Stack) {
				g.Expect(l.files(was)).To(gomega.HaveKeyWithValue("out/greeting.txt", "hello world"))
			}},
		{"only a comment of the ConfigMap changed", variantA(), fromMap,
			func(l *land, s *v1alpha1.Stack) {
				cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "conf"}, Data: map[string]string{"infra.py": variantA() + "# it\n"}}
				l.Expect(l.client.Update(l.Context(), cm)).To(gomega.Succeed())
			},
			func(g gomega.Gomega, _ *land, was, now *v1alpha1.Stack) {
				g.Expect(now.Status.Artifact.Revision).NotTo(gomega.Equal(was.Status.Artifact.Revision))
			}},
		{"somebody else wrote state", variantA(), func(*v1alpha1.Stack) {},
			func(l *land, s *v1alpha1.Stack) {
				store := l.direct()
				fence := l.take(store, s, "another run")
				l.Expect(store.Commit(l.Context(), string(s.UID), fence, state.Batch{RemoveOutputs: []string{"unknown"}})).To(gomega.Succeed())
			},
			func(g gomega.Gomega, _ *land, was, now *v1alpha1.Stack) {
				g.Expect(now.Status.State.Serial).To(gomega.BeNumerically(">", was.Status.State.Serial))
			}},
		{"an approval was given", variantA(), func(*v1alpha1.Stack) {},
			func(l *land, s *v1alpha1.Stack) { l.edit(s, approve(digestA)) },
			func(g gomega.Gomega, _ *land, _, now *v1alpha1.Stack) {
				g.Expect(now.Status.EarlyApproval).NotTo(gomega.BeNil())
			}},
		{"it reads secrets", secretFile(), readsFrom("app"),
			func(l *land, _ *v1alpha1.Stack) { l.secret("app", map[string]string{"token": "two"}) },
			func(g gomega.Gomega, l *land, was, _ *v1alpha1.Stack) {
				g.Expect(l.files(was)).To(gomega.HaveKeyWithValue("f.txt", "two"))
			}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			l := newLand(t)
			l.secret("app", map[string]string{"token": "one"})
			l.allow(secrets.DefaultAccount, "app")
			l.sourceMap("conf", variantA())
			o := l.operate()
			s := l.steady(o, l.create(l.stackOf("greeting", c.config, c.change)))
			o.stop()
			c.between(l, s)
			loads := &atomic.Int64{}
			next := l.operate(func(set *settings) { set.state = func(s State) State { return countingState{s, loads} } })
			l.eventually(func(g gomega.Gomega) { c.check(g, l, s, l.read(s)) })
			l.applied(s)
			if loads.Load() == 0 || next.spent().Compiles == 0 {
				t.Errorf("nothing was planned: %+v", next.spent())
			}
		})
	}
}

// What status shows is as good as steady only if nothing may come of it any more.
func TestSaidSteady(t *testing.T) {
	for _, c := range []struct {
		reason string
		change func(*scope)
		want   bool
	}{
		{"it is", func(*scope) {}, true},
		{"its approval was used", func(sc *scope) { sc.approval, sc.stack.Status.LastHandledApproval = digestA, digestA }, true},
		{"an approval was given", func(sc *scope) { sc.approval = digestA }, false},
		{"an approval was taken off", func(sc *scope) { sc.stack.Status.LastHandledApproval = digestA }, false},
		{"an approval waits", func(sc *scope) { sc.stack.Status.EarlyApproval = &v1alpha1.EarlyApproval{Digest: digestA} }, false},
		{"another generation", func(sc *scope) { sc.stack.Generation++ }, false},
		{"a plan waits", func(sc *scope) { sc.stack.Status.Plan.Decision = v1alpha1.PlanPending }, false},
		{"a run is under way", func(sc *scope) { sc.stack.Status.Lock = &v1alpha1.StackLock{} }, false},
		{"a run failed", func(sc *scope) { sc.stack.Status.Failure = &v1alpha1.StackFailure{Count: 1} }, false},
		{"it is not ready", func(sc *scope) { setReady(sc, metav1.ConditionFalse, v1alpha1.ReasonApplied) }, false},
		{"it is ready for another reason", func(sc *scope) { setReady(sc, metav1.ConditionTrue, v1alpha1.ReasonProgressing) }, false},
		{"it says nothing of an artifact", func(sc *scope) { sc.stack.Status.Artifact = nil }, false},
		{"it says nothing of state", func(sc *scope) { sc.stack.Status.State = nil }, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			sc := &scope{stack: stackAt(2)}
			sc.stack.Status = v1alpha1.StackStatus{
				ObservedGeneration: 2, Artifact: &v1alpha1.StackArtifact{}, State: &v1alpha1.StackState{},
				Plan: &v1alpha1.StackPlan{Digest: digestB, Decision: v1alpha1.PlanApplied},
			}
			setReady(sc, metav1.ConditionTrue, v1alpha1.ReasonApplied)
			c.change(sc)
			if got := sc.saidSteady(); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func setReady(sc *scope, status metav1.ConditionStatus, reason string) {
	meta.SetStatusCondition(&sc.stack.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: status, Reason: reason})
}
