package plan

import (
	"maps"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// findLeaks notes for every change what an interrupted create may have left that nothing
// will find again: the run goes on without it, so that its node has to be named to a person,
// and before the run, which may die as well (EX-26).
func (p *Plan) findLeaks(s Secrets) {
	var values *Values
	for i := range p.Changes {
		c := &p.Changes[i]
		if !c.Actionable() {
			continue
		}
		for _, row := range p.halves(c) {
			if !inFlight(row) {
				continue
			}
			if values == nil {
				v := p.madeFrom(s)
				values = &v
			}
			if reason := p.leak(row, *values, s.Digests); reason != "" {
				if p.Leaks == nil {
					p.Leaks = map[string]string{}
				}
				p.Leaks[row.ID] = reason
			}
		}
	}
}

// halves are the recorded halves that a change is about.
func (p *Plan) halves(c *Change) []*state.Row {
	halves := []*state.Row{c.Prior, p.Snapshot.Rows[c.NodeID]}
	if c.PendingDestroy != nil {
		halves = append(halves, c.PendingDestroy.Row)
	} else if entry := p.Snapshot.Pending[c.NodeID]; entry != nil {
		halves = append(halves, entry.Row)
	}
	return slices.DeleteFunc(halves, func(row *state.Row) bool { return row == nil })
}

// inFlight reports whether a create of the row may have been called without an answer that
// is recorded. A row that a delete marked has no hash; if what it stands for was known, it
// has its outputs.
func inFlight(row *state.Row) bool {
	return row.Status != state.StatusCreated && row.Kind != model.KindData && (row.InputHash != "" || len(row.Outputs) == 0)
}

// leak is why what a create in flight made may not be found; "" if it is.
func (p *Plan) leak(row *state.Row, values Values, digests SecretDigests) string {
	schema := schemaOf(p.schemas, row.Type)
	if schema == nil {
		return ""
	}
	if schema.Untraceable {
		return "an interrupted create may have made an object that its provider cannot find again; look for it"
	}
	if len(row.Outputs) > 0 {
		return ""
	}
	inputs := RecordedInputs(row, values, digests)
	for i := range schema.Fields {
		f := &schema.Fields[i]
		_, recorded := row.Properties[f.Name]
		if _, known := inputs[f.Name]; f.Mutability == model.Immutable && recorded && !known {
			return "an interrupted create may have left an object whose '" + f.Name + "' is not known any more; look for it"
		}
	}
	return ""
}

// madeFrom are the values that recorded halves were made from: while the new half of a
// replace is not confirmed, what refers to its node was made from the old one.
func (p *Plan) madeFrom(s Secrets) Values {
	was := *p.Snapshot
	was.Rows = maps.Clone(was.Rows)
	for id, entry := range was.Pending {
		if row := was.Rows[id]; row == nil || row.Status != state.StatusCreated {
			old := *entry.Row
			old.Status = state.StatusCreated
			was.Rows[id] = &old
		}
	}
	values := recorded(&was, s.Unsealer)
	if !s.Skip {
		values.Secret = s.Resolve
	}
	return values
}

// leakWarnings tells of the leaks, in order.
func (p *Plan) leakWarnings() []string {
	var warnings []string
	for _, id := range slices.Sorted(maps.Keys(p.Leaks)) {
		warnings = append(warnings, id+": "+p.Leaks[id])
	}
	return warnings
}
