// Package stack owns the reconcile of a Stack: the order of its steps, the approval
// gate, deletion, and the one status write at the end.
//
// What a plan is and how it is applied belongs to the engine, what is recorded to the
// state store. It must never know a particular provider, nor how a lock is made.
package stack

import (
	"context"
	"fmt"
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
	"github.com/atlantide-org/atlantide-operator/controllers/internal/secrets"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// +kubebuilder:rbac:groups=atlantide.io,resources=stacks,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=atlantide.io,resources=stacks/status,verbs=patch
// +kubebuilder:rbac:groups=atlantide.io,resources=stacks/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=atlantide-system,resources=leases,verbs=get;create;update;patch;delete
// +kubebuilder:rbac:groups="",namespace=atlantide-system,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups="",namespace=atlantide-system,resources=secrets,resourceNames=atlantide-sealing-key,verbs=get
// +kubebuilder:rbac:groups="",namespace=atlantide-system,resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=impersonate

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

	Secrets Secrets

	Metrics *Metrics
	// Fuel is the step budget of an evaluation; 0 takes the engine's default.
	Fuel int64
	// Memory is how many bytes the values of an evaluation may take; 0 takes the
	// engine's default.
	Memory int64
	Now    func() time.Time
	// Jitter spreads a delay, so that Stacks do not move in step.
	Jitter func(time.Duration) time.Duration

	memory *memory
	runs   *runs
}

// Engine is the part of the engine's façade that a reconcile uses.
type Engine interface {
	Compile(ctx context.Context, source engine.Source, options engine.CompileOptions) (*ir.Compilation, error)
	Plan(ctx context.Context, request engine.PlanRequest) (*plan.Plan, error)
	Apply(ctx context.Context, request engine.ApplyRequest) (*engine.Result, error)
	PlanDestroy(ctx context.Context, snapshot *state.Snapshot, secrets engine.Secrets) (*plan.Plan, error)
	Destroy(ctx context.Context, request engine.DestroyRequest) (*engine.Result, error)
	Refresh(ctx context.Context, request engine.RefreshRequest) (*apply.Drift, error)
	// Unchanged reports whether a mark that Remember left says that all is applied.
	Unchanged(ctx context.Context, request engine.UnchangedRequest) (serial int64, unchanged bool, err error)
	Remember(ctx context.Context, partition string, store state.Marks, owner string, p *plan.Plan) error
}

// Store is a state store with the ownership of partitions.
type Store interface {
	state.Store
	state.Marks
	EnsurePartition(ctx context.Context, partition, namespace, name string) error
	ClaimStackNames(ctx context.Context, partition, namespace string, names []string) error
	// DeletePartition ends the partition if its serial is still this one, or if it is
	// ended or was never made; it reports whether it is ended.
	DeletePartition(ctx context.Context, partition string, serial int64) (bool, error)
	// UnderPlan is the store for a run of a recorded plan: what is ahead of a change of the
	// world is let through only while that record runs, unaltered (AP-25).
	UnderPlan(planID, hash string) state.Store
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

// Secrets are the Secrets of Stacks and the operator's own keys.
type Secrets interface {
	// Open begins what one reconcile of a Stack sees of them.
	Open(ctx context.Context, stack *v1alpha1.Stack) (*secrets.Session, error)
	// Check reads the operator's keys and reports whether they are usable.
	Check(ctx context.Context) error
}

// New completes a Reconciler: what is nil or zero of it takes the ordinary value.
func New(r Reconciler) *Reconciler {
	if r.Now == nil {
		r.Now = time.Now
	}
	if r.Jitter == nil {
		r.Jitter = func(d time.Duration) time.Duration { return d }
	}
	r.memory, r.runs = newMemory(), &runs{}
	return &r
}

// scope is one reconcile under way.
type scope struct {
	stack       *v1alpha1.Stack      // as last read or written
	was         v1alpha1.StackStatus // as it was told to people before
	approval    string               // the approval annotation at the start, as a token
	used        bool                 // the recorded plan was started under that approval
	found       findings
	fingerprint fingerprint
	compiled    *compiled        // nil before the configuration was compiled
	warnings    []string         // about the configuration
	session     *secrets.Session // nil until secrets were opened
	loaded      bool             // state was read
	ran         bool             // a plan was started
	survey      string           // of what a run left that ended without a word; "" without one
	// unshown says that a view could not be published, unrecorded that what became of a
	// run could not be written down or read back. Neither changes an outcome; such a
	// reconcile is not remembered, so that the next one tries again.
	unshown, unrecorded bool
}

func (sc *scope) partition() string { return string(sc.stack.UID) }

func (sc *scope) key() types.NamespacedName { return client.ObjectKeyFromObject(sc.stack) }

// owner is who the resources of a Stack belong to (model.Request.Owner).
func (sc *scope) owner() string { return sc.stack.Namespace + "/" + string(sc.stack.UID) }

// secrets are those of the reconcile; nil until they were opened.
func (sc *scope) secrets() engine.Secrets {
	if sc.session == nil {
		return nil
	}
	return sc.session
}

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
	token := approvalToken(approvalOf(stack))
	sc := &scope{stack: stack, was: stack.Status, approval: token, fingerprint: fingerprint{
		uid: stack.UID, generation: stack.Generation, approval: token,
	}}
	return r.finish(ctx, sc, r.steps(ctx, sc))
}

