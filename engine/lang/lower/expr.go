package lower

import (
	"math/big"

	star "go.starlark.net/syntax"

	"github.com/atlantide-org/atlantide-operator/engine/lang/syntax"
)

func (l *lowerer) expr(e syntax.Expr) star.Expr {
	switch e := e.(type) {
	case *syntax.Constant:
		return l.constant(e)
	case *syntax.Name:
		return l.read(e.Pos, e.Name)
	case *syntax.JoinedStr:
		return l.joined(e)
	case *syntax.UnaryOp:
		if e.Op == "not" {
			return &star.UnaryExpr{OpPos: l.pos(e.Pos), Op: star.NOT, X: l.expr(e.Operand)}
		}
		return l.call(e.Pos, Unary(e.Op), l.expr(e.Operand))
	case *syntax.BinOp:
		return l.call(e.OpPos, Binary(e.Op), l.expr(e.Left), l.expr(e.Right))
	case *syntax.BoolOp:
		return l.boolOp(e.Pos, e.Op, l.exprs(e.Values))
	case *syntax.Compare:
		return l.comparison(e)
	case *syntax.IfExp:
		return &star.CondExpr{If: l.pos(e.Pos), Cond: l.expr(e.Test), True: l.expr(e.Body), False: l.expr(e.Orelse)}
	case *syntax.Call:
		return l.callExpr(e)
	case *syntax.Attribute:
		if l.method.class != "" && syntax.IsSuper(e.Value) {
			return l.super(e)
		}
		return l.call(e.Pos, GetAttr, l.expr(e.Value), l.text(e.NamePos, e.Name))
	case *syntax.Subscript:
		return l.call(e.Pos, GetItem, l.expr(e.Value), l.expr(e.Index))
	case *syntax.Slice:
		return l.call(e.Pos, Slice, l.optional(e.Pos, e.Lower), l.optional(e.Pos, e.Upper), l.optional(e.Pos, e.Step))
	case *syntax.List:
		return l.call(e.Pos, Made, l.list(e.Pos, l.exprs(e.Elts)))
	case *syntax.Tuple:
		return l.call(e.Pos, Made, l.tuple(e.Pos, l.exprs(e.Elts)))
	case *syntax.Set:
		return l.call(e.Pos, Set, l.list(e.Pos, l.exprs(e.Elts)))
	case *syntax.Dict:
		return l.dict(e)
	case *syntax.ListComp:
		return l.comprehension(e.Pos, e.Generators, func() star.Expr { return l.expr(e.Elt) })
	case *syntax.GeneratorExp:
		return l.comprehension(e.Pos, e.Generators, func() star.Expr { return l.expr(e.Elt) })
	case *syntax.SetComp:
		return l.call(e.Pos, Set, l.comprehension(e.Pos, e.Generators, func() star.Expr { return l.expr(e.Elt) }))
	case *syntax.DictComp:
		return l.call(e.Pos, Dict, l.comprehension(e.Pos, e.Generators, func() star.Expr { return l.call(e.Pos, Made, l.pair(e.Key, e.Value)) }))
	case *syntax.Lambda:
		return l.call(e.Pos, Made, l.lambda(e))
	case *syntax.Starred:
		return l.expr(e.Value)
	}
	return l.ident(e.Start(), "None") // check refuses everything else
}

func (l *lowerer) exprs(list []syntax.Expr) []star.Expr {
	out := make([]star.Expr, len(list))
	for i, e := range list {
		out[i] = l.expr(e)
	}
	return out
}

func (l *lowerer) optional(p syntax.Pos, e syntax.Expr) star.Expr {
	if e == nil {
		return l.ident(p, "None")
	}
	return l.expr(e)
}

func (l *lowerer) constant(e *syntax.Constant) star.Expr {
	p := l.pos(e.Pos)
	switch v := e.Value.(type) {
	case bool:
		return l.truth(e.Pos, v)
	case *big.Int:
		if v.IsInt64() {
			return &star.Literal{Token: star.INT, TokenPos: p, Value: v.Int64()}
		}
		return &star.Literal{Token: star.INT, TokenPos: p, Value: v}
	case float64:
		return &star.Literal{Token: star.FLOAT, TokenPos: p, Value: v}
	case string:
		return l.text(e.Pos, v)
	case syntax.Bytes:
		return l.call(e.Pos, Bytes, l.text(e.Pos, string(v)))
	case syntax.Ellipsis:
		return l.ident(e.Pos, Ellipsis)
	}
	return l.ident(e.Pos, "None")
}

// joined lowers an f-string. Its parts travel as a list: a call has a limit.
func (l *lowerer) joined(e *syntax.JoinedStr) star.Expr {
	parts := make([]star.Expr, 0, len(e.Parts))
	for _, part := range e.Parts {
		f, ok := part.(*syntax.FormattedValue)
		if !ok {
			parts = append(parts, l.expr(part))
			continue
		}
		conv := ""
		if f.Conv != 0 {
			conv = string(rune(f.Conv))
		}
		spec := l.text(f.Pos, "")
		value := l.expr(f.Value)
		if f.Spec != nil {
			spec = l.joined(f.Spec)
		}
		parts = append(parts, l.call(f.Pos, Format, value, l.text(f.Pos, conv), spec))
	}
	if len(parts) == 1 {
		return parts[0] // a text already
	}
	return l.call(e.Pos, Join, l.list(e.Pos, parts))
}

