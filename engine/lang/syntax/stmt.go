package syntax

import "strings"

// file parses all statements up to the end.
func (p *parser) file() []Stmt {
	var body []Stmt
	for !p.is(tEOF) {
		body = p.statement(body)
	}
	if len(p.brackets) > 0 {
		p.unexpected("")
	}
	return body
}

// statement parses one compound statement, or one line of simple ones, and appends
// to body.
func (p *parser) statement(body []Stmt) []Stmt {
	if s := p.compound(); s != nil {
		return append(body, s)
	}
	return p.simpleLine(body)
}

// simpleLine parses simple statements separated by ";" up to the end of the line.
func (p *parser) simpleLine(body []Stmt) []Stmt {
	for {
		body = append(body, p.simple())
		if p.accept(";") {
			if !p.is(tNewline) {
				continue
			}
		} else if !p.is(tNewline) {
			p.unexpected("")
		}
		p.i++
		return body
	}
}

// simple parses one simple statement.
func (p *parser) simple() Stmt {
	t := p.tok()
	at := t.pos()
	if t.kind == tName && t.text == "type" && p.ahead().kind == tName {
		return p.typeAlias()
	}
	if t.kind != tKeyword {
		return p.exprStatement()
	}
	switch t.text {
	case "pass":
		p.i++
		return &Pass{Pos: at}
	case "break":
		p.i++
		return &Break{Pos: at}
	case "continue":
		p.i++
		return &Continue{Pos: at}
	case "return":
		p.i++
		s := &Return{Pos: at}
		if p.startsExpression() || p.at("*") {
			s.Value = p.starExpressions()
		}
		return s
	case "raise":
		return p.raise()
	case "assert":
		p.i++
		s := &Assert{Pos: at, Test: p.expression()}
		if p.accept(",") {
			s.Msg = p.expression()
		}
		return s
	case "del":
		return p.del()
	case "global":
		p.i++
		return &Global{Pos: at, Names: p.names()}
	case "nonlocal":
		p.i++
		return &Nonlocal{Pos: at, Names: p.names()}
	case "import":
		return p.importModules()
	case "from":
		return p.importFrom()
	}
	return p.exprStatement()
}

// exprStatement parses an expression, an annotation, or an assignment of any kind.
func (p *parser) exprStatement() Stmt {
	first := p.i
	at := p.here()
	e := p.yieldOrStar()
	switch t := p.tok(); {
	case t.is("="):
		return p.assign(at, e)
	case t.is(":"):
		return p.annotated(at, e)
	case t.kind == tOp && augmented(t.text) != "":
		return p.augAssign(at, e, t)
	}
	if n, ok := e.(*Name); ok && (n.Name == "print" || n.Name == "exec") && p.i == first+1 && p.startsExpression() {
		p.fail(at, "invalid syntax: a call of %s needs parentheses", n.Name)
	}
	return &ExprStmt{Pos: at, Value: e}
}

func (p *parser) assign(at Pos, e Expr) Stmt {
	s := &Assign{Pos: at}
	for p.at("=") {
		if bad := invalidTarget(e, assigning); bad != nil {
			p.fail(bad.Start(), "cannot assign to %s; did you mean '=='?", describe(bad))
		}
		s.Targets = append(s.Targets, e)
		p.i++
		e = p.yieldOrStar()
	}
	s.Value = e
	return s
}

func (p *parser) annotated(at Pos, target Expr) Stmt {
	switch target.(type) {
	case *Name, *Attribute, *Subscript:
		p.i++
	default:
		p.refuseAnnotated(at, target)
	}
	s := &AnnAssign{Pos: at, Target: target, Paren: target.Start() != at}
	s.Annotation = p.expression()
	if p.accept("=") {
		s.Value = p.yieldOrStar()
	}
	return s
}

// refuseAnnotated refuses a target that cannot have an annotation. Without one behind
// the colon, as in a misspelt "def f():", it is the colon that is out of place.
func (p *parser) refuseAnnotated(at Pos, target Expr) {
	saved := *p
	p.i++
	annotation := p.attempt(func() { p.expression() })
	*p = saved
	if annotation != nil {
		p.unexpected("")
	}
	switch target.(type) {
	case *Tuple, *List:
		p.fail(at, "only a single target can be annotated, not %s", describe(target))
	default:
		p.fail(at, "illegal target for an annotation: %s", describe(target))
	}
}

