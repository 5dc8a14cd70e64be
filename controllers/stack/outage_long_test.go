//go:build long

package stack

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	locks "github.com/atlantide-org/atlantide-operator/controllers/internal/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/hack/devenv"
	"github.com/atlantide-org/atlantide-operator/providers"
)

// steadyProvider takes a second for every create, and notes when it began.
type steadyProvider struct {
	providers.Provider
	mu      sync.Mutex
	creates map[string]int
	deletes int
	last    time.Time
}

func (p *steadyProvider) around(inner providers.Provider) providers.Provider {
	p.Provider = inner
	return p
}

func (p *steadyProvider) Create(ctx context.Context, r *model.Request) (model.Outputs, error) {
	p.mu.Lock()
	p.creates[r.Node.Name]++
	p.last = time.Now()
	p.mu.Unlock()
	second := time.NewTimer(time.Second)
	defer second.Stop()
	select {
	case <-second.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return p.Provider.Create(ctx, r)
}

func (p *steadyProvider) Delete(ctx context.Context, r *model.Request) error {
	p.mu.Lock()
	p.deletes++
	p.mu.Unlock()
	return p.Provider.Delete(ctx, r)
}

func (p *steadyProvider) seen() (calls, most, deletes int, last time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.creates {
		calls += n
		most = max(most, n)
	}
	return calls, most, p.deletes, p.last
}

// outageForReal runs an operator with the times that it has by default, freezes the API
// server right after a renewal, and returns when that renewal was sent. Nothing else runs
// meanwhile: these tests are not parallel.
func outageForReal(t *testing.T, files int) (l *land, s *v1alpha1.Stack, work *steadyProvider, renewed time.Time) {
	t.Helper()
	l = newLand(t)
	work = &steadyProvider{creates: map[string]int{}}
	l.operate(withProvider(work.around), func(set *settings) {
		set.locks = func(k *Locks) { k.TTL, k.Renew, k.Grace = 0, 0, 0 }
	})
	s = l.create(l.stackOf("s", long(files)))
	l.Eventually(func(g gomega.Gomega) {
		g.Expect(l.read(s).Status.Failure).To(gomega.BeNil(), "%+v", l.read(s).Status.Conditions)
		lease := l.onlyLease(g)
		g.Expect(lease.Spec.RenewTime.Time).To(gomega.BeTemporally(">", lease.Spec.AcquireTime.Time))
		renewed = lease.Spec.RenewTime.Time
	}, 2*locks.DefaultRenew, 50*time.Millisecond).Should(gomega.Succeed())
	l.Expect(devenv.Cluster(t).PauseAPIServer()).To(gomega.Succeed())
	t.Cleanup(func() { l.Expect(devenv.Cluster(t).ResumeAPIServer()).To(gomega.Succeed()) })
	return l, s, work, renewed
}

func (l *land) onlyLease(g gomega.Gomega) *coordinationv1.Lease {
	var leases coordinationv1.LeaseList
	g.Expect(l.client.List(l.Context(), &leases, client.InNamespace(l.leases))).To(gomega.Succeed())
	g.Expect(leases.Items).To(gomega.HaveLen(1))
	return &leases.Items[0]
}

// resumeAfter lets the API server answer again once it was away for so long.
func (l *land) resumeAfter(gone time.Duration) {
	l.Helper()
	timer := time.NewTimer(gone)
	defer timer.Stop()
	<-timer.C
	l.Expect(devenv.Cluster(l.TB).ResumeAPIServer()).To(gomega.Succeed())
}

// The API server does not answer for 20 s of a run, in real time: nobody notices.
func TestAPIServerAwayForAMomentForReal(t *testing.T) {
	const files = 55
	l, s, work, _ := outageForReal(t, files)
	l.resumeAfter(20 * time.Second)
	l.Eventually(func(g gomega.Gomega) {
		ready := meta.FindStatusCondition(l.read(s).Status.Conditions, v1alpha1.ConditionReady)
		g.Expect(ready).NotTo(gomega.BeNil())
		g.Expect(ready.Reason).To(gomega.Equal(v1alpha1.ReasonApplied), ready.Message)
	}, 2*time.Minute, time.Second).Should(gomega.Succeed())
	calls, most, deletes, _ := work.seen()
	if calls != files || most != 1 || deletes != 0 {
		t.Errorf("%d creates, at most %d of one file, %d deletes", calls, most, deletes)
	}
	if s = l.read(s); s.Status.Failure != nil || *l.onlyLease(l).Spec.LeaseTransitions != 1 {
		t.Errorf("failure %+v, Lease %+v", s.Status.Failure, l.onlyLease(l).Spec)
	}
}

// The API server does not answer for 90 s of a run, in real time: no call starts later than
// ttl − grace after the last renewal was sent, nothing is undone, the rows say what is in
// flight, and the operator does the rest by itself (N-32, LS-16c).
func TestAPIServerAwayForLongForReal(t *testing.T) {
	const files = 95
	l, s, work, renewed := outageForReal(t, files)
	l.resumeAfter(90 * time.Second)
	calls, most, deletes, last := work.seen()
	deadline := renewed.Add(locks.DefaultTTL - locks.DefaultGrace)
	if last.After(deadline) {
		t.Errorf("the last call started %s after the deadline", last.Sub(deadline))
	}
	if most != 1 || deletes != 0 {
		t.Errorf("at most %d creates of one file, %d deletes", most, deletes)
	}
	snapshot, err := l.direct().Load(t.Context(), string(s.UID))
	l.Expect(err).NotTo(gomega.HaveOccurred())
	inFlight := 0
	for _, row := range snapshot.Rows {
		if row.Status == state.StatusCreating {
			inFlight++
		}
	}
	if len(snapshot.Rows) != calls || inFlight != 1 {
		t.Errorf("%d rows, %d of them in flight, after %d calls", len(snapshot.Rows), inFlight, calls)
	}
	began := time.Now()
	l.Eventually(func(g gomega.Gomega) {
		ready := meta.FindStatusCondition(l.read(s).Status.Conditions, v1alpha1.ConditionReady)
		g.Expect(ready).NotTo(gomega.BeNil())
		g.Expect(string(ready.Status)+ready.Reason).To(gomega.Equal(string(metav1.ConditionTrue)+v1alpha1.ReasonApplied), ready.Message)
	}, 6*time.Minute, time.Second).Should(gomega.Succeed())
	t.Logf("stopped %s before the deadline, done %s after the API server was back", deadline.Sub(last).Round(time.Millisecond), time.Since(began).Round(time.Second))
	if calls, most, deletes, _ = work.seen(); calls != files+1 || most != 2 || deletes != 0 || len(l.files(s)) != files {
		t.Errorf("%d creates, at most %d of one file, %d deletes, %d files", calls, most, deletes, len(l.files(s)))
	}
	l.Expect(l.events(s, v1alpha1.EventTakenOver)).To(gomega.HaveLen(1))
}
