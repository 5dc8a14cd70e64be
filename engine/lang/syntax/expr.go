package syntax

// expression parses a conditional or a lambda: the loosest expression that may stand
// between commas.
func (p *parser) expression() Expr {
	p.enter()
	defer p.leave()
	if p.at("lambda") {
		return p.lambda()
	}
	start, from := p.here(), p.i
	body := p.disjunction()
	p.operand.start, p.operand.end = from, p.i
	if !p.accept("if") {
		return body
	}
	h := p.height
	test := p.disjunction()
	h = max(h, p.height)
	if !p.at("else") {
		p.fail(start, "invalid syntax: expected 'else' after the 'if' of a conditional expression")
	}
	p.next()
	orelse := p.expression()
	p.grown(start, max(h, p.height))
	return &IfExp{Pos: start, Test: test, Body: body, Orelse: orelse}
}

// named parses an expression or "name := expression".
func (p *parser) named() Expr {
	start, from := p.here(), p.i
	target := p.expression()
	if !p.at(":=") {
		p.condition.start, p.condition.end = from, p.i
		return target
	}
	if _, ok := target.(*Name); !ok || target.Start() != start {
		p.fail(start, "cannot use an assignment expression with %s", describe(target))
	}
	p.next()
	value := p.expression()
	p.grown(start, p.height)
	return &NamedExpr{Pos: start, Target: target, Value: value}
}

// starNamed is an element of a display; starExpression one of a bare tuple. "*" binds
// a bitwise-or expression in both.
func (p *parser) starNamed() Expr {
	if p.at("*") {
		return p.starred()
	}
	return p.named()
}

func (p *parser) starExpression() Expr {
	if p.at("*") {
		return p.starred()
	}
	return p.expression()
}

func (p *parser) starred() Expr {
	at := p.next().pos()
	from := p.i
	value := p.binary(lowestBinary)
	p.operand.start, p.operand.end = from, p.i
	p.grown(at, p.height)
	return &Starred{Pos: at, Value: value}
}

// tupleOf parses item or a bare tuple of items.
func (p *parser) tupleOf(item func() Expr) Expr {
	start := p.here()
	first := item()
	if !p.at(",") {
		return first
	}
	elts, h := []Expr{first}, p.height
	for p.accept(",") && (p.startsExpression() || p.at("*")) {
		elts = append(elts, item())
		h = max(h, p.height)
	}
	p.grown(start, h)
	return &Tuple{Pos: start, Elts: elts}
}

// starExpressions is the right side of an assignment, of return, of "in".
func (p *parser) starExpressions() Expr { return p.tupleOf(p.starExpression) }

// yieldOrStar is a value where a bare yield may stand.
func (p *parser) yieldOrStar() Expr {
	if p.at("yield") {
		return p.yield()
	}
	return p.starExpressions()
}

func (p *parser) yield() Expr {
	at := p.next().pos()
	if p.accept("from") {
		value := p.expression()
		p.grown(at, p.height)
		return &YieldFrom{Pos: at, Value: value}
	}
	if !p.startsExpression() && !p.at("*") {
		p.height = 1
		return &Yield{Pos: at}
	}
	value := p.starExpressions()
	p.grown(at, p.height)
	return &Yield{Pos: at, Value: value}
}

func (p *parser) disjunction() Expr {
	return p.boolean("or", func() Expr { return p.boolean("and", p.inversion) })
}

func (p *parser) boolean(op string, operand func() Expr) Expr {
	start := p.here()
	first := operand()
	if !p.at(op) {
		return first
	}
	values, h := []Expr{first}, p.height
	for p.accept(op) {
		values = append(values, operand())
		h = max(h, p.height)
	}
	p.grown(start, h)
	return &BoolOp{Pos: start, Op: op, Values: values}
}

func (p *parser) inversion() Expr {
	if !p.at("not") {
		return p.comparison()
	}
	p.enter()
	defer p.leave()
	at := p.next().pos()
	operand := p.inversion()
	p.grown(at, p.height)
	return &UnaryOp{Pos: at, Op: "not", Operand: operand}
}

func (p *parser) comparison() Expr {
	start := p.here()
	left := p.binary(lowestBinary)
	op := p.comparator()
	if op == "" {
		return left
	}
	h := p.height
	cmp := &Compare{Pos: start, Left: left}
	for ; op != ""; op = p.comparator() {
		p.bounded(len(cmp.Ops)+1, "comparison")
		cmp.Ops = append(cmp.Ops, op)
		cmp.Rights = append(cmp.Rights, p.binary(lowestBinary))
		h = max(h, p.height)
	}
	p.grown(start, h)
	return cmp
}

