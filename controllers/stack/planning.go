package stack

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/controllers/internal/planstore"
	"github.com/atlantide-org/atlantide-operator/controllers/internal/planview"
	"github.com/atlantide-org/atlantide-operator/controllers/internal/source"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// planned is a plan and all that it was made from.
type planned struct {
	current     *state.PlanRecord // what was recorded before anything else was read
	head        state.Head
	compilation *ir.Compilation // nil for a destroy
	plan        *plan.Plan
}

// plan compiles and plans. Nothing is written and nothing is locked.
func (r *Reconciler) plan(ctx context.Context, sc *scope) (*planned, error) {
	var err error
	// The version comes before the content: a change in between is seen next time.
	if sc.fingerprint.sourceVersion, err = r.sourceVersion(ctx, sc.stack); err != nil {
		return nil, err
	}
	pl := &planned{}
	if pl.current, err = r.Plans.Current(ctx, sc.partition()); err != nil {
		return nil, err
	}
	sc.used = usedUnder(pl.current, sc.approval)
	from, err := source.Resolve(ctx, r.Live, sc.stack)
	if err != nil {
		return nil, err
	}
	if pl.compilation, err = r.compile(ctx, sc, from); err != nil {
		return nil, err
	}
	pl.head = headOf(sc.stack, from, pl.compilation)
	sc.found.artifact = new(artifactOf(pl.head))
	snapshot, err := r.Store.Load(ctx, sc.partition())
	if err != nil {
		return nil, err
	}
	sc.observe(snapshot)
	if sc.session, err = r.Secrets.Open(ctx, sc.stack); err != nil {
		return nil, err
	}
	pl.plan, err = r.planOf(ctx, sc, pl.compilation, snapshot)
	if sc.session.Asked() {
		sc.fingerprint.due = r.Now().Add(secretsAge(&sc.stack.Spec))
	}
	if err != nil {
		return nil, err
	}
	sc.warn(pl.plan)
	// What this engine cannot run is refused before anybody is asked to approve it.
	return pl, pl.plan.Unsupported()
}

// planOf plans what brings a snapshot to what is declared.
func (r *Reconciler) planOf(ctx context.Context, sc *scope, c *ir.Compilation, snapshot *state.Snapshot) (*plan.Plan, error) {
	return r.Engine.Plan(ctx, engine.PlanRequest{
		Compilation: c, Snapshot: snapshot, Owner: sc.owner(), OnFailure: onFailure(sc.stack), Secrets: sc.session,
	})
}

// maxNodes is how many resources one Stack may declare: planning keeps all of them in
// memory, and one tenant must not take the room of the others.
const maxNodes = 25_000

// compile compiles a source, once per reconcile as long as it stays the same.
func (r *Reconciler) compile(ctx context.Context, sc *scope, from *source.Source) (*ir.Compilation, error) {
	if sc.compiled != nil && sc.compiled.revision == from.Digest {
		return sc.compiled.compilation, nil
	}
	inputs, err := source.Inputs(sc.stack)
	if err != nil {
		return nil, err
	}
	r.Metrics.Compiles.Inc()
	compilation, err := r.Engine.Compile(ctx,
		engine.Source{Filename: from.Entrypoint, Text: from.Text()},
		engine.CompileOptions{Inputs: inputs, Fuel: r.Fuel, Memory: r.Memory, MaxNodes: maxNodes, Source: sourcetree.Texts(from.Files)})
	if err != nil {
		return nil, err
	}
	sc.compiled = &compiled{from.Digest, compilation}
	sc.warnings = compilation.Warnings
	if unread := unreadInputs(inputs, compilation.Inputs); unread != "" {
		sc.warnings = append(slices.Clone(sc.warnings), unread)
	}
	return compilation, nil
}

