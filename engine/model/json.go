package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"sort"
	"strconv"
	"strings"
)

// EncodeJSON writes v as compact JSON with sorted keys. Unlike RFC 8785 it keeps
// integers and floats apart (1 and 1.0), so that a value read back prints as the
// config's author wrote it; use it to store, never to hash.
func EncodeJSON(v Value) ([]byte, error) {
	var b bytes.Buffer
	if err := encode(&b, v, 0); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// maxDepth bounds recursion over values; evaluation refuses deeper ones long before.
const maxDepth = 10_000

func encode(b *bytes.Buffer, v Value, depth int) error {
	if depth > maxDepth {
		return Errorf(IRError, ClassUser, "a value is nested deeper than %d levels", maxDepth)
	}
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case string:
		return encodeString(b, v)
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Errorf(IRError, ClassUser, "a number that is not finite has no JSON form")
		}
		// Never with an exponent: a database that keeps numbers as decimals would write
		// 1e+21 back as an integer.
		text := strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
		b.WriteString(text)
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := encode(b, item, depth+1); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		b.WriteByte('{')
		for i, k := range keys {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := encodeString(b, k); err != nil {
				return err
			}
			b.WriteByte(':')
			if err := encode(b, v[k], depth+1); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	default:
		return Errorf(IRError, ClassUser, "a value of type %T has no JSON form", v)
	}
	return nil
}

func encodeString(b *bytes.Buffer, s string) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the encoder's newline
	return nil
}

// DecodeJSON reads one JSON document into a Value: integers become int64, other
// numbers float64. Trailing text, and an integer beyond 64 bits, are errors.
func DecodeJSON(data []byte) (Value, error) {
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
