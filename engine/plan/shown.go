package plan

import (
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// repr is a value as configs print it.
func repr(v any) string { return model.Repr(v) }

func printable(s string) string { return model.Printable(s) }

const (
	// maxShown is how many characters of a value are shown.
	maxShown      = 60
	sensitiveText = "(sensitive)"
	knownLater    = "(known after apply)"
)

// cut shortens a shown value.
func cut(s string) string {
	if utf8.RuneCountInString(s) <= maxShown {
		return s
	}
	runes := []rune(s)
	return string(runes[:maxShown-1]) + "…"
}

// Shown is a value as a plan shows it, for what else is told beside plans.
func Shown(v any) string { return shown(v) }

// shown is a value as a plan shows it (PL-19).
func shown(v any) string {
	switch {
	case model.HoldsSecret(v) || model.HoldsSealed(v):
		return sensitiveText
	case v == nil:
		return repr(nil)
	}
	value, ok := folded(v)
	if !ok {
		return knownLater
	}
	return cut(repr(value))
}

// folded is a value with its combinators evaluated, which people are not shown; false when
// something in it gets its value in a run, of this stack or of another one.
func folded(v any) (any, bool) {
	if !model.HasHandle(v) {
		return v, true
	}
	value, err := Values{}.Resolve(v)
	return value, err == nil
}

// veiled is a value in a place that others may read: the start of its digest.
func veiled(v any) string {
	if v == nil || model.HoldsSecret(v) || model.HoldsSealed(v) {
		return shown(v)
	}
	value, ok := folded(v)
	if !ok {
		return knownLater
	}
	digest, err := ir.Digest(value)
	if err != nil {
		return "(hidden)"
	}
	return "sha256:" + digest[:12]
}
