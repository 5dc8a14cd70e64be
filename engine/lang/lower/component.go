package lower

import (
	star "go.starlark.net/syntax"

	"github.com/atlantide-org/atlantide-operator/engine/lang/syntax"
)

// Kinds of a component's members.
const (
	MemberConstant = "constant"
	MemberMethod   = "method"
	MemberProperty = "property"
	MemberStatic   = "static"
)

// method is what a statement in a method may refer to beside its variables.
type method struct {
	class string // the global that holds the class, whatever its name is bound to
	self  string
}

// component lowers a class of a component: its members become globals that nothing in
// the module can name, and the class is made of them.
func (l *lowerer) component(s *syntax.ClassDef) []star.Stmt {
	module := l.scope
	global := func(p syntax.Pos, name string) *star.Ident {
		name += l.temp() // what follows "%" is not part of the name
		return l.use(p, module.declare(name, name))
	}
	base, class := global(s.Pos, ""), global(s.Pos, s.Name)
	out := []star.Stmt{l.assign(s.Pos, base, l.expr(s.Bases[0]))}
	l.push(scopeClass)
	var members []star.Expr
	add := func(p syntax.Pos, kind, name string, value star.Expr) {
		members = append(members, l.tuple(p, []star.Expr{l.text(p, kind), l.text(p, name), value}))
	}
	for _, member := range s.Body {
		switch m := member.(type) {
		case *syntax.FunctionDef:
			params := l.defaults(m.Params)
			name := global(m.NamePos, m.Name)
			l.method = method{class: class.Name}
			kind := memberKind(m)
			if kind != MemberStatic {
				l.method.self = m.Params[0].Name
			}
			out = append(out, l.function(m, params, name))
			l.method = method{}
			add(m.Pos, kind, m.Name, l.ident(m.Pos, name.Name))
		case *syntax.Assign:
			out = append(out, l.constantMember(m.Targets[0], m.Value, global, add))
		case *syntax.AnnAssign:
			if m.Value != nil {
				out = append(out, l.constantMember(m.Target, m.Value, global, add))
			}
		}
	}
	l.pop()
	made := l.call(s.Pos, Component, l.text(s.Pos, s.Name), l.ident(s.Pos, base.Name), l.list(s.Pos, members))
	return append(out,
		l.assign(s.Pos, class, made),
		l.assign(s.Pos, l.bind(s.NamePos, s.Name), l.ident(s.Pos, class.Name)))
}

// constantMember assigns a constant and makes it known to the rest of the class's body.
func (l *lowerer) constantMember(target, value syntax.Expr, global func(syntax.Pos, string) *star.Ident,
	add func(p syntax.Pos, kind, name string, value star.Expr)) star.Stmt {
	n, _ := target.(*syntax.Name)
	x := l.expr(value)
	id := global(n.Pos, n.Name)
	delete(l.scope.vars, n.Name)
	l.scope.declare(n.Name, id.Name)
	add(n.Pos, MemberConstant, n.Name, l.ident(n.Pos, id.Name))
	return l.assign(n.Pos, id, x)
}

func memberKind(m *syntax.FunctionDef) string {
	if len(m.Decorators) == 0 {
		return MemberMethod
	}
	if n, ok := m.Decorators[0].(*syntax.Name); ok && n.Name == "staticmethod" {
		return MemberStatic
	}
	return MemberProperty
}

// super is the __init__ of the base of the class that the method stands in.
func (l *lowerer) super(e *syntax.Attribute) star.Expr {
	return l.call(e.Pos, Super, l.ident(e.Pos, l.method.class), l.read(e.Pos, l.method.self))
}

func (l *lowerer) setAttr(a *syntax.Attribute, value star.Expr) star.Stmt {
	return l.do(l.call(a.Pos, SetAttr, value, l.expr(a.Value), l.text(a.NamePos, a.Name)))
}

func (l *lowerer) raise(s *syntax.Raise) star.Stmt {
	call, _ := s.Exc.(*syntax.Call)
	return l.do(l.call(s.Pos, Raise, l.expr(call.Func), l.expr(call.Args[0])))
}
