// Package irtest reads the project's conformance data for tests of the packages that
// work on IR documents.
package irtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Root is where the conformance data lies, seen from a package directly below engine.
const Root = "../testdata/conformance"

// Vector is a config that compiles, with what it compiles to.
type Vector struct {
	Name     string
	Dir      string
	Expected map[string]any
	Document *ir.Document
}

// Vectors reads every vector whose config compiles.
func Vectors(t testing.TB) []Vector {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(Root, "vectors", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no vectors below %s: %v", Root, err)
	}
	var vectors []Vector
	for _, dir := range dirs {
		expected := ReadJSON(t, filepath.Join(dir, "expected.json"))
		if expected["ok"] != true {
			continue
		}
		vectors = append(vectors, Vector{
			Name:     filepath.Base(dir),
			Dir:      dir,
			Expected: expected,
			Document: Document(t, expected["ir"].(map[string]any)),
		})
	}
	return vectors
}

// ReadJSON reads a file that holds one JSON object.
func ReadJSON(t testing.TB, path string) map[string]any {
	t.Helper()
	v, err := model.DecodeJSON(ReadFile(t, path))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v.(map[string]any)
}

// ReadFile reads a file whole.
func ReadFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Document turns a stored IR back into a document.
func Document(t testing.TB, stored map[string]any) *ir.Document {
	t.Helper()
	doc := &ir.Document{}
	for _, item := range stored["nodes"].([]any) {
		m := item.(map[string]any)
		n := ir.Node{
			ID:              m["id"].(string),
			Type:            m["type"].(string),
			Kind:            model.KindResource,
			Provider:        m["provider"].(string),
			ProviderVersion: m["provider_version"].(string),
			Properties:      m["properties"].(map[string]any),
			Dependencies:    Texts(m["dependencies"]),
			DependsOn:       Texts(m["depends_on"]),
			IgnoreChanges:   Texts(m["ignore_changes"]),
			Aliases:         Texts(m["aliases"]),
		}
		if kind, ok := m["kind"].(string); ok {
			n.Kind = kind
		}
		n.PreventDestroy, _ = m["prevent_destroy"].(bool)
		n.CreateBeforeDestroy, _ = m["create_before_destroy"].(bool)
		doc.Nodes = append(doc.Nodes, n)
	}
	return doc
}

// Texts turns a JSON list of texts into a slice; nil for anything else.
func Texts(v any) []string {
	items, _ := v.([]any)
	var out []string
	for _, item := range items {
		out = append(out, item.(string))
	}
	return out
}
