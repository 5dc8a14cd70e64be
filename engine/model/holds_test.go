package model

import "testing"

func TestHolds(t *testing.T) {
	secret, sealed := map[string]any{KeySecretRef: map[string]any{"name": "a", "provider": nil}}, map[string]any{KeySealed: "v2:x"}
	deep := func(v any) any { return map[string]any{"a": []any{int64(1), map[string]any{"b": v}}} }
	tests := []struct {
		reason                              string
		v                                   any
		isSealed, holdsSealed, holdsASecret bool
	}{
		{"a text, whatever it says", `{"$sealed":"v2:x"}`, false, false, false},
		{"nothing", nil, false, false, false},
		{"a sealed value", sealed, true, true, false},
		{"one below", deep(sealed), false, true, false},
		{"a marker has one key", map[string]any{KeySealed: "v2:x", "more": 1}, false, false, false},
		{"a handle", secret, false, false, true},
		{"one below", deep(secret), false, false, true},
		{"a handle in a combinator", map[string]any{KeyTransform: map[string]any{"op": "concat", "args": []any{"x", secret}}}, false, false, true},
	}
	for _, test := range tests {
		if got := IsSealed(test.v); got != test.isSealed {
			t.Errorf("IsSealed(%v) = %t: %s", test.v, got, test.reason)
		}
		if got := HoldsSealed(test.v); got != test.holdsSealed {
			t.Errorf("HoldsSealed(%v) = %t: %s", test.v, got, test.reason)
		}
		if got := HoldsSecret(test.v); got != test.holdsASecret {
			t.Errorf("HoldsSecret(%v) = %t: %s", test.v, got, test.reason)
		}
	}
}
