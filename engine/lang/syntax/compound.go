package syntax

// compound parses a compound statement; nil when the next statement is a simple one.
func (p *parser) compound() Stmt {
	t := p.tok()
	switch t.kind {
	case tKeyword:
		switch t.text {
		case "if":
			return p.ifStatement()
		case "for":
			return p.forStatement(t.pos(), false)
		case "while":
			return p.while()
		case "with":
			return p.with(t.pos(), false)
		case "def":
			return p.def(t.pos(), false, nil)
		case "class":
			return p.class(nil)
		case "try":
			return p.try()
		case "async":
			return p.async(nil)
		}
	case tOp:
		if t.text == "@" {
			return p.decorated()
		}
	case tName:
		if t.text == "match" && p.startsMatch() {
			return p.match()
		}
	}
	return nil
}

// block parses ":" and the suite of a statement that began at opener; what names the
// statement.
func (p *parser) block(what string, opener Pos) []Stmt {
	if !p.at(":") {
		p.unexpected("expected ':'")
	}
	p.i++
	if !p.is(tNewline) {
		if p.is(tEOF) {
			p.unexpected("")
		}
		return p.simpleLine(nil)
	}
	line := p.next()
	if !p.is(tIndent) {
		at := p.here()
		if p.is(tEOF) || p.is(tDedent) && p.ahead().kind == tEOF {
			at = line.pos()
		}
		p.fail(at, "expected an indented block after %s on line %d", what, opener.Line)
	}
	p.i++
	var body []Stmt
	for !p.is(tDedent) {
		if p.is(tEOF) {
			p.unexpected("")
		}
		body = p.statement(body)
	}
	p.i++
	return body
}

// ifStatement parses an if with all its elifs, in a loop; each elif is an If alone
// in its predecessor's Orelse.
func (p *parser) ifStatement() Stmt {
	root := &If{Pos: p.next().pos()}
	what := "'if' statement"
	for s, branches := root, 1; ; branches++ {
		if branches > maxDepth {
			fail(s.Pos, "too many branches in one 'if' (the limit is %d)", maxDepth)
		}
		s.Test = p.named()
		s.Body = p.block(what, s.Pos)
		if t := p.tok(); t.is("elif") {
			p.i++
			what = "'elif' statement"
			elif := &If{Pos: t.pos()}
			s.Orelse = []Stmt{elif}
			s = elif
			continue
		}
		s.Orelse = p.orelse()
		return root
	}
}

func (p *parser) orelse() []Stmt {
	at := p.here()
	if !p.accept("else") {
		return nil
	}
	return p.block("'else' statement", at)
}

func (p *parser) forStatement(at Pos, async bool) Stmt {
	p.i++
	s := &For{Pos: at, Async: async}
	s.Target = p.loopTarget()
	p.expectIn(s.Target)
	s.Iter = p.starExpressions()
	s.Body = p.block("'for' statement", at)
	s.Orelse = p.orelse()
	return s
}

func (p *parser) while() Stmt {
	s := &While{Pos: p.next().pos()}
	s.Test = p.named()
	s.Body = p.block("'while' statement", s.Pos)
	s.Orelse = p.orelse()
	return s
}

func (p *parser) with(at Pos, async bool) Stmt {
	p.i++
	s := &With{Pos: at, Async: async}
	if s.Items = p.parenthesisedItems(); s.Items == nil {
		for {
			s.Items = append(s.Items, p.withItem())
			p.bounded(len(s.Items), "with")
			if !p.accept(",") {
				break
			}
		}
	}
	p.bounded(len(s.Items), "with")
	s.Body = p.block("'with' statement", at)
	return s
}

// parenthesisedItems parses "(a as b, c)" when parentheses reach to the ":" and hold
// managers. It returns nil, with nothing consumed, when they are part of an
// expression: "(yield)", "(x for x in y)", "()", "(*a, b)".
func (p *parser) parenthesisedItems() []WithItem {
	if !p.at("(") || !p.toks[p.matching()+1].is(":") {
		return nil
	}
	saved := *p
	var items []WithItem
	if first := p.attempt(func() {
		p.open1()
		for {
			items = append(items, p.withItem())
			if !p.accept(",") || p.at(")") {
				break
			}
		}
		p.close1(")")
	}); first != nil {
		reached := p.i
		*p = saved
		// The expression reading must succeed, or the error that lies further on counts.
		second := p.attempt(func() { p.expression() })
		if second != nil && p.i <= reached {
			panic(first)
		}
		*p = saved
		return nil
	}
	return items
}

