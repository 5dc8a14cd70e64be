package lease

import (
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	v1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/hack/devenv"
)

// stopsAt is when a holder that was never renewed stops.
const stopsAt = DefaultTTL - DefaultGrace

// LS-9: a long run keeps its lock and its epoch.
func TestRenew(t *testing.T) {
	w := newWorld(t)
	h := w.acquire(w.operator("pod"))
	for i := range 6 {
		w.renewed(DefaultRenew)
		w.Expect(h.Check()).To(Succeed())
		l := w.live()
		w.Expect(l.Spec.RenewTime.Time).To(BeTemporally("==", start.Add(time.Duration(i+1)*DefaultRenew)))
		w.Expect(l.Spec.AcquireTime.Time).To(BeTemporally("==", start))
		w.Expect(*l.Spec.LeaseTransitions).To(Equal(int32(1)))
	}
	w.Expect(w.write(h.Fence())).To(Succeed())
	w.Expect(h.Release(t.Context())).To(Succeed())
	w.Expect(*w.live().Spec.HolderIdentity).To(BeEmpty())
}

// A short run renews nothing (T-168b).
func TestShortRunNeverRenews(t *testing.T) {
	w := newWorld(t)
	f := &faults{LeasesGetter: w.client}
	h := w.acquire(w.operator("pod", func(o *Options) { o.Client = f }))
	taken := f.count()
	w.step(DefaultRenew - time.Nanosecond)
	w.Expect(h.Check()).To(Succeed())
	w.Expect(f.count()).To(Equal(taken))
}

// N-27: what a renewal finds.
func TestRenewFinds(t *testing.T) {
	for _, c := range []struct {
		reason string
		edit   func(w *world)
		lost   string // what the loss is called; "" = the lock is kept
	}{
		{reason: "its own record, edited by somebody", edit: func(w *world) {
			w.edit(func(l *v1.Lease) { l.Labels["by"] = "hand" })
		}},
		{reason: "no Lease", edit: func(w *world) { w.remove() }, lost: "deleted"},
		{reason: "another holder", edit: func(w *world) {
			w.edit(func(l *v1.Lease) { l.Spec.HolderIdentity = new("intruder") })
		}, lost: "somebody else"},
		{reason: "its name with another epoch", edit: func(w *world) {
			w.edit(func(l *v1.Lease) { l.Annotations[epochAnnotation] = "77" })
		}, lost: "somebody else"},
		{reason: "a Lease that was released by hand", edit: func(w *world) {
			w.edit(func(l *v1.Lease) { l.Spec.HolderIdentity = new("") })
		}, lost: "somebody else"},
		{reason: "a Lease made again with its name in it", edit: func(w *world) {
			copied := w.live()
			w.remove()
			copied.ResourceVersion, copied.UID = "", ""
			_, err := w.leases().Create(w.Context(), copied, metav1.CreateOptions{})
			w.Expect(err).NotTo(HaveOccurred())
		}, lost: "somebody else"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := newWorld(t)
			h := w.acquire(w.operator("pod"))
			c.edit(w)
			if c.lost == "" {
				w.renewed(DefaultRenew)
				w.Expect(h.Check()).To(Succeed())
				w.Expect(w.live().Labels).To(HaveKey("by"))
				return
			}
			w.step(DefaultRenew)
			w.Expect(w.lost(h)).To(ContainSubstring(c.lost))
			w.Expect(h.Release(t.Context())).To(Succeed(), "after a loss it reports nothing")
		})
	}
}

// N-27, N-32: without the API server a holder retries, and stops ttl − grace after its
// last renewal was sent, before anybody may take over.
func TestRenewUnreachable(t *testing.T) {
	w := newWorld(t)
	f := &faults{LeasesGetter: w.client}
	h := w.acquire(w.operator("pod", func(o *Options) { o.Client = f }))
	successor := w.operator("successor")
	w.refused(successor) // it has seen the record from the first moment on

	f.set(func(string) error { return errNetwork }, nil)
	tries := f.count()
	w.step(DefaultRenew)
	w.Eventually(f.count, patience).Should(BeNumerically(">", tries))
	w.clock.Step(stopsAt - DefaultRenew - time.Nanosecond)
	w.Expect(h.Check()).To(Succeed(), "not before the deadline")
	w.clock.Step(time.Nanosecond)
	w.Expect(h.Check()).To(HaveOccurred(), "at the deadline, whether or not the loop has noticed")
	w.Expect(w.lost(h)).To(ContainSubstring("not renewed in time"))
	w.refused(successor)

	f.set(nil, nil)
	w.clock.Step(-stopsAt)
	w.Expect(h.Check()).To(HaveOccurred(), "lost for good, even if time runs backwards")
	w.clock.Step(stopsAt + DefaultGrace)
	w.Expect(w.acquire(successor).Fence().Epoch).To(BeNumerically(">", h.Fence().Epoch))
	w.Expect(model.IsKind(w.write(h.Fence()), model.FencedWriteError)).To(BeTrue())
}

// An outage that ends before the deadline costs nothing.
func TestRenewRecovers(t *testing.T) {
	w := newWorld(t)
	f := &faults{LeasesGetter: w.client}
	h := w.acquire(w.operator("pod", func(o *Options) { o.Client = f }))
	f.set(func(string) error { return errNetwork }, nil)
	tries := f.count()
	w.step(DefaultRenew)
	w.Eventually(f.count, patience).Should(BeNumerically(">", tries))
	f.set(nil, nil)
	w.renewed(DefaultRenew) // the retry, at 40 s
	w.step(stopsAt - DefaultRenew)
	w.Expect(h.Check()).To(Succeed(), "counted from the renewal that landed")
}

