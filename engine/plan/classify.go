package plan

import (
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// changedFields lists the fields whose recorded value is missing, different or no
// longer wanted, ignored ones excepted; sorted (DF-4).
func changedFields(n *ir.Node, row *state.Row) []string {
	var changed []string
	for field, want := range n.Properties {
		if have, ok := row.Properties[field]; !ok || !ir.Equal(have, want) {
			changed = append(changed, field)
		}
	}
	for field := range row.Properties {
		if _, ok := n.Properties[field]; !ok {
			changed = append(changed, field)
		}
	}
	if len(n.IgnoreChanges) > 0 {
		changed = slices.DeleteFunc(changed, func(field string) bool { return slices.Contains(n.IgnoreChanges, field) })
	}
	slices.Sort(changed)
	return changed
}

// classify turns what is known of a recorded node into a verdict (DF-7, DF-8). moved
// tells which upstreams change in this run; nil in the first pass, where none does.
func (d *differ) classify(c *candidate, moved func(id string) bool) verdict {
	fields := slices.Clone(c.own)
	if moved != nil {
		fields = append(fields, attributed(c.node, moved)...)
	}
	var known []string
	for _, field := range c.consumed.moved {
		if d.keepsOutputs(c, field, moved != nil) {
			known = append(known, field)
		}
	}
	fields = append(fields, known...)
	if len(fields) == 0 && c.row.InputHash != "" && c.row.InputHash != c.hash {
		for _, field := range c.consumed.unrecorded {
			if d.keepsOutputs(c, field, moved != nil) {
				fields = append(fields, field)
			}
		}
	}
	slices.Sort(fields)
	v := verdict{action: Update, fields: slices.Compact(fields), moved: known}
	if c.node.Kind == model.KindData {
		return v
	}
	if immutable := c.immutable(v.fields); len(immutable) > 0 {
		v.action = Replace
		v.conditional = !slices.ContainsFunc(immutable, func(field string) bool {
			return slices.Contains(known, field) || len(model.References(c.node.Properties[field])) == 0
		})
	}
	return v
}

// attributed lists the fields that read from a moved upstream, ignored ones excepted.
func attributed(n *ir.Node, moved func(id string) bool) []string {
	if !slices.ContainsFunc(n.Dependencies, moved) {
		return nil
	}
	var fields []string
	for field, value := range n.Properties {
		if slices.Contains(n.IgnoreChanges, field) {
			continue
		}
		if slices.ContainsFunc(model.References(value), func(r model.Reference) bool { return moved(r.NodeID) }) {
			fields = append(fields, field)
		}
	}
	return fields
}

func (c *candidate) immutable(fields []string) []string {
	return immutableFields(c.schema, fields)
}

// immutableFields picks the immutable ones. Fields and types that the schema does not
// know count as mutable (DF-9).
func immutableFields(schema *model.ResourceType, fields []string) []string {
	if schema == nil {
		return nil
	}
	var immutable []string
	for _, name := range fields {
		if f := schema.Field(name); f != nil && f.Mutability == model.Immutable {
			immutable = append(immutable, name)
		}
	}
	return immutable
}
