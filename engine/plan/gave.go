package plan

import (
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// RecordedInputs are the inputs that a recorded half was made with, as far as values still
// give them. What a reference gave then is known only while its digest says that it gives
// the same now: the upstream may have moved on since, in a run that did not reach the half,
// and a value that merely looks right would name another object.
func RecordedInputs(row *state.Row, values Values, digests SecretDigests) map[string]any {
	inputs := values.Lenient(row.Properties)
	bare := markStackOutputs(values)
	bare.Secret = nil
	for field, digest := range row.RefDigests {
		if _, known := inputs[field]; known && !gives(bare, row.Properties[field], field, digest, digests) {
			delete(inputs, field)
		}
	}
	return inputs
}

// gives reports whether a property resolves to what its digest is of. A digest of another
// form, or one that nobody can compare, says nothing against it.
func gives(values Values, property any, field, digest string, digests SecretDigests) bool {
	if strings.HasPrefix(digest, plainPrefix) {
		now, ok := digestOf(property, values)
		return ok && now == digest
	}
	if salted, ok := strings.CutPrefix(digest, saltedPrefix); ok && digests != nil {
		text, ok := canonicalOf(property, values)
		same, err := digests.Matches(salted, text, refScope+field)
		return ok && err == nil && same
	}
	return true
}

// SameField compares a field of a recorded half with what the next row of its node is made
// with. Where the half records a digest, that decides; else what its property gives, which
// is not known if it does not resolve.
func SameField(recorded, next *state.Row, field string, was, inputs map[string]any, digests SecretDigests) (same, known bool) {
	if digest, then := recorded.RefDigests[field]; then {
		return sameDigest(digest, next.RefDigests[field], field, inputs, digests)
	}
	have, known := was[field]
	if _, declared := recorded.Properties[field]; !declared {
		known = true // absent then, as a field of a later release
	}
	return known && ir.Equal(have, inputs[field]), known
}

// sameDigest compares a recorded digest with that of the next row. They may be of different
// forms, or of different keys: what everybody could know then may be made from a secret now.
func sameDigest(recorded, next, field string, inputs map[string]any, digests SecretDigests) (same, known bool) {
	salted, isSalted := strings.CutPrefix(recorded, saltedPrefix)
	isPlain := strings.HasPrefix(recorded, plainPrefix)
	switch {
	case recorded == next:
		return true, true
	case isPlain && strings.HasPrefix(next, plainPrefix):
		return false, true
	case isPlain:
		now, ok := refDigest(inputs[field])
		return ok && now == recorded, true
	case isSalted && digests != nil:
		text, err := ir.CanonicalJSON(inputs[field])
		if err != nil {
			return false, true
		}
		same, err := digests.Matches(salted, string(text), refScope+field)
		return same, err == nil
	}
	return false, false
}
