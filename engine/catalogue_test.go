package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// catalogue is what providers/testdata/schema.json says of the types: each of them is
// declared here in every way that it says.
type catalogue map[string]*catalogueType

type catalogueType struct {
	Order  []string `json:"field_order"`
	Fields map[string]catalogueField
	Nested map[string]struct{ Fields map[string]catalogueField }
}

type catalogueField struct {
	Type, Mutability            string
	Nullable, Required, Literal bool
	Default                     any
	Values                      []string
	Validation                  struct {
		Pattern, Format string
		Minimum         int
		Each            struct{ Format string }
	}
}

func readCatalogue(t *testing.T) catalogue {
	t.Helper()
	data, err := os.ReadFile("../providers/testdata/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var c catalogue
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	if len(c) != 32 {
		t.Fatalf("%d types, want 32", len(c))
	}
	return c
}

// needed is what a type's rules ask for beyond its required fields, and left what they
// forbid beside the others: an argument of nil is left out of a full declaration.
var needed = map[string]struct{ minimal, full map[string]any }{
	"aws.CloudFrontDistribution": {full: map[string]any{"aliases": []any{"a.test"}}},
	"aws.IamRole":                {minimal: map[string]any{"assumed_by": "a.test"}, full: map[string]any{"assume_role_policy": nil}},
	"aws.LambdaFunction":         {minimal: map[string]any{"s3_bucket": "b", "s3_key": "k"}, full: map[string]any{"code_path": nil}},
	"aws.Route53Record":          {minimal: map[string]any{"records": []any{"r"}}, full: map[string]any{"alias": nil}},
	"aws.S3Folder":               {minimal: map[string]any{"manifest": map[string]any{"k": "v"}}},
	"local.SourceFile":           {minimal: map[string]any{"checksum": "00"}},
}

// parts are structured values that their rules accept.
var parts = map[string]map[string]any{
	"Route":       {"gateway_id": "g"},
	"SgRule":      {"protocol": "-1", "cidr_blocks": []any{"10.0.0.0/8"}},
	"AliasTarget": {"name": "n", "zone_id": "z"},
}

// sample is a value that a field accepts and that is not its default.
func (c catalogue) sample(t *testing.T, typ *catalogueType, f catalogueField) any {
	t.Helper()
	switch kind := f.Type; {
	case len(f.Values) > 0:
		return f.Values[len(f.Values)-1]
	case f.Validation.Format == "ipv4-cidr":
		return "10.0.0.0/16"
	case f.Validation.Format == "dotted-domain":
		return "a.test"
	case kind == "string", kind == "string|list<string>":
		return "sample"
	case kind == "integer":
		return 7
	case kind == "boolean":
		return f.Default != true
	case kind == "list<string>":
		return []any{"b.test", "a.test"}
	case kind == "map<string,string>":
		return map[string]any{"k": "v"}
	case kind == "list<map<string,any>>":
		return []any{map[string]any{"Effect": "Allow", "n": []any{1, nil, true, map[string]any{"k": "v"}}}}
	case kind == "secret_ref":
		return secretSample
	case strings.HasPrefix(kind, "list<nested:"):
		return []any{parts[strings.TrimSuffix(strings.TrimPrefix(kind, "list<nested:"), ">")]}
	case strings.HasPrefix(kind, "nested:"):
		return parts[strings.TrimPrefix(kind, "nested:")]
	default:
		t.Fatalf("no sample of %s", kind)
		return nil
	}
}

// completed is a value as the IR has it: a structured value with the defaults of the
// fields that were left out.
func (typ *catalogueType) completed(f catalogueField, v any) any {
	name := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(f.Type, "list<"), "nested:"), ">")
	nested, ok := typ.Nested[name]
	switch given := v.(type) {
	case map[string]any:
		if !ok {
			return v
		}
		whole := map[string]any{}
		for field, facts := range nested.Fields {
			whole[field] = facts.Default
		}
		maps.Copy(whole, given)
		return whole
	case []any:
		out := make([]any, len(given))
		for i := range given {
			out[i] = typ.completed(f, given[i])
		}
		return out
	}
	return v
}

