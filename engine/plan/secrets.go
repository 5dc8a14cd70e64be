package plan

import (
	"fmt"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Secrets is what planning asks of the place where secrets are; every part of it may be
// absent. Values that it gives stay in memory and go nowhere.
type Secrets struct {
	// Resolve gives the value that a handle names. Its error is the provider's reason
	// (not found, not allowed, unreachable), with a class that says whether to try again.
	// nil: there is no provider, and a plan that a run would need one for is Unsupported.
	Resolve func(ref model.SecretRef) (string, error)
	// Digests are those of the install key; nil = there is none.
	Digests SecretDigests
	// Unsealer opens what the state holds sealed; nil = it is not readable.
	Unsealer Unsealer
	// Skip leaves every handle unresolved and unchecked: nothing is audited or required,
	// and the plan has no digest (cli.md 22).
	Skip bool
}

// SecretDigests makes and compares the keyed digests by which a rotated secret is told
// from an unchanged one (SC-13). An error is a SecretsError that names where the key is
// missing or wrong; planning never makes one (PL-4).
type SecretDigests interface {
	Digest(text, scope string) (string, error)
	// Matches reports whether digest is that of text under one of the scopes, with any
	// key that is loaded (SC-23).
	Matches(digest, text string, scopes ...string) (bool, error)
}

// Unsealer opens a sealed value. owner is the uid of the row whose output field it is, or
// the key of a committed output, field then being "". Where there is no key at all, its
// error has fs.ErrNotExist in its chain.
type Unsealer interface {
	Unseal(sealed any, owner, field string) (any, error)
}

// SecretText is what the digest of a field that holds secret handles is made of: the
// secret itself where the field is nothing but a handle, else the canonical JSON of the
// field with every handle replaced by its secret and all other markers left as they are
// (PL-7).
func SecretText(v any, resolve func(model.SecretRef) (string, error)) (string, error) {
	if ref, ok := model.AsSecretRef(v); ok {
		return resolve(ref)
	}
	revealed, err := revealed(v, resolve)
	if err != nil {
		return "", err
	}
	text, err := ir.CanonicalJSON(revealed)
	return string(text), err
}

func revealed(v any, resolve func(model.SecretRef) (string, error)) (any, error) {
	if ref, ok := model.AsSecretRef(v); ok {
		return resolve(ref)
	}
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			r, err := revealed(item, resolve)
			if err != nil {
				return nil, err
			}
			out[i] = r
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			r, err := revealed(item, resolve)
			if err != nil {
				return nil, err
			}
			out[key] = r
		}
		return out, nil
	}
	return v, nil
}

// secretScopes are what the digest of a field may have been made under: the node's id, as
// older releases do, and the id of its row, which survives a rename (SC-14).
func secretScopes(row *state.Row, field string, ids ...string) []string {
	var scopes []string
	for _, owner := range append(ids, row.ID, row.RowUID) {
		if owner != "" {
			scopes = append(scopes, owner+":"+field)
		}
	}
	return scopes
}

// requireSecrets fails a plan in which something to be done needs a secret that does not
// resolve (PL-8): the desired one, or that of a node which goes.
func requireSecrets(changes []Change, s Secrets) error {
	if s.Resolve == nil || s.Skip {
		return nil
	}
	var missing []string
	class := model.ClassUser
	for i := range changes {
		c := &changes[i]
		if !c.Actionable() {
			continue
		}
		for field, value := range c.needed() {
			for _, ref := range secretRefs(value) {
				if _, err := s.Resolve(ref); err != nil {
					missing = append(missing, fmt.Sprintf("%s.%s -> '%s' (%s)", c.NodeID, field, ref.Name, err))
					if got := model.ClassOf(err); got != model.ClassUser {
						class = got
					}
				}
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return model.Errorf(model.SecretsError, class,
		"secrets do not resolve: %s; define them, or see to it that they can be read", model.Listed(slices.Compact(missing), ", "))
}

// needed are the properties that a provider is handed for the change: of what goes, the
// recorded ones. The old half of a replace, which is cleaned up, does with what there is
// (EX-17).
func (c *Change) needed() map[string]any {
	switch {
	case c.Desired != nil:
		return c.Desired.Properties
	case c.Prior != nil:
		return c.Prior.Properties
	}
	return nil
}

// secretRefs lists the secret handles in v, at any depth.
func secretRefs(v any) []model.SecretRef {
	var refs []model.SecretRef
	model.Walk(v, func(v model.Value) bool {
		if ref, ok := model.AsSecretRef(v); ok {
			refs = append(refs, ref)
			return false
		}
		return true
	})
	return refs
}
