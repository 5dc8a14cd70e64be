package check

import (
	"github.com/atlantide-org/atlantide-operator/engine/lang/syntax"
)

// expr checks an expression that is read; nil is fine.
func (c *checker) expr(e syntax.Expr) {
	if e == nil || c.full() {
		return
	}
	switch e := e.(type) {
	case *syntax.Name:
		c.name(e)
		return
	case *syntax.Constant:
		if _, imaginary := e.Value.(syntax.Imaginary); imaginary {
			c.refuse(e.Pos, "use int or float", "imaginary numbers are not part of the language")
		}
		return
	case *syntax.Attribute:
		c.attribute(e)
	case *syntax.BinOp:
		if e.Op == "@" {
			c.matMult(e.Pos)
		}
	case *syntax.NamedExpr, *syntax.Await, *syntax.Yield, *syntax.YieldFrom:
		c.construct(e)
	case *syntax.Starred:
		c.refuse(e.Pos, "unpack in a call, or join lists with '+'", "Starred cannot be used as a value here")
	case *syntax.Call:
		c.call(e)
		return
	case *syntax.Dict:
		c.dict(e)
	case *syntax.Subscript:
		c.subscript(e)
		return
	case *syntax.Lambda:
		defer c.within(c.method.nested())()
		c.params(e.Pos, "a lambda", e.Params)
		c.expr(e.Body)
		return
	case *syntax.ListComp:
		c.comprehension(e.Generators, e.Elt)
		return
	case *syntax.SetComp:
		c.comprehension(e.Generators, e.Elt)
		return
	case *syntax.DictComp:
		c.comprehension(e.Generators, e.Key, e.Value)
		return
	case *syntax.GeneratorExp:
		c.comprehension(e.Generators, e.Elt)
		return
	}
	c.below(e)
}

// below checks the expressions directly under n.
func (c *checker) below(n syntax.Node) {
	for child := range syntax.Children(n) {
		if e, ok := child.(syntax.Expr); ok {
			c.expr(e)
		}
	}
}

func (c *checker) matMult(at syntax.Pos) {
	c.refuse(at, "", "MatMult (the operator @) is not part of the language")
}

// call lets "*seq" through and refuses "**mapping" and a keyword given twice.
func (c *checker) call(e *syntax.Call) {
	c.keywords(e)
	for child := range syntax.Children(e) {
		if star, ok := child.(*syntax.Starred); ok {
			c.expr(star.Value)
		} else {
			c.expr(child.(syntax.Expr))
		}
	}
}

func (c *checker) keywords(e *syntax.Call) {
	seen := make(map[string]bool, len(e.Keywords))
	for _, k := range e.Keywords {
		switch {
		case k.Name == "":
			c.refuse(e.Pos, "pass each keyword argument by name", "a call cannot unpack a mapping with **")
		case seen[k.Name]:
			c.refuse(k.Pos, "", "syntax error: keyword argument repeated: '%s'", k.Name)
		}
		seen[k.Name] = k.Name != ""
	}
}

func (c *checker) dict(e *syntax.Dict) {
	for _, key := range e.Keys {
		if key == nil {
			c.refuse(e.Pos, "use merge(a, b)", "a dict display cannot unpack a mapping with **")
			return
		}
	}
}

func (c *checker) subscript(e *syntax.Subscript) {
	c.expr(e.Value)
	index, ok := e.Index.(*syntax.Tuple)
	if !ok {
		c.expr(e.Index)
		return
	}
	for _, elt := range index.Elts {
		if s, ok := elt.(*syntax.Slice); ok {
			c.refuse(s.Pos, "index with one slice", "Slice cannot stand beside other indexes")
		}
		c.expr(elt)
	}
}

func (c *checker) comprehension(clauses []syntax.Comprehension, elts ...syntax.Expr) {
	defer c.within(c.method.nested())()
	for _, e := range elts {
		c.expr(e)
	}
	for _, clause := range clauses {
		if clause.Async {
			c.refuse(clause.Pos, "a config is synchronous and pure: drop 'async'", "async comprehension is not part of the language")
		}
		c.target(clause.Target)
		c.expr(clause.Iter)
		for _, cond := range clause.Ifs {
			c.expr(cond)
		}
	}
}

// target checks an expression that is assigned to.
func (c *checker) target(e syntax.Expr) {
	if star, ok := e.(*syntax.Starred); ok {
		c.refuse(star.Pos, "write '*name, = value', or assign a list", "Starred target must be in a list or tuple")
		e = star.Value
	}
	c.targetPart(e)
}

func (c *checker) targetPart(e syntax.Expr) {
	switch e := e.(type) {
	case *syntax.Attribute:
		if c.ownAttribute(e) {
			return
		}
		c.refuse(e.Pos, "values do not change: pass fields where the object is made", "cannot assign to an Attribute ('%s')", e.Name)
		c.expr(e.Value)
	case *syntax.Tuple:
		c.targets(e.Elts)
	case *syntax.List:
		c.targets(e.Elts)
	default: // Name, Subscript
		c.expr(e)
	}
}

func (c *checker) targets(elts []syntax.Expr) {
	starred := false
	for _, e := range elts {
		if star, ok := e.(*syntax.Starred); ok {
			if starred {
				c.refuse(star.Pos, "", "syntax error: multiple starred expressions in assignment")
			}
			starred = true
			e = star.Value
		}
		c.targetPart(e)
	}
}
