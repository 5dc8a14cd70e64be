package stack

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

func (l *land) remove(s *v1alpha1.Stack) {
	l.Helper()
	l.Expect(l.client.Delete(l.Context(), s)).To(gomega.Succeed())
}

// noLease waits until no Lease of a Stack is left.
func (l *land) noLease() {
	l.Helper()
	l.eventually(func(g gomega.Gomega) {
		var leases coordinationv1.LeaseList
		g.Expect(l.client.List(l.Context(), &leases, client.InNamespace(l.leases))).To(gomega.Succeed())
		g.Expect(leases.Items).To(gomega.BeEmpty())
	})
}

func TestDestroy(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	l.operate()
	s := l.applied(l.create(l.stackOf("greeting", variantA(), destroyed)))
	l.remove(s)
	l.gone(s)
	if files := l.files(s); len(files) != 0 {
		t.Errorf("files are left: %q", files)
	}
	l.noLease()
	l.eventually(func(g gomega.Gomega) {
		g.Expect(l.events(s, v1alpha1.EventDestroyed)).To(gomega.ConsistOf(
			"destroyed 2 resources: demo:local.File:greeting, demo:local.File:receipt"))
	})
}

// The source is not needed to destroy what was made from it.
func TestDestroyWorksFromStateAlone(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	l.operate()
	stack := l.stackOf("greeting", "", destroyed)
	stack.Spec.Source = v1alpha1.StackSource{ConfigMapRef: &v1alpha1.ConfigMapSource{Name: "conf", Entrypoint: "infra.py"}}
	cm := l.sourceMap("conf", variantA())
	s := l.applied(l.create(stack))
	l.Expect(l.client.Delete(l.Context(), cm)).To(gomega.Succeed())
	l.settled(s, metav1.ConditionFalse, v1alpha1.ReasonInputInvalid)
	l.remove(s)
	l.gone(s)
	if files := l.files(s); len(files) != 0 {
		t.Errorf("files are left: %q", files)
	}
}

func TestOrphanIsTheDefaultAndAnnounced(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	o := l.operate()
	s := l.applied(l.create(l.stackOf("greeting", variantA())))
	calls := o.spent().ProviderCalls
	l.remove(s)
	l.gone(s)
	if files := l.files(s); len(files) != 2 || o.spent().ProviderCalls != calls {
		t.Errorf("files %q", files)
	}
	l.noLease()
	l.eventually(func(g gomega.Gomega) {
		notes := l.events(s, v1alpha1.EventOrphaned)
		g.Expect(notes).To(gomega.HaveLen(1))
		g.Expect(notes[0]).To(gomega.HavePrefix("2 resources are managed by nobody"))
	})
}

func TestDeletionWhileSuspended(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	l.operate()
	suspended := func(s *v1alpha1.Stack) { s.Spec.Suspend = true }
	kept := l.applied(l.create(l.stackOf("kept", strings.Replace(variantA(), "demo", "kept", 1))))
	s := l.applied(l.create(l.stackOf("greeting", variantA(), destroyed)))
	l.edit(kept, suspended)
	l.edit(s, suspended)
	l.remove(kept)
	l.gone(kept)
	l.remove(s)
	s = l.settled(s, metav1.ConditionFalse, v1alpha1.ReasonDeletionSuspended)
	if !meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionStalled) || len(l.files(s)) != 2 {
		t.Errorf("conditions %v, files %q", brief(s.Status), l.files(s))
	}
	l.edit(s, func(s *v1alpha1.Stack) { s.Spec.Suspend = false })
	l.gone(s)
	if files := l.files(s); len(files) != 0 {
		t.Errorf("files are left: %q", files)
	}
}

// A Stack that made nothing goes at once, whatever is wrong with it.
func TestDeletionOfWhatMadeNothing(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	o := l.operate()
	s := l.settled(l.create(l.stackOf("broken", "this is no config", destroyed, require(v1alpha1.ApprovalAlways))), metav1.ConditionFalse, v1alpha1.ReasonCompileFailed)
	before := o.spent()
	l.remove(s)
	l.gone(s)
	if spent := o.spent().since(before); spent.Compiles != 0 || spent.ProviderCalls != 0 {
		t.Errorf("spent %+v", spent)
	}
	l.noLease()
}

