package plan

import (
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
)

// Unsynced reports whether the row of an idle node records another kind, order or
// replace mode than the config declares. No provider has to know and no plan shows it,
// but later runs go by the row: a destroy takes its order from there. So whatever run
// comes next writes it, silently (PL-3). A state-only change rewrites these columns
// with its own.
func (c *Change) Unsynced() bool {
	if c.Action != Noop || c.StateOnly || c.Desired == nil || c.Prior == nil {
		return false
	}
	return c.Prior.Kind != c.Desired.Kind ||
		c.Prior.CreateBeforeDestroy != c.Desired.CreateBeforeDestroy ||
		!slices.Equal(slices.Sorted(slices.Values(c.Prior.DependsOn)), RecordedOrder(c.Desired))
}

// Unsynced reports whether any idle node's row is to be brought in line.
func (p *Plan) Unsynced() bool {
	return slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Unsynced() })
}

// RecordedOrder is what a row keeps of depends_on: the declared edges, sorted, those that
// are references too included.
func RecordedOrder(n *ir.Node) []string {
	order := slices.Clone(n.DependsOn)
	if order == nil {
		order = []string{}
	}
	slices.Sort(order)
	return slices.Compact(order)
}
