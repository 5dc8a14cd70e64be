package main

import (
	"context"
	cryptorand "crypto/rand"
	"math/rand/v2"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/controllers/stack"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/state/postgres"
	"github.com/atlantide-org/atlantide-operator/providers"
	"github.com/atlantide-org/atlantide-operator/providers/aws"
	"github.com/atlantide-org/atlantide-operator/providers/local"
	"github.com/atlantide-org/atlantide-operator/providers/random"
)

const logLevelDebug = zapcore.DebugLevel

// operatorName names the election of a leader, and holders of Leases without a host name.
const operatorName = "atlantide-operator"

// wired is an operator that is ready to start.
type wired struct {
	manager manager.Manager
	store   *postgres.Store
	stacks  *stack.Reconciler
}

// check asks for what makes the operator not ready: the store's schema, then the keys that
// what it holds is sealed with. It is how a rotation of those takes effect.
func (w *wired) check(ctx context.Context) error {
	if err := w.store.Check(ctx); err != nil {
		return err
	}
	return w.stacks.CheckKeys(ctx)
}

func wire(ctx context.Context, config *rest.Config, o *options, installation string, registry prometheus.Registerer) (*wired, error) {
	mgr, err := newManager(config, o)
	if err != nil {
		return nil, err
	}
	metrics := stack.NewMetrics(registry)
	// The store outlives ctx: what is in flight at the end is still recorded.
	store, err := postgres.Open(context.WithoutCancel(ctx), o.stateDSN, postgres.Options{
		Installation: installation,
		Observe: func(kind string) {
			if kind == postgres.ObserveWrite {
				metrics.StateWrites.Inc()
			} else {
				metrics.StateQueries.Inc()
			}
		},
	})
	if err != nil {
		return nil, err
	}
	stacks, err := addStacks(mgr, config, o, metrics, store)
	if err != nil {
		store.Close()
		return nil, err
	}
	return &wired{manager: mgr, store: store, stacks: stacks}, nil
}

func newManager(config *rest.Config, o *options) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	forever := time.Duration(-1)
	return ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       server.Options{BindAddress: off}, // served with the probes, before there is a manager
		Cache:                         cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              operatorName,
		LeaderElectionNamespace:       o.leaseNamespace,
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       &forever, // runs bound their own end
	})
}

func addStacks(mgr manager.Manager, config *rest.Config, o *options, metrics *stack.Metrics, store *postgres.Store) (*stack.Reconciler, error) {
	registry, err := providers.NewRegistry(
		providers.Count(local.NewTenants(o.localDataRoot, local.Quota{}), metrics.CountProviderCall),
		providers.Count(random.New(cryptorand.Reader, time.Now), metrics.CountProviderCall),
		providers.Count(aws.New(), metrics.CountProviderCall))
	if err != nil {
		return nil, err
	}
	return stack.Setup(mgr, stack.Config{
		Engine: &engine.Engine{Registry: registry, Now: time.Now, NewID: uuid.NewString},
		State:  store, Plans: store.Plans(), Metrics: metrics, Fuel: o.fuel, Memory: o.memory, Jitter: jitter,
		Locks: stack.Locks{
			REST: config, Namespace: o.leaseNamespace, Identity: identity(),
			TTL: o.leaseTTL, Renew: o.leaseRenew, Grace: o.leaseGrace,
		},
		SealingKey: o.sealingKey,
		Controller: controller.Options{
			MaxConcurrentReconciles: o.concurrent,
			CacheSyncTimeout:        24 * time.Hour, // an API server that goes away at the start is waited for
		},
	})
}

// identity names this process among all holders of Leases: the pod where there is one.
func identity() string {
	host, err := os.Hostname()
	if err != nil {
		host = operatorName
	}
	return host + "_" + uuid.NewString()[:8]
}

// jitter spreads a delay by a tenth to either side.
//
//nolint:gosec // chance is all that is wanted of it, no secret depends on it
func jitter(d time.Duration) time.Duration { return d - d/10 + rand.N(d/5+1) }
