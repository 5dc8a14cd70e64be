package syntax

import (
	"fmt"
	"strings"
	"unicode"
)

// lex turns normalised text (no CR, no BOM) into tokens, the last of kind tEOF. It
// fails by panicking with a *failure. A bracket still open at the end is not an
// error of its own: the parser sees tEOF too early and asks lexer.unclosed.
func (l *lexer) lex() {
	l.startLine()
	for {
		if f := l.fstring(); f != nil && f.inText {
			l.lexMiddle(f)
			continue
		}
		l.skipBlank()
		if l.off >= len(l.src) {
			break
		}
		if l.peek(0) == '\n' {
			l.newline()
			continue
		}
		l.lexToken()
	}
	if len(l.brackets) == 0 {
		if n := len(l.toks); n > 0 && l.toks[n-1].kind != tNewline && l.toks[n-1].kind != tDedent {
			l.emit(tNewline, l.lineEnd(), "")
		}
		for range l.indents[1:] {
			l.emit(tDedent, l.mark(), "")
		}
	}
	l.emit(tEOF, l.mark(), "")
}

const (
	maxBrackets = 200
	maxIndents  = 100
	tabWidth    = 8
)

type lexer struct {
	src       []rune
	off       int // next rune
	line      int // 1-based
	lineStart int // offset of the line's first rune
	toks      []token
	brackets  []bracket
	indents   []indent
	fstrings  []*fstring
	comments  [][2]int32 // offsets of the comments inside f-string fields
	comment   mark       // where the last comment began
}

type kind uint8

const (
	tEOF kind = iota
	tNewline
	tIndent
	tDedent
	tName
	tNumber
	tString
	tFStart  // prefix and quotes of an f-string
	tFMiddle // literal text of an f-string or of a format spec
	tFOpen   // "{" of a replacement field
	tFSpec   // ":" before a format spec
	tFClose  // "}" of a replacement field
	tFEnd
	tOp
	tKeyword
)

// token is one token; its source is lexer.src[start:end].
type token struct {
	kind       kind
	start, end int32
	line, col  int32
	text       string // tName: normalised; tOp and tKeyword: as written
}

func (t token) pos() Pos { return Pos{Line: int(t.line), Col: int(t.col)} }

type bracket struct {
	open  rune
	pos   Pos
	field bool // the brace of an f-string's replacement field
}

// indent is an open indentation level, measured with tabs to 8 and tabs to 1: two
// lines whose order differs between the measures are inconsistent.
type indent struct{ col, alt int }

type mark struct {
	off int
	pos Pos
}

// runesPerToken is how long the tokens of configs are, about, the space between included.
const runesPerToken = 4

func newLexer(src []rune) *lexer {
	return &lexer{src: src, line: 1, indents: []indent{{}}, toks: make([]token, 0, len(src)/runesPerToken)}
}

func (l *lexer) peek(n int) rune {
	if l.off+n < len(l.src) {
		return l.src[l.off+n]
	}
	return -1
}

// advance consumes one rune and keeps the line count.
func (l *lexer) advance() {
	if l.src[l.off] == '\n' {
		l.line++
		l.lineStart = l.off + 1
	}
	l.off++
}

func (l *lexer) pos() Pos   { return Pos{Line: l.line, Col: l.off - l.lineStart + 1} }
func (l *lexer) mark() mark { return mark{off: l.off, pos: l.pos()} }

func (l *lexer) emit(k kind, from mark, text string) {
	l.toks = append(l.toks, token{
		kind: k, start: int32(from.off), end: int32(l.off),
		line: int32(from.pos.Line), col: int32(from.pos.Col), text: text,
	})
}

// skipBlank passes spaces, comments and joined lines; inside brackets line ends too.
func (l *lexer) skipBlank() {
	for l.off < len(l.src) {
		switch c := l.peek(0); {
		case c == ' ' || c == '\t' || c == '\f':
			l.off++
		case c == '\n' && len(l.brackets) > 0:
			l.advance()
		case c == '#':
			l.skipComment()
		case c == '\\':
			l.joinLine()
		default:
			return
		}
	}
}

