package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StackStatus holds counts, digests and short messages; plans and state live in the
// state store. It stays below 8 KiB whatever the Stack manages.
type StackStatus struct {
	// ObservedGeneration is the generation whose outcome the conditions describe.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions follow kstatus: Ready; Reconciling, Stalled, ApprovalRequired,
	// PolicyViolated and Locked are present only while they are true.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// LastHandledReconcileAt echoes the request annotation that was last acted on; a
	// token of more than 253 bytes as its digest.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`

	// LastHandledApproval echoes the approval annotation that was used, whose plan was
	// superseded while it was pending, or that is no full digest; the latter in short.
	// The same value approves nothing again until the annotation was taken off once.
	// +optional
	LastHandledApproval string `json:"lastHandledApproval,omitempty"`

	// EarlyApproval is present while the approval annotation names a plan that did not
	// come up yet. It waits for that plan for seven days.
	// +optional
	EarlyApproval *EarlyApproval `json:"earlyApproval,omitempty"`

	// Artifact is the configuration that was last evaluated.
	// +optional
	Artifact *StackArtifact `json:"artifact,omitempty"`

	// Plan is the current plan, or the last one that was applied.
	// +optional
	Plan *StackPlan `json:"plan,omitempty"`

	// LastApplied is what the last successful run applied.
	// +optional
	LastApplied *StackApplied `json:"lastApplied,omitempty"`

	// State is about the recorded resources.
	// +optional
	State *StackState `json:"state,omitempty"`

	// Lock is present while a run holds this Stack's lock.
	// +optional
	Lock *StackLock `json:"lock,omitempty"`

	// Outputs is about the committed outputs.
	// +optional
	Outputs *StackOutputs `json:"outputs,omitempty"`

	// Failure is present while the last try failed.
	// +optional
	Failure *StackFailure `json:"failure,omitempty"`
}

// EarlyApproval is an approval that waits for its plan.
type EarlyApproval struct {
	// Digest of the approved plan.
	Digest string `json:"digest"`
	// Since is when the approval was seen first.
	Since metav1.Time `json:"since"`
}

// StackArtifact identifies an evaluated configuration.
type StackArtifact struct {
	// IRDigest is the digest of the compiled form, "sha256:" and 64 hex digits.
	IRDigest string `json:"irDigest"`
	// Short is the first 12 hex digits of IRDigest.
	Short string `json:"short"`
	// Revision is the digest of the source's files and entrypoint.
	Revision string `json:"revision"`
}

// PlanDecision is what became of a plan.
// +kubebuilder:validation:Enum=Pending;Approved;Applied;Superseded
type PlanDecision string

// What became of a plan.
const (
	PlanPending    PlanDecision = "Pending"
	PlanApproved   PlanDecision = "Approved"
	PlanApplied    PlanDecision = "Applied"
	PlanSuperseded PlanDecision = "Superseded"
)

// StackPlan is a plan in short. The ConfigMap "<stack>-plan" shows the whole.
type StackPlan struct {
	// Digest of the changeset; an approval names it in full.
	Digest string `json:"digest"`
	// CreatedAt is when the plan was recorded.
	CreatedAt metav1.Time `json:"createdAt"`
	// Summary counts the changes.
	Summary PlanSummary `json:"summary"`
	// Text is the summary in one line, "+1 ~2 ±0 -0".
	Text string `json:"text"`
	// Destructive says that the plan deletes or replaces a resource or takes a guard away.
	// +optional
	Destructive bool `json:"destructive,omitempty"`
	// Decision is what became of the plan.
	Decision PlanDecision `json:"decision"`
}

// PlanSummary counts the changes of a plan by what they do.
type PlanSummary struct {
	Create    int32 `json:"create"`
	Update    int32 `json:"update"`
	Replace   int32 `json:"replace"`
	Delete    int32 `json:"delete"`
	StateOnly int32 `json:"stateOnly"`
	Unchanged int32 `json:"unchanged"`
}

// StackApplied is what a successful run applied.
type StackApplied struct {
	IRDigest    string      `json:"irDigest"`
	PlanDigest  string      `json:"planDigest"`
	Time        metav1.Time `json:"time"`
	StateSerial int64       `json:"stateSerial"`
}

// StackState is about the recorded resources.
type StackState struct {
	// Serial moves with every committed change of the state.
	Serial int64 `json:"serial"`
	// Resources counts the recorded resources, replaced ones that are not destroyed
	// yet included.
	Resources int32 `json:"resources"`
}

// StackLock is the lock as it was taken; renewals are not shown.
type StackLock struct {
	// Lease is the name of the Lease in the operator's namespace.
	Lease string `json:"lease"`
	// Epoch fences the writes of the run.
	Epoch int64 `json:"epoch"`
	// Holder is the run.
	Holder string `json:"holder"`
	// Operation is Apply or Destroy.
	Operation string `json:"operation"`
	// AcquiredAt is when the lock was taken.
	AcquiredAt metav1.Time `json:"acquiredAt"`
}

// StackOutputs is about the committed outputs.
type StackOutputs struct {
	Count int32 `json:"count"`
}

// StackFailure is about the tries that failed since the last success.
type StackFailure struct {
	// Count of failed tries in a row.
	Count int32 `json:"count"`
	// Class says who can mend it: User, Transient or Unknown.
	// +kubebuilder:validation:Enum=User;Transient;Unknown
	Class string `json:"class"`
	// LastTime is when the last try failed.
	LastTime metav1.Time `json:"lastTime"`
	// NextRetryTime is when it is tried again; absent when it waits for a change.
	// +optional
	NextRetryTime *metav1.Time `json:"nextRetryTime,omitempty"`
	// Node is the resource that failed.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Node string `json:"node,omitempty"`
}
