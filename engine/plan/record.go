package plan

import (
	"maps"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// needsRecord finds what the run would have to write down and no store can keep, or
// what would be read back as something else: found here, it costs no lock and no half
// of a run.
func (p *Plan) needsRecord() error {
	for i := range p.Changes {
		c := &p.Changes[i]
		if !c.Actionable() || c.Desired == nil {
			continue
		}
		for _, field := range slices.Sorted(maps.Keys(c.Desired.Properties)) {
			if err := recordable(c.NodeID+"."+field, c.Desired.Properties[field]); err != nil {
				err.NodeID, err.ResourceType = c.NodeID, c.Desired.Type
				return err
			}
		}
		if err := state.CheckDocument(c.Desired.Properties); err != nil {
			return unrecordable("the properties of "+c.NodeID+" together", err)
		}
	}
	if p.Compilation != nil {
		for _, o := range p.Compilation.Outputs {
			if err := recordable("the output '"+o.Key+"'", o.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

func recordable(what string, v any) *model.Error {
	if err := state.CheckDocument(v); err != nil {
		return unrecordable(what, err)
	}
	if model.HoldsSealed(v) {
		return model.Errorf(model.StateError, model.ClassUser,
			"%s holds the reserved form %s, which stands for an encrypted value in the state; rename that key", what, model.KeySealed)
	}
	return nil
}

func unrecordable(what string, err error) *model.Error {
	return model.Errorf(model.StateError, model.ClassUser, "%s cannot be recorded: the value %w; encode it or make it smaller", what, err)
}

// needsSealing finds a sensitive value that the run would record as plain text: the
// outputs of a node whose type computes one, and a stack output that is made of one.
// What was copied from the config's own files is not among them.
func (p *Plan) needsSealing() error {
	if p.plainSecrets || p.seals || p.schemas == nil {
		return nil
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.Desired == nil || !c.Actionable() {
			continue
		}
		if field := computedSecret(p.schemas.Type(c.Desired.Type)); field != "" {
			err := refused("%s has the sensitive output '%s', which would be recorded as plain text: this engine has no key to seal it with; "+
				"remove the resource, or make the value elsewhere", c.NodeID, field)
			err.NodeID, err.ResourceType = c.NodeID, c.Desired.Type
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.Outputs.Set)) {
		if p.tellsSecret(p.Outputs.Set[key]) {
			return refused("the output '%s' is made of a sensitive value and would be recorded as plain text: this engine has no key to seal it with; remove it", key)
		}
	}
	return nil
}

// computedSecret names a sensitive output of the type; "" without one.
func computedSecret(t *model.ResourceType) string {
	if t != nil {
		for i := range t.Fields {
			if f := &t.Fields[i]; f.Mutability == model.Computed && toSeal(f) {
				return f.Name
			}
		}
	}
	return ""
}

func toSeal(f *model.Field) bool { return f != nil && f.Sensitive && !f.FromSource }

// tellsSecret reports whether v reads a secret, or a field or a committed output that is
// sensitive.
func (p *Plan) tellsSecret(v any) bool {
	return model.HoldsSecret(v) || slices.ContainsFunc(model.References(v), func(r model.Reference) bool {
		schema := p.schemas.Type(model.TypeOf(r.NodeID))
		return schema != nil && toSeal(schema.Field(r.Output))
	}) || slices.ContainsFunc(stackOutputs(v), func(key string) bool { return p.Snapshot.Outputs[key].Sensitive })
}
