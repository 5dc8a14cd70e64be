package providers_test

import (
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/providers"
	"github.com/atlantide-org/atlantide-operator/providers/aws"
	"github.com/atlantide-org/atlantide-operator/providers/local"
	"github.com/atlantide-org/atlantide-operator/providers/random"
)

// typeFacts is what testdata/schema.json says of a type; texts are left out.
type typeFacts struct {
	Kind, Provider string
	FieldOrder     []string `json:"field_order"`
	Fields         map[string]fieldFacts
	Computed       []string
	PhysicalName   string `json:"physical_name_field"`
	Import         string // what finds an object that exists: an "id", its "name", or "none" does
	Identity       string `json:"identity_field"`
	Constraints    []string
	Actions        map[string]string
	Nested         map[string]struct {
		Fields      map[string]fieldFacts
		Constraints []string
	}
}

type fieldFacts struct {
	Type                                   string
	Mutability                             string
	Nullable, Required, Sensitive, Literal bool
	PhysicalName                           bool `json:"physical_name"`
	Filled                                 bool `json:"filled_at_evaluation"`
	Default                                any
	Values                                 []string
	Validation                             validated
}

// validated is whether a value has constraints of its own; what they are is tested by
// what they refuse.
type validated bool

func (v *validated) UnmarshalJSON(data []byte) error {
	*v = string(data) != "null"
	return nil
}

func builtIn(t *testing.T) *model.Schemas {
	t.Helper()
	project, err := local.NewProject(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r, err := providers.NewRegistry(project, random.New(rand.Reader, time.Now), aws.New())
	if err != nil {
		t.Fatal(err)
	}
	return r.Schemas()
}

// A field more, or one less, moves the hash of every node of its type.
func TestSchemasAreTheReference(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]typeFacts
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	schemas := builtIn(t)
	for _, p := range schemas.Providers() {
		for _, typ := range p.Types {
			if _, ok := want[typ.Name]; !ok {
				t.Errorf("%s is not of the reference", typ.Name)
			}
		}
	}
	for name, facts := range want {
		t.Run(name, func(t *testing.T) {
			typ := schemas.Type(name)
			if typ == nil {
				t.Fatal("not declared")
			}
			got := factsOf(t, typ)
			if diff := cmp.Diff(facts.Fields, got.Fields); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(facts.FieldOrder, got.FieldOrder); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
			if typ.Kind != facts.Kind || typ.Provider != facts.Provider || !slices.Equal(got.Computed, facts.Computed) || got.PhysicalName != facts.PhysicalName {
				t.Errorf("kind %s, provider %s, computed %v, physical name %q", typ.Kind, typ.Provider, got.Computed, got.PhysicalName)
			}
			if typ.IdentityField != facts.Identity || (facts.Import == "id") != (typ.IdentityField != "") {
				t.Errorf("RF-12: an import is given %q; it is found by its %s, in %q", typ.IdentityField, facts.Import, facts.Identity)
			}
			if id := typ.Field(typ.IdentityField); typ.IdentityField != "" && (id == nil || id.Mutability != model.Computed) {
				t.Errorf("RF-13: the identity %q is no output", typ.IdentityField)
			}
			if diff := cmp.Diff(facts.Actions, got.Actions); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			// A rule may join several constraints; none may be without a rule.
			if (len(typ.Rules) > 0 || filled(typ)) != (len(facts.Constraints) > 0) {
				t.Errorf("%d rules stand for %v", len(typ.Rules), facts.Constraints)
			}
			compareNested(t, typ, facts)
		})
	}
}

func compareNested(t *testing.T, typ *model.ResourceType, facts typeFacts) {
	t.Helper()
	seen := map[string]*model.NestedType{}
	for i := range typ.Fields {
		ft := &typ.Fields[i].Type
		if ft.Elem != nil {
			ft = ft.Elem
		}
		if ft.Nested != nil {
			seen[ft.Nested.Name] = ft.Nested
		}
	}
	for name, want := range facts.Nested {
		nested := seen[name]
		if nested == nil {
			t.Errorf("structured value %s is not declared", name)
			continue
		}
		got := map[string]fieldFacts{}
		for i := range nested.Fields {
			f := fieldOf(t, &nested.Fields[i])
			f.Mutability, f.Nullable = "", nested.Fields[i].Type.Nullable // the facts say no mutability of a part
			got[nested.Fields[i].Name] = f
		}
		if diff := cmp.Diff(want.Fields, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if len(nested.Rules) != len(want.Constraints) {
			t.Errorf("%s: %d rules stand for %v", name, len(nested.Rules), want.Constraints)
		}
		delete(seen, name)
	}
	if len(seen) > 0 {
		t.Errorf("structured values beyond the reference: %v", seen)
	}
}

func filled(typ *model.ResourceType) bool {
	return slices.ContainsFunc(typ.Fields, func(f model.Field) bool { return f.Fill != nil })
}

// factsOf is a declared type in the form of the facts.
func factsOf(t *testing.T, typ *model.ResourceType) typeFacts {
	t.Helper()
	facts := typeFacts{Fields: map[string]fieldFacts{}, Computed: []string{}}
	for i := range typ.Fields {
		f := &typ.Fields[i]
		if f.Doc == "" {
			t.Errorf("%s.%s has no text", typ.Name, f.Name)
		}
		facts.FieldOrder = append(facts.FieldOrder, f.Name)
		facts.Fields[f.Name] = fieldOf(t, f)
		if f.Mutability == model.Computed {
			facts.Computed = append(facts.Computed, f.Name)
		}
		if f.PhysicalName {
			facts.PhysicalName = f.Name
		}
	}
	for _, c := range typ.Constants {
		facts.Actions = map[string]string{}
		for _, m := range c.Members {
			facts.Actions[m.Name], _ = m.Value.(string)
		}
	}
	return facts
}

func fieldOf(t *testing.T, f *model.Field) fieldFacts {
	t.Helper()
	facts := fieldFacts{
		Type:       typeText(&f.Type),
		Mutability: map[model.Mutability]string{model.Mutable: "mutable", model.Immutable: "immutable", model.Computed: "computed"}[f.Mutability],
		Nullable:   f.Type.Nullable, Required: f.Required, Sensitive: f.Sensitive, Literal: f.Literal, PhysicalName: f.PhysicalName,
		Filled: f.Fill != nil, Values: f.Type.OneOf, Validation: validated(len(f.Type.Checks) > 0 || f.Type.Elem != nil && len(f.Type.Elem.Checks) > 0),
	}
	if f.Required && f.Default != nil {
		t.Errorf("%s is required and has a default", f.Name)
	}
	data, err := model.EncodeJSON(f.Default)
	if err != nil {
		t.Fatalf("the default of %s is no value: %v", f.Name, err)
	}
	if err := json.Unmarshal(data, &facts.Default); err != nil {
		t.Fatal(err)
	}
	return facts
}

func typeText(t *model.FieldType) string {
	switch t.Kind {
	case model.KindList:
		return "list<" + typeText(t.Elem) + ">"
	case model.KindMap:
		return "map<string," + typeText(t.Elem) + ">"
	case model.KindNested:
		return "nested:" + t.Nested.Name
	case model.KindUnion:
		texts := make([]string, len(t.Alternatives))
		for i := range texts {
			texts[i] = typeText(&t.Alternatives[i])
		}
		return strings.Join(texts, "|")
	}
	return map[model.TypeKind]string{
		model.KindString: "string", model.KindInt: "integer", model.KindFloat: "float", model.KindBool: "boolean",
		model.KindAny: "any", model.KindSecret: "secret_ref",
	}[t.Kind]
}
