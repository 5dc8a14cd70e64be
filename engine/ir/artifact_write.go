package ir

import (
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// artifactWriter appends the written form of an artifact: JSON in ASCII, two spaces a
// level, keys sorted at every level, integers and floats kept apart, no newline at the
// end (cli.md §15).
type artifactWriter struct {
	out      []byte
	limit    int
	counting bool // only how much is written is of interest
	counted  int  // bytes that out held before
}

func (w *artifactWriter) size() int { return w.counted + len(w.out) }

// value refuses what is too large while it grows: the indentation alone can make a
// file a thousand times the size of what it holds.
func (w *artifactWriter) value(v any, depth int) error {
	if depth > maxArtifactDepth {
		return malformed("the artifact cannot be written: a value is nested deeper than %d levels; flatten it", maxArtifactDepth)
	}
	if err := w.scalarOrContainer(v, depth); err != nil {
		return err
	}
	if w.counting && len(w.out) >= chunk {
		w.counted, w.out = w.size(), w.out[:0]
	}
	if w.size() > w.limit {
		return malformed("the artifact cannot be written: it has more than %d bytes; split the config", w.limit)
	}
	return nil
}

func (w *artifactWriter) scalarOrContainer(v any, depth int) error {
	switch v := v.(type) {
	case nil:
		w.out = append(w.out, "null"...)
	case bool:
		w.out = strconv.AppendBool(w.out, v)
	case int64:
		w.out = strconv.AppendInt(w.out, v, 10)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return model.Errorf(model.IRError, model.ClassUser, "a number that is not finite has no canonical form")
		}
		w.out = append(w.out, model.FloatText(v)...)
	case string:
		return w.text(v)
	case []string:
		return writeList(w, v, depth)
	case []any:
		return writeList(w, v, depth)
	case map[string]string:
		return writeObject(w, v, depth)
	case map[string]any:
		return writeObject(w, v, depth)
	default:
		return model.Errorf(model.IRError, model.ClassUser, "a value of type %T has no canonical form", v)
	}
	return nil
}

func writeList[T any](w *artifactWriter, items []T, depth int) error {
	if len(items) == 0 {
		w.out = append(w.out, "[]"...)
		return nil
	}
	w.out = append(w.out, '[')
	for i, item := range items {
		w.line(i, depth+1)
		if err := w.value(item, depth+1); err != nil {
			return err
		}
	}
	w.line(0, depth)
	w.out = append(w.out, ']')
	return nil
}

func writeObject[T any](w *artifactWriter, members map[string]T, depth int) error {
	if len(members) == 0 {
		w.out = append(w.out, "{}"...)
		return nil
	}
	w.out = append(w.out, '{')
	for i, key := range sortedKeys(members) { // byte order of UTF-8 is code point order
		w.line(i, depth+1)
		if err := w.text(key); err != nil {
			return err
		}
		w.out = append(w.out, ": "...)
		if err := w.value(members[key], depth+1); err != nil {
			return err
		}
	}
	w.line(0, depth)
	w.out = append(w.out, '}')
	return nil
}

// line starts the line of the i-th item, or of a closing bracket with 0.
func (w *artifactWriter) line(i, depth int) {
	if i > 0 {
		w.out = append(w.out, ',')
	}
	w.out = append(w.out, '\n')
	for range depth {
		w.out = append(w.out, "  "...)
	}
}

func (w *artifactWriter) text(s string) error {
	if !utf8.ValidString(s) {
		return model.Errorf(model.IRError, model.ClassUser, "the text %+.40q holds a lone surrogate or is not UTF-8", s)
	}
	w.out = append(w.out, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			w.out = append(w.out, '\\', byte(c))
		case c >= 0x20 && c < 0x7f:
			w.out = append(w.out, byte(c))
		case c == '\b':
			w.out = append(w.out, '\\', 'b')
		case c == '\t':
			w.out = append(w.out, '\\', 't')
		case c == '\n':
			w.out = append(w.out, '\\', 'n')
		case c == '\f':
			w.out = append(w.out, '\\', 'f')
		case c == '\r':
			w.out = append(w.out, '\\', 'r')
		case c > 0xFFFF:
			high, low := utf16.EncodeRune(c)
			w.unit(high)
			w.unit(low)
		default:
			w.unit(c)
		}
	}
	w.out = append(w.out, '"')
	return nil
}

// unit escapes one UTF-16 code unit.
func (w *artifactWriter) unit(u rune) {
	w.out = append(w.out, '\\', 'u', hexDigits[u>>12&15], hexDigits[u>>8&15], hexDigits[u>>4&15], hexDigits[u&15])
}
