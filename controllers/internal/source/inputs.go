package source

import (
	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// MaxInputsBytes bounds spec.inputs as it is serialized.
const MaxInputsBytes = 64 << 10

// Inputs reads spec.inputs; nil without any. Handles are refused: an input is a value,
// and a secret that passed through here would stand in the Stack in plain text.
func Inputs(stack *v1alpha1.Stack) (map[string]any, error) {
	if stack.Spec.Inputs == nil || len(stack.Spec.Inputs.Raw) == 0 {
		return nil, nil
	}
	raw := stack.Spec.Inputs.Raw
	if len(raw) > MaxInputsBytes {
		return nil, invalid("spec.inputs holds %d bytes; at most %d are allowed", len(raw), MaxInputsBytes)
	}
	value, err := model.DecodeJSON(raw)
	if err != nil {
		return nil, invalid("spec.inputs is not usable: %w", err)
	}
	inputs, ok := value.(map[string]any)
	if !ok {
		return nil, invalid("spec.inputs must be an object of input names and values")
	}
	for name, value := range inputs {
		if model.HasHandle(value) {
			return nil, invalid("spec.inputs.%s holds a reference or secret marker; inputs are plain values", name)
		}
	}
	if len(inputs) == 0 {
		return nil, nil
	}
	return inputs, nil
}
