package stack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	locks "github.com/atlantide-org/atlantide-operator/controllers/internal/lease"
	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
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

// outage takes the API server away from the Leases of a process for a part of its clock's
// time, and notes when the last renewal that landed was sent.
type outage struct {
	coordination.LeasesGetter
	now        func() time.Time
	from, till time.Time

	mu    sync.Mutex
	asked int
	last  time.Time
}

func (o *outage) Leases(namespace string) coordination.LeaseInterface {
	return leasesInOutage{o.LeasesGetter.Leases(namespace), o}
}

func (o *outage) request(ask func() (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	sent := o.now()
	o.mu.Lock()
	o.asked++
	o.mu.Unlock()
	if !sent.Before(o.from) && sent.Before(o.till) {
		return nil, errors.New("connection refused")
	}
	got, err := ask()
	if err == nil {
		o.mu.Lock()
		o.last = sent
		o.mu.Unlock()
	}
	return got, err
}

type leasesInOutage struct {
	coordination.LeaseInterface
	outage *outage
}

func (l leasesInOutage) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	return l.outage.request(func() (*coordinationv1.Lease, error) { return l.LeaseInterface.Get(ctx, name, o) })
}

func (l leasesInOutage) Create(ctx context.Context, lease *coordinationv1.Lease, o metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return l.outage.request(func() (*coordinationv1.Lease, error) { return l.LeaseInterface.Create(ctx, lease, o) })
}

func (l leasesInOutage) Update(ctx context.Context, lease *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return l.outage.request(func() (*coordinationv1.Lease, error) { return l.LeaseInterface.Update(ctx, lease, o) })
}

// long is a config of so many files, one after the other.
func long(files int) string {
	var b strings.Builder
	b.WriteString("from atlantide.core import Stack\nfrom atlantide.providers.local import File\nwith Stack(\"s\", region=\"r\"):\n    f0 = File(\"f0\", path=\"f0.txt\", content=\"x\")\n")
	for i := 1; i < files; i++ {
		fmt.Fprintf(&b, "    f%d = File(\"f%d\", path=\"f%d.txt\", content=f%d.checksum)\n", i, i, i, i-1)
	}
	return b.String()
}

// away runs a long apply of calls that take 3 s each, on an injected clock, with the API
// server away for a time that begins 30 s after the start.
type away struct {
	*process
	script *scripted
	outage *outage
	starts []time.Time // of calls
	start  time.Time
}

func newAway(t *testing.T, gone time.Duration) *away {
	t.Helper()
	a := &away{script: &scripted{}, outage: &outage{}}
	d := newDuel(newLand(t), t)
	a.process = d.process("pod", processOptions{provider: a.script.around, leases: func(o *locks.Options) {
		a.outage.LeasesGetter, a.outage.now = o.Client, o.Clock.Now
		o.Client = a.outage
	}})
	a.start = a.clock.Now()
	a.outage.from, a.outage.till = a.start.Add(30*time.Second), a.start.Add(30*time.Second+gone)
	a.script.before = func(string, *model.Request) {
		a.starts = append(a.starts, a.clock.Now())
		for range 3 {
			a.second()
		}
	}
	return a
}

// second lets one second pass, and what is due in it happen: the lock waits on its two
// timers again, or is lost and waits for nothing.
func (a *away) second() {
	a.clock.Step(time.Second)
	settled := func() bool { n := a.clock.Waiters(); return n == 2 || n == 0 }
	gomega.NewWithT(a.TB).Eventually(settled, patience, time.Millisecond).Should(gomega.BeTrue())
}

func (a *away) told(phase string) (events []string) {
	for i := range a.events {
		if e := &a.events[i]; e.Phase == phase {
			events = append(events, fmt.Sprint(e.Detail["error"]))
		}
	}
	return events
}

// N-32: an API server that is away for 20 s: the run finishes and nobody notices.
func TestAPIServerAwayForAMoment(t *testing.T) {
	t.Parallel()
	a := newAway(t, 20*time.Second)
	result := a.mustApply(long(40))
	if calls := a.script.calls.Load(); len(result.Report.Created) != 40 || calls != 40 {
		t.Errorf("%d created with %d calls", len(result.Report.Created), calls)
	}
	failed := 0
	for _, err := range a.told(lease.EventRenew) {
		if err != "<nil>" {
			failed++
		}
	}
	if passed := a.clock.Since(a.start); passed != 2*time.Minute || failed < 3 {
		t.Errorf("it took %s, and %d renewals failed: the outage was none", passed, failed)
	}
	if lost := a.told(lease.EventLost); len(lost) > 0 {
		t.Errorf("told %v", lost)
	}
	a.settled(long(40))
}

