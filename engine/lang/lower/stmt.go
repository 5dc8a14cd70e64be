package lower

import (
	"slices"
	"strings"

	star "go.starlark.net/syntax"

	"github.com/atlantide-org/atlantide-operator/engine/lang/syntax"
)

// block lowers statements one after another; ends reports that control never passes
// their end.
func (l *lowerer) block(body []syntax.Stmt) (out []star.Stmt, ends bool) {
	for _, s := range body {
		stmts, stmtEnds := l.stmt(s)
		out = append(out, stmts...)
		ends = ends || stmtEnds
	}
	return out, ends
}

// suite is a block that must not be empty.
func (l *lowerer) suite(p syntax.Pos, body []syntax.Stmt) ([]star.Stmt, bool) {
	out, ends := l.block(body)
	if len(out) == 0 {
		out = []star.Stmt{l.pass(p)}
	}
	return out, ends
}

func (l *lowerer) pass(p syntax.Pos) star.Stmt { return l.branch(p, star.PASS) }

func (l *lowerer) branch(p syntax.Pos, t star.Token) star.Stmt {
	return &star.BranchStmt{Token: t, TokenPos: l.pos(p)}
}

func (l *lowerer) do(x star.Expr) star.Stmt { return &star.ExprStmt{X: x} }

func (l *lowerer) stmt(s syntax.Stmt) (out []star.Stmt, ends bool) {
	switch s := s.(type) {
	case *syntax.ExprStmt:
		if _, constant := s.Value.(*syntax.Constant); constant {
			return nil, false
		}
		return []star.Stmt{l.do(l.expr(s.Value))}, false
	case *syntax.Assign:
		return l.assignStmt(s), false
	case *syntax.AugAssign:
		return l.augAssign(s), false
	case *syntax.AnnAssign:
		if s.Value == nil {
			return nil, false
		}
		return l.bindTo(s.Pos, s.Target, l.expr(s.Value)), false
	case *syntax.If:
		return l.ifStmt(s)
	case *syntax.For:
		return l.forStmt(s), false
	case *syntax.With:
		return l.with(s)
	case *syntax.FunctionDef:
		return l.def(s), false
	case *syntax.ClassDef:
		return l.class(s), false
	case *syntax.ImportFrom:
		return l.importFrom(s), false
	case *syntax.Return:
		return l.returnStmt(s), true
	case *syntax.Raise:
		return []star.Stmt{l.raise(s)}, true
	case *syntax.Break:
		return l.leave(s.Pos, star.BREAK), true
	case *syntax.Continue:
		return l.leave(s.Pos, star.CONTINUE), true
	default: // pass; check refuses everything else
		return nil, false
	}
}

func (l *lowerer) assignStmt(s *syntax.Assign) []star.Stmt {
	value := l.expr(s.Value)
	if len(s.Targets) == 1 {
		return l.bindTo(s.Pos, s.Targets[0], value)
	}
	t := l.temp()
	out := []star.Stmt{l.assign(s.Pos, l.ident(s.Pos, t), value)}
	for _, target := range s.Targets {
		out = append(out, l.bindTo(s.Pos, target, l.ident(s.Pos, t))...)
	}
	return out
}

// bindTo assigns a value, which it evaluates once and first, to any target.
func (l *lowerer) bindTo(p syntax.Pos, target syntax.Expr, value star.Expr) []star.Stmt {
	switch t := target.(type) {
	case *syntax.Name:
		return []star.Stmt{l.assign(p, l.bind(t.Pos, t.Name), value)}
	case *syntax.Starred:
		return l.bindTo(p, t.Value, value)
	case *syntax.Attribute:
		return []star.Stmt{l.setAttr(t, value)}
	case *syntax.Subscript:
		return []star.Stmt{l.do(l.call(t.Pos, Store, value, l.expr(t.Value), l.expr(t.Index)))}
	}
	elts := elements(target)
	unpacked := l.call(p, Unpack, value, l.number(p, len(elts)), l.number(p, starred(elts)))
	targets := make([]star.Expr, len(elts))
	if len(elts) == 0 {
		return []star.Stmt{l.do(unpacked)}
	}
	if plainNames(elts) {
		for i, e := range elts {
			n := unstar(e).(*syntax.Name)
			targets[i] = l.bind(n.Pos, n.Name)
		}
		return []star.Stmt{l.assign(p, l.tuple(p, targets), unpacked)}
	}
	temps := make([]string, len(elts))
	for i := range elts {
		temps[i] = l.temp()
		targets[i] = l.ident(p, temps[i])
	}
	out := []star.Stmt{l.assign(p, l.tuple(p, targets), unpacked)}
	for i, e := range elts {
		out = append(out, l.bindTo(e.Start(), e, l.ident(p, temps[i]))...)
	}
	return out
}

