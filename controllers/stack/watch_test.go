package stack

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
)

// Case 31: what the operator writes itself must not wake it.
func TestRequested(t *testing.T) {
	now := metav1.Now()
	cases := []struct {
		reason string
		change func(*v1alpha1.Stack)
		want   bool
	}{
		{"nothing", func(*v1alpha1.Stack) {}, false},
		{"status", func(s *v1alpha1.Stack) { s.Status.ObservedGeneration = 4 }, false},
		{"the finalizer", func(s *v1alpha1.Stack) { s.Finalizers = []string{v1alpha1.Finalizer} }, false},
		{"another annotation", func(s *v1alpha1.Stack) { s.Annotations = map[string]string{"note": "x"} }, false},
		{"a label", func(s *v1alpha1.Stack) { s.Labels = map[string]string{"team": "x"} }, false},
		{"the spec", func(s *v1alpha1.Stack) { s.Generation++ }, true},
		{"a request", func(s *v1alpha1.Stack) {
			s.Annotations = map[string]string{v1alpha1.AnnotationReconcileRequestedAt: "1"}
		}, true},
		{"flux's request", func(s *v1alpha1.Stack) { s.Annotations = map[string]string{v1alpha1.AnnotationFluxRequestedAt: "1"} }, true},
		{"an approval", func(s *v1alpha1.Stack) { s.Annotations = map[string]string{v1alpha1.AnnotationApprove: digestA} }, true},
		{"deletion", func(s *v1alpha1.Stack) { s.DeletionTimestamp = &now }, true},
		{"made again", func(s *v1alpha1.Stack) { s.UID = "other" }, true},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			before := stackAt(3)
			after := before.DeepCopy()
			c.change(after)
			if got := requested().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != c.want {
				t.Errorf("passes: %v", got)
			}
		})
	}
	if !requested().Create(event.CreateEvent{Object: stackAt(1)}) {
		t.Error("a new Stack does not pass")
	}
}

// The end of a Stack wakes those of its namespace that wait for a name, and no others.
func TestWakeConflicting(t *testing.T) {
	stack := func(namespace, name, reason string) *v1alpha1.Stack {
		return &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Status: v1alpha1.StackStatus{
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason}},
		}}
	}
	r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(testScheme).WithObjects(
		stack("team", "waits", v1alpha1.ReasonStateKeyConflict), stack("team", "broken", v1alpha1.ReasonCompileFailed),
		stack("other", "waits", v1alpha1.ReasonStateKeyConflict),
	).Build()}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	r.wakeConflicting(t.Context(), event.DeleteEvent{Object: stack("team", "gone", v1alpha1.ReasonApplied)}, queue)
	if queue.Len() != 1 {
		t.Fatalf("%d Stacks are woken", queue.Len())
	}
	if woken, _ := queue.Get(); woken.String() != "team/waits" {
		t.Errorf("%s is woken", woken)
	}
}
