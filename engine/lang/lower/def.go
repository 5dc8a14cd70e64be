package lower

import (
	star "go.starlark.net/syntax"

	"github.com/atlantide-org/atlantide-operator/engine/lang/syntax"
)

func (l *lowerer) def(s *syntax.FunctionDef) []star.Stmt {
	params := l.defaults(s.Params)
	// Bound before the body is lowered: the body runs after the binding.
	def := l.function(s, params, l.bind(s.NamePos, s.Name))
	if l.scope.kind == scopeModule && len(l.frame.loops) == 0 {
		return []star.Stmt{def} // made once
	}
	return []star.Stmt{def, l.do(l.call(s.Pos, Made, l.read(s.NamePos, s.Name)))}
}

func (l *lowerer) function(s *syntax.FunctionDef, params []star.Expr, name *star.Ident) *star.DefStmt {
	out := &star.DefStmt{Def: l.pos(s.Pos), Params: params, Name: name}
	outer, before := l.frame, l.nodes
	l.frame = frame{}
	l.push(scopeFunction)
	l.params(s.Params)
	l.collect(s.Body)
	body, _ := l.suite(s.Pos, s.Body)
	out.Body = append(l.settle(), body...)
	if slots := l.nodes - before + len(params); slots > smallFrame {
		out.Body = append([]star.Stmt{l.do(l.frameOf(s.Pos, slots, true))}, out.Body...)
	}
	l.pop()
	l.frame = outer
	l.closures++
	return out
}

func (l *lowerer) lambda(e *syntax.Lambda) star.Expr {
	out := &star.LambdaExpr{Lambda: l.pos(e.Pos), Params: l.defaults(e.Params)}
	l.push(scopeFunction)
	l.params(e.Params)
	before := l.nodes
	out.Body = l.expr(e.Body)
	out.Body = l.framed(e.Pos, l.nodes-before+len(out.Params), true, out.Body)
	l.pop()
	l.closures++
	return out
}

// smallFrame is how many slots a frame has that is not accounted for: a call pays for
// it, and calls are bounded.
const smallFrame = 256

// framed is an expression, the body of a lambda, that asks for the lambda's frame first.
// A body of so many nodes needs no more slots.
func (l *lowerer) framed(p syntax.Pos, slots int, held bool, body star.Expr) star.Expr {
	if slots <= smallFrame {
		return body
	}
	return &star.BinaryExpr{X: l.frameOf(p, slots, held), OpPos: l.pos(p), Op: star.AND, Y: body}
}

func (l *lowerer) frameOf(p syntax.Pos, slots int, held bool) star.Expr {
	return l.call(p, Frame, l.number(p, slots), l.truth(p, held))
}

// defaults lowers parameters; their default values belong to the enclosing scope.
func (l *lowerer) defaults(params []syntax.Param) []star.Expr {
	out := make([]star.Expr, 0, len(params)+1)
	keywordOnly := false
	for _, p := range params {
		if p.Kind == syntax.ParamKeyword && !keywordOnly {
			keywordOnly = true
			out = append(out, &star.UnaryExpr{OpPos: l.pos(p.Pos), Op: star.STAR})
		}
		id := l.ident(p.Pos, p.Name)
		if p.Default == nil {
			out = append(out, id)
			continue
		}
		out = append(out, &star.BinaryExpr{X: id, OpPos: l.pos(p.Pos), Op: star.EQ, Y: l.expr(p.Default)})
	}
	return out
}

func (l *lowerer) params(params []syntax.Param) {
	for _, p := range params {
		l.scope.declare(p.Name, p.Name).param = true
	}
}

// class lowers a class, whose shape check has verified. The base is looked at first,
// then the fields' defaults in order.
func (l *lowerer) class(s *syntax.ClassDef) []star.Stmt {
	if n, ok := s.Bases[0].(*syntax.Name); !ok || n.Name != schemaBase {
		return l.component(s)
	}
	name := l.text(s.Pos, s.Name)
	base := l.expr(s.Bases[0])
	var fields []star.Expr
	for _, member := range s.Body {
		f, ok := member.(*syntax.AnnAssign)
		if !ok {
			continue
		}
		fields = append(fields, l.field(s.Name, f))
	}
	schema := l.call(s.Pos, Schema, name, l.call(s.Pos, Base, name, base), l.list(s.Pos, fields))
	return []star.Stmt{l.assign(s.Pos, l.bind(s.NamePos, s.Name), schema)}
}

func (l *lowerer) field(class string, f *syntax.AnnAssign) star.Expr {
	p := f.Pos
	field, _ := f.Target.(*syntax.Name)
	kind, nullable := annotation(f.Annotation)
	args := []star.Expr{l.text(p, class), l.text(p, field.Name), l.text(p, kind), l.truth(p, nullable)}
	if f.Value != nil {
		p = f.Value.Start() // a default that does not fit is reported at the default
		args = append(args, l.expr(f.Value))
	}
	return l.call(p, Field, args...)
}

// schemaBase is how the base of a schema is spelled; every other class is a component.
const schemaBase = "EnvSchema"

// annotation takes "T" or "T | None" apart.
func annotation(e syntax.Expr) (kind string, nullable bool) {
	if b, ok := e.(*syntax.BinOp); ok {
		e, nullable = b.Left, true
	}
	if n, ok := e.(*syntax.Name); ok {
		kind = n.Name
	}
	return kind, nullable
}
