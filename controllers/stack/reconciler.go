// Package stack owns the reconcile of a Stack: the order of its steps, the approval
// gate, deletion, and the one status write at the end.
//
// What a plan is and how it is applied belongs to the engine, what is recorded to the
// state store. It must never know a particular provider, nor how a lock is made.
package stack

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/controllers/internal/planstore"
	"github.com/atlantide-org/atlantide-operator/controllers/internal/planview"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// +kubebuilder:rbac:groups=atlantide.io,resources=stacks,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=atlantide.io,resources=stacks/status,verbs=patch
// +kubebuilder:rbac:groups=atlantide.io,resources=stacks/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;update;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=atlantide-system,resources=leases,verbs=get;create;update;patch;delete
// +kubebuilder:rbac:groups="",namespace=atlantide-system,resources=events,verbs=create;patch

// Reconciler brings Stacks to what they declare.
type Reconciler struct {
	Client client.Client // reads from the cache
	Live   client.Reader // reads from the API server
	Events events.EventRecorder

	Engine Engine
	Store  Store
	Plans  planstore.Plans
	Leases Leases
	Views  Views

	Metrics *Metrics
	// Fuel is the step budget of an evaluation; 0 takes the engine's default.
	Fuel int64
	Now  func() time.Time
	// Jitter spreads a delay, so that Stacks do not move in step.
	Jitter func(time.Duration) time.Duration

	memory *memory
}

// Engine is the part of the engine's façade that a reconcile uses.
type Engine interface {
	Compile(ctx context.Context, source engine.Source, options engine.CompileOptions) (*ir.Compilation, error)
	Plan(ctx context.Context, request engine.PlanRequest) (*plan.Plan, error)
	Apply(ctx context.Context, request engine.ApplyRequest) (*engine.Result, error)
	PlanDestroy(ctx context.Context, snapshot *state.Snapshot) (*plan.Plan, error)
	Destroy(ctx context.Context, request engine.DestroyRequest) (*engine.Result, error)
}

// Store is a state store with the ownership of partitions.
type Store interface {
	state.Store
	EnsurePartition(ctx context.Context, partition, namespace, name string) error
	ClaimStackNames(ctx context.Context, partition, namespace string, names []string) error
	DeletePartition(ctx context.Context, partition string) error
}

// Leases makes the locks of Stacks.
type Leases interface {
	For(stack types.NamespacedName, uid types.UID) lease.Locker
	// Name of the Lease of a Stack.
	Name(stack types.NamespacedName, uid types.UID) string
	// Delete removes the Lease; one that is not there is no error.
	Delete(ctx context.Context, stack types.NamespacedName, uid types.UID) error
}

// Views shows plans to people.
type Views interface {
	Publish(ctx context.Context, stack *v1alpha1.Stack, view planview.View) error
}

// New completes a Reconciler: what is nil or zero of it takes the ordinary value.
func New(r Reconciler) *Reconciler {
	if r.Now == nil {
		r.Now = time.Now
	}
	if r.Jitter == nil {
		r.Jitter = func(d time.Duration) time.Duration { return d }
	}
	r.memory = newMemory()
	return &r
}

// pass is one reconcile under way.
type pass struct {
	stack    *v1alpha1.Stack // as last read or written
	approval string          // the approval annotation at the start
	found    findings
	sight    sight
	loaded   bool // state was read
	ran      bool // a plan was started
	// unshown says that a view could not be published: the pass is not remembered, so
	// that the next one tries again.
	unshown bool
}

func (p *pass) partition() string { return string(p.stack.UID) }

func (p *pass) key() types.NamespacedName { return client.ObjectKeyFromObject(p.stack) }

// owner is who the resources of a Stack belong to (model.Request.Owner).
func (p *pass) owner() string { return p.stack.Namespace + "/" + string(p.stack.UID) }

