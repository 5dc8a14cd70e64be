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
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// making is a plan and all that it was made from.
type making struct {
	seen        *state.PlanRecord // current before anything else was read
	head        state.Head
	compilation *ir.Compilation // nil for a destroy
	plan        *plan.Plan
}

// make compiles and plans. Nothing is written and nothing is locked.
func (r *Reconciler) make(ctx context.Context, p *pass) (*making, error) {
	var err error
	// The version comes before the content: a change in between is seen next time.
	if p.sight.sourceVersion, err = r.sourceVersion(ctx, p.stack); err != nil {
		return nil, err
	}
	m := &making{}
	if m.seen, err = r.Plans.Current(ctx, p.partition()); err != nil {
		return nil, err
	}
	from, err := source.Resolve(ctx, r.Live, p.stack)
	if err != nil {
		return nil, err
	}
	if m.compilation, err = r.compile(ctx, p.stack, from); err != nil {
		return nil, err
	}
	m.head = headOf(p.stack, from, m.compilation)
	p.found.artifact = &v1alpha1.StackArtifact{
		IRDigest: m.head.ArtifactDigest, Short: short(m.head.ArtifactDigest), Revision: from.Digest,
	}
	snapshot, err := r.Store.Load(ctx, p.partition())
	if err != nil {
		return nil, err
	}
	p.sees(snapshot)
	m.plan, err = r.Engine.Plan(ctx, engine.PlanRequest{
		Compilation: m.compilation, Snapshot: snapshot, Owner: p.owner(), OnFailure: plan.OnFailureHalt,
	})
	if err != nil {
		return nil, err
	}
	// What this engine cannot run is refused before anybody is asked to approve it.
	return m, m.plan.Unsupported()
}

func (r *Reconciler) compile(ctx context.Context, stack *v1alpha1.Stack, from *source.Source) (*ir.Compilation, error) {
	inputs, err := source.Inputs(stack)
	if err != nil {
		return nil, err
	}
	r.Metrics.Compiles.Inc()
	return r.Engine.Compile(ctx,
		engine.Source{Filename: from.Entrypoint, Text: from.Text()},
		engine.CompileOptions{Inputs: inputs, Fuel: r.Fuel})
}

// sees takes the counts of a snapshot over.
func (p *pass) sees(snapshot *state.Snapshot) {
	p.sight.serial = snapshot.Serial
	p.loaded = true
	resources := int32(min(len(snapshot.Rows)+len(snapshot.Pending), 1<<30))
	p.found.state = &v1alpha1.StackState{Serial: snapshot.Serial, Resources: resources}
	p.found.outputs = &v1alpha1.StackOutputs{Count: int32(min(len(snapshot.Outputs), 1<<30))}
}

// unmade is the outcome of a plan that could not be made.
func (r *Reconciler) unmade(p *pass, err error) outcome {
	o := refused(err, stagePlan)
	if o.ended == endedStalled && !p.loaded {
		o.ended = endedUnread
	}
	return o
}

// record writes the plan down and returns what is recorded; a plan that is recorded
// already costs no write.
func (r *Reconciler) record(ctx context.Context, p *pass, m *making) (*state.PlanRecord, error) {
	record, err := planstore.Record(m.plan, m.head, m.seen, "reconcile of generation "+strconv.FormatInt(p.stack.Generation, 10))
	if err != nil {
		return nil, err
	}
	if planstore.Covers(m.seen, record) {
		return m.seen, nil
	}
	if err := r.Store.EnsurePartition(ctx, p.partition(), p.stack.Namespace, p.stack.Name); err != nil {
		return nil, err
	}
	if m.compilation != nil {
		if err := r.Store.ClaimStackNames(ctx, p.partition(), p.stack.Namespace, stackNames(m.compilation)); err != nil {
			return nil, err
		}
	}
	recorded, err := r.Plans.Propose(ctx, p.partition(), record)
	if errors.Is(err, state.ErrPlanApplying) {
		if err := r.takeOver(ctx, p); err != nil {
			return nil, err
		}
		recorded, err = r.Plans.Propose(ctx, p.partition(), record)
	}
	if err != nil {
		return nil, err
	}
	return recorded, nil
}

// takeOver ends the run that a dead operator left behind: whoever gets the lock knows
// that nobody works under the old epoch any more. A run that lives keeps it.
func (r *Reconciler) takeOver(ctx context.Context, p *pass) error {
	handle, err := r.Leases.For(p.key(), p.stack.UID).Acquire(ctx)
	if err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("took over from a run that had ended without a word", "epoch", handle.Fence().Epoch)
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

// idle is the outcome of a plan with nothing to do.
func (r *Reconciler) idle(p *pass) outcome {
	p.found.idle = true
	handled := handledApproval(p.approval, p.stack.Status.LastHandledApproval, verdictFree, false)
	p.found.approval = &handled
	return steady(p.found.state.Resources)
}

// wait is the outcome of a plan that may not run yet.
func (r *Reconciler) wait(ctx context.Context, p *pass, m *making, record *state.PlanRecord, v verdict) outcome {
	r.show(ctx, p, planview.View{Digest: record.ChangesetDigest, Plan: m.plan})
	was := p.stack.Status
	p.found.plan = planStatus(record, v1alpha1.PlanPending)
	handled := handledApproval(p.approval, was.LastHandledApproval, v, false)
	p.found.approval = &handled
	return waiting(v, p.found.plan, p.approval, superseded(&was, p.approval, record.ChangesetDigest))
}

// superseded is the digest of the approved plan that a pending plan took the place of:
// the approval names the plan that was pending before. It is still told as long as the
// same plan waits under the same void approval.
func superseded(was *v1alpha1.StackStatus, approval, digest string) string {
	switch {
	case approval == "" || approval == digest || was.Plan == nil:
		return ""
	case was.Plan.Digest == approval && was.Plan.Decision != v1alpha1.PlanApplied:
		return approval
	case was.Plan.Digest == digest && approval == was.LastHandledApproval && readyReason(was) == v1alpha1.ReasonPlanDrifted:
		return approval
	default:
		return ""
	}
}

// show publishes the plan view. A view that cannot be written stops nothing: the same
// text stands in the state store.
func (r *Reconciler) show(ctx context.Context, p *pass, view planview.View) {
	if err := r.Views.Publish(ctx, p.stack, view); err != nil {
		p.unshown = true
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
