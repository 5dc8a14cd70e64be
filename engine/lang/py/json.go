package py

import (
	"sort"
	"strings"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// toJSON is to_json(v): sorted keys, no spaces, non-ASCII kept (lang.md §8.2). What
// the walk costs is charged by the call.
func toJSON(t *thread, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("to_json", []string{"value"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	m := MeterOf(t)
	w := &jsonWriter{m: m}
	if err := w.value(bound[0], 0); err != nil {
		return nil, err
	}
	n := int64(w.b.Len())
	if err := m.grow(n/16, n); err != nil {
		return nil, err
	}
	return starlark.String(w.b.String()), nil
}

type jsonWriter struct {
	m *Meter
	b strings.Builder
}

func (w *jsonWriter) value(v value, depth int) error {
	if depth > maxDepth {
		return errTooDeep()
	}
	if err := w.m.Size(int64(w.b.Len())); err != nil {
		return err
	}
	if err := w.m.tick(); err != nil {
		return err
	}
	switch v := v.(type) {
	case starlark.NoneType:
		w.b.WriteString("null")
	case starlark.Bool:
		w.b.WriteString(jsonBool(v))
	case starlark.Int:
		text, err := intText(v)
		if err != nil {
			return err
		}
		w.b.WriteString(text)
	case starlark.Float:
		w.b.WriteString(jsonFloat(v))
	case starlark.String:
		if err := w.m.Size(int64(w.b.Len()) + jsonLen(string(v))); err != nil {
			return err
		}
		w.text(string(v))
	case *starlark.List:
		return w.array(v, depth)
	case starlark.Tuple:
		return w.array(v, depth)
	case *starlark.Dict:
		return w.object(v, depth)
	default:
		return TypeErrorf("Object of type %s is not JSON serializable", TypeName(v))
	}
	return nil
}

func jsonBool(b starlark.Bool) string {
	if b {
		return "true"
	}
	return "false"
}

func jsonFloat(f starlark.Float) string {
	switch text := model.FloatText(float64(f)); text {
	case "nan":
		return "NaN"
	case "inf":
		return "Infinity"
	case "-inf":
		return "-Infinity"
	default:
		return text
	}
}

func (w *jsonWriter) array(v starlark.Indexable, depth int) error {
	w.b.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			w.b.WriteByte(',')
		}
		if err := w.value(v.Index(i), depth+1); err != nil {
			return err
		}
	}
	w.b.WriteByte(']')
	return nil
}

// object sorts by the keys themselves, before they become texts.
func (w *jsonWriter) object(d *starlark.Dict, depth int) error {
	entries := d.Items()
	var failed error
	sort.SliceStable(entries, func(i, j int) bool {
		less, err := equality{w.m}.order("<", entries[i][0], entries[j][0], 0)
		if err != nil && failed == nil {
			failed = err
		}
		return less
	})
	if failed != nil {
		return failed
	}
	w.b.WriteByte('{')
	for i, kv := range entries {
		if i > 0 {
			w.b.WriteByte(',')
		}
		key, err := jsonKey(kv[0])
		if err != nil {
			return err
		}
		w.text(key)
		w.b.WriteByte(':')
		if err := w.value(kv[1], depth+1); err != nil {
			return err
		}
	}
	w.b.WriteByte('}')
	return nil
}

func jsonKey(k value) (string, error) {
	switch k := k.(type) {
	case starlark.String:
		return string(k), nil
	case starlark.NoneType:
		return "null", nil
	case starlark.Bool:
		return jsonBool(k), nil
	case starlark.Int:
		return intText(k)
	case starlark.Float:
		return jsonFloat(k), nil
	default:
		return "", TypeErrorf("keys must be str, int, float, bool or None, not %s", TypeName(k))
	}
}

// jsonLen is how long a text will be in JSON, about.
func jsonLen(s string) int64 {
	n := int64(len(s))
	if n < longText {
		return n
	}
	for i := range len(s) {
		if s[i] < ' ' {
			n += 5
		}
	}
	return n
}

func (w *jsonWriter) text(s string) {
	w.b.WriteByte('"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		w.b.WriteString(s[start:i])
		start = i + 1
		switch c {
		case '"', '\\':
			w.b.WriteByte('\\')
			w.b.WriteByte(c)
		case '\n':
			w.b.WriteString(`\n`)
		case '\r':
			w.b.WriteString(`\r`)
		case '\t':
			w.b.WriteString(`\t`)
		case '\b':
			w.b.WriteString(`\b`)
		case '\f':
			w.b.WriteString(`\f`)
		default:
			w.b.WriteString(`\u00`)
			w.b.WriteByte(hexDigits[c>>4])
			w.b.WriteByte(hexDigits[c&15])
		}
	}
	w.b.WriteString(s[start:])
	w.b.WriteByte('"')
}
