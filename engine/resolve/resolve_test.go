package resolve_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/resolve"
)

func ref(node, output string) map[string]any {
	return model.Reference{NodeID: node, Output: output}.Marker()
}

func op(name string, args ...any) map[string]any {
	return model.Transform{Op: name, Args: args}.Marker()
}

var values = resolve.Values{
	Output: resolve.Outputs(map[string]map[string]any{"s:T:a": {
		"text": "héllo", "int": int64(-42), "float": 1.0, "list": []any{"x", int64(2)},
		"map": map[string]any{"k": "v"}, "none": nil, "true": true,
		"ref": map[string]any{"$ref": "s:T:b#x"}, "sealed": map[string]any{"$sealed": "v2:x"},
		"secret": map[string]any{"deep": []any{map[string]any{"$secret_ref": map[string]any{"name": "n", "provider": nil}}}},
		"schema": map[string]any{"$ref": "#/definitions/x", "also": "two keys"},
	}}),
	StackOutput: func(key string) (any, bool) { return "net", key == "network:zone" },
}

func a(output string) map[string]any { return ref("s:T:a", output) }

// concrete resolves one value as an input of a provider call.
func concrete(v any) (any, error) {
	inputs, err := values.Concrete(map[string]any{"field": v})
	return inputs["field"], err
}

