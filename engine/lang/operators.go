package lang

import (
	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/lang/lower"
	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
)

// operators are what package lower calls and is the same in every run.
var operators = makeOperators()

func makeOperators() starlark.StringDict {
	d := starlark.StringDict{
		lower.Unset:    unset,
		lower.Ellipsis: py.Ellipsis,
		lower.Call: starlark.NewBuiltin(lower.Call, func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			return py.Call(t, args[0], args[1:], kwargs)
		}),
	}
	for name, f := range valueIntrinsics {
		addIntrinsic(d, name, f)
	}
	for _, op := range lower.BinaryOps {
		addIntrinsic(d, lower.Binary(op), func(t *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			return py.Binary(t, op, args[0], args[1])
		})
	}
	for _, op := range lower.UnaryOps {
		addIntrinsic(d, lower.Unary(op), func(t *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			return py.Unary(t, op, args[0])
		})
	}
	for _, op := range lower.CompareOps {
		equality := op == "==" || op == "!=" || op == "in" || op == "not in"
		addIntrinsic(d, lower.Compare(op), func(t *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			v, err := py.Compare(t, op, args[0], args[1])
			if err == nil && equality {
				v = compared(t, op, args[0], args[1], v)
			}
			return v, err
		})
	}
	return d
}

func addIntrinsic(d starlark.StringDict, name string, f intrinsic) {
	d[name] = starlark.NewBuiltin(name, func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return f(t, args)
	})
}

// valueIntrinsics work on their arguments alone.
var valueIntrinsics = map[string]intrinsic{
	lower.IsSet: func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		return starlark.Bool(args[0] != unset), nil
	},
	lower.GetAttr: func(t *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		v, err := py.GetAttr(t, args[0], text(args[1]))
		if err != nil {
			err = hintAttributes(err, args[0], text(args[1]))
		}
		return v, err
	},
	lower.GetItem: func(t *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		return py.GetItem(t, args[0], args[1])
	},
	lower.Store: func(t *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		return starlark.None, py.SetItem(t, args[1], args[2], args[0])
	},
	lower.Slice: func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		return py.NewSlice(args[0], args[1], args[2]), nil
	},
	lower.Made: func(t *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		return py.Made(t, args[0])
	},
	lower.Frame: func(t *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		return starlark.True, py.Frame(t, int64(integer(args[0])), bool(args[1].Truth()))
	},
	lower.Collect: func(t *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		return py.Collect(t, args[0])
	},
	lower.Iter: func(t *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		return py.Iterate(t, args[0])
	},
	lower.Unpack: func(t *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		return py.Unpack(t, args[0], integer(args[1]), integer(args[2]))
	},
	lower.Apply: func(t *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		positional := tupleOf(args[1])
		pairs := args[2].(*starlark.List)
		kwargs := make([]starlark.Tuple, pairs.Len())
		for i := range kwargs {
			kwargs[i] = pairs.Index(i).(starlark.Tuple)
		}
		return py.Call(t, args[0], positional, kwargs)
	},
	lower.Chain: func(t *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		return py.Chain(t, tupleOf(args[0])...)
	},
	lower.Set: func(t *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		return py.NewSet(t, args[0].(*starlark.List))
	},
	lower.Dict: func(t *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		return py.NewDict(t, args[0].(*starlark.List))
	},
	lower.Join: func(t *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		return texted(py.Join(t, args[0].(*starlark.List)))
	},
	lower.Schema: func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		return newSchemaClass(text(args[0]), args[2].(*starlark.List)), nil
	},
	lower.Bytes: func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		return py.Bytes(text(args[0])), nil
	},
}
