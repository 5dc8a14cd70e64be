package plan

import (
	"fmt"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Protected reports whether prevent_destroy holds for the change: the config's flag
// for what it declares, the row's for anything else (PL-2).
func (c *Change) Protected() bool {
	switch {
	case c.Desired != nil:
		return c.Desired.PreventDestroy
	case c.Prior != nil:
		return c.Prior.PreventDestroy
	default:
		return false
	}
}

// guard fails a plan that would destroy what is protected (PL-1). A conditional replace
// behind upstreams that keep their identity may turn out unnecessary: it passes with a
// warning and is judged at apply.
func guard(changes []Change) (warnings []string, err error) {
	remade := map[string]bool{}
	for i := range changes {
		if changes[i].Action == Create || changes[i].Action == Replace {
			remade[changes[i].NodeID] = true
		}
	}
	var refused []string
	for i := range changes {
		c := &changes[i]
		if !c.destroys() || !c.Protected() {
			continue
		}
		if c.Conditional && !c.readsFrom(remade) {
			warnings = append(warnings, fmt.Sprintf(
				"%s: prevent_destroy is checked at apply, when the values that it refers to are known", c.NodeID))
			continue
		}
		refused = append(refused, c.NodeID)
	}
	if len(refused) > 0 {
		slices.Sort(refused)
		err := model.Errorf(model.PreventDestroyError, model.ClassUser,
			"prevent_destroy protects %s, which this plan would destroy; undo the change, or remove the flag and plan again",
			model.Listed(refused, ", "))
		err.Nodes = refused
		return nil, err
	}
	return warnings, nil
}

// destroys reports whether the change takes a resource away. The clean-up of a replace
// that already happened does not.
func (c *Change) destroys() bool { return c.Action == Delete || c.Action == Replace }

func (c *Change) readsFrom(nodes map[string]bool) bool {
	return slices.ContainsFunc(c.ChangedFields, func(field string) bool {
		return slices.ContainsFunc(model.References(c.Desired.Properties[field]), func(r model.Reference) bool {
			return nodes[r.NodeID]
		})
	})
}
