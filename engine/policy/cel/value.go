package cel

import (
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// hiddenValue stands for a value that no expression may read.
type hiddenValue struct{}

// Why a value is not known; the names of the variables that CEL's unknowns carry.
const (
	whyLater     = "known only after the apply"
	whySensitive = "sensitive"
	whyTooLong   = "too long"
)

// maxText bounds the texts that an expression can hold, in bytes, and the lists that it
// can make, in elements.
const maxText = 64 << 10

// adapter makes values of an expression out of those of a change, when they are read.
type adapter struct{ other types.Adapter }

func (a adapter) NativeToValue(v any) ref.Val {
	switch v := v.(type) {
	case nil:
		return types.NullValue
	case ref.Val:
		return v
	case hiddenValue:
		return unknown(whySensitive)
	case bool:
		return types.Bool(v)
	case int64:
		return types.Int(v)
	case float64:
		return types.Double(v)
	case string:
		if len(v) > maxText {
			return unknown(whyTooLong)
		}
		return types.String(v)
	case []string:
		return types.NewStringList(a, v)
	case []any:
		return types.NewDynamicList(a, v)
	case map[string]any:
		if why := whyUnknown(v); why != "" {
			return unknown(why)
		}
		return types.NewStringInterfaceMap(a, v)
	default:
		if a.other == nil {
			return types.UnsupportedRefValConversionErr(v)
		}
		return a.other.NativeToValue(v)
	}
}

// valueOf are the properties of a node as a mapping, even one that looks like a handle.
func valueOf(properties map[string]any) ref.Val {
	return types.NewStringInterfaceMap(adapter{}, properties)
}

// whyUnknown is why a handle or a sealed value has no value; "" for any other map.
func whyUnknown(v map[string]any) string {
	if len(v) != 1 {
		return ""
	}
	if _, sealed := v[model.KeySealed]; sealed {
		return whySensitive
	}
	if !model.IsHandle(v) {
		return ""
	}
	why := whyLater
	model.Walk(v, func(v model.Value) bool {
		if _, secret := model.AsSecretRef(v); secret {
			why = whySensitive
		}
		return why != whySensitive
	})
	return why
}

// The ids tell the reasons apart when unknowns are merged.
func unknown(why string) ref.Val {
	id := map[string]int64{whyLater: -1, whySensitive: -2, whyTooLong: -3}[why]
	return types.NewUnknown(id, types.NewAttributeTrail(why))
}

// reasons are why a result is not known.
func reasons(u *types.Unknown) (why []string) {
	for _, id := range u.IDs() {
		trails, _ := u.GetAttributeTrails(id)
		for _, trail := range trails {
			why = append(why, trail.Variable())
		}
	}
	return why
}
