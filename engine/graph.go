package engine

import (
	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

// Graph is the graph of a compilation; graph.Mermaid and graph.DOT give its texts,
// package graph/draw a picture.
func (e *Engine) Graph(c *ir.Compilation) (*graph.Graph, error) {
	return graph.Build(c.Document.Edges())
}

// Marks are what a plan is about to do, for a rendering of its graph.
func Marks(p *plan.Plan) map[string]graph.Mark {
	marks := map[string]graph.Mark{}
	for i := range p.Changes {
		c := &p.Changes[i]
		switch c.Action {
		case plan.Create:
			marks[c.NodeID] = graph.MarkCreate
		case plan.Update:
			marks[c.NodeID] = graph.MarkUpdate
		case plan.Replace:
			marks[c.NodeID] = graph.MarkReplace
		case plan.Delete:
			marks[c.NodeID] = graph.MarkDelete
		case plan.Noop:
		}
	}
	return marks
}
