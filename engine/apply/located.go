package apply

import (
	"maps"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// located is an error if something by which a provider finds what a row stands for lies
// sealed and does not open. Handed over as absent, it would make the provider say that
// nothing is there, and what exists would be forgotten. What is merely confidential, or a
// secret that does not resolve any more, keeps nothing from going (EX-17, X-23).
func (s Secrets) located(row *state.Row, schemas *model.Schemas, snapshot *state.Snapshot) error {
	schema := schemas.Type(row.Type)
	for _, name := range slices.Sorted(maps.Keys(row.Outputs)) {
		if v := row.Outputs[name]; model.IsSealed(v) && outputLocates(schema, name) {
			if _, err := s.unseal(v, row.RowUID, name); err != nil {
				return unreadable(row, err)
			}
		}
	}
	if schema != nil && schema.IdentityField != "" && row.Outputs[schema.IdentityField] != nil {
		return nil // the inputs are not what it is found by
	}
	for _, name := range slices.Sorted(maps.Keys(row.Properties)) {
		if schema == nil || inputLocates(schema, name) {
			if err := s.legible(row.Properties[name], snapshot); err != nil {
				return unreadable(row, err)
			}
		}
	}
	return nil
}

// unreadable is the error of a row of which something does not open.
func unreadable(row *state.Row, err error) error {
	return model.Errorf(model.KindOf(err), model.ClassOf(err), "what is recorded of %s cannot be read: %w", row.ID, err)
}

// outputLocates reports whether a provider may find a resource by an output: by the one that
// its type names, by an input that comes back, or, where the type says nothing, by any.
func outputLocates(schema *model.ResourceType, name string) bool {
	return schema == nil || name == schema.IdentityField || inputLocates(schema, name) ||
		schema.IdentityField == "" && schema.Address == nil
}

func inputLocates(schema *model.ResourceType, name string) bool {
	f := schema.Field(name)
	return f != nil && (f.Mutability == model.Immutable || f.PhysicalName)
}

// legible is an error if a value reads something recorded that lies sealed and does not open.
func (s Secrets) legible(v any, snapshot *state.Snapshot) error {
	var failure error
	open := func(v any, owner, field string) {
		if failure == nil && model.IsSealed(v) {
			_, failure = s.unseal(v, owner, field)
		}
	}
	for _, ref := range model.References(v) {
		if row := sourceRow(snapshot, ref.NodeID); row != nil {
			open(row.Outputs[ref.Output], row.RowUID, ref.Output)
		}
	}
	model.Walk(v, func(v model.Value) bool {
		if key, ok := model.AsStackOutput(v); ok {
			open(snapshot.Outputs[key].Value, key, "")
		}
		return failure == nil
	})
	return failure
}

// sourceRow is the recorded half that what refers to a node was made from: while the new
// one is not confirmed, the old one.
func sourceRow(snapshot *state.Snapshot, id string) *state.Row {
	row := snapshot.Rows[id]
	if entry := snapshot.Pending[id]; entry != nil && (row == nil || row.Status != state.StatusCreated) {
		return entry.Row
	}
	return row
}
