package ir

import (
	"slices"
	"strconv"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Canonical is the hashed form of the document: every node without aliases and
// depends_on, which move no hash (GR-3).
func (d *Document) Canonical() ([]byte, error) {
	var e encoder
	e.out = append(e.out, `{"nodes":[`...)
	for i := range d.Nodes {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		if err := e.value(d.Nodes[i].hashed(), 0); err != nil {
			return nil, inNode(d.Nodes[i].ID, err)
		}
	}
	e.out = append(e.out, `],"version":`+strconv.Itoa(Version)+"}"...)
	return e.out, nil
}

// Hash is the hex SHA-256 of the canonical form.
func (d *Document) Hash() (string, error) {
	data, err := d.Canonical()
	if err != nil {
		return "", err
	}
	return hexSHA256(data), nil
}

// Stored is the document as artifacts carry it.
func (d *Document) Stored() map[string]any {
	nodes := make([]any, len(d.Nodes))
	for i := range d.Nodes {
		nodes[i] = d.Nodes[i].stored()
	}
	return map[string]any{"version": int64(Version), "nodes": nodes}
}

// Node finds a node by id; nil if there is none.
func (d *Document) Node(id string) *Node {
	i, found := slices.BinarySearchFunc(d.Nodes, id, func(n Node, id string) int {
		switch {
		case n.ID < id:
			return -1
		case n.ID > id:
			return 1
		}
		return 0
	})
	if !found {
		return nil
	}
	return &d.Nodes[i]
}

// Edges are the edges of the graph: what each node waits for, for its references or
// by explicit order (GR-3).
func (d *Document) Edges() map[string][]string {
	edges := make(map[string][]string, len(d.Nodes))
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if len(n.DependsOn) == 0 {
			edges[n.ID] = n.Dependencies
			continue
		}
		edges[n.ID] = slices.Concat(n.Dependencies, n.DependsOn)
	}
	return edges
}

// hashed holds a key for a flag only where it is set, so that a flag that comes with
// a later version leaves the hashes of older configs alone.
func (n *Node) hashed() map[string]any {
	m := map[string]any{
		"id":               n.ID,
		"type":             n.Type,
		"provider":         n.Provider,
		"provider_version": n.ProviderVersion,
		"properties":       n.Properties,
		"dependencies":     n.Dependencies,
	}
	if n.Kind == model.KindData {
		m["kind"] = n.Kind
	}
	if n.PreventDestroy {
		m["prevent_destroy"] = true
	}
	if n.CreateBeforeDestroy {
		m["create_before_destroy"] = true
	}
	if len(n.IgnoreChanges) > 0 {
		m["ignore_changes"] = n.IgnoreChanges
	}
	return m
}

func (n *Node) stored() map[string]any {
	m := n.hashed()
	if n.Properties == nil {
		m["properties"] = map[string]any{}
	}
	m["dependencies"] = values(n.Dependencies)
	if len(n.IgnoreChanges) > 0 {
		m["ignore_changes"] = values(n.IgnoreChanges)
	}
	if len(n.Aliases) > 0 {
		m["aliases"] = values(n.Aliases)
	}
	if len(n.DependsOn) > 0 {
		m["depends_on"] = values(n.DependsOn)
	}
	return m
}

func values(texts []string) []any {
	out := make([]any, len(texts))
	for i, text := range texts {
		out[i] = text
	}
	return out
}

func inNode(id string, err error) error {
	return model.Errorf(model.KindOf(err), model.ClassOf(err), "%s: %w", id, err)
}