func TestResolve(t *testing.T) {
	for _, c := range []struct {
		name string
		in   any
		want any
	}{
		{"a literal stays", "plain", "plain"},
		{"a reference becomes its output", a("text"), "héllo"},
		{"at any depth", []any{map[string]any{"k": a("int")}}, []any{map[string]any{"k": int64(-42)}}},
		{"a committed output", model.StackOutputMarker("network:zone"), "net"},
		{"a committed output inside a combinator (EX-8)", op("concat", "z-", model.StackOutputMarker("network:zone")), "z-net"},
		{"a $ref text without # is data (ST-2)", map[string]any{"$ref": "no"}, map[string]any{"$ref": "no"}},
		{"a marker beside another key is data", map[string]any{"$ref": "s:T:a#text", "x": "y"}, map[string]any{"$ref": "s:T:a#text", "x": "y"}},
		{"an output with a two-key map passes", a("schema"), map[string]any{"$ref": "#/definitions/x", "also": "two keys"}},
		{"concat writes Python's text", op("concat", a("true"), a("none"), a("float"), a("list"), a("map")), "TrueNone1.0['x', 2]{'k': 'v'}"},
		{"concat of nothing", op("concat"), ""},
		{"join of a list with handles", op("join", "-", []any{"p", a("int")}), "p--42"},
		{"join of a list that is an output", op("join", ",", a("list")), "x,2"},
		{"nested combinators resolve first", op("join", "/", []any{op("concat", "a", a("int")), op("index", a("list"), int64(0))}), "a-42/x"},
		{"index by position", op("index", a("list"), int64(1)), int64(2)},
		{"index from the end", op("index", a("list"), int64(-2)), "x"},
		{"index by key", op("index", a("map"), "k"), "v"},
		{"index of a text counts code points", op("index", a("text"), int64(1)), "é"},
		{"automatic fields", op("interpolate", "{}-{}", a("text"), "b"), "héllo-b"},
		{"numbered fields", op("interpolate", "{1}{0}{1}", "a", "b"), "bab"},
		{"doubled braces are braces", op("interpolate", "{{{}}}", "a"), "{a}"},
		{"!r quotes", op("interpolate", "{!r}", "it's"), `"it's"`},
		{"!a escapes", op("interpolate", "{!a}", a("text")), `'h\xe9llo'`},
		{"width and fill", op("interpolate", "{:*>8}|{:<3}|{:^5}", a("text"), "a", "b"), "***héllo|a  |  b  "},
		{"precision cuts", op("interpolate", "{:.2}", a("text")), "hé"},
		{"zero fill of a text is on the right", op("interpolate", "{:04}", "a"), "a000"},
		{"an integer is padded after its sign", op("interpolate", "{:05d}", a("int")), "-0042"},
		{"hexadecimal", op("interpolate", "{:#x}", int64(255)), "0xff"},
		{"grouped", op("interpolate", "{:,}", int64(1234567)), "1,234,567"},
		{"filled zeros are grouped", op("interpolate", "{:08,d}", int64(1234)), "0,001,234"},
		{"a grouped float", op("interpolate", "{:,}", 1234.5), "1,234.5"},
		{"a float without a type reads as one", op("interpolate", "{:.3}", 1.0), "1.0"},
		{"a character", op("interpolate", "{:c}", int64(233)), "é"},
		{"the alternate form of a float", op("interpolate", "{:#.3f}|{:#.0f}|{:#g}", 1.5, 2.0, 1.0), "1.500|2.|1.00000"},
		{"no negative zero", op("interpolate", "{:z.1f}", -0.01), "0.0"},
		{"a truth value is an integer", op("interpolate", "{:>3}|{:d}", a("true"), false), "  1|0"},
		{"a field in a specification", op("interpolate", "{:>{}}|{:{}.{}f}", "a", int64(3), 2.5, int64(6), int64(1)), "  a|   2.5"},
		{"a numbered field in a specification", op("interpolate", "{1:{0}}", "03", int64(7)), "007"},
		{"a float with a precision", op("interpolate", "{:.2f}", a("float")), "1.00"},
		{"percent", op("interpolate", "{:.0%}", 0.25), "25%"},
		{"a small float shows an exponent", op("concat", 0.00001), "1e-05"},
		{"a large float shows an exponent", op("concat", 1e16), "1e+16"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := concrete(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConcreteRefuses(t *testing.T) {
	nested := any("x")
	for range 60 {
		nested = op("interpolate", "{0}{0}", nested)
	}
	for _, c := range []struct {
		name string
		in   any
		kind model.Kind
		says string
	}{
		{"an unknown node", ref("s:T:z", "x"), model.ProviderError, "output 'x' of s:T:z is not known"},
		{"an unknown output", a("nope"), model.ProviderError, "output 'nope' of s:T:a"},
		{"an output that is not committed", model.StackOutputMarker("network:vpc"), model.ProviderError, "apply stack 'network' first"},
		{"a secret", model.SecretRef{Name: "tok"}.Marker(), model.SecretsError, "secret 'tok'"},
		{"a secret inside a combinator", op("concat", "x", model.SecretRef{Name: "tok"}.Marker()), model.SecretsError, "secret 'tok'"},
		{"an unknown combinator", op("eval", "1"), model.ProviderError, "'eval' does not exist"},
		{"an output that looks like a reference (EX-8)", a("ref"), model.ProviderError, "$ref"},
		{"an output that looks sealed", a("sealed"), model.ProviderError, "$sealed"},
		{"an output that hides a secret handle", a("secret"), model.SecretsError, "secret 'n'"},
		{"join of a text", op("join", ",", a("text")), model.ProviderError, "takes a list, not a text"},
		{"a position out of range", op("index", a("list"), int64(2)), model.ProviderError, "position 2 is out of range: there are 2 items"},
		{"a position before the start", op("index", a("list"), int64(-3)), model.ProviderError, "out of range"},
		{"a missing key", op("index", a("map"), "z"), model.ProviderError, "the keys are k"},
		{"a position of a map", op("index", a("map"), int64(0)), model.ProviderError, "no positions"},
		{"too few arguments", op("interpolate", "{} {}", "a"), model.ProviderError, "argument 1"},
		{"an unbalanced template", op("interpolate", "{", "a"), model.ProviderError, "brace"},
		{"a number format on a text", op("interpolate", "{:d}", "a"), model.ProviderError, "does not apply to a text"},
		{"a format of a list", op("interpolate", "{:>3}", a("list")), model.ProviderError, "does not apply to a list"},
		{"half a character", op("interpolate", "{:c}", int64(0xD800)), model.ProviderError, "lone surrogate"},
		{"a width from an output that would fill the memory", op("interpolate", "{:{}}", "a", int64(1<<40)), model.ProviderError, "larger than"},
		{"a hostile precision", op("interpolate", "{:.1000000000f}", 1.0), model.ProviderError, "larger than"},
		{"fields nested twice", op("interpolate", "{:{:{}}}", "a", int64(1), int64(2)), model.ProviderError, "nested already"},
		{"both spellings, one inside the other", op("interpolate", "{:{0}}", "a"), model.ProviderError, "mixes"},
		{"a conversion that does not exist", op("interpolate", "{!x}", "a"), model.ProviderError, "conversion"},
		{"a specification that does not end", op("interpolate", "{:>3", "a"), model.ProviderError, "brace"},
		{"a width that would fill the memory", op("interpolate", "{:99999999999999999999}", "a"), model.ProviderError, "format"},
		{"templates that double sixty times", nested, model.ProviderError, "larger than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := concrete(c.in)
			if err == nil {
				t.Fatalf("resolved to %v", got)
			}
			if !model.IsKind(err, c.kind) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %s %q, want %s with %q", model.KindOf(err), err, c.kind, c.says)
			}
		})
	}
}

func TestConcreteNamesTheField(t *testing.T) {
	_, err := values.Concrete(map[string]any{"ok": "x", "content": a("nope")})
	if err == nil || !strings.Contains(err.Error(), "field 'content'") {
		t.Errorf("error %v does not name the field", err)
	}
}

func TestLenientLeavesOutWhatIsGone(t *testing.T) {
	got := values.Lenient(map[string]any{"path": "p", "content": a("nope"), "name": a("text")})
	if diff := cmp.Diff(map[string]any{"path": "p", "name": "héllo"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestResultSharesNothing(t *testing.T) {
	outputs := map[string]map[string]any{"s:T:a": {"list": []any{"x"}}}
	s := resolve.Values{Output: resolve.Outputs(outputs)}
	got, err := s.Resolve(a("list"))
	if err != nil {
		t.Fatal(err)
	}
	got.([]any)[0] = "changed"
	if outputs["s:T:a"]["list"].([]any)[0] != "x" {
		t.Error("changing the result changed the output")
	}
}

func TestResolveKeepsSecretHandles(t *testing.T) {
	secret := model.SecretRef{Name: "tok"}.Marker()
	got, err := values.Resolve(map[string]any{"a": secret, "b": a("int")})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"a": secret, "b": int64(-42)}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
