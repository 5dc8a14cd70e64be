package apply

import (
	"maps"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/resolve"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// sealer decides what is a secret in what is recorded, and encrypts it.
type sealer struct {
	Secrets
	schemas *model.Schemas
	values  resolve.Values
	// stored is a row as it lies in the store, nil without one; outputs are those that are
	// committed.
	stored  func(id string) *state.Row
	outputs map[string]state.Output
}

// row is a row as it may be written: sensitive outputs encrypted, and those in which a
// secret of the run turned up or one that its node was made with (SC-9, SC-10). What lies
// sealed once is sealed again, whoever knows the secret in it. The row itself stays as it is.
// What is sealed already, as in a row that is written back, is left alone. Without a recorder
// nothing is sealed, and what would be is told all the same: it may stand in an error.
func (s sealer) row(row *state.Row) (*state.Row, error) {
	var outputs map[string]any
	was := s.stored(row.ID)
	secret := s.secretOf(row)
	for name, v := range row.Outputs {
		if model.IsSealed(v) || !secret(name, v) && (was == nil || !model.IsSealed(was.Outputs[name])) {
			continue
		}
		s.told.tell(v)
		if s.Recorder == nil {
			continue
		}
		sealed, err := s.Recorder.Seal(v, row.RowUID, name)
		if err != nil {
			return nil, err
		}
		if outputs == nil {
			outputs = maps.Clone(row.Outputs)
		}
		outputs[name] = sealed
	}
	if outputs == nil {
		return row, nil
	}
	out := *row
	out.Outputs = outputs
	return &out, nil
}

// secretOf decides which outputs of a row are secret; of a type that is not known, all are.
func (s sealer) secretOf(row *state.Row) func(name string, v any) bool {
	schema := s.schemas.Type(row.Type)
	if schema == nil {
		return func(string, any) bool { return true }
	}
	forms := s.formsIn(schema, row, row.Outputs)
	return func(name string, v any) bool {
		f := schema.Field(name) // one from the config's own files is sealed as well, as it is hidden (SC-9)
		return f != nil && f.Sensitive || s.tells(v) || repeats(v, forms)
	}
}

// shownSecret decides which fields of a row a report does not show: those that are
// sensitive, that are made from what is, that lie sealed, and in which a secret turned up. All
// are the values of the row that are known, by field.
func (s sealer) shownSecret(row *state.Row, all ...map[string]any) func(field string, values ...any) bool {
	schema := s.schemas.Type(row.Type)
	if schema == nil {
		return func(string, ...any) bool { return true }
	}
	forms := s.formsIn(schema, row, all...)
	return func(field string, values ...any) bool {
		f := schema.Field(field)
		return f != nil && f.Sensitive || model.IsSealed(row.Outputs[field]) || s.sensitive(row.Properties[field]) ||
			slices.ContainsFunc(values, func(v any) bool { return s.tells(v) || repeats(v, forms) })
	}
}

// formsIn are the secrets that what belongs to a row may repeat: its own, and those that its
// node is made with.
func (s sealer) formsIn(schema *model.ResourceType, row *state.Row, all ...map[string]any) []string {
	known := s.consumed(row.Properties)
	for _, values := range all {
		for name, v := range values {
			if declared(schema, name) && !model.IsSealed(v) {
				known = append(known, confided(v)...)
			}
		}
	}
	return formsOfAll(known)
}

// declared reports whether a type keeps a field secret; what comes from the config's own
// files is as open as the config.
func declared(schema *model.ResourceType, field string) bool {
	f := schema.Field(field)
	return f != nil && f.Sensitive && !f.FromSource
}

// consumed are the sensitive values of others that a node is made with.
func (s sealer) consumed(properties map[string]any) []string {
	var texts []string
	model.Walk(properties, func(v model.Value) bool {
		if ref, ok := model.AsReference(v); ok && s.covert(ref) {
			if value, known := s.values.Output(ref); known {
				texts = append(texts, confided(value)...)
			}
		}
		if key, ok := model.AsStackOutput(v); ok && s.outputs[key].Sensitive {
			if value, known := s.values.StackOutput(key); known {
				texts = append(texts, confided(value)...)
			}
		}
		return true
	})
	return texts
}

// covert reports whether an output is a secret: its type says so, or is not known, or it
// lies sealed.
func (s sealer) covert(ref model.Reference) bool {
	schema := s.schemas.Type(model.TypeOf(ref.NodeID))
	if schema == nil || declared(schema, ref.Output) {
		return true
	}
	row := s.stored(ref.NodeID)
	return row != nil && model.IsSealed(row.Outputs[ref.Output])
}

// sensitive reports whether a value is made from a sensitive field, from a type that is not
// known, from a secret, or from a committed output that is sensitive (EX-19).
func (s sealer) sensitive(v any) bool {
	found := model.HoldsSecret(v)
	model.Walk(v, func(v model.Value) bool {
		if ref, ok := model.AsReference(v); ok {
			schema := s.schemas.Type(model.TypeOf(ref.NodeID))
			found = found || s.covert(ref) || schema.Field(ref.Output) != nil && schema.Field(ref.Output).Sensitive
		}
		if key, ok := model.AsStackOutput(v); ok {
			found = found || s.outputs[key].Sensitive
		}
		return !found
	})
	return found
}
