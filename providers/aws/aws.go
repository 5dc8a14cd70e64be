// Package aws owns the provider "aws": which schema it has and which of its resources
// it can call AWS for.
//
// The schema is in package schema below it. This release has no operations: configs
// compile, hash and plan, and a run that would have to change an AWS resource is
// refused before it locks anything. The package must never know the engine or
// Kubernetes.
package aws

import (
	"context"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/providers/aws/schema"
)

// planOnly is why nothing of AWS can be applied.
const planOnly = "the aws provider of this release compiles and plans; its operations come with a later release"

// Provider implements providers.Provider.
type Provider struct{ schema *model.ProviderSchema }

// New is the provider.
func New() *Provider {
	s := schema.New()
	s.PlanOnly = planOnly
	return &Provider{schema: s}
}

// Schema is the declaration of the types.
func (p *Provider) Schema() *model.ProviderSchema { return p.schema }

// Validate refuses what AWS would refuse although each resource by itself is good.
func (p *Provider) Validate(_ context.Context, nodes []*model.Request) error { return validate(nodes) }

// Create refuses: see planOnly.
func (p *Provider) Create(_ context.Context, r *model.Request) (model.Outputs, error) {
	return nil, cannot("create", r)
}

// Read refuses: see planOnly. It never says that a resource is absent, which would
// drop its row.
func (p *Provider) Read(_ context.Context, r *model.Request) (model.Observed, bool, error) {
	return nil, false, cannot("read", r)
}

// Update refuses: see planOnly.
func (p *Provider) Update(_ context.Context, r *model.Request) (model.Outputs, error) {
	return nil, cannot("update", r)
}

// Delete refuses: see planOnly.
func (p *Provider) Delete(_ context.Context, r *model.Request) error { return cannot("delete", r) }

func cannot(op string, r *model.Request) error {
	return refuse(r, op, "%s cannot be %s: %s", r.Node.ID, map[string]string{
		"create": "created", "read": "read", "update": "updated", "delete": "deleted",
	}[op], planOnly)
}

// refuse is an error that the config's author can mend.
func refuse(r *model.Request, op, format string, args ...any) *model.Error {
	e := model.Errorf(model.ProviderError, model.ClassUser, format, args...)
	e.Op, e.ResourceType, e.NodeID = op, r.Node.Type, r.Node.ID
	return e
}
