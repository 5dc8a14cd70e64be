package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "atlantide.io", Version: "v1alpha1"}

var schemeBuilder = runtime.NewSchemeBuilder(addKinds)

// AddToScheme teaches a scheme the kinds of this package.
var AddToScheme = schemeBuilder.AddToScheme

func addKinds(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Stack{}, &StackList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
