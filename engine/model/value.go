package model

import "sort"

// Value is a symbolic JSON value, the only form in which configuration, rows and
// outputs travel through the engine:
//
//	nil · bool · string · int64 · float64 · []any · map[string]any
//
// Nothing else may occur; NormalizeJSON in json.go is the way in. A handle (a
// reference, a secret, another stack's output, a combinator) is a map with exactly
// one reserved key, its marker (ST-2).
type Value = any

// Reserved marker keys. A map with exactly one of them as its only key is a handle.
const (
	KeyRef         = "$ref"          // "{node id}#{output}"
	KeySecretRef   = "$secret_ref"   // {"name": …, "provider": …|null}
	KeyStackOutput = "$stack_output" // "{stack}:{output}"
	KeyTransform   = "$transform"    // {"op": …, "args": […]}
	KeySealed      = "$sealed"       // ciphertext; in rows and committed outputs only
)

// Reference names one output of one node.
type Reference struct{ NodeID, Output string }

// Marker is the symbolic form of the reference.
func (r Reference) Marker() map[string]any {
	return map[string]any{KeyRef: r.NodeID + "#" + r.Output}
}

// AsReference reports whether v is a reference marker. A "$ref" text without "#"
// is data, not a reference (ST-2).
func AsReference(v Value) (Reference, bool) {
	text, ok := single(v, KeyRef).(string)
	if !ok {
		return Reference{}, false
	}
	for i := range len(text) {
		if text[i] == '#' {
			return Reference{NodeID: text[:i], Output: text[i+1:]}, true
		}
	}
	return Reference{}, false
}

// Transform is a combinator over values that may be handles: its operands are
// resolved first, then Op joins them (EX-6).
type Transform struct {
	Op   string // concat, join, interpolate or index
	Args []any
}

// Marker is the symbolic form of the combinator.
func (t Transform) Marker() map[string]any {
	args := t.Args
	if args == nil {
		args = []any{}
	}
	return map[string]any{KeyTransform: map[string]any{"op": t.Op, "args": args}}
}

// AsTransform reports whether v is a combinator marker.
func AsTransform(v Value) (Transform, bool) {
	body, ok := single(v, KeyTransform).(map[string]any)
	if !ok {
		return Transform{}, false
	}
	op, okOp := body["op"].(string)
	args, okArgs := body["args"].([]any)
	return Transform{Op: op, Args: args}, okOp && okArgs && len(body) == 2
}

// SecretRef is a handle on a secret; its value exists only during a provider call.
type SecretRef struct {
	Name     string
	Provider string // "" = the default secret provider (null in the marker)
}

// Marker is the symbolic form of the secret handle.
func (s SecretRef) Marker() map[string]any {
	var provider any
	if s.Provider != "" {
		provider = s.Provider
	}
	return map[string]any{KeySecretRef: map[string]any{"name": s.Name, "provider": provider}}
}

// AsSecretRef reports whether v is a secret marker.
func AsSecretRef(v Value) (SecretRef, bool) {
	body, ok := single(v, KeySecretRef).(map[string]any)
	if !ok {
		return SecretRef{}, false
	}
	name, ok := body["name"].(string)
	provider, _ := body["provider"].(string)
	return SecretRef{Name: name, Provider: provider}, ok
}

// AsStackOutput reports whether v is a handle on a committed output; key is
// "{stack}:{name}".
func AsStackOutput(v Value) (key string, ok bool) {
	key, ok = single(v, KeyStackOutput).(string)
	return key, ok
}

// StackOutputMarker is the symbolic form of a handle on a committed output.
func StackOutputMarker(key string) map[string]any { return map[string]any{KeyStackOutput: key} }

func single(v Value, key string) any {
	m, ok := v.(map[string]any)
	if !ok || len(m) != 1 {
		return nil
	}
	return m[key]
}

// IsHandle reports whether v itself (not something inside it) is a marker.
func IsHandle(v Value) bool {
	m, ok := v.(map[string]any)
	if !ok || len(m) != 1 {
		return false
	}
	if _, ok := AsReference(v); ok {
		return true
	}
	if _, ok := AsTransform(v); ok {
		return true
	}
	if _, ok := AsSecretRef(v); ok {
		return true
	}
	_, ok = AsStackOutput(v)
	return ok
}

// Walk visits v and everything in it, parents first, map values in key order,
// combinator operands included; it goes no deeper below a value for which visit
// returns false.
func Walk(v Value, visit func(Value) bool) {
	if !visit(v) {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			Walk(item, visit)
		}
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for _, k := range keys {
			Walk(v[k], visit)
		}
	}
}

// HasHandle reports whether v is or contains a handle at any depth.
func HasHandle(v Value) bool {
	found := false
	Walk(v, func(v Value) bool {
		found = found || IsHandle(v)
		return !found
	})
	return found
}

// References lists the distinct references in v, at any depth, sorted by node id
// and output.
func References(v Value) []Reference {
	var refs []Reference
	Walk(v, func(v Value) bool {
		if r, ok := AsReference(v); ok {
			refs = append(refs, r)
			return false
		}
		return true
	})
	sort.Slice(refs, func(i, j int) bool {
		a, b := refs[i], refs[j]
		return a.NodeID < b.NodeID || a.NodeID == b.NodeID && a.Output < b.Output
	})
	distinct := refs[:0]
	for i, r := range refs {
		if i == 0 || r != refs[i-1] {
			distinct = append(distinct, r)
		}
	}
	return distinct
}