// literal writes a value as a config has it.
func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	case raw:
		return string(v)
	case string:
		return fmt.Sprintf("%q", v)
	case []any:
		texts := make([]string, len(v))
		for i := range v {
			texts[i] = literal(v[i])
		}
		return "[" + strings.Join(texts, ", ") + "]"
	case map[string]any:
		var texts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			texts = append(texts, fmt.Sprintf("%q: %s", k, literal(v[k])))
		}
		return "{" + strings.Join(texts, ", ") + "}"
	}
	return fmt.Sprint(v)
}

// raw is a piece of a config.
type raw string

const (
	secretSample raw = "SecretRef('s')"
	reference    raw = "source.checksum"
)

// inIR is a piece of a config as the IR has it; nil for any other value.
func inIR(v any) any {
	switch piece, _ := v.(raw); piece {
	case secretSample:
		return model.SecretRef{Name: "s"}.Marker()
	case reference:
		return model.Reference{NodeID: "default:local.File:source", Output: "checksum"}.Marker()
	}
	return nil
}

// declaration is a config that declares one resource of a type.
func declaration(typ string, arguments map[string]any) string {
	provider, class, _ := strings.Cut(typ, ".")
	var b strings.Builder
	fmt.Fprintf(&b, "from atlantide.core import SecretRef, output\nfrom atlantide.providers.local import File\nfrom atlantide.providers.%s import %s\n", provider, class)
	fmt.Fprintf(&b, "source = File('source', path='p')\nthing = %s('x'", class)
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		fmt.Fprintf(&b, ", %s=%s", name, literal(arguments[name]))
	}
	return b.String() + ")\n"
}

const declarationLine = 5

// minimal is what a declaration must give.
func (c catalogue) minimal(t *testing.T, name string) map[string]any {
	t.Helper()
	arguments := maps.Clone(needed[name].minimal)
	if arguments == nil {
		arguments = map[string]any{}
	}
	for field, facts := range c[name].Fields {
		if facts.Required {
			arguments[field] = c.sample(t, c[name], facts)
		}
	}
	return arguments
}

// full is all that a declaration can give.
func (c catalogue) full(t *testing.T, name string) map[string]any {
	t.Helper()
	arguments := c.minimal(t, name)
	for field, facts := range c[name].Fields {
		if _, given := arguments[field]; !given && facts.Mutability != "computed" {
			arguments[field] = c.sample(t, c[name], facts)
		}
	}
	for field, v := range needed[name].full {
		arguments[field] = v
		if v == nil {
			delete(arguments, field)
		}
	}
	return arguments
}

