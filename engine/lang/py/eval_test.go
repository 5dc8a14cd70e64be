package py

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// The tables write expressions in the common part of Starlark's and Python's grammar
// and evaluate them through this package alone. What that grammar lacks has a name:
// op("**", x, y), cmp("is", x, y), fmt(x, conv, spec), unpack(x, n, star), set_([…]).

func newThread(t testing.TB, l Limits) *starlark.Thread {
	t.Helper()
	m := NewMeter(context.Background(), l)
	th := &starlark.Thread{Name: t.Name()}
	m.Attach(th)
	t.Cleanup(m.Close)
	return th
}

// run evaluates an expression and gives its text: its repr, or "!" and the error's
// name.
func run(th *starlark.Thread, expr string, names starlark.StringDict) string {
	v, err := evalText(th, expr, names)
	if err == nil {
		var text string
		if text, err = Repr(th, v); err == nil {
			return text
		}
	}
	return "!" + errorName(err)
}

func errorName(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Name
	}
	if kind := model.KindOf(err); kind != model.AtlantideError {
		return string(kind)
	}
	return err.Error()
}

func evalText(th *starlark.Thread, expr string, names starlark.StringDict) (starlark.Value, error) {
	e, err := syntax.LegacyFileOptions().ParseExpr("expr", expr, 0)
	if err != nil {
		return nil, err
	}
	return (&evaluator{th, names}).expr(e)
}

type evaluator struct {
	t     *starlark.Thread
	names starlark.StringDict
}

var predeclared = func() starlark.StringDict {
	names := starlark.StringDict{"None": starlark.None, "True": starlark.True, "False": starlark.False}
	for _, table := range []starlark.StringDict{Builtins(), Helpers(), testNames} {
		maps.Copy(names, table)
	}
	return names
}()

var testNames = starlark.StringDict{
	"op":  NewNative("op", func(t *thread, a tuple, _ kwargsT) (value, error) { return Binary(t, textOf(a[0]), a[1], a[2]) }),
	"neg": NewNative("neg", func(t *thread, a tuple, _ kwargsT) (value, error) { return Unary(t, textOf(a[0]), a[1]) }),
	"cmp": NewNative("cmp", func(t *thread, a tuple, _ kwargsT) (value, error) { return Compare(t, textOf(a[0]), a[1], a[2]) }),
	"fmt": NewNative("fmt", func(t *thread, a tuple, _ kwargsT) (value, error) {
		conv := byte(0)
		if c := textOf(a[1]); c != "" {
			conv = c[0]
		}
		text, err := Format(t, a[0], conv, textOf(a[2]))
		return starlark.String(text), err
	}),
	"unpack": NewNative("unpack", func(t *thread, a tuple, _ kwargsT) (value, error) {
		n, _ := starlark.AsInt32(a[1])
		star, _ := starlark.AsInt32(a[2])
		return Unpack(t, a[0], n, star)
	}),
	"set_": NewNative("set_", func(t *thread, a tuple, _ kwargsT) (value, error) { return NewSet(t, a[0].(starlark.Indexable)) }),
	"put": NewNative("put", func(t *thread, a tuple, _ kwargsT) (value, error) {
		return a[0], SetItem(t, a[0], a[1], a[2])
	}),
	"surrogate": starlark.String("a\xed\xa0\x80b"),
}

// direct are the names whose arguments must arrive as they are, sets included.
var direct = map[string]bool{"op": true, "neg": true, "cmp": true, "fmt": true, "unpack": true, "set_": true, "put": true}

