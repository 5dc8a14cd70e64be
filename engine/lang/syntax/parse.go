package syntax

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Parse reads a whole file. Its error is a *model.Error of kind LanguageError with
// file, line, column and source line.
func Parse(filename, text string) (m *Module, err error) {
	m = &Module{}
	defer func() {
		switch f := recover().(type) {
		case nil:
		case *failure:
			err = m.located(filename, f)
			m = nil
		default:
			panic(f)
		}
	}()
	if len(text) > MaxSource {
		panic(&failure{msg: fmt.Sprintf("the config is larger than %d bytes; split it into several", MaxSource)})
	}
	text = strings.TrimPrefix(text, "\ufeff")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\r", "\n")
	m.Lines = strings.Split(text, "\n")
	if m.Lines[len(m.Lines)-1] == "" {
		m.Lines = m.Lines[:len(m.Lines)-1]
	}
	m.checkText()

	p := &parser{lexer: newLexer([]rune(text))}
	lexical := p.attempt(p.lex)
	if lexical != nil {
		p.emit(tEOF, p.mark(), "")
	}
	syntactic := p.attempt(func() { m.Body = p.file() })
	switch {
	case syntactic != nil && (lexical == nil || syntactic.indentation || lexical.yields && !p.is(tEOF)):
		panic(syntactic)
	case lexical != nil:
		// As in Python, a text that has no tokens is refused as such wherever the
		// grammar fails, except for a misplaced indentation before and for the few
		// lexical errors that yield.
		panic(lexical)
	}
	return m, nil
}

const (
	// MaxSource is the largest config in bytes.
	MaxSource = 1 << 20
	// maxDepth is how many nodes an expression may be deep, and how many branches
	// an if may have.
	maxDepth = 1000
	// maxParts is how many links a comparison, clauses a comprehension and managers a
	// with may have. Each part is compiled within the one before it, so that the cost
	// of a statement grows with their square.
	maxParts = 1000
)

// bounded refuses the part that is one too many.
func (p *parser) bounded(parts int, of string) {
	if parts > maxParts {
		p.fail(p.here(), "too many parts in one %s (the limit is %d)", of, maxParts)
	}
}

// failure travels by panic from where a syntax error is found to Parse.
type failure struct {
	pos Pos
	msg string
	raw bool // no "syntax error" lead-in

	indentation bool
	yields      bool // a lexical error that counts only if the grammar holds up to it
}

// yielding is fail for a lexical error that yields to an earlier one of the grammar.
func yielding(at Pos, format string, args ...any) {
	panic(&failure{pos: at, msg: fmt.Sprintf(format, args...), yields: true})
}

// attempt runs parse and returns its failure, if any.
func (p *parser) attempt(parse func()) (f *failure) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *failure:
			f = r
		default:
			panic(r)
		}
	}()
	parse()
	return nil
}

func fail(at Pos, format string, args ...any) {
	panic(&failure{pos: at, msg: fmt.Sprintf(format, args...)})
}

func (m *Module) located(filename string, f *failure) *model.Error {
	msg := f.msg
	if !f.raw && f.pos.Line > 0 {
		msg = "syntax error: " + msg
	}
	err := model.Errorf(model.LanguageError, model.ClassUser, "%s", msg)
	err.File, err.Line, err.Col, err.Source = filename, f.pos.Line, f.pos.Col, m.Line(f.pos.Line)
	return err
}

// Line is the text of a 1-based line, "" when there is none.
func (m *Module) Line(n int) string {
	if n < 1 || n > len(m.Lines) {
		return ""
	}
	return m.Lines[n-1]
}

// checkText refuses what is not text: NUL and bytes that are not UTF-8.
func (m *Module) checkText() {
	for i, line := range m.Lines {
		if utf8.ValidString(line) && !strings.Contains(line, "\x00") {
			continue
		}
		col := 1
		for rest := line; ; col++ {
			r, size := utf8.DecodeRuneInString(rest)
			if r == 0 {
				fail(Pos{Line: i + 1, Col: col}, "a config cannot contain NUL characters")
			}
			if r == utf8.RuneError && size == 1 {
				m.Lines[i] = strings.ToValidUTF8(line, "\ufffd")
				fail(Pos{Line: i + 1, Col: col}, "the config is not valid UTF-8")
			}
			rest = rest[size:]
		}
	}
}

// parser reads the tokens of a file. Every method that parses a node leaves its
// height in parser.height, so that the tree handed out is never deeper than
// maxDepth, however it was built; depth bounds the parser's own recursion.
type parser struct {
	*lexer
	i      int // index of the next token
	depth  int
	height int
	level  int // open brackets
	// The operand and the condition or element that were read last, as token
	// indexes, to explain what follows them.
	operand, condition struct{ start, end int }
	probing            bool // inside an explanation
}

func (p *parser) tok() token          { return p.toks[p.i] }
func (p *parser) here() Pos           { return p.toks[p.i].pos() }
func (p *parser) ahead() token        { return p.toks[min(p.i+1, len(p.toks)-1)] }
func (p *parser) at(text string) bool { return p.tok().is(text) }
func (p *parser) is(k kind) bool      { return p.tok().kind == k }

// is reports whether t is this operator or keyword.
func (t token) is(text string) bool { return t.kind >= tOp && t.text == text }

func (p *parser) next() token {
	t := p.toks[p.i]
	if t.kind != tEOF {
		p.i++
	}
	return t
}

