// Package providers owns the provider contract and the registry of the providers
// that are compiled in; each provider lives in a package below it.
//
// It must never know how the engine plans or applies.
package providers

import (
	"context"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Provider makes, reads, changes and removes the resources of one schema. One
// instance serves concurrent calls for independent nodes. Errors are *model.Error of
// kind ProviderError; a plain error is wrapped by the engine.
type Provider interface {
	// Schema is pure and always the same value.
	Schema() *model.ProviderSchema
	// Validate looks at all desired nodes of this provider at once, before anything
	// is locked or called; values may still hold markers. Pure. An error refuses the
	// plan.
	Validate(ctx context.Context, nodes []*model.Request) error
	// Create makes the resource. Outputs beside an error are partial and are kept. It
	// is called again for whatever is not confirmed: with r.Prior set, an earlier try
	// or an interrupted delete recorded it, and the resource may be there already.
	Create(ctx context.Context, r *model.Request) (model.Outputs, error)
	// Read looks the resource up; false = it does not exist.
	Read(ctx context.Context, r *model.Request) (model.Observed, bool, error)
	// Update changes the resource in place; the outputs are laid over the recorded ones.
	Update(ctx context.Context, r *model.Request) (model.Outputs, error)
	// Delete removes the resource; nil when it is already gone.
	Delete(ctx context.Context, r *model.Request) error
}
