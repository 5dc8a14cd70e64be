package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// The page is its own golden file.
func TestResourcesPageIsCurrent(t *testing.T) {
	want, err := render(schemas())
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs/resources.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/resources.md is not current (-want +got); run: make generate\n%s", diff)
	}
}

// What the providers of this release do not use is written all the same.
func TestRenderEverything(t *testing.T) {
	text := model.FieldType{Kind: model.KindString}
	page, err := render([]*model.ProviderSchema{{
		Name: "p", Version: "1.0.0", Module: "atlantide.providers.p",
		Types: []*model.ResourceType{{
			Name: "p.T", Class: "T", Kind: model.KindResource, Doc: "A thing.", Unsupported: "it is new", IdentityField: "id",
			Policies: []model.PolicyBinding{{Name: "require-tags", Level: "advisory"}},
			Fields: []model.Field{
				{Name: "key", Type: model.FieldType{Kind: model.KindSecret, Nullable: true}, Sensitive: true, Doc: "A | B."},
				{Name: "name", Type: text, PhysicalName: true, Default: "x"},
				{Name: "any", Type: model.FieldType{Kind: model.KindUnion, Alternatives: []model.FieldType{text, {Kind: model.KindList, Elem: &text}}}},
			},
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Configs cannot use it yet: it is new.",
		"To import one, give its `id`.",
		"judged by the policy `require-tags` (advisory)",
		"| `key` | secret or None | `None` | updates | A \\| B. **Sensitive.** |",
		"`'x'`, or composed from `name_prefix`",
		"| `any` | str or list of str |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

func TestComponentsAreDescribed(t *testing.T) {
	for _, c := range []struct{ reason, source string }{
		{"no docstring", "class C(Component):\n    def __init__(self, name):\n        self.a = 1\n"},
		{"no attributes", "'''D.'''\nclass C(Component):\n    def __init__(self, name):\n        pass\n"},
		{"no such class", "'''D.'''\n"},
	} {
		if d, err := read(&model.Component{Name: "C", File: "c.py", Source: c.source}); err == nil {
			t.Errorf("%s: read as %+v", c.reason, d)
		}
	}
}