func (p *parser) accept(text string) bool {
	if p.at(text) {
		p.i++
		return true
	}
	return false
}

func (p *parser) expect(text string) token {
	if !p.at(text) {
		p.unexpected("expected '" + text + "'")
	}
	return p.next()
}

func (p *parser) name() token {
	if !p.is(tName) {
		p.unexpected("")
	}
	return p.next()
}

// enter bounds recursion; every call is paired with leave.
func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		tooDeep(p.here())
	}
}

func (p *parser) leave() { p.depth-- }

// grown records the height of a node that was put above nodes of height below.
func (p *parser) grown(at Pos, below int) {
	if p.height = below + 1; p.height > maxDepth {
		tooDeep(at)
	}
}

func tooDeep(at Pos) {
	panic(&failure{pos: at, msg: "expression nested too deeply", raw: true})
}

// fail is fail, unless a bracket that was never closed explains the error better.
func (p *parser) fail(at Pos, format string, args ...any) {
	if n := len(p.brackets); n > 0 {
		if open := p.brackets[n-1]; p.is(tEOF) || p.here().Line > open.pos.Line {
			fail(open.pos, "'%c' was never closed", open.open)
		}
	}
	fail(at, format, args...)
}

// unexpected refuses the next token. want says what was missing, "" for nothing in
// particular.
func (p *parser) unexpected(want string) {
	t := p.tok()
	switch t.kind {
	case tIndent:
		at := Pos{Line: int(t.line), Col: max(1, int(t.col)-1)} // a joined line may begin with its first token
		panic(&failure{pos: at, msg: "unexpected indent", indentation: true})
	case tDedent:
		p.fail(t.pos(), "unexpected unindent")
	}
	if p.missingComma() {
		p.fail(p.toks[p.operand.start].pos(), "invalid syntax: is a comma missing?")
	}
	if t.is("=") && p.condition.end == p.i && p.i > 0 {
		p.assignedInside()
	}
	if t.is("not") && p.operand.end == p.i && p.i > 0 {
		t = p.ahead() // "not" itself could have begun "not in"
	}
	switch {
	case want != "":
		p.fail(t.pos(), "%s", want)
	case t.kind == tNewline || t.kind == tEOF:
		p.fail(t.pos(), "invalid syntax: unexpected end of line")
	case t.kind == tFClose || t.kind == tFSpec || t.kind == tFEnd:
		p.fail(t.pos(), "f-string: invalid expression")
	default:
		p.fail(t.pos(), "invalid syntax: unexpected '%s'", p.shown(t))
	}
}

// assignedInside refuses "name = value" where an expression must stand; an "=" without a
// value is an error of its own.
func (p *parser) assignedInside() {
	saved := *p
	p.i++
	value := p.attempt(func() { p.binary(lowestBinary) })
	switch {
	case value != nil && p.is(tEOF):
		panic(value)
	case p.is(tEOF):
		p.unexpected("")
	}
	*p = saved
	if value == nil {
		p.fail(p.toks[p.condition.start].pos(), "invalid syntax: did you mean '==' instead of '='?")
	}
}

// missingComma reports whether, inside brackets, an operand was read right before the
// next token and another expression starts at it.
func (p *parser) missingComma() bool {
	if p.probing || p.operand.end != p.i || p.i == 0 || !p.startsExpression() {
		return false
	}
	first := p.toks[p.operand.start]
	if first.soft() || first.kind == tName && p.toks[p.operand.start+1].kind == tString {
		return false
	}
	saved := *p
	p.probing = true
	second := p.attempt(func() { p.expression() })
	if second != nil && p.is(tEOF) {
		panic(second)
	}
	reached := p.i
	*p = saved
	if second != nil {
		// What follows the beginning of an expression may be wrong in its own way.
		p.probing = true
		second = p.attempt(p.prefixed)
		reached = p.i
		*p = saved
	}
	if second != nil || p.level == 0 {
		return false
	}
	if len(p.brackets) > 0 {
		p.i = reached // an open bracket above explains the error better
	}
	return true
}

// prefixed parses the least that begins an expression.
func (p *parser) prefixed() {
	for p.accept("not") || p.accept("-") || p.accept("+") || p.accept("~") || p.accept("await") {
	}
	if p.at("lambda") {
		p.lambda()
		return
	}
	p.atom()
}

// shown is a token's source, shortened.
func (p *parser) shown(t token) string {
	const most = 40
	src := p.src[t.start:t.end]
	if len(src) > most {
		return string(src[:most]) + "..."
	}
	return string(src)
}

// lastChar is the place of the last character that was read.
func (p *parser) lastChar() Pos {
	t := p.toks[p.i-1]
	at := t.pos()
	for _, c := range p.src[t.start : t.end-1] {
		if at.Col++; c == '\n' {
			at = Pos{Line: at.Line + 1, Col: 1}
		}
	}
	return at
}

// soft reports whether t is a soft keyword.
func (t token) soft() bool {
	return t.kind == tName && (t.text == "match" || t.text == "case" || t.text == "type" || t.text == "_")
}

// startsExpression reports whether the next token can begin an expression.
func (p *parser) startsExpression() bool {
	t := p.tok()
	switch t.kind {
	case tName, tNumber, tString, tFStart:
		return true
	case tKeyword:
		switch t.text {
		case "None", "True", "False", "lambda", "not", "await":
			return true
		}
	case tOp:
		switch t.text {
		case "(", "[", "{", "-", "+", "~", "...":
			return true
		}
	}
	return false
}
