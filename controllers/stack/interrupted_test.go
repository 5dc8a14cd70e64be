package stack

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/controllers/internal/planstore"
	"github.com/atlantide-org/atlantide-operator/controllers/internal/planview"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/providers"
)

// hookedProvider does something when a resource is updated or deleted.
type hookedProvider struct {
	providers.Provider
	updating func()
	deletes  *atomic.Int64
}

func (p hookedProvider) Update(ctx context.Context, r *model.Request) (model.Outputs, error) {
	p.updating()
	return p.Provider.Update(ctx, r)
}

func (p hookedProvider) Delete(ctx context.Context, r *model.Request) error {
	p.deletes.Add(1)
	return p.Provider.Delete(ctx, r)
}

// AP-38: a head that moves while phase 1 runs stops the run before phase 2. What was
// done stays, and what is left is planned again from the new head.
func TestHeadThatMovesBetweenPhases(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	s := l.stackOf("pair", pair("a", true), require(v1alpha1.ApprovalNever))
	deletes := &atomic.Int64{}
	keepB := sync.OnceFunc(func() { l.edit(s, setConfig(pair("changed", true))) })
	l.operate(withProvider(func(p providers.Provider) providers.Provider { return hookedProvider{p, keepB, deletes} }))
	s = l.applied(l.create(s))
	l.edit(s, setConfig(pair("changed", false)))
	l.eventually(func(g gomega.Gomega) { g.Expect(l.read(s).Generation).To(gomega.BeNumerically("==", 3)) })
	s = l.applied(s)
	if files := l.files(s); deletes.Load() != 0 || files["a.txt"] != "changed" || files["b.txt"] != "b" {
		t.Errorf("%d deletes, files %q", deletes.Load(), files)
	}
	if run := l.view(s)[planview.KeyRun]; !strings.Contains(run, "after the plan was made; what is left is planned again") {
		t.Errorf("run.json %s", run)
	}
}

// A lock that is lost in the middle of a run ends it: nothing more is done, and the
// next run goes on from what was recorded.
func TestLeaseLost(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	slow := newSlowProvider()
	l.operate(withProvider(slow.around))
	s := l.create(l.stackOf("greeting", variantA()))
	<-slow.entered
	var leases coordinationv1.LeaseList
	l.Expect(l.client.List(t.Context(), &leases, client.InNamespace(l.leases))).To(gomega.Succeed())
	l.Expect(leases.Items).To(gomega.HaveLen(1))
	taken := leases.Items[0].DeepCopy()
	taken.Spec.HolderIdentity = new("somebody else")
	l.Expect(l.client.Patch(t.Context(), taken, client.MergeFrom(&leases.Items[0]))).To(gomega.Succeed())
	s = l.settled(s, metav1.ConditionFalse, v1alpha1.ReasonLeaseLost)
	if !meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionReconciling) || len(l.files(s)) != 0 {
		t.Errorf("conditions %v, files %q", brief(s.Status), l.files(s))
	}
	close(slow.leave)
	l.Expect(l.client.Delete(t.Context(), taken)).To(gomega.Succeed())
	s = l.applied(s)
	if files := l.files(s); len(files) != 2 || s.Status.Failure != nil {
		t.Errorf("files %q, failure %+v", files, s.Status.Failure)
	}
}

// A state store that goes away in the middle of a run: the Stack says so, goes on by
// itself, and what was made is neither lost nor made twice.
func TestStoreAwayDuringARun(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	slow := newSlowProvider()
	l.operate(withProvider(slow.around))
	s := l.create(l.stackOf("greeting", variantA()))
	<-slow.entered
	l.store.cut()
	close(slow.leave)
	s = l.settled(s, metav1.ConditionFalse, v1alpha1.ReasonStateUnavailable)
	if s.Status.Failure == nil || s.Status.Failure.NextRetryTime == nil {
		t.Errorf("failure %+v", s.Status.Failure)
	}
	l.store.mend(t)
	s = l.applied(s)
	if files := l.files(s); files["out/greeting.txt"] != "hello atlantide" || len(files) != 2 || s.Status.State.Resources != 2 {
		t.Errorf("files %q, state %+v", files, s.Status.State)
	}
}

