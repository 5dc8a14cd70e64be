package resolve

import (
	"strings"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func (e *evaluation) concat(args []any) (any, error) {
	var b strings.Builder
	for _, arg := range args {
		if err := e.write(&b, model.Text(arg)); err != nil {
			return nil, err
		}
	}
	return b.String(), nil
}

func (e *evaluation) join(args []any) (any, error) {
	if len(args) != 2 {
		return nil, refused("join takes a separator and a list, not %d arguments", len(args))
	}
	parts, ok := args[1].([]any)
	if !ok {
		return nil, refused("join takes a list, not %s", kind(args[1]))
	}
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			if err := e.write(&b, model.Text(args[0])); err != nil {
				return nil, err
			}
		}
		if err := e.write(&b, model.Text(part)); err != nil {
			return nil, err
		}
	}
	return b.String(), nil
}

// interpolate fills {} and {N} of a template; {{ and }} are braces.
func (e *evaluation) interpolate(args []any) (any, error) {
	if len(args) == 0 {
		return nil, refused("interpolate takes a template")
	}
	template, ok := args[0].(string)
	if !ok {
		return nil, refused("interpolate takes a text as its template, not %s", kind(args[0]))
	}
	pieces, err := parseTemplate(template)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	if err := e.fill(&b, pieces, template, args[1:]); err != nil {
		return nil, err
	}
	return b.String(), nil
}

// index takes one item of a list or text by position, from the end where it is
// negative, or one value of a map by key (design.md LX-17).
func index(args []any) (any, error) {
	if len(args) != 2 {
		return nil, refused("index takes a value and a position or key, not %d arguments", len(args))
	}
	if key, ok := args[1].(string); ok {
		m, ok := args[0].(map[string]any)
		if !ok {
			return nil, refused("key '%s' is asked of %s, which has no keys", key, kind(args[0]))
		}
		v, ok := m[key]
		if !ok {
			return nil, refused("key '%s' does not exist; the keys are %s", key, strings.Join(sortedKeys(m), ", "))
		}
		return v, nil
	}
	at, ok := args[1].(int64)
	if !ok {
		return nil, refused("a position is an integer and a key a text, not %s", kind(args[1]))
	}
	switch v := args[0].(type) {
	case []any:
		i, err := position(at, len(v))
		if err != nil {
			return nil, err
		}
		return v[i], nil
	case string:
		i, err := position(at, utf8.RuneCountInString(v))
		if err != nil {
			return nil, err
		}
		return string([]rune(v)[i]), nil
	}
	return nil, refused("position %d is asked of %s, which has no positions", at, kind(args[0]))
}

func position(at int64, length int) (int, error) {
	i := at
	if i < 0 {
		i += int64(length)
	}
	if i < 0 || i >= int64(length) {
		return 0, refused("position %d is out of range: there are %d items", at, length)
	}
	return int(i), nil
}

func (e *evaluation) write(b *strings.Builder, s string) error {
	if err := e.charge(len(s)); err != nil {
		return err
	}
	b.WriteString(s)
	return nil
}

// kind names the type of a value in an error.
func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a truth value"
	case string:
		return "a text"
	case int64:
		return "an integer"
	case float64:
		return "a number"
	case []any:
		return "a list"
	default:
		return "a map"
	}
}
