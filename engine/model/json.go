package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// EncodeJSON writes v as compact JSON with sorted keys. Unlike RFC 8785 it keeps
// integers and floats apart (1 and 1.0), so that a value read back prints as the
// config's author wrote it; use it to store, never to hash.
func EncodeJSON(v Value) ([]byte, error) { return AppendJSON(nil, v) }

// AppendJSON is EncodeJSON behind what dst holds already.
func AppendJSON(dst []byte, v Value) ([]byte, error) { return appendValue(dst, v, 0) }

// maxDepth bounds recursion over values; evaluation refuses deeper ones long before.
const maxDepth = 10_000

func appendValue(dst []byte, v Value, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, Errorf(IRError, ClassUser, "a value is nested deeper than %d levels", maxDepth)
	}
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case string:
		return AppendText(dst, v), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, Errorf(IRError, ClassUser, "a number that is not finite has no JSON form")
		}
		// Never with an exponent: a database that keeps numbers as decimals would write
		// 1e+21 back as an integer.
		at := len(dst)
		dst = strconv.AppendFloat(dst, v, 'f', -1, 64)
		if bytes.IndexByte(dst[at:], '.') < 0 {
			dst = append(dst, ".0"...)
		}
		return dst, nil
	case []any:
		return appendList(dst, v, depth)
	case map[string]any:
		return appendObject(dst, v, depth)
	default:
		return nil, Errorf(IRError, ClassUser, "a value of type %T has no JSON form", v)
	}
}

func appendList(dst []byte, list []any, depth int) (_ []byte, err error) {
	dst = append(dst, '[')
	for i, item := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendValue(dst, item, depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func appendObject(dst []byte, object map[string]any, depth int) (_ []byte, err error) {
	var few [8]string
	keys := few[:0]
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	dst = append(dst, '{')
	for i, key := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendText(dst, key), ':')
		if dst, err = appendValue(dst, object[key], depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// AppendText is AppendJSON of a text, which always has a form.
func AppendText(dst []byte, s string) []byte {
	if plain(s) {
		dst = append(dst, '"')
		dst = append(dst, s...)
		return append(dst, '"')
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) //nolint:errchkjson // every text has a form
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

// plain reports whether a text stands in JSON as it is: printable ASCII without quotes and
// backslashes, as nearly all texts of a config are.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// DecodeJSON reads one JSON document into a Value: integers become int64, other
// numbers float64. Trailing text, and an integer beyond 64 bits, are errors.
func DecodeJSON(data []byte) (Value, error) {
	if v, ok := readJSON(data); ok {
		return v, nil
	}
	return decodeAny(data)
}

// decodeAny reads whatever there is, and says what is wrong with it.
func decodeAny(data []byte) (Value, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the end of the JSON document")
	}
	return NormalizeJSON(v)
}

// NormalizeJSON turns what encoding/json and Go literals produce into a Value:
// json.Number, int and the like become int64 or float64. Containers that need a
// change are copied, others are returned as they are.
func NormalizeJSON(v any) (Value, error) {
	switch v := v.(type) {
	case nil, bool, string, int64, float64:
		return v, nil
	case int:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case json.Number:
		if i, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return i, nil
		}
		if !strings.ContainsAny(v.String(), ".eE") {
			return nil, Errorf(IRError, ClassUser, "the integer %.40s does not fit into 64 bits", v.String())
		}
		f, err := v.Float64()
		return f, err
	case []string:
		out := make([]any, len(v))
		for i, s := range v {
			out[i] = s
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			n, err := NormalizeJSON(item)
			if err != nil {
				return nil, err
			}
			out[i] = n
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			n, err := NormalizeJSON(item)
			if err != nil {
				return nil, err
			}
			out[k] = n
		}
		return out, nil
	default:
		return nil, Errorf(IRError, ClassUser, "a value of type %T has no JSON form", v)
	}
}

// Clone copies v and all containers in it.
func Clone(v Value) Value {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = Clone(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			out[k] = Clone(item)
		}
		return out
	default:
		return v
	}
}
