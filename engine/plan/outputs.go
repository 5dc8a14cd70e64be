package plan

import (
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Empty reports whether the commit of outputs would change nothing.
func (o OutputChanges) Empty() bool { return len(o.Set) == 0 && len(o.Retired) == 0 }

// outputChanges compares declared outputs with committed ones (EX-19…EX-22). A plan
// without a compilation declares nothing.
func outputChanges(p *Plan, chosen *selection) OutputChanges {
	out := OutputChanges{Set: map[string]any{}}
	declared, stacks := map[string]bool{}, map[string]bool{}
	if c := p.Compilation; c != nil {
		busy := map[string]bool{}
		for i := range p.Changes {
			if p.Changes[i].Actionable() {
				busy[p.Changes[i].NodeID] = true
			}
		}
		values := recorded(p.Snapshot, p.unsealer)
		for _, o := range c.Outputs {
			declared[o.Key] = true
			stacks[model.StackOf(o.Key)] = true
			switch moves, known := outputMoves(o, busy, values); {
			case moves:
				out.Set[o.Key] = o.Value
			case !known:
				if out.Unresolved == nil {
					out.Unresolved = map[string]any{}
				}
				out.Unresolved[o.Key] = o.Value
			}
		}
		if len(p.Snapshot.Outputs) > 0 {
			for i := range c.Document.Nodes {
				stacks[model.StackOf(c.Document.Nodes[i].ID)] = true
			}
		}
	}
	out.Retired = p.retired(chosen, declared, stacks)
	return out
}

// retired lists the committed outputs of this run's stacks that nothing declares any more:
// of the stacks that the config speaks of, environments that are left out excepted, and of
// those that the run leaves without a row. A destroy of some nodes also takes what was
// made from them; what another config committed stays as long as its rows do (EX-21).
func (p *Plan) retired(chosen *selection, declared, stacks map[string]bool) []string {
	if len(p.Snapshot.Outputs) == 0 {
		return nil
	}
	gone, kept := map[string]bool{}, map[string]bool{}
	for i := range p.Changes {
		switch c := &p.Changes[i]; {
		case c.Action == Delete:
			gone[c.NodeID] = true
		case p.Snapshot.Rows[c.NodeID] != nil || c.Action != Noop:
			kept[model.StackOf(c.NodeID)] = true
		}
	}
	var retired []string
	for key, committed := range p.Snapshot.Outputs {
		stack := model.StackOf(key)
		switch {
		case declared[key], chosen.outside(key):
		case stacks[stack], !kept[stack], p.Compilation == nil && slices.ContainsFunc(committed.SourceNodes, func(id string) bool { return gone[id] }):
			retired = append(retired, key)
		}
	}
	slices.Sort(retired)
	return retired
}

// outputMoves reports whether the value differs from the committed one or is not known
// before the run. One that nothing in this run makes resolvable, which is not known then
// either, keeps what is committed (EX-19); what is committed is compared unsealed (EX-22).
func outputMoves(o ir.Output, busy map[string]bool, values Values) (moves, known bool) {
	if slices.ContainsFunc(model.References(o.Value), func(r model.Reference) bool { return busy[r.NodeID] }) {
		return true, false
	}
	value, err := values.Resolve(o.Value)
	if err != nil {
		return false, false
	}
	committed, ok := values.StackOutput(o.Key)
	return !ok || !ir.Equal(committed, value), true
}