// matching is the index of the bracket that closes the next one, or the last index.
func (p *parser) matching() int {
	depth := 0
	for i := p.i; i < len(p.toks)-2; i++ {
		switch t := p.toks[i]; {
		case t.is("("), t.is("["), t.is("{"), t.kind == tFOpen:
			depth++
		case t.is(")"), t.is("]"), t.is("}"), t.kind == tFClose:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(p.toks) - 2
}

func (p *parser) withItem() WithItem {
	item := WithItem{Context: p.expression()}
	if p.accept("as") {
		if p.at("*") {
			item.Target = p.starred()
		} else {
			item.Target = p.binary(lowestBinary)
		}
		if bad := invalidTarget(item.Target, assigning); bad != nil {
			p.fail(bad.Start(), "cannot assign to %s", describe(bad))
		}
	}
	return item
}

func (p *parser) decorated() Stmt {
	var decorators []Expr
	for p.accept("@") {
		decorators = append(decorators, p.named())
		if !p.is(tNewline) {
			p.unexpected("")
		}
		p.i++
	}
	switch t := p.tok(); {
	case t.is("def"):
		return p.def(t.pos(), false, decorators)
	case t.is("class"):
		return p.class(decorators)
	case t.is("async") && p.ahead().is("def"):
		return p.async(decorators)
	}
	p.unexpected("")
	return nil
}

func (p *parser) async(decorators []Expr) Stmt {
	at := p.next().pos()
	switch t := p.tok(); {
	case t.is("def"):
		return p.def(at, true, decorators)
	case t.is("for"):
		return p.forStatement(at, true)
	case t.is("with"):
		return p.with(at, true)
	}
	p.unexpected("")
	return nil
}

func (p *parser) def(at Pos, async bool, decorators []Expr) Stmt {
	p.i++
	name := p.name()
	s := &FunctionDef{Pos: at, Async: async, Name: name.text, NamePos: name.pos(), Decorators: decorators}
	s.TypeParams = p.typeParams()
	if !p.at("(") {
		p.unexpected("expected '('")
	}
	p.open1()
	s.Params = p.params(")", true)
	p.close1(")")
	if p.accept("->") {
		s.Returns = p.expression()
	}
	s.Body = p.block("function definition", at)
	return s
}

func (p *parser) class(decorators []Expr) Stmt {
	s := &ClassDef{Pos: p.next().pos(), Decorators: decorators}
	name := p.name()
	s.Name, s.NamePos = name.text, name.pos()
	s.TypeParams = p.typeParams()
	if p.at("(") {
		s.Bases, s.Keywords = p.arguments()
	}
	s.Body = p.block("class definition", s.Pos)
	return s
}

func (p *parser) try() Stmt {
	s := &Try{Pos: p.next().pos()}
	s.Body = p.block("'try' statement", s.Pos)
	handlers, bare := 0, false
	for p.at("except") {
		at := p.next().pos()
		if bare {
			p.fail(at, "the default 'except:' must be the last one")
		}
		star := p.accept("*")
		if handlers > 0 && star != s.Star {
			p.fail(at, "cannot have both 'except' and 'except*' on one 'try'")
		}
		s.Star = star
		handlers++
		if bare = p.at(":"); !bare {
			start := p.here()
			p.expression()
			if p.at(",") {
				p.fail(start, "several exception types need parentheses")
			}
			p.asName()
		} else if star {
			p.unexpected("expected one or more exception types")
		}
		s.Handlers = append(s.Handlers, p.block("'except' statement", at)...)
	}
	if handlers > 0 {
		s.Orelse = p.orelse()
	}
	if at := p.here(); p.accept("finally") {
		s.Final = p.block("'finally' statement", at)
	} else if handlers == 0 {
		p.unexpected("expected 'except' or 'finally'")
	}
	return s
}
