package stack

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

// What a Stack says of its runs, what it does not say, and what is older than the schema.
func TestChoices(t *testing.T) {
	for _, c := range []struct {
		reason      string
		spec        v1alpha1.StackSpec
		onFailure   string
		parallelism int
		timeout     time.Duration
		secretsAge  time.Duration
	}{
		{"nothing is said", v1alpha1.StackSpec{}, plan.OnFailureRollback, 10, time.Hour, 8 * time.Minute},
		{"all is said", v1alpha1.StackSpec{
			OnFailure: v1alpha1.FailureHalt, Parallelism: new(int32(3)), Timeout: &metav1.Duration{Duration: time.Minute}, Interval: &metav1.Duration{Duration: 5 * time.Minute},
		}, plan.OnFailureHalt, 3, time.Minute, 4 * time.Minute},
		{"below the limits", v1alpha1.StackSpec{
			OnFailure: v1alpha1.FailureRollback, Parallelism: new(int32(-1)), Timeout: &metav1.Duration{Duration: time.Second}, Interval: &metav1.Duration{},
		}, plan.OnFailureRollback, 1, 30 * time.Second, 48 * time.Second},
		{"above the limits, and of no known mode", v1alpha1.StackSpec{
			OnFailure: "Retry", Parallelism: new(int32(1000)), Timeout: &metav1.Duration{Duration: 48 * time.Hour},
		}, plan.OnFailureRollback, 64, 24 * time.Hour, 8 * time.Minute},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := onFailure(&v1alpha1.Stack{Spec: c.spec}); got != c.onFailure {
				t.Errorf("on failure %s", got)
			}
			if got := parallelism(&c.spec); got != c.parallelism {
				t.Errorf("parallelism %d", got)
			}
			if got := runTimeout(&c.spec); got != c.timeout {
				t.Errorf("timeout %s", got)
			}
			if got := secretsAge(&c.spec); got != c.secretsAge {
				t.Errorf("secrets may be %s old", got)
			}
		})
	}
}

// asked keeps the requests that reach the engine.
type asked struct {
	Engine
	apply   *atomic.Pointer[engine.ApplyRequest]
	destroy *atomic.Pointer[engine.DestroyRequest]
	refresh *atomic.Pointer[engine.RefreshRequest]
}

func (a asked) Apply(ctx context.Context, r engine.ApplyRequest) (*engine.Result, error) {
	a.apply.Store(&r)
	return a.Engine.Apply(ctx, r)
}

func (a asked) Destroy(ctx context.Context, r engine.DestroyRequest) (*engine.Result, error) {
	a.destroy.Store(&r)
	return a.Engine.Destroy(ctx, r)
}

func (a asked) Refresh(ctx context.Context, r engine.RefreshRequest) (*apply.Drift, error) {
	a.refresh.Store(&r)
	return a.Engine.Refresh(ctx, r)
}

// What a Stack chooses reaches its runs, with secrets and what records them.
func TestChoicesReachTheEngine(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	var apply atomic.Pointer[engine.ApplyRequest]
	var destroy atomic.Pointer[engine.DestroyRequest]
	var refresh atomic.Pointer[engine.RefreshRequest]
	o := l.operate(func(set *settings) {
		set.engine = func(e Engine) Engine { return asked{e, &apply, &destroy, &refresh} }
	})
	s := l.applied(l.create(l.stackOf("greeting", variantA(), halting, destroyed, func(s *v1alpha1.Stack) { s.Spec.Parallelism = new(int32(7)) })))
	o.reconciler.survey(t.Context(), &scope{stack: s}, &notedHandle{}, "the dead")
	l.remove(s)
	l.gone(s)
	if r := apply.Load(); r.OnFailure != plan.OnFailureHalt || r.Parallelism != 7 || r.Secrets == nil || !r.Secrets.Seals() || r.Recorder == nil {
		t.Errorf("the apply got %+v", r)
	}
	if r := refresh.Load(); r.Parallelism != 7 {
		t.Errorf("the survey got %+v", r)
	}
	if r := destroy.Load(); r.Parallelism != 7 || r.Secrets == nil {
		t.Errorf("the destroy got %+v", r)
	}
}
