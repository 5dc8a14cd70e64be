package stack

import (
	"context"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/atlantide-org/atlantide-operator/controllers/internal/lease"
	"github.com/atlantide-org/atlantide-operator/controllers/internal/planstore"
	"github.com/atlantide-org/atlantide-operator/controllers/internal/planview"
	"github.com/atlantide-org/atlantide-operator/controllers/internal/secrets"
)

// Config is what a reconciler is made from, beside a manager.
type Config struct {
	Engine  Engine
	State   State
	Plans   planstore.Plans
	Metrics *Metrics
	Fuel    int64 // step budget of an evaluation; 0 takes the engine's default
	Memory  int64 // bytes that the values of an evaluation may take; 0 takes the engine's default
	Locks   Locks
	// SealingKey is the name of the Secret, in the namespace of the Locks, with the keys that
	// state is sealed with; "" takes the default.
	SealingKey string
	// Jitter spreads a delay, so that Stacks do not move in step; nil leaves it.
	Jitter     func(time.Duration) time.Duration
	Controller controller.Options
}

// DefaultSealingKey is the name of the Secret with the keys that state is sealed with.
const DefaultSealingKey = secrets.DefaultSealingKey

// ErrSealingKey is in the chain of an error about those keys that only a person can mend.
var ErrSealingKey = secrets.ErrSealingKey

// State is a shared state store: the rows and epochs of partitions, and which key they are
// sealed with.
type State interface {
	Store
	lease.Epochs
	secrets.Records
}

// Locks says how the Leases of Stacks are kept; a zero time takes its default.
type Locks struct {
	REST              *rest.Config // for a client of their own, whose rate limit nothing else uses up
	Namespace         string
	Identity          string // of the process
	TTL, Renew, Grace time.Duration
	Clock             clock.Clock // that locks are kept by; nil = the machine's
}

// CheckKeys reads the keys that state is sealed with, and reports whether they are usable.
// A rotation takes effect with it.
func (r *Reconciler) CheckKeys(ctx context.Context) error { return r.Secrets.Check(ctx) }

// reporter is under which Events are reported.
const reporter = "atlantide-operator"

// Setup makes the reconciler of Stacks and adds it to a manager.
func Setup(mgr ctrl.Manager, c Config) (*Reconciler, error) {
	leaseClient, err := lease.NewClient(c.Locks.REST)
	if err != nil {
		return nil, err
	}
	leases, err := lease.New(lease.Options{
		Client: leaseClient, Namespace: c.Locks.Namespace, Epochs: c.State, Identity: c.Locks.Identity,
		TTL: c.Locks.TTL, Renew: c.Locks.Renew, Grace: c.Locks.Grace, Clock: c.Locks.Clock,
	})
	if err != nil {
		return nil, err
	}
	sessions, err := secrets.New(secrets.Options{
		Config: c.Locks.REST, Namespace: c.Locks.Namespace, SealingKey: c.SealingKey, Records: c.State,
	})
	if err != nil {
		return nil, err
	}
	r := New(Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Events: mgr.GetEventRecorder(reporter),
		Engine: c.Engine, Store: c.State, Plans: c.Plans, Leases: leases,
		Views:   &planview.Publisher{Client: mgr.GetClient(), Live: mgr.GetAPIReader()},
		Secrets: sessions,
		Metrics: c.Metrics, Fuel: c.Fuel, Memory: c.Memory, Jitter: c.Jitter,
	})
	if err := r.SetupWithManager(mgr, c.Controller); err != nil {
		return nil, err
	}
	return r, nil
}
