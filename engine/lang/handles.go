package lang

import (
	"strings"

	"go.starlark.net/starlark"
	star "go.starlark.net/syntax"

	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// A handle stands for a value that is known at apply (lang.md §12). Handles are
// frozen; they compare and hash by their fields.
type handle interface {
	starlark.Value
	// marker is the handle in the IR.
	marker(c *canonicalizer) (model.Value, error)
	// of is the run that hears of questions the handle cannot answer; nil = none does.
	of() *evaluation
}

func isHandle(v starlark.Value) bool {
	_, ok := v.(handle)
	return ok
}

// ref is the output of a node.
type ref struct {
	node, attr string
	run        *evaluation
}

// secretRef is a secret; provider is a text or None.
type secretRef struct {
	name     string
	provider starlark.Value
	run      *evaluation
}

// stackOutputRef is the output of a stack, of this config or another one.
type stackOutputRef struct {
	stack, name string
	run         *evaluation
}

// transform joins values that may be handles.
type transform struct {
	object
	op   string
	args starlark.Tuple
	run  *evaluation // of the first operand that is a handle

	// The hash is made once, bottom up: operands may share operands at any depth.
	hash    uint32
	hashErr error
	depth   int // of combinators and tuples below it

	weight int64 // 0 = not known yet
}

// maxOperandDepth bounds how deep operands of a combinator that is a key may nest.
const maxOperandDepth = 1000

func newTransform(op string, args ...starlark.Value) *transform {
	x := &transform{op: op, args: args, run: runOf(args)}
	if x.depth = operandDepth(x.args, 0); x.depth > maxOperandDepth {
		x.hashErr = py.TypeErrorf("unhashable type: 'Transform' nested deeper than %d levels", maxOperandDepth)
		return x
	}
	if x.hash, x.hashErr = x.args.Hash(); x.hashErr == nil {
		own, _ := hashTexts("transform", op)
		x.hash ^= own
	}
	return x
}

// weigh is the size of hashable operands, each combinator counted once, as they are
// compared.
func weigh(v starlark.Value, seen map[*transform]bool) int64 {
	n := int64(1)
	switch v := v.(type) {
	case *transform:
		if !seen[v] {
			seen[v] = true
			n += weigh(v.args, seen)
		}
	case starlark.Tuple:
		for _, item := range v {
			n += weigh(item, seen)
		}
	case starlark.String:
		n += textWeight(string(v))
	case py.Weighted:
		n += v.PyWeight()
	}
	return n
}

// operandDepth is how deep combinators and tuples nest in v; past the bound it is any
// number above it.
func operandDepth(v starlark.Value, above int) int {
	switch v := v.(type) {
	case *transform:
		return above + v.depth + 1
	case starlark.Tuple:
		deepest := above
		for _, item := range v {
			if deepest > maxOperandDepth {
				break
			}
			deepest = max(deepest, operandDepth(item, above+1))
		}
		return deepest
	default:
		return above
	}
}

func (ref) Type() string            { return "Ref" }
func (secretRef) Type() string      { return "SecretRef" }
func (stackOutputRef) Type() string { return "StackOutputRef" }
func (*transform) Type() string     { return "Transform" }

func (ref) String() string            { return "<Ref object>" }
func (secretRef) String() string      { return "<SecretRef object>" }
func (stackOutputRef) String() string { return "<StackOutputRef object>" }

func (ref) Freeze()            {}
func (secretRef) Freeze()      {}
func (stackOutputRef) Freeze() {}

// Truth of a handle is no answer; the run hears that it was asked for.
func (r ref) Truth() starlark.Bool { return warnTruth(r) }

// Truth is that of a handle.
func (s secretRef) Truth() starlark.Bool { return warnTruth(s) }

// Truth is that of a handle.
func (s stackOutputRef) Truth() starlark.Bool { return warnTruth(s) }

// Truth is that of a handle.
func (x *transform) Truth() starlark.Bool { return warnTruth(x) }

func (r ref) of() *evaluation            { return r.run }
func (s secretRef) of() *evaluation      { return s.run }
func (s stackOutputRef) of() *evaluation { return s.run }
func (x *transform) of() *evaluation     { return x.run }

// runOf is the run of the first handle among operands, the elements of a list included.
func runOf(operands starlark.Tuple) *evaluation {
	for _, v := range operands {
		switch v := v.(type) {
		case handle:
			return v.of()
		case *starlark.List:
			for i := range v.Len() {
				if h, ok := v.Index(i).(handle); ok {
					return h.of()
				}
			}
		}
	}
	return nil
}

func (r ref) Hash() (uint32, error) { return hashTexts("ref", r.node, r.attr) }
func (s secretRef) Hash() (uint32, error) {
	return hashTexts("secret", s.name, text(s.provider))
}
func (s stackOutputRef) Hash() (uint32, error) { return hashTexts("output", s.stack, s.name) }
func (x *transform) Hash() (uint32, error)     { return x.hash, x.hashErr }

func hashTexts(parts ...string) (uint32, error) {
	return starlark.String(strings.Join(parts, "\x00")).Hash()
}

func (r ref) marker(c *canonicalizer) (model.Value, error) {
	if err := c.mark(1, len(r.node)+len(r.attr)); err != nil {
		return nil, err
	}
	return model.Reference{NodeID: r.node, Output: r.attr}.Marker(), nil
}

func (s secretRef) marker(c *canonicalizer) (model.Value, error) {
	if err := c.mark(3, 0); err != nil {
		return nil, err
	}
	return model.SecretRef{Name: s.name, Provider: text(s.provider)}.Marker(), nil
}

func (s stackOutputRef) marker(c *canonicalizer) (model.Value, error) {
	if err := c.mark(1, len(s.stack)+len(s.name)); err != nil {
		return nil, err
	}
	return model.StackOutputMarker(s.stack + ":" + s.name), nil
}

func (x *transform) marker(c *canonicalizer) (model.Value, error) { return c.transform(x) }

// textWeight is what texts weigh: a step for 64 bytes.
func textWeight(texts ...string) int64 {
	n := 0
	for _, s := range texts {
		n += len(s)
	}
	return int64(n) / 64
}

// PyWeight implements py.Weighted.
func (r ref) PyWeight() int64 { return textWeight(r.node, r.attr) }

// PyWeight implements py.Weighted.
func (s secretRef) PyWeight() int64 { return textWeight(s.name, text(s.provider)) }

// PyWeight implements py.Weighted.
func (s stackOutputRef) PyWeight() int64 { return textWeight(s.stack, s.name) }

// PyWeight implements py.Weighted.
func (x *transform) PyWeight() int64 {
	if x.weight == 0 && x.hashErr == nil {
		x.weight = weigh(x, map[*transform]bool{})
	}
	return x.weight
}

func (r ref) PyEqual(y starlark.Value) (bool, bool)            { return y == starlark.Value(r), true }
func (s secretRef) PyEqual(y starlark.Value) (bool, bool)      { return y == starlark.Value(s), true }
func (s stackOutputRef) PyEqual(y starlark.Value) (bool, bool) { return y == starlark.Value(s), true }

// PyParts implements py.Composite: operands may be cyclic, or shared at any depth.
func (x *transform) PyParts() starlark.Tuple {
	return append(starlark.Tuple{starlark.String(x.op)}, x.args...)
}

// CompareSameType lets the hash table of a dict compare keys, which are immutable and of
// bounded depth, but may share operands.
func (x *transform) CompareSameType(op star.Token, other starlark.Value, _ int) (bool, error) {
	y, ok := other.(*transform)
	equal := ok && x.hash == y.hash && equalOperands(x, y, map[[2]*transform]bool{})
	switch op {
	case star.EQL:
		return equal, nil
	case star.NEQ:
		return !equal, nil
	}
	return false, py.TypeErrorf("'%s' is not supported between handles", op)
}

// equalOperands compares hashable values, each pair of combinators once.
func equalOperands(x, y starlark.Value, seen map[[2]*transform]bool) bool {
	switch x := x.(type) {
	case *transform:
		y, ok := y.(*transform)
		if !ok || x.op != y.op || x.hash != y.hash {
			return false
		}
		pair := [2]*transform{x, y}
		if x == y || seen[pair] {
			return true
		}
		seen[pair] = true // unequal pairs end the whole comparison
		return equalOperands(x.args, y.args, seen)
	case starlark.Tuple:
		y, ok := y.(starlark.Tuple)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equalOperands(x[i], y[i], seen) {
				return false
			}
		}
		return true
	default:
		equal, err := starlark.Equal(x, y)
		return equal && err == nil
	}
}

