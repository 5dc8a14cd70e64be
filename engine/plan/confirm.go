package plan

import (
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Judgement decides, once everything that a node depends on is done, whether its
// conditional replace is needed (DF-20).
type Judgement struct {
	Schemas *model.Schemas
	Digests SecretDigests // compares salted digests; nil = there is no install key
	Before  Values        // what was recorded when the run started
	Now     Values
}

// Decide is what the change comes to, with the fields that really differ, sorted: a
// Replace as planned, an Update of mutable fields, or a Noop that only moves the row on.
// It calls nobody. A row that is marked for a look never comes to a noop.
func (j Judgement) Decide(c *Change) (action Action, fields []string, err error) {
	for _, field := range c.fields() {
		differs, err := j.differs(c, field)
		if err != nil {
			return "", nil, model.Errorf(model.KindOf(err), model.ClassOf(err), "%s: field '%s': %w", c.NodeID, field, err)
		}
		if differs {
			fields = append(fields, field)
		}
	}
	switch {
	case len(immutableFields(schemaOf(j.Schemas, c.Desired.Type), fields)) > 0:
		return Replace, fields, nil
	case len(fields) > 0 || c.Prior.InputHash == "":
		return Update, fields, nil
	default:
		return Noop, nil, nil
	}
}

// fields are those of either side, ignored ones excepted, sorted.
func (c *Change) fields() []string {
	var fields []string
	for field := range c.Desired.Properties {
		fields = append(fields, field)
	}
	for field := range c.Prior.Properties {
		fields = append(fields, field)
	}
	slices.Sort(fields)
	return slices.DeleteFunc(slices.Compact(fields), func(field string) bool { return slices.Contains(c.Desired.IgnoreChanges, field) })
}

// differs compares what a field gives now with what the row was written with: by the
// digest that it records, else by what its recorded property gave when the run started.
// Handles of secrets and of others' outputs compare as they are written.
func (j Judgement) differs(c *Change, field string) (bool, error) {
	want, desired := c.Desired.Properties[field]
	have, recorded := c.Prior.Properties[field]
	if !desired || !recorded {
		return true, nil
	}
	digest := c.Prior.RefDigests[field]
	now := markStackOutputs(j.Now)
	now.Secret = nil
	if strings.HasPrefix(digest, plainPrefix) {
		resolved, err := now.Resolve(want)
		if err != nil {
			return false, err
		}
		got, ok := refDigest(resolved)
		return !ok || got != digest, nil
	}
	if salted, ok := strings.CutPrefix(digest, saltedPrefix); ok && j.Digests != nil {
		text, ok := canonicalOf(want, now)
		if !ok {
			return true, nil
		}
		same, err := j.Digests.Matches(salted, text, refScope+field)
		return !same, err
	}
	now.Secret = secretName
	resolved, err := now.Resolve(want)
	if err != nil {
		return false, err
	}
	before := markStackOutputs(j.Before)
	before.Secret = secretName
	was, err := before.Resolve(have)
	return err != nil || !ir.Equal(was, resolved), nil //nolint:nilerr // what does not resolve any more is another value
}

// secretName stands for a secret's value where only its handle is compared.
func secretName(ref model.SecretRef) (string, error) {
	return model.KeySecretRef + "\x00" + ref.Provider + "\x00" + ref.Name, nil
}
