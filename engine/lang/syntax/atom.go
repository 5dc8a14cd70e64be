package syntax

// atom parses a name, a literal or a display.
func (p *parser) atom() Expr {
	t := p.tok()
	p.height = 1
	switch t.kind {
	case tName:
		p.i++
		return &Name{Pos: t.pos(), Name: t.text}
	case tNumber:
		p.i++
		return &Constant{Pos: t.pos(), Value: p.number(t)}
	case tString, tFStart:
		return p.strings()
	case tKeyword:
		switch t.text {
		case "None":
			p.i++
			return &Constant{Pos: t.pos()}
		case "True", "False":
			p.i++
			return &Constant{Pos: t.pos(), Value: t.text == "True"}
		}
	case tOp:
		switch t.text {
		case "...":
			p.i++
			return &Constant{Pos: t.pos(), Value: Ellipsis{}}
		case "(":
			return p.parenthesised()
		case "[":
			return p.list()
		case "{":
			return p.dictOrSet()
		}
	}
	p.unexpected("")
	return nil
}

// parenthesised parses a tuple, a generator expression, or an expression in
// parentheses, which leaves no trace in the tree.
func (p *parser) parenthesised() Expr {
	open := p.open1().pos()
	if p.at(")") {
		p.close1(")")
		p.height = 1
		return &Tuple{Pos: open, Paren: true}
	}
	if p.at("yield") {
		e := p.yield()
		p.close1(")")
		return e
	}
	first := p.starNamed()
	switch {
	case p.at(","):
		elts, h := p.rest(first, ")", p.starNamed)
		p.close1(")")
		p.grown(open, h)
		return &Tuple{Pos: open, Elts: elts, Paren: true}
	case p.startsComprehension():
		p.noUnpacking(first)
		h := p.height
		clauses := p.comprehension()
		p.close1(")")
		p.grown(open, max(h, p.height))
		return &GeneratorExp{Pos: open, Elt: first, Generators: clauses}
	}
	if _, star := first.(*Starred); star && p.at(")") {
		p.fail(first.Start(), "cannot use a starred expression here")
	}
	p.close1(")")
	return first
}

// rest parses the elements after first up to the closing bracket and reports the
// greatest height.
func (p *parser) rest(first Expr, closing string, item func() Expr) ([]Expr, int) {
	elts, h := []Expr{first}, p.height
	for p.accept(",") && !p.at(closing) {
		elts = append(elts, item())
		h = max(h, p.height)
	}
	return elts, h
}

func (p *parser) list() Expr {
	open := p.open1().pos()
	if p.at("]") {
		p.close1("]")
		p.height = 1
		return &List{Pos: open}
	}
	first := p.starNamed()
	if p.startsComprehension() {
		p.noUnpacking(first)
		h := p.height
		clauses := p.comprehension()
		p.close1("]")
		p.grown(open, max(h, p.height))
		return &ListComp{Pos: open, Elt: first, Generators: clauses}
	}
	elts, h := p.rest(first, "]", p.starNamed)
	p.close1("]")
	p.grown(open, h)
	return &List{Pos: open, Elts: elts}
}

func (p *parser) dictOrSet() Expr {
	open := p.open1().pos()
	if p.at("}") {
		p.close1("}")
		p.height = 1
		return &Dict{Pos: open}
	}
	if p.at("**") {
		return p.dict(open, nil)
	}
	start := p.here()
	first := p.starNamed()
	if p.at(":") {
		switch first.(type) {
		case *Starred:
			p.fail(p.here(), "cannot use a starred expression as a dictionary key")
		case *NamedExpr:
			if first.Start() == start { // without parentheses
				p.unexpected("")
			}
		}
		return p.dict(open, first)
	}
	if p.startsComprehension() {
		p.noUnpacking(first)
		h := p.height
		clauses := p.comprehension()
		p.close1("}")
		p.grown(open, max(h, p.height))
		return &SetComp{Pos: open, Elt: first, Generators: clauses}
	}
	elts, h := p.rest(first, "}", p.starNamed)
	p.close1("}")
	p.grown(open, h)
	return &Set{Pos: open, Elts: elts}
}

