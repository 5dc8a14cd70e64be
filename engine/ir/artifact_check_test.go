package ir_test

import (
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Pins: the same major and not older, before 1.0 only the same (DF-25).
func TestPinsOfProviders(t *testing.T) {
	for _, tc := range []struct {
		reason          string
		pinned, running string
		ok              bool
	}{
		{"the same", "1.2.3", "1.2.3", true},
		{"a newer patch", "1.2.3", "1.2.4", true},
		{"a newer minor", "1.2.3", "1.3.0", true},
		{"numbers, not texts", "1.9.0", "1.10.0", true},
		{"an older patch lacks what was used", "1.2.3", "1.2.2", false},
		{"an older minor", "1.2.3", "1.1.9", false},
		{"another major", "1.2.3", "2.0.0", false},
		{"an older major", "2.0.0", "1.9.9", false},
		{"before 1.0 nothing is promised", "0.2.3", "0.2.4", false},
		{"save to itself", "0.2.3", "0.2.3", true},
		{"0.x is left by no upgrade", "0.9.9", "1.0.0", false},
		{"nor entered by one", "1.0.0", "0.9.9", false},
		{"two parts are no version", "1.2", "1.2.0", false},
		{"nor is a word", "latest", "1.0.0", false},
		{"nor are leading zeros", "01.0.0", "1.0.0", false},
		{"nor a sign", "+1.0.0", "1.0.0", false},
		{"nor what does not fit", "1.99999999999999999999.0", "1.0.0", false},
		{"nothing", "", "1.0.0", false},
		{"what runs is no version", "1.0.0", "dev", false},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			doc, _ := chain(1)
			doc.Nodes[0].ProviderVersion = tc.pinned
			a := artifactOf(t, doc)
			a.Pins["local"] = tc.pinned
			err := a.Check(schemas(t, tc.running))
			if tc.ok != (err == nil) || err != nil && (!model.IsKind(err, model.ArtifactError) || !strings.Contains(err.Error(), "not compatible")) {
				t.Errorf("pinned %q, running %q: %v", tc.pinned, tc.running, err)
			}
		})
	}
}

