package syntax

import (
	"slices"
	"strings"
)

// lexNumber reads an integer, float or imaginary literal.
func (l *lexer) lexNumber() {
	from := l.mark()
	switch l.peek(1) {
	case 'x', 'X', 'o', 'O', 'b', 'B':
		if l.peek(0) == '0' {
			l.lexRadix()
			break
		}
		fallthrough
	default:
		l.lexDecimal(from)
	}
	l.endNumber()
	l.emit(tNumber, from, "")
}

func (l *lexer) lexRadix() {
	name, valid := "hexadecimal", "0123456789abcdefABCDEF"
	switch l.peek(1) {
	case 'o', 'O':
		name, valid = "octal", "01234567"
	case 'b', 'B':
		name, valid = "binary", "01"
	}
	is := func(c rune) bool { return c > 0 && strings.ContainsRune(valid, c) }
	l.off += 2
	if l.peek(0) == '_' {
		l.off++
	}
	l.digits(is, name)
	if isDigit(l.peek(0)) {
		fail(l.pos(), "invalid digit '%c' in %s literal", l.peek(0), name)
	}
}

func (l *lexer) lexDecimal(from mark) {
	whole := true
	if l.peek(0) != '.' {
		l.digits(isDigit, "decimal")
	}
	end := l.off
	if l.peek(0) == '.' {
		whole = false
		l.off++
		if isDigit(l.peek(0)) {
			l.digits(isDigit, "decimal")
		}
	}
	if c := l.peek(0); c == 'e' || c == 'E' {
		n := 1
		if s := l.peek(1); s == '+' || s == '-' {
			n = 2
		}
		if isDigit(l.peek(n)) {
			whole = false
			l.off += n
			l.digits(isDigit, "decimal")
		}
	}
	if c := l.peek(0); c == 'j' || c == 'J' {
		l.off++
		return
	}
	if whole && l.src[from.off] == '0' && strings.Trim(string(l.src[from.off:end]), "0_") != "" {
		fail(from.pos, "leading zeros in decimal integer literals are not permitted; use an 0o prefix for octal integers")
	}
}

// digits reads digits with single underscores between them.
func (l *lexer) digits(is func(rune) bool, name string) {
	if !is(l.peek(0)) {
		if isDigit(l.peek(0)) {
			fail(l.pos(), "invalid digit '%c' in %s literal", l.peek(0), name)
		}
		fail(l.lastPos(), "invalid %s literal", name)
	}
	for {
		for is(l.peek(0)) {
			l.off++
		}
		if l.peek(0) != '_' {
			return
		}
		l.off++
		if !is(l.peek(0)) {
			fail(l.lastPos(), "invalid %s literal", name)
		}
	}
}

func (l *lexer) lastPos() Pos {
	p := l.pos()
	p.Col = max(p.Col-1, 1)
	return p
}

// endNumber refuses a name glued to a number, except the words that Python lets
// follow one ("1if x else y").
func (l *lexer) endNumber() {
	c := l.peek(0)
	if c < 0x80 && !isNameASCII(c) && !isDigit(c) {
		return
	}
	if slices.ContainsFunc([]string{"and", "else", "for", "if", "in", "is", "not", "or"}, l.follows) {
		return
	}
	if c >= 0x80 && !isNameRune(c, false) {
		return // reported as an invalid character
	}
	fail(l.lastPos(), "invalid number literal: it runs into '%c'", c)
}

// follows reports whether the next word is this one. One that begins with "i" may run on,
// as in Python.
func (l *lexer) follows(word string) bool {
	for i, c := range word {
		if l.peek(i) != c {
			return false
		}
	}
	next := l.peek(len(word))
	return word[0] == 'i' || next < 0x80 && !isNameASCII(next) && !isDigit(next)
}

func isStringPrefix(raw []rune) bool {
	switch strings.ToLower(string(raw)) {
	case "r", "u", "b", "f", "rb", "br", "rf", "fr":
		return true
	}
	return false
}

// lexString reads a literal whose prefix, if any, began at from. An f-string yields
// tFStart only; lexMiddle goes on from there.
func (l *lexer) lexString(from mark) {
	prefix := strings.ToLower(string(l.src[from.off:l.off]))
	quote, size := l.peek(0), 1
	if l.peek(1) == quote && l.peek(2) == quote {
		size = 3
	}
	l.off += size
	if strings.Contains(prefix, "f") {
		l.emit(tFStart, from, "")
		l.fstrings = append(l.fstrings, &fstring{
			quote: quote, size: size, raw: strings.Contains(prefix, "r"), start: from.pos, inText: true,
		})
		return
	}
	for !l.atQuotes(quote, size) {
		if c := l.peek(0); c < 0 || c == '\n' && size == 1 {
			l.unterminated(from.pos, quote, size)
		}
		if l.peek(0) == '\\' && l.peek(1) >= 0 {
			l.off++
		}
		l.advance()
	}
	l.off += size
	l.emit(tString, from, "")
}