// dict parses a dict display or comprehension; key is its first key, already read,
// nil before "**".
func (p *parser) dict(open Pos, key Expr) Expr {
	d := &Dict{Pos: open}
	h := 0
	for {
		h = max(h, p.height)
		if key == nil {
			star := p.expect("**")
			d.Values = append(d.Values, p.binary(lowestBinary))
			h = max(h, p.height)
			if p.startsComprehension() {
				p.fail(star.pos(), "dict unpacking cannot be used in a dict comprehension")
			}
		} else {
			if colon := p.expect(":"); p.at(",") || p.at("}") {
				p.fail(colon.pos(), "a value is expected after a dictionary key and ':'")
			}
			d.Values = append(d.Values, p.expression())
			h = max(h, p.height)
			if len(d.Keys) == 0 && p.startsComprehension() {
				clauses := p.comprehension()
				p.close1("}")
				p.grown(open, max(h, p.height))
				return &DictComp{Pos: open, Key: key, Value: d.Values[0], Generators: clauses}
			}
		}
		d.Keys = append(d.Keys, key)
		if !p.accept(",") || p.at("}") {
			p.close1("}")
			p.grown(open, h)
			return d
		}
		p.height = 0
		if key = nil; !p.at("**") {
			key = p.expression()
			if !p.at(":") {
				p.fail(p.lastChar(), "expected ':' after a dictionary key")
			}
		}
	}
}

func (p *parser) startsComprehension() bool {
	return p.at("for") || p.at("async") && p.ahead().is("for")
}

func (p *parser) noUnpacking(first Expr) {
	if _, star := first.(*Starred); star {
		p.fail(first.Start(), "iterable unpacking cannot be used in a comprehension")
	}
}

// comprehension parses the clauses of a comprehension.
func (p *parser) comprehension() []Comprehension {
	var clauses []Comprehension
	h, parts := 0, 0
	for p.startsComprehension() {
		parts++
		p.bounded(parts, "comprehension")
		c := Comprehension{Pos: p.here(), Async: p.accept("async")}
		p.expect("for")
		c.Target = p.loopTarget()
		h = max(h, p.height)
		p.expectIn(c.Target)
		c.Iter = p.disjunction()
		h = max(h, p.height)
		for p.accept("if") {
			parts++
			p.bounded(parts, "comprehension")
			c.Ifs = append(c.Ifs, p.disjunction())
			h = max(h, p.height)
		}
		clauses = append(clauses, c)
	}
	p.height = h
	return clauses
}

// arguments parses a call's arguments, parentheses included.
func (p *parser) arguments() ([]Expr, []Keyword) {
	open := p.open1().pos()
	var args []Expr
	var keywords []Keyword
	h, mapping := 0, false
	comma := Pos{}
	for !p.at(")") {
		start := p.here()
		switch {
		case p.accept("**"):
			mapping = true
			keywords = append(keywords, Keyword{Pos: start, Value: p.expression()})
		case p.accept("*"):
			if mapping {
				p.fail(comma, "iterable unpacking follows keyword argument unpacking")
			}
			value := p.expression()
			p.grown(start, p.height)
			args = append(args, &Starred{Pos: start, Value: value})
		case p.is(tName) && p.ahead().is("="):
			name := p.next()
			p.next()
			if p.at(",") || p.at(")") {
				p.fail(start, "a value is expected after '%s='", name.text)
			}
			keywords = append(keywords, Keyword{Pos: start, Name: name.text, Value: p.expression()})
		default:
			arg := p.named()
			if p.at("=") {
				p.fail(start, "invalid syntax: the name of a keyword argument must be a plain name")
			}
			if p.startsComprehension() {
				arg = p.soleGenerator(open, start, arg, len(args)+len(keywords) > 0)
			} else if len(keywords) > 0 {
				p.positionalAfterKeyword(mapping)
			}
			args = append(args, arg)
		}
		h = max(h, p.height)
		comma = p.here()
		if !p.accept(",") {
			break
		}
	}
	p.close1(")")
	p.height = h
	return args, keywords
}

// soleGenerator parses "elt for …" as a call's argument: without parentheses of its
// own it must be the only one, and it then starts at the call's.
func (p *parser) soleGenerator(open, start Pos, elt Expr, beside bool) Expr {
	h := p.height
	clauses := p.comprehension()
	if beside || !p.at(")") && p.at(",") {
		p.fail(start, "a generator expression needs parentheses here")
	}
	p.grown(open, max(h, p.height))
	return &GeneratorExp{Pos: open, Elt: elt, Generators: clauses}
}

func (p *parser) positionalAfterKeyword(mapping bool) {
	what := "keyword argument"
	if mapping {
		what = "keyword argument unpacking"
	}
	p.fail(p.here(), "positional argument follows %s", what)
}
