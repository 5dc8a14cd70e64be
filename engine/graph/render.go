package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Mark is a way in which a rendering lets a node stand out.
type Mark string

// The marks there are: what is about to happen to a node.
const (
	MarkCreate  Mark = "create"
	MarkUpdate  Mark = "update"
	MarkReplace Mark = "replace"
	MarkDelete  Mark = "delete"
)

// colours of a mark, as fill and stroke; what goes away is dashed as well, for who does
// not tell the colours apart.
type colours struct {
	mark         Mark
	fill, stroke string
	dashed       bool
}

var marked = []colours{
	{MarkCreate, "#dcf5de", "#1f7a33", false},
	{MarkUpdate, "#fff3cd", "#8a6d00", false},
	{MarkReplace, "#ffe2cc", "#b34a00", true},
	{MarkDelete, "#fadadd", "#b3202c", true},
}

// Mermaid is the graph as Mermaid text, a box a stack (cli.md §11). marks are by id; a
// node that only they name, as one that is to be deleted, is drawn by its whole id. With
// marks the text is the one without them and more lines after it.
func Mermaid(g *Graph, marks map[string]Mark) string {
	var b strings.Builder
	b.WriteString("graph LR")
	stacks := 0
	for i, id := range g.ids {
		stack := model.StackOf(id)
		if i == 0 || model.StackOf(g.ids[i-1]) != stack {
			if i > 0 {
				b.WriteString("\n  end")
			}
			fmt.Fprintf(&b, "\n  subgraph cluster%d[%s]", stacks, mermaidText(stack))
			stacks++
		}
		fmt.Fprintf(&b, "\n    n%d[%s]", i, mermaidText(model.ShortID(id)))
	}
	if len(g.ids) > 0 {
		b.WriteString("\n  end")
	}
	for i, deps := range g.deps {
		for _, dep := range deps {
			fmt.Fprintf(&b, "\n  n%d --> n%d", dep, i)
		}
	}
	others := g.others(marks)
	for i, id := range others {
		fmt.Fprintf(&b, "\n  n%d[%s]", len(g.ids)+i, mermaidText(id))
	}
	g.mermaidMarks(&b, slices.Concat(g.ids, others), marks)
	return b.String()
}

func (g *Graph) mermaidMarks(b *strings.Builder, ids []string, marks map[string]Mark) {
	for _, c := range marked {
		var names []string
		for i, id := range ids {
			if marks[id] == c.mark {
				names = append(names, fmt.Sprintf("n%d", i))
			}
		}
		if len(names) == 0 {
			continue
		}
		dashes := ""
		if c.dashed {
			dashes = ",stroke-dasharray:5 3"
		}
		fmt.Fprintf(b, "\n  classDef %s fill:%s,stroke:%s%s", c.mark, c.fill, c.stroke, dashes)
		fmt.Fprintf(b, "\n  class %s %s", strings.Join(names, ","), c.mark)
	}
}

// DOT is the graph in Graphviz's language, nodes by their ids (cli.md §11). With marks,
// as for Mermaid, there are more lines before its closing brace.
func DOT(g *Graph, marks map[string]Mark) string {
	var b strings.Builder
	b.WriteString("digraph atlantide {\n  rankdir=LR;\n  node [shape=box];\n")
	for i, id := range g.ids {
		fmt.Fprintf(&b, "  %s;\n", dotText(id))
		for _, dep := range g.deps[i] {
			fmt.Fprintf(&b, "  %s -> %s;\n", dotText(g.ids[dep]), dotText(id))
		}
	}
	for _, id := range slices.Concat(g.ids, g.others(marks)) {
		for _, c := range marked {
			if marks[id] != c.mark {
				continue
			}
			style := "filled"
			if c.dashed {
				style = "filled,dashed"
			}
			fmt.Fprintf(&b, "  %s [style=\"%s\", fillcolor=\"%s\", color=\"%s\"];\n", dotText(id), style, c.fill, c.stroke)
		}
	}
	b.WriteString("}")
	return b.String()
}

// others are the nodes that only the marks name, sorted.
func (g *Graph) others(marks map[string]Mark) []string {
	var others []string
	for id := range marks {
		if !g.Has(id) {
			others = append(others, id)
		}
	}
	slices.Sort(others)
	return others
}

// Ids are made of names and hold nothing that needs it; those of a state may be anything.
func mermaidText(s string) string {
	return `"` + strings.ReplaceAll(model.Printable(s), `"`, "#quot;") + `"`
}

// dotText is a quoted text, in which Graphviz takes a backslash for the start of an
// escape.
func dotText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(model.Printable(s)) + `"`
}
