package plan

import (
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/resolve"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Forms of a reference digest (ST-21). A digest in any other form counts as none.
const (
	refDigestScheme = "atlantide/ref-digest/v1"
	plainPrefix     = ir.DigestPrefix
	saltedPrefix    = "salted:"
)

// Values is what references are looked up in.
type Values = resolve.Values

// RefDigests are the digests of what the fields of a node that hold a reference or a
// combinator resolve to, as its row records them (ST-21, DF-11a). Nothing is recorded
// of a field that does not resolve, nor of one that is sensitive or reads a sensitive
// output: a plain digest of a secret could be guessed.
func RefDigests(n *ir.Node, schemas *model.Schemas, values Values) map[string]string {
	digests := map[string]string{}
	for field, value := range n.Properties {
		if !consumes(value) || sensitive(n, field, schemas) {
			continue
		}
		if digest, ok := digestOf(value, values); ok {
			digests[field] = digest
		}
	}
	return digests
}

// digestOf is false for what does not resolve or has no canonical form.
func digestOf(v any, values Values) (string, bool) {
	resolved, err := values.Resolve(v)
	if err != nil {
		return "", false
	}
	return refDigest(resolved)
}

func refDigest(resolved any) (string, bool) {
	canonical, err := ir.CanonicalJSON(resolved)
	if err != nil {
		return "", false
	}
	payload := make([]byte, 0, len(refDigestScheme)+1+len(canonical))
	payload = append(payload, refDigestScheme...)
	payload = append(payload, 0)
	return ir.SHA256(append(payload, canonical...)), true
}

// consumes reports whether v holds a reference or a combinator, at any depth.
func consumes(v any) bool {
	found := false
	model.Walk(v, func(v model.Value) bool {
		_, ref := model.AsReference(v)
		_, transform := model.AsTransform(v)
		found = found || ref || transform
		return !found
	})
	return found
}

// sensitive reports whether a field, or an output that it reads, must not leave a
// digest that anybody can compute. An unknown type is taken to be sensitive.
func sensitive(n *ir.Node, field string, schemas *model.Schemas) bool {
	if schema := schemaOf(schemas, n.Type); schema == nil || isSensitive(schema, field) {
		return true
	}
	return slices.ContainsFunc(model.References(n.Properties[field]), func(r model.Reference) bool {
		schema := schemaOf(schemas, model.TypeOf(r.NodeID))
		return schema == nil || isSensitive(schema, r.Output)
	})
}

// schemaOf is nil for a type that is not known, as every type is without schemas.
func schemaOf(schemas *model.Schemas, name string) *model.ResourceType {
	if schemas == nil {
		return nil
	}
	return schemas.Type(name)
}

func isSensitive(schema *model.ResourceType, field string) bool {
	f := schema.Field(field)
	return f != nil && f.Sensitive
}

// consumed says which fields of a node read something else than at its last write.
type consumed struct {
	moved      []string // sorted: the value is known to differ
	unrecorded []string // nothing was recorded to compare with
}

// consumedByEqual looks at a row whose hash is the desired one: its markers are the
// desired ones, and what was recorded is all that can have moved. A node stays as it
// is when `refresh --write` was the last to change every output that moved.
func (d *differ) consumedByEqual(c *candidate) (consumed, error) {
	var out consumed
	refreshed := true
	for field, digest := range c.row.RefDigests {
		if slices.Contains(c.node.IgnoreChanges, field) {
			continue
		}
		moved, err := d.moved(c, field, digest)
		if err != nil {
			return consumed{}, err
		}
		if moved {
			out.moved = append(out.moved, field)
			refreshed = refreshed && d.refreshedOnly(c.node.Properties[field])
		}
	}
	if refreshed {
		return consumed{}, nil
	}
	slices.Sort(out.moved)
	return out, nil
}

// consumedByChanged looks at a row whose hash is not the desired one.
func (d *differ) consumedByChanged(c *candidate) (consumed, error) {
	var out consumed
	for field, value := range c.node.Properties {
		if !consumes(value) || slices.Contains(c.node.IgnoreChanges, field) || !ir.Equal(c.row.Properties[field], value) {
			continue
		}
		digest := c.row.RefDigests[field]
		if !strings.HasPrefix(digest, plainPrefix) && !strings.HasPrefix(digest, saltedPrefix) {
			out.unrecorded = append(out.unrecorded, field)
			continue
		}
		moved, err := d.moved(c, field, digest)
		if err != nil {
			return consumed{}, err
		}
		if moved {
			out.moved = append(out.moved, field)
		}
	}
	slices.Sort(out.moved)
	return out, nil
}

// moved compares what a field resolves to with what was recorded. Whatever cannot be
// resolved gives no verdict.
func (d *differ) moved(c *candidate, field, digest string) (bool, error) {
	if strings.HasPrefix(digest, saltedPrefix) {
		return false, model.Errorf(model.SecretsError, model.ClassUser,
			"%s.%s was recorded with a salted digest, and there is no install key to compare it with; provide the key that wrote this state",
			c.node.ID, field)
	}
	if !strings.HasPrefix(digest, plainPrefix) {
		return false, nil
	}
	now, ok := digestOf(c.node.Properties[field], d.values)
	return ok && now != digest, nil
}

// refreshedOnly reports whether every output that value reads was last changed by a
// refresh.
func (d *differ) refreshedOnly(value any) bool {
	refs := model.References(value)
	for _, r := range refs {
		row := d.in.Snapshot.Rows[r.NodeID]
		if row == nil || !slices.Contains(row.RefreshedOutputs, r.Output) {
			return false
		}
	}
	return len(refs) > 0
}

// recorded are the values that a snapshot holds: outputs of confirmed rows, committed
// stack outputs. A sealed value is not readable here.
func recorded(s *state.Snapshot) Values {
	return Values{
		Output: func(r model.Reference) (any, bool) {
			row := s.Rows[r.NodeID]
			if row == nil || row.Status != state.StatusCreated {
				return nil, false
			}
			v, ok := row.Outputs[r.Output]
			return v, ok && !sealed(v)
		},
		StackOutput: func(key string) (any, bool) {
			out, ok := s.Outputs[key]
			return out.Value, ok && !sealed(out.Value)
		},
	}
}

// sealed reports whether v holds a sealed value, at any depth.
func sealed(v any) bool {
	if _, text := v.(string); text {
		return false
	}
	found := false
	model.Walk(v, func(v model.Value) bool {
		m, ok := v.(map[string]any)
		if ok && len(m) == 1 {
			_, ok = m[model.KeySealed]
			found = found || ok
		}
		return !found
	})
	return found
}
