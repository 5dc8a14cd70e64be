package ir

import (
	"fmt"
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// document reads the stored IR and holds it to what every compiled document is: nodes
// in order, each with the id, the type and the edges that it says (GR-1…GR-6).
func (r *artifactReader) document(file map[string]any, maxNodes int) *Document {
	stored := r.object(file[keyIR], keyIR)
	if r.err != nil {
		return nil
	}
	if err := formatIs(stored, "version", Version, keyIR); err != nil {
		r.fail("%w", err)
		return nil
	}
	r.keys(keyIR, stored, []string{"version", "nodes"}, nil)
	items := r.list(stored["nodes"], "ir.nodes")
	if len(items) > maxNodes {
		r.fail("the artifact has %d nodes, more than the %d that are read", len(items), maxNodes)
		return nil
	}
	doc := &Document{Nodes: make([]Node, len(items))}
	for i, item := range items {
		r.node(item, &doc.Nodes[i], fmt.Sprintf("ir.nodes[%d]", i))
		if r.err != nil {
			return nil
		}
		if i > 0 && doc.Nodes[i-1].ID >= doc.Nodes[i].ID {
			r.fail("ir.nodes[%d]: %s is not behind %s; nodes are sorted, and none is there twice", i, doc.Nodes[i].ID, doc.Nodes[i-1].ID)
		}
	}
	for i := range doc.Nodes {
		r.edges(doc, &doc.Nodes[i])
	}
	return doc
}

func (r *artifactReader) node(item any, n *Node, what string) {
	m := r.object(item, what)
	r.keys(what, m,
		[]string{"id", "type", "provider", "provider_version", "properties", "dependencies"},
		[]string{"kind", "prevent_destroy", "create_before_destroy", "ignore_changes", "aliases", "depends_on"})
	*n = Node{
		ID:                  r.text(m, "id", what),
		Type:                r.text(m, "type", what),
		Kind:                model.KindResource,
		Provider:            r.text(m, "provider", what),
		ProviderVersion:     r.text(m, "provider_version", what),
		Properties:          r.object(m["properties"], what+": properties"),
		Dependencies:        r.sorted(m, "dependencies", what),
		DependsOn:           r.sorted(m, "depends_on", what),
		PreventDestroy:      r.flag(m, "prevent_destroy", what),
		CreateBeforeDestroy: r.flag(m, "create_before_destroy", what),
		IgnoreChanges:       r.texts(m, "ignore_changes", what),
		Aliases:             r.texts(m, "aliases", what),
	}
	if _, given := m["kind"]; given {
		n.Kind = r.text(m, "kind", what)
	}
	r.identity(n, what)
}

// identity holds id, type, provider and kind of a node together.
func (r *artifactReader) identity(n *Node, what string) {
	class, ok := strings.CutPrefix(n.Type, n.Provider+".")
	switch {
	case n.Kind != model.KindResource && n.Kind != model.KindData:
		r.fail("%s has the kind %+.80q; there are %s and %s", what, n.Kind, model.KindResource, model.KindData)
	case !ok || n.Provider == "" || class == "" || strings.ContainsAny(n.Type, ":\"\\") || n.Type != model.Printable(n.Type):
		r.fail("%s has the type %+.80q, which is none of the provider %+.80q", what, n.Type, n.Provider)
	case len(n.ID) > maxArtifactKey || !validID(n.ID, n.Type):
		r.fail("%s has the id %+.80q, which is not the name of a stack, the type %s and a name", what, n.ID, n.Type)
	case slices.Contains(n.IgnoreChanges, "") || slices.Contains(n.Aliases, ""):
		r.fail("%s: ignore_changes and aliases hold no empty text", what)
	}
}

func validID(id, nodeType string) bool {
	stack, name := model.StackOf(id), model.LocalName(id)
	return id == model.NodeID(stack, nodeType, name) && model.ValidName(stack) && validLocalName(name)
}

// validLocalName is ValidName of any length: prefixes of components add to a name, and
// the id as a whole is bounded.
func validLocalName(name string) bool {
	for len(name) > model.MaxName {
		if !model.ValidName(name[:model.MaxName]) {
			return false
		}
		name = "a" + name[model.MaxName:] // what goes on may begin with a digit
	}
	return model.ValidName(name)
}

// edges wants every edge to end at a node, and exactly the dependencies that the
// properties read: a reference without its edge would be resolved too early.
func (r *artifactReader) edges(doc *Document, n *Node) {
	for _, list := range [][]string{n.Dependencies, n.DependsOn} {
		for _, id := range list {
			if doc.Node(id) == nil {
				r.fail("%s depends on %+.80q, which the artifact does not hold", n.ID, id)
			}
		}
	}
	var read []string
	for _, value := range n.Properties {
		for _, ref := range model.References(value) {
			read = append(read, ref.NodeID)
		}
	}
	slices.Sort(read)
	if read = slices.Compact(read); !slices.Equal(read, n.Dependencies) {
		r.fail("%s: its dependencies are not the nodes that its properties refer to", n.ID)
	}
}
