package lang

import (
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// testSchemas are local.File and local.Null as the vectors use them, and the types W
// and B of the language's case tables.
func testSchemas(t testing.TB) *model.Schemas {
	t.Helper()
	text := model.FieldType{Kind: model.KindString}
	texts := model.FieldType{Kind: model.KindMap, Elem: &text}
	local := &model.ProviderSchema{Name: "local", Version: "1.0.0", Module: "atlantide.providers.local", Types: []*model.ResourceType{
		{Name: "local.File", Provider: "local", Class: "File", Kind: model.KindResource, Fields: []model.Field{
			{Name: "path", Type: text, Mutability: model.Immutable, Required: true},
			{Name: "content", Type: text, Default: ""},
			{Name: "checksum", Type: text, Mutability: model.Computed},
		}},
		{Name: "local.Null", Provider: "local", Class: "Null", Kind: model.KindResource, Fields: []model.Field{
			{Name: "triggers", Type: texts, Default: map[string]any{}},
		}},
		{Name: "local.SourceFile", Provider: "local", Class: "SourceFile", Kind: model.KindResource,
			Unsupported: "it comes with a later version"},
	}}
	rule := &model.NestedType{Name: "Rule", Fields: []model.Field{
		{Name: "port", Type: model.FieldType{Kind: model.KindInt}, Required: true},
		{Name: "cidr", Type: model.FieldType{Kind: model.KindString, Nullable: true}},
		{Name: "protocol", Type: model.FieldType{Kind: model.KindString, OneOf: []string{"tcp", "udp"}}, Default: "tcp"},
	}}
	test := &model.ProviderSchema{Name: "test", Version: "2.0.0", Module: "atlantide.providers.test", Types: []*model.ResourceType{
		{Name: "test.W", Provider: "test", Class: "W", Kind: model.KindResource, Fields: []model.Field{
			{Name: "size", Type: model.FieldType{Kind: model.KindInt}, Mutability: model.Immutable, Default: int64(0)},
			{Name: "label", Type: text, Default: ""},
			{Name: "data", Type: model.FieldType{Kind: model.KindAny, Nullable: true}},
			{Name: "out", Type: text, Mutability: model.Computed},
		}},
		{Name: "test.B", Provider: "test", Class: "B", Kind: model.KindResource, Fields: []model.Field{
			{Name: "bucket", Type: text, Mutability: model.Immutable, Required: true, PhysicalName: true},
			{Name: "region", Type: text, Mutability: model.Immutable, Default: "eu-west-1"},
			{Name: "versioning", Type: model.FieldType{Kind: model.KindBool}, Default: false},
			{Name: "count", Type: model.FieldType{Kind: model.KindInt}, Default: int64(0)},
			{Name: "ratio", Type: model.FieldType{Kind: model.KindFloat}, Default: float64(0)},
			{Name: "names", Type: model.FieldType{Kind: model.KindList, Elem: &text}, Default: []any{}},
			{Name: "tags", Type: texts, Default: map[string]any{}},
			{Name: "arn", Type: text, Mutability: model.Computed},
		}},
		{Name: "test.Gate", Provider: "test", Class: "Gate", Kind: model.KindData, Fields: []model.Field{
			{Name: "rules", Type: model.FieldType{Kind: model.KindList, Elem: &model.FieldType{Kind: model.KindNested, Nested: rule}}, Default: []any{}},
			{Name: "token", Type: model.FieldType{Kind: model.KindSecret, Nullable: true}},
			{Name: "fixed", Type: model.FieldType{Kind: model.KindString, Nullable: true}, Literal: true},
		}},
	}}
	schemas, err := model.NewSchemas(local, test)
	if err != nil {
		t.Fatal(err)
	}
	return schemas
}
