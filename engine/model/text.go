package model

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Repr is the text of a value as Python's repr gives it, the keys of a map sorted. It
// holds no control character, whatever the value holds.
func Repr(v Value) string { return ReprWith(v, nil) }

// ReprWith is Repr, save for the values that special has a text of its own for; nil has
// none.
func ReprWith(v Value, special func(Value) (string, bool)) string {
	r := repr{special: special}
	r.value(v)
	return r.String()
}

// Text is Python's str of a value: a text as it is, anything else its repr.
func Text(v Value) string {
	if s, ok := v.(string); ok {
		return s
	}
	return Repr(v)
}

// Printable escapes what a terminal would act on, or could not show, in a text that is
// shown without quotes.
func Printable(s string) string {
	var r repr
	for i, c := range s {
		r.printable(s[i:], c)
	}
	return r.String()
}

// FloatText is the shortest text that reads back as f, in Python's layout: an exponent
// from 1e16 upwards and below 1e-4, else at least one digit after the point.
func FloatText(f float64) string {
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

type repr struct {
	strings.Builder
	special func(Value) (string, bool)
}

func (r *repr) value(v Value) {
	if r.special != nil {
		if text, ok := r.special(v); ok {
			r.WriteString(text)
			return
		}
	}
	switch v := v.(type) {
	case nil:
		r.WriteString("None")
	case bool:
		if v {
			r.WriteString("True")
		} else {
			r.WriteString("False")
		}
	case string:
		r.quoted(v)
	case int64:
		r.WriteString(strconv.FormatInt(v, 10))
	case float64:
		r.WriteString(FloatText(v))
	case []any:
		r.WriteByte('[')
		for i, item := range v {
			r.comma(i)
			r.value(item)
		}
		r.WriteByte(']')
	case map[string]any:
		r.object(v)
	default:
		fmt.Fprintf(r, "<%T>", v)
	}
}

func (r *repr) object(m map[string]any) {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	r.WriteByte('{')
	for i, key := range keys {
		r.comma(i)
		r.quoted(key)
		r.WriteString(": ")
		r.value(m[key])
	}
	r.WriteByte('}')
}

func (r *repr) comma(i int) {
	if i > 0 {
		r.WriteString(", ")
	}
}

// quoted writes single quotes unless only double ones avoid an escape.
func (r *repr) quoted(s string) {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	r.WriteRune(quote)
	for i, c := range s {
		switch c {
		case quote, '\\':
			r.WriteByte('\\')
			r.WriteRune(c)
		case '\n':
			r.WriteString(`\n`)
		case '\r':
			r.WriteString(`\r`)
		case '\t':
			r.WriteString(`\t`)
		default:
			r.printable(s[i:], c)
		}
	}
	r.WriteRune(quote)
}

// printable writes c, the first character of rest, escaped where it has to be.
func (r *repr) printable(rest string, c rune) {
	switch {
	case c == utf8.RuneError && !strings.HasPrefix(rest, "\uFFFD"):
		fmt.Fprintf(r, `\x%02x`, rest[0])
	case unicode.IsPrint(c):
		r.WriteRune(c)
	default:
		r.WriteString(EscapeRune(c))
	}
}

// EscapeRune is Python's escape of a character that is not printed.
func EscapeRune(c rune) string {
	switch {
	case c < 0x100:
		return fmt.Sprintf(`\x%02x`, c)
	case c < 0x10000:
		return fmt.Sprintf(`\u%04x`, c)
	default:
		return fmt.Sprintf(`\U%08x`, c)
	}
}
