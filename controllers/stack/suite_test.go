package stack

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/uuid"
	"github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/controllers/internal/planstore"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state/postgres"
	"github.com/atlantide-org/atlantide-operator/hack/devenv"
	"github.com/atlantide-org/atlantide-operator/providers"
	"github.com/atlantide-org/atlantide-operator/providers/local"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(devenv.Main(m, devenv.WithPostgres, devenv.WithControlPlane))
}

var testScheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
}()

// land is a namespace with a database and a data root of its own. Operators come and go
// in it.
type land struct {
	testing.TB
	gomega.Gomega
	client    client.WithWatch // the user's
	namespace string
	leases    string // namespace of the operator's Leases
	dataRoot  string
	store     *relay
	dsn       string
	install   string
}

const patience = 60 * time.Second

func newLand(t testing.TB) *land {
	t.Helper()
	g := gomega.NewWithT(t)
	c, err := client.NewWithWatch(devenv.Cluster(t).RESTConfig, client.Options{Scheme: testScheme})
	if err != nil {
		t.Fatal(err)
	}
	l := &land{TB: t, Gomega: g, client: c, dataRoot: t.TempDir(), install: uuid.NewString()}
	l.namespace, l.leases = l.newNamespace("team-"), l.newNamespace("leases-")
	l.grant()
	l.store, l.dsn = newRelay(t, devenv.Database(t))
	return l
}

// under is the same land for a subtest.
func (l *land) under(t *testing.T) *land {
	sub := *l
	sub.TB, sub.Gomega = t, gomega.NewWithT(t)
	return &sub
}

func (l *land) newNamespace(prefix string) string {
	l.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}}
	l.Expect(l.client.Create(l.Context(), ns)).To(gomega.Succeed())
	return ns.Name
}

// account is who operators are in tests: they have the rights of config/rbac and no others.
const account = "system:serviceaccount:atlantide-system:atlantide-operator"

// grant binds the account to the generated roles; the Role moves to the land's
// namespace of Leases.
func (l *land) grant() {
	l.Helper()
	text, err := os.ReadFile("../../config/rbac/role.yaml")
	l.Expect(err).NotTo(gomega.HaveOccurred())
	everywhere, here := &rbacv1.ClusterRole{}, &rbacv1.Role{}
	documents := strings.Split(strings.TrimPrefix(string(text), "---\n"), "---\n")
	l.Expect(documents).To(gomega.HaveLen(2))
	l.Expect(yaml.UnmarshalStrict([]byte(documents[0]), everywhere)).To(gomega.Succeed())
	l.Expect(yaml.UnmarshalStrict([]byte(documents[1]), here)).To(gomega.Succeed())
	everywhere.Name, here.Namespace = l.namespace, l.leases
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: account}}
	for _, object := range []client.Object{
		everywhere, here,
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: l.namespace}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: l.namespace},
		},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: l.leases, Name: here.Name}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: here.Name},
		},
	} {
		l.Expect(l.client.Create(l.Context(), object)).To(gomega.Succeed())
	}
}

// operator is a running operator, with everything counted where it leaves the process.
type operator struct {
	*land
	reconciler *Reconciler
	metrics    *Metrics
	cancel     func() // ends the context; nothing new is started from then on
	stop       func() // returns when all work has ended

	apiAway             atomic.Bool // the API server does not answer this operator
	apiReads, apiWrites atomic.Int64
	queries, writes     atomic.Int64
	began               cost // before the first reconcile
}

// settings are what a test changes of an operator.
type settings struct {
	provider func(providers.Provider) providers.Provider
	engine   func(Engine) Engine
	state    func(State) State
	plans    func(planstore.Plans) planstore.Plans
	log      func(*reconcile.Request) logr.Logger // nil = none
	locks    func(*Locks)
}

func withProvider(wrap func(providers.Provider) providers.Provider) func(*settings) {
	return func(s *settings) { s.provider = wrap }
}