func (e *evaluator) expr(x syntax.Expr) (starlark.Value, error) {
	switch x := x.(type) {
	case *syntax.ParenExpr:
		return e.expr(x.X)
	case *syntax.Ident:
		if v, ok := e.names[x.Name]; ok {
			return v, nil
		}
		if v, ok := predeclared[x.Name]; ok {
			return v, nil
		}
		return nil, fmt.Errorf("undefined name %s", x.Name)
	case *syntax.Literal:
		switch v := x.Value.(type) {
		case string:
			return starlark.String(v), nil
		case int64:
			return starlark.MakeInt64(v), nil
		case *big.Int:
			return starlark.MakeBigInt(v), nil
		case float64:
			return starlark.Float(v), nil
		}
	case *syntax.ListExpr:
		elems, err := e.exprs(x.List)
		return starlark.NewList(elems), err
	case *syntax.TupleExpr:
		elems, err := e.exprs(x.List)
		return starlark.Tuple(elems), err
	case *syntax.DictExpr:
		pairs := make(starlark.Tuple, len(x.List))
		for i, entry := range x.List {
			kv, err := e.exprs([]syntax.Expr{entry.(*syntax.DictEntry).Key, entry.(*syntax.DictEntry).Value})
			if err != nil {
				return nil, err
			}
			pairs[i] = starlark.Tuple(kv)
		}
		return NewDict(e.t, pairs)
	case *syntax.UnaryExpr:
		v, err := e.expr(x.X)
		if err != nil {
			return nil, err
		}
		if x.Op == syntax.NOT {
			return !v.Truth(), nil
		}
		return Unary(e.t, x.Op.String(), v)
	case *syntax.BinaryExpr:
		return e.binary(x)
	case *syntax.DotExpr:
		v, err := e.expr(x.X)
		if err != nil {
			return nil, err
		}
		return GetAttr(e.t, v, x.Name.Name)
	case *syntax.IndexExpr:
		kv, err := e.exprs([]syntax.Expr{x.X, x.Y})
		if err != nil {
			return nil, err
		}
		return GetItem(e.t, kv[0], kv[1])
	case *syntax.SliceExpr:
		return e.slice(x)
	case *syntax.CallExpr:
		return e.call(x)
	}
	return nil, fmt.Errorf("%T in a test expression", x)
}

func (e *evaluator) exprs(list []syntax.Expr) ([]starlark.Value, error) {
	values := make([]starlark.Value, len(list))
	for i, x := range list {
		v, err := e.expr(x)
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return values, nil
}

func (e *evaluator) binary(x *syntax.BinaryExpr) (starlark.Value, error) {
	kv, err := e.exprs([]syntax.Expr{x.X, x.Y})
	if err != nil {
		return nil, err
	}
	switch x.Op {
	case syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE, syntax.IN, syntax.NOT_IN:
		return Compare(e.t, x.Op.String(), kv[0], kv[1])
	default:
		return Binary(e.t, x.Op.String(), kv[0], kv[1])
	}
}

func (e *evaluator) slice(x *syntax.SliceExpr) (starlark.Value, error) {
	v, err := e.expr(x.X)
	if err != nil {
		return nil, err
	}
	var parts [3]starlark.Value
	for i, part := range []syntax.Expr{x.Lo, x.Hi, x.Step} {
		if part != nil {
			if parts[i], err = e.expr(part); err != nil {
				return nil, err
			}
		}
	}
	return GetItem(e.t, v, NewSlice(parts[0], parts[1], parts[2]))
}

func (e *evaluator) call(x *syntax.CallExpr) (starlark.Value, error) {
	fn, err := e.expr(x.Fn)
	if err != nil {
		return nil, err
	}
	var args starlark.Tuple
	var kwargs []starlark.Tuple
	for _, a := range x.Args {
		if b, ok := a.(*syntax.BinaryExpr); ok && b.Op == syntax.EQ {
			v, err := e.expr(b.Y)
			if err != nil {
				return nil, err
			}
			kwargs = append(kwargs, starlark.Tuple{starlark.String(b.X.(*syntax.Ident).Name), v})
			continue
		}
		if u, ok := a.(*syntax.UnaryExpr); ok && u.Op == syntax.STAR {
			v, err := e.expr(u.X)
			if err != nil {
				return nil, err
			}
			more, err := Chain(e.t, v)
			if err != nil {
				return nil, err
			}
			args = append(args, more...)
			continue
		}
		v, err := e.expr(a)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	if id, ok := x.Fn.(*syntax.Ident); ok && direct[id.Name] {
		return fn.(*Native).fn(e.t, args, kwargs)
	}
	return Call(e.t, fn, args, kwargs)
}

// exprCase is one line of a table: what the expression gives, and why it is there.
type exprCase struct{ expr, want, why string }

func runCases(t *testing.T, cases []exprCase) {
	t.Helper()
	for _, c := range cases {
		if got := run(newThread(t, Limits{}), c.expr, nil); got != c.want {
			t.Errorf("%s\n got %s\nwant %s\n(%s)", c.expr, got, c.want, c.why)
		}
	}
}
