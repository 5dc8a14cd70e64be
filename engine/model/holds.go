package model

// What decides what is hidden and what needs a key stands here once: a reader of markers that
// knew of fewer than another would show what the other hides.

// HoldsSecret reports whether there is a secret handle in v, at any depth.
func HoldsSecret(v Value) bool {
	return holds(v, func(v Value) bool {
		_, ok := AsSecretRef(v)
		return ok
	})
}

// IsSealed reports whether v is a sealed value.
func IsSealed(v Value) bool {
	m, ok := v.(map[string]any)
	if !ok || len(m) != 1 {
		return false
	}
	_, ok = m[KeySealed]
	return ok
}

// HoldsSealed reports whether there is a sealed value in v, at any depth.
func HoldsSealed(v Value) bool { return holds(v, IsSealed) }

func holds(v Value, marker func(Value) bool) bool {
	if _, text := v.(string); text {
		return false // as most values are
	}
	found := false
	Walk(v, func(v Value) bool {
		found = found || marker(v)
		return !found
	})
	return found
}
