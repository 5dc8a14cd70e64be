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

	// Timeout is the time that a run may take, from 30s to 24h; a longer one is
	// interrupted and ends as OnFailure says. Absent means 1h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('30s') && duration(self) <= duration('24h')",message="spec.timeout must be from 30s to 24h"
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// OnFailure says what becomes of what a run did when it fails, is cancelled or takes
	// too long: Rollback undoes it, Halt leaves it. Absent means Rollback.
	// +optional
	OnFailure FailureMode `json:"onFailure,omitempty"`

	// Parallelism is how many resources are worked on at once, from 1 to 64. Absent
	// means 10.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Parallelism *int32 `json:"parallelism,omitempty"`

	// ServiceAccountName is the account of the Stack's namespace that Secrets are read
	// as: a Stack sees what that account may get, and no more. Absent means default.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// Secrets says where the configuration's SecretRef handles find their values. Absent
	// means that they name Secrets as "secret/key".
	// +optional
	Secrets *StackSecrets `json:"secrets,omitempty"`

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

// FailureMode says what becomes of what a failed run did.
// +kubebuilder:validation:Enum=Rollback;Halt
type FailureMode string

// What becomes of it.
const (
	// FailureRollback undoes it, the latest first.
	FailureRollback FailureMode = "Rollback"
	// FailureHalt leaves it as it is; the rest is planned again.
	FailureHalt FailureMode = "Halt"
)

// SecretsProvider is a kind of place where secrets are.
// +kubebuilder:validation:Enum=Kubernetes
type SecretsProvider string

// SecretsKubernetes is the Secrets of the Stack's namespace.
const SecretsKubernetes SecretsProvider = "Kubernetes"

// StackSecrets maps the names of SecretRef handles to keys of Secrets of the Stack's
// namespace; no name reaches another one. A name is looked for in refs first; then
// "secret/key" is that key of that Secret, and a name without a slash a key of
// defaultSecret.
type StackSecrets struct {
	// Provider is the kind of place where the secrets are. Absent means Kubernetes.
	// +optional
	Provider SecretsProvider `json:"provider,omitempty"`

	// DefaultSecret is the Secret that names without a slash are keys of. Absent means
	// that there is none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	DefaultSecret string `json:"defaultSecret,omitempty"`

	// Refs name keys of Secrets one by one, at most 256.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	Refs []StackSecretRef `json:"refs,omitempty"`
}

// StackSecretRef is what one name stands for.
type StackSecretRef struct {
	// Name as the configuration's SecretRef says it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Name string `json:"name"`

	// SecretKeyRef is where its value is.
	// +required
	SecretKeyRef SecretKeyRef `json:"secretKeyRef"`
}

// SecretKeyRef is a key of a Secret of the Stack's namespace.
type SecretKeyRef struct {
	// Name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`

	// Key of its data.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	Key string `json:"key"`
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
