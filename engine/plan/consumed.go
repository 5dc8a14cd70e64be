package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
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
	refScope        = "$ref:" // scope of a salted digest, before the field's name
)

// Values is what references are looked up in.
type Values = resolve.Values

// RefDigests are the digests of what the fields of a node that hold a reference or a
// combinator resolve to, as its row records them (ST-21, DF-11a). Nothing is recorded of a
// field that does not resolve. That of one that is sensitive or reads a sensitive output, or
// one that covert says so of, is salted, since a plain digest of a secret could be guessed;
// without a salt nothing is recorded of it. covert may be nil.
func RefDigests(n *ir.Node, schemas *model.Schemas, values Values, covert func(model.Reference) bool,
	salt func(text, scope string) (string, error)) (map[string]string, error) {
	digests := map[string]string{}
	values = markStackOutputs(values)
	values.Secret = nil
	for field, value := range n.Properties {
		if !consumes(value) {
			continue
		}
		if !sensitive(n, field, schemas) && (covert == nil || !slices.ContainsFunc(model.References(value), covert)) {
			if digest, ok := digestOf(value, values); ok {
				digests[field] = digest
			}
			continue
		}
		text, ok := canonicalOf(value, values)
		if !ok || salt == nil {
			continue
		}
		digest, err := salt(text, refScope+field)
		if err != nil {
			return nil, err
		}
		digests[field] = saltedPrefix + digest
	}
	return digests, nil
}

// canonicalOf is what a salted digest is of; false for what does not resolve or has no
// canonical form.
func canonicalOf(v any, values Values) (string, bool) {
	resolved, err := values.Resolve(v)
	if err != nil {
		return "", false
	}
	text, err := ir.CanonicalJSON(resolved)
	return string(text), err == nil
}

// markStackOutputs leaves the outputs of others as markers: a digest is of what a node's
// own upstreams give, and the audit looks after the others (DF-20, PL-10).
func markStackOutputs(values Values) Values {
	values.StackOutput = func(key string) (any, bool) { return model.StackOutputMarker(key), true }
	return values
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

// consumedByEqual lists the fields that are known to have moved of a row whose hash is
// the desired one: its markers are the desired ones, and what was recorded is all that
// can have moved. A node stays as it is when `refresh --write` was the last to change
// every output that moved.
func (d *differ) consumedByEqual(c *candidate) ([]string, error) {
	var fields []string
	refreshed := true
	for field, digest := range c.row.RefDigests {
		if len(c.node.IgnoreChanges) > 0 && slices.Contains(c.node.IgnoreChanges, field) {
			continue
		}
		moved, err := d.moved(c, field, digest)
		if err != nil {
			return nil, err
		}
		if moved {
			fields = append(fields, field)
			refreshed = refreshed && d.refreshedOnly(c.node.Properties[field])
		}
	}
	if refreshed {
		return nil, nil
	}
	slices.Sort(fields)
	return fields, nil
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
	salted := strings.HasPrefix(digest, saltedPrefix)
	if !salted && !strings.HasPrefix(digest, plainPrefix) {
		return false, nil
	}
	if salted && d.in.SkipSecrets {
		return false, nil
	}
	if salted && d.in.Digests == nil {
		return false, model.Errorf(model.SecretsError, model.ClassUser,
			"%s.%s was recorded with a salted digest, and there is no install key to compare it with; provide the key that wrote this state",
			c.node.ID, field)
	}
	value, ok := d.resolved(c.node.Properties[field])
	if !ok {
		return false, nil
	}
	if salted {
		text, err := ir.CanonicalJSON(value)
		if err != nil {
			return false, nil //nolint:nilerr // what has no canonical form gives no verdict
		}
		same, err := d.in.Digests.Matches(strings.TrimPrefix(digest, saltedPrefix), string(text), refScope+field)
		return err == nil && !same, err
	}
	return !d.digestIs(value, digest), nil
}

// resolved is a value as the recorded outputs give it. A plain reference, which most
// are, is looked up without a copy.
func (d *differ) resolved(v any) (any, bool) {
	if ref, ok := model.AsReference(v); ok {
		return d.values.Output(ref)
	}
	resolved, err := d.values.Resolve(v)
	return resolved, err == nil
}

// digestIs reports whether a plain digest is the value's. It reuses its buffer, as it
// runs for everything that did not change. A value without a canonical form counts as
// unmoved: nothing is known of it.
func (d *differ) digestIs(value any, digest string) bool {
	d.scratch = append(append(d.scratch[:0], refDigestScheme...), 0)
	payload, err := ir.AppendCanonical(d.scratch, value)
	if err != nil {
		return true
	}
	d.scratch = payload
	sum := sha256.Sum256(payload)
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], sum[:])
	return string(text[:]) == digest[len(plainPrefix):]
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
// stack outputs. A sealed value is readable through the unsealer alone; without one, or
// where it does not open, there is no value.
func recorded(s *state.Snapshot, unsealer Unsealer) Values {
	open := func(v any, owner, field string) (any, bool) {
		if !model.HoldsSealed(v) {
			return v, true
		}
		if unsealer == nil {
			return nil, false
		}
		plain, err := unsealer.Unseal(v, owner, field)
		return plain, err == nil
	}
	return Values{
		Output: func(r model.Reference) (any, bool) {
			row := s.Rows[r.NodeID]
			if row == nil || row.Status != state.StatusCreated {
				return nil, false
			}
			v, ok := row.Outputs[r.Output]
			if !ok {
				return nil, false
			}
			return open(v, row.RowUID, r.Output)
		},
		StackOutput: func(key string) (any, bool) {
			out, ok := s.Outputs[key]
			if !ok {
				return nil, false
			}
			return open(out.Value, key, "")
		},
	}
}

// keyless is an Unsealer that remembers whether there was no key to open something with.
// Under a foreign key a sealed value merely gives no verdict (PL-6); without any, nothing
// is known of what moved, and the plan fails.
type keyless struct {
	Unsealer
	err error
}

func (k *keyless) Unseal(sealed any, owner, field string) (any, error) {
	plain, err := k.Unsealer.Unseal(sealed, owner, field)
	if k.err == nil && errors.Is(err, fs.ErrNotExist) {
		k.err = err
	}
	return plain, err
}
