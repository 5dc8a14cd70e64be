package plan

import (
	"cmp"
	"slices"

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
	Force    []string      // ids to replace whatever they look like (DF-16)
	Digests  SecretDigests // compares salted digests; nil = there is no install key
	Unsealer Unsealer      // opens sealed outputs; nil = they are not readable
	// SkipSecrets: whatever takes a key to compare counts as unmoved (cli.md 22).
	SkipSecrets bool
}

// Diff decides what happens to every id of either side, sorted by id (DF-1…DF-17,
// DF-20, DF-30, DF-31, EX-13). It calls nobody and changes nothing that it is given.
func Diff(in DiffInput) ([]Change, error) {
	d, err := newDiffer(in)
	if err != nil {
		return nil, err
	}
	return d.result(), nil
}

// differ holds one diff. Desired nodes are numbered as in the document, which is
// sorted as the graph is.
type differ struct {
	in      DiffInput
	values  Values
	desired []candidate
	scratch []byte
}

// candidate is a desired node on its way to a verdict. Of a node with nothing to do
// nothing more is kept, so that a plan costs what changes and not what exists.
type candidate struct {
	node *ir.Node
	row  *state.Row
	*work
}

// work is what is known of a candidate that does not simply stay as it is.
type work struct {
	hash     string
	schema   *model.ResourceType // nil: unknown type (DF-9)
	own      []string            // fields that differ by themselves (DF-4), sorted
	consumed consumed            // what its references give now (DF-11a)
	first    Action              // of the first pass, forced replaces included
	verdict  verdict             // of the last pass so far
	stale    bool                // depends on something that is made anew (DF-12)
	reached  bool                // reads something that follows a value which moved earlier
	named    bool                // to be replaced on demand
	forced   bool                // for no other reason
	pending  *state.PendingDestroy
}

type verdict struct {
	action      Action
	fields      []string // sorted
	moved       []string // part of fields, sorted
	conditional bool
}

// newDiffer makes the first pass (the ladder, engine.md 2.2): every node by itself, its
// upstreams taken to stay as they are.
func newDiffer(in DiffInput) (*differ, error) {
	var key keyless
	if in.Unsealer != nil {
		key.Unsealer, in.Unsealer = in.Unsealer, &key
	}
	d := &differ{in: in, values: markStackOutputs(recorded(in.Snapshot, in.Unsealer))}
	if in.Document == nil {
		return d, nil
	}
	nodes := in.Document.Nodes
	var flipped []string
	d.desired = make([]candidate, len(nodes))
	for i := range nodes {
		c := &d.desired[i]
		c.node, c.row = &nodes[i], in.Snapshot.Rows[nodes[i].ID]
		if c.row != nil && c.row.Kind != "" && c.node.Kind != "" && c.row.Kind != c.node.Kind {
			flipped = append(flipped, c.node.ID)
		}
		if err := d.ladder(c); err != nil {
			return nil, err
		}
	}
	if key.err != nil {
		return nil, key.err
	}
	if len(flipped) > 0 {
		return nil, kindFlip(flipped)
	}
	for _, id := range in.Force {
		if c := d.find(id); c != nil {
			d.force(c)
		}
	}
	return d, nil
}

// result makes the second pass and lists the verdicts.
func (d *differ) result() []Change {
	d.secondPass()
	changes := d.changes()
	createFirst(changes, d.in.Graph)
	makeCertain(changes, d.in.Schemas)
	return changes
}

// find is nil for what is not declared.
func (d *differ) find(id string) *candidate {
	if d.in.Graph == nil {
		return nil
	}
	place, ok := d.in.Graph.Place(id)
	if !ok {
		return nil
	}
	return &d.desired[place]
}

// kindFlip stops a plan in which a provider release turned a type with recorded rows
// from resource to data source or back (DF-26).
func kindFlip(ids []string) error {
	return model.Errorf(model.RegistryError, model.ClassUser,
		"the provider turned a resource into a data source or back for %s; use the provider version that recorded them",
		model.Listed(ids, ", "))
}

func (d *differ) ladder(c *candidate) error {
	id := c.node.ID
	pending := d.in.Snapshot.Pending[id]
	switch {
	case pending != nil && (c.row == nil || c.row.Status != state.StatusCreated):
		// An interrupted replace is finished as what it was, never by a create beside
		// a delete: the two may claim one identity (EX-13).
		d.examine(c).pending = pending
		c.decide(verdict{action: Replace, fields: changedFields(c.node, pending.Row)})
	case c.row == nil, c.row.Status != state.StatusCreated:
		d.examine(c)
		c.decide(verdict{action: Create})
	case c.row.InputHash == d.in.Hashes[id]:
		moved, err := d.consumedByEqual(c)
		if err != nil || len(moved) == 0 {
			return err
		}
		d.examine(c).consumed.moved = moved
		c.decide(d.classify(c, nil))
	default:
		d.examine(c).own = changedFields(c.node, c.row)
		var err error
		if c.consumed, err = d.consumedByChanged(c); err != nil {
			return err
		}
		c.decide(d.classify(c, nil))
	}
	return nil
}

// examine begins the work on a candidate, with a noop as its verdict so far.
func (d *differ) examine(c *candidate) *work {
	if c.work == nil {
		c.work = &work{
			hash: d.in.Hashes[c.node.ID], schema: schemaOf(d.in.Schemas, c.node.Type), first: Noop, verdict: verdict{action: Noop},
		}
	}
	return c.work
}

// decide is the verdict of the first pass.
func (c *candidate) decide(v verdict) { c.first, c.verdict = v.action, v }