// A state store that was restored from an older backup is planned against as it is now.
func TestStoreRestored(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	o := l.operate()
	s := l.steady(o, l.create(l.stackOf("greeting", variantA())))
	conn, err := pgx.Connect(t.Context(), l.dsn)
	l.Expect(err).NotTo(gomega.HaveOccurred())
	defer conn.Close(context.Background())
	tables := []string{"partitions", "nodes", "pending_destroys", "outputs", "stack_names", "plans"}
	for _, table := range tables {
		_, err := conn.Exec(t.Context(), "create table backup_"+table+" as table "+table)
		l.Expect(err).NotTo(gomega.HaveOccurred())
	}
	serial := s.Status.State.Serial
	s = l.steady(o, l.edit(s, setConfig(greeting("out/greeting.txt", "hello world"))))
	later := s.Status.State.Serial
	tx, err := conn.Begin(t.Context())
	l.Expect(err).NotTo(gomega.HaveOccurred())
	_, err = tx.Exec(t.Context(), "truncate partitions, nodes, pending_destroys, outputs, stack_names, plans")
	l.Expect(err).NotTo(gomega.HaveOccurred())
	for _, table := range tables {
		_, err := tx.Exec(t.Context(), "insert into "+table+" table backup_"+table)
		l.Expect(err).NotTo(gomega.HaveOccurred())
	}
	l.Expect(tx.Commit(t.Context())).To(gomega.Succeed())
	calls := o.spent().ProviderCalls
	o.reconcile(s)
	s = l.applied(s)
	snapshot, err := l.direct().Load(t.Context(), string(s.UID))
	l.Expect(err).NotTo(gomega.HaveOccurred())
	if o.spent().ProviderCalls == calls || serial >= later || snapshot.Rows["demo:local.File:greeting"].Properties["content"] != "hello world" ||
		l.files(s)["out/greeting.txt"] != "hello world" || s.Status.State.Serial != snapshot.Serial {
		t.Errorf("serial %d, then %d, now %+v; files %q", serial, later, s.Status.State, l.files(s))
	}
}

// A Lease that may not be written is not somebody else's.
func TestLeaseForbidden(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	var roles rbacv1.RoleList
	l.Expect(l.client.List(t.Context(), &roles, client.InNamespace(l.leases))).To(gomega.Succeed())
	l.Expect(roles.Items).To(gomega.HaveLen(1))
	role := roles.Items[0].DeepCopy()
	role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "leases") })
	l.Expect(l.client.Patch(t.Context(), role, client.MergeFrom(&roles.Items[0]))).To(gomega.Succeed())
	l.operate()
	s := l.settled(l.create(l.stackOf("greeting", variantA())), metav1.ConditionFalse, v1alpha1.ReasonApplyFailed)
	if m := message(s); !strings.Contains(m, "the lease atl-greeting-") || !strings.Contains(m, "could not be") || !strings.Contains(m, "Forbidden") {
		t.Errorf("message %q", m)
	}
	if meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionLocked) != nil || s.Status.Failure == nil {
		t.Errorf("conditions %v, failure %+v", brief(s.Status), s.Status.Failure)
	}
	role.Rules = roles.Items[0].Rules
	l.Expect(l.client.Update(t.Context(), role)).To(gomega.Succeed())
	l.applied(s)
}

// fault lets one operation fail, once it is armed.
type fault struct{ armed atomic.Bool }

func (f *fault) strike() error {
	if f.armed.CompareAndSwap(true, false) {
		return model.Errorf(model.StateError, model.ClassTransient, "the connection broke: %w", state.ErrUnavailable)
	}
	return nil
}

type faultyState struct {
	State
	load, clear *fault
}

func (s faultyState) Load(ctx context.Context, partition string) (*state.Snapshot, error) {
	if err := s.load.strike(); err != nil {
		return nil, err
	}
	return s.State.Load(ctx, partition)
}

func (s faultyState) ClearHolder(ctx context.Context, partition string, fence model.Fence) error {
	if err := s.clear.strike(); err != nil {
		return err
	}
	return s.State.ClearHolder(ctx, partition, fence)
}

type faultyPlans struct {
	planstore.Plans
	advance *fault
}

func (p faultyPlans) Advance(ctx context.Context, partition, plan string, from []state.PlanStatus, to state.PlanStatus, reason string, fence *model.Fence) (bool, error) {
	if to == state.PlanApplied {
		if err := p.advance.strike(); err != nil {
			return false, err
		}
	}
	return p.Plans.Advance(ctx, partition, plan, from, to, reason, fence)
}

