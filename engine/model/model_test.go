package model_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func TestMarkers(t *testing.T) {
	ref := model.Reference{NodeID: "s:local.File:a", Output: "checksum"}
	if got, ok := model.AsReference(ref.Marker()); !ok || got != ref {
		t.Errorf("a reference reads back as %v, %v", got, ok)
	}
	for _, secret := range []model.SecretRef{{Name: "n"}, {Name: "n", Provider: "env"}} {
		if got, ok := model.AsSecretRef(secret.Marker()); !ok || got != secret {
			t.Errorf("a secret handle reads back as %v, %v", got, ok)
		}
	}
	transform := model.Transform{Op: "concat", Args: []any{"a", ref.Marker()}}
	if got, ok := model.AsTransform(transform.Marker()); !ok || !cmp.Equal(got, transform) {
		t.Errorf("a combinator reads back as %v, %v", got, ok)
	}
	if key, ok := model.AsStackOutput(model.StackOutputMarker("net:zone")); !ok || key != "net:zone" {
		t.Errorf("a stack output reads back as %q, %v", key, ok)
	}
}

func TestIsHandle(t *testing.T) {
	for _, c := range []struct {
		reason string
		value  any
		want   bool
	}{
		{"a reference", map[string]any{"$ref": "s:T:n#o"}, true},
		{"a $ref text without # is data (ST-2)", map[string]any{"$ref": "definitions"}, false},
		{"a marker is alone in its map (ST-2)", map[string]any{"$ref": "s:T:n#o", "x": nil}, false},
		{"a combinator needs op and args", map[string]any{"$transform": map[string]any{"op": "concat"}}, false},
		{"a secret needs a name", map[string]any{"$secret_ref": map[string]any{"provider": "env"}}, false},
		{"ciphertext is a value, not a handle", map[string]any{"$sealed": "v2:x"}, false},
		{"text that looks like one", "$ref", false},
	} {
		if got := model.IsHandle(c.value); got != c.want {
			t.Errorf("%s: got %v", c.reason, got)
		}
	}
}

func TestReferencesAreFoundAtAnyDepth(t *testing.T) {
	a, b := model.Reference{NodeID: "s:T:a", Output: "x"}, model.Reference{NodeID: "s:T:b", Output: "y"}
	v := map[string]any{
		"z": []any{b.Marker(), map[string]any{"k": a.Marker()}},
		"t": model.Transform{Op: "join", Args: []any{"-", []any{a.Marker()}}}.Marker(),
	}
	if diff := cmp.Diff([]model.Reference{a, b}, model.References(v)); diff != "" {
		t.Error(diff)
	}
	if !model.HasHandle(v) || model.HasHandle(map[string]any{"a": []any{"b"}}) {
		t.Error("HasHandle does not look into containers")
	}
}

func TestNodeID(t *testing.T) {
	id := model.NodeID("s", "local.File", "web-a")
	got := []string{model.StackOf(id), model.TypeOf(id), model.LocalName(id), model.ShortID(id)}
	if diff := cmp.Diff([]string{"s", "local.File", "web-a", "local.File:web-a"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestValidName(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "Z9_-": true, "": false, "9a": false, "_a": false, "-a": false,
		"a b": false, "a\n": false, "é": false, "a:b": false, "a/b": false, "[": false, "{": false,
	} {
		if got := model.ValidName(name); got != want {
			t.Errorf("%q: got %v", name, got)
		}
	}
}

func TestErrorsAreMatchedByKindAndClass(t *testing.T) {
	cause := errors.New("connection refused")
	err := fmt.Errorf("outer: %w", model.Errorf(model.FencedWriteError, model.ClassTransient, "write refused: %w", cause))
	if !model.IsKind(err, model.FencedWriteError) || !model.IsKind(err, model.StateError) {
		t.Error("a FencedWriteError is a StateError (engine.md 4.10)")
	}
	if model.IsKind(err, model.LockError) || model.IsKind(errors.New("x"), model.AtlantideError) {
		t.Error("a kind matches what it is not")
	}
	if !errors.Is(err, cause) || model.ClassOf(err) != model.ClassTransient || model.KindOf(err) != model.FencedWriteError {
		t.Error("cause, class or kind is lost by wrapping")
	}
	if model.KindOf(cause) != model.AtlantideError || model.ClassOf(cause) != model.ClassUnknown {
		t.Error("a foreign error has a kind or class of its own")
	}
}

func TestErrorText(t *testing.T) {
	e := model.Errorf(model.LanguageError, model.ClassUser, "while is refused")
	e.Hint, e.Line, e.Col = "use for", 3, 5
	if got, want := e.Error(), "while is refused; use for (line 3, col 5)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestExcerpt(t *testing.T) {
	for _, c := range []struct {
		reason, source string
		col            int
		line           string
		before         int
	}{
		{"a short line is shown whole", "x = eval", 5, "x = eval", 4},
		{"a control character takes one column", "\tx\x1b = 1", 2, " x  = 1", 1},
		{"columns are characters", "é = 1", 3, "é = 1", 2},
		{"a long line is cut around the column", "0123456789abcdefghij", 11, "…56789abcde…", 6},
		{"at its start", "0123456789abcdefghij", 1, "0123456789…", 0},
		{"at its end", "0123456789abcdefghij", 20, "…abcdefghij", 10},
		{"a column beyond the line points behind it", "ab", 9, "ab", 2},
	} {
		line, before := (&model.Error{Source: c.source, Col: c.col}).Excerpt(10)
		if line != c.line || before != c.before {
			t.Errorf("%s: got %q, %d; want %q, %d", c.reason, line, before, c.line, c.before)
		}
	}
}

func TestSchemasRefuseNamesThatClash(t *testing.T) {
	file := &model.ResourceType{Name: "p.File", Class: "File"}
	for reason, providers := range map[string][]*model.ProviderSchema{
		"two providers of one name":            {{Name: "p"}, {Name: "p"}},
		"two types of one name":                {{Name: "p", Types: []*model.ResourceType{file, file}}},
		"a type under another provider's name": {{Name: "q", Types: []*model.ResourceType{file}}},
	} {
		if _, err := model.NewSchemas(providers...); !model.IsKind(err, model.RegistryError) {
			t.Errorf("%s: got %v", reason, err)
		}
	}
	s, err := model.NewSchemas(&model.ProviderSchema{Name: "p", Types: []*model.ResourceType{file}})
	if err != nil || s.Type("p.File") != file || s.Type("p.Nope") != nil || s.Provider("p") == nil || len(s.Providers()) != 1 {
		t.Errorf("the schema is not found again: %v", err)
	}
}
