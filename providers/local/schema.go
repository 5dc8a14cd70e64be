package local

import "github.com/atlantide-org/atlantide-operator/engine/model"

const (
	typeFile       = "local.File"
	typeSourceFile = "local.SourceFile"
	typeNull       = "local.Null"

	fieldPath     = "path"
	fieldContent  = "content"
	fieldChecksum = "checksum"
)

// declared is the declaration of the types, in which a file is the one at the address of its
// path (providers.md 2.26 to 2.28).
func declared(address func(path string) string) *model.ProviderSchema {
	text := model.FieldType{Kind: model.KindString}
	return &model.ProviderSchema{
		Name:    "local",
		Version: "1.0.0",
		Module:  "atlantide.providers.local",
		Types: []*model.ResourceType{
			{
				Name: typeFile, Provider: "local", Class: "File", Kind: model.KindResource,
				Doc: "A text file.",
				Address: func(inputs map[string]any) (string, bool) {
					p, known := inputs[fieldPath].(string)
					if !known {
						return "", false
					}
					return address(p), true
				},
				Fields: []model.Field{
					{Name: fieldPath, Type: text, Mutability: model.Immutable, Required: true, Printable: true, Doc: "Where the file is, relative to the root."},
					{Name: fieldContent, Type: text, Mutability: model.Mutable, Default: "", Doc: "The text, written as UTF-8."},
					{Name: fieldChecksum, Type: text, Mutability: model.Computed, Doc: "The hex SHA-256 of the content."},
				},
			},
			{
				Name: typeSourceFile, Provider: "local", Class: "SourceFile", Kind: model.KindResource,
				Doc: "A file of the config's own source tree.",
				Fields: []model.Field{
					{Name: fieldPath, Type: text, Mutability: model.Immutable, Required: true, Literal: true, Doc: "Where the file is in the source tree."},
					{Name: fieldChecksum, Type: text, Mutability: model.Mutable, Default: "", Fill: &model.Fill{Kind: model.FillText, From: fieldPath}, Doc: "The hex SHA-256 of the text, filled at evaluation."},
					{Name: fieldContent, Type: text, Mutability: model.Computed, Sensitive: true, FromSource: true, Doc: "The text."},
				},
			},
			{
				Name: typeNull, Provider: "local", Class: "Null", Kind: model.KindResource,
				Doc: "Nothing; a place for triggers and ordering.",
				Fields: []model.Field{
					{Name: "triggers", Type: model.FieldType{Kind: model.KindMap, Elem: &text}, Mutability: model.Mutable, Default: map[string]any{}, Doc: "A change of any value is an update."},
				},
			},
		},
	}
}
