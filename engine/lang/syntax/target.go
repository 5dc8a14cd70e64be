package syntax

// loopTarget parses the targets of a for clause, up to its "in".
func (p *parser) loopTarget() Expr {
	target := p.tupleOf(func() Expr {
		if p.at("*") {
			return p.starred()
		}
		return p.binary(lowestBinary)
	})
	return target
}

func (p *parser) expectIn(target Expr) {
	if !p.at("in") {
		p.unexpected("")
	}
	if bad := invalidTarget(target, assigning); bad != nil {
		p.fail(bad.Start(), "cannot assign to %s", describe(bad))
	}
	p.next()
}

type targetUse int

const (
	assigning targetUse = iota
	deleting
)

// invalidTarget finds the first part of e that cannot be assigned to (or deleted).
func invalidTarget(e Expr, use targetUse) Expr {
	switch e := e.(type) {
	case *Name, *Attribute, *Subscript:
		return nil
	case *Starred:
		if use == deleting {
			return e
		}
		return invalidTarget(e.Value, use)
	case *Tuple:
		return firstInvalid(e.Elts, use)
	case *List:
		return firstInvalid(e.Elts, use)
	}
	return e
}

func firstInvalid(elts []Expr, use targetUse) Expr {
	for _, e := range elts {
		if bad := invalidTarget(e, use); bad != nil {
			return bad
		}
	}
	return nil
}

// describe names an expression for a message.
func describe(e Expr) string {
	switch e := e.(type) {
	case *Name:
		return "a name"
	case *Attribute:
		return "an attribute"
	case *Subscript:
		return "a subscript"
	case *Starred:
		return "a starred expression"
	case *Call:
		return "a function call"
	case *List:
		return "a list"
	case *Tuple:
		return "a tuple"
	case *Dict:
		return "a dict display"
	case *Set:
		return "a set display"
	case *Lambda:
		return "a lambda"
	case *Compare:
		return "a comparison"
	case *IfExp:
		return "a conditional expression"
	case *NamedExpr:
		return "an assignment expression"
	case *JoinedStr:
		return "an f-string"
	case *ListComp, *SetComp, *DictComp:
		return "a comprehension"
	case *GeneratorExp:
		return "a generator expression"
	case *Await:
		return "an await expression"
	case *Yield, *YieldFrom:
		return "a yield expression"
	case *Constant:
		switch v := e.Value.(type) {
		case nil:
			return "None"
		case bool:
			if v {
				return "True"
			}
			return "False"
		case Ellipsis:
			return "..."
		}
		return "a literal"
	}
	return "an expression"
}
