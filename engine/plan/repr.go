package plan

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// repr is a value's text as Python's repr gives it, the keys of a map sorted. It never
// holds a control character. A handle is shown as configs print it.
func repr(v any) string {
	var b strings.Builder
	writeRepr(&b, v)
	return b.String()
}

func writeRepr(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("None")
	case bool:
		if v {
			b.WriteString("True")
		} else {
			b.WriteString("False")
		}
	case string:
		writeText(b, v)
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case int:
		b.WriteString(strconv.Itoa(v))
	case float64:
		b.WriteString(floatText(v))
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			writeRepr(b, item)
		}
		b.WriteByte(']')
	case map[string]any:
		if model.IsHandle(v) {
			writeHandle(b, v)
			return
		}
		writeMap(b, v)
	default:
		fmt.Fprintf(b, "<%T>", v)
	}
}

func writeMap(b *strings.Builder, m map[string]any) {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	b.WriteByte('{')
	for i, key := range keys {
		if i > 0 {
			b.WriteString(", ")
		}
		writeText(b, key)
		b.WriteString(": ")
		writeRepr(b, m[key])
	}
	b.WriteByte('}')
}

// writeHandle shows a handle as its constructor.
func writeHandle(b *strings.Builder, v any) {
	if r, ok := model.AsReference(v); ok {
		fmt.Fprintf(b, "Ref(node_id=%s, attr=%s)", repr(r.NodeID), repr(r.Output))
		return
	}
	if t, ok := model.AsTransform(v); ok {
		fmt.Fprintf(b, "Transform(op=%s, args=%s)", repr(t.Op), repr(t.Args))
		return
	}
	if key, ok := model.AsStackOutput(v); ok {
		stack, name, _ := strings.Cut(key, ":")
		fmt.Fprintf(b, "StackOutputRef(stack=%s, name=%s)", repr(stack), repr(name))
		return
	}
	b.WriteString(sensitiveText)
}

// writeText quotes with ' unless only " avoids an escape.
func writeText(b *strings.Builder, s string) {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	b.WriteRune(quote)
	for i, r := range s {
		switch r {
		case quote, '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		default:
			writePrintable(b, s[i:], r)
		}
	}
	b.WriteRune(quote)
}

// writePrintable writes r, the first character of rest, escaped if a terminal would
// act on it or could not show it.
func writePrintable(b *strings.Builder, rest string, r rune) {
	switch {
	case r == utf8.RuneError && !strings.HasPrefix(rest, "\uFFFD"):
		fmt.Fprintf(b, `\x%02x`, rest[0])
	case unicode.IsPrint(r):
		b.WriteRune(r)
	case r < 0x100:
		fmt.Fprintf(b, `\x%02x`, r)
	case r < 0x10000:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		fmt.Fprintf(b, `\U%08x`, r)
	}
}

// printable escapes what a terminal would act on in text that is shown as it is.
func printable(s string) string {
	var b strings.Builder
	for i, r := range s {
		writePrintable(&b, s[i:], r)
	}
	return b.String()
}

// floatText is the shortest text that reads back, in Python's layout.
func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	if size := math.Abs(f); size != 0 && (size < 1e-4 || size >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

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
