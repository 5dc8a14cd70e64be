package plan

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// repr is a value as configs print it, a handle as its constructor.
func repr(v any) string { return model.ReprWith(v, handleText) }

func handleText(v model.Value) (string, bool) {
	if !model.IsHandle(v) {
		return "", false
	}
	if r, ok := model.AsReference(v); ok {
		return fmt.Sprintf("Ref(node_id=%s, attr=%s)", repr(r.NodeID), repr(r.Output)), true
	}
	if t, ok := model.AsTransform(v); ok {
		return fmt.Sprintf("Transform(op=%s, args=%s)", repr(t.Op), repr(t.Args)), true
	}
	if key, ok := model.AsStackOutput(v); ok {
		stack, name, _ := strings.Cut(key, ":")
		return fmt.Sprintf("StackOutputRef(stack=%s, name=%s)", repr(stack), repr(name)), true
	}
	return sensitiveText, true
}

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

// shown is a value as a plan shows it (PL-19).
func shown(v any) string {
	switch {
	case secret(v) || sealed(v):
		return sensitiveText
	case len(model.References(v)) > 0:
		return knownLater
	default:
		return cut(repr(v))
	}
}

// veiled is a value in a place that others may read: the start of its digest.
func veiled(v any) string {
	if v == nil || secret(v) || sealed(v) || len(model.References(v)) > 0 {
		return shown(v)
	}
	digest, err := ir.Digest(v)
	if err != nil {
		return "(hidden)"
	}
	return "sha256:" + digest[:12]
}

// secret reports whether v holds a secret handle, at any depth.
func secret(v any) bool {
	if _, text := v.(string); text {
		return false
	}
	found := false
	model.Walk(v, func(v model.Value) bool {
		_, ok := model.AsSecretRef(v)
		found = found || ok
		return !found
	})
	return found
}