// steps is the order of a reconcile (operator.md 1.8). Each step that returns says why
// nothing after it may happen.
func (r *Reconciler) steps(ctx context.Context, sc *scope) outcome {
	// Deletion comes before everything else, suspend included.
	if !sc.stack.DeletionTimestamp.IsZero() {
		return r.delete(ctx, sc)
	}
	// Without the finalizer nothing may be made: it would be lost.
	if err := r.addFinalizer(ctx, sc); err != nil {
		return notWritten(err, stagePlan)
	}
	// A suspended Stack does no new work.
	if sc.stack.Spec.Suspend {
		return r.suspended(ctx, sc)
	}
	sc.found.request = requestToken(reconcileRequest(sc.stack))
	// What did not move since it was last looked at needs no second look.
	if o, done := r.unchanged(ctx, sc); done {
		return o
	}
	// Neither does what another process is known to have found applied.
	if o, done := r.stillSteady(ctx, sc); done {
		return o
	}
	pl, err := r.plan(ctx, sc)
	if err != nil {
		return r.planFailed(sc, err)
	}
	// That an approval was used outlives the record that shows it.
	if err := r.echoUsed(ctx, sc); err != nil {
		return notWritten(err, stagePlan)
	}
	// What is planned is recorded before it is shown or decided on (O-1).
	record, err := r.record(ctx, sc, pl)
	if err != nil {
		return refused(err, stagePlan)
	}
	needed := approvalNeeded(requiredApproval(sc.stack), record.Summary.Destructive, false)
	v := r.judge(sc, needed, record)
	if record.Status != state.PlanPlanned {
		return r.idle(ctx, sc, pl, record)
	}
	// What a mandatory policy objects to is shown, and no approval lets it run.
	if pl.plan.Blocked {
		return r.violates(ctx, sc, pl, record)
	}
	if !v.mayRun() {
		return r.wait(ctx, sc, pl, record, v)
	}
	// What was cancelled is not begun again by itself.
	if v != verdictApproved && sc.staysCancelled() {
		return outcome{label: labelStalled, kept: true, concluded: concludedStalled}
	}
	return r.apply(ctx, sc, pl, record, v)
}

