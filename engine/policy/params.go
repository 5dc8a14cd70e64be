package policy

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// maxNames bounds the names in one parameter: each is looked for in every change.
const maxNames = 1000

// names reads a parameter that is one name or several; sorted, distinct, none when it is
// left out. A set of the config arrives as a list.
func names(policy string, params map[string]any, param string) ([]string, error) {
	value, given := params[param]
	if !given {
		return nil, nil
	}
	if text, ok := value.(string); ok {
		return []string{text}, nil
	}
	items, ok := value.([]any)
	if !ok {
		return nil, configError(policy, "its parameter '%s' must be a text or a list of texts, not %s", param, typeName(value))
	}
	if len(items) > maxNames {
		return nil, configError(policy, "its parameter '%s' holds %d names, and at most %d are taken", param, len(items), maxNames)
	}
	out := make([]string, len(items))
	for i, item := range items {
		if out[i], ok = item.(string); !ok {
			return nil, configError(policy, "its parameter '%s' must hold texts, not %s", param, typeName(item))
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// typeName is the type of a parameter as the author of a config knows it.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case string:
		return "str"
	case int64:
		return "int"
	case float64:
		return "float"
	case []any:
		return "list"
	}
	if model.IsHandle(v) {
		return "a handle"
	}
	return "dict"
}

func configError(policy, format string, args ...any) *model.Error {
	return model.Errorf(model.PolicyConfigError, model.ClassUser, "policy '%s': "+format, append([]any{cut(policy, maxShown)}, args...)...)
}

func joined(names []string) string { return "'" + strings.Join(names, "', '") + "'" }

const (
	// maxMessage bounds a violation's message and maxShown a name in an error, in code
	// points.
	maxMessage = 1000
	maxShown   = 200
)

// cut makes a text fit to be shown: short, and without control characters.
func cut(text string, limit int) string {
	if len(text) > limit*utf8.UTFMax {
		text = text[:limit*utf8.UTFMax]
	}
	runes := []rune(model.Printable(text))
	if len(runes) <= limit {
		return string(runes)
	}
	return string(runes[:limit-1]) + "…"
}
