package state

import (
	"maps"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Clone copies the row and everything in it.
func (r *Row) Clone() *Row {
	if r == nil {
		return nil
	}
	c := *r
	c.Outputs = cloneValues(r.Outputs)
	c.Properties = cloneValues(r.Properties)
	c.Dependencies = slices.Clone(r.Dependencies)
	c.DependsOn = slices.Clone(r.DependsOn)
	c.SecretDigests = maps.Clone(r.SecretDigests)
	c.RefDigests = maps.Clone(r.RefDigests)
	c.RefreshedOutputs = slices.Clone(r.RefreshedOutputs)
	return &c
}

// Clone copies the entry and its row.
func (p *PendingDestroy) Clone() *PendingDestroy {
	if p == nil {
		return nil
	}
	return &PendingDestroy{NodeID: p.NodeID, Row: p.Row.Clone(), Mode: p.Mode}
}

// Clone copies the output and its value.
func (o Output) Clone() Output {
	return Output{Value: model.Clone(o.Value), Sensitive: o.Sensitive, SourceNodes: slices.Clone(o.SourceNodes)}
}

func cloneValues(m map[string]any) map[string]any {
	if m == nil {
		return nil
	}
	return model.Clone(m).(map[string]any)
}
