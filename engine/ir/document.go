package ir

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"sort"
	"strconv"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Canonical is the hashed form of the document: every node without aliases and
// depends_on, which move no hash (GR-3).
func (d *Document) Canonical() ([]byte, error) {
	var b bytes.Buffer
	if err := d.write(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Hash is the hex SHA-256 of the canonical form, which it never holds as a whole.
func (d *Document) Hash() (string, error) {
	sum := sha256.New()
	if err := d.write(sum); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// chunk is how many bytes of the canonical form are written at once, about.
const chunk = 4 << 10

// write writes the canonical form.
func (d *Document) write(w io.Writer) error {
	e := encoder{out: make([]byte, 0, chunk+chunk/4)}
	e.raw(`{"nodes":[`)
	for i := range d.Nodes {
		if i > 0 {
			e.raw(",")
		}
		if err := e.node(&d.Nodes[i]); err != nil {
			return inNode(d.Nodes[i].ID, err)
		}
		if len(e.out) < chunk {
			continue
		}
		if _, err := w.Write(e.out); err != nil {
			return err
		}
		e.out = e.out[:0]
	}
	e.raw(`],"version":` + strconv.Itoa(Version) + "}")
	_, err := w.Write(e.out)
	return err
}

// node writes a node of the canonical form, keys in canonical order. A key for a flag
// is there only where it is set, so that a flag that comes with a later version leaves
// the hashes of older configs alone.
func (e *encoder) node(n *Node) error {
	e.raw("{")
	if n.CreateBeforeDestroy {
		e.raw(`"create_before_destroy":true,`)
	}
	e.raw(`"dependencies":`)
	if err := list(e, n.Dependencies, e.text); err != nil {
		return err
	}
	if err := e.member(`,"id":`, n.ID); err != nil {
		return err
	}
	if len(n.IgnoreChanges) > 0 {
		e.raw(`,"ignore_changes":`)
		if err := list(e, n.IgnoreChanges, e.text); err != nil {
			return err
		}
	}
	if n.Kind == model.KindData {
		e.raw(`,"kind":"` + model.KindData + `"`)
	}
	if n.PreventDestroy {
		e.raw(`,"prevent_destroy":true`)
	}
	e.raw(`,"properties":`)
	if err := e.value(n.Properties, 1); err != nil {
		return err
	}
	if err := e.member(`,"provider":`, n.Provider); err != nil {
		return err
	}
	if err := e.member(`,"provider_version":`, n.ProviderVersion); err != nil {
		return err
	}
	err := e.member(`,"type":`, n.Type)
	e.raw("}")
	return err
}

func (e *encoder) raw(text string) { e.out = append(e.out, text...) }

func (e *encoder) member(key, text string) error {
	e.raw(key)
	return e.text(text)
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
	if i := d.index(id); i >= 0 {
		return &d.Nodes[i]
	}
	return nil
}

// index is the place of a node in the list, -1 if there is none.
func (d *Document) index(id string) int {
	i := sort.Search(len(d.Nodes), func(i int) bool { return d.Nodes[i].ID >= id })
	if i == len(d.Nodes) || d.Nodes[i].ID != id {
		return -1
	}
	return i
}

// Adjacency is the ids of the nodes, sorted, and beside each what Edges says of it.
func (d *Document) Adjacency() (ids []string, edges [][]string) {
	ids, edges = make([]string, len(d.Nodes)), make([][]string, len(d.Nodes))
	for i := range d.Nodes {
		ids[i], edges[i] = d.Nodes[i].ID, d.Nodes[i].edges()
	}
	return ids, edges
}

// Edges are the edges of the graph: what each node waits for, for its references or
// by explicit order (GR-3).
func (d *Document) Edges() map[string][]string {
	edges := make(map[string][]string, len(d.Nodes))
	for i := range d.Nodes {
		edges[d.Nodes[i].ID] = d.Nodes[i].edges()
	}
	return edges
}

func (n *Node) edges() []string {
	if len(n.DependsOn) == 0 {
		return n.Dependencies
	}
	return slices.Concat(n.Dependencies, n.DependsOn)
}

// stored has a key for a flag only where it is set, as the canonical form.
func (n *Node) stored() map[string]any {
	m := map[string]any{
		"id":               n.ID,
		"type":             n.Type,
		"provider":         n.Provider,
		"provider_version": n.ProviderVersion,
		"properties":       n.Properties,
		"dependencies":     values(n.Dependencies),
	}
	if n.Properties == nil {
		m["properties"] = map[string]any{}
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
	wrapped := model.Errorf(model.KindOf(err), model.ClassOf(err), "%s: %w", id, err)
	wrapped.Nodes = []string{id}
	return wrapped
}