func elements(target syntax.Expr) []syntax.Expr {
	switch t := target.(type) {
	case *syntax.Tuple:
		return t.Elts
	case *syntax.List:
		return t.Elts
	}
	return nil
}

func unstar(e syntax.Expr) syntax.Expr {
	if s, ok := e.(*syntax.Starred); ok {
		return s.Value
	}
	return e
}

// starred is the index of the starred target, or -1.
func starred(elts []syntax.Expr) int {
	for i, e := range elts {
		if _, ok := e.(*syntax.Starred); ok {
			return i
		}
	}
	return -1
}

func plainNames(elts []syntax.Expr) bool {
	for _, e := range elts {
		if _, ok := unstar(e).(*syntax.Name); !ok {
			return false
		}
	}
	return true
}

// augAssign rebinds: nothing is changed in place (LX-2).
func (l *lowerer) augAssign(s *syntax.AugAssign) []star.Stmt {
	if a, ok := s.Target.(*syntax.Attribute); ok {
		return []star.Stmt{l.setAttr(a, l.call(s.OpPos, Binary(s.Op), l.expr(a), l.expr(s.Value)))}
	}
	if n, ok := s.Target.(*syntax.Name); ok {
		value := l.call(s.OpPos, Binary(s.Op), l.read(n.Pos, n.Name), l.expr(s.Value))
		return []star.Stmt{l.assign(s.Pos, l.bind(n.Pos, n.Name), value)}
	}
	sub, ok := s.Target.(*syntax.Subscript)
	if !ok {
		return nil // check refuses
	}
	x, key := l.temp(), l.temp()
	old := l.call(sub.Pos, GetItem, l.ident(sub.Pos, x), l.ident(sub.Pos, key))
	value := l.call(s.OpPos, Binary(s.Op), old, l.expr(s.Value))
	return []star.Stmt{
		l.assign(s.Pos, l.ident(s.Pos, x), l.expr(sub.Value)),
		l.assign(s.Pos, l.ident(s.Pos, key), l.expr(sub.Index)),
		l.do(l.call(sub.Pos, Store, value, l.ident(sub.Pos, x), l.ident(sub.Pos, key))),
	}
}

func (l *lowerer) ifStmt(s *syntax.If) ([]star.Stmt, bool) {
	out := &star.IfStmt{If: l.pos(s.Pos), Cond: l.expr(s.Test)}
	mark := len(l.scope.trail)
	var bodyEnds, elseEnds bool
	out.True, bodyEnds = l.suite(s.Pos, s.Body)
	inBody := l.scope.takeBack(mark)
	out.False, elseEnds = l.block(s.Orelse)
	inElse := l.scope.takeBack(mark)
	for _, v := range certain(inBody, bodyEnds, inElse, elseEnds) {
		l.scope.markAssigned(v)
	}
	return []star.Stmt{out}, bodyEnds && elseEnds
}

// certain is what is assigned after an if: by both branches, or by the one that goes on.
func certain(body []*variable, bodyEnds bool, orelse []*variable, elseEnds bool) []*variable {
	switch {
	case bodyEnds:
		return orelse
	case elseEnds:
		return body
	}
	in := make(map[*variable]bool, len(orelse))
	for _, v := range orelse {
		in[v] = true
	}
	var both []*variable
	for _, v := range body {
		if in[v] {
			both = append(both, v)
		}
	}
	return both
}

