package stack

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
)

// indexConfigMap finds the Stacks of a namespace by the ConfigMap they are made from.
const indexConfigMap = "spec.source.configMapRef.name"

// SetupWithManager registers the reconciler and what wakes it: a Stack whose spec, a
// request annotation or deletion mark changed, a ConfigMap that a Stack is made from,
// and the end of a Stack whose names another one waits for. ConfigMaps are watched by
// their metadata alone; their content is read when it is needed.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	index := mgr.GetFieldIndexer()
	if err := index.IndexField(context.Background(), &v1alpha1.Stack{}, indexConfigMap, configMapOf); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("stack").
		WithOptions(options).
		For(&v1alpha1.Stack{}, builder.WithPredicates(requested())).
		Watches(&v1alpha1.Stack{}, handler.Funcs{DeleteFunc: r.wakeConflicting, UpdateFunc: r.cancelRun}).
		WatchesMetadata(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.stacksOf)).
		Complete(r)
}

func configMapOf(object client.Object) []string {
	ref := object.(*v1alpha1.Stack).Spec.Source.ConfigMapRef
	if ref == nil {
		return nil
	}
	return []string{ref.Name}
}

func (r *Reconciler) stacksOf(ctx context.Context, cm client.Object) []reconcile.Request {
	var stacks v1alpha1.StackList
	err := r.Client.List(ctx, &stacks, client.InNamespace(cm.GetNamespace()), client.MatchingFields{indexConfigMap: cm.GetName()})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the Stacks of a ConfigMap", "configMap", client.ObjectKeyFromObject(cm))
		return nil
	}
	requests := make([]reconcile.Request, len(stacks.Items))
	for i := range stacks.Items {
		requests[i].NamespacedName = types.NamespacedName{Namespace: stacks.Items[i].Namespace, Name: stacks.Items[i].Name}
	}
	return requests
}

// wakeConflicting wakes the Stacks of a namespace that declare what another Stack owns,
// when one of the namespace is gone.
func (r *Reconciler) wakeConflicting(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	var stacks v1alpha1.StackList
	if err := r.Client.List(ctx, &stacks, client.InNamespace(e.Object.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the Stacks that wait for the names of one that is gone", "stack", client.ObjectKeyFromObject(e.Object))
		return // they look again by themselves
	}
	for i := range stacks.Items {
		if readyReason(&stacks.Items[i].Status) == v1alpha1.ReasonStateKeyConflict {
			queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&stacks.Items[i])})
		}
	}
}

// requested passes updates that ask for something. The operator's own writes, to
// status and to the finalizer, pass nothing (operator.md 4, case 31).
func requested() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
			e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
			e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() ||
			reconcileRequest(e.ObjectOld) != reconcileRequest(e.ObjectNew) ||
			approvalOf(e.ObjectOld) != approvalOf(e.ObjectNew)
	}}
}

// reconcileRequest is the token of the last request to reconcile, "" without one.
func reconcileRequest(object metav1.Object) string {
	annotations := object.GetAnnotations()
	if token := annotations[v1alpha1.AnnotationReconcileRequestedAt]; token != "" {
		return token
	}
	return annotations[v1alpha1.AnnotationFluxRequestedAt]
}

func approvalOf(object metav1.Object) string {
	return object.GetAnnotations()[v1alpha1.AnnotationApprove]
}
