package lease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	. "github.com/onsi/gomega"
	v1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/postgres"
	"github.com/atlantide-org/atlantide-operator/hack/devenv"
)

func TestMain(m *testing.M) {
	os.Exit(devenv.Main(m, devenv.WithPostgres, devenv.WithControlPlane))
}

var start = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// patience bounds the wait for something that happens beside the test.
const patience = 30 * time.Second

// world is one Stack and what all operators of it share: API server and state store.
type world struct {
	testing.TB
	Gomega
	store     *postgres.Store
	client    coordination.LeasesGetter
	namespace string
	stack     types.NamespacedName
	uid       types.UID
	clock     *clocktesting.FakeClock
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{TB: t, Gomega: NewWithT(t), stack: types.NamespacedName{Namespace: "team-a", Name: "web"},
		uid: types.UID(uuid.NewString()), clock: clocktesting.NewFakeClock(start)}
	var err error
	w.store, err = postgres.Open(t.Context(), devenv.Database(t), postgres.Options{Installation: "test"})
	w.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(w.store.Close)
	w.Expect(w.store.EnsurePartition(t.Context(), string(w.uid), w.stack.Namespace, w.stack.Name)).To(Succeed())

	config := devenv.Cluster(t).RESTConfig
	w.client, err = NewClient(config)
	w.Expect(err).NotTo(HaveOccurred())
	namespaces, err := kubernetes.NewForConfig(config)
	w.Expect(err).NotTo(HaveOccurred())
	w.namespace = "operator-" + uuid.NewString()[:8]
	_, err = namespaces.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	return w
}

// operator is one process: Leases of its own over what the world shares.
func (w *world) operator(identity string, change ...func(*Options)) *Leases {
	w.Helper()
	runs := 0
	o := Options{Client: w.client, Namespace: w.namespace, Epochs: w.store, Identity: identity, Clock: w.clock,
		NewRunID: func() string { runs++; return fmt.Sprintf("run%d", runs) },
		Jitter:   func(d time.Duration) time.Duration { return d }}
	for _, c := range change {
		c(&o)
	}
	l, err := New(o)
	w.Expect(err).NotTo(HaveOccurred())
	return l
}

func (w *world) acquire(l *Leases) lease.Handle {
	w.Helper()
	h, err := l.For(w.stack, w.uid).Acquire(w.Context())
	w.Expect(err).NotTo(HaveOccurred())
	w.Cleanup(h.Abandon)
	return h
}

// refused is the text of the LockError that an acquisition gives.
func (w *world) refused(l *Leases) string {
	w.Helper()
	_, err := l.For(w.stack, w.uid).Acquire(w.Context())
	w.Expect(model.KindOf(err)).To(Equal(model.LockError), "%v", err)
	w.Expect(model.ClassOf(err)).To(Equal(model.ClassTransient))
	return err.Error()
}

func (w *world) leases() coordination.LeaseInterface { return w.client.Leases(w.namespace) }

