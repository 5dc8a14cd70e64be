package stack

import (
	"context"
	"errors"
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
func (r *Reconciler) delete(ctx context.Context, sc *scope) outcome {
	if !controllerutil.ContainsFinalizer(sc.stack, v1alpha1.Finalizer) {
		return outcome{label: labelGone, kept: true}
	}
	sc.found.request = requestToken(reconcileRequest(sc.stack))
	current, err := r.Plans.Current(ctx, sc.partition())
	if err != nil {
		return refused(err, stageDestroy)
	}
	sc.used = usedUnder(current, sc.approval)
	snapshot, err := r.Store.Load(ctx, sc.partition())
	if err != nil {
		return refused(err, stageDestroy)
	}
	sc.observe(snapshot)
	switch {
	case len(snapshot.Rows)+len(snapshot.Pending) == 0:
		return r.finalize(ctx, sc, snapshot.Serial, labelDestroyed, nil)
	case deletionPolicy(sc.stack) == v1alpha1.DeletionOrphan:
		return r.orphan(ctx, sc, snapshot)
	case sc.stack.Spec.Suspend:
		return blocked(v1alpha1.ReasonDeletionSuspended, fmt.Sprintf(
			"%s not destroyed while the Stack is suspended; take spec.suspend away to destroy them", countedAre(len(snapshot.Rows), "resource")))
	}
	return r.destroy(ctx, sc, current, snapshot)
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
func (r *Reconciler) orphan(ctx context.Context, sc *scope, snapshot *state.Snapshot) outcome {
	count := len(snapshot.Rows) + len(snapshot.Pending)
	o := r.finalize(ctx, sc, snapshot.Serial, labelOrphaned, &notice{eventWarning, v1alpha1.EventOrphaned, "Delete", bounded(fmt.Sprintf(
		"%s managed by nobody from now on, as spec.deletion.policy Orphan says: %s",
		countedAre(count, "resource"), listed(slices.Collect(maps.Keys(snapshot.Rows)))))})
	if o.label == labelOrphaned {
		r.Metrics.Orphaned.Add(float64(count))
	}
	return o
}

// destroy deletes every recorded resource under the lock, through the same record and
// gates as any plan.
func (r *Reconciler) destroy(ctx context.Context, sc *scope, current *state.PlanRecord, snapshot *state.Snapshot) outcome {
	// Secrets of the Stack may be gone before it; without its keys nothing sealed opens.
	var err error
	if sc.session, err = r.Secrets.Open(ctx, sc.stack); err != nil {
		return refused(err, stageDestroy)
	}
	plan, err := r.Engine.PlanDestroy(ctx, snapshot, sc.session)
	if err != nil {
		return refused(err, stageDestroy)
	}
	pl := &planned{current: current, plan: plan, head: state.Head{
		UID: string(sc.stack.UID), Generation: sc.stack.Generation, SourceKind: "deletion", Revision: "state",
	}}
	if err := r.echoUsed(ctx, sc); err != nil {
		return notWritten(err, stageDestroy)
	}
	record, err := r.record(ctx, sc, pl)
	if errors.Is(err, state.ErrPartitionDeleted) {
		// They were let go already, under Orphan, by a reconcile that ended half-way.
		return r.orphan(ctx, sc, snapshot)
	}
	if err != nil {
		return refused(err, stageDestroy)
	}
	v := r.judge(sc, approvalNeeded(requiredApproval(sc.stack), record.Summary.Destructive, true), record)
	if !v.mayRun() {
		return r.wait(ctx, sc, pl, record, v)
	}
	if v != verdictApproved && sc.staysCancelled() {
		return outcome{label: labelStalled, kept: true, concluded: concludedStalled}
	}
	n := r.begin(sc, pl, record, v, operationDestroy)
	if err := r.checkHead(ctx, n); err != nil {
		return refused(err, stageDestroy)
	}
	working, done := r.working(ctx, n)
	defer done()
	result, err := r.Engine.Destroy(working, engine.DestroyRequest{
		Partition: sc.partition(), Store: r.Store.UnderPlan(record.ID, record.Hash), Locker: n.lock, Owner: sc.owner(),
		Expect: record.ChangesetDigest, Gate: n.gate(r), Secrets: sc.session, Parallelism: parallelism(&sc.stack.Spec),
	})
	r.recordResult(ctx, n, result, err)
	if err != nil {
		o := n.failed(err, stageDestroy, result)
		if n.started {
			o = o.with(fmt.Sprintf("; %s left", counted(int(sc.found.state.Resources), "resource")))
		}
		return o
	}
	r.tellLeftBehind(sc, result)
	return r.finalize(detached(ctx), sc, sc.found.state.Serial, labelDestroyed, &notice{eventNormal, v1alpha1.EventDestroyed, "Delete", bounded(fmt.Sprintf(
		"destroyed %s: %s", counted(len(snapshot.Rows), "resource"), listed(slices.Collect(maps.Keys(snapshot.Rows)))))})
}

// finalize removes the Lease, ends the partition as it was at that serial, and last
// takes off the finalizer, with which the Stack is gone. The Lease comes first: one that
// is held stands for a run that may still make something.
func (r *Reconciler) finalize(ctx context.Context, sc *scope, serial int64, label string, event *notice) outcome {
	if err := r.Leases.Delete(ctx, sc.key(), sc.stack.UID); err != nil {
		return refused(err, stageDestroy)
	}
	ended, err := r.Store.DeletePartition(ctx, sc.partition(), serial)
	if err != nil {
		return refused(err, stageDestroy)
	}
	if !ended {
		return lookAgain()
	}
	// While there is an object that it is about, and once, also if that object stays.
	if event != nil && r.memory.news(sc.key(), event.reason, string(sc.stack.UID)) {
		r.emit(sc.stack, event)
	}
	before := sc.stack.DeepCopy()
	controllerutil.RemoveFinalizer(sc.stack, v1alpha1.Finalizer)
	err = r.Client.Patch(ctx, sc.stack, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		*sc.stack = *before
		return notWritten(err, stageDestroy)
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
