package plan

import (
	"maps"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// FieldChange is how one place in the properties of a node changes (cli.md 22). What must
// not be shown is nil on both sides.
type FieldChange struct {
	// Path is the field's name, then how the place is reached in its value:
	// "statements[Sid='Read'].Action[1]", "content:3" for a line of a text.
	Path      string
	Old, New  any  // nil where there is nothing, and where it is not known
	Added     bool // there is no old side
	Removed   bool // there is no new side
	Sensitive bool // with Unknown, it is the old side that is secret
	Unknown   bool // the new side is known only after an apply
	Moved     bool // the same reference gives another value than at the last apply (DF-11a)
	Reordered bool // of a list: the same items; Old and New are what identifies them

	unrecorded bool // the old side is a reference, and what it gave is not known any more
}

// maxPlaces is how many places of one node are told apart.
const maxPlaces = 1000

// Fields are the places in which a change changes its node, field by field in order, those
// of an update and a replace only as far as they differ; omitted is how many more there
// are, a value that differs in several places counting once. An idle node has none.
func (p *Plan) Fields(c *Change) (changes []FieldChange, omitted int) {
	w := &places{tells: p.tellsSecret}
	switch c.Action {
	case Create:
		for _, field := range slices.Sorted(maps.Keys(c.Desired.Properties)) {
			w.field(field, side{}, shownSide(p.newSide(c, field)), isHidden(p.schemas, c.Desired.Type, field))
		}
	case Delete:
		row := c.recordedRow()
		for _, field := range slices.Sorted(maps.Keys(row.Properties)) {
			w.field(field, shownSide(row.Properties[field]), side{}, isHidden(p.schemas, row.Type, field))
		}
	case Update, Replace:
		values := recorded(p.Snapshot, nil) // what lies sealed is not shown
		for _, field := range c.ChangedFields {
			w.changed(p, c, field, values)
		}
	case Noop:
	}
	return w.list, w.omitted
}

// PayloadWithValues is Payload with the places that each change changes: "fields", and
// "fields_omitted" where there are more than those.
func (p *Plan) PayloadWithValues() map[string]any {
	payload := p.Payload()
	changes, _ := payload["changes"].([]any)
	for i := range p.Changes {
		change, _ := changes[i].(map[string]any)
		fields, omitted := p.Fields(&p.Changes[i])
		listed := make([]any, len(fields))
		for k, f := range fields {
			listed[k] = f.payload()
		}
		change["fields"] = listed
		if omitted > 0 {
			change["fields_omitted"] = int64(omitted)
		}
	}
	return payload
}

func (f FieldChange) payload() map[string]any {
	return map[string]any{"path": f.Path, "old": f.Old, "new": f.New, "sensitive": f.Sensitive, "unknown": f.Unknown}
}

// changed compares a field that a change names.
func (w *places) changed(p *Plan, c *Change, field string, values Values) {
	if slices.Contains(c.UpstreamMoved, field) {
		value, hidden := p.movedValue(c, field, values)
		f := FieldChange{Path: printable(field), New: value, Moved: true, Sensitive: hidden}
		w.add(f)
		return
	}
	noted := len(w.list) + w.omitted
	before, after := shownSide(p.oldSide(c, field, values)), shownSide(p.newSide(c, field))
	w.field(field, before, after, isHidden(p.schemas, c.Desired.Type, field))
	if noted == len(w.list)+w.omitted {
		w.leaf(printable(field), before, after) // the same reference, to something that changes
	}
}

// field compares a field. A value that is not set is no side of it.
func (w *places) field(name string, before, after side, hidden bool) {
	if hidden && (before.present || after.present) {
		w.add(FieldChange{Path: printable(name), Added: !before.present, Removed: !after.present, Sensitive: true})
		return
	}
	if before.present || after.present {
		w.compare(printable(name), before, after, 0)
	} else {
		w.add(FieldChange{Path: printable(name)}) // as "(forced)", which is no field
	}
}

// shownSide is absent for a value that is not set.
func shownSide(v any) side { return side{value: v, present: v != nil} }

// newSide is what the config declares.
func (p *Plan) newSide(c *Change, field string) any { return c.Desired.Properties[field] }

// oldSide is what a field was at the last write. Of a reference that is the recorded
// value, as long as its digest proves that it still is.
func (p *Plan) oldSide(c *Change, field string, values Values) any {
	row := c.recordedRow()
	old := row.Properties[field]
	if digest := row.RefDigests[field]; digest != "" {
		if now, _ := digestOf(old, values); now == digest {
			if resolved, err := values.Resolve(old); err == nil {
				return resolved
			}
		}
	}
	return old
}

// movedValue is what a reference gives now that its upstream stays as it is, unless that
// is a secret.
func (p *Plan) movedValue(c *Change, field string, values Values) (value any, hidden bool) {
	value = p.newSide(c, field)
	if sensitive(c.Desired, field, p.schemas) || p.tellsSecret(value) {
		return nil, true
	}
	resolved, err := values.Resolve(value)
	return resolved, err != nil // what lies sealed does not resolve here
}

// recordedRow is the recorded side of a change that has one: the old half, where an
// interrupted replace left it.
func (c *Change) recordedRow() *state.Row {
	if c.PendingDestroy != nil {
		return c.PendingDestroy.Row
	}
	return c.Prior
}

// isHidden reports whether the values of a field are never shown, literals included. What
// a type that is not known takes for a secret nobody can tell.
func isHidden(schemas *model.Schemas, resourceType, field string) bool {
	schema := schemaOf(schemas, resourceType)
	return schema == nil || isSensitive(schema, field)
}
