package draw_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/graph/draw"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// asked is the variable under which the test binary says where temporary files go.
const asked = "ATLANTIDE_TEST_ASKS_FOR_TMP"

func TestMain(m *testing.M) {
	if os.Getenv(asked) != "" {
		fmt.Print(os.TempDir())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// The layout engine keeps machine code in a folder of the user's own, and nothing in
// the temporary one that users share; what runs later sees the temporary folder that
// was given.
func TestNoCodeFromASharedFolder(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		reason string
		home   func(dir string) []string
		kept   string // below the cache
	}{
		{"a folder of the user's own", func(dir string) []string { return []string{"XDG_CACHE_HOME=" + dir} }, "atlantide/go-graphviz"},
		{"a user without one", func(string) []string { return nil }, ""},
		{"one that cannot be written", func(string) []string { return []string{"XDG_CACHE_HOME=/dev/null"} }, ""},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			shared, cache := t.TempDir(), t.TempDir()
			cmd := exec.CommandContext(t.Context(), self)
			cmd.Env = append(tc.home(cache), "TMPDIR="+shared, asked+"=1")
			out, err := cmd.Output()
			if err != nil || string(out) != shared {
				t.Fatalf("temporary folder %q, %v; want %s", out, err, shared)
			}
			if left, err := os.ReadDir(shared); err != nil || len(left) > 0 {
				t.Errorf("the shared folder holds %v, %v", left, err)
			}
			if tc.kept == "" {
				return
			}
			if _, err := os.Stat(filepath.Join(cache, tc.kept)); err != nil {
				t.Error(err)
			}
			if info, err := os.Stat(filepath.Join(cache, "atlantide")); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("others can write or read where code is kept: %v, %v", info, err)
			}
		})
	}
}

func build(t *testing.T, nodes, edgesEach int) *graph.Graph {
	t.Helper()
	edges := map[string][]string{}
	id := func(i int) string { return fmt.Sprintf("s:local.File:n%04d", i) }
	for i := range nodes {
		edges[id(i)] = nil
		for k := 1; k <= edgesEach && k <= i; k++ {
			edges[id(i)] = append(edges[id(i)], id(i-k))
		}
	}
	g, err := graph.Build(edges)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// texts are the texts of a picture, which must be XML.
func texts(t *testing.T, svg []byte) []string {
	t.Helper()
	var found []string
	in := false
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		switch token := token.(type) {
		case xml.StartElement:
			in = token.Name.Local == "text"
		case xml.EndElement:
			in = false
		case xml.CharData:
			if in {
				found = append(found, string(token))
			}
		}
	}
}

func TestSVG(t *testing.T) {
	g := build(t, 3, 2)
	marks := map[string]graph.Mark{"s:local.File:n0001": graph.MarkUpdate, `s:local.File:<"gone">\N`: graph.MarkDelete}
	svg, err := draw.SVG(t.Context(), g, marks)
	if err != nil {
		t.Fatal(err)
	}
	want := `s:local.File:n0000|s:local.File:n0001|s:local.File:n0002|s:local.File:<"gone">\N`
	if got := strings.Join(texts(t, svg), "|"); got != want {
		t.Errorf("labels %s, want %s", got, want)
	}
	for _, fill := range []string{`fill="#fff3cd"`, `fill="#fadadd"`} {
		if !bytes.Contains(svg, []byte(fill)) {
			t.Errorf("no node with %s in\n%s", fill, svg)
		}
	}
	if again, err := draw.SVG(t.Context(), g, marks); err != nil || !bytes.Equal(svg, again) {
		t.Errorf("another picture the second time, %v:\n%s\n%s", err, svg, again)
	}
	if plain, err := draw.SVG(t.Context(), g, nil); err != nil || bytes.Equal(svg, plain) || bytes.Contains(plain, []byte("dash")) {
		t.Errorf("marks without being asked, %v:\n%s", err, plain)
	}
}

func TestSVGIsBounded(t *testing.T) {
	for _, tc := range []struct {
		reason string
		g      *graph.Graph
		marks  map[string]graph.Mark
	}{
		{"too many nodes", build(t, draw.MaxNodes+1, 0), nil},
		{"too many edges", build(t, 101, 11), nil},
		{"too many with what is to be deleted", build(t, draw.MaxNodes, 0), map[string]graph.Mark{"s:local.File:gone": graph.MarkDelete}},
	} {
		svg, err := draw.SVG(t.Context(), tc.g, tc.marks)
		if svg != nil || model.ClassOf(err) != model.ClassUser || !strings.Contains(err.Error(), "dot or mermaid") {
			t.Errorf("%s: error %v; want one that says how to go on", tc.reason, err)
		}
	}
}

func TestSVGOfAnEmptyGraph(t *testing.T) {
	svg, err := draw.SVG(t.Context(), build(t, 0, 0), nil)
	if err != nil || len(texts(t, svg)) != 0 {
		t.Errorf("%s, %v", svg, err)
	}
}

// The largest pictures that are drawn, in the shapes that a layout likes least.
func BenchmarkSVG(b *testing.B) {
	shapes := map[string]func(i int) []int{
		"chain":   func(i int) []int { return []int{i - 1} },
		"fan":     func(int) []int { return []int{0} },
		"two far": func(i int) []int { return []int{i * 7 % i, i * i / 3 % i, i / 2} },
	}
	for name, upstream := range shapes {
		b.Run(name, func(b *testing.B) {
			edges := map[string][]string{}
			id := func(i int) string { return fmt.Sprintf("s:local.File:n%04d", i) }
			left := draw.MaxEdges
			for i := range draw.MaxNodes {
				edges[id(i)] = nil
				if i == 0 {
					continue
				}
				for _, up := range upstream(i) {
					if left--; left >= 0 {
						edges[id(i)] = append(edges[id(i)], id(up))
					}
				}
			}
			g, err := graph.Build(edges)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := draw.SVG(b.Context(), g, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
