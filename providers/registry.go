package providers

import (
	"regexp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Registry holds the providers of a process. It is immutable.
type Registry struct {
	schemas *model.Schemas
	byName  map[string]Provider
}

// version is a three-part version as pins compare it (providers.md 1.11).
var version = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)

// NewRegistry registers providers. An empty or taken name and a version that has not
// three parts are a RegistryError.
func NewRegistry(ps ...Provider) (*Registry, error) {
	r := &Registry{byName: make(map[string]Provider, len(ps))}
	schemas := make([]*model.ProviderSchema, len(ps))
	for i, p := range ps {
		s := p.Schema()
		if s.Name == "" || !version.MatchString(s.Version) {
			return nil, model.Errorf(model.RegistryError, model.ClassUser,
				"provider '%s' could not be registered: its name is empty or its version '%s' is not of the form 1.2.3", s.Name, s.Version)
		}
		schemas[i], r.byName[s.Name] = s, p
	}
	var err error
	r.schemas, err = model.NewSchemas(schemas...)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Schemas are the declarations of all providers.
func (r *Registry) Schemas() *model.Schemas { return r.schemas }

// Provider finds a provider by its name.
func (r *Registry) Provider(name string) (model.Provider, bool) {
	p, ok := r.byName[name]
	return p, ok
}