// Reconcile handles one Stack.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (ctrl.Result, error) {
	stack := &v1alpha1.Stack{}
	err := r.Client.Get(ctx, request.NamespacedName, stack)
	if err == nil && r.memory.behind(request.NamespacedName, stack.ResourceVersion) {
		stack = &v1alpha1.Stack{}
		err = r.Live.Get(ctx, request.NamespacedName, stack)
	}
	if err != nil {
		if apierrors.IsNotFound(err) {
			r.memory.drop(request.NamespacedName)
			r.Metrics.Reconciles.WithLabelValues(labelGone).Inc()
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	p := &pass{stack: stack, approval: approvalOf(stack), sight: sight{
		uid: stack.UID, generation: stack.Generation, approval: approvalOf(stack),
	}}
	return r.finish(ctx, p, r.steps(ctx, p))
}

// steps is the order of a reconcile (operator.md 1.8). Each step that returns says why
// nothing after it may happen.
func (r *Reconciler) steps(ctx context.Context, p *pass) outcome {
	// Deletion comes before everything else, suspend included.
	if !p.stack.DeletionTimestamp.IsZero() {
		return r.delete(ctx, p)
	}
	// Without the finalizer nothing may be made: it would be lost.
	if err := r.addFinalizer(ctx, p); err != nil {
		return refused(err, stagePlan)
	}
	// A suspended Stack does no new work.
	if p.stack.Spec.Suspend {
		return r.suspended(p)
	}
	p.found.request = reconcileRequest(p.stack)
	// What did not move since it was last looked at needs no second look.
	if o, done := r.unmoved(ctx, p); done {
		return o
	}
	made, err := r.make(ctx, p)
	if err != nil {
		return r.unmade(p, err)
	}
	// What is planned is recorded before it is shown or decided on (O-1).
	record, err := r.record(ctx, p, made)
	if err != nil {
		return refused(err, stagePlan)
	}
	if record.Status != state.PlanPlanned {
		return r.idle(p)
	}
	needed := approvalNeeded(requiredApproval(p.stack), record.Summary.Destructive, false)
	v := judge(needed, p.approval, p.stack.Status.LastHandledApproval, record.ChangesetDigest)
	if !v.mayRun() {
		return r.wait(ctx, p, made, record, v)
	}
	return r.apply(ctx, p, made, record, v)
}

func (r *Reconciler) addFinalizer(ctx context.Context, p *pass) error {
	before := p.stack.DeepCopy()
	if !controllerutil.AddFinalizer(p.stack, v1alpha1.Finalizer) {
		return nil
	}
	return r.Client.Patch(ctx, p.stack, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// suspended leaves everything as it is; one event tells once per process.
func (r *Reconciler) suspended(p *pass) outcome {
	o := outcome{label: labelSuspended, kept: true, ended: endedSuspended}
	if seen, ok := r.memory.recall(p.key()); !ok || seen != p.saw(endedSuspended) {
		o.event = &notice{eventNormal, v1alpha1.EventSuspended, "Suspend", "no new work is started until spec.suspend is taken away"}
	}
	return o
}

// saw is the pass's sight with an ending.
func (p *pass) saw(e ending) sight {
	s := p.sight
	s.ended = e
	return s
}

// unmoved is the fast path: if all that an outcome depends on is as it was, the
// outcome is. It costs one indexed query, and a request is answered by its echo.
func (r *Reconciler) unmoved(ctx context.Context, p *pass) (outcome, bool) {
	seen, ok := r.memory.recall(p.key())
	switch {
	case !ok, seen.uid != p.stack.UID, seen.ended == endedSuspended,
		seen.generation != p.stack.Generation, seen.generation != p.stack.Status.ObservedGeneration,
		seen.approval != p.approval:
		return outcome{}, false
	case p.found.request != p.stack.Status.LastHandledReconcileAt && seen.ended.stalled():
		return outcome{}, false
	}
	version, err := r.sourceVersion(ctx, p.stack)
	if err != nil || version != seen.sourceVersion {
		return outcome{}, false
	}
	if seen.ended.readsState() {
		serial, err := r.Store.Serial(ctx, p.partition())
		if err != nil {
			return refused(err, stagePlan), true
		}
		if serial != seen.serial {
			return outcome{}, false
		}
	}
	p.sight = seen
	o := outcome{label: labelUnchanged, kept: true, ended: seen.ended}
	if !seen.ended.stalled() {
		o.again = againInterval
	}
	return o, true
}