func (r ref) PyRepr(t *starlark.Thread) (string, error) {
	return record(t, "Ref", "node_id", starlark.String(r.node), "attr", starlark.String(r.attr))
}

func (s secretRef) PyRepr(t *starlark.Thread) (string, error) {
	return record(t, "SecretRef", "name", starlark.String(s.name), "provider", s.provider)
}

func (s stackOutputRef) PyRepr(t *starlark.Thread) (string, error) {
	return record(t, "StackOutputRef", "stack", starlark.String(s.stack), "name", starlark.String(s.name))
}

// PyRepr implements py.Renderer.
func (x *transform) PyRepr(t *starlark.Thread) (string, error) {
	return record(t, "Transform", "op", starlark.String(x.op), "args", x.args)
}

// record is the text of a value with named fields: "Ref(node_id='…', attr='…')".
func record(t *starlark.Thread, class string, fields ...any) (string, error) {
	var b strings.Builder
	b.WriteString(class + "(")
	for i := 0; i+1 < len(fields); i += 2 {
		if i > 0 {
			b.WriteString(", ")
		}
		value, err := py.Repr(t, fields[i+1].(starlark.Value))
		if err != nil {
			return "", err
		}
		b.WriteString(fields[i].(string) + "=" + value)
	}
	b.WriteString(")")
	return b.String(), nil
}

func (r ref) Attr(name string) (starlark.Value, error) {
	return pick(name, "node_id", starlark.String(r.node), "attr", starlark.String(r.attr))
}

func (s secretRef) Attr(name string) (starlark.Value, error) {
	return pick(name, "name", starlark.String(s.name), "provider", s.provider)
}

