package ir

import (
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Hashes computes the Merkle hash of every node (GR-4): the SHA-256 of its type, its
// properties without ignored ones, and the hashes of what its references read. order
// names every node after its dependencies.
func Hashes(doc *Document, order []string) (map[string]string, error) {
	hashes := make(map[string]string, len(doc.Nodes))
	var e encoder
	for _, id := range order {
		n := doc.Node(id)
		if n == nil {
			return nil, model.Errorf(model.IRError, model.ClassUser, "the order names %s, which is not a node", id)
		}
		e.out = e.out[:0]
		if err := e.merkle(n, hashes); err != nil {
			return nil, inNode(id, err)
		}
		hashes[id] = hexSHA256(e.out)
	}
	if len(hashes) != len(doc.Nodes) {
		return nil, model.Errorf(model.IRError, model.ClassUser, "the order names %d of %d nodes", len(hashes), len(doc.Nodes))
	}
	return hashes, nil
}

// merkle writes the payload that is hashed, keys in canonical order.
func (e *encoder) merkle(n *Node, hashes map[string]string) error {
	e.out = append(e.out, `{"deps":[`...)
	for i, dep := range n.Dependencies {
		hash, ok := hashes[dep]
		if !ok {
			return model.Errorf(model.IRError, model.ClassUser, "its dependency %s has no hash yet", dep)
		}
		if i > 0 {
			e.out = append(e.out, ',')
		}
		e.out = append(e.out, '"')
		e.out = append(e.out, hash...)
		e.out = append(e.out, '"')
	}
	e.out = append(e.out, `],"properties":`...)
	if err := e.value(n.observed(), 0); err != nil {
		return err
	}
	e.out = append(e.out, `,"type":`...)
	if err := e.text(n.Type); err != nil {
		return err
	}
	e.out = append(e.out, '}')
	return nil
}

// observed are the properties whose change means something.
func (n *Node) observed() map[string]any {
	if len(n.IgnoreChanges) == 0 {
		return n.Properties
	}
	kept := make(map[string]any, len(n.Properties))
	for field, value := range n.Properties {
		if !slices.Contains(n.IgnoreChanges, field) {
			kept[field] = value
		}
	}
	return kept
}
