package secrets

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

// place is a key of a Secret of the Stack's namespace. There is no form for another one.
type place struct{ secret, key string }

// placeOf is what a handle's name stands for: an entry of spec.secrets.refs, "secret/key",
// or a key of spec.secrets.defaultSecret (SC-19). What the API server checks at admission
// is checked again, because what is stored may be older than the schema.
func placeOf(spec *v1alpha1.StackSecrets, name string) (place, error) {
	if spec == nil {
		spec = &v1alpha1.StackSecrets{}
	}
	for _, ref := range spec.Refs {
		if ref.Name == name {
			return checked(place{ref.SecretKeyRef.Name, ref.SecretKeyRef.Key}, name)
		}
	}
	secret, key, slash := strings.Cut(name, "/")
	switch {
	case slash:
		return checked(place{secret, key}, name)
	case spec.DefaultSecret == "":
		return place{}, userErrorf("'%s' has no slash, and spec.secrets.defaultSecret names no Secret that it could be a key of; "+
			"write 'secret/key', set spec.secrets.defaultSecret, or map it in spec.secrets.refs", sourcetree.Shown(name))
	}
	return checked(place{spec.DefaultSecret, name}, name)
}

func checked(p place, name string) (place, error) {
	if len(validation.IsDNS1123Subdomain(p.secret)) > 0 || len(validation.IsConfigMapKey(p.key)) > 0 {
		return place{}, userErrorf("'%s' names no key of a Secret: a Secret's name is made of lower-case letters, digits, '-' and '.', a key of letters, digits, '-', '_' and '.'; "+
			"map it to a key of a Secret of this namespace in spec.secrets.refs", sourcetree.Shown(name))
	}
	return p, nil
}
