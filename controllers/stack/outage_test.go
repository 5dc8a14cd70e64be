package stack

import (
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
)

func TestStoreAwayAtStart(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	l.store.cut()
	l.operate()
	s := l.settled(l.create(l.stackOf("greeting", variantA())), metav1.ConditionFalse, v1alpha1.ReasonStateUnavailable)
	if !meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionReconciling) || s.Status.Failure.NextRetryTime == nil || len(s.Finalizers) != 1 {
		t.Errorf("conditions %v, failure %+v, finalizers %v", brief(s.Status), s.Status.Failure, s.Finalizers)
	}
	l.store.mend(t)
	s = l.applied(s)
	if s.Status.Failure != nil || len(l.files(s)) != 2 {
		t.Errorf("failure %+v, files %q", s.Status.Failure, l.files(s))
	}
}

func TestStoreAwayInTheMiddle(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	o := l.operate()
	s := l.steady(o, l.create(l.stackOf("greeting", variantA(), destroyed)))
	l.store.cut()
	o.reconcile(s)
	s = l.settled(s, metav1.ConditionUnknown, v1alpha1.ReasonStateUnavailable)
	// Deleted meanwhile, it waits with its finalizer.
	l.remove(s)
	l.eventually(func(g gomega.Gomega) {
		now := l.read(s)
		g.Expect(now.DeletionTimestamp).NotTo(gomega.BeNil())
		g.Expect(now.Status.ObservedGeneration).To(gomega.Equal(now.Generation))
		g.Expect(now.Finalizers).To(gomega.HaveLen(1))
	})
	l.store.mend(t)
	l.gone(s)
	if files := l.files(s); len(files) != 0 {
		t.Errorf("files are left: %q", files)
	}
}

// What was Ready is so again once the store answers, without a run.
func TestStoreBackMeansReadyAgain(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	o := l.operate()
	s := l.steady(o, l.create(l.stackOf("greeting", variantA())))
	calls := o.spent().ProviderCalls
	l.store.cut()
	o.reconcile(s)
	s = l.settled(s, metav1.ConditionUnknown, v1alpha1.ReasonStateUnavailable)
	l.store.mend(t)
	o.reconcile(s)
	l.applied(s)
	if spent := o.spent().ProviderCalls - calls; spent != 0 {
		t.Errorf("%d provider calls", spent)
	}
}
