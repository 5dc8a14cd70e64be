package lang

import (
	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
)

// stackReference is StackReference(stack): the way to the outputs of a stack.
type stackReference struct {
	object
	stack string
	run   *evaluation
}

func (ev *evaluation) newStackReference(_ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	p, err := bindTexts("StackReference", args, kwargs, "stack")
	if err != nil {
		return nil, err
	}
	return &stackReference{stack: p[0], run: ev}, nil
}

func (s *stackReference) Type() string { return "StackReference" }

// PyRepr implements py.Renderer.
func (s *stackReference) PyRepr(t *starlark.Thread) (string, error) {
	return record(t, "StackReference", "stack", starlark.String(s.stack))
}

func (s *stackReference) Attr(name string) (starlark.Value, error) {
	switch name {
	case "stack":
		return starlark.String(s.stack), nil
	case "output":
		return py.NewNative("output", func(_ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			p, err := bindTexts("output", args, kwargs, "name")
			if err != nil {
				return nil, err
			}
			return stackOutputRef{stack: s.stack, name: p[0], run: s.run}, nil
		}), nil
	}
	return nil, nil
}

func (s *stackReference) AttrNames() []string { return []string{"output", "stack"} }

// PyGetItem is another spelling of output.
func (s *stackReference) PyGetItem(_ *starlark.Thread, key starlark.Value) (starlark.Value, error) {
	name, ok := key.(starlark.String)
	if !ok {
		return nil, py.TypeErrorf("the name of a stack output must be a str, not %s", py.TypeName(key))
	}
	return stackOutputRef{stack: s.stack, name: string(name), run: s.run}, nil
}
