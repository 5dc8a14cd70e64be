package applytest

import (
	"fmt"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Faults are the ways in which what is recorded is wrong of the world, at any moment at
// which no run is at work: something exists that no row stands for and no plan has named as
// possibly left, or a row that counts as done is not what it stands for. Nothing in the
// snapshot is sealed.
func (w World) Faults(s *state.Snapshot, named map[string]bool) []string {
	var faults []string
	for id, o := range w.Objects {
		entry := s.Pending[o.Node]
		if !standsFor(s.Rows[o.Node], o) && (entry == nil || !standsFor(entry.Row, o)) && (!named[o.Node] || o.traceable()) {
			faults = append(faults, fmt.Sprintf("%s (%s, attempt %s) exists, and nothing says so", id, o.Node, o.Attempt))
		}
	}
	for id, row := range s.Rows {
		if row.Kind != model.KindData && row.Status == state.StatusCreated && row.InputHash != "" {
			faults = append(faults, w.wrong(id, row)...)
		}
	}
	slices.Sort(faults)
	return faults
}

// traceable: what made it can find it again, whatever became of its name.
func (o *Object) traceable() bool { return model.TypeOf(o.Node) == Thing }

// standsFor reports whether a run that knows the row gets to the object.
func standsFor(row *state.Row, o *Object) bool {
	return row != nil && (row.Outputs["id"] == o.ID || row.Status == state.StatusCreating && row.Attempt == o.Attempt)
}

// wrong is what a row that counts as done says and is not so.
func (w World) wrong(id string, row *state.Row) []string {
	name, _ := row.Outputs["id"].(string)
	o := w.Objects[name]
	if o == nil {
		return []string{fmt.Sprintf("the row of %s counts as done, and its %s does not exist", id, name)}
	}
	var faults []string
	for field, is := range map[string]string{"key": o.Key, "value": o.Value} {
		if says, literal := row.Properties[field].(string); literal && says != is {
			faults = append(faults, fmt.Sprintf("the row of %s says %s = %s, and it is %s", id, field, says, is))
		}
	}
	if row.Outputs["sum"] != Sum(o.Value) {
		faults = append(faults, fmt.Sprintf("the row of %s says sum = %v, and it is %s", id, row.Outputs["sum"], Sum(o.Value)))
	}
	return faults
}

// Opened is a snapshot with nothing sealed in its outputs. What does not open is absent.
func Opened(s *state.Snapshot, unseal func(v any, owner, field string) (any, error)) *state.Snapshot {
	opened := *s
	opened.Rows, opened.Pending = make(map[string]*state.Row, len(s.Rows)), make(map[string]*state.PendingDestroy, len(s.Pending))
	open := func(row *state.Row) *state.Row {
		plain := *row
		plain.Outputs = make(map[string]any, len(row.Outputs))
		for name, v := range row.Outputs {
			if sealed, ok := v.(map[string]any); ok && sealed[model.KeySealed] != nil {
				var err error
				if v, err = unseal(v, row.RowUID, name); err != nil {
					continue
				}
			}
			plain.Outputs[name] = v
		}
		return &plain
	}
	for id, row := range s.Rows {
		opened.Rows[id] = open(row)
	}
	for id, entry := range s.Pending {
		opened.Pending[id] = &state.PendingDestroy{NodeID: id, Row: open(entry.Row), Mode: entry.Mode}
	}
	return &opened
}

// Forget takes away what a plan named as possibly left and no row stands for, as its reader
// would.
func (w World) Forget(s *state.Snapshot, named map[string]bool) {
	for id, o := range w.Objects {
		if named[o.Node] && !o.traceable() && !standsFor(s.Rows[o.Node], o) {
			delete(w.Objects, id)
		}
	}
}
