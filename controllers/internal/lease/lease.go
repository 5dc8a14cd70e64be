// Package lease owns the operator's lock: one coordination.k8s.io Lease per Stack in
// the operator's own namespace, and an epoch from the state store that fences every
// write (engine.md 6.7 to 6.11). The Lease gives waiting, taking over and the
// exclusion of provider calls; the epoch gives the exclusion of writes, whatever
// clocks and API servers do.
//
// It must never know what a run does, nor read remote clocks: a lease has expired
// when this process has seen the same record for its whole duration.
package lease

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Defaults of the operator; all are flags (design.md).
const (
	DefaultTTL   = 60 * time.Second
	DefaultRenew = 20 * time.Second
	DefaultGrace = 10 * time.Second
)

// Epochs is what a lock needs of the state store.
type Epochs interface {
	// Mint makes an epoch larger than any before it.
	Mint(ctx context.Context, partition string) (int64, error)
	// Claim makes the fence the partition's; a newer claim is a LockError, the same
	// claim again succeeds.
	Claim(ctx context.Context, partition string, fence model.Fence, leaseUID string, transitions int32) error
	// ClearHolder ends the fence if it is still the partition's.
	ClearHolder(ctx context.Context, partition string, fence model.Fence) error
}

// Options of Leases.
type Options struct {
	Client    coordination.LeasesGetter // with a rate limiter of its own; see NewClient
	Namespace string                    // the operator's
	Epochs    Epochs
	Identity  string // of the process, "{pod}_{pod UID}"

	TTL   time.Duration // how long a lease lasts without a renewal; 0 = DefaultTTL
	Renew time.Duration // between renewals; 0 = DefaultRenew
	Grace time.Duration // how long before the end of the TTL the holder stops; 0 = DefaultGrace
	// RequestTimeout bounds one request to the API server; 0 = Grace.
	RequestTimeout time.Duration

	Clock    clock.Clock                       // nil = the real one, whose times are monotonic
	Wall     func() time.Time                  // what the machine takes for the time; nil = Clock's time without its monotonic part
	NewRunID func() string                     // nil = 12 random hex digits
	Jitter   func(time.Duration) time.Duration // of the renewal interval; nil = up to a tenth shorter
}

// Leases makes the locks of Stacks. It is safe for concurrent use. What it has seen of
// other holders it remembers between tries, so that a caller who was refused only has
// to come back.
type Leases struct {
	options Options

	mu         sync.Mutex
	partitions map[string]*local
}

// local is what this process knows of one partition.
type local struct {
	holder   string // of the run of this process that is in or about to be (LS-19)
	observed observation
}

// New checks the times (ST-11) and returns Leases.
func New(o Options) (*Leases, error) {
	o.TTL, o.Renew, o.Grace = orDefault(o.TTL, DefaultTTL), orDefault(o.Renew, DefaultRenew), orDefault(o.Grace, DefaultGrace)
	if o.TTL <= 0 || o.Renew <= 0 || o.Grace < 0 || o.Renew >= o.TTL-o.Grace {
		return nil, &model.Error{Kind: model.LockError, Class: model.ClassUser, Message: fmt.Sprintf(
			"lease times do not fit: ttl %s, renew %s, grace %s; ttl and renew must be positive and renew shorter than ttl minus grace", o.TTL, o.Renew, o.Grace)}
	}
	o.RequestTimeout = orDefault(o.RequestTimeout, o.Grace)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Wall == nil {
		o.Wall = func() time.Time { return o.Clock.Now().Round(0) }
	}
	if o.NewRunID == nil {
		o.NewRunID = func() string { return uuid.NewString()[24:] }
	}
	if o.Jitter == nil {
		o.Jitter = func(d time.Duration) time.Duration { return d - rand.N(d/10+1) } //nolint:gosec // spreads requests, hides nothing
	}
	return &Leases{options: o, partitions: map[string]*local{}}, nil
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

// NewClient is a client for leases alone, with a rate limit of its own: a controller
// that is busy cannot starve renewals (operator.md 1.9).
func NewClient(config *rest.Config) (coordination.LeasesGetter, error) {
	c := rest.CopyConfig(config)
	c.RateLimiter, c.QPS, c.Burst = nil, 50, 100
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		return nil, err
	}
	return client.CoordinationV1(), nil
}

// For is the lock of a Stack; its UID is also its partition.
func (l *Leases) For(stack types.NamespacedName, uid types.UID) lease.Locker {
	return l.locker(stack, uid)
}

// Name is the name of a Stack's Lease.
func (l *Leases) Name(stack types.NamespacedName, uid types.UID) string { return Name(stack, uid) }

func (l *Leases) locker(stack types.NamespacedName, uid types.UID) *locker {
	return &locker{Leases: l, partition: string(uid), stack: stack, leaseName: Name(stack, uid)}
}

// enter is the lock between the workers of this process (LS-19).
func (l *Leases) enter(partition, holder string) (inside string, entered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.of(partition)
	if p.holder != "" {
		return p.holder, false
	}
	p.holder = holder
	return "", true
}

// leave ends what enter began. What was observed stays while somebody else holds.
func (l *Leases) leave(partition string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partitions[partition].holder = ""
	l.drop(partition)
}

// forget ends the memory of a Lease that is gone.
func (l *Leases) forget(partition string) {
	l.observe(partition, observation{})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(partition)
}

// drop removes what says nothing any more. The caller holds mu.
func (l *Leases) drop(partition string) {
	if p := l.partitions[partition]; p != nil && *p == (local{}) {
		delete(l.partitions, partition)
	}
}

// of is what is known of a partition. The caller holds mu.
func (l *Leases) of(partition string) *local {
	p := l.partitions[partition]
	if p == nil {
		p = &local{}
		l.partitions[partition] = p
	}
	return p
}

// observe notes what was read just now and returns since when it has been the same.
func (l *Leases) observe(partition string, seen observation) (since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.of(partition)
	if seen.holder == "" { // nobody to wait for
		p.observed = observation{}
		return time.Time{}
	}
	if p.observed.record != seen.record {
		p.observed = seen
	}
	return p.observed.since
}