func (l *land) operate(change ...func(*settings)) *operator {
	l.Helper()
	o := &operator{land: l, metrics: NewMetrics(prometheus.NewRegistry())}
	config := rest.CopyConfig(devenv.Cluster(l.TB).RESTConfig)
	config.Impersonate = rest.ImpersonationConfig{UserName: account, Groups: []string{"system:authenticated"}}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counting{next, o} })
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  testScheme,
		Metrics: server.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{l.namespace: {}}},
	})
	l.Expect(err).NotTo(gomega.HaveOccurred())
	store, err := postgres.Open(context.Background(), l.dsn, postgres.Options{
		Installation: l.install, Timeout: 5 * time.Second,
		Observe: func(kind string) {
			if kind == postgres.ObserveWrite {
				o.writes.Add(1)
				o.metrics.StateWrites.Inc()
			} else {
				o.queries.Add(1)
			}
		},
	})
	l.Expect(err).NotTo(gomega.HaveOccurred())
	set := settings{
		provider: func(p providers.Provider) providers.Provider { return p },
		engine:   func(e Engine) Engine { return e },
		state:    func(s State) State { return s },
		plans:    func(p planstore.Plans) planstore.Plans { return p },
		locks:    func(*Locks) {},
	}
	for _, c := range change {
		c(&set)
	}
	registry, err := providers.NewRegistry(providers.Count(set.provider(local.NewTenants(l.dataRoot, local.Quota{})), o.metrics.CountProviderCall))
	l.Expect(err).NotTo(gomega.HaveOccurred())
	leaseLocks := Locks{
		REST: config, Namespace: l.leases, Identity: "test_" + uuid.NewString()[:8],
		TTL: 6 * time.Second, Renew: 2 * time.Second, Grace: time.Second,
	}
	set.locks(&leaseLocks)
	skip := true
	o.reconciler, err = Setup(mgr, Config{
		Engine: set.engine(&engine.Engine{Registry: registry, Now: time.Now, NewID: uuid.NewString, DrainGrace: 10 * time.Second}),
		State:  set.state(store), Plans: set.plans(store.Plans()), Metrics: o.metrics,
		Jitter:     func(d time.Duration) time.Duration { return min(d, time.Second) }, // nobody wants to wait
		Locks:      leaseLocks,
		Controller: controller.Options{SkipNameValidation: &skip, MaxConcurrentReconciles: 4, LogConstructor: set.log},
	})
	l.Expect(err).NotTo(gomega.HaveOccurred())
	_ = o.reconciler.Secrets.Check(l.Context()) // as the manager does, store and API server being there or not
	o.began = o.spent()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	o.cancel = cancel
	o.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			l.Errorf("the manager ended with %v", err)
		}
		store.Close()
	})
	l.Cleanup(o.stop)
	return o
}

// counting counts requests by whether they change something; watches are neither.
type counting struct {
	next http.RoundTripper
	o    *operator
}

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	switch {
	case c.o.apiAway.Load():
		return nil, errors.New("connection refused")
	case r.Method != http.MethodGet:
		c.o.apiWrites.Add(1)
	case !r.URL.Query().Has("watch"):
		c.o.apiReads.Add(1)
	}
	return c.next.RoundTrip(r)
}

// cost is what was spent.
type cost struct{ Compiles, ProviderCalls, APIReads, APIWrites, Queries, Writes int }

func (o *operator) spent() cost {
	return cost{
		Compiles:      int(testutil.ToFloat64(o.metrics.Compiles)),
		ProviderCalls: total(o.metrics.ProviderCalls),
		APIReads:      int(o.apiReads.Load()), APIWrites: int(o.apiWrites.Load()),
		Queries: int(o.queries.Load()), Writes: int(o.writes.Load()),
	}
}

func (c cost) since(before cost) cost {
	return cost{
		c.Compiles - before.Compiles, c.ProviderCalls - before.ProviderCalls, c.APIReads - before.APIReads,
		c.APIWrites - before.APIWrites, c.Queries - before.Queries, c.Writes - before.Writes,
	}
}

func total(vec *prometheus.CounterVec) int {
	metrics := make(chan prometheus.Metric, 1024)
	vec.Collect(metrics)
	close(metrics)
	sum := 0.0
	for m := range metrics {
		sum += testutil.ToFloat64(single{m})
	}
	return int(sum)
}

// single collects one metric.
type single struct{ prometheus.Metric }

func (s single) Describe(ch chan<- *prometheus.Desc) { ch <- s.Desc() }
func (s single) Collect(ch chan<- prometheus.Metric) { ch <- s.Metric }