func schemas(t *testing.T, version string) *model.Schemas {
	t.Helper()
	text, list := model.FieldType{Kind: model.KindString}, model.FieldType{Kind: model.KindList, Elem: &model.FieldType{Kind: model.KindInt}}
	port := model.FieldType{Kind: model.KindInt, Checks: []model.Check{{Must: "be a port", Holds: func(v model.Value) bool { return v.(int64) < 65536 }}}}
	rule := &model.NestedType{
		Name: "Rule",
		Fields: []model.Field{
			{Name: "from", Type: port, Required: true}, {Name: "to", Type: model.FieldType{Kind: model.KindInt, Nullable: true}},
		},
		Rules: []model.Rule{{Fields: []string{"from", "to"}, Must: "be in order", Holds: func(f map[string]model.Value) bool {
			from, known := f["from"].(int64)
			to, alsoKnown := f["to"].(int64)
			return !known || !alsoKnown || from <= to
		}}},
	}
	file := &model.ResourceType{
		Name: "local.File", Provider: "local", Class: "File", Kind: model.KindResource,
		Fields: []model.Field{
			{Name: "path", Type: text, Required: true},
			{Name: "content", Type: text},
			{Name: "checksum", Type: text, Mutability: model.Computed},
			{Name: "mode", Type: model.FieldType{Kind: model.KindString, Nullable: true, OneOf: []string{"ro", "rw"}}},
			{Name: "literal", Type: text, Literal: true},
			{Name: "ratio", Type: model.FieldType{Kind: model.KindFloat}},
			{Name: "on", Type: model.FieldType{Kind: model.KindBool}},
			{Name: "any", Type: model.FieldType{Kind: model.KindAny}},
			{Name: "password", Type: model.FieldType{Kind: model.KindSecret}},
			{Name: "numbers", Type: list},
			{Name: "labels", Type: model.FieldType{Kind: model.KindMap, Elem: &text}},
			{Name: "rules", Type: model.FieldType{Kind: model.KindList, Elem: &model.FieldType{Kind: model.KindNested, Nested: rule}}},
			{Name: "either", Type: model.FieldType{Kind: model.KindUnion, Alternatives: []model.FieldType{text, list}}},
		},
		Rules: []model.Rule{{Fields: []string{"mode", "content"}, Must: "have a content to be rw", Holds: func(f map[string]model.Value) bool {
			return f["mode"] != "rw" || f["content"] != ""
		}}},
	}
	old := &model.ResourceType{Name: "local.Old", Provider: "local", Class: "Old", Kind: model.KindResource, Unsupported: "it is not there yet"}
	data := &model.ResourceType{Name: "local.Data", Provider: "local", Class: "Data", Kind: model.KindData}
	s, err := model.NewSchemas(&model.ProviderSchema{Name: "local", Version: version, Types: []*model.ResourceType{file, old, data}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A provider may take for granted what its types promise, wherever a node comes from.
func TestNodesConformToTheirTypes(t *testing.T) {
	ref := model.Reference{NodeID: "s:local.File:n00000", Output: "checksum"}.Marker()
	for _, tc := range []struct {
		reason, field string
		value         any
		says          string // "" = it conforms
	}{
		{"a text", "content", "x", ""},
		{"a handle may become anything", "content", ref, ""},
		{"a number is no text", "content", int64(1), `"content" must be of another type`},
		{"null where nothing is not a value", "content", nil, "must not be null"},
		{"null where it is", "mode", nil, ""},
		{"one of a set", "mode", "ro", ""},
		{"none of the set", "mode", "x", "must be one of ro, rw"},
		{"an output is never given", "checksum", "x", "is not a field that can be given"},
		{"nor what the type lacks", "nope", "x", "is not a field that can be given"},
		{"a handle where only a literal means something", "literal", ref, "must be a literal"},
		{"an integer is a float", "ratio", int64(1), ""},
		{"a float", "ratio", 1.5, ""},
		{"a truth value", "on", true, ""},
		{"a truth value in words: coercion is over", "on", "yes", "must be of another type"},
		{"anything", "any", map[string]any{"a": []any{nil, int64(1)}}, ""},
		{"a handle on a secret", "password", model.SecretRef{Name: "n"}.Marker(), ""},
		{"a secret in the open, which is not shown", "password", "hunter2", "must be a handle on a secret"},
		{"a list", "numbers", []any{int64(1)}, ""},
		{"a list of other things", "numbers", []any{int64(1), "x"}, `"numbers.1"`},
		{"no list", "numbers", "x", "must be a list"},
		{"beside a handle a number may stand as it was written", "numbers", []any{ref, "2"}, ""},
		{"but not something that is no scalar", "numbers", []any{ref, map[string]any{}}, `"numbers.1"`},
		{"save with a handle in it", "numbers", []any{[]any{ref}}, ""},
		{"a map", "labels", map[string]any{"a": "b"}, ""},
		{"a map of other things", "labels", map[string]any{"a": int64(1)}, `"labels.a"`},
		{"no map", "labels", []any{}, "must be a map"},
		{"a structured value", "rules", []any{map[string]any{"from": int64(1), "to": int64(2)}}, ""},
		{"with a part missing", "rules", []any{map[string]any{"to": int64(2)}}, `"rules.0.from" is required`},
		{"with a part too many", "rules", []any{map[string]any{"from": int64(1), "via": int64(2)}}, `"rules.0.via" is not a field of Rule`},
		{"that is none", "rules", []any{"x"}, "must be a map"},
		{"out of bounds", "rules", []any{map[string]any{"from": int64(70000)}}, "must be a port"},
		{"against its own rule", "rules", []any{map[string]any{"from": int64(2), "to": int64(1)}}, "must be in order"},
		{"one alternative", "either", "x", ""},
		{"the other", "either", []any{int64(1)}, ""},
		{"neither", "either", map[string]any{}, "must be of another type"},
		{"neither, within the list", "either", []any{"x"}, `"either.0"`},
		{"against a rule of the type", "mode", "rw", "must have a content to be rw"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			n := ir.Node{
				ID: "s:local.File:n00000", Type: "local.File", Kind: model.KindResource, Provider: "local", ProviderVersion: "1.0.0",
				Properties: map[string]any{"path": "p", "content": "", tc.field: tc.value},
			}
			err := artifactOf(t, &ir.Document{Nodes: []ir.Node{n}}).Check(schemas(t, "1.0.0"))
			switch {
			case tc.says == "" && err != nil:
				t.Error(err)
			case tc.says != "" && (!model.IsKind(err, model.ArtifactError) || !strings.Contains(err.Error(), tc.says)):
				t.Errorf("error %v; want an ArtifactError with %q", err, tc.says)
			case err != nil && strings.Contains(err.Error(), "hunter2"):
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

func TestCheckWantsWhatIsRegistered(t *testing.T) {
	for _, tc := range []struct {
		reason string
		edit   func(a *ir.Artifact)
		kind   model.Kind
		says   string
	}{
		{"a provider that nobody has", func(a *ir.Artifact) { a.Pins["ghost"] = "1.0.0" }, model.RegistryError, `"ghost"`},
		{"a type that the provider lost", func(a *ir.Artifact) { a.Document.Nodes[0].Type = "local.Gone" }, model.RegistryError, "local.Gone"},
		{"a type that cannot be declared", func(a *ir.Artifact) { a.Document.Nodes[0].Type = "local.Old" }, model.RegistryError, "not there yet"},
		{"a resource of a type that is data", func(a *ir.Artifact) { a.Document.Nodes[0].Type = "local.Data" }, model.ArtifactError, "its type is a data"},
		{"no pin for a provider that a node needs", func(a *ir.Artifact) { delete(a.Pins, "local") }, model.ArtifactError, "pins version"},
		{"a pin beside what the nodes say", func(a *ir.Artifact) { a.Document.Nodes[0].ProviderVersion = "1.1.0" }, model.ArtifactError, `compiled with "1.1.0"`},
		{"a pin for nothing", func(a *ir.Artifact) { a.Document.Nodes = nil }, model.ArtifactError, "no node of it needs"},
		{"a property that reads what no node has", func(a *ir.Artifact) {
			a.Document.Nodes[0].Properties["content"] = model.Reference{NodeID: a.Document.Nodes[0].ID, Output: "nope"}.Marker()
		}, model.ArtifactError, `"content" refers to "nope"`},
		{"an output that reads what no node has", func(a *ir.Artifact) {
			a.Outputs[0].Value = []any{model.Reference{NodeID: a.Document.Nodes[0].ID, Output: "nope"}.Marker()}
		}, model.ArtifactError, `"s:sum", which refers to "nope"`},
		{"an output that reads no node", func(a *ir.Artifact) {
			a.Outputs[0].Value = model.Reference{NodeID: "s:local.File:gone", Output: "checksum"}.Marker()
		}, model.ArtifactError, `of "s:local.File:gone"`},
		{"a field that is required", func(a *ir.Artifact) { delete(a.Document.Nodes[0].Properties, "path") }, model.ArtifactError, `"path" is required`},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			a := sampleArtifact(t)
			if err := a.Check(schemas(t, "1.0.0")); err != nil {
				t.Fatalf("before the edit: %v", err)
			}
			tc.edit(a)
			if err := a.Check(schemas(t, "1.0.0")); !model.IsKind(err, tc.kind) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error %v; want the %s %q", err, tc.kind, tc.says)
			}
		})
	}
}
