package plan

import (
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Empty reports whether the commit of outputs would change nothing.
func (o OutputChanges) Empty() bool { return len(o.Set) == 0 && len(o.Retired) == 0 }

// outputChanges compares declared outputs with committed ones (EX-19…EX-22). A nil
// compilation declares nothing.
func outputChanges(c *ir.Compilation, changes []Change, snapshot *state.Snapshot) OutputChanges {
	out := OutputChanges{Set: map[string]any{}}
	declared := map[string]bool{}
	if c != nil {
		busy := map[string]bool{}
		for i := range changes {
			if changes[i].Actionable() {
				busy[changes[i].NodeID] = true
			}
		}
		values := recorded(snapshot)
		for _, o := range c.Outputs {
			declared[o.Key] = true
			if outputMoves(o, busy, values, snapshot) {
				out.Set[o.Key] = o.Value
			}
		}
	}
	// Without a narrowed run every stack of the partition is this run's: it is declared,
	// or it is left without a row. So whatever is not declared is retired (EX-21).
	for key := range snapshot.Outputs {
		if !declared[key] {
			out.Retired = append(out.Retired, key)
		}
	}
	slices.Sort(out.Retired)
	return out
}

// outputMoves reports whether the value differs from the committed one or is not known
// before the run. One that nothing in this run makes resolvable keeps what is
// committed (EX-19).
func outputMoves(o ir.Output, busy map[string]bool, values Values, snapshot *state.Snapshot) bool {
	if slices.ContainsFunc(model.References(o.Value), func(r model.Reference) bool { return busy[r.NodeID] }) {
		return true
	}
	value, err := values.Resolve(o.Value)
	if err != nil {
		return false
	}
	committed, ok := snapshot.Outputs[o.Key]
	return !ok || !ir.Equal(committed.Value, value)
}
