package ir

import "slices"

// Digest is the digest of what the binding demands, its name aside. Types are a set.
func (b PolicyBinding) Digest() (string, error) {
	var types any
	if b.Types != nil {
		names := make([]any, len(b.Types))
		for i, name := range slices.Sorted(slices.Values(b.Types)) {
			names[i] = name
		}
		types = names
	}
	params := b.Params
	if params == nil {
		params = map[string]any{}
	}
	return Digest(map[string]any{"level": b.Level, "params": params, "types": types})
}
