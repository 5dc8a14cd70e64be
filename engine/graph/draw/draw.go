// Package draw turns a graph into a picture. It stands apart from package graph so that
// the layout engine is linked into what draws, and into nothing else.
//
// It must never take a text that somebody else wrote in the layout engine's language:
// that language can name files.
package draw

import (
	"bytes"
	"context"

	"github.com/goccy/go-graphviz"

	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/graph/draw/internal/cachedir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// By now the layout engine is initialised.
func init() { //nolint:gochecknoinits // see cachedir
	_ = cachedir.Leave() // fails for values that the environment cannot have held
}

// What is drawn at most: the layout takes some seconds at these sizes, grows faster than
// the graph, and cannot be stopped. Nobody can read a larger picture either.
const (
	MaxNodes = 500
	MaxEdges = 1000
)

// SVG draws the graph of graph.DOT. The same graph and marks give the same bytes. One
// that is too large is an AtlantideError that says how to go on.
func SVG(ctx context.Context, g *graph.Graph, marks map[string]graph.Mark) (svg []byte, err error) {
	if err := drawable(g, marks); err != nil {
		return nil, err
	}
	engine, err := graphviz.New(ctx)
	if err != nil {
		return nil, failed(err)
	}
	defer engine.Close()
	drawing, err := graphviz.ParseBytes([]byte(graph.DOT(g, marks)))
	if err != nil {
		return nil, failed(err)
	}
	defer drawing.Close()
	var out bytes.Buffer
	if err := engine.Render(ctx, drawing, graphviz.SVG, &out); err != nil {
		return nil, failed(err)
	}
	return out.Bytes(), nil
}

func drawable(g *graph.Graph, marks map[string]graph.Mark) error {
	nodes, edges := len(g.IDs()), 0
	for _, id := range g.IDs() {
		edges += len(g.Deps(id))
	}
	for id := range marks {
		if !g.Has(id) {
			nodes++
		}
	}
	if nodes <= MaxNodes && edges <= MaxEdges {
		return nil
	}
	return model.Errorf(model.AtlantideError, model.ClassUser,
		"the graph has %d nodes and %d edges, and a picture at most %d and %d; take its text (dot or mermaid) or draw one environment",
		nodes, edges, MaxNodes, MaxEdges)
}

func failed(err error) error {
	return model.Errorf(model.AtlantideError, model.ClassUnknown, "the picture could not be drawn: %w", err)
}
