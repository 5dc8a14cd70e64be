// Package schema declares the provider "aws" as data: its resource types with their
// constraints, the structured values in them, and what configs import beside them
// (providers.md 2 and 3).
//
// It owns what a config may say and what of it enters a hash; it must never know an
// SDK, an account or a call. The operations live in packages beside it, by service.
// One file here holds the types of one service or of a few close ones.
package schema

import "github.com/atlantide-org/atlantide-operator/engine/model"

// Identity of the provider; both are part of every IR node.
const (
	Name    = "aws"
	Version = "1.0.0"
)

// New is the declaration of the provider.
func New() *model.ProviderSchema {
	s := &model.ProviderSchema{
		Name:       Name,
		Version:    Version,
		Module:     "atlantide.providers.aws",
		Constants:  constants(),
		Helpers:    helpers(),
		Components: components(),
	}
	for _, service := range [][]*model.ResourceType{
		storage(), messaging(), identity(), compute(), tables(), logs(),
		networks(), gateways(), delivery(), names(), lookups(),
	} {
		s.Types = append(s.Types, service...)
	}
	return s
}

// resource is a managed type of the provider.
func resource(class, doc string, fields ...[]model.Field) *model.ResourceType {
	t := &model.ResourceType{Name: Name + "." + class, Provider: Name, Class: class, Kind: model.KindResource, Doc: doc}
	for _, list := range fields {
		t.Fields = append(t.Fields, list...)
	}
	return t
}

// identified marks a type whose objects AWS hands an id, in the output that it is found by:
// an import has to be given it (RF-12). The inputs alone name the objects of other types.
func identified(by string, t *model.ResourceType) *model.ResourceType {
	t.IdentityField = by
	return t
}

// actions makes the class attribute Action of a type: "Publish" is "sns:Publish".
func actions(service string, names ...string) []model.Constant {
	members := make([]model.Constant, len(names))
	for i, name := range names {
		members[i] = model.Constant{Name: name, Value: service + ":" + name}
	}
	return []model.Constant{{Name: "Action", Members: members}}
}
