package cel

import (
	"errors"
	"reflect"
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/policy"
)

// changeType is the type of the variable change. Its fields are declared, so that a
// misspelt one does not compile.
var changeType = types.NewObjectType("atlantide.Change")

// changeValue is a change in an expression.
type changeValue struct {
	*policy.Change
	desired, prior ref.Val // made when they are first read
}

type field struct {
	name  string
	of    *types.Type
	read  func(c *changeValue) any
	isSet func(c *changeValue) bool
}

func always(*changeValue) bool { return true }

func fields() []field {
	properties := types.NewMapType(types.StringType, types.DynType)
	return []field{
		{"nodeId", types.StringType, func(c *changeValue) any { return c.NodeID }, always},
		{"action", types.StringType, func(c *changeValue) any { return c.Action }, always},
		{"stack", types.StringType, func(c *changeValue) any { return model.StackOf(c.NodeID) }, always},
		{"type", types.StringType, func(c *changeValue) any { return c.Change.Type }, always},
		{"changedFields", types.NewListType(types.StringType), func(c *changeValue) any { return c.ChangedFields }, always},
		{"conditional", types.BoolType, func(c *changeValue) any { return c.Conditional }, always},
		{"desired", properties, func(c *changeValue) any { return c.side(&c.desired, c.Desired) }, func(c *changeValue) bool { return c.Desired != nil }},
		{"prior", properties, func(c *changeValue) any { return c.side(&c.prior, c.Prior) }, func(c *changeValue) bool { return c.Prior != nil }},
	}
}

// side is the properties of one side, those that nobody may read hidden.
func (c *changeValue) side(made *ref.Val, properties map[string]any) ref.Val {
	if *made == nil {
		*made = valueOf(c.visible(properties))
	}
	return *made
}

// visible are the properties with what the type declares sensitive hidden, whatever the
// value is; and everything of a type, and every field, that no provider declares any more.
func (c *changeValue) visible(properties map[string]any) map[string]any {
	sensitive := func(name string) bool { return true }
	if c.Schema != nil {
		sensitive = func(name string) bool {
			f := c.Schema.Field(name)
			return f == nil || f.Sensitive
		}
	}
	hidden := false
	for name, value := range properties {
		hidden = hidden || value != nil && sensitive(name)
	}
	if !hidden {
		return properties
	}
	out := make(map[string]any, len(properties))
	for name, value := range properties {
		if out[name] = value; value != nil && sensitive(name) {
			out[name] = hiddenValue{}
		}
	}
	return out
}

// provider declares the change beside the types of the language.
type provider struct{ types.Provider }

func (p provider) FindStructType(name string) (*types.Type, bool) {
	if name == changeType.TypeName() {
		return types.NewTypeTypeWithParam(changeType), true
	}
	return nil, false
}

func (p provider) FindStructFieldNames(name string) ([]string, bool) {
	if name != changeType.TypeName() {
		return nil, false
	}
	var names []string
	for _, f := range fields() {
		names = append(names, f.name)
	}
	return names, true
}

func (p provider) FindStructFieldType(name, fieldName string) (*types.FieldType, bool) {
	declared := fields()
	i := slices.IndexFunc(declared, func(f field) bool { return f.name == fieldName })
	if name != changeType.TypeName() || i < 0 {
		return nil, false
	}
	f := declared[i]
	return &types.FieldType{
		Type: f.of,
		IsSet: func(target any) bool {
			c, ok := target.(*changeValue)
			return ok && f.isSet(c)
		},
		GetFrom: func(target any) (any, error) {
			c, ok := target.(*changeValue)
			if !ok || !f.isSet(c) {
				return nil, errors.New("change." + f.name + " is not set for this action; ask has(change." + f.name + ") first")
			}
			return f.read(c), nil
		},
	}, true
}

func (p provider) NewValue(name string, _ map[string]ref.Val) ref.Val {
	return types.NewErr("%s cannot be made", name)
}

// A change is a value that nothing but its fields can be asked of.

func (c *changeValue) ConvertToNative(reflect.Type) (any, error) {
	return nil, errors.New("a change has no other form")
}

func (c *changeValue) ConvertToType(wanted ref.Type) ref.Val {
	if wanted == types.TypeType {
		return changeType
	}
	return types.NewErr("a change has no other form")
}

func (c *changeValue) Equal(other ref.Val) ref.Val { return types.Bool(ref.Val(c) == other) }

func (c *changeValue) Type() ref.Type { return changeType }

func (c *changeValue) Value() any { return c }