// comparator consumes a comparison operator, if one is next.
func (p *parser) comparator() string {
	t := p.tok()
	if t.kind < tOp {
		return ""
	}
	switch t.text {
	case "<", "<=", ">", ">=", "==", "!=", "in":
		p.i++
		return t.text
	case "is":
		p.i++
		if p.accept("not") {
			return "is not"
		}
		return "is"
	case "not":
		if p.ahead().is("in") {
			p.i += 2
			return "not in"
		}
	}
	return ""
}

// Binding powers of the binary operators; all group to the left.
const lowestBinary = 1

func power(op string) int {
	switch op {
	case "|":
		return lowestBinary
	case "^":
		return 2
	case "&":
		return 3
	case "<<", ">>":
		return 4
	case "+", "-":
		return 5
	case "*", "/", "//", "%", "@":
		return 6
	}
	return 0
}

// binary parses operators that bind at least as tightly as lowest. A chain of equal
// operators is a loop, whatever its length.
func (p *parser) binary(lowest int) Expr {
	start := p.here()
	left := p.unary()
	for {
		op := p.tok()
		if op.kind != tOp {
			return left
		}
		bp := power(op.text)
		if bp < lowest || bp == 0 {
			return left
		}
		h := p.height
		p.i++
		right := p.binary(bp + 1)
		p.grown(start, max(h, p.height))
		left = &BinOp{Pos: start, Left: left, Op: op.text, OpPos: op.pos(), Right: right}
	}
}

func (p *parser) unary() Expr {
	if !p.at("-") && !p.at("+") && !p.at("~") {
		return p.power()
	}
	p.enter()
	defer p.leave()
	op := p.next()
	operand := p.unary()
	p.grown(op.pos(), p.height)
	return &UnaryOp{Pos: op.pos(), Op: op.text, Operand: operand}
}

func (p *parser) power() Expr {
	start := p.here()
	base := p.await()
	if !p.at("**") {
		return base
	}
	p.enter()
	defer p.leave()
	h := p.height
	op := p.next()
	exponent := p.unary()
	p.grown(start, max(h, p.height))
	return &BinOp{Pos: start, Left: base, Op: "**", OpPos: op.pos(), Right: exponent}
}

func (p *parser) await() Expr {
	if !p.at("await") {
		return p.primary()
	}
	at := p.next().pos()
	value := p.primary()
	p.grown(at, p.height)
	return &Await{Pos: at, Value: value}
}

// primary parses an atom and what is applied to it.
func (p *parser) primary() Expr {
	start := p.here()
	e := p.atom()
	for {
		h := p.height
		switch {
		case p.accept("."):
			name := p.name()
			e = &Attribute{Pos: start, Value: e, Name: name.text, NamePos: name.pos()}
		case p.at("("):
			call := &Call{Pos: start, Func: e}
			call.Args, call.Keywords = p.arguments()
			h = max(h, p.height)
			e = call
		case p.at("["):
			p.open1()
			index := p.subscript()
			p.close1("]")
			h = max(h, p.height)
			e = &Subscript{Pos: start, Value: e, Index: index}
		default:
			return e
		}
		p.grown(start, h)
	}
}

// open1 and close1 consume a bracket and keep the level.
func (p *parser) open1() token {
	p.level++
	return p.next()
}

func (p *parser) close1(text string) {
	if !p.at(text) {
		p.unexpected("")
	}
	p.level--
	p.i++
}

// subscript parses what stands between the brackets of an index.
func (p *parser) subscript() Expr {
	start := p.here()
	first := p.sliceItem()
	_, star := first.(*Starred)
	if !p.at(",") && !star {
		return first
	}
	elts, h := []Expr{first}, p.height
	for p.accept(",") && !p.at("]") {
		elts = append(elts, p.sliceItem())
		h = max(h, p.height)
	}
	p.grown(start, h)
	return &Tuple{Pos: start, Elts: elts}
}

func (p *parser) sliceItem() Expr {
	start := p.here()
	p.height = 0
	if p.at("*") {
		return p.starred()
	}
	s := &Slice{Pos: start}
	if !p.at(":") {
		s.Lower = p.named()
		if !p.at(":") {
			return s.Lower
		}
		if _, walrus := s.Lower.(*NamedExpr); walrus && s.Lower.Start() == start {
			p.unexpected("")
		}
	}
	h := p.height
	bound := func() Expr {
		if p.at(":") || p.at("]") || p.at(",") {
			return nil
		}
		e := p.expression()
		h = max(h, p.height)
		return e
	}
	p.next()
	s.Upper = bound()
	if p.accept(":") {
		s.Step = bound()
	}
	p.grown(start, h)
	return s
}

// lambda parses from its keyword on.
func (p *parser) lambda() Expr {
	at := p.next().pos()
	params := p.params(":", false)
	h := p.height
	if p.is(tFSpec) {
		p.fail(at, "f-string: a lambda needs parentheses here")
	}
	p.expect(":")
	body := p.expression()
	p.grown(at, max(h, p.height))
	return &Lambda{Pos: at, Params: params, Body: body}
}