// judge asks for the verdict on the recorded plan. What it means for the approval
// stands whatever comes next: the plan is the current one.
func (r *Reconciler) judge(sc *scope, needed bool, record *state.PlanRecord) verdict {
	a := approval{
		given: sc.approval, handled: sc.stack.Status.LastHandledApproval, pending: awaited(&sc.stack.Status),
		early: sc.stack.Status.EarlyApproval, used: sc.used, now: r.Now(),
	}
	sc.found.approval = &handledApproval{
		digest: a.handledBy(record.ChangesetDigest), early: a.waitsBeside(record.ChangesetDigest), superseded: a.superseded(record.ChangesetDigest),
	}
	v := a.judge(needed, record.ChangesetDigest)
	if !v.mayRun() && sc.approval != "" && continues(record) == sc.approval {
		return verdictContinued
	}
	return v
}

// echoUsed writes the echo of an approval that a run was started under, when only the
// record of that run says so: the next record takes its place.
func (r *Reconciler) echoUsed(ctx context.Context, sc *scope) error {
	if !sc.used || sc.stack.Status.LastHandledApproval == sc.approval {
		return nil
	}
	next := *sc.stack.Status.DeepCopy()
	next.LastHandledApproval = sc.approval
	_, err := r.write(ctx, sc.stack, next)
	return err
}

func (r *Reconciler) addFinalizer(ctx context.Context, sc *scope) error {
	before := sc.stack.DeepCopy()
	if !controllerutil.AddFinalizer(sc.stack, v1alpha1.Finalizer) {
		return nil
	}
	return r.Client.Patch(ctx, sc.stack, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// suspended leaves everything as it is, but for the lock in status of a run that died;
// one event tells once per process.
func (r *Reconciler) suspended(ctx context.Context, sc *scope) outcome {
	o := outcome{label: labelSuspended, kept: true, concluded: concludedSuspended}
	if r.memory.news(sc.key(), v1alpha1.EventSuspended, fmt.Sprintf("%s/%d", sc.stack.UID, sc.stack.Generation)) {
		o.event = &notice{eventNormal, v1alpha1.EventSuspended, "Suspend", "no new work is started until spec.suspend is taken away"}
	}
	if sc.stack.Status.Lock == nil {
		return o
	}
	if err := r.takeOver(ctx, sc); err != nil { // it lives, or nobody knows yet
		o.again, o.concluded = againPoll, 0
		return o
	}
	sc.found.unlocked = true
	return o
}

// fingerprintOf is what this reconcile saw, with how it ended and what it wrote.
func (sc *scope) fingerprintOf(c conclusion) fingerprint {
	f := sc.fingerprint
	f.concluded, f.status = c, statusHash(&sc.stack.Status)
	return f
}

// unchanged is the fast path: if all that an outcome depends on is as it was, the
// outcome is. It costs one indexed query, and a request is answered by its echo.
func (r *Reconciler) unchanged(ctx context.Context, sc *scope) (outcome, bool) {
	seen, ok := r.memory.recall(sc.key())
	switch {
	case !ok, seen.uid != sc.stack.UID, seen.concluded == concludedSuspended,
		seen.generation != sc.stack.Generation, seen.generation != sc.stack.Status.ObservedGeneration,
		seen.approval != sc.approval:
		return outcome{}, false
	case sc.found.request != sc.stack.Status.LastHandledReconcileAt && (seen.concluded.stalled() || !seen.due.IsZero()):
		return outcome{}, false
	case !seen.due.IsZero() && !r.Now().Before(seen.due):
		return outcome{}, false // its secrets are looked at again
	case seen.status != statusHash(&sc.stack.Status): // somebody else wrote it
		return outcome{}, false
	}
	version, err := r.sourceVersion(ctx, sc.stack)
	if err != nil || version != seen.sourceVersion {
		return outcome{}, false
	}
	if seen.concluded.readsState() {
		serial, err := r.Store.Serial(ctx, sc.partition())
		if err != nil {
			return refused(err, stagePlan), true
		}
		if serial != seen.serial {
			return outcome{}, false
		}
	}
	sc.fingerprint = seen
	o := outcome{label: labelUnchanged, kept: true, concluded: seen.concluded}
	if !seen.concluded.stalled() {
		o.again = againInterval
	}
	return o, true
}
