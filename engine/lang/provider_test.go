package lang

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// shopSchemas declare one provider that uses everything a schema may hold.
func shopSchemas(t *testing.T) *model.Schemas {
	t.Helper()
	text := model.FieldType{Kind: model.KindString}
	short := model.FieldType{Kind: model.KindString, Checks: []model.Check{{
		Must: "be at most 3 long", Holds: func(v model.Value) bool { return len(v.(string)) <= 3 },
	}}}
	part := &model.NestedType{
		Name: "Part",
		Fields: []model.Field{
			{Name: "low", Type: model.FieldType{Kind: model.KindInt}, Default: int64(0)},
			{Name: "high", Type: model.FieldType{Kind: model.KindInt}, Default: int64(9)},
		},
		Rules: []model.Rule{{Fields: []string{"low", "high"}, Must: "not cross", Holds: func(f map[string]model.Value) bool {
			low, okLow := f["low"].(int64)
			high, okHigh := f["high"].(int64)
			return !okLow || !okHigh || low <= high
		}}},
	}
	parts := model.FieldType{Kind: model.KindList, Elem: &model.FieldType{Kind: model.KindNested, Nested: part}}
	union := model.FieldType{Kind: model.KindUnion, Nullable: true, Alternatives: []model.FieldType{text, {Kind: model.KindList, Elem: &short}}}
	thing := &model.ResourceType{
		Name: "shop.Thing", Provider: "shop", Class: "Thing", Kind: model.KindResource,
		Fields: []model.Field{
			{Name: "code", Type: short, Default: ""},
			{Name: "codes", Type: model.FieldType{Kind: model.KindMap, Elem: &short}, Default: map[string]any{}},
			{Name: "who", Type: union},
			{Name: "parts", Type: parts, Default: []any{map[string]any{"low": int64(1)}}},
			{Name: "path", Type: model.FieldType{Kind: model.KindString, Nullable: true}, Literal: true},
			{Name: "digest", Type: text, Default: "", Fill: &model.Fill{Kind: model.FillText, From: "path"}},
			{Name: "out", Type: text, Mutability: model.Computed},
		},
		Rules: []model.Rule{{Fields: []string{"code", "who"}, Must: "give one", Holds: func(f map[string]model.Value) bool {
			return f["code"] != "" || f["who"] != nil
		}}},
		Constants: []model.Constant{{Name: "Verb", Members: []model.Constant{{Name: "Buy", Value: "shop:Buy"}}}},
	}
	schemas, err := model.NewSchemas(&model.ProviderSchema{
		Name: "shop", Version: "1.0.0", Module: "atlantide.providers.shop", Types: []*model.ResourceType{thing},
		Constants: []model.Constant{
			{Name: "LIMIT", Value: int64(7)},
			{Name: "WHOLE", Nested: part, Value: map[string]any{"high": int64(5)}},
			{Name: "Place", Members: []model.Constant{{Name: "Here", Value: "here"}}},
		},
		Helpers: []model.Helper{
			{Name: "pair", Params: []string{"left", "right?"}, Call: func(c model.HelperCall) (any, error) {
				_, given := c.Args["right"]
				return model.Object{{Key: "z", Value: c.Args["left"]}, {Key: "a", Value: []any{c.Args["right"], fmt.Sprint(given)}}}, nil
			}},
			{Name: "count", Rest: "things", Params: []string{"unit"}, Call: func(c model.HelperCall) (any, error) {
				if len(c.Rest) == 0 {
					return nil, errors.New("counts nothing")
				}
				return fmt.Sprintf("%d %s", len(c.Rest), c.Args["unit"]), nil
			}},
			{Name: "encoded", Params: []string{"v"}, Module: "text", Call: func(c model.HelperCall) (any, error) {
				return c.JSON(model.Object{{Key: "v", Value: c.Args["v"]}})
			}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return schemas
}

const shop = `from atlantide.core import output
from atlantide.providers.shop import LIMIT, WHOLE, Part, Place, Thing, count, pair
from atlantide.providers.shop.text import encoded
x = Thing("x", code="x").out
`

func compileShop(t *testing.T, text string) (*Result, error) {
	t.Helper()
	return Compile(context.Background(), Source{Filename: "infra.py", Text: shop + text}, Options{Schemas: shopSchemas(t)})
}

func TestProviderExports(t *testing.T) {
	x := model.Reference{NodeID: "default:shop.Thing:x", Output: "out"}.Marker()
	for _, c := range []struct {
		reason, expr string
		want         any
	}{
		{"a constant is its value", "LIMIT", int64(7)},
		{"a structured one has its defaults", "[WHOLE.low, WHOLE.high]", []any{int64(0), int64(5)}},
		{"and is what its constructor makes", "[WHOLE == Part(high=5), WHOLE == Part()]", []any{true, false}},
		{"a member is a plain text", "[Place.Here, Thing.Verb.Buy]", []any{"here", "shop:Buy"}},
		{"a default holds structured values", "[p.high for p in Thing('d', code='d').parts]", []any{int64(9)}},
		{"a helper passes values on as they are", "pair(left=[x, None], right={'k': x})",
			map[string]any{"z": []any{x, nil}, "a": []any{map[string]any{"k": x}, "true"}}},
		{"what is left out is missing", "pair(None)", map[string]any{"z": nil, "a": []any{nil, "false"}}},
		{"its keys keep their order", "list(pair(1))", []any{"z", "a"}},
		{"the same object comes back", "[(lambda l: pair(l)['z'] is l)([1])]", []any{true}},
		{"a helper takes any number", "count(1, x, *[3, 4], unit='things')", "4 things"},
		{"a submodule exports more", "encoded([1, 'é', None])", `{"v":[1,"é",null]}`},
	} {
		t.Run(c.reason, func(t *testing.T) {
			res, err := compileShop(t, "output('o', "+c.expr+")\n")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, res.Outputs[0].Value); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestProviderConstraints(t *testing.T) {
	for _, c := range []struct {
		reason, config string
		says           []string // nil: compiles
	}{
		{"a check passes", "Thing('a', code='abc')", nil},
		{"a check names field, limit and value", "Thing('a', code='abcd')", []string{"shop.Thing 'a': code: must be at most 3 long, not 'abcd'"}},
		{"every one of several counts", "Thing('a', code='abcd', codes={'k': 'efgh', 'l': 'x'})", []string{"code: must be", "codes.k: must be", "'efgh'"}},
		{"no check sees a handle", "Thing('a', code=x, codes={'k': x})", nil},
		{"what stands beside a handle is checked", "Thing('a', code='a', codes={'k': x, 'l': 'abcd'})", []string{"codes.l: "}},
		{"a rule names all its fields and values", "Thing('a')", []string{"shop.Thing 'a': code, who: must give one, not code='', who=None"}},
		{"no rule is asked while a field is bad", "Thing('a', who=5)", []string{"who: must be a str or a list of str or None, not 5 (int)"}},
		{"a union takes the scalar", "Thing('a', who='somebody')", nil},
		{"a union takes the list, a tuple as well", "Thing('a', who=('a', 'b'))", nil},
		{"and judges each of its elements", "Thing('a', who=['a', 'abcd'])", []string{"who.1: must be at most 3 long"}},
		{"also beside a handle", "Thing('a', who=[x, 5])", []string{"who.1: must be a str"}},
		{"a structured value has rules of its own", "Part(low=3, high=2)", []string{"Part: low, high: must not cross, not low=3, high=2"}},
		{"as a dict too", "Thing('a', code='a', parts=[{}, {'low': 10}])", []string{"parts.1.low, high: must not cross"}},
		{"a dict with a handle is forgiven", "Thing('a', code='a', parts=[{'low': x, 'high': -1}])", nil},
		{"a constructor with a handle passes what it cannot know", "Thing('a', code='a', parts=[Part(low=x)])", nil},
		{"what would have to be read is refused", "Thing('a', code='a', path='src')", []string{"digest", "path", "'src'", "give digest"}},
		{"what is given is not read", "Thing('a', code='a', path='src', digest='')", nil},
		{"nothing to read", "Thing('a', code='a', path=None)", nil},
		{"a helper's own error is a ValueError", "count(unit='x')", []string{"ValueError: count() counts nothing"}},
		{"the rest makes keyword-only parameters", "count(1)", []string{"TypeError", "'unit'"}},
		{"an error of the language stays one", "encoded(x)", []string{"Ref"}},
		{"a resource has the constants of its class", "Thing('a', code=Thing('b', code='b').Verb.Buy[:3])", nil},
		{"no such constant of a resource", "Thing('a', code='a').Noun", []string{"AttributeError", "Noun"}},
		{"a packageless name", "from atlantide.providers import Thing", []string{"'Thing'", "'atlantide.providers'", "no such name"}},
		{"no such member", "Place.There", []string{"AttributeError", "There"}},
		{"no such constant of a class", "Thing.Noun", []string{"AttributeError", "Noun"}},
		{"the submodule's own name", "from atlantide.providers.shop import encoded", []string{"'encoded'", "atlantide.providers.shop"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			_, err := compileShop(t, c.config+"\n")
			if c.says == nil {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			var e *model.Error
			if !errors.As(err, &e) || e.Kind != model.LanguageError || e.Line != strings.Count(shop, "\n")+1 {
				t.Fatalf("error %v, want a LanguageError there", err)
			}
			for _, s := range c.says {
				if !strings.Contains(e.Message, s) {
					t.Errorf("%q lacks %q", e.Message, s)
				}
			}
		})
	}
}

// What a helper makes is paid for like what the config makes itself.
func TestHelpersAreMetered(t *testing.T) {
	endless := shop + "s = 'x'\nfor i in range(10000000):\n    s = pair(s)\n"
	_, err := Compile(context.Background(), Source{Filename: "infra.py", Text: endless},
		Options{Schemas: shopSchemas(t), Fuel: 1 << 40, MaxTotalBytes: 1 << 20})
	if !model.IsKind(err, model.FuelExhaustedError) {
		t.Errorf("error %v, want FuelExhaustedError", err)
	}
}
