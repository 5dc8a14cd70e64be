package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// DiffInput is what a diff compares (DF-1). Document and Graph are nil when nothing
// is desired.
type DiffInput struct {
	Document *ir.Document
	Hashes   map[string]string // node id → Merkle hash
	Graph    *graph.Graph      // of Document
	Snapshot *state.Snapshot
	Schemas  *model.Schemas
}

// Diff decides what happens to every id of either side, sorted by id (DF-1…DF-15,
// DF-20, DF-30, DF-31, EX-13). It calls nobody and changes nothing that it is given.
func Diff(in DiffInput) ([]Change, error) {
	d := &differ{in: in, values: recorded(in.Snapshot)}
	if err := d.firstPass(); err != nil {
		return nil, err
	}
	d.secondPass()
	changes := d.changes()
	createFirst(changes, in.Graph)
	makeCertain(changes, in.Schemas)
	return changes, nil
}

// differ holds one diff. Desired nodes are numbered as in the document, which is
// sorted as the graph is.
type differ struct {
	in      DiffInput
	values  Values
	desired []candidate
	byID    map[string]*candidate
	moving  bool // the first pass found something to do
}

// candidate is a desired node on its way to a verdict.
type candidate struct {
	node   *ir.Node
	row    *state.Row
	hash   string
	schema *model.ResourceType // nil: unknown type (DF-9)

	own      []string // fields that differ by themselves (DF-4), sorted
	consumed consumed // what its references give now (DF-11a)
	first    Action   // of the first pass
	verdict  verdict  // of the last pass so far
	stale    bool     // depends on something that is made anew (DF-12)
	pending  *state.PendingDestroy
}

type verdict struct {
	action      Action
	fields      []string // sorted
	moved       []string // part of fields, sorted
	conditional bool
}

// firstPass is the ladder (engine.md 2.2): every node by itself, its upstreams taken
// to stay as they are.
func (d *differ) firstPass() error {
	if d.in.Document == nil {
		return nil
	}
	nodes := d.in.Document.Nodes
	var flipped []string
	d.desired = make([]candidate, len(nodes))
	d.byID = make(map[string]*candidate, len(nodes))
	for i := range nodes {
		c := &d.desired[i]
		*c = candidate{
			node:   &nodes[i],
			row:    d.in.Snapshot.Rows[nodes[i].ID],
			hash:   d.in.Hashes[nodes[i].ID],
			schema: schemaOf(d.in.Schemas, nodes[i].Type),
		}
		d.byID[c.node.ID] = c
		if c.row != nil && c.row.Kind != "" && c.node.Kind != "" && c.row.Kind != c.node.Kind {
			flipped = append(flipped, c.node.ID)
		}
		if err := d.ladder(c); err != nil {
			return err
		}
		c.first = c.verdict.action
		d.moving = d.moving || c.first != Noop
	}
	if len(flipped) > 0 {
		return kindFlip(flipped)
	}
	return nil
}

// kindFlip stops a plan in which a provider release turned a type with recorded rows
// from resource to data source or back (DF-26).
func kindFlip(ids []string) error {
	return model.Errorf(model.RegistryError, model.ClassUser,
		"the provider turned a resource into a data source or back for %s; use the provider version that recorded them",
		strings.Join(ids, ", "))
}

func (d *differ) ladder(c *candidate) error {
	pending := d.in.Snapshot.Pending[c.node.ID]
	switch {
	case pending != nil && (c.row == nil || c.row.Status != state.StatusCreated):
		// An interrupted replace is finished as what it was, never by a create beside
		// a delete: the two may claim one identity (EX-13).
		c.pending = pending
		c.verdict = verdict{action: Replace, fields: changedFields(c.node, pending.Row)}
	case c.row == nil, c.row.Status != state.StatusCreated:
		c.verdict = verdict{action: Create}
	case c.row.InputHash == c.hash:
		var err error
		if c.consumed, err = d.consumedByEqual(c); err != nil {
			return err
		}
		c.verdict = verdict{action: Noop}
		if len(c.consumed.moved) > 0 {
			c.verdict = d.classify(c, nil)
		}
	default:
		c.own = changedFields(c.node, c.row)
		var err error
		if c.consumed, err = d.consumedByChanged(c); err != nil {
			return err
		}
		c.verdict = d.classify(c, nil)
	}
	return nil
}

// secondPass classifies again whatever may change because an upstream does (DF-12…
// DF-14). It runs in dependency order, so that an upstream's verdict is final before
// a dependent asks for it, and a replace that this pass brings about reaches further.
func (d *differ) secondPass() {
	if !d.moving {
		return
	}
	for _, id := range d.in.Graph.Order() {
		c := d.byID[id]
		for _, dep := range d.in.Graph.Deps(id) {
			up := d.byID[dep]
			c.stale = c.stale || up.stale || up.remade()
		}
		switch {
		case c.pending != nil, c.verdict.action == Create:
		case c.verdict.action == Noop && !c.stale:
		default:
			c.verdict = d.classify(c, d.moves(c))
		}
	}
}

// remade: the node gets a new physical identity.
func (c *candidate) remade() bool {
	return c.verdict.action == Create || c.verdict.action == Replace
}

// moves says which upstreams of c count as moved (DF-7). A poisoned row is not
// replaced for an upstream that keeps its identity.
func (d *differ) moves(c *candidate) func(id string) bool {
	poisoned := c.row.InputHash == ""
	return func(id string) bool {
		up := d.byID[id]
		switch {
		case up == nil || up == c:
			return false
		case poisoned:
			return up.remade()
		default:
			return up.first != Noop || up.stale
		}
	}
}

// keepsOutputs reports whether no upstream of a field changes its outputs in this
// run; only then a verdict on consumed values counts (DF-11a).
func (d *differ) keepsOutputs(c *candidate, field string, second bool) bool {
	if !second {
		return true
	}
	for _, ref := range model.References(c.node.Properties[field]) {
		if up := d.byID[ref.NodeID]; up != nil && (up.first != Noop || up.stale) {
			return false
		}
	}
	return true
}

// changes lists a verdict per id of either side.
func (d *differ) changes() []Change {
	snapshot := d.in.Snapshot
	changes := make([]Change, 0, len(d.desired)+len(snapshot.Pending))
	for i := range d.desired {
		c := &d.desired[i]
		changes = append(changes, Change{
			NodeID:         c.node.ID,
			Action:         c.verdict.action,
			Desired:        c.node,
			DesiredHash:    c.hash,
			Prior:          c.row,
			PendingDestroy: c.pending,
			ChangedFields:  c.verdict.fields,
			UpstreamMoved:  c.verdict.moved,
			Conditional:    c.verdict.conditional,
			StateOnly: c.verdict.action == Noop &&
				c.row.PreventDestroy != c.node.PreventDestroy,
			CreateBeforeDestroy: c.pending != nil && c.pending.Mode == state.CreateBeforeDestroy,
		})
	}
	for id, row := range snapshot.Rows {
		if d.byID[id] == nil {
			changes = append(changes, Change{NodeID: id, Action: Delete, Prior: row})
		}
	}
	for id, pending := range snapshot.Pending {
		if c := d.byID[id]; c == nil || c.pending == nil {
			changes = append(changes, Change{NodeID: id + PendingSuffix, Action: Delete, PendingDestroy: pending})
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(a.NodeID, b.NodeID) })
	return changes
}