// live is the Lease on the server, nil when there is none.
func (w *world) live() *v1.Lease {
	w.Helper()
	list, err := w.leases().List(w.Context(), metav1.ListOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	if len(list.Items) == 0 {
		return nil
	}
	w.Expect(list.Items).To(HaveLen(1))
	return &list.Items[0]
}

// edit changes the Lease as somebody else would.
func (w *world) edit(change func(*v1.Lease)) {
	w.Helper()
	w.Eventually(func() error {
		l := w.live()
		change(l)
		_, err := w.leases().Update(w.Context(), l, metav1.UpdateOptions{})
		return err
	}, patience).Should(Succeed())
}

func (w *world) remove() {
	w.Helper()
	w.Expect(w.leases().Delete(w.Context(), w.live().Name, metav1.DeleteOptions{})).To(Succeed())
}

// write is a state write of the run.
func (w *world) write(f model.Fence) error {
	return w.store.Commit(w.Context(), string(w.uid), f, state.Batch{PutRows: []*state.Row{{ID: "s:local.Null:a"}}})
}

// renewed steps to the next renewal and waits until it landed.
func (w *world) renewed(by time.Duration) {
	w.Helper()
	before := w.live().ResourceVersion
	w.step(by)
	w.Eventually(func() string { return w.live().ResourceVersion }, patience, 5*time.Millisecond).ShouldNot(Equal(before))
}

// step moves the clock once a renewal loop waits on it.
func (w *world) step(by time.Duration) {
	w.Helper()
	w.Eventually(w.clock.HasWaiters, patience, time.Millisecond).Should(BeTrue())
	w.clock.Step(by)
}

// checked asks the guard, as a run does all the time, and returns the handle.
func (w *world) checked(h lease.Handle) lease.Handle {
	w.Helper()
	w.Expect(h.Check()).To(HaveOccurred())
	return h
}

func (w *world) lost(h lease.Handle) string {
	w.Helper()
	w.Eventually(h.Lost(), patience).Should(BeClosed())
	err := h.Check()
	w.Expect(model.KindOf(err)).To(Equal(model.LeaseLostError), "%v", err)
	return err.Error()
}

// faults stands between an operator and the API server.
type faults struct {
	coordination.LeasesGetter
	mu sync.Mutex
	// before may refuse a request, after may lose the answer of one that succeeded.
	before, after func(verb string) error
	requests      int
}

var errNetwork = errors.New("connection reset by peer")

func (f *faults) set(before, after func(verb string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before, f.after = before, after
}

func (f *faults) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests
}

func (f *faults) Leases(namespace string) coordination.LeaseInterface {
	return faultyLeases{LeaseInterface: f.LeasesGetter.Leases(namespace), faults: f}
}

func (f *faults) around(verb string, request func() (*v1.Lease, error)) (*v1.Lease, error) {
	f.mu.Lock()
	f.requests++
	before, after := f.before, f.after
	f.mu.Unlock()
	if before != nil {
		if err := before(verb); err != nil {
			return nil, err
		}
	}
	l, err := request()
	if err == nil && after != nil {
		if err := after(verb); err != nil {
			return nil, err
		}
	}
	return l, err
}

type faultyLeases struct {
	coordination.LeaseInterface
	faults *faults
}

func (f faultyLeases) Get(ctx context.Context, name string, o metav1.GetOptions) (*v1.Lease, error) {
	return f.faults.around("get", func() (*v1.Lease, error) { return f.LeaseInterface.Get(ctx, name, o) })
}

func (f faultyLeases) Create(ctx context.Context, l *v1.Lease, o metav1.CreateOptions) (*v1.Lease, error) {
	return f.faults.around("create", func() (*v1.Lease, error) { return f.LeaseInterface.Create(ctx, l, o) })
}

func (f faultyLeases) Update(ctx context.Context, l *v1.Lease, o metav1.UpdateOptions) (*v1.Lease, error) {
	return f.faults.around("update", func() (*v1.Lease, error) { return f.LeaseInterface.Update(ctx, l, o) })
}

// once lets fault happen at the first request with that verb.
func once(verb string, fault func() error) func(string) error {
	done := false
	return func(v string) error {
		if v != verb || done {
			return nil
		}
		done = true
		return fault()
	}
}

// epochs is a state store whose steps can be replaced.
type epochs struct {
	Epochs
	mint  func() error
	claim func(claim func() error) error
}

func (e epochs) Mint(ctx context.Context, partition string) (int64, error) {
	if e.mint != nil {
		if err := e.mint(); err != nil {
			return 0, err
		}
	}
	return e.Epochs.Mint(ctx, partition)
}

func (e epochs) Claim(ctx context.Context, partition string, fence model.Fence, leaseUID string, transitions int32) error {
	claim := func() error { return e.Epochs.Claim(ctx, partition, fence, leaseUID, transitions) }
	if e.claim != nil {
		return e.claim(claim)
	}
	return claim()
}