// boolOp keeps the tree shallow: "and" and "or" are associative.
func (l *lowerer) boolOp(p syntax.Pos, op string, values []star.Expr) star.Expr {
	if len(values) == 1 {
		return values[0]
	}
	token := star.AND
	if op == "or" {
		token = star.OR
	}
	half := len(values) / 2
	return &star.BinaryExpr{
		X:     l.boolOp(p, op, values[:half]),
		OpPos: l.pos(p), Op: token,
		Y: l.boolOp(p, op, values[half:]),
	}
}

// comparison evaluates every operand of a chain once and stops at the first false
// link. An operand that may be read twice needs no name; any other one is bound as
// the parameter of a lambda that is called at once.
func (l *lowerer) comparison(e *syntax.Compare) star.Expr {
	return l.link(e, 0, l.expr(e.Left))
}

func (l *lowerer) link(e *syntax.Compare, i int, left star.Expr) star.Expr {
	op, right := Compare(e.Ops[i]), e.Rights[i]
	if i == len(e.Ops)-1 {
		return l.call(e.Pos, op, left, l.expr(right))
	}
	if repeatable(right) {
		first := l.call(e.Pos, op, left, l.expr(right))
		return &star.BinaryExpr{X: first, OpPos: l.pos(e.Pos), Op: star.AND, Y: l.link(e, i+1, l.expr(right))}
	}
	a, b := l.temp(), l.temp()
	args := []star.Expr{left, l.expr(right)}
	before := l.nodes
	body := &star.BinaryExpr{
		X:     l.call(e.Pos, op, l.ident(e.Pos, a), l.ident(e.Pos, b)),
		OpPos: l.pos(e.Pos), Op: star.AND,
		Y: l.link(e, i+1, l.ident(e.Pos, b)),
	}
	framed := l.framed(e.Pos, l.nodes-before, false, body)
	return l.immediate(e.Pos, []star.Expr{l.ident(e.Pos, a), l.ident(e.Pos, b)}, framed, args)
}

func repeatable(e syntax.Expr) bool {
	switch e.(type) {
	case *syntax.Name, *syntax.Constant:
		return true
	}
	return false
}

// immediate is a lambda called where it stands.
func (l *lowerer) immediate(p syntax.Pos, params []star.Expr, body star.Expr, args []star.Expr) star.Expr {
	return &star.CallExpr{
		Fn:     &star.LambdaExpr{Lambda: l.pos(p), Params: params, Body: body},
		Lparen: l.pos(p),
		Args:   args,
	}
}

func (l *lowerer) callExpr(e *syntax.Call) star.Expr {
	f := l.expr(e.Func)
	long := len(e.Args) > maxArgs || len(e.Keywords) > maxArgs
	for _, a := range e.Args {
		_, star := a.(*syntax.Starred)
		long = long || star
	}
	if long {
		return l.apply(e, f)
	}
	args := append([]star.Expr{f}, l.exprs(e.Args)...)
	for _, k := range e.Keywords {
		args = append(args, &star.BinaryExpr{
			X: l.ident(k.Pos, k.Name), OpPos: l.pos(k.Pos), Op: star.EQ, Y: l.expr(k.Value),
		})
	}
	return l.call(e.Pos, Call, args...)
}

// apply keeps the order of evaluation, which Starlark's own "*args" would not.
func (l *lowerer) apply(e *syntax.Call, f star.Expr) star.Expr {
	var parts, run []star.Expr
	flush := func() {
		if run != nil {
			parts = append(parts, l.list(e.Pos, run))
			run = nil
		}
	}
	for _, a := range e.Args {
		if s, ok := a.(*syntax.Starred); ok {
			flush()
			parts = append(parts, l.expr(s.Value))
			continue
		}
		run = append(run, l.expr(a))
	}
	flush()
	var keywords []star.Expr
	for _, k := range e.Keywords {
		keywords = append(keywords, l.tuple(k.Pos, []star.Expr{l.text(k.Pos, k.Name), l.expr(k.Value)}))
	}
	chained := l.call(e.Pos, Chain, l.list(e.Pos, parts))
	return l.call(e.Pos, Apply, f, chained, l.list(e.Pos, keywords))
}

func (l *lowerer) dict(e *syntax.Dict) star.Expr {
	pairs := make([]star.Expr, len(e.Keys))
	for i, k := range e.Keys {
		pairs[i] = l.pair(k, e.Values[i])
	}
	return l.call(e.Pos, Dict, l.list(e.Pos, pairs))
}

func (l *lowerer) pair(key, value syntax.Expr) star.Expr {
	return l.tuple(key.Start(), []star.Expr{l.expr(key), l.expr(value)})
}
