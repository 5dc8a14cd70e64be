package lower

import (
	star "go.starlark.net/syntax"

	"github.com/atlantide-org/atlantide-operator/engine/lang/syntax"
)

// comprehension lowers to a list of what elt lowers to.
//
// Each round has a scope of its own (LX-4): an expression that makes a closure is
// wrapped in a lambda over the variables bound so far, called once per round.
func (l *lowerer) comprehension(p syntax.Pos, gens []syntax.Comprehension, elt func() star.Expr) star.Expr {
	out := &star.Comprehension{Lbrack: l.pos(p)}
	first := l.expr(gens[0].Iter) // belongs to the enclosing scope
	l.push(scopeComprehension)
	defer l.pop()
	c := &comp{lowerer: l, out: out}
	for i, g := range gens {
		var iter star.Expr
		if i == 0 {
			iter = first
		} else {
			iter = c.fresh(p, func() star.Expr { return l.expr(g.Iter) })
		}
		c.bind(g.Target, l.call(g.Iter.Start(), Collect, iter))
		for _, cond := range g.Ifs {
			test := c.fresh(cond.Start(), func() star.Expr { return l.expr(cond) })
			out.Clauses = append(out.Clauses, &star.IfClause{If: l.pos(cond.Start()), Cond: test})
		}
	}
	out.Body = c.fresh(p, elt)
	return out
}

type comp struct {
	*lowerer
	out   *star.Comprehension
	bound []string // lowered names bound so far
}

// fresh lowers an expression of the current round.
func (c *comp) fresh(p syntax.Pos, lower func() star.Expr) star.Expr {
	before, nodes := c.closures, c.nodes
	x := lower()
	if c.closures == before {
		return x
	}
	x = c.framed(p, c.nodes-nodes, false, x)
	params := make([]star.Expr, len(c.bound))
	args := make([]star.Expr, len(c.bound))
	for i, name := range c.bound {
		params[i], args[i] = c.ident(p, name), c.ident(p, name)
	}
	return c.immediate(p, params, x, args)
}

// bind adds the clauses that walk iter and bind each item to target.
func (c *comp) bind(target syntax.Expr, iter star.Expr) {
	if n, ok := target.(*syntax.Name); ok {
		c.clause(n.Pos, c.declare(n), iter)
		return
	}
	t := c.temp()
	p := target.Start()
	c.clause(p, c.ident(p, t), iter)
	c.bindTo(target, c.ident(p, t))
}

func (c *comp) clause(p syntax.Pos, vars, iter star.Expr) {
	c.out.Clauses = append(c.out.Clauses, &star.ForClause{For: c.pos(p), Vars: vars, X: iter})
}

// declare gives a target a name that nothing else has, so that neither an outer
// variable nor a later clause of the same name is in its way.
func (c *comp) declare(n *syntax.Name) *star.Ident {
	v := &variable{name: n.Name, lowered: n.Name + c.temp()}
	c.scope.vars[n.Name] = v
	c.bound = append(c.bound, v.lowered)
	return c.ident(n.Pos, v.lowered)
}

// bindTo binds a value that is at hand: a clause over a list of one.
func (c *comp) bindTo(target syntax.Expr, value star.Expr) {
	p := target.Start()
	once := func(vars, x star.Expr) { c.clause(p, vars, c.list(p, []star.Expr{x})) }
	switch t := target.(type) {
	case *syntax.Name:
		once(c.declare(t), value)
		return
	case *syntax.Starred:
		c.bindTo(t.Value, value)
		return
	case *syntax.Subscript:
		once(c.ident(p, c.temp()), c.call(p, Store, value, c.expr(t.Value), c.expr(t.Index)))
		return
	}
	elts := elements(target)
	unpacked := c.call(p, Unpack, value, c.number(p, len(elts)), c.number(p, starred(elts)))
	if len(elts) == 0 {
		once(c.ident(p, c.temp()), unpacked)
		return
	}
	targets := make([]star.Expr, len(elts))
	temps := make([]string, len(elts))
	for i, e := range elts {
		if n, ok := unstar(e).(*syntax.Name); ok {
			targets[i] = c.declare(n)
			continue
		}
		temps[i] = c.temp()
		targets[i] = c.ident(p, temps[i])
	}
	once(c.tuple(p, targets), unpacked)
	for i, e := range elts {
		if temps[i] != "" {
			c.bindTo(e, c.ident(e.Start(), temps[i]))
		}
	}
}