// wantProperties compiles a declaration and compares what the IR says of it: what was
// given, and for the rest the defaults.
func (c catalogue) wantProperties(t *testing.T, d *desk, name string, arguments map[string]any) *ir.Compilation {
	t.Helper()
	compilation, err := d.compileWhole(declaration(name, arguments))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{}
	for field, facts := range c[name].Fields {
		v, given := arguments[field]
		switch {
		case facts.Mutability == "computed":
		case given && inIR(v) != nil:
			want[field] = inIR(v)
		case given:
			want[field] = c[name].completed(facts, v)
		default:
			want[field] = c[name].completed(facts, facts.Default)
		}
	}
	node := compilation.Document.Node("default:" + name + ":x")
	if diff := cmp.Diff(encoded(t, want), encoded(t, node.Properties)); diff != "" {
		t.Errorf("%s\nproperties (-want +got):\n%s", declaration(name, arguments), diff)
	}
	return compilation
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Each type with what it needs, and with all that it takes.
func TestEveryTypeCompiles(t *testing.T) {
	c := readCatalogue(t)
	d := newDesk(t).withAll()
	for name, typ := range c {
		t.Run(name, func(t *testing.T) {
			c.wantProperties(t, d, name, c.minimal(t, name))
			c.wantProperties(t, d, name, c.full(t, name))
			c.wantOneHash(t, d, name)

			reads := declaration(name, c.minimal(t, name)) + "output('reads', ["
			var want []any
			for _, field := range typ.Order {
				if typ.Fields[field].Mutability == "computed" {
					reads += "thing." + field + ", "
					want = append(want, model.Reference{NodeID: "default:" + name + ":x", Output: field}.Marker())
				}
			}
			compilation, err := d.compileWhole(reads + "])\n")
			if err != nil {
				t.Fatal(err)
			}
			if got := compilation.Outputs[0].Value; encoded(t, got) != encoded(t, append([]any{}, want...)) {
				t.Errorf("computed fields read as %s", encoded(t, got))
			}
		})
	}
}

// wantOneHash declares a type without its optional fields and with their defaults.
func (c catalogue) wantOneHash(t *testing.T, d *desk, name string) {
	t.Helper()
	spelled := c.minimal(t, name)
	for field, facts := range c[name].Fields {
		if _, given := spelled[field]; !given && facts.Mutability != "computed" {
			spelled[field] = facts.Default
		}
	}
	short := c.wantProperties(t, d, name, c.minimal(t, name))
	long := c.wantProperties(t, d, name, spelled)
	if short.Hash != long.Hash {
		t.Errorf("a default that is written out makes another hash")
	}
}

// wrong are values that a field of a type refuses; each is no handle.
func wrong(kind string) []any {
	switch {
	case kind == "string":
		return []any{5, true, 1.5, []any{"a"}, map[string]any{}, raw("b'x'")}
	case kind == "integer":
		return []any{"x", "", "1.5", "1e3", 1.5, []any{}, raw("float('nan')")}
	case kind == "boolean":
		return []any{2, "maybe", "", 0.5, []any{}}
	case kind == "list<string>":
		return []any{"x", 5, []any{"a", 5}, []any{"a", nil}, map[string]any{"a": "b"}}
	case kind == "map<string,string>":
		return []any{"x", 5, []any{}, map[string]any{"k": 5}, map[string]any{"k": nil}, raw("{1: 'a'}")}
	case kind == "list<map<string,any>>":
		return []any{"x", 5, map[string]any{"Effect": "Allow"}, []any{"x"}, []any{nil}, raw("[{1: 'a'}]")}
	case kind == "secret_ref":
		return []any{"x", 5, []any{}}
	case kind == "string|list<string>":
		return []any{5, map[string]any{}, []any{5}, []any{nil}}
	case strings.HasPrefix(kind, "list<nested:"):
		return []any{"x", map[string]any{}, []any{5}, []any{nil}, []any{map[string]any{"nope": 1}}}
	default: // nested:
		return []any{"x", 5, []any{}, map[string]any{"nope": 1}}
	}
}

// Each field of each type with values of a wrong type, null included where it is no
// value of the field.
func TestEveryFieldRefusesOtherTypes(t *testing.T) {
	c := readCatalogue(t)
	d := newDesk(t).withAll()
	for name, typ := range c {
		t.Run(name, func(t *testing.T) {
			for field, facts := range typ.Fields {
				arguments := c.minimal(t, name)
				if facts.Mutability == "computed" {
					arguments[field] = "x"
					d.wantRefused(t, name, field, arguments)
					continue
				}
				values := wrong(facts.Type)
				if !facts.Nullable {
					values = append(values, nil)
				}
				for _, v := range values {
					arguments[field] = v
					d.wantRefused(t, name, field, arguments)
				}
			}
			unknown := c.minimal(t, name)
			unknown["nope"] = "x"
			d.wantRefused(t, name, "nope", unknown)
			for field, facts := range typ.Fields {
				if facts.Required {
					missing := c.minimal(t, name)
					delete(missing, field)
					d.wantRefused(t, name, field, missing)
				}
			}
		})
	}
}

// wantRefused expects an error at the declaration that names type and field.
func (d *desk) wantRefused(t *testing.T, typ, field string, arguments map[string]any) {
	t.Helper()
	_, err := d.compileWhole(declaration(typ, arguments))
	var e *model.Error
	switch {
	case !errors.As(err, &e) || e.Kind != model.LanguageError || e.Line != declarationLine:
		t.Errorf("%s=%s: error %v, want a LanguageError at the declaration", field, literal(arguments[field]), err)
	case !strings.Contains(e.Message, "invalid resource inputs for "+typ+" 'x': ") || !strings.Contains(e.Message, field):
		t.Errorf("%s=%s: %q does not name %s and %s", field, literal(arguments[field]), e.Message, typ, field)
	}
}

// Each field takes a handle, whatever its type, unless it must be known at evaluation.
func TestEveryFieldTakesAHandle(t *testing.T) {
	c := readCatalogue(t)
	d := newDesk(t).withAll()
	for name, typ := range c {
		t.Run(name, func(t *testing.T) {
			for field, facts := range typ.Fields {
				if facts.Mutability == "computed" || field == "assume_role_policy" || field == "alias" {
					continue // of two that exclude each other, the other one is needed
				}
				arguments := c.minimal(t, name)
				arguments[field] = reference
				switch {
				case facts.Literal:
					d.wantRefused(t, name, field, arguments)
				case field == "aliases" || field == "certificate_arn":
					arguments["aliases"], arguments["certificate_arn"] = reference, reference
					c.wantProperties(t, d, name, arguments)
				default:
					c.wantProperties(t, d, name, arguments)
				}
			}
		})
	}
}

// Each constraint on one field, at its limits.
func TestEveryConstraintAtItsLimits(t *testing.T) {
	longest := strings.Repeat("a", 63)
	inside := map[string][]any{
		"dotted-domain": {"a.b", "*.a.b", "a.b.", longest + ".b", strings.Repeat("a.", 126) + "a", "A-1.b"},
		"ipv4-cidr":     {"0.0.0.0/0", "10.0.0.0/8", "255.255.255.255/32", "192.168.1.0/24"},
	}
	outside := map[string][]any{
		"dotted-domain": {"a", "", ".", "a..b", "-a.b", "a-.b", "*.a", longest + "a.b", strings.Repeat("a.", 126) + "aa", "a_b.c", "a.b\n", "é.b"},
		"ipv4-cidr":     {"10.0.0.0", "10.0.0.0/33", "10.0.0.0/08", "256.0.0.0/8", "10.0.0/8", "::/0", "10.0.0.0/16\n", "10.0.0.1/16", "01.0.0.0/8", " 10.0.0.0/16"},
	}
	c := readCatalogue(t)
	d := newDesk(t).withAll()
	for name, typ := range c {
		t.Run(name, func(t *testing.T) {
			for field, facts := range typ.Fields {
				good, bad := limits(name, field)
				format, list := facts.Validation.Format, false
				if facts.Validation.Each.Format != "" {
					format, list = facts.Validation.Each.Format, true
				}
				good, bad = append(good, inside[format]...), append(bad, outside[format]...)
				for _, v := range facts.Values {
					good, bad = append(good, v), append(bad, strings.ToLower(v), v+" ")
				}
				if facts.Validation.Minimum > 0 {
					good, bad = append(good, facts.Validation.Minimum), append(bad, facts.Validation.Minimum-1)
				}
				arguments := c.minimal(t, name)
				set := func(v any) {
					arguments[field] = v
					if list {
						arguments[field] = []any{"a.b", v}
					}
				}
				for _, v := range good {
					set(v)
					c.wantProperties(t, d, name, arguments)
				}
				for _, v := range bad {
					set(v)
					d.wantRefused(t, name, field, arguments)
				}
			}
		})
	}
}

// limits are the names at the limits of what patterns and lengths say.
func limits(typ, field string) (good, bad []any) {
	a := func(n int) string { return strings.Repeat("a", n) }
	switch typ + "." + field {
	case "aws.S3Bucket.bucket":
		return []any{"abc", a(63), "1-.9", "a.b-c"}, []any{"ab", a(64), "Abc", "-ab", "ab-", "a..b", "a_b", "abc\n", "éab", ""}
	case "aws.SqsQueue.queue_name":
		return []any{"a", a(80), "A_z-9"}, []any{"", a(81), "a.b", "a b", "é", "a\n", ".fifo", "a.fifo"}
	case "aws.IamRole.role_name":
		return []any{a(64), "é"}, []any{a(65)}
	case "random.Password.length":
		return []any{4096}, []any{4097}
	case "random.Id.byte_length":
		return []any{1024}, []any{1025}
	}
	return nil, nil
}