// reconcile runs one reconcile at once, beside the queue.
func (o *operator) reconcile(stack *v1alpha1.Stack) ctrl.Result {
	o.Helper()
	result, err := o.reconciler.Reconcile(o.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(stack)})
	o.Expect(err).NotTo(gomega.HaveOccurred())
	return result
}

// stackOf is a Stack made from one file.
func (l *land) stackOf(name, config string, changes ...func(*v1alpha1.Stack)) *v1alpha1.Stack {
	s := &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name},
		Spec: v1alpha1.StackSpec{
			Source: v1alpha1.StackSource{Inline: &v1alpha1.InlineSource{
				Files: map[string]v1alpha1.FileText{"infra.py": v1alpha1.FileText(config)}, Entrypoint: "infra.py",
			}},
			RetryInterval: &metav1.Duration{Duration: 5 * time.Second},
		},
	}
	for _, change := range changes {
		change(s)
	}
	return s
}

func (l *land) create(s *v1alpha1.Stack) *v1alpha1.Stack {
	l.Helper()
	l.Expect(l.client.Create(l.Context(), s)).To(gomega.Succeed())
	return s
}

// read is the Stack as it is now.
func (l *land) read(s *v1alpha1.Stack) *v1alpha1.Stack {
	l.Helper()
	now := &v1alpha1.Stack{}
	l.Expect(l.client.Get(l.Context(), client.ObjectKeyFromObject(s), now)).To(gomega.Succeed())
	return now
}

// edit changes a Stack as its user would.
func (l *land) edit(s *v1alpha1.Stack, change func(*v1alpha1.Stack)) *v1alpha1.Stack {
	l.Helper()
	l.Eventually(func() error {
		now := l.read(s)
		change(now)
		return l.client.Update(l.Context(), now)
	}, patience, 50*time.Millisecond).Should(gomega.Succeed())
	return l.read(s)
}

func setConfig(config string) func(*v1alpha1.Stack) {
	return func(s *v1alpha1.Stack) {
		s.Spec.Source.Inline.Files["infra.py"] = v1alpha1.FileText(config)
	}
}

func annotate(key, value string) func(*v1alpha1.Stack) {
	return func(s *v1alpha1.Stack) { metav1.SetMetaDataAnnotation(&s.ObjectMeta, key, value) }
}

func require(r v1alpha1.ApprovalRequirement) func(*v1alpha1.Stack) {
	return func(s *v1alpha1.Stack) { s.Spec.Approval = &v1alpha1.StackApproval{Required: r} }
}

func destroyed(s *v1alpha1.Stack) {
	s.Spec.Deletion = &v1alpha1.StackDeletion{Policy: v1alpha1.DeletionDestroy}
}

// settled waits until the conditions describe the current generation with this Ready
// status and reason, and returns the Stack.
func (l *land) settled(s *v1alpha1.Stack, status metav1.ConditionStatus, reason string) *v1alpha1.Stack {
	l.Helper()
	var now *v1alpha1.Stack
	l.Eventually(func(g gomega.Gomega) {
		now = l.read(s)
		ready := meta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionReady)
		g.Expect(ready).NotTo(gomega.BeNil())
		g.Expect(string(ready.Status)+"/"+ready.Reason).To(gomega.Equal(string(status)+"/"+reason), ready.Message)
		g.Expect(now.Status.ObservedGeneration).To(gomega.Equal(now.Generation))
		g.Expect(now.Status.Lock).To(gomega.BeNil())
	}, patience, 20*time.Millisecond).Should(gomega.Succeed())
	return now
}

func (l *land) applied(s *v1alpha1.Stack) *v1alpha1.Stack {
	l.Helper()
	return l.settled(s, metav1.ConditionTrue, v1alpha1.ReasonApplied)
}

// gone waits until the Stack does not exist.
func (l *land) gone(s *v1alpha1.Stack) {
	l.Helper()
	l.Eventually(func() bool {
		return apierrors.IsNotFound(l.client.Get(l.Context(), client.ObjectKeyFromObject(s), &v1alpha1.Stack{}))
	}, patience, 20*time.Millisecond).Should(gomega.BeTrue())
}

