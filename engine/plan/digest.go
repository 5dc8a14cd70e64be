package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// changesetFormat is the version of the digest's input; another layout needs another
// number, so that no approval carries over by accident.
const changesetFormat = 1

// ChangesetDigest is the digest that an approval names (AP-33): "sha256:" and the hex
// SHA-256 of the canonical changeset. It says what a run would do to which recorded
// state, and nothing of where or when it was planned: no serial, no time, no revision.
func (p *Plan) ChangesetDigest() (string, error) {
	if p.SecretsSkipped {
		return "", model.Errorf(model.SecretsError, model.ClassUser,
			"a plan that looked at no secret has no digest; plan again with the secrets")
	}
	changeset, err := p.changeset()
	if err != nil {
		return "", err
	}
	return ir.PrefixedDigest(changeset)
}

func (p *Plan) changeset() (map[string]any, error) {
	c := p.Compilation
	if c == nil {
		c = &ir.Compilation{}
	}
	inputs, err := ir.Digest(orEmpty(c.Inputs))
	if err != nil {
		return nil, model.Errorf(model.KindOf(err), model.ClassOf(err), "inputs: %w", err)
	}
	nodes := []any{}
	for i := range p.Changes {
		if !p.Changes[i].Pending() {
			continue
		}
		node, err := p.Changes[i].digestEntry()
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, node)
	}
	policies, err := p.policyEntries(c)
	if err != nil {
		return nil, err
	}
	external, err := p.external()
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"format":    int64(changesetFormat),
		"inputs":    inputs,
		"envs":      map[string]any{"declared": texts(c.EnvsDeclared), "selected": texts(c.EnvsSelected)},
		"targets":   texts(distinct(p.Targets)),
		"replace":   texts(distinct(p.Replace)),
		"onFailure": p.OnFailure,
		"pins":      pins(c.Pins),
		"nodes":     nodes,
		"policies":  policies,
		"outputs":   p.Outputs.digestEntry(),
		"external":  external,
	}, nil
}

func (c *Change) digestEntry() (map[string]any, error) {
	entry := map[string]any{
		"id":                  c.NodeID,
		"action":              string(c.Action),
		"changedFields":       texts(c.ChangedFields),
		"conditional":         c.Conditional,
		"createBeforeDestroy": c.CreateBeforeDestroy,
		"stateOnly":           c.StateOnly,
		"desired":             nil,
		"prior":               nil,
		"guard":               c.Protected(),
	}
	if c.Desired != nil {
		desired, err := desiredDigest(c.Desired, c.DesiredHash)
		if err != nil {
			return nil, err
		}
		entry["desired"] = desired
	}
	if c.Prior != nil || c.PendingDestroy != nil {
		prior, err := priorDigest(c.Prior, c.PendingDestroy)
		if err != nil {
			return nil, err
		}
		entry["prior"] = prior
	}
	return entry, nil
}

// desiredDigest is the Merkle hash. It does not cover ignored fields, which are handed
// to the provider all the same (DF-28); where there are any, they are digested with it.
func desiredDigest(n *ir.Node, hash string) (string, error) {
	ignored := map[string]any{}
	for _, field := range n.IgnoreChanges {
		if value, ok := n.Properties[field]; ok {
			ignored[field] = value
		}
	}
	if len(ignored) == 0 {
		return hash, nil
	}
	return ir.Digest(map[string]any{"hash": hash, "ignored": ignored})
}

// priorDigest covers what the recorded side is: not when, by whom or in which try it
// was written.
func priorDigest(row *state.Row, pending *state.PendingDestroy) (string, error) {
	identity := map[string]any{"row": nil, "pending": nil}
	if row != nil {
		identity["row"] = rowIdentity(row)
	}
	if pending != nil {
		identity["pending"] = map[string]any{"mode": pending.Mode, "row": rowIdentity(pending.Row)}
	}
	digest, err := recordedDigest(identity)
	if err != nil {
		if row == nil {
			row = pending.Row
		}
		return "", model.Errorf(model.KindOf(err), model.ClassOf(err), "what is recorded of %s: %w", row.ID, err)
	}
	return digest, nil
}

// recordedDigest is ir.Digest, save that what a provider answered may hold an integer that
// canonical JSON cannot.
func recordedDigest(v any) (string, error) {
	data, err := ir.CanonicalJSON(v)
	if model.IsKind(err, model.IRError) {
		data, err = model.EncodeJSON(v)
	}
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

func rowIdentity(r *state.Row) map[string]any {
	return map[string]any{
		"type":            r.Type,
		"provider":        r.Provider,
		"input_hash":      r.InputHash,
		"outputs":         orEmpty(r.Outputs),
		"properties":      orEmpty(r.Properties),
		"dependencies":    texts(r.Dependencies),
		"depends_on":      texts(r.DependsOn),
		"prevent_destroy": r.PreventDestroy,
		"status":          r.Status,
		"ref_digests":     pins(r.RefDigests),
		"secret_digests":  pins(r.SecretDigests),
	}
}

// external are the digests of the committed stack outputs that pending nodes and outputs
// read: the values are handed on, so an approval covers them.
func (p *Plan) external() (map[string]any, error) {
	digests := map[string]any{}
	read := func(v any) error {
		for _, key := range stackOutputs(v) {
			committed, ok := p.Snapshot.Outputs[key]
			if !ok || digests[key] != nil {
				continue
			}
			digest, err := recordedDigest(committed.Value)
			if err != nil {
				return model.Errorf(model.KindOf(err), model.ClassOf(err), "the stack output '%s': %w", key, err)
			}
			digests[key] = digest
		}
		return nil
	}
	for i := range p.Changes {
		if c := &p.Changes[i]; c.Actionable() && c.Desired != nil {
			if err := read(c.Desired.Properties); err != nil {
				return nil, err
			}
		}
	}
	return digests, read(p.Outputs.Set)
}

// digestEntry covers what is asked of outputs, those that stay as they are included: what
// they say is not in any node's hash.
func (o OutputChanges) digestEntry() map[string]any {
	entry := map[string]any{"set": orEmpty(o.Set), "retired": texts(o.Retired)}
	if len(o.Unresolved) > 0 {
		entry["unresolved"] = o.Unresolved
	}
	return entry
}

// distinct is sorted and without repetitions: the order in which patterns were given says
// nothing.
func distinct(patterns []string) []string { return slices.Sorted(maps.Keys(set(patterns))) }

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

func pins(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for key, text := range m {
		out[key] = text
	}
	return out
}
