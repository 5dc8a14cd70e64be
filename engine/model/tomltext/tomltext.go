// Package tomltext reads TOML as plain values whose types are kept: string, bool, int64,
// float64, []any and map[string]any; what the values have no word for, dates and times,
// stays the TOML library's type, so that no accessor takes it for something else.
//
// It owns where a mistake stands and how deep a document may nest. It must never know
// what the keys mean, nor open a file.
package tomltext

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// MaxDepth bounds how deep tables and arrays nest.
const MaxDepth = 100

// Parse reads a document. An error has that kind, names the file and, for a mistake in
// the notation, has its place there. The caller bounds the size.
func Parse(kind model.Kind, file string, data []byte) (map[string]any, error) {
	var table map[string]any
	if err := toml.Unmarshal(data, &table); err != nil {
		return nil, mistake(kind, file, data, err)
	}
	if deep := tooDeep("", table, MaxDepth); deep != "" {
		return nil, model.Errorf(kind, model.ClassUser, "%s: '%s' nests more than %d levels deep", file, deep, MaxDepth)
	}
	if table == nil {
		table = map[string]any{}
	}
	return table, nil
}

func mistake(kind model.Kind, file string, data []byte, err error) error {
	what := strings.TrimPrefix(err.Error(), "toml: ")
	located := model.Errorf(kind, model.ClassUser, "%s is not valid TOML: %s", file, valid(what))
	located.Cause, located.File = err, file
	decode, ok := errors.AsType[*toml.DecodeError](err)
	if !ok {
		return located
	}
	line, column := decode.Position()
	text := lineOf(string(data), line)
	at := min(max(column-1, 0), len(text)) // in bytes, as the library counts
	for 0 < at && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	located.Line, located.Col, located.Source = line, utf8.RuneCountInString(valid(text[:at]))+1, valid(text)
	return located
}

func valid(text string) string { return strings.ToValidUTF8(text, string(utf8.RuneError)) }

// lineOf is a line of a text, counted from 1, without its end.
func lineOf(text string, n int) string {
	for range n - 1 {
		_, rest, ok := strings.Cut(text, "\n")
		if !ok {
			return ""
		}
		text = rest
	}
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSuffix(line, "\r")
}

// tooDeep is the outermost key that leads too deep, "" when none does.
func tooDeep(key string, v any, left int) string {
	if left < 0 {
		return key
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if deep := tooDeep(name, v[name], left-1); deep != "" {
				return outer(key, deep)
			}
		}
	case []any:
		for _, item := range v {
			if deep := tooDeep(key, item, left-1); deep != "" {
				return outer(key, deep)
			}
		}
	}
	return ""
}

func outer(key, inner string) string {
	if key == "" {
		return inner
	}
	return key
}

// TypeName is what the notation calls a value's type, for messages.
func TypeName(v any) string {
	switch v.(type) {
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64:
		return "an integer"
	case float64:
		return "a float"
	case []any:
		return "an array"
	case map[string]any:
		return "a table"
	case toml.LocalTime:
		return "a time"
	case toml.LocalDate:
		return "a date"
	}
	return "a date-time"
}

// Plain reports whether a value, at any depth, has a counterpart in a config; where it
// has none, key is the dotted way to it.
func Plain(v any) (key string, ok bool) {
	switch v := v.(type) {
	case string, bool, int64, float64:
		return "", true
	case []any:
		for i, item := range v {
			if key, ok := Plain(item); !ok {
				return dotted(strconv.Itoa(i), key), false
			}
		}
		return "", true
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if key, ok := Plain(v[name]); !ok {
				return dotted(name, key), false
			}
		}
		return "", true
	}
	return "", false
}

func dotted(name, rest string) string {
	if rest == "" {
		return name
	}
	return name + "." + rest
}
