package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StackSpec says what a Stack is made from and how it may change. Nothing in it is
// ever written by the operator.
type StackSpec struct {
	// Source is where the configuration comes from.
	// +required
	Source StackSource `json:"source"`

	// Inputs are the values of the configuration's input() calls, by name, with their
	// JSON type; at most 64 KiB. Absent means that every input has a default.
	// Secrets do not belong here.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Inputs *apiextensionsv1.JSON `json:"inputs,omitempty"`

	// Interval is the time between two cheap checks that nothing moved, from 1m to
	// 24h. Absent means 10m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('24h')",message="spec.interval must be from 1m to 24h"
	Interval *metav1.Duration `json:"interval,omitempty"`

	// RetryInterval is the time after which a failed run is tried again, at least 5s.
	// Absent means 10s, doubled with every failure up to 15m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('5s') && duration(self) <= duration('24h')",message="spec.retryInterval must be from 5s to 24h"
	RetryInterval *metav1.Duration `json:"retryInterval,omitempty"`

	// Suspend stops new work; a run that is going on ends at its next checkpoint. A
	// deletion is still seen: with policy Orphan it goes through, with policy Destroy
	// it waits. Absent means false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// Approval says which plans wait for a person. Absent means Destructive.
	// +optional
	Approval *StackApproval `json:"approval,omitempty"`

	// Deletion says what becomes of the resources when the Stack is deleted. Absent
	// means Orphan.
	// +optional
	Deletion *StackDeletion `json:"deletion,omitempty"`
}

// StackSource names exactly one place.
// +kubebuilder:validation:XValidation:rule="has(self.inline) != has(self.configMapRef)",message="spec.source must have exactly one of inline and configMapRef"
type StackSource struct {
	// Inline holds the configuration in the Stack itself.
	// +optional
	Inline *InlineSource `json:"inline,omitempty"`

	// ConfigMapRef takes the configuration from a ConfigMap of the Stack's namespace.
	// +optional
	ConfigMapRef *ConfigMapSource `json:"configMapRef,omitempty"`
}

// InlineSource is a folder of files as text.
// +kubebuilder:validation:XValidation:rule="self.entrypoint in self.files",message="spec.source.inline.entrypoint must be one of the names in spec.source.inline.files"
// +kubebuilder:validation:XValidation:rule="self.files.all(name, size(name) <= 253 && name.matches('^[-._a-zA-Z0-9]+$'))",message="a name in spec.source.inline.files must consist of letters, digits, '-', '_' and '.', at most 253 of them"
// +kubebuilder:validation:XValidation:rule="self.files.map(name, size(bytes(self.files[name]))).sum() <= 65536",message="spec.source.inline.files must hold at most 64 KiB in all; put a larger configuration into a ConfigMap and name it in spec.source.configMapRef"
type InlineSource struct {
	// Files are the texts by file name, at most 64 files and 64 KiB in all.
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=64
	Files map[string]FileText `json:"files"`

	// Entrypoint is the name of the file that is evaluated.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Entrypoint string `json:"entrypoint"`
}

// FileText is the text of one file.
// +kubebuilder:validation:MaxLength=65536
type FileText string

// ConfigMapSource takes the files of a ConfigMap: its keys are file names. A change
// of the ConfigMap is planned at once.
type ConfigMapSource struct {
	// Name of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Entrypoint is the key of the file that is evaluated.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Entrypoint string `json:"entrypoint"`
}

// ApprovalRequirement says which plans wait for a person.
// +kubebuilder:validation:Enum=Always;Destructive;Never
type ApprovalRequirement string

// Which plans wait.
const (
	// ApprovalAlways: every plan, the destruction of a deleted Stack included.
	ApprovalAlways ApprovalRequirement = "Always"
	// ApprovalDestructive: plans that delete or replace a resource, or that take a
	// prevent_destroy guard away.
	ApprovalDestructive ApprovalRequirement = "Destructive"
	// ApprovalNever: none.
	ApprovalNever ApprovalRequirement = "Never"
)

// StackApproval is about approvals. The approval itself is the annotation
// atlantide.io/approve with the full digest of the plan.
type StackApproval struct {
	// Required says which plans wait: Always, Destructive or Never. Absent means
	// Destructive.
	// +optional
	Required ApprovalRequirement `json:"required,omitempty"`
}

// DeletionPolicy says what becomes of a deleted Stack's resources.
// +kubebuilder:validation:Enum=Orphan;Destroy
type DeletionPolicy string

// What becomes of the resources.
const (
	// DeletionOrphan leaves them and their record where they are and says so in one event.
	DeletionOrphan DeletionPolicy = "Orphan"
	// DeletionDestroy destroys them, from what is recorded alone, before the Stack goes.
	DeletionDestroy DeletionPolicy = "Destroy"
)

// StackDeletion is about the deletion of the Stack.
type StackDeletion struct {
	// Policy is Orphan or Destroy. Absent means Orphan.
	// +optional
	Policy DeletionPolicy `json:"policy,omitempty"`
}