func (l *lexer) skipComment() {
	from := l.off
	l.comment = l.mark()
	for l.off < len(l.src) && l.src[l.off] != '\n' {
		l.off++
	}
	if len(l.fstrings) > 0 {
		l.comments = append(l.comments, [2]int32{int32(from), int32(l.off)})
	}
}

// joinLine consumes a backslash and the line end behind it.
func (l *lexer) joinLine() {
	at := l.pos()
	l.off++
	if l.off < len(l.src) && l.src[l.off] != '\n' {
		yielding(l.pos(), "unexpected character after the line continuation character")
	}
	if l.off < len(l.src) {
		l.advance()
	}
	if l.off >= len(l.src) {
		if n := len(l.brackets); n > 0 {
			yielding(l.brackets[n-1].pos, "'%c' was never closed", l.brackets[n-1].open)
		}
		at.Col++
		yielding(at, "unexpected end of file after the line continuation character")
	}
}

// newline ends a logical line and measures the next one's indentation.
func (l *lexer) newline() {
	if n := len(l.toks); n > 0 && l.toks[n-1].kind != tNewline {
		l.emit(tNewline, l.lineEnd(), "")
	}
	l.advance()
	l.startLine()
}

// lineEnd is where the statement of this line ends: here, or where a comment begins.
func (l *lexer) lineEnd() mark {
	if l.comment.pos.Line == l.line {
		return l.comment
	}
	return l.mark()
}

// startLine passes blank and comment-only lines, then turns the indentation of the
// first line with content into tIndent and tDedent.
func (l *lexer) startLine() {
	for {
		in := l.measureIndent()
		switch l.peek(0) {
		case '\n':
			l.advance()
		case '#':
			l.skipComment()
		case -1:
			return
		default:
			l.indent(in)
			return
		}
	}
}

func (l *lexer) measureIndent() indent {
	var in indent
	joined := 0 // the column of the first backslash that is not at the start of its line
	for {
		switch l.peek(0) {
		case ' ':
			in.col++
			in.alt++
		case '\t':
			in.col = (in.col/tabWidth + 1) * tabWidth
			in.alt++
		case '\f':
			in = indent{}
		case '\\':
			if joined == 0 {
				joined = in.col
			}
			l.joinLine()
			continue
		default:
			if joined > 0 {
				return indent{joined, joined}
			}
			return in
		}
		l.off++
	}
}

func (l *lexer) indent(in indent) {
	top := l.indents[len(l.indents)-1]
	switch {
	case in.col == top.col:
		l.consistent(in.alt == top.alt)
	case in.col > top.col:
		l.consistent(in.alt > top.alt)
		if len(l.indents) > maxIndents {
			yielding(l.pos(), "too many levels of indentation (the limit is %d)", maxIndents)
		}
		l.indents = append(l.indents, in)
		l.emit(tIndent, l.mark(), "")
	default:
		for in.col < top.col {
			l.indents = l.indents[:len(l.indents)-1]
			top = l.indents[len(l.indents)-1]
			l.emit(tDedent, l.mark(), "")
		}
		if in.col != top.col {
			for l.peek(0) >= 0 && l.peek(0) != '\n' {
				l.off++
			}
			yielding(l.pos(), "unindent does not match any outer indentation level")
		}
		l.consistent(in.alt == top.alt)
	}
}

func (l *lexer) consistent(ok bool) {
	if !ok {
		yielding(Pos{Line: l.line, Col: 1}, "inconsistent tabs: the indentation depends on how wide a tab is")
	}
}

// lexToken reads one token that starts at a visible character.
func (l *lexer) lexToken() {
	c := l.peek(0)
	switch {
	case c >= '0' && c <= '9', c == '.' && isDigit(l.peek(1)):
		l.lexNumber()
	case c == '"' || c == '\'':
		l.lexString(l.mark())
	case c < 0x80 && !isNameASCII(c):
		l.lexOperator()
	default:
		l.lexName()
	}
}