func (s stackOutputRef) Attr(name string) (starlark.Value, error) {
	return pick(name, "stack", starlark.String(s.stack), "name", starlark.String(s.name))
}

// PyGetAttr implements py.AttrGetter: operands are copied, since lists may be among them.
func (x *transform) PyGetAttr(t *starlark.Thread, name string) (starlark.Value, error) {
	if name != "args" {
		return pick(name, "op", starlark.String(x.op))
	}
	return copyOf(py.MeterOf(t), x.args)
}

func (ref) AttrNames() []string            { return []string{"attr", "node_id"} }
func (secretRef) AttrNames() []string      { return []string{"name", "provider"} }
func (stackOutputRef) AttrNames() []string { return []string{"name", "stack"} }
func (*transform) AttrNames() []string     { return []string{"args", "op"} }

func pick(name string, fields ...any) (starlark.Value, error) {
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] == name {
			return fields[i+1].(starlark.Value), nil
		}
	}
	return nil, nil
}

// PyGetItem selects an element of a computed list or map (LX-17).
func (r ref) PyGetItem(_ *starlark.Thread, key starlark.Value) (starlark.Value, error) {
	return index(r, key)
}

// PyGetItem selects within what was selected; no other combinator has elements.
func (x *transform) PyGetItem(_ *starlark.Thread, key starlark.Value) (starlark.Value, error) {
	if x.op != "index" {
		return nil, py.TypeErrorf("'Transform' object is not subscriptable")
	}
	return index(x, key)
}

func index(h handle, key starlark.Value) (starlark.Value, error) {
	switch key.(type) {
	case starlark.Int, starlark.String:
		return newTransform("index", h, key), nil
	}
	return nil, py.TypeErrorf("a %s is indexed by an int or a str, not by a %s", py.TypeName(h), py.TypeName(key))
}

// unsetField is UNSET: a field without a value.
type unsetField struct{}

func (unsetField) String() string                          { return "UNSET" }
func (unsetField) Type() string                            { return "Unset" }
func (unsetField) Freeze()                                 {}
func (unsetField) Truth() starlark.Bool                    { return false }
func (unsetField) Hash() (uint32, error)                   { return 0x0a75e7, nil }
func (unsetField) PyRepr(*starlark.Thread) (string, error) { return "UNSET", nil }

// handleNames is the part of atlantide.core that makes handles.
func (ev *evaluation) handleNames() starlark.StringDict {
	d := combinators()
	d["UNSET"] = unsetField{}
	d["Ref"] = newClass("Ref", func(_ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		p, err := bindTexts("Ref", args, kwargs, "node_id", "attr")
		if err != nil {
			return nil, err
		}
		return ref{node: p[0], attr: p[1], run: ev}, nil
	})
	d["StackOutputRef"] = newClass("StackOutputRef", func(_ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		p, err := bindTexts("StackOutputRef", args, kwargs, "stack", "name")
		if err != nil {
			return nil, err
		}
		return stackOutputRef{stack: p[0], name: p[1], run: ev}, nil
	})
	d["SecretRef"] = newClass("SecretRef", ev.newSecretRef("SecretRef"))
	d["Transform"] = newClass("Transform", func(_ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		p, err := py.BindArgs("Transform", []string{"op", "args"}, args, kwargs)
		if err != nil {
			return nil, err
		}
		op, ok := p[0].(starlark.String)
		if !ok {
			return nil, py.TypeErrorf("Transform() op must be a str, not %s", py.TypeName(p[0]))
		}
		switch p[1].(type) {
		case starlark.Tuple, *starlark.List:
			return newTransform(string(op), append(starlark.Tuple(nil), tupleOf(p[1])...)...), nil
		}
		return nil, py.TypeErrorf("Transform() args must be a tuple, not %s", py.TypeName(p[1]))
	})
	return d
}

func (ev *evaluation) newSecretRef(function string) nativeFunc {
	return func(_ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		p, err := py.BindArgs(function, []string{"name", "provider?"}, args, kwargs)
		if err != nil {
			return nil, err
		}
		name, ok := p[0].(starlark.String)
		if !ok {
			return nil, py.TypeErrorf("%s() name must be a str, not %s", function, py.TypeName(p[0]))
		}
		provider := p[1]
		if isNone(provider) {
			provider = starlark.None
		} else if _, ok := provider.(starlark.String); !ok {
			return nil, py.TypeErrorf("%s() provider must be a str or None, not %s", function, py.TypeName(provider))
		}
		return secretRef{name: string(name), provider: provider, run: ev}, nil
	}
}

// bindTexts binds required arguments that are texts.
func bindTexts(function string, args starlark.Tuple, kwargs []starlark.Tuple, names ...string) ([]string, error) {
	p, err := py.BindArgs(function, names, args, kwargs)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(names))
	for i, name := range names {
		s, ok := p[i].(starlark.String)
		if !ok {
			return nil, py.TypeErrorf("%s() %s must be a str, not %s", function, name, py.TypeName(p[i]))
		}
		out[i] = string(s)
	}
	return out, nil
}
