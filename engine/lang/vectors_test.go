package lang

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Vectors that need more than the two local types: another provider, a component, or
// the file that SourceFile reads.
var beyond = regexp.MustCompile(`atlantide\.(providers\.(aws|random)|components)|SourceFile`)

type vector struct {
	name, source string
	inputs       map[string]any
	envs         []string
	expected     map[string]any
}

func readVectors(t testing.TB, pattern string) []vector {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join("..", "testdata", "conformance", pattern))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no vectors at %s: %v", pattern, err)
	}
	var out []vector
	for _, dir := range dirs {
		source, err := os.ReadFile(filepath.Join(dir, "infra.py"))
		if err != nil || beyond.Match(source) {
			continue
		}
		v := vector{name: filepath.Base(dir), source: string(source)}
		var c struct {
			Inputs map[string]any
			Envs   []string
		}
		readJSON(t, filepath.Join(dir, "case.json"), &c)
		readJSON(t, filepath.Join(dir, "expected.json"), &v.expected)
		normalized, err := model.NormalizeJSON(c.Inputs)
		if err != nil {
			t.Fatal(err)
		}
		v.inputs, _ = normalized.(map[string]any)
		v.envs = c.Envs
		out = append(out, v)
	}
	return out
}

func readJSON(t testing.TB, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func TestVectors(t *testing.T) {
	vectors := append(readVectors(t, "vectors/*"), readVectors(t, "float/*")...)
	if len(vectors) < 150 {
		t.Fatalf("only %d vectors are within reach", len(vectors))
	}
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			res, err := Compile(context.Background(), Source{Filename: "infra.py", Text: v.source},
				Options{Schemas: testSchemas(t), Inputs: v.inputs, Envs: v.envs})
			if v.expected["ok"] == false {
				compareFailure(t, v.expected, err)
				return
			}
			if err != nil {
				t.Fatalf("does not compile: %v", err)
			}
			compareResult(t, v.expected, res)
		})
	}
}

func compareFailure(t *testing.T, want map[string]any, err error) {
	t.Helper()
	var got *model.Error
	if !errors.As(err, &got) {
		t.Fatalf("error %v, want %v", err, want["error"])
	}
	if string(got.Kind) != want["error"] {
		t.Errorf("kind %s, want %v: %v", got.Kind, want["error"], got)
	}
	if line, ok := number(want["line"]); ok && got.Line != line {
		t.Errorf("line %d, want %d: %v", got.Line, line, got)
	}
	if col, ok := number(want["col"]); ok && got.Col != col {
		t.Errorf("col %d, want %d: %v", got.Col, col, got)
	}
	contains, _ := want["message_contains"].([]any)
	for _, part := range contains {
		if !strings.Contains(got.Error(), part.(string)) {
			t.Errorf("message %q lacks %q", got.Error(), part)
		}
	}
}

func number(v any) (int, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	i, err := n.Int64()
	return int(i), err == nil
}

func compareResult(t *testing.T, want map[string]any, res *Result) {
	t.Helper()
	if both, ok := want["rfc8785"].(map[string]any); ok {
		want = both
	}
	same := func(what string, got any) {
		t.Helper()
		expected, ok := want[what]
		if !ok {
			return
		}
		if a, b := asJSON(t, got), asJSON(t, expected); a != b {
			t.Errorf("%s:\n got %s\nwant %s", what, a, b)
		}
	}
	same("ir", res.Document.Stored())
	same("ir_hash", res.Hash)
	same("hashes", res.Hashes)
	same("order", res.Graph.Order())
	same("reverse_order", res.Graph.ReverseOrder())
	outputs := map[string]any{}
	for _, o := range res.Outputs {
		outputs[o.Key] = o.Value
	}
	same("outputs", outputs)
	same("inputs_consumed", res.Inputs)
	same("provider_pins", res.Pins)
	same("policies", bindings(res.Policies))
	same("envs", map[string]any{"declared": list(res.EnvsDeclared), "selected": list(res.EnvsSelected)})
}

func list(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}

func bindings(policies []ir.PolicyBinding) []any {
	out := []any{}
	for _, p := range policies {
		b := map[string]any{"name": p.Name, "level": p.Level, "params": p.Params, "types": nil}
		if p.Types != nil {
			b["types"] = p.Types
		}
		out = append(out, b)
	}
	return out
}

// asJSON is a canonical text, in which 1.0 and 1 are one number.
func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(string(data)))
	var plain any
	if err := d.Decode(&plain); err != nil {
		t.Fatal(err)
	}
	canonical, err := ir.CanonicalJSON(plain)
	if err != nil {
		t.Fatal(err)
	}
	return string(canonical)
}

// Same text, same bytes, whatever ran before.
func TestVectorsAreDeterministic(t *testing.T) {
	for _, v := range readVectors(t, "vectors/*") {
		if v.expected["ok"] == false {
			continue
		}
		first, second := compileVector(t, v), compileVector(t, v)
		if !reflect.DeepEqual(first.Compilation, second.Compilation) {
			t.Errorf("%s: two evaluations differ", v.name)
		}
		a, errA := first.Document.Canonical()
		b, errB := second.Document.Canonical()
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: canonical bytes differ", v.name)
		}
	}
}

func compileVector(t *testing.T, v vector) *Result {
	t.Helper()
	res, err := Compile(context.Background(), Source{Filename: "infra.py", Text: v.source},
		Options{Schemas: testSchemas(t), Inputs: v.inputs, Envs: v.envs})
	if err != nil {
		t.Fatalf("%s: %v", v.name, err)
	}
	return res
}