func (p *parser) augAssign(at Pos, target Expr, op token) Stmt {
	switch target.(type) {
	case *Name, *Attribute, *Subscript:
	default:
		p.fail(target.Start(), "%s is an illegal target of an augmented assignment", describe(target))
	}
	p.i++
	return &AugAssign{Pos: at, Target: target, Op: augmented(op.text), OpPos: op.pos(), Value: p.yieldOrStar()}
}

// augmented is the binary operator of an augmented assignment's, "" for others.
func augmented(op string) string {
	switch op {
	case "+=", "-=", "*=", "/=", "//=", "%=", "**=", "<<=", ">>=", "&=", "|=", "^=", "@=":
		return op[:len(op)-1]
	}
	return ""
}

func (p *parser) raise() Stmt {
	s := &Raise{Pos: p.next().pos()}
	if p.startsExpression() {
		s.Exc = p.expression()
		if p.accept("from") {
			s.Cause = p.expression()
		}
	}
	return s
}

func (p *parser) del() Stmt {
	s := &Delete{Pos: p.next().pos()}
	target := p.tupleOf(func() Expr { return p.starExpression() })
	if bad := invalidTarget(target, deleting); bad != nil {
		p.fail(bad.Start(), "cannot delete %s", describe(bad))
	}
	if t, ok := target.(*Tuple); ok && !t.Paren {
		s.Targets = t.Elts
	} else {
		s.Targets = []Expr{target}
	}
	return s
}

func (p *parser) names() []string {
	names := []string{p.name().text}
	for p.accept(",") {
		names = append(names, p.name().text)
	}
	return names
}

func (p *parser) importModules() Stmt {
	s := &Import{Pos: p.next().pos()}
	for {
		alias := Alias{Pos: p.here(), Name: p.dotted()}
		alias.As = p.asName()
		s.Names = append(s.Names, alias)
		if !p.accept(",") {
			return s
		}
	}
}

func (p *parser) importFrom() Stmt {
	s := &ImportFrom{Pos: p.next().pos()}
	for p.at(".") || p.at("...") {
		s.Level += len(p.next().text)
	}
	if s.Level == 0 || !p.at("import") {
		s.Module = p.dotted()
	}
	p.expect("import")
	if t := p.tok(); t.is("*") {
		p.i++
		s.Names = []Alias{{Pos: t.pos(), Name: "*"}}
		return s
	}
	paren := p.at("(")
	if paren {
		p.open1()
	}
	for {
		alias := Alias{Pos: p.here(), Name: p.name().text}
		alias.As = p.asName()
		s.Names = append(s.Names, alias)
		if !p.accept(",") {
			break
		}
		if paren && p.at(")") {
			break
		}
		if p.is(tNewline) {
			p.fail(p.here(), "a trailing comma needs parentheses around the names")
		}
	}
	if paren {
		p.close1(")")
	}
	return s
}

func (p *parser) dotted() string {
	var name strings.Builder
	name.WriteString(p.name().text)
	for p.accept(".") {
		name.WriteString("." + p.name().text)
	}
	return name.String()
}

func (p *parser) asName() string {
	if !p.accept("as") {
		return ""
	}
	return p.name().text
}

func (p *parser) typeAlias() Stmt {
	s := &TypeAlias{Pos: p.next().pos()}
	name := p.name()
	s.Name = &Name{Pos: name.pos(), Name: name.text}
	p.typeParams()
	p.expect("=")
	p.expression()
	return s
}

// typeParams parses "[T, *Ts, **P]" if it is next and reports whether it was.
func (p *parser) typeParams() bool {
	if !p.at("[") {
		return false
	}
	p.open1()
	for {
		bounded := !p.accept("*") && !p.accept("**")
		p.name()
		if bounded && p.accept(":") {
			p.expression()
		}
		if !p.accept(",") || p.at("]") {
			p.close1("]")
			return true
		}
	}
}
