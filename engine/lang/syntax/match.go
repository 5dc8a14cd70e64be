package syntax

// startsMatch tells a match statement from a use of the name match: only the former
// ends its line with ":" and an indented block of cases after it.
func (p *parser) startsMatch() bool {
	i := p.i
	for p.toks[i].kind != tNewline && p.toks[i].kind != tEOF {
		i++
	}
	return i > p.i+2 && p.toks[i].kind == tNewline && p.toks[i-1].is(":") && p.toks[i+1].kind == tIndent
}

// match parses a match statement. The language refuses it, so only its place and its
// subject are kept.
func (p *parser) match() Stmt {
	s := &Match{Pos: p.next().pos()}
	s.Subject = p.tupleOf(p.starNamed)
	if _, star := s.Subject.(*Starred); star || !p.at(":") {
		p.unexpected("")
	}
	p.i += 3 // ":", the line end and the indentation that startsMatch saw
	for !p.is(tDedent) {
		at := p.here()
		if t := p.tok(); t.kind != tName || t.text != "case" {
			p.unexpected("expected 'case'")
		}
		p.i++
		p.patterns()
		if p.accept("if") {
			p.named()
		}
		p.block("'case' statement", at)
	}
	p.i++
	return s
}

// patterns parses what may stand after case: a pattern or a bare sequence of them.
func (p *parser) patterns() {
	p.maybeStarPattern()
	for p.accept(",") && !p.at(":") && !p.at("if") {
		p.maybeStarPattern()
	}
}

func (p *parser) maybeStarPattern() {
	if p.accept("*") {
		p.name()
		return
	}
	p.pattern()
}

// pattern parses alternatives and an optional "as name".
func (p *parser) pattern() {
	p.enter()
	defer p.leave()
	p.closedPattern()
	for p.accept("|") {
		p.closedPattern()
	}
	if p.accept("as") {
		if t := p.name(); t.text == "_" {
			p.fail(t.pos(), "cannot use '_' as a target")
		}
	}
}

func (p *parser) closedPattern() {
	t := p.tok()
	switch {
	case t.kind == tNumber || t.is("-"):
		p.numberPattern()
	case t.kind == tString:
		p.strings()
	case t.is("None"), t.is("True"), t.is("False"):
		p.i++
	case t.kind == tName:
		p.dotted()
		if p.at("(") {
			p.classPattern()
		}
	case t.is("("):
		p.sequencePattern(")")
	case t.is("["):
		p.sequencePattern("]")
	case t.is("{"):
		p.mappingPattern()
	default:
		p.unexpected("")
	}
}

// numberPattern parses a number with its sign, and a complex one's second part.
func (p *parser) numberPattern() {
	p.accept("-")
	if !p.is(tNumber) {
		p.unexpected("")
	}
	p.number(p.next())
	if p.accept("+") || p.accept("-") {
		t := p.tok()
		if t.kind != tNumber {
			p.unexpected("")
		}
		if _, imaginary := p.number(p.next()).(Imaginary); !imaginary {
			p.fail(t.pos(), "an imaginary number is required in a complex literal")
		}
	}
}

func (p *parser) sequencePattern(closing string) {
	p.open1()
	for !p.at(closing) {
		p.maybeStarPattern()
		if !p.accept(",") {
			break
		}
	}
	p.close1(closing)
}

func (p *parser) mappingPattern() {
	p.open1()
	for !p.at("}") {
		if p.accept("**") {
			p.name()
		} else {
			p.mappingKey()
			p.expect(":")
			p.pattern()
		}
		if !p.accept(",") {
			break
		}
	}
	p.close1("}")
}

// mappingKey is a literal or a dotted name.
func (p *parser) mappingKey() {
	t := p.tok()
	if t.kind == tName && !p.ahead().is(".") || t.is("(") || t.is("[") || t.is("{") {
		p.unexpected("")
	}
	p.closedPattern()
}

func (p *parser) classPattern() {
	p.open1()
	keywords := false
	for !p.at(")") {
		if p.is(tName) && p.ahead().is("=") {
			keywords = true
			p.i += 2
		} else if keywords {
			p.fail(p.here(), "positional patterns follow keyword patterns")
		}
		p.pattern()
		if !p.accept(",") {
			break
		}
	}
	p.close1(")")
}