// N-32, LS-16c: away for 90 s, no call starts later than ttl − grace after the last renewal
// was sent, nothing is undone, and the rows say what is in flight. Once it is back, and the
// lock has lapsed, the rest is done.
func TestAPIServerAwayForLong(t *testing.T) {
	t.Parallel()
	a := newAway(t, 90*time.Second)
	result, err := a.apply(long(40), plan.OnFailureRollback)
	if !model.IsKind(err, model.LeaseLostError) || result.Report.RollbackSkipped == nil || len(result.Report.RolledBack) > 0 {
		t.Fatalf("%v; %+v", err, result.Report)
	}
	renewed := a.outage.last
	deadline := renewed.Add(locks.DefaultTTL - locks.DefaultGrace)
	if since := renewed.Sub(a.start); since != 20*time.Second {
		t.Errorf("the last renewal was sent after %s", since)
	}
	last := a.starts[len(a.starts)-1]
	if !last.Before(deadline) || last.Before(deadline.Add(-4*time.Second)) {
		t.Errorf("the last call started %s after the start, the deadline was after %s", last.Sub(a.start), deadline.Sub(a.start))
	}
	// What is recorded: all but the call that was in flight at the end is confirmed. The
	// report counts what was made, confirmed or not (EX-9).
	inFlight := 0
	for _, row := range a.snapshot().Rows {
		if row.Status == state.StatusCreating {
			inFlight++
		}
	}
	if rows := len(a.snapshot().Rows); inFlight != 1 || rows != len(a.starts) || len(result.Report.Created) != rows {
		t.Errorf("%d rows, %d in flight, %d calls, %d created", rows, inFlight, len(a.starts), len(result.Report.Created))
	}
	if told := a.told(lease.EventLost); len(told) != 1 {
		t.Errorf("the loss was told %d times", len(told))
	}

	calls := a.script.calls.Load()
	if _, err := a.apply(long(40), plan.OnFailureRollback); err == nil || a.script.calls.Load() != calls {
		t.Errorf("a run began without the API server: %v", err) // N-32
	}
	a.clock.SetTime(a.outage.till)
	if _, err := a.apply(long(40), plan.OnFailureRollback); !model.IsKind(err, model.LockError) {
		t.Errorf("the lock of a run that may live: %v", err)
	}
	a.clock.Step(locks.DefaultTTL)
	a.mustApply(long(40))
	a.settled(long(40))
	if again := a.script.calls.Load(); again != 41 {
		t.Errorf("%d calls for 40 files, of which one was in flight", again)
	}
}

// An operator whose API server is away for so long that the lock of its run is lost goes on
// by itself: it says what it found, takes its own Lease over once that has lapsed, and does
// the rest. Its lock is kept by an injected clock.
func TestOperatorResumesAfterAnOutage(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	clock := clocktesting.NewFakeClock(time.Now())
	script := &scripted{}
	reached, proceed := make(chan struct{}), make(chan struct{})
	script.before = func(_ string, r *model.Request) {
		if r.Node.Name == "f2" && script.calls.Load() == 3 {
			close(reached)
			<-proceed
		}
	}
	o := l.operate(withProvider(script.around), func(set *settings) {
		set.locks = func(k *Locks) { k.Clock, k.TTL, k.Renew, k.Grace = clock, 0, 0, 0 }
	})
	s := l.create(l.stackOf("s", long(5)))
	<-reached
	o.apiAway.Store(true)
	clock.Step(locks.DefaultTTL - locks.DefaultGrace)
	close(proceed)
	store := l.direct()
	l.eventually(func(g gomega.Gomega) { // the run has ended, and says so where it can
		holds, err := store.Holds(t.Context(), string(s.UID))
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(holds).To(gomega.BeEmpty())
	})
	snapshot, err := store.Load(t.Context(), string(s.UID))
	l.Expect(err).NotTo(gomega.HaveOccurred())
	if row := snapshot.Rows["s:local.File:f2"]; len(snapshot.Rows) != 3 || row == nil || row.Status != state.StatusCreating || script.calls.Load() != 3 {
		t.Errorf("%d rows, in flight %+v, %d calls", len(snapshot.Rows), row, script.calls.Load())
	}
	o.apiAway.Store(false)
	l.eventually(func(g gomega.Gomega) {
		clock.Step(5 * time.Second)
		ready := meta.FindStatusCondition(l.read(s).Status.Conditions, v1alpha1.ConditionReady)
		g.Expect(ready).NotTo(gomega.BeNil())
		g.Expect(ready.Reason).To(gomega.Equal(v1alpha1.ReasonApplied), ready.Message)
	})
	s = l.applied(s)
	if calls := script.calls.Load(); calls != 6 || len(l.files(s)) != 5 {
		t.Errorf("%d calls, files %q", calls, l.files(s))
	}
	l.eventually(func(g gomega.Gomega) {
		g.Expect(l.events(s, v1alpha1.EventTakenOver)).To(gomega.ConsistOf(gomega.And(
			gomega.ContainSubstring("without giving the lock back"), gomega.ContainSubstring("1 resource is in flight: s:local.File:f2"))))
	})
}

// An outage that a renewal survives ends no run, also where the head is read again between
// two phases.
func TestAPIServerAwayBetweenPhases(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	script := &scripted{}
	var o *operator
	var outages atomic.Int64
	script.before = func(op string, _ *model.Request) {
		if op == "update" { // the last call of phase 1
			o.apiAway.Store(true)
			outages.Add(1)
			time.AfterFunc(2*time.Second, func() { o.apiAway.Store(false) })
		}
	}
	o = l.operate(withProvider(script.around))
	s := l.applied(l.create(l.stackOf("pair", pair("a", true), require(v1alpha1.ApprovalNever))))
	s = l.applied(l.edit(s, setConfig(pair("changed", false))))
	if files := l.files(s); outages.Load() != 1 || script.calls.Load() != 4 || files["a.txt"] != "changed" || len(files) != 1 {
		t.Errorf("%d outages, %d calls, files %q", outages.Load(), script.calls.Load(), files)
	}
	if failed := s.Status.Failure; failed != nil {
		t.Errorf("it was noticed: %+v", failed)
	}
	for _, reason := range []string{v1alpha1.ReasonApplyHalted, v1alpha1.ReasonApplyFailed, v1alpha1.ReasonLeaseLost} {
		if told := l.events(s, reason); len(told) > 0 {
			t.Errorf("told %q", told)
		}
	}
}