// unreadInputs warns of inputs that the configuration never asks for: most are typing
// errors, and their input() took its default.
func unreadInputs(given, read map[string]any) string {
	var names []string
	for name := range given {
		if _, ok := read[name]; !ok {
			names = append(names, "'"+cut(name, 64)+"'")
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "the configuration never reads what spec.inputs gives as " + listed(names)
}

// warn shows what is to be warned of with a plan, whoever made it.
func (sc *scope) warn(p *plan.Plan) {
	for _, warning := range sc.warnings {
		if !slices.Contains(p.Warnings, warning) {
			p.Warnings = append(slices.Clip(p.Warnings), warning)
		}
	}
}

// observe takes the counts of a snapshot over.
func (sc *scope) observe(snapshot *state.Snapshot) {
	sc.fingerprint.serial = snapshot.Serial
	sc.loaded = true
	resources := int32(min(len(snapshot.Rows)+len(snapshot.Pending), 1<<30))
	sc.found.state = &v1alpha1.StackState{Serial: snapshot.Serial, Resources: resources}
	sc.found.outputs = &v1alpha1.StackOutputs{Count: int32(min(len(snapshot.Outputs), 1<<30))}
}

// planFailed is the outcome of a plan that could not be made.
func (r *Reconciler) planFailed(sc *scope, err error) outcome {
	o := refused(err, stagePlan)
	if o.concluded == concludedStalled && !sc.loaded {
		o.concluded = concludedUnread
	}
	return o
}

// record writes the plan down and returns what is recorded; a plan that is recorded
// already costs no write.
func (r *Reconciler) record(ctx context.Context, sc *scope, pl *planned) (*state.PlanRecord, error) {
	record, err := planstore.Record(pl.plan, pl.head, pl.current, "reconcile of generation "+strconv.FormatInt(sc.stack.Generation, 10))
	if err != nil {
		return nil, err
	}
	if planstore.Covers(pl.current, record) {
		return pl.current, nil
	}
	if approved := remainsOf(pl.current, record, sc.approval); approved != "" {
		record.CreatedBy = continuationOf + approved
	}
	if err := r.Store.EnsurePartition(ctx, sc.partition(), sc.stack.Namespace, sc.stack.Name); err != nil {
		return nil, err
	}
	if pl.compilation != nil {
		if err := r.Store.ClaimStackNames(ctx, sc.partition(), sc.stack.Namespace, stackNames(pl.compilation)); err != nil {
			return nil, err
		}
	}
	recorded, err := r.Plans.Propose(ctx, sc.partition(), record)
	if errors.Is(err, state.ErrPlanApplying) {
		if err := r.takeOver(ctx, sc); err != nil {
			return nil, err
		}
		recorded, err = r.Plans.Propose(ctx, sc.partition(), record)
	}
	if err != nil {
		return nil, err
	}
	return recorded, nil
}

// takeOver ends the run that a dead operator left behind: whoever gets the lock knows
// that nobody works under the old epoch any more. A run that lives keeps it.
func (r *Reconciler) takeOver(ctx context.Context, sc *scope) error {
	handle, err := r.Leases.For(sc.key(), sc.stack.UID).Acquire(ctx)
	if err != nil {
		return err
	}
	r.survey(ctx, sc, handle, tookOver(handle))
	return handle.Release(detached(ctx))
}

// stackNames are the in-config stacks that a configuration declares something in. An
// output outside of any stack claims nothing: several Stacks of a namespace have some.
func stackNames(c *ir.Compilation) []string {
	names := map[string]bool{}
	for i := range c.Document.Nodes {
		names[model.StackOf(c.Document.Nodes[i].ID)] = true
	}
	for _, o := range c.Outputs {
		if name := model.StackOf(o.Key); name != model.DefaultStack {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// idle is the outcome of a plan with nothing to do. A plan that waited so far is not to
// be read as waiting any more.
func (r *Reconciler) idle(ctx context.Context, sc *scope, pl *planned, record *state.PlanRecord) outcome {
	o := steady(sc.found.state.Resources, sc.warnings)
	r.mark(ctx, sc, pl.plan)
	waited := awaited(&sc.stack.Status)
	if waited == "" {
		return o
	}
	digest, err := pl.plan.ChangesetDigest()
	if err != nil {
		return refused(err, stagePlan)
	}
	r.show(ctx, sc, planview.View{Digest: digest, Plan: pl.plan})
	if record.Status == state.PlanApplied && record.ChangesetDigest == waited {
		// It was applied, by an operator that died before it could say so.
		sc.found.plan = planStatus(record, v1alpha1.PlanApplied)
		sc.found.lastApplied = appliedStatus(record, metav1.NewTime(record.Updated), sc.found.state.Serial)
		return o
	}
	sc.found.idle = !sc.unshown
	return o
}

// wait is the outcome of a plan that may not run yet.
func (r *Reconciler) wait(ctx context.Context, sc *scope, pl *planned, record *state.PlanRecord, v verdict) outcome {
	r.show(ctx, sc, planview.View{Digest: record.ChangesetDigest, Plan: pl.plan})
	sc.found.plan = planStatus(record, v1alpha1.PlanPending)
	superseded := sc.found.approval.superseded
	if superseded == "" {
		superseded = stillTold(&sc.stack.Status, sc.approval, record.ChangesetDigest)
	}
	return waiting(v, sc.found.plan, sc.approval, superseded)
}

// stillTold is the digest of a superseded plan that status tells of: the same plan
// waits in its place under the same void approval.
func stillTold(was *v1alpha1.StackStatus, given, digest string) string {
	if awaited(was) == digest && given != digest && given == was.LastHandledApproval && readyReason(was) == v1alpha1.ReasonPlanDrifted {
		return given
	}
	return ""
}

// show publishes the plan view. A view that cannot be written stops nothing: the same
// text stands in the state store. One that only a person can make room for is told once.
func (r *Reconciler) show(ctx context.Context, sc *scope, view planview.View) {
	err := r.Views.Publish(ctx, sc.stack, view)
	switch {
	case err == nil:
	case errors.Is(err, planview.ErrForeign):
		if note := bounded(err.Error()); r.memory.news(sc.key(), v1alpha1.EventPlanViewNotOwned, note) {
			r.emit(sc.stack, &notice{eventWarning, v1alpha1.EventPlanViewNotOwned, "Plan", note})
		}
	default:
		sc.unshown = true
		ctrl.LoggerFrom(ctx).Error(err, "cannot publish the plan view")
	}
}

func planStatus(record *state.PlanRecord, decision v1alpha1.PlanDecision) *v1alpha1.StackPlan {
	s := record.Summary
	count := func(n int) int32 { return int32(min(n, 1<<30)) }
	return &v1alpha1.StackPlan{
		Digest:    record.ChangesetDigest,
		CreatedAt: metav1.NewTime(record.Created).Rfc3339Copy(),
		Summary: v1alpha1.PlanSummary{
			Create: count(s.Create), Update: count(s.Update), Replace: count(s.Replace), Delete: count(s.Delete),
			StateOnly: count(s.StateOnly), Unchanged: count(s.Unchanged),
		},
		Text:        plan.Summary{Create: s.Create, Update: s.Update, Replace: s.Replace, Delete: s.Delete}.OneLine(),
		Destructive: s.Destructive,
		Decision:    decision,
	}
}

func appliedStatus(record *state.PlanRecord, at metav1.Time, serial int64) *v1alpha1.StackApplied {
	return &v1alpha1.StackApplied{
		IRDigest: record.Head.ArtifactDigest, PlanDigest: record.ChangesetDigest, Time: at.Rfc3339Copy(), StateSerial: serial,
	}
}

func artifactOf(head state.Head) v1alpha1.StackArtifact {
	return v1alpha1.StackArtifact{IRDigest: head.ArtifactDigest, Short: short(head.ArtifactDigest), Revision: head.Revision}
}

// headOf is the identity that a plan is made from (AP-1).
func headOf(stack *v1alpha1.Stack, from *source.Source, c *ir.Compilation) state.Head {
	head := state.Head{
		UID: string(stack.UID), Generation: stack.Generation, Revision: from.Digest,
		ArtifactDigest: digestPrefix + c.Hash, SourceKind: "inline", SourceRef: from.Entrypoint,
	}
	if ref := stack.Spec.Source.ConfigMapRef; ref != nil {
		head.SourceKind, head.SourceRef = "configMap", ref.Name+"/"+ref.Entrypoint
	}
	return head
}

// sourceVersion changes whenever the source may have changed without the Stack: it is
// the version of the ConfigMap in the cache, "" for a source within the Stack.
func (r *Reconciler) sourceVersion(ctx context.Context, stack *v1alpha1.Stack) (string, error) {
	ref := stack.Spec.Source.ConfigMapRef
	if ref == nil {
		return "", nil
	}
	cm := &metav1.PartialObjectMetadata{}
	cm.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: stack.Namespace, Name: ref.Name}, cm)
	if apierrors.IsNotFound(err) {
		return "missing", nil
	}
	if err != nil {
		return "", model.Errorf(model.AtlantideError, model.ClassTransient, "cannot read ConfigMap '%s': %w", ref.Name, err)
	}
	return string(cm.UID) + "/" + cm.ResourceVersion, nil
}