// What cannot be written down after a run that did all of its plan does not make it a
// failed one: status says what was done, the approval is used, and the rest is made up
// for by the next look.
func TestBookkeepingThatFails(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	var advance, load, release fault
	due := &atomic.Pointer[fault]{}
	strikeLater := func() {
		if f := due.Swap(nil); f != nil {
			f.armed.Store(true)
		}
	}
	deletes := &atomic.Int64{}
	o := l.operate(func(set *settings) {
		set.provider = func(p providers.Provider) providers.Provider { return hookedProvider{p, strikeLater, deletes} }
		set.state = func(s State) State { return faultyState{s, &load, &release} }
		set.plans = func(p planstore.Plans) planstore.Plans { return faultyPlans{p, &advance} }
	})
	s := l.applied(l.create(l.stackOf("pair", pair("0", true))))
	for i, c := range []struct {
		reason string
		fault  *fault
	}{{"recording the plan", &advance}, {"reading the state", &load}, {"releasing the lock", &release}} {
		a := strings.Repeat("changed", i+1)
		s = l.settled(l.edit(s, setConfig(pair(a, false))), metav1.ConditionFalse, v1alpha1.ReasonApprovalRequired)
		digest := s.Status.Plan.Digest
		due.Store(c.fault)
		s = l.applied(l.edit(s, approve(digest)))
		if s.Status.LastHandledApproval != digest || s.Status.Plan.Decision != v1alpha1.PlanApplied || s.Status.LastApplied.PlanDigest != digest || s.Status.State.Resources != 1 {
			t.Errorf("%s: echo %q, plan %+v, state %+v", c.reason, s.Status.LastHandledApproval, s.Status.Plan, s.Status.State)
		}
		l.eventually(func(g gomega.Gomega) {
			_, remembered := o.reconciler.memory.recall(keyOf(s))
			g.Expect(remembered).To(gomega.BeTrue())
		})
		snapshot, err := l.direct().Load(t.Context(), string(s.UID))
		l.Expect(err).NotTo(gomega.HaveOccurred())
		l.eventually(func(g gomega.Gomega) { // the look is remembered before its status is written
			s = l.read(s)
			g.Expect(s.Status.State.Serial).To(gomega.Equal(snapshot.Serial), c.reason)
			g.Expect(s.Status.Failure).To(gomega.BeNil(), c.reason)
		})
		l.Expect(deletes.Load()).To(gomega.Equal(int64(i+1)), c.reason)
		l.Expect(c.fault.armed.Load()).To(gomega.BeFalse(), c.reason)
		s = l.applied(l.edit(s, setConfig(pair(a, true))))
	}
}

// O-14: that an approval was used is known from the record of its run, whether or not
// the status that says so was ever written: the same plan does not run twice under it.
func TestUsedApprovalSurvivesACrash(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	o := l.operate()
	s := removalOfB(l)
	digest := s.Status.Plan.Digest
	o.stop()
	s = l.edit(s, approve(digest))
	// An operator that died right after it had started the run.
	store := l.direct()
	plans, partition := store.Plans(), string(s.UID)
	record, err := plans.Current(t.Context(), partition)
	l.Expect(err).NotTo(gomega.HaveOccurred())
	fence := l.take(store, s, "the dead")
	moved, err := plans.Advance(t.Context(), partition, record.ID, []state.PlanStatus{state.PlanPlanned}, state.PlanApplying, "", &fence)
	l.Expect(moved, err).To(gomega.BeTrue())

	next := l.operate()
	l.eventually(func(g gomega.Gomega) { g.Expect(message(l.read(s))).To(gomega.ContainSubstring("take it off first")) })
	s = l.settled(s, metav1.ConditionFalse, v1alpha1.ReasonApprovalRequired)
	if s.Status.Plan.Digest != digest || s.Status.LastHandledApproval != digest || l.files(s)["b.txt"] != "b" || next.changes() != 0 {
		t.Errorf("plan %s, want %s; echo %q, files %q", s.Status.Plan.Digest, digest, s.Status.LastHandledApproval, l.files(s))
	}
}

// A crash after the run, before its status: that catches up with what was done.
func TestStatusCatchesUpAfterACrash(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	o := l.operate()
	s := removalOfB(l)
	before := s.Status
	s = l.applied(l.edit(s, approve(s.Status.Plan.Digest)))
	o.stop()
	done := s.Status
	s = l.rewriteStatus(s, func(status *v1alpha1.StackStatus) {
		*status = *before.DeepCopy()
		status.Lock = &v1alpha1.StackLock{Lease: "it", Epoch: 1, Holder: "the dead", Operation: operationApply, AcquiredAt: metav1.Now()}
	})
	next := l.operate()
	s = l.applied(s)
	if s.Status.Plan.Decision != v1alpha1.PlanApplied || s.Status.LastApplied.PlanDigest != done.Plan.Digest ||
		s.Status.LastApplied.StateSerial != done.State.Serial || s.Status.LastHandledApproval != done.Plan.Digest || next.spent().ProviderCalls != 0 {
		t.Errorf("status %+v", s.Status)
	}
}

// The lock of a run that died does not stay in the status of a suspended Stack.
func TestLockOfTheDeadWhileSuspended(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	o := l.operate()
	s := l.applied(l.create(l.stackOf("greeting", variantA())))
	o.stop()
	l.edit(s, func(s *v1alpha1.Stack) { s.Spec.Suspend = true })
	s = l.rewriteStatus(s, func(status *v1alpha1.StackStatus) {
		status.Lock = &v1alpha1.StackLock{Lease: "it", Epoch: 1, Holder: "the dead", Operation: operationApply, AcquiredAt: metav1.Now()}
	})
	next := l.operate()
	l.eventually(func(g gomega.Gomega) { g.Expect(l.read(s).Status.Lock).To(gomega.BeNil()) })
	now := l.read(s)
	if now.Status.ObservedGeneration != s.Status.ObservedGeneration || !meta.IsStatusConditionTrue(now.Status.Conditions, v1alpha1.ConditionReady) || next.spent().Compiles != 0 {
		t.Errorf("a suspended Stack was worked on: %+v", now.Status)
	}
	l.toldOnce(s, v1alpha1.EventSuspended)
}
