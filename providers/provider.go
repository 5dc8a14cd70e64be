// Package providers owns the provider contract and the registry of the providers
// that are compiled in; each provider lives in a package below it.
//
// It must never know how the engine plans or applies.
package providers

import "github.com/atlantide-org/atlantide-operator/engine/model"

// Provider makes, reads, changes and removes the resources of one schema.
type Provider interface {
	model.Provider
	// Schema is pure and always the same value.
	Schema() *model.ProviderSchema
}
