package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
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
			strings.Join(refused, ", "))
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

// requireStackOutputs fails a plan in which something to be created or changed reads a
// stack output that nobody committed yet (PL-9).
func requireStackOutputs(changes []Change, outputs map[string]state.Output) error {
	var missing []string
	for i := range changes {
		c := &changes[i]
		if !c.Actionable() || c.Desired == nil {
			continue
		}
		for field, value := range c.Desired.Properties {
			for _, key := range stackOutputs(value) {
				if _, ok := outputs[key]; !ok {
					missing = append(missing, fmt.Sprintf("%s.%s -> '%s'", c.NodeID, field, key))
				}
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return model.Errorf(model.AtlantideError, model.ClassUser,
		"stack outputs are not committed yet: %s; apply the stack that declares them first", strings.Join(missing, ", "))
}

// stackOutputs lists the keys of the stack outputs that v reads, at any depth.
func stackOutputs(v any) []string {
	var keys []string
	model.Walk(v, func(v model.Value) bool {
		if key, ok := model.AsStackOutput(v); ok {
			keys = append(keys, key)
		}
		return true
	})
	return keys
}
