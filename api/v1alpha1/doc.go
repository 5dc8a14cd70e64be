// Package v1alpha1 holds the kinds of group atlantide.io, version v1alpha1, their
// conditions and reasons.
//
// It owns no logic and must never know the engine, the store or a controller.
//
// +kubebuilder:object:generate=true
// +groupName=atlantide.io
package v1alpha1
