package secrets

import (
	"encoding/json"
	"maps"
	"reflect"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Limits of one payload; what lies beyond is redacted unseen.
const (
	maxRedactDepth  = 1000
	maxRedactValues = 1 << 20
)

// Redact is a payload of a log or an event, or an argument of a message, with Redacted in
// place of every secret handle, every sealed value and every combinator that holds one, at
// any depth and in any container (SC-15). It never fails; what holds none of them is
// returned as it is.
func Redact(v any) any {
	r := redactor{left: maxRedactValues}
	out, changed := r.value(v, 0)
	if !changed {
		return v
	}
	return out
}

type redactor struct{ left int }

// value reports whether it had to change anything.
func (r *redactor) value(v any, depth int) (any, bool) {
	r.left--
	if depth > maxRedactDepth || r.left < 0 {
		return Redacted, true
	}
	switch v := v.(type) {
	case nil, bool, string, int, int64, float64:
		return v, false
	case map[string]any:
		return r.object(v, depth)
	case []any:
		return r.list(v, depth)
	case json.RawMessage:
		if inner, err := model.DecodeJSON(v); err == nil {
			if _, dirty := r.value(inner, depth+1); !dirty {
				return v, false
			}
		}
		return Redacted, true
	case model.SecretRef, Text, Key, Keyring:
		return Redacted, true
	}
	return r.reflected(reflect.ValueOf(v), depth)
}

func (r *redactor) object(m map[string]any, depth int) (any, bool) {
	if marked(func(key string) bool { _, ok := m[key]; return ok }) {
		return Redacted, true
	}
	var out map[string]any
	for key, item := range m {
		clean, changed := r.value(item, depth+1)
		if !changed {
			continue
		}
		if key == model.KeyTransform {
			return Redacted, true
		}
		if out == nil {
			out = maps.Clone(m)
		}
		out[key] = clean
	}
	if out == nil {
		return m, false
	}
	return out, true
}

func (r *redactor) list(items []any, depth int) (any, bool) {
	var out []any
	for i, item := range items {
		clean, changed := r.value(item, depth+1)
		if !changed {
			continue
		}
		if out == nil {
			out = append([]any(nil), items...)
		}
		out[i] = clean
	}
	if out == nil {
		return items, false
	}
	return out, true
}

func marked(has func(key string) bool) bool {
	return has(model.KeySecretRef) || has(model.KeySealed)
}

// reflected looks into what is no model.Value. A list, and a map with text for keys,
// become plain values where one in them has to be redacted; anything else goes whole.
func (r *redactor) reflected(v reflect.Value, depth int) (any, bool) {
	whole := v.Interface()
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return whole, false
		}
		items := make([]any, v.Len())
		for i := range items {
			items[i] = v.Index(i).Interface()
		}
		if out, changed := r.list(items, depth); changed {
			return out, true
		}
		return whole, false
	case reflect.Map:
		if v.Type().Key().Kind() != reflect.String {
			break
		}
		items := make(map[string]any, v.Len())
		for _, key := range v.MapKeys() {
			items[key.String()] = v.MapIndex(key).Interface()
		}
		if out, changed := r.object(items, depth); changed {
			return out, true
		}
		return whole, false
	}
	if r.holds(v, depth) {
		return Redacted, true
	}
	return whole, false
}

// holds reports whether there is anything to redact in v, in fields that only fmt reaches
// as well.
func (r *redactor) holds(v reflect.Value, depth int) bool {
	r.left--
	if depth > maxRedactDepth || r.left < 0 {
		return true
	}
	if !v.IsValid() {
		return false
	}
	switch v.Type() {
	case reflect.TypeFor[model.SecretRef](), reflect.TypeFor[Text](), reflect.TypeFor[Key](), reflect.TypeFor[Keyring]():
		return true
	case reflect.TypeFor[json.RawMessage]():
		_, dirty := r.value(json.RawMessage(v.Bytes()), depth+1)
		return dirty
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return r.holds(v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return false
		}
		for i := range v.Len() {
			if r.holds(v.Index(i), depth+1) {
				return true
			}
		}
	case reflect.Map:
		for entry := v.MapRange(); entry.Next(); {
			if isMarker(entry.Key()) || r.holds(entry.Key(), depth+1) || r.holds(entry.Value(), depth+1) {
				return true
			}
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			if r.holds(field, depth+1) {
				return true
			}
		}
	}
	return false
}

func isMarker(key reflect.Value) bool {
	if key.Kind() == reflect.Interface {
		key = key.Elem()
	}
	return key.Kind() == reflect.String && marked(func(marker string) bool { return marker == key.String() })
}