// A renewal counts from before it was sent: one whose answer comes after the deadline
// comes too late.
func TestRenewAnsweredTooLate(t *testing.T) {
	w := newWorld(t)
	f := &faults{LeasesGetter: w.client}
	h := w.acquire(w.operator("pod", func(o *Options) { o.Client = f }))
	arrived, proceed := make(chan struct{}), make(chan struct{})
	f.set(nil, once("update", func() error { close(arrived); <-proceed; return nil }))
	w.step(DefaultRenew)
	w.Eventually(arrived, patience).Should(BeClosed())
	w.clock.Step(stopsAt - DefaultRenew)
	w.Expect(w.lost(h)).To(ContainSubstring("not renewed in time"))
	close(proceed)
	w.Expect(h.Release(t.Context())).To(Succeed())
	w.Expect(h.Check()).To(HaveOccurred())
}

// The same with a real API server that hangs: the guard does not wait for it.
func TestAPIServerHangs(t *testing.T) {
	w := newWorld(t)
	cluster := devenv.Cluster(t)
	h := w.acquire(w.operator("pod", func(o *Options) { o.RequestTimeout = 4 * time.Second }))
	w.Expect(cluster.PauseAPIServer()).To(Succeed())
	t.Cleanup(func() { w.Expect(cluster.ResumeAPIServer()).To(Succeed()) })
	w.step(DefaultRenew)
	w.clock.Step(stopsAt - DefaultRenew)
	w.Expect(w.lost(h)).To(ContainSubstring("not renewed in time"))
	w.Expect(h.Release(t.Context())).To(Succeed(), "the lock is gone as far as this run is concerned")
	w.Expect(model.IsKind(w.write(h.Fence()), model.FencedWriteError)).To(BeTrue(), "the store was told")
}

// What is abandoned lapses: its own process waits for it like any other.
func TestAbandon(t *testing.T) {
	w := newWorld(t)
	operator := w.operator("pod")
	h := w.acquire(operator)
	h.Abandon()
	w.Expect(w.lost(h)).To(ContainSubstring("abandoned"))
	w.Expect(w.refused(operator)).To(ContainSubstring("pod_run1"))
	w.Expect(w.write(h.Fence())).To(Succeed(), "what was in flight may still be recorded")
	w.clock.Step(DefaultTTL)
	w.acquire(operator)
	w.Expect(model.IsKind(w.write(h.Fence()), model.FencedWriteError)).To(BeTrue())
}

// EX-39: every renewal is told, the failed ones with what went wrong, and a sink that
// fails costs none.
func TestRenewalsAreTold(t *testing.T) {
	w := newWorld(t)
	f := &faults{LeasesGetter: w.client}
	h := w.acquire(w.operator("pod", func(o *Options) { o.Client = f }))
	told := make(chan error, 8)
	h.(lease.Observed).Observe(func(r lease.Renewal) {
		told <- r.Err
		panic("a sink that fails")
	})
	w.step(DefaultRenew)
	w.Eventually(told, patience).Should(Receive(BeNil()))
	f.set(once("update", func() error { return errNetwork }), nil)
	w.step(DefaultRenew)
	w.Eventually(told, patience).Should(Receive(MatchError(errNetwork)))
	w.step(DefaultRenew / 10)
	w.Eventually(told, patience).Should(Receive(BeNil()))
	w.step(stopsAt - time.Nanosecond)
	w.Expect(h.Check()).To(Succeed())
}

// LS-12: a machine that slept, or whose clock was set, may not trust its timers.
func TestClocksThatDisagree(t *testing.T) {
	for _, c := range []struct {
		reason string
		off    time.Duration // of the wall clock
		held   bool
	}{
		{"both agree", 0, true},
		{"a small step", DefaultGrace, true},
		{"it slept", DefaultGrace + 1, false},
		{"it was set back", -DefaultGrace - 1, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := newWorld(t)
			var off atomic.Int64
			h := w.acquire(w.operator("pod", func(o *Options) {
				o.Wall = func() time.Time { return w.clock.Now().Add(time.Duration(off.Load())) }
			}))
			off.Store(int64(c.off))
			if !c.held {
				w.Expect(w.lost(w.checked(h))).To(ContainSubstring("slept"))
				return
			}
			w.renewed(DefaultRenew)
			w.Expect(h.Check()).To(Succeed())
		})
	}
}

// LS-17: who takes a Lease over that nobody gave back knows it.
func TestTookOver(t *testing.T) {
	w := newWorld(t)
	free := w.acquire(w.operator("first"))
	w.Expect(free.(lease.Successor).TookOver()).To(BeEmpty())
	w.Expect(free.Release(t.Context())).To(Succeed())
	dead := w.acquire(w.operator("dead"))
	w.Expect(dead.(lease.Successor).TookOver()).To(BeEmpty(), "it was given back")
	dead.Abandon()

	f := &faults{LeasesGetter: w.client}
	operator := w.operator("successor", func(o *Options) { o.Client = f })
	w.refused(operator)
	w.clock.Step(DefaultTTL)
	f.set(nil, once("update", func() error { return errNetwork })) // the answer is lost
	w.Expect(w.acquire(operator).(lease.Successor).TookOver()).To(Equal("dead_run1"))
}
