package stack

import (
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// delete lets a deleted Stack go: at once where nothing is recorded, after one
// announcement under Orphan, after its resources under Destroy. It needs neither the
// source nor the inputs.
func (r *Reconciler) delete(ctx context.Context, p *pass) outcome {
	if !controllerutil.ContainsFinalizer(p.stack, v1alpha1.Finalizer) {
		return outcome{label: labelGone, kept: true}
	}
	p.found.request = reconcileRequest(p.stack)
	seen, err := r.Plans.Current(ctx, p.partition())
	if err != nil {
		return refused(err, stageDestroy)
	}
	snapshot, err := r.Store.Load(ctx, p.partition())
	if err != nil {
		return refused(err, stageDestroy)
	}
	p.sees(snapshot)
	switch {
	case len(snapshot.Rows)+len(snapshot.Pending) == 0:
		return r.letGo(ctx, p, labelDestroyed, nil)
	case deletionPolicy(p.stack) == v1alpha1.DeletionOrphan:
		return r.orphan(ctx, p, snapshot)
	case p.stack.Spec.Suspend:
		return blocked(v1alpha1.ReasonDeletionSuspended, fmt.Sprintf(
			"%s not destroyed while the Stack is suspended; take spec.suspend away to destroy them", countedAre(len(snapshot.Rows), "resource")))
	}
	return r.destroy(ctx, p, seen, snapshot)
}

// blocked is the outcome of a deletion that waits for a change by the user.
func blocked(reason, message string) outcome {
	return outcome{
		label: labelStalled, ready: metav1.ConditionFalse, reason: reason, message: bounded(message),
		abnormal: []string{v1alpha1.ConditionStalled},
		event:    &notice{eventWarning, reason, "Delete", bounded(message)},
	}
}

// orphan leaves the resources and their record, and says so once.
func (r *Reconciler) orphan(ctx context.Context, p *pass, snapshot *state.Snapshot) outcome {
	count := len(snapshot.Rows) + len(snapshot.Pending)
	o := r.letGo(ctx, p, labelOrphaned, &notice{eventWarning, v1alpha1.EventOrphaned, "Delete", bounded(fmt.Sprintf(
		"%s managed by nobody from now on, as spec.deletion.policy Orphan says: %s",
		countedAre(count, "resource"), listed(slices.Collect(maps.Keys(snapshot.Rows)))))})
	if o.label == labelOrphaned {
		r.Metrics.Orphaned.Add(float64(count))
	}
	return o
}

// destroy deletes every recorded resource under the lock, through the same record and
// gates as any plan.
func (r *Reconciler) destroy(ctx context.Context, p *pass, seen *state.PlanRecord, snapshot *state.Snapshot) outcome {
	planned, err := r.Engine.PlanDestroy(ctx, snapshot)
	if err != nil {
		return refused(err, stageDestroy)
	}
	m := &making{seen: seen, plan: planned, head: state.Head{
		UID: string(p.stack.UID), Generation: p.stack.Generation, SourceKind: "deletion", Revision: "state",
	}}
	record, err := r.record(ctx, p, m)
	if err != nil {
		return refused(err, stageDestroy)
	}
	needed := approvalNeeded(requiredApproval(p.stack), record.Summary.Destructive, true)
	v := judge(needed, p.approval, p.stack.Status.LastHandledApproval, record.ChangesetDigest)
	if !v.mayRun() {
		return r.wait(ctx, p, m, record, v)
	}
	n := r.begin(p, m, record, v, operationDestroy)
	if err := r.unmovedHead(ctx, n); err != nil {
		return refused(err, stageDestroy)
	}
	result, err := r.Engine.Destroy(ctx, engine.DestroyRequest{
		Partition: p.partition(), Store: r.Store, Locker: n.lock, Owner: p.owner(),
		Expect: record.ChangesetDigest, Gate: n.gate(r),
	})
	if err = r.conclude(ctx, n, result, err); err != nil {
		o := n.failed(err, stageDestroy)
		if n.started {
			o.message = bounded(fmt.Sprintf("%s; %s left", cut(o.message, maxMessage/2), counted(int(p.found.state.Resources), "resource")))
		}
		return o
	}
	return r.letGo(detached(ctx), p, labelDestroyed, &notice{eventNormal, v1alpha1.EventDestroyed, "Delete", bounded(fmt.Sprintf(
		"destroyed %s: %s", counted(len(snapshot.Rows), "resource"), listed(slices.Collect(maps.Keys(snapshot.Rows)))))})
}

// letGo ends the partition, removes the Lease, and last the finalizer, with which the
// Stack is gone.
func (r *Reconciler) letGo(ctx context.Context, p *pass, label string, event *notice) outcome {
	if err := r.Store.DeletePartition(ctx, p.partition()); err != nil {
		return refused(err, stageDestroy)
	}
	if err := r.Leases.Delete(ctx, p.key(), p.stack.UID); err != nil {
		return refused(err, stageDestroy)
	}
	if event != nil {
		r.emit(p.stack, event) // while there is an object that it is about
	}
	before := p.stack.DeepCopy()
	controllerutil.RemoveFinalizer(p.stack, v1alpha1.Finalizer)
	err := r.Client.Patch(ctx, p.stack, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		*p.stack = *before
		return refused(err, stageDestroy)
	}
	return outcome{label: label, kept: true, gone: true}
}

// countedAre is counted with its verb.
func countedAre(n int, noun string) string {
	if n == 1 {
		return counted(n, noun) + " is"
	}
	return counted(n, noun) + " are"
}
