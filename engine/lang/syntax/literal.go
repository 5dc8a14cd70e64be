package syntax

import (
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDecimalDigits is Python's limit for decimal integers; reading one is quadratic.
const maxDecimalDigits = 4300

// maxLiteralBits is the limit of the results of operators (lang.md §5.4); a larger literal
// would make every operation on it slow that costs nothing.
const maxLiteralBits = 65536

// number is the value of a tNumber: *big.Int, float64 or Imaginary.
func (p *parser) number(t token) any {
	text := strings.ToLower(strings.ReplaceAll(string(p.src[t.start:t.end]), "_", ""))
	if len(text) > 1 && text[0] == '0' && strings.ContainsRune("xob", rune(text[1])) {
		base := map[byte]int{'x': 16, 'o': 8, 'b': 2}[text[1]]
		n, _ := new(big.Int).SetString(text[2:], base)
		if n.BitLen() > maxLiteralBits {
			p.fail(t.pos(), "integer literal has more than %d bits", maxLiteralBits)
		}
		return n
	}
	if digits, ok := strings.CutSuffix(text, "j"); ok {
		return Imaginary(parseFloat(digits))
	}
	if strings.ContainsAny(text, ".e") {
		return parseFloat(text)
	}
	if len(text) > maxDecimalDigits {
		p.fail(t.pos(), "integer literal has %d digits; the limit is %d, use hexadecimal beyond it", len(text), maxDecimalDigits)
	}
	n, _ := new(big.Int).SetString(text, 10)
	return n
}

// parseFloat reads a literal that the lexer has checked; one that is too large is
// infinite, as in Python.
func parseFloat(text string) float64 {
	f, _ := strconv.ParseFloat(text, 64)
	return f
}

// stringValue is the value of a tString that is not an f-string. For bytes each byte
// is one byte of the result.
func (p *parser) stringValue(t token) string {
	src := p.src[t.start:t.end]
	i := 0
	for src[i] != '\'' && src[i] != '"' {
		i++
	}
	prefix := strings.ToLower(string(src[:i]))
	size := 1
	if len(src) >= i+6 && src[i+1] == src[i] && src[i+2] == src[i] {
		size = 3
	}
	body := src[i+size : len(src)-size]
	return p.decode(t, body, escapes{raw: strings.Contains(prefix, "r"), bytes: strings.Contains(prefix, "b")})
}

// escapes says how a literal's backslashes are read.
type escapes struct{ raw, bytes bool }

// decode is the text of a literal's body. A lone surrogate, which only an escape can
// give, becomes the three bytes that UTF-8 would use for it (WTF-8).
func (p *parser) decode(t token, body []rune, how escapes) string {
	var out strings.Builder
	for i := 0; i < len(body); {
		c := body[i]
		if how.bytes && c >= 0x80 {
			p.fail(t.pos(), "bytes can only contain ASCII literal characters")
		}
		if c != '\\' || how.raw || i+1 == len(body) {
			out.WriteRune(c)
			i++
			continue
		}
		n, err := escape(&out, body[i+1:], how.bytes)
		if err != "" {
			p.fail(t.pos(), "%s", err)
		}
		i += 1 + n
	}
	return out.String()
}

var simpleEscapes = map[rune]rune{
	'\\': '\\', '\'': '\'', '"': '"', 'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v',
}

// escape writes what the escape after a backslash stands for and returns how many
// runes it took. An unknown escape keeps its backslash.
func escape(out *strings.Builder, rest []rune, bytes bool) (int, string) {
	c := rest[0]
	if r, ok := simpleEscapes[c]; ok {
		out.WriteRune(r)
		return 1, ""
	}
	switch {
	case c == '\n':
		return 1, ""
	case c >= '0' && c <= '7':
		n := 1
		for n < 3 && n < len(rest) && rest[n] >= '0' && rest[n] <= '7' {
			n++
		}
		v, _ := strconv.ParseUint(string(rest[:n]), 8, 32)
		writeCode(out, rune(v), bytes)
		return n, ""
	case c == 'x':
		return hexEscape(out, rest, 2, bytes)
	case c == 'u' && !bytes:
		return hexEscape(out, rest, 4, false)
	case c == 'U' && !bytes:
		return hexEscape(out, rest, 8, false)
	case c == 'N' && !bytes:
		return nameEscape(out, rest)
	}
	out.WriteByte('\\')
	return 0, ""
}

func hexEscape(out *strings.Builder, rest []rune, digits int, bytes bool) (int, string) {
	truncated := "a \\" + string(rest[0]) + " escape needs " + strconv.Itoa(digits) + " hexadecimal digits"
	if len(rest) < 1+digits {
		return 0, truncated
	}
	v, err := strconv.ParseUint(string(rest[1:1+digits]), 16, 32)
	if err != nil {
		return 0, truncated
	}
	if v > utf8.MaxRune {
		return 0, "a \\U escape is beyond the last Unicode character"
	}
	writeCode(out, rune(v), bytes)
	return 1 + digits, ""
}

func nameEscape(out *strings.Builder, rest []rune) (int, string) {
	const malformed = "a \\N escape needs a character name in braces"
	if len(rest) < 2 || rest[1] != '{' {
		return 0, malformed
	}
	for i := 2; i < len(rest); i++ {
		if rest[i] != '}' {
			continue
		}
		r, ok := runeNamed(string(rest[2:i]))
		if !ok {
			return 0, "unknown Unicode character name in a \\N escape"
		}
		out.WriteRune(r)
		return i + 1, ""
	}
	return 0, malformed
}

func writeCode(out *strings.Builder, r rune, bytes bool) {
	switch {
	case bytes:
		out.WriteByte(byte(r))
	case r >= 0xd800 && r <= 0xdfff:
		out.Write([]byte{0xe0 | byte(r>>12), 0x80 | byte(r>>6&0x3f), 0x80 | byte(r&0x3f)})
	default:
		out.WriteRune(r)
	}
}