// force replaces a node on demand (DF-16): everything but a create of what is not
// recorded. What is replaced anyway keeps its reasons. A data source is read again, it
// has nothing to replace (DF-17).
func (d *differ) force(c *candidate) {
	if c.row == nil && (c.work == nil || c.pending == nil) {
		return
	}
	d.examine(c)
	c.named = true
	switch {
	case c.verdict.action == Replace:
		c.verdict.conditional = false
	case c.node.Kind != model.KindData:
		c.forced = true
		c.decide(verdict{action: Replace, fields: []string{forcedField}})
	case c.verdict.action != Create:
		c.forced = true
		c.decide(verdict{action: Update, fields: []string{forcedField}})
	}
}

// forcedField stands for the fields of a change that was asked for.
const forcedField = "(forced)"

// secondPass classifies again whatever may change because an upstream does (DF-12…
// DF-14). It runs in dependency order, so that an upstream's verdict is final before
// a dependent asks for it, and a replace that this pass brings about reaches further.
// It may run again after more was decided.
func (d *differ) secondPass() {
	var moving []int
	for i := range d.desired {
		if c := &d.desired[i]; c.work != nil && c.first != Noop {
			moving = append(moving, i)
		}
	}
	if len(moving) == 0 {
		return
	}
	for _, place := range d.in.Graph.Downstream(moving) {
		c := &d.desired[place]
		stale := false
		for _, dep := range d.in.Graph.DepsAt(place) {
			stale = stale || d.desired[dep].isStale() || d.desired[dep].remade()
		}
		if stale {
			d.examine(c).stale = true
		}
		if d.isReached(c) {
			d.examine(c).reached = true
		}
		switch {
		case c.work == nil, c.pending != nil, c.forced, c.verdict.action == Create:
		case c.verdict.action == Noop && !c.stale && !c.reached:
		default:
			c.verdict = d.classify(c, d.moves(c))
			if c.named {
				c.insist()
			}
		}
	}
}

// insist keeps a replace that was asked for from becoming less because an upstream
// changes as well: what it was to replace is replaced, for certain.
func (c *candidate) insist() {
	if c.verdict.action != Replace {
		c.forced = true
		c.verdict = verdict{action: Replace, fields: []string{forcedField}}
	}
	c.verdict.conditional = false
}

func (c *candidate) isStale() bool { return c.work != nil && c.stale }

// remade: the node gets a new physical identity.
func (c *candidate) remade() bool {
	return c.work != nil && (c.verdict.action == Create || c.verdict.action == Replace)
}

// changesOutputs: the node may have other outputs after this run (DF-7).
func (c *candidate) changesOutputs() bool {
	return c.work != nil && (c.first != Noop || c.stale || c.reached)
}

// isReached reports whether a node reads what follows a value that moved in an earlier run,
// which did not get that far: the hashes do not tell of it, and one run must do (DF-15).
func (d *differ) isReached(c *candidate) bool {
	return c.row != nil && len(attributed(c.node, func(id string) bool {
		up := d.find(id)
		return up != nil && up != c && up.follows()
	})) > 0
}

// follows: a value that moved earlier makes the node change although its hash is the desired
// one (DF-11a), or was until that change began; or it reads what follows.
func (c *candidate) follows() bool {
	return c.work != nil && (c.reached || len(c.consumed.moved) > 0 && (c.row.InputHash == c.hash || c.row.InputHash == ""))
}

// moves says which upstreams of c count as moved (DF-7). A poisoned row is not
// replaced for an upstream that keeps its identity.
func (d *differ) moves(c *candidate) func(id string) bool {
	poisoned := c.row.InputHash == ""
	return func(id string) bool {
		up := d.find(id)
		switch {
		case up == nil || up == c:
			return false
		case poisoned:
			return up.remade()
		default:
			return up.changesOutputs()
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
		if up := d.find(ref.NodeID); up != nil && up.changesOutputs() {
			return false
		}
	}
	return true
}

// changes lists a verdict per id of either side.
func (d *differ) changes() []Change {
	snapshot := d.in.Snapshot
	changes := make([]Change, len(d.desired), len(d.desired)+len(snapshot.Pending))
	for i := range d.desired {
		d.desired[i].change(&changes[i], d.in.Hashes)
	}
	for id, row := range snapshot.Rows {
		if d.find(id) == nil {
			changes = append(changes, Change{NodeID: id, Action: Delete, Prior: row})
		}
	}
	for id, pending := range snapshot.Pending {
		if c := d.find(id); c == nil || c.work == nil || c.pending == nil {
			changes = append(changes, Change{NodeID: id + PendingSuffix, Action: Delete, PendingDestroy: pending})
		}
	}
	if len(changes) > len(d.desired) {
		slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(a.NodeID, b.NodeID) })
	}
	return changes
}

func (c *candidate) change(out *Change, hashes map[string]string) {
	*out = Change{NodeID: c.node.ID, Action: Noop, Desired: c.node, Prior: c.row, DesiredHash: hashes[c.node.ID]}
	if c.work != nil {
		out.Action, out.PendingDestroy = c.verdict.action, c.pending
		out.ChangedFields, out.UpstreamMoved, out.Conditional = c.verdict.fields, c.verdict.moved, c.verdict.conditional
		out.CreateBeforeDestroy = c.pending != nil && c.pending.Mode == state.CreateBeforeDestroy
	}
	out.StateOnly = out.Action == Noop && c.row.PreventDestroy != c.node.PreventDestroy
}
