package applytest

import "github.com/atlantide-org/atlantide-operator/engine/model"

var text = model.FieldType{Kind: model.KindString}

// Schema declares the types of a Cloud.
func Schema() *model.ProviderSchema {
	object := func(class string) *model.ResourceType {
		return &model.ResourceType{
			Name: "test." + class, Provider: "test", Class: class, Kind: model.KindResource, IdentityField: "id",
			Fields: []model.Field{
				{Name: "key", Type: text, Mutability: model.Immutable, Required: true},
				{Name: "value", Type: text, Mutability: model.Mutable, Default: ""},
				{Name: "id", Type: text, Mutability: model.Computed},
				{Name: "sum", Type: text, Mutability: model.Computed},
				{Name: "password", Type: text, Mutability: model.Computed, Sensitive: true},
			},
		}
	}
	bucket, ticket := object("Bucket"), object("Ticket")
	bucket.Address, bucket.IdentityField = byKey, ""
	ticket.Untraceable = true
	return &model.ProviderSchema{Name: "test", Version: "1.0.0", Module: "atlantide.providers.test", Types: []*model.ResourceType{
		object("Thing"), bucket, ticket,
		{Name: Named, Provider: "test", Class: "Named", Kind: model.KindResource, Address: byKey, Fields: []model.Field{
			{Name: "key", Type: text, Mutability: model.Immutable, Required: true},
			{Name: "value", Type: text, Mutability: model.Mutable, Default: ""},
			{Name: "zone", Type: text, Mutability: model.Immutable, Default: ""},
		}},
		{Name: Lookup, Provider: "test", Class: "Lookup", Kind: model.KindData, Fields: []model.Field{
			{Name: "query", Type: text, Mutability: model.Immutable, Required: true},
			{Name: "answer", Type: text, Mutability: model.Computed},
		}},
	}}
}

func byKey(inputs map[string]any) (string, bool) {
	key, known := inputs["key"].(string)
	return key, known
}
