package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// audit finds the idle nodes that hold a secret, or read another stack's output, which
// is not the one they were applied with (PL-4…PL-6, PL-10). It runs once, and looks at
// what is selected only.
type audit struct {
	Secrets
	outputs    map[string]state.Output
	former     map[string]string   // node id → the id that its row was recorded under (DF-24)
	rotated    map[string][]string // node id → sorted fields
	matched    bool
	mismatched int
}

func (a *audit) run(changes []Change) error {
	a.rotated = map[string][]string{}
	secrets := a.Resolve != nil && !a.Skip
	for i := range changes {
		c := &changes[i]
		if c.Action != Noop || c.Desired == nil || c.Prior == nil || !secrets && len(c.Prior.SecretDigests) == 0 {
			continue
		}
		fields := a.movedOutputs(c)
		if secrets {
			rotated, err := a.rotatedFields(c)
			if err != nil {
				return err
			}
			fields = append(fields, rotated...)
		}
		if len(fields) > 0 {
			slices.Sort(fields)
			a.rotated[c.NodeID] = slices.Compact(fields)
		}
	}
	return nil
}

// rotatedFields are the fields with a secret that is not the recorded one; a field without
// a record counts as one. An idle node does not need its secret: one that does not resolve
// says nothing.
func (a *audit) rotatedFields(c *Change) ([]string, error) {
	var rotated []string
	missed := false
	for field, value := range c.Desired.Properties {
		if !model.HoldsSecret(value) || slices.Contains(c.Desired.IgnoreChanges, field) {
			continue
		}
		recorded := c.Prior.SecretDigests[field]
		matches, err := a.matches(c, field, value, recorded)
		switch {
		case errors.Is(err, errUnresolved):
		case err != nil:
			return nil, err
		case matches:
			a.matched = true
		default:
			missed = missed || recorded != ""
			rotated = append(rotated, field)
		}
	}
	if missed {
		a.mismatched++
	}
	return rotated, nil
}

var errUnresolved = errors.New("the secret does not resolve")

func (a *audit) matches(c *Change, field string, value any, recorded string) (bool, error) {
	if recorded != "" && a.Digests == nil {
		return false, model.Errorf(model.SecretsError, model.ClassUser,
			"%s.%s was recorded with the digest of its secret, and there is no install key to compare it with; provide the key that wrote this state",
			c.NodeID, field)
	}
	text, err := SecretText(value, a.Resolve)
	if err != nil {
		return false, errUnresolved
	}
	if recorded == "" {
		return false, nil
	}
	return a.Digests.Matches(recorded, text, secretScopes(c.Prior, field, a.former[c.NodeID])...)
}

// warnings say when the key looks wrong rather than the secrets changed (PL-6).
func (a *audit) warnings() []string {
	if a.matched || a.mismatched < 2 {
		return nil
	}
	return []string{fmt.Sprintf(
		"every secret that was recorded reads as rotated, in %d resources: the secrets_key is probably not the one that wrote this state", a.mismatched)}
}

// outputScope begins the name under which a row keeps the digest of a stack output that it
// was applied with, beside those of its secrets. No field bears such a name.
const outputScope = model.KeyStackOutput + ":"

// StackOutputDigests are the digests of the committed outputs that the fields of a node
// read; its row keeps them among its secret digests (PL-10). Nothing is recorded of a
// sensitive output: a plain digest of a secret could be guessed.
func StackOutputDigests(n *ir.Node, committed map[string]state.Output) map[string]string {
	var digests map[string]string
	for _, key := range stackOutputs(n.Properties) {
		if digest, ok := outputDigest(committed, key); ok {
			if digests == nil {
				digests = map[string]string{}
			}
			digests[outputScope+key] = digest
		}
	}
	return digests
}

func outputDigest(committed map[string]state.Output, key string) (string, bool) {
	out, ok := committed[key]
	if !ok || out.Sensitive || model.HoldsSealed(out.Value) {
		return "", false
	}
	return refDigest(out.Value)
}

// movedOutputs are the fields that read a committed output whose value is not the recorded
// one. A row without a record stays as it is.
func (a *audit) movedOutputs(c *Change) []string {
	moved := map[string]bool{}
	for name, recorded := range c.Prior.SecretDigests {
		key, ok := strings.CutPrefix(name, outputScope)
		if !ok {
			continue
		}
		if now, known := outputDigest(a.outputs, key); known && now != recorded {
			moved[key] = true
		}
	}
	if len(moved) == 0 {
		return nil
	}
	var fields []string
	for _, field := range slices.Sorted(maps.Keys(c.Desired.Properties)) {
		reads := slices.ContainsFunc(stackOutputs(c.Desired.Properties[field]), func(key string) bool { return moved[key] })
		if reads && !slices.Contains(c.Desired.IgnoreChanges, field) {
			fields = append(fields, field)
		}
	}
	return fields
}

// rotate makes changes of the idle nodes whose secrets rotated, with all that follows for
// what depends on them (PL-5, PL-5a).
func (d *differ) rotate(rotated map[string][]string) {
	for id, fields := range rotated {
		if c := d.find(id); c != nil && len(fields) > 0 {
			d.examine(c).own = fields
			c.decide(d.classify(c, nil))
		}
	}
}
