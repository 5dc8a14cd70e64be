package lang

import (
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// build turns what was declared into the document, its graph and its hashes.
func (ev *evaluation) build() (*Result, error) {
	resources := ev.registry.sorted()
	doc, pins, err := ev.document(resources)
	if err != nil {
		return nil, err
	}
	c := &ir.Compilation{
		Document:     doc,
		Outputs:      ev.registry.outputs,
		Policies:     ev.registry.policies,
		Inputs:       ev.consumed,
		InputTypes:   ev.defaults,
		EnvsDeclared: ev.declaredEnvs(),
		EnvsSelected: ev.selected,
		Pins:         pins,
		Warnings:     ev.warnings,
		Diagnostics:  ev.diagnostics,
		Origins:      ev.origins(resources),
		Source:       ev.options.Source,
	}
	g, err := graph.BuildSorted(doc.Adjacency())
	if err != nil {
		return nil, c.Located(err)
	}
	if c.Hash, err = doc.Hash(); err != nil {
		return nil, c.Located(err)
	}
	if c.Hashes, err = ir.Hashes(doc, g.Order()); err != nil {
		return nil, c.Located(err)
	}
	return &Result{Compilation: c, Graph: g}, nil
}

// origins are where resources are declared.
func (ev *evaluation) origins(resources []*resource) []model.Place {
	places := make([]model.Place, len(resources))
	for i, res := range resources {
		places[i] = ev.placeAt(res.at)
	}
	return places
}

func (ev *evaluation) document(resources []*resource) (*ir.Document, map[string]string, error) {
	doc := &ir.Document{Nodes: make([]ir.Node, 0, len(resources))}
	pins := map[string]string{}
	for _, res := range resources {
		provider := res.class.typ.Provider
		version, known := pins[provider]
		if !known {
			if p := ev.options.Schemas.Provider(provider); p != nil {
				version = p.Version
			}
			pins[provider] = version
		}
		deps := res.dependencies()
		// Inlined outputs bring references that no evaluation has paid for.
		if err := ev.meter.Reserve(edgeBytes * int64(len(deps))); err != nil {
			return nil, nil, err
		}
		doc.Nodes = append(doc.Nodes, res.node(version, deps))
	}
	return doc, pins, nil
}

// edgeBytes is what an edge takes: in its node, both ways in the graph, and in what is
// written of the document.
const edgeBytes = 96

// dependencies are the nodes that the properties read, sorted and distinct, after
// outputs were inlined.
func (r *resource) dependencies() []string {
	var ids []string
	for _, v := range r.properties {
		ids = appendReferenced(ids, v)
	}
	slices.Sort(ids)
	return slices.Clone(slices.Compact(ids))
}

// node is the IR of a resource, after its outputs were inlined.
func (r *resource) node(version string, deps []string) ir.Node {
	return ir.Node{
		ID:                  r.id,
		Type:                r.class.typ.Name,
		Kind:                r.class.typ.Kind,
		Provider:            r.class.typ.Provider,
		ProviderVersion:     version,
		Properties:          r.properties,
		Dependencies:        deps,
		DependsOn:           r.dependsOn,
		PreventDestroy:      r.lifecycle.preventDestroy,
		CreateBeforeDestroy: r.lifecycle.createBeforeDestroy,
		IgnoreChanges:       r.lifecycle.ignoreChanges,
		Aliases:             r.lifecycle.aliases,
	}
}

// appendReferenced adds the ids of the nodes whose outputs v reads, at any depth.
func appendReferenced(ids []string, v model.Value) []string {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			ids = appendReferenced(ids, item)
		}
	case map[string]any:
		if ref, ok := model.AsReference(v); ok {
			return append(ids, ref.NodeID)
		}
		for _, item := range v {
			ids = appendReferenced(ids, item)
		}
	}
	return ids
}
