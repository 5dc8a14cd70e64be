package lower

import (
	star "go.starlark.net/syntax"

	"github.com/atlantide-org/atlantide-operator/engine/lang/syntax"
)

// A scope is the names of a module, a function or a comprehension.
//
// A function reads an outer name until it has assigned its own (LX-3), which Starlark
// cannot express: a local is local everywhere. So reads of a local that may still be
// unassigned test it first and fall back to what the name means outside; such a local
// starts as Unset and gets a name of its own, lest it hide the outer one.
type scope struct {
	kind   scopeKind
	parent *scope
	vars   map[string]*variable
	order  []*variable // in order of declaration

	// Names assigned on every way to the current point, in order of assignment, so
	// that leaving a branch can take its part back. Functions only.
	assigned map[*variable]bool
	trail    []*variable

	free map[*variable]bool // of outer functions, that this one reads
}

type scopeKind int

const (
	scopeModule scopeKind = iota
	scopeFunction
	scopeComprehension
	scopeClass // of a component: read by its body, not by what is nested in it
)

type variable struct {
	name       string // in the config
	lowered    string // in the lowered tree
	param      bool
	maybeUnset bool          // some read may come before the assignment
	idents     []*star.Ident // to rename, once maybeUnset is known
}

func (l *lowerer) push(kind scopeKind) {
	l.scope = &scope{kind: kind, parent: l.scope, vars: map[string]*variable{}, assigned: map[*variable]bool{}}
}

func (l *lowerer) pop() { l.scope = l.scope.parent }

func (s *scope) declare(name, lowered string) *variable {
	v := s.vars[name]
	if v == nil {
		v = &variable{name: name, lowered: lowered}
		s.vars[name] = v
		s.order = append(s.order, v)
	}
	return v
}

func (s *scope) markAssigned(v *variable) {
	if s.kind == scopeFunction && !s.assigned[v] {
		s.assigned[v] = true
		s.trail = append(s.trail, v)
	}
}

// takeBack forgets the assignments after a mark of the trail and returns them.
func (s *scope) takeBack(mark int) []*variable {
	gone := append([]*variable(nil), s.trail[mark:]...)
	for _, v := range gone {
		delete(s.assigned, v)
	}
	s.trail = s.trail[:mark]
	return gone
}

// bind is the identifier that assigns name in the current function or module.
func (l *lowerer) bind(p syntax.Pos, name string) *star.Ident {
	v := l.scope.vars[name]
	l.scope.markAssigned(v)
	return l.use(p, v)
}

// capture counts a variable of an outer function as a node of every function through
// which it comes to the current one: each of them carries it.
func (l *lowerer) capture(from *scope, v *variable) {
	if from.kind == scopeModule {
		return
	}
	for s := l.scope; s != from; s = s.parent {
		if s.kind != scopeFunction {
			continue
		}
		if s.free[v] {
			return
		}
		if s.free == nil {
			s.free = map[*variable]bool{}
		}
		s.free[v] = true
		l.count()
	}
}

func (l *lowerer) use(p syntax.Pos, v *variable) *star.Ident {
	id := l.ident(p, v.lowered)
	v.idents = append(v.idents, id)
	return id
}

// read is the expression that reads name.
func (l *lowerer) read(p syntax.Pos, name string) star.Expr { return l.readFrom(l.scope, p, name) }

func (l *lowerer) readFrom(s *scope, p syntax.Pos, name string) star.Expr {
	for ; s != nil; s = s.parent {
		v := s.vars[name]
		switch {
		case v == nil || s.kind == scopeClass && s != l.scope:
			continue
		case s.kind != scopeFunction || v.param || s.assigned[v]:
			l.capture(s, v)
			return l.use(p, v)
		}
		l.capture(s, v)
		v.maybeUnset = true
		return &star.CondExpr{
			If:    l.pos(p),
			Cond:  l.call(p, IsSet, l.use(p, v)),
			True:  l.use(p, v),
			False: l.readFrom(s.parent, p, name),
		}
	}
	if l.builtin(name) {
		return l.ident(p, name)
	}
	return l.call(p, Undefined, l.text(p, name))
}

// settle gives the locals of a finished function their names and returns the
// statements that its body must begin with.
func (l *lowerer) settle() []star.Stmt {
	var stmts []star.Stmt
	for _, v := range l.scope.order {
		if !v.maybeUnset {
			continue
		}
		v.lowered += l.temp() // "x%t7": what follows "%" is not part of the name
		for _, id := range v.idents {
			id.Name = v.lowered
		}
		stmts = append(stmts, l.assign(syntax.Pos{}, l.ident(syntax.Pos{}, v.lowered), l.ident(syntax.Pos{}, Unset)))
	}
	return stmts
}

// collect declares every name that these statements assign in their own scope.
func (l *lowerer) collect(body []syntax.Stmt) {
	for _, s := range body {
		switch s := s.(type) {
		case *syntax.Assign:
			for _, t := range s.Targets {
				l.collectTarget(t)
			}
		case *syntax.AugAssign:
			l.collectTarget(s.Target)
		case *syntax.AnnAssign:
			if s.Value != nil {
				l.collectTarget(s.Target)
			}
		case *syntax.For:
			l.collectTarget(s.Target)
			l.collect(s.Body)
			l.collect(s.Orelse)
		case *syntax.If:
			l.collect(s.Body)
			l.collect(s.Orelse)
		case *syntax.With:
			for _, item := range s.Items {
				l.collectTarget(item.Target)
			}
			l.collect(s.Body)
		case *syntax.FunctionDef:
			l.scope.declare(s.Name, s.Name)
		case *syntax.ClassDef:
			l.scope.declare(s.Name, s.Name)
		case *syntax.ImportFrom:
			for _, a := range s.Names {
				l.scope.declare(boundName(a), boundName(a))
			}
		}
	}
}

func (l *lowerer) collectTarget(t syntax.Expr) {
	switch t := t.(type) {
	case *syntax.Name:
		l.scope.declare(t.Name, t.Name)
	case *syntax.Starred:
		l.collectTarget(t.Value)
	case *syntax.Tuple:
		for _, e := range t.Elts {
			l.collectTarget(e)
		}
	case *syntax.List:
		for _, e := range t.Elts {
			l.collectTarget(e)
		}
	}
}

func boundName(a syntax.Alias) string {
	if a.As != "" {
		return a.As
	}
	return a.Name
}
