package v1alpha1

// Condition types of a Stack (operator.md 1.3). Ready is always present once the
// Stack was seen; the others are present only while they are true.
const (
	ConditionReady            = "Ready"
	ConditionReconciling      = "Reconciling"
	ConditionStalled          = "Stalled"
	ConditionApprovalRequired = "ApprovalRequired"
	ConditionLocked           = "Locked"
)

// Reasons of the conditions.
const (
	// ReasonProgressing: this generation is being looked at for the first time.
	ReasonProgressing = "Progressing"
	// ReasonApplied: what the configuration declares is what is recorded.
	ReasonApplied = "Applied"
	// ReasonApprovalRequired: a plan waits for its approval.
	ReasonApprovalRequired = "ApprovalRequired"
	// ReasonPlanDrifted: under the lock the changeset was not the approved one.
	ReasonPlanDrifted = "PlanDrifted"
	// ReasonCompileFailed: the configuration cannot be turned into a plan.
	ReasonCompileFailed = "CompileFailed"
	// ReasonFuelExhausted: evaluation used up its step budget.
	ReasonFuelExhausted = "FuelExhausted"
	// ReasonInputInvalid: the source or the inputs are not usable as they stand.
	ReasonInputInvalid = "InputInvalid"
	// ReasonApplyHalted: a provider failed; what was done is recorded, the rest is
	// planned again.
	ReasonApplyHalted = "ApplyHalted"
	// ReasonPreventDestroy: a guarded resource would be destroyed.
	ReasonPreventDestroy = "PreventDestroy"
	// ReasonLeaseHeld: another run holds this Stack's lock.
	ReasonLeaseHeld = "LeaseHeld"
	// ReasonLeaseLost: the lock was lost during a run.
	ReasonLeaseLost = "LeaseLost"
	// ReasonStateUnavailable: the state store does not answer.
	ReasonStateUnavailable = "StateUnavailable"
	// ReasonStateKeyConflict: another Stack owns a name that this one declares, or
	// another installation owns this Stack's state.
	ReasonStateKeyConflict = "StateKeyConflict"
	// ReasonDestroying: the Stack is being deleted and its resources with it.
	ReasonDestroying = "Destroying"
	// ReasonDeletionSuspended: the Stack is deleted and suspended, so that its
	// resources are not destroyed.
	ReasonDeletionSuspended = "DeletionSuspended"
)

// Reasons of Events that are no reason of a condition.
const (
	EventApprovalDigestMismatch = "ApprovalDigestMismatch"
	EventPlanViewNotOwned       = "PlanViewNotOwned"
	EventSuspended              = "Suspended"
	EventOrphaned               = "Orphaned"
	EventDestroyed              = "Destroyed"
)

// Annotations by which people and tools ask something of a Stack (operator.md 1.4).
const (
	// AnnotationReconcileRequestedAt asks for a reconcile now; any new value is a new
	// request, echoed in status.lastHandledReconcileAt.
	AnnotationReconcileRequestedAt = "atlantide.io/reconcile-requested-at"
	// AnnotationFluxRequestedAt is the same request as the flux command writes it.
	AnnotationFluxRequestedAt = "reconcile.fluxcd.io/requestedAt"
	// AnnotationApprove approves the pending plan that has exactly this digest,
	// "sha256:" and 64 hex digits.
	AnnotationApprove = "atlantide.io/approve"
)

// Finalizer keeps a Stack until its resources are destroyed or announced as orphaned.
const Finalizer = "atlantide.io/stack"

// Labels on objects that the operator creates.
const (
	LabelPartOf      = "app.kubernetes.io/part-of"
	LabelPartOfValue = "atlantide"
	LabelStack       = "atlantide.io/stack" // a Stack's name, hashed when longer than 63
)