func message(s *v1alpha1.Stack) string {
	return meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady).Message
}

// files are what a Stack made, by path below its root.
func (l *land) files(s *v1alpha1.Stack) map[string]string {
	l.Helper()
	return filesBelow(l.TB, l.dataRoot, s.Namespace, string(s.UID))
}

// filesBelow are the files of a folder with their text, by path below it.
func filesBelow(t testing.TB, folder ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	root := filepath.Join(folder...)
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		found[strings.TrimPrefix(path, root+"/")] = string(text)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return found
}

// events are the notes of a Stack's events with this reason.
func (l *land) events(s *v1alpha1.Stack, reason string) []string {
	l.Helper()
	var list eventsv1.EventList
	l.Expect(l.client.List(l.Context(), &list, client.InNamespace(l.namespace))).To(gomega.Succeed())
	var notes []string
	for _, e := range list.Items {
		if e.Regarding.UID == s.UID && e.Reason == reason {
			notes = append(notes, e.Note)
		}
	}
	return notes
}

// toldOnce waits until a Stack has one event with this reason, and checks that it was
// not told again: what is told again becomes a series.
func (l *land) toldOnce(s *v1alpha1.Stack, reason string) {
	l.Helper()
	l.eventually(func(g gomega.Gomega) { g.Expect(l.events(s, reason)).To(gomega.HaveLen(1)) })
	var list eventsv1.EventList
	l.Expect(l.client.List(l.Context(), &list, client.InNamespace(l.namespace))).To(gomega.Succeed())
	for _, e := range list.Items {
		if e.Regarding.UID == s.UID && e.Reason == reason && e.Series != nil {
			l.Errorf("it was told %d times: %s", e.Series.Count, e.Note)
		}
	}
}

// direct is the state store beside all operators.
func (l *land) direct() *postgres.Store {
	l.Helper()
	store, err := postgres.Open(l.Context(), l.dsn, postgres.Options{Installation: l.install})
	l.Expect(err).NotTo(gomega.HaveOccurred())
	l.Cleanup(store.Close)
	return store
}

// take claims the lock of a Stack's partition in the state store, as a run does.
func (l *land) take(store *postgres.Store, s *v1alpha1.Stack, holder string) model.Fence {
	l.Helper()
	epoch, err := store.Mint(l.Context(), string(s.UID))
	l.Expect(err).NotTo(gomega.HaveOccurred())
	fence := model.Fence{Epoch: epoch, Holder: holder}
	l.Expect(store.Claim(l.Context(), string(s.UID), fence, "the lease of "+holder, 1)).To(gomega.Succeed())
	return fence
}

// rewriteStatus changes a Stack's status behind the operator's back.
func (l *land) rewriteStatus(s *v1alpha1.Stack, change func(*v1alpha1.StackStatus)) *v1alpha1.Stack {
	l.Helper()
	l.Eventually(func() error {
		now := l.read(s)
		change(&now.Status)
		return l.client.Status().Update(l.Context(), now)
	}, patience, 50*time.Millisecond).Should(gomega.Succeed())
	return l.read(s)
}

func (l *land) eventually(check func(g gomega.Gomega)) {
	l.Helper()
	l.Eventually(check, patience, 20*time.Millisecond).Should(gomega.Succeed())
}

// failingProvider makes the operations of a provider fail while broken holds.
type failingProvider struct {
	providers.Provider
	broken *atomic.Bool
}

func breakable(broken *atomic.Bool) func(*settings) {
	return withProvider(func(p providers.Provider) providers.Provider { return failingProvider{p, broken} })
}

func (f failingProvider) Create(ctx context.Context, r *model.Request) (model.Outputs, error) {
	if f.broken.Load() {
		return nil, model.Errorf(model.ProviderError, model.ClassTransient, "the disk is away")
	}
	return f.Provider.Create(ctx, r)
}

func (f failingProvider) Delete(ctx context.Context, r *model.Request) error {
	if f.broken.Load() {
		return model.Errorf(model.ProviderError, model.ClassTransient, "the disk is away")
	}
	return f.Provider.Delete(ctx, r)
}

func keyOf(s *v1alpha1.Stack) client.ObjectKey { return client.ObjectKeyFromObject(s) }
