package ir

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// decodeJSON reads one JSON document from a source that is not trusted into a Value.
// What readers of JSON understand in different ways is refused: a key that occurs
// twice, bytes that are not UTF-8, half a surrogate pair, a number that no double and
// no 64-bit integer holds. A lone surrogate is an IRError (cli.md §15), anything else
// an ArtifactError.
func decodeJSON(data []byte) (model.Value, error) {
	if !utf8.Valid(data) {
		return nil, malformed("the artifact is not JSON: it holds bytes that are not UTF-8")
	}
	if err := json.Unmarshal(data, new(syntaxOnly)); err != nil { // of all of it, before anything is built
		return nil, malformed("the artifact is not JSON: %w", err)
	}
	if loneSurrogate(data) {
		return nil, model.Errorf(model.IRError, model.ClassUser, "the artifact holds a lone surrogate, which no encoding can carry")
	}
	if err := weigh(data); err != nil {
		return nil, err
	}
	d := jsonReader{tokens: json.NewDecoder(bytes.NewReader(data)), keys: map[string]string{}}
	d.tokens.UseNumber()
	return d.value()
}

// syntaxOnly takes any JSON and keeps nothing of it.
type syntaxOnly struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (*syntaxOnly) UnmarshalJSON([]byte) error { return nil }

// jsonReader builds a value from the tokens of a text whose syntax, depth and weight are
// known to be good.
type jsonReader struct {
	tokens *json.Decoder
	keys   map[string]string // short keys, which most objects share
}

func (d *jsonReader) value() (model.Value, error) {
	token, err := d.tokens.Token()
	if err != nil {
		return nil, malformed("the artifact is not JSON: %w", err)
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '[' {
			return d.list()
		}
		return d.object()
	case json.Number:
		number, err := model.NormalizeJSON(token)
		if err != nil {
			return nil, malformed("the artifact holds the number %.40s, which is out of range", token.String())
		}
		return number, nil
	default: // nil, bool, string
		return token, nil
	}
}

func (d *jsonReader) list() (model.Value, error) {
	items := []any{}
	for d.tokens.More() {
		item, err := d.value()
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, d.end()
}

func (d *jsonReader) object() (model.Value, error) {
	members := map[string]any{}
	for d.tokens.More() {
		token, err := d.tokens.Token()
		if err != nil {
			return nil, malformed("the artifact is not JSON: %w", err)
		}
		text, _ := token.(string)
		key := d.key(text)
		if _, taken := members[key]; taken {
			return nil, malformed("the artifact holds the key %+.80q twice in one object", key)
		}
		if members[key], err = d.value(); err != nil {
			return nil, err
		}
	}
	return members, d.end()
}

// key is text, one copy for all objects. What is kept that way is bounded.
func (d *jsonReader) key(text string) string {
	if kept, ok := d.keys[text]; ok {
		return kept
	}
	if len(text) <= 64 && len(d.keys) < 1024 {
		d.keys[text] = text
	}
	return text
}

// end reads a closing bracket.
func (d *jsonReader) end() error {
	if _, err := d.tokens.Token(); err != nil {
		return malformed("the artifact is not JSON: %w", err)
	}
	return nil
}

// loneSurrogate reports whether a text of JSON escapes half a surrogate pair, which
// the decoder would replace without a word. A backslash occurs in strings only.
func loneSurrogate(data []byte) bool {
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		i++
		unit, ok := escapedUnit(data[i:])
		if !ok || !utf16.IsSurrogate(unit) {
			continue
		}
		next := rune(-1)
		if i+6 < len(data) && data[i+5] == '\\' {
			next, _ = escapedUnit(data[i+6:])
		}
		if utf16.DecodeRune(unit, next) == utf8.RuneError {
			return true
		}
		i += 10 // at the last digit of the second half
	}
	return false
}

// escapedUnit reads "uXXXX".
func escapedUnit(data []byte) (rune, bool) {
	if len(data) < 5 || data[0] != 'u' {
		return -1, false
	}
	unit, err := strconv.ParseUint(string(data[1:5]), 16, 16)
	return rune(unit), err == nil
}
