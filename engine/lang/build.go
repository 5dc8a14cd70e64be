package lang

import (
	"maps"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// build turns what was declared into the document, its graph and its hashes.
func (ev *evaluation) build() (*Result, error) {
	doc, pins := ev.document()
	g, err := graph.Build(doc.Edges())
	if err != nil {
		return nil, err
	}
	hash, err := doc.Hash()
	if err != nil {
		return nil, err
	}
	hashes, err := ir.Hashes(doc, g.Order())
	if err != nil {
		return nil, err
	}
	return &Result{
		Compilation: &ir.Compilation{
			Document:     doc,
			Hash:         hash,
			Hashes:       hashes,
			Outputs:      ev.registry.outputs,
			Policies:     ev.registry.policies,
			Inputs:       ev.consumed,
			EnvsDeclared: ev.declaredEnvs(),
			EnvsSelected: ev.selected,
			Pins:         pins,
			Warnings:     ev.warnings,
			Source:       ev.options.Source,
		},
		Graph: g,
	}, nil
}

func (ev *evaluation) document() (*ir.Document, map[string]string) {
	doc := &ir.Document{Nodes: make([]ir.Node, 0, len(ev.registry.resources))}
	pins := map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(ev.registry.resources)) {
		res := ev.registry.resources[id]
		version := ""
		if p := ev.options.Schemas.Provider(res.class.typ.Provider); p != nil {
			version = p.Version
		}
		pins[res.class.typ.Provider] = version
		doc.Nodes = append(doc.Nodes, res.node(version))
	}
	return doc, pins
}

// node is the IR of a resource, after its outputs were inlined.
func (r *resource) node(version string) ir.Node {
	var deps []string
	for _, v := range r.properties {
		for _, ref := range model.References(v) {
			deps = append(deps, ref.NodeID)
		}
	}
	slices.Sort(deps)
	return ir.Node{
		ID:                  r.id,
		Type:                r.class.typ.Name,
		Kind:                r.class.typ.Kind,
		Provider:            r.class.typ.Provider,
		ProviderVersion:     version,
		Properties:          r.properties,
		Dependencies:        slices.Compact(deps),
		DependsOn:           r.dependsOn,
		PreventDestroy:      r.lifecycle.preventDestroy,
		CreateBeforeDestroy: r.lifecycle.createBeforeDestroy,
		IgnoreChanges:       r.lifecycle.ignoreChanges,
		Aliases:             r.lifecycle.aliases,
	}
}
