package plan

import (
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Payload is the plan's JSON without schema_version, ok and state (PL-17, cli.md 8).
func (p *Plan) Payload() map[string]any { return p.payload(func(v any) any { return v }) }

// PublicPayload is Payload with digests in place of values, for where others may read it
// (operator.md 1.11).
func (p *Plan) PublicPayload() map[string]any { return p.payload(func(v any) any { return veiled(v) }) }

// payload shows inputs and outputs as value gives them; null stays null.
func (p *Plan) payload(value func(any) any) map[string]any {
	s := p.Summary()
	changes := make([]any, len(p.Changes))
	for i := range p.Changes {
		changes[i] = p.Changes[i].payload()
	}
	inputs, outputs := map[string]any{}, map[string]any{}
	envs := map[string]any{"declared": []any{}, "selected": []any{}}
	if c := p.Compilation; c != nil {
		for name, v := range c.Inputs {
			inputs[name] = value(v)
		}
		for _, o := range c.Outputs {
			if outputs[o.Key] = published(o.Value); outputs[o.Key] != nil {
				outputs[o.Key] = value(o.Value)
			}
		}
		envs = map[string]any{"declared": texts(c.EnvsDeclared), "selected": texts(c.EnvsSelected)}
	}
	violations := make([]any, len(p.Violations))
	for i, v := range p.Violations {
		violations[i] = map[string]any{"policy": v.Policy, "level": v.Level, "node_id": v.NodeID, "message": v.Message}
	}
	payload := map[string]any{
		"summary": map[string]any{
			"create": int64(s.Create), "update": int64(s.Update), "replace": int64(s.Replace),
			"delete": int64(s.Delete), "noop": int64(s.Noop),
		},
		"inputs":     inputs,
		"envs":       envs,
		"changes":    changes,
		"outputs":    outputs,
		"violations": violations,
		"warnings":   texts(p.Warnings),
		"blocked":    p.Blocked,
	}
	if p.SecretsSkipped {
		payload["secrets"] = "skipped"
	}
	return payload
}

func (c *Change) payload() map[string]any {
	lifecycle := map[string]any{}
	if recorded, declared, differ := c.guardFlip(); differ {
		lifecycle["prevent_destroy"] = []any{recorded, declared}
	}
	return map[string]any{
		"node_id":               c.NodeID,
		"action":                string(c.Action),
		"changed_fields":        texts(c.ChangedFields),
		"conditional":           c.Conditional,
		"upstream_moved":        texts(c.UpstreamMoved),
		"create_before_destroy": c.CreateBeforeDestroy,
		"state_only":            c.StateOnly,
		"lifecycle_changes":     lifecycle,
	}
}

// guardFlip compares the recorded guard with the declared one, of changes that carry
// both sides and are not a create (PL-3).
func (c *Change) guardFlip() (recorded, declared, differ bool) {
	if c.Prior == nil || c.Desired == nil || c.Action == Create {
		return false, false, false
	}
	recorded, declared = c.Prior.PreventDestroy, c.Desired.PreventDestroy
	return recorded, declared, recorded != declared
}

// published is an output's value, null when it holds a reference or a secret handle.
func published(v any) any {
	if model.HoldsSecret(v) || len(model.References(v)) > 0 {
		return nil
	}
	return v
}

func texts(items []string) []any {
	out := make([]any, len(items))
	for i, item := range items {
		out[i] = item
	}
	return out
}

// bodyFormat is the version of the stored body's layout.
const bodyFormat = 1

// Body is what a plan record stores, canonical: the payload to show, the text as it was
// shown, and the parts of the changeset digest, so that a reader can name what an
// approval covers and compute its digest again.
func (p *Plan) Body() ([]byte, error) {
	changeset, err := p.changeset()
	if err != nil {
		return nil, err
	}
	return ir.CanonicalJSON(map[string]any{
		"format":    int64(bodyFormat),
		"plan":      p.Payload(),
		"text":      p.Text(),
		"changeset": changeset,
	})
}
