package plan

import (
	"maps"
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Moves are the recorded rows that take the new id of a renamed node (DF-21…DF-24). The
// plan is made over a snapshot in which they have moved; a run has to record that, in one
// write, before it does anything else.
type Moves struct {
	From  map[string]string // old id → new id
	batch state.Batch
}

// Batch is the one write that records the moves: the state never holds neither id. The
// caller stamps the rows.
func (m *Moves) Batch() state.Batch { return m.batch }

// former maps new ids to old ones.
func (m *Moves) former() map[string]string {
	if m == nil {
		return nil
	}
	former := make(map[string]string, len(m.From))
	for from, to := range m.From {
		former[to] = from
	}
	return former
}

// migrate gives the rows of renamed nodes their new ids, in a copy of the snapshot. A
// renamed node and what depends on it plan as they would have under the old id; so a
// pure rename changes nothing, and a mark to look again stays.
func migrate(in *Input) (*state.Snapshot, *Moves, error) {
	from, err := aliasMoves(in.Compilation.Document, in.Snapshot)
	if err != nil || len(from) == 0 {
		return in.Snapshot, nil, err
	}
	moves := &Moves{From: from}
	m := &migration{in: in, to: from, back: moves.former(), own: map[string]bool{}, after: &state.Snapshot{
		Serial:  in.Snapshot.Serial,
		Rows:    make(map[string]*state.Row, len(in.Snapshot.Rows)),
		Pending: make(map[string]*state.PendingDestroy, len(in.Snapshot.Pending)),
		Outputs: make(map[string]state.Output, len(in.Snapshot.Outputs)),
	}}
	m.rekey()
	if err := m.rehash(); err != nil {
		return nil, nil, err
	}
	if err := m.redigest(); err != nil {
		return nil, nil, err
	}
	moves.batch = m.batch()
	return m.after, moves, nil
}

// aliasMoves pairs old ids with new ones: the first alias of a node that is recorded, if
// the node itself is not; nodes in id order, an old id going to one node only (DF-21).
func aliasMoves(doc *ir.Document, snapshot *state.Snapshot) (map[string]string, error) {
	var moves map[string]string
	for i := range doc.Nodes {
		n := &doc.Nodes[i]
		if len(n.Aliases) == 0 || snapshot.Rows[n.ID] != nil || snapshot.Pending[n.ID] != nil {
			continue
		}
		for _, alias := range n.Aliases {
			old := alias
			if !strings.Contains(alias, ":") {
				old = model.NodeID(model.StackOf(n.ID), n.Type, alias)
			}
			row := snapshot.Rows[old]
			if row == nil || moves[old] != "" {
				continue
			}
			if row.Type != n.Type {
				err := model.Errorf(model.AtlantideError, model.ClassUser,
					"%s has the alias %s, which is recorded as a %s and cannot become a %s; remove the alias", n.ID, old, row.Type, n.Type)
				err.NodeID = n.ID
				return nil, err
			}
			if moves == nil {
				moves = map[string]string{}
			}
			moves[old] = n.ID
			break
		}
	}
	return moves, nil
}

// migration is one move of rows. A row is shared with the snapshot before until something
// in it changes.
type migration struct {
	in    *Input
	to    map[string]string // old id → new id
	back  map[string]string // new id → old id
	after *state.Snapshot
	own   map[string]bool // new ids of rows that are copies
}

// rekey renames ids wherever rows, old halves and outputs name them.
func (m *migration) rekey() {
	before := m.in.Snapshot
	for id, row := range before.Rows {
		next := m.row(row)
		m.after.Rows[renamed(id, m.to)] = next
		m.own[next.ID] = next != row
	}
	for id, entry := range before.Pending {
		if row, to := m.row(entry.Row), renamed(id, m.to); row != entry.Row || to != id {
			entry = &state.PendingDestroy{NodeID: to, Row: row, Mode: entry.Mode}
		}
		m.after.Pending[entry.NodeID] = entry
	}
	for key, out := range before.Outputs {
		out.SourceNodes, _ = renamedAll(out.SourceNodes, m.to)
		m.after.Outputs[key] = out
	}
}

// row is the row itself where no id in it moves.
func (m *migration) row(row *state.Row) *state.Row {
	id := renamed(row.ID, m.to)
	dependencies, moved := renamedAll(row.Dependencies, m.to)
	ordering, reordered := renamedAll(row.DependsOn, m.to)
	properties, rewritten := rewrite(row.Properties, m.to)
	if id == row.ID && !moved && !reordered && !rewritten {
		return row
	}
	next := *row
	next.ID, next.Dependencies, next.DependsOn = id, dependencies, ordering
	next.Properties, _ = properties.(map[string]any)
	return &next
}

// change is a row that may be changed.
func (m *migration) change(id string) *state.Row {
	if !m.own[id] {
		next := *m.after.Rows[id]
		m.after.Rows[id], m.own[id] = &next, true
	}
	return m.after.Rows[id]
}

// rehash gives a declared row the config's hash if it had the one that the config would
// have under the old ids, and leaves it alone otherwise: what was up to date still is, and
// what was not is still found. An empty hash stays empty (DF-24).
func (m *migration) rehash() error {
	former, err := m.formerHashes()
	if err != nil {
		return err
	}
	hashes := m.in.Compilation.Hashes
	for id, hash := range former {
		if row := m.after.Rows[id]; row != nil && row.InputHash == hash && hash != hashes[id] {
			m.change(id).InputHash = hashes[id]
		}
	}
	return m.rehashUndeclared()
}

// formerHashes are the Merkle hashes that the config would have if nothing in it had been
// renamed, by new id. A node that is declared under an id which another one takes its row
// from is not what that row stands for: it gets an id of its own.
func (m *migration) formerHashes() (map[string]string, error) {
	back := maps.Clone(m.back)
	nodes := m.in.Compilation.Document.Nodes
	for i := range nodes {
		if id := nodes[i].ID; m.to[id] != "" && back[id] == "" {
			back[id] = "\x00" + id
		}
	}
	former := &ir.Document{Nodes: make([]ir.Node, len(nodes))}
	now := make(map[string]string, len(nodes)) // former id → id
	for i, n := range nodes {
		properties, _ := rewrite(n.Properties, back)
		now[renamed(n.ID, back)] = n.ID
		n.ID = renamed(n.ID, back)
		n.Properties, _ = properties.(map[string]any)
		n.Dependencies, _ = renamedAll(n.Dependencies, back)
		n.DependsOn = nil
		former.Nodes[i] = n
	}
	slices.SortFunc(former.Nodes, func(a, b ir.Node) int { return strings.Compare(a.ID, b.ID) })
	g, err := graph.Build(former.Edges())
	if err != nil {
		return nil, err
	}
	hashes, err := ir.Hashes(former, g.Order())
	if err != nil {
		return nil, err
	}
	byID := make(map[string]string, len(hashes))
	for id, hash := range hashes {
		byID[now[id]] = hash
	}
	return byID, nil
}

// rehashUndeclared does the same for rows that this config does not declare, as those of
// an environment that is left out. What they were hashed with is read off the rows; one
// that does not say so is left alone, and looked at when it is declared.
func (m *migration) rehashUndeclared() error {
	doc := m.in.Compilation.Document
	edges := map[string][]string{}
	for id := range m.after.Rows {
		if doc.Node(id) == nil {
			edges[id] = nil
		}
	}
	for id := range edges {
		for _, up := range m.after.Rows[id].Dependencies {
			if _, undeclared := edges[up]; undeclared && up != id {
				edges[id] = append(edges[id], up)
			}
		}
	}
	g, err := graph.Build(edges)
	if model.IsKind(err, model.CycleError) {
		return nil // rows of different runs may contradict each other
	}
	if err != nil {
		return err
	}
	for _, id := range g.Order() {
		before, row := m.in.Snapshot.Rows[renamed(id, m.back)], m.after.Rows[id]
		if was, ok := rowHash(before, m.in.Snapshot.Rows); !ok || was != row.InputHash {
			continue
		}
		if now, ok := rowHash(row, m.after.Rows); ok && now != row.InputHash {
			m.change(id).InputHash = now
		}
	}
	return nil
}

// rowHash is the Merkle hash over what rows recorded; edges to what is gone are dropped.
// It is not known where an upstream is marked to be looked at again.
func rowHash(row *state.Row, rows map[string]*state.Row) (string, bool) {
	n := &ir.Node{ID: row.ID, Type: row.Type, Properties: row.Properties}
	hashes := map[string]string{}
	for _, up := range row.Dependencies {
		upstream := rows[up]
		if upstream == nil {
			continue
		}
		if upstream.InputHash == "" {
			return "", false
		}
		n.Dependencies = append(n.Dependencies, up)
		hashes[up] = upstream.InputHash
	}
	slices.Sort(n.Dependencies)
	hash, err := ir.NodeHash(n, hashes)
	return hash, err == nil
}

// redigest makes the digests of secrets that were made under the old id anew, so that a
// rename is not taken for a rotation (DF-24, X-21). One that does not match, or whose
// secret does not resolve, stays: the audit looks at it.
func (m *migration) redigest() error {
	s := m.in.Secrets
	if s.Resolve == nil || s.Digests == nil || s.Skip {
		return nil
	}
	for from, to := range m.to {
		row := m.after.Rows[to]
		for field, digest := range row.SecretDigests {
			if !model.HoldsSecret(row.Properties[field]) {
				continue
			}
			text, err := SecretText(row.Properties[field], s.Resolve)
			if err != nil {
				continue
			}
			matches, err := s.Digests.Matches(digest, text, secretScopes(m.in.Snapshot.Rows[from], field)...)
			if err != nil {
				return err
			}
			if !matches {
				continue
			}
			fresh, err := s.Digests.Digest(text, secretScopes(row, field)[0])
			if err != nil {
				return err
			}
			next := m.change(to)
			next.SecretDigests = maps.Clone(next.SecretDigests)
			next.SecretDigests[field] = fresh
		}
	}
	return nil
}

// batch is what differs between the two snapshots.
func (m *migration) batch() state.Batch {
	before := m.in.Snapshot
	b := state.Batch{SetOutputs: map[string]state.Output{}}
	for _, from := range slices.Sorted(maps.Keys(m.to)) {
		b.DeleteRows = append(b.DeleteRows, from)
		if before.Pending[from] != nil {
			b.DeletePending = append(b.DeletePending, from)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.after.Rows)) {
		if m.own[id] {
			b.PutRows = append(b.PutRows, m.after.Rows[id])
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.after.Pending)) {
		if entry := m.after.Pending[id]; entry != before.Pending[id] {
			b.PutPending = append(b.PutPending, entry)
		}
	}
	for key, out := range m.after.Outputs {
		if !slices.Equal(out.SourceNodes, before.Outputs[key].SourceNodes) {
			b.SetOutputs[key] = out
		}
	}
	return b
}

func renamed(id string, to map[string]string) string {
	if next, ok := to[id]; ok {
		return next
	}
	return id
}

// renamedAll is ids itself where none of them moves; else a sorted copy.
func renamedAll(ids []string, to map[string]string) ([]string, bool) {
	if !slices.ContainsFunc(ids, func(id string) bool { return to[id] != "" }) {
		return ids, false
	}
	next := make([]string, len(ids))
	for i, id := range ids {
		next[i] = renamed(id, to)
	}
	slices.Sort(next)
	return next, true
}

// rewrite renames the targets of references in v, at any depth. It is v itself where none
// of them moves.
func rewrite(v any, to map[string]string) (any, bool) {
	if ref, ok := model.AsReference(v); ok {
		next, moves := to[ref.NodeID]
		if !moves {
			return v, false
		}
		return model.Reference{NodeID: next, Output: ref.Output}.Marker(), true
	}
	changed := false
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			var c bool
			out[i], c = rewrite(item, to)
			changed = changed || c
		}
		if changed {
			return out, true
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			var c bool
			out[key], c = rewrite(item, to)
			changed = changed || c
		}
		if changed {
			return out, true
		}
	}
	return v, false
}
