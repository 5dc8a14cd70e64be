// Package resolve owns how a symbolic value becomes a concrete one: references and
// committed outputs are looked up, combinators are evaluated (EX-5, EX-6). Planning
// and applying resolve with the same code, so that they cannot disagree.
//
// It must never know where outputs come from, nor what a value is for.
package resolve

import (
	"fmt"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// MaxText bounds, in bytes, all text that the combinators of one value may make, so
// that nested templates cannot fill the memory.
const MaxText = 16 << 20

// Values is where handles find their values. A nil function knows nothing.
type Values struct {
	// Output is the output of a node.
	Output func(model.Reference) (any, bool)
	// StackOutput is a committed output by its key, "{stack}:{name}" (EX-7).
	StackOutput func(key string) (any, bool)
	// Secret is the value that a secret handle names. nil leaves handles as they are.
	Secret func(model.SecretRef) (string, error)
}

// Resolve replaces every reference and committed output in v and evaluates every
// combinator, at any depth. A handle without a value and an operand that a combinator
// cannot take are errors. What it puts in is not looked at again: an output that
// happens to look like a handle is data. Without Values.Secret a secret handle stays as it
// is, except that no combinator takes one. v is not changed; the result shares nothing
// with it.
func (vs Values) Resolve(v any) (any, error) {
	e := evaluation{values: vs, left: MaxText}
	return e.value(v)
}

// Concrete resolves the inputs of a provider call: nothing in them may be a handle
// afterwards, nor look like one (EX-8). The error names the first field, in order, that
// has no value.
func (vs Values) Concrete(properties map[string]any) (map[string]any, error) {
	out := make(map[string]any, len(properties))
	for _, field := range sortedKeys(properties) {
		v, err := vs.concrete(properties[field])
		if err != nil {
			return nil, model.Errorf(model.KindOf(err), model.ClassOf(err), "field '%s': %w", field, err)
		}
		out[field] = v
	}
	return out, nil
}

// Lenient resolves what can be resolved and leaves out the fields that cannot: the
// view of a recorded node whose upstreams may be gone (EX-17).
func (vs Values) Lenient(properties map[string]any) map[string]any {
	out := make(map[string]any, len(properties))
	for field, property := range properties {
		if v, err := vs.concrete(property); err == nil {
			out[field] = v
		}
	}
	return out
}

func (vs Values) concrete(property any) (any, error) {
	v, err := vs.Resolve(property)
	if err != nil {
		return nil, err
	}
	if secret, ok := findSecret(v); ok {
		return nil, secretRefused(secret)
	}
	if marker := Reserved(v); marker != "" {
		return nil, refused("a value that it refers to holds the reserved form %s and cannot be passed on", marker)
	}
	return v, nil
}

// Outputs is a Values.Output over outputs by node id.
func Outputs(byNode map[string]map[string]any) func(model.Reference) (any, bool) {
	return func(ref model.Reference) (any, bool) {
		v, ok := byNode[ref.NodeID][ref.Output]
		return v, ok
	}
}

// evaluation is the resolution of one value.
type evaluation struct {
	values Values
	left   int // bytes of text that combinators may still make
}

func (e *evaluation) value(v any) (any, error) {
	if ref, ok := model.AsReference(v); ok {
		return e.reference(ref)
	}
	if key, ok := model.AsStackOutput(v); ok {
		return e.stackOutput(key)
	}
	if t, ok := model.AsTransform(v); ok {
		return e.transform(t)
	}
	if secret, ok := model.AsSecretRef(v); ok {
		if e.values.Secret == nil {
			return model.Clone(v), nil
		}
		return e.secret(secret)
	}
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			r, err := e.value(item)
			if err != nil {
				return nil, err
			}
			out[i] = r
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, key := range sortedKeys(v) {
			r, err := e.value(v[key])
			if err != nil {
				return nil, err
			}
			out[key] = r
		}
		return out, nil
	}
	return v, nil
}

func (e *evaluation) reference(ref model.Reference) (any, error) {
	if e.values.Output != nil {
		if v, ok := e.values.Output(ref); ok {
			return model.Clone(v), nil
		}
	}
	return nil, model.Errorf(model.ProviderError, model.ClassUnknown,
		"output '%s' of %s is not known", ref.Output, ref.NodeID)
}

func (e *evaluation) stackOutput(key string) (any, error) {
	if e.values.StackOutput != nil {
		if v, ok := e.values.StackOutput(key); ok {
			return model.Clone(v), nil
		}
	}
	return nil, refused("output '%s' is not committed; apply stack '%s' first", key, model.StackOf(key))
}

func (e *evaluation) secret(ref model.SecretRef) (any, error) {
	value, err := e.values.Secret(ref)
	if err != nil {
		return nil, model.Errorf(model.SecretsError, model.ClassOf(err), "secret '%s' does not resolve: %w", ref.Name, err)
	}
	return value, nil
}

func (e *evaluation) transform(t model.Transform) (any, error) {
	args := make([]any, len(t.Args))
	for i, arg := range t.Args {
		v, err := e.value(arg)
		if err != nil {
			return nil, err
		}
		if secret, ok := findSecret(v); ok {
			return nil, secretRefused(secret)
		}
		args[i] = v
	}
	switch t.Op {
	case "concat":
		return e.concat(args)
	case "join":
		return e.join(args)
	case "interpolate":
		return e.interpolate(args)
	case "index":
		return index(args)
	}
	return nil, refused("combinator '%s' does not exist", t.Op)
}

// charge takes n bytes off what may still be made.
func (e *evaluation) charge(n int) error {
	if n > e.left {
		return refused("a text made of outputs is larger than %d bytes", MaxText)
	}
	e.left -= n
	return nil
}

// Reserved names the first handle or sealed value in v, at any depth; "" without one.
func Reserved(v any) string {
	marker := ""
	model.Walk(v, func(v model.Value) bool {
		if marker != "" {
			return false
		}
		m, ok := v.(map[string]any)
		if !ok || len(m) != 1 {
			return true
		}
		_, sealed := m[model.KeySealed].(string)
		if sealed || model.IsHandle(v) {
			for key := range m {
				marker = key
			}
		}
		return marker == ""
	})
	return marker
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func findSecret(v any) (found model.SecretRef, ok bool) {
	model.Walk(v, func(v model.Value) bool {
		if secret, is := model.AsSecretRef(v); is && !ok {
			found, ok = secret, true
		}
		return !ok
	})
	return found, ok
}

func secretRefused(secret model.SecretRef) error {
	return model.Errorf(model.SecretsError, model.ClassUser,
		"secret '%s' has no value here: no secret provider is configured", secret.Name)
}

// refused is an error that only the config's author can mend.
func refused(format string, args ...any) error {
	return model.Errorf(model.ProviderError, model.ClassUser, "%s", fmt.Sprintf(format, args...))
}
