package graph_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/ir/irtest"
)

func TestTextsOfTheVectors(t *testing.T) {
	for _, v := range irtest.Vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			g, err := graph.Build(v.Document.Edges())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(v.Expected["mermaid"], any(graph.Mermaid(g, nil))); diff != "" {
				t.Errorf("Mermaid (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(v.Expected["dot"], any(graph.DOT(g, nil))); diff != "" {
				t.Errorf("DOT (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTextsWithMarks(t *testing.T) {
	g, err := graph.Build(map[string][]string{"a:t.T:x": {"a:t.T:y", "b:t.T:z"}, "a:t.T:y": nil, "b:t.T:z": nil, "b:t.T:still": nil})
	if err != nil {
		t.Fatal(err)
	}
	marks := map[string]graph.Mark{
		"a:t.T:x": graph.MarkReplace, "a:t.T:y": graph.MarkCreate, "b:t.T:z": graph.MarkUpdate, `c:t.T:"gone"\`: graph.MarkDelete,
	}
	wantMermaid := `graph LR
  subgraph cluster0["a"]
    n0["t.T:x"]
    n1["t.T:y"]
  end
  subgraph cluster1["b"]
    n2["t.T:still"]
    n3["t.T:z"]
  end
  n1 --> n0
  n3 --> n0
  n4["c:t.T:#quot;gone#quot;\"]
  classDef create fill:#dcf5de,stroke:#1f7a33
  class n1 create
  classDef update fill:#fff3cd,stroke:#8a6d00
  class n3 update
  classDef replace fill:#ffe2cc,stroke:#b34a00,stroke-dasharray:5 3
  class n0 replace
  classDef delete fill:#fadadd,stroke:#b3202c,stroke-dasharray:5 3
  class n4 delete`
	if diff := cmp.Diff(wantMermaid, graph.Mermaid(g, marks)); diff != "" {
		t.Errorf("Mermaid (-want +got):\n%s", diff)
	}
	wantDOT := `digraph atlantide {
  rankdir=LR;
  node [shape=box];
  "a:t.T:x";
  "a:t.T:y" -> "a:t.T:x";
  "b:t.T:z" -> "a:t.T:x";
  "a:t.T:y";
  "b:t.T:still";
  "b:t.T:z";
  "a:t.T:x" [style="filled,dashed", fillcolor="#ffe2cc", color="#b34a00"];
  "a:t.T:y" [style="filled", fillcolor="#dcf5de", color="#1f7a33"];
  "b:t.T:z" [style="filled", fillcolor="#fff3cd", color="#8a6d00"];
  "c:t.T:\"gone\"\\" [style="filled,dashed", fillcolor="#fadadd", color="#b3202c"];
}`
	if diff := cmp.Diff(wantDOT, graph.DOT(g, marks)); diff != "" {
		t.Errorf("DOT (-want +got):\n%s", diff)
	}
}

// Law: marks add lines and change none.
func TestLawMarksLeaveTheTextAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[ab]:t\.T:[a-z]{1,3}`), 0, 8, rapid.ID[string]).Draw(t, "ids")
		edges := map[string][]string{}
		for i, id := range ids {
			edges[id] = nil
			if i > 0 {
				edges[id] = rapid.SliceOfN(rapid.SampledFrom(ids[:i]), 0, 3).Draw(t, "edges")
			}
		}
		g, err := graph.Build(edges)
		if err != nil {
			t.Fatal(err)
		}
		marks := rapid.MapOf(rapid.StringMatching(`[ab]:t\.T:[a-z]{1,3}`),
			rapid.SampledFrom([]graph.Mark{graph.MarkCreate, graph.MarkUpdate, graph.MarkReplace, graph.MarkDelete})).Draw(t, "marks")
		if plain, text := graph.Mermaid(g, nil), graph.Mermaid(g, marks); !strings.HasPrefix(text, plain) {
			t.Fatalf("%s\ndoes not go on\n%s", text, plain)
		}
		if plain, text := graph.DOT(g, nil), graph.DOT(g, marks); !strings.HasPrefix(text, strings.TrimSuffix(plain, "}")) {
			t.Fatalf("%s\ndoes not go on\n%s", text, plain)
		}
	})
}