func TestDestroyWaitsForApprovalUnderAlways(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	l.operate()
	s := l.create(l.stackOf("greeting", variantA(), destroyed, require(v1alpha1.ApprovalAlways)))
	s = l.settled(s, metav1.ConditionFalse, v1alpha1.ReasonApprovalRequired)
	s = l.applied(l.edit(s, approve(s.Status.Plan.Digest)))
	l.remove(s)
	s = l.settled(s, metav1.ConditionFalse, v1alpha1.ReasonApprovalRequired)
	if s.Status.Plan.Text != "+0 ~0 ±0 -2" || len(l.files(s)) != 2 {
		t.Errorf("plan %+v, files %q", s.Status.Plan, l.files(s))
	}
	l.edit(s, approve(s.Status.Plan.Digest))
	l.gone(s)
	if files := l.files(s); len(files) != 0 {
		t.Errorf("files are left: %q", files)
	}
}

// A destroy that fails is tried again and never drops the finalizer.
func TestFailedDestroyIsTriedAgain(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	broken := &atomic.Bool{}
	l.operate(breakable(broken))
	s := l.applied(l.create(l.stackOf("greeting", variantA(), destroyed)))
	broken.Store(true)
	l.remove(s)
	s = l.settled(s, metav1.ConditionFalse, v1alpha1.ReasonDestroying)
	if !strings.Contains(message(s), "the disk is away") || !strings.Contains(message(s), "left") || s.Status.Failure == nil {
		t.Errorf("message %q, failure %+v", message(s), s.Status.Failure)
	}
	l.eventually(func(g gomega.Gomega) { g.Expect(l.read(s).Status.Failure.Count).To(gomega.BeNumerically(">", 2)) })
	l.toldOnce(s, v1alpha1.ReasonDestroying) // a retry that fails as before is no news
	if told := l.events(s, v1alpha1.ReasonDestroying)[0]; !strings.Contains(told, "; 2 resources left") {
		t.Errorf("told %q", told)
	}
	broken.Store(false)
	l.gone(s)
	if files := l.files(s); len(files) != 0 {
		t.Errorf("files are left: %q", files)
	}
}

// An orphaning that ended half-way is finished, also when the policy is another one by
// then: what was let go is not destroyed.
func TestInterruptedOrphaning(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	o := l.operate()
	s := l.applied(l.create(l.stackOf("greeting", variantA())))
	o.stop()
	l.remove(s)
	ended, err := l.direct().DeletePartition(t.Context(), string(s.UID), s.Status.State.Serial)
	if !ended || err != nil {
		t.Fatalf("ended %v, %v", ended, err)
	}
	l.edit(s, destroyed)
	next := l.operate()
	l.gone(s)
	if files := l.files(s); len(files) != 2 || next.spent().ProviderCalls != 0 {
		t.Errorf("files %q", files)
	}
	l.toldOnce(s, v1alpha1.EventOrphaned)
}

// overtakenState does something once before a partition is deleted.
type overtakenState struct {
	State
	before func()
}

func (s overtakenState) DeletePartition(ctx context.Context, partition string, serial int64) (bool, error) {
	s.before()
	return s.State.DeletePartition(ctx, partition, serial)
}

// A row that lands when the partition was looked at already is neither lost nor
// overlooked.
func TestRowThatLandsBeforeTheEnd(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	s := l.stackOf("greeting", variantA())
	store := l.direct()
	land := sync.OnceFunc(func() {
		fence := l.take(store, s, "another run")
		l.Expect(store.Commit(l.Context(), string(s.UID), fence, state.Batch{PutRows: []*state.Row{{ID: "demo:local.File:late"}}})).To(gomega.Succeed())
	})
	l.operate(func(set *settings) { set.state = func(s State) State { return overtakenState{s, land} } })
	s = l.applied(l.create(s))
	l.remove(s)
	l.gone(s)
	l.eventually(func(g gomega.Gomega) {
		g.Expect(l.events(s, v1alpha1.EventOrphaned)).To(gomega.ConsistOf(gomega.And(
			gomega.HavePrefix("3 resources"), gomega.ContainSubstring("demo:local.File:late"))))
	})
}