func (l *lowerer) forStmt(s *syntax.For) []star.Stmt {
	out := &star.ForStmt{For: l.pos(s.Pos), X: l.call(s.Iter.Start(), Iter, l.expr(s.Iter))}
	mark := len(l.scope.trail)
	in := loop{managers: len(l.frame.managers)}
	if len(s.Orelse) > 0 {
		in.broken = l.temp()
	}
	l.frame.loops = append(l.frame.loops, in)
	var bound []star.Stmt
	if n, ok := s.Target.(*syntax.Name); ok {
		out.Vars = l.bind(n.Pos, n.Name)
	} else {
		t := l.temp()
		out.Vars = l.ident(s.Pos, t)
		bound = l.bindTo(s.Target.Start(), s.Target, l.ident(s.Pos, t))
	}
	body, _ := l.suite(s.Pos, s.Body)
	out.Body = slices.Concat(bound, body)
	l.frame.loops = l.frame.loops[:len(l.frame.loops)-1]
	l.scope.takeBack(mark)
	if in.broken == "" {
		return []star.Stmt{out}
	}
	orelse, _ := l.suite(s.Pos, s.Orelse)
	l.scope.takeBack(mark)
	return []star.Stmt{
		l.assign(s.Pos, l.ident(s.Pos, in.broken), l.truth(s.Pos, false)),
		out,
		&star.IfStmt{
			If:    l.pos(s.Pos),
			Cond:  l.ident(s.Pos, in.broken),
			True:  []star.Stmt{l.pass(s.Pos)},
			False: orelse,
		},
	}
}

// leave is break or continue: the managers opened inside of the loop are exited first.
func (l *lowerer) leave(p syntax.Pos, t star.Token) []star.Stmt {
	if len(l.frame.loops) == 0 {
		return nil // check refuses
	}
	in := l.frame.loops[len(l.frame.loops)-1]
	out := l.exits(p, in.managers)
	if t == star.BREAK && in.broken != "" {
		out = append(out, l.assign(p, l.ident(p, in.broken), l.truth(p, true)))
	}
	return append(out, l.branch(p, t))
}

// exits leaves the open managers down to a depth, innermost first.
func (l *lowerer) exits(p syntax.Pos, depth int) []star.Stmt {
	var out []star.Stmt
	for i := len(l.frame.managers) - 1; i >= depth; i-- {
		out = append(out, l.do(l.call(p, Exit, l.ident(p, l.frame.managers[i]))))
	}
	return out
}

func (l *lowerer) returnStmt(s *syntax.Return) []star.Stmt {
	var value star.Expr
	if s.Value != nil {
		value = l.expr(s.Value)
	}
	if len(l.frame.managers) == 0 {
		return []star.Stmt{&star.ReturnStmt{Return: l.pos(s.Pos), Result: value}}
	}
	var out []star.Stmt
	if value != nil {
		t := l.temp()
		out = append(out, l.assign(s.Pos, l.ident(s.Pos, t), value))
		value = l.ident(s.Pos, t)
	}
	out = append(out, l.exits(s.Pos, 0)...)
	return append(out, &star.ReturnStmt{Return: l.pos(s.Pos), Result: value})
}

// with needs no clean-up on errors: nothing in the language can catch one, and a
// failed evaluation's context is thrown away with it.
func (l *lowerer) with(s *syntax.With) ([]star.Stmt, bool) {
	depth := len(l.frame.managers)
	var out []star.Stmt
	for _, item := range s.Items {
		p := item.Context.Start()
		m := l.temp()
		out = append(out, l.assign(p, l.ident(p, m), l.expr(item.Context)))
		entered := l.call(p, Enter, l.ident(p, m))
		l.frame.managers = append(l.frame.managers, m)
		if item.Target == nil {
			out = append(out, l.do(entered))
		} else {
			out = append(out, l.bindTo(item.Target.Start(), item.Target, entered)...)
		}
	}
	body, ends := l.block(s.Body)
	out = append(out, body...)
	if !ends {
		out = append(out, l.exits(s.Pos, depth)...)
	}
	l.frame.managers = l.frame.managers[:depth]
	return out, ends
}

func (l *lowerer) importFrom(s *syntax.ImportFrom) []star.Stmt {
	if s.Module == "__future__" && s.Level == 0 {
		return nil // what it changes does not exist here
	}
	module := strings.Repeat(".", s.Level) + s.Module
	var out []star.Stmt
	for _, a := range s.Names {
		value := l.call(s.Pos, Import, l.text(s.Pos, module), l.text(s.Pos, a.Name))
		out = append(out, l.assign(s.Pos, l.bind(a.Pos, boundName(a)), value))
	}
	return out
}
