package v1alpha1

// Condition types of a Stack (operator.md 1.3). Ready is always present once the
// Stack was seen; the others are present only while they are true.
const (
	ConditionReady            = "Ready"
	ConditionReconciling      = "Reconciling"
	ConditionStalled          = "Stalled"
	ConditionApprovalRequired = "ApprovalRequired"
	ConditionPolicyViolated   = "PolicyViolated"
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
	// ReasonApplyFailed: a run failed, and what it had done was undone.
	ReasonApplyFailed = "ApplyFailed"
	// ReasonApplyHalted: a run failed; what was done is recorded, the rest is planned
	// again.
	ReasonApplyHalted = "ApplyHalted"
	// ReasonRollbackFailed: a run failed, and not all that it had done could be undone.
	ReasonRollbackFailed = "RollbackFailed"
	// ReasonCancelled: a run was cancelled by request.
	ReasonCancelled = "Cancelled"
	// ReasonTimeout: a run took longer than spec.timeout.
	ReasonTimeout = "Timeout"
	// ReasonPolicyViolation: a mandatory policy objects to the plan.
	ReasonPolicyViolation = "PolicyViolation"
	// ReasonSecretsUnavailable: a secret, or the key to seal with, cannot be had.
	ReasonSecretsUnavailable = "SecretsUnavailable"
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
	// EventTakenOver: the lock was taken over from a run that never gave it back; the note
	// says what that run left.
	EventTakenOver = "TakenOver"
	// EventLeftBehind: a run did all of its plan and may have left something that nothing
	// finds again; the note names it.
	EventLeftBehind = "LeftBehind"
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
	// AnnotationCancel interrupts the run whose epoch it names, as status.lock shows it.
	AnnotationCancel = "atlantide.io/cancel"
)

// Finalizer keeps a Stack until its resources are destroyed or announced as orphaned.
const Finalizer = "atlantide.io/stack"

// Labels on objects that the operator creates.
const (
	LabelPartOf      = "app.kubernetes.io/part-of"
	LabelPartOfValue = "atlantide"
	LabelStack       = "atlantide.io/stack" // a Stack's name, hashed when longer than 63
)
