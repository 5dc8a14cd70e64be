package random

import (
	"fmt"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Names of the types and fields.
const (
	typeUUID      = "random.Uuid"
	typePassword  = "random.Password"
	typeID        = "random.Id"
	typeTimestamp = "random.Timestamp"

	fieldLength     = "length"
	fieldByteLength = "byte_length"
	fieldResult     = "result"
)

// Limits of what a config may ask for (providers.md 6.1).
const (
	maxLength     = 4096 // characters of a password
	maxByteLength = 1024 // bytes of an id
)

var text = model.FieldType{Kind: model.KindString}

// schema is built once and never changed (providers.md 2.29 to 2.32).
var schema = &model.ProviderSchema{
	Name:    "random",
	Version: "1.0.0",
	Module:  "atlantide.providers.random",
	Types: []*model.ResourceType{
		generator("Uuid", "A random UUID, version 4."),
		secret(generator("Password", "A random password.",
			size(fieldLength, 32, maxLength, "Characters."))),
		generator("Id", "Random bytes in hex.",
			size(fieldByteLength, 16, maxByteLength, "Bytes; the text has twice as many characters.")),
		generator("Timestamp", "The time at which it was made, in UTC."),
	},
}

// generator is a type that makes its result once and keeps it until an input changes.
func generator(class, doc string, inputs ...model.Field) *model.ResourceType {
	t := &model.ResourceType{Name: "random." + class, Provider: "random", Class: class, Kind: model.KindResource, Doc: doc}
	t.Fields = append(t.Fields, model.Field{
		Name: "keepers", Type: model.FieldType{Kind: model.KindMap, Elem: &text}, Mutability: model.Immutable,
		Default: map[string]any{}, Doc: "A change of any value makes another result.",
	})
	t.Fields = append(t.Fields, inputs...)
	t.Fields = append(t.Fields, model.Field{Name: fieldResult, Type: text, Mutability: model.Computed, Doc: "What was made."})
	return t
}

func size(name string, usual, most int64, doc string) model.Field {
	return model.Field{
		Name: name, Mutability: model.Immutable, Default: usual, Doc: doc,
		Type: model.FieldType{Kind: model.KindInt, Checks: []model.Check{{
			Must:  fmt.Sprintf("be from 1 to %d", most),
			Holds: func(v model.Value) bool { n, ok := v.(int64); return ok && 1 <= n && n <= most },
		}}},
	}
}

func secret(t *model.ResourceType) *model.ResourceType {
	t.Field(fieldResult).Sensitive = true
	return t
}