func (l *lexer) atQuotes(quote rune, size int) bool {
	for i := range size {
		if l.peek(i) != quote {
			return false
		}
	}
	return true
}

func (l *lexer) unterminated(start Pos, quote rune, size int) {
	if f := l.fstring(); f != nil && f.quote == quote && f.size == size {
		fail(start, "f-string: expecting '}'")
	}
	what := "string"
	if size == 3 {
		what = "triple-quoted string"
	}
	fail(start, "unterminated %s literal (detected at line %d)", what, l.line)
}

// fstring is an f-string being read. Its text and its replacement fields alternate;
// fields counts the open ones (a field inside a format spec is inside its outer one).
type fstring struct {
	quote  rune
	size   int
	raw    bool
	start  Pos
	inText bool
	fields int
	split  bool // a field has been read
}

// fail is fail for the text of f. Behind a replacement field it yields: what is wrong
// with the field counts first.
func (f *fstring) fail(at Pos, format string, args ...any) {
	if f.split {
		yielding(at, format, args...)
	}
	fail(at, format, args...)
}

// maxFields is how deep replacement fields may nest in one f-string.
const maxFields = 3

func (l *lexer) fstring() *fstring {
	if n := len(l.fstrings); n > 0 {
		return l.fstrings[n-1]
	}
	return nil
}

// inField reports whether the innermost bracket is a replacement field's brace.
func (l *lexer) inField() bool {
	n := len(l.brackets)
	return n > 0 && l.brackets[n-1].field
}

// lexMiddle reads text up to the next field, or the end, of an f-string or of one of
// its format specs.
func (l *lexer) lexMiddle(f *fstring) {
	from := l.mark()
	spec := f.fields > 0
	for {
		c := l.peek(0)
		switch {
		case l.atQuotes(f.quote, f.size):
			l.emitMiddle(from)
			end := l.mark()
			l.off += f.size
			l.endFString(f, end)
			return
		case c == '\n' && f.size == 1 && spec:
			// The spec ends here; what follows must be its field's "}".
			l.emitMiddle(from)
			f.inText = false
			return
		case c < 0 || c == '\n' && f.size == 1:
			what := "f-string"
			if f.size == 3 {
				what = "triple-quoted f-string"
			}
			f.fail(f.start, "unterminated %s literal (detected at line %d)", what, l.line)
		case c == '{' && l.peek(1) == '{' && !spec, c == '}' && l.peek(1) == '}' && !spec:
			l.off++
			l.emitMiddle(from) // with one of the two braces
			l.off++
			from = l.mark()
		case c == '{':
			l.emitMiddle(from)
			l.openField(f)
			return
		case c == '}':
			l.emitMiddle(from)
			if !spec {
				f.fail(l.pos(), "f-string: single '}' is not allowed")
			}
			f.inText = false
			return
		case c == '\\':
			l.escapeInMiddle(f)
		default:
			l.advance()
		}
	}
}

func (l *lexer) emitMiddle(from mark) {
	if l.off > from.off {
		l.emit(tFMiddle, from, "")
	}
}

// escapeInMiddle passes a backslash and what it escapes. A brace is never escaped,
// and the braces of \N{NAME} are text.
func (l *lexer) escapeInMiddle(f *fstring) {
	l.off++
	switch c := l.peek(0); {
	case c < 0 || c == '{' || c == '}':
	case c == 'N' && !f.raw && l.peek(1) == '{':
		for l.off < len(l.src) && !l.atQuotes(f.quote, f.size) && l.src[l.off] != '}' && l.src[l.off] != '\n' {
			l.off++
		}
		if l.peek(0) == '}' {
			l.off++
		}
	default:
		l.advance()
	}
}

func (l *lexer) openField(f *fstring) {
	from := l.mark()
	f.fields++
	if f.fields > maxFields {
		at := from.pos
		at.Col-- // as in Python, before the brace
		fail(at, "f-string: expressions nested too deeply")
	}
	f.split = true
	l.open('{', from.pos, true)
	l.off++
	l.emit(tFOpen, from, "{")
	f.inText = false
}

func (l *lexer) closeField() {
	l.brackets = l.brackets[:len(l.brackets)-1]
	f := l.fstring()
	f.fields--
	f.inText = true
}

// endFString drops f; quotes inside a format spec leave its field open.
func (l *lexer) endFString(f *fstring, from mark) {
	if f.fields > 0 {
		fail(from.pos, "f-string: expecting '}'")
	}
	l.emit(tFEnd, from, "")
	l.fstrings = l.fstrings[:len(l.fstrings)-1]
}
