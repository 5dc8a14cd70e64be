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

// selection is what a run may act on (GR-22…GR-26).
type selection struct {
	ids      map[string]bool // nil: everything but the excluded environments
	excluded []string        // environments that are declared and not selected, sorted
	force    []string        // ids to replace, sorted
}

// newSelection resolves the patterns of a plan of a config.
func newSelection(in *Input, snapshot *state.Snapshot) (*selection, error) {
	s := &selection{excluded: excludedEnvs(in.Compilation)}
	if len(in.Targets) == 0 && len(in.Replace) == 0 {
		return s, nil
	}
	known := knownIDs(in.Graph, snapshot)
	var err error
	if s.force, err = graph.Select(in.Replace, known); err != nil || len(in.Targets) == 0 {
		return s, err
	}
	matched, err := graph.Select(in.Targets, known)
	if err != nil {
		return nil, err
	}
	seeds := slices.DeleteFunc(slices.Clone(matched), s.outside)
	if len(seeds) == 0 {
		return nil, model.Errorf(model.TargetError, model.ClassUser,
			"the targets match %s alone, and the environment filter leaves that out: %s is selected of %s; select its environment too",
			model.Listed(matched, ", "), model.Listed(in.Compilation.EnvsSelected, ", "), model.Listed(in.Compilation.EnvsDeclared, ", "))
	}
	s.ids = set(seeds)
	for _, id := range in.Graph.Closure(seeds, false) {
		s.ids[id] = true
	}
	return s, nil
}

// destroySelection resolves the patterns of a destroy: what they match in the state and
// everything that was recorded to depend on it (GR-26).
func destroySelection(targets []string, snapshot *state.Snapshot) (*selection, error) {
	if len(targets) == 0 {
		return &selection{}, nil
	}
	matched, err := graph.Select(targets, knownIDs(nil, snapshot))
	if err != nil {
		return nil, err
	}
	dependents := map[string][]string{}
	note := func(id string, row *state.Row) {
		for _, up := range slices.Concat(row.Dependencies, row.DependsOn) {
			dependents[up] = append(dependents[up], id)
		}
	}
	for id, row := range snapshot.Rows {
		note(id, row)
	}
	for id, entry := range snapshot.Pending {
		note(id+PendingSuffix, entry.Row)
	}
	s := &selection{ids: set(matched)}
	for frontier := matched; len(frontier) > 0; {
		id := frontier[len(frontier)-1]
		frontier = frontier[:len(frontier)-1]
		if node, old := strings.CutSuffix(id, PendingSuffix); old && snapshot.Rows[node] == nil {
			id = node // nobody but the old half is what its dependents were made from
		}
		for _, next := range dependents[id] {
			if !s.ids[next] {
				s.ids[next] = true
				frontier = append(frontier, next)
			}
		}
	}
	return s, nil
}

// knownIDs are what patterns may match, sorted: what is declared, what is recorded, and
// the old halves that are left.
func knownIDs(g *graph.Graph, snapshot *state.Snapshot) []string {
	var ids []string
	if g != nil {
		ids = slices.Clone(g.IDs())
	}
	ids = slices.AppendSeq(ids, maps.Keys(snapshot.Rows))
	for id := range snapshot.Pending {
		ids = append(ids, id+PendingSuffix)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// excludedEnvs are the environments that are declared and not selected, sorted (GR-25).
func excludedEnvs(c *ir.Compilation) []string {
	var excluded []string
	for _, env := range c.EnvsDeclared {
		if !slices.Contains(c.EnvsSelected, env) {
			excluded = append(excluded, env)
		}
	}
	return excluded
}

// outside reports whether the node belongs to an environment that is left out. A stack
// that is no environment never does.
func (s *selection) outside(id string) bool {
	return len(s.excluded) > 0 && slices.Contains(s.excluded, model.StackOf(id))
}

// has reports whether a run may act on the node. An old half that is left goes with its
// node.
func (s *selection) has(id string) bool {
	if s.outside(id) {
		return false
	}
	return s.ids == nil || s.ids[id] || s.ids[strings.TrimSuffix(id, PendingSuffix)]
}

// everything reports whether nothing is left out.
func (s *selection) everything() bool { return s.ids == nil && len(s.excluded) == 0 }

// restrict turns every change outside of the selection into a bare noop (DF-18). It
// narrows the changeset and never the config: what is left out keeps its hashes.
func (s *selection) restrict(changes []Change) {
	if !s.everything() {
		Restrict(changes, s.has)
	}
}

// Restrict turns every change that is not selected into a bare noop, in place (DF-18).
func Restrict(changes []Change, selected func(id string) bool) {
	for i := range changes {
		if id := changes[i].NodeID; !selected(id) {
			changes[i] = Change{NodeID: id, Action: Noop}
		}
	}
}

// count is how many of the changes the run may act on.
func (s *selection) count(changes []Change) int {
	n := 0
	for i := range changes {
		if s.has(changes[i].NodeID) {
			n++
		}
	}
	return n
}

func set(ids []string) map[string]bool {
	m := make(map[string]bool, len(ids))
	for _, id := range ids {
		m[id] = true
	}
	return m
}
