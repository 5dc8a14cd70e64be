package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Stack is infrastructure written in Atlas-lang that the operator keeps as declared.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=stk,categories=atlantide;gitops
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Plan",type=string,JSONPath=`.status.plan.text`
// +kubebuilder:printcolumn:name="Artifact",type=string,JSONPath=`.status.artifact.short`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Approval",type=string,priority=1,JSONPath=`.status.plan.decision`
// +kubebuilder:printcolumn:name="Lock",type=string,priority=1,JSONPath=`.status.lock.holder`
// +kubebuilder:printcolumn:name="Applied",type=date,priority=1,JSONPath=`.status.lastApplied.time`
// +kubebuilder:printcolumn:name="Serial",type=integer,priority=1,JSONPath=`.status.state.serial`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Stack struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec StackSpec `json:"spec"`
	// +optional
	Status StackStatus `json:"status,omitempty"`
}

// StackList is a list of Stacks.
//
// +kubebuilder:object:root=true
type StackList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Stack `json:"items"`
}