// lexName reads an identifier, a keyword, or a string with a prefix.
func (l *lexer) lexName() {
	from := l.mark()
	ascii := true
	for l.off < len(l.src) {
		c := l.src[l.off]
		if c < 0x80 {
			if !isNameASCII(c) && !isDigit(c) {
				break
			}
		} else if ascii = false; !isNameRune(c, l.off == from.off) {
			l.invalidCharacter(c)
		}
		l.off++
	}
	raw := l.src[from.off:l.off]
	if q := l.peek(0); (q == '"' || q == '\'') && isStringPrefix(raw) {
		l.lexString(from)
		return
	}
	text := string(raw)
	if !ascii {
		text = normalise(text)
	}
	switch keyword := keywords[text]; {
	case keyword && ascii:
		l.emit(tKeyword, from, text)
	case keyword:
		fail(from.pos, "invalid identifier: it reads as the keyword '%s'", text)
	default:
		l.emit(tName, from, text)
	}
}

func (l *lexer) invalidCharacter(c rune) {
	if unicode.IsPrint(c) {
		fail(l.pos(), "invalid character '%c' (U+%04X)", c, c)
	}
	fail(l.pos(), "invalid non-printable character U+%04X", c)
}

var keywords = func() map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(`False None True and as assert async await break class
		continue def del elif else except finally for from global if import in is lambda
		nonlocal not or pass raise return try while with yield`) {
		set[word] = true
	}
	return set
}()

// operators, longest first for each first rune. "<>" and "!" are there to be refused
// as a whole.
var operators = func() map[rune][]string {
	byFirst := make(map[rune][]string)
	for op := range strings.FieldsSeq(`**= //= >>= <<= ... ** // >> << <> <= >= == != -> += -= *= /=
		%= &= |= ^= @= := + - * / % & | ^ ~ < > = ( ) [ ] { } , : . ; @ !`) {
		byFirst[rune(op[0])] = append(byFirst[rune(op[0])], op)
	}
	return byFirst
}()

func (l *lexer) lexOperator() {
	from := l.mark()
	c := l.peek(0)
	if l.inField() {
		switch c {
		case ':':
			l.off++
			l.emit(tFSpec, from, ":")
			l.fstring().inText = true
			return
		case '}':
			l.off++
			l.emit(tFClose, from, "}")
			l.closeField()
			return
		}
	}
	op := l.operator(c)
	if op == "" {
		if c < ' ' || c == 0x7f {
			l.invalidCharacter(c)
		}
		op = string(c) // the parser refuses it
	}
	switch op {
	case "(", "[", "{":
		l.open(c, from.pos, false)
	case ")", "]", "}":
		l.close(c)
	}
	l.off += len(op)
	l.emit(tOp, from, op)
}

func (l *lexer) operator(c rune) string {
next:
	for _, op := range operators[c] {
		for i := 1; i < len(op); i++ {
			if l.peek(i) != rune(op[i]) {
				continue next
			}
		}
		return op
	}
	return ""
}

func (l *lexer) open(c rune, at Pos, field bool) {
	if len(l.brackets) >= maxBrackets {
		fail(at, "too many nested brackets (the limit is %d)", maxBrackets)
	}
	l.brackets = append(l.brackets, bracket{open: c, pos: at, field: field})
}

func (l *lexer) close(c rune) {
	n := len(l.brackets)
	if n == 0 {
		fail(l.pos(), "unmatched '%c'", c)
	}
	top := l.brackets[n-1]
	switch {
	case top.field:
		fail(l.pos(), "f-string: unmatched '%c'", c)
	case closer(top.open) != c:
		on := ""
		if top.pos.Line != l.line {
			on = fmt.Sprintf(" on line %d", top.pos.Line)
		}
		fail(l.pos(), "closing bracket '%c' does not match opening bracket '%c'%s", c, top.open, on)
	}
	l.brackets = l.brackets[:n-1]
}

func closer(open rune) rune {
	switch open {
	case '(':
		return ')'
	case '[':
		return ']'
	default:
		return '}'
	}
}

func isDigit(c rune) bool { return c >= '0' && c <= '9' }

func isNameASCII(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}
