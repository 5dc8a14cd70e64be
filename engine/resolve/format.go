package resolve

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// field is a piece of a template: literal text, or an argument to be formatted.
type field struct {
	literal    string
	argument   int  // -1 for literal text
	conversion byte // 0, 's', 'r' or 'a'
	spec       string
}

// parseTemplate takes a template apart by Python's rules, as far as interpolate
// allows them (lang.md 12).
func parseTemplate(template string) ([]field, error) {
	var fields []field
	var literal strings.Builder
	automatic, next := true, 0
	for i := 0; i < len(template); i++ {
		c := template[i]
		if c != '{' && c != '}' {
			literal.WriteByte(c)
			continue
		}
		if i+1 < len(template) && template[i+1] == c {
			literal.WriteByte(c)
			i++
			continue
		}
		end := strings.IndexByte(template[i:], '}')
		if c == '}' || end < 0 {
			return nil, refused("template '%.60s' has a brace without its partner", template)
		}
		f, err := parseField(template[i+1 : i+end])
		if err != nil {
			return nil, err
		}
		if f.argument < 0 {
			f.argument = next
			next++
		} else {
			automatic = false
		}
		if next > 0 && !automatic {
			return nil, refused("template '%.60s' mixes {} and numbered fields", template)
		}
		fields = append(fields, field{literal: literal.String(), argument: -1}, f)
		literal.Reset()
		i += end
	}
	return append(fields, field{literal: literal.String(), argument: -1}), nil
}

// parseField reads what stands between braces; argument -1 means the next one.
func parseField(body string) (field, error) {
	head, spec, _ := strings.Cut(body, ":")
	name, conversion, converted := strings.Cut(head, "!")
	f := field{argument: -1, spec: spec}
	if strings.ContainsAny(spec, "{") {
		return f, refused("field '{%.40s}' nests another field in its format", body)
	}
	if converted {
		switch conversion {
		case "s", "r", "a":
			f.conversion = conversion[0]
		default:
			return f, refused("field '{%.40s}' has a conversion other than !s, !r and !a", body)
		}
	}
	if name == "" {
		return f, nil
	}
	n, err := strconv.ParseUint(name, 10, 31)
	if err != nil {
		return f, refused("field '{%.40s}' is neither {} nor a number", body)
	}
	f.argument = int(n)
	return f, nil
}

func (f field) format(v any) (string, error) {
	switch f.conversion {
	case 's':
		v = model.Text(v)
	case 'r':
		v = model.Repr(v)
	case 'a':
		v = ascii(model.Repr(v))
	}
	if f.spec == "" {
		return model.Text(v), nil
	}
	spec, err := parseSpec(f.spec)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case string:
		return spec.text(v)
	case bool:
		if v {
			return spec.integer(1)
		}
		return spec.integer(0)
	case int64:
		return spec.integer(v)
	case float64:
		return spec.float(v)
	}
	return "", refused("format '%s' does not apply to %s", f.spec, kind(v))
}

// spec is Python's format specification: [[fill]align][sign][#][0][width][,_][.precision][type].
type spec struct {
	source    string
	fill      rune
	align     byte // 0 = the default of the value's type
	sign      byte // 0, '+', '-' or ' '
	alternate bool
	width     int
	grouping  byte // 0, ',' or '_'
	precision int  // -1 = none
	verb      byte // 0 = none
}

func parseSpec(source string) (spec, error) {
	s := spec{source: source, fill: ' ', precision: -1}
	rest := source
	if first, size := utf8.DecodeRuneInString(rest); len(rest) > size && strings.IndexByte("<>^=", rest[size]) >= 0 {
		s.fill, s.align, rest = first, rest[size], rest[size+1:]
	} else if strings.IndexByte("<>^=", rest[0]) >= 0 {
		s.align, rest = rest[0], rest[1:]
	}
	if rest != "" && strings.IndexByte("+- ", rest[0]) >= 0 {
		s.sign, rest = rest[0], rest[1:]
	}
	if strings.HasPrefix(rest, "#") {
		s.alternate, rest = true, rest[1:]
	}
	if strings.HasPrefix(rest, "0") {
		rest = rest[1:]
		if s.align == 0 {
			s.fill, s.align = '0', '='
		}
	}
	s.width, rest = number(rest)
	if rest != "" && strings.IndexByte(",_", rest[0]) >= 0 {
		s.grouping, rest = rest[0], rest[1:]
	}
	if strings.HasPrefix(rest, ".") {
		before := rest[1:]
		if s.precision, rest = number(before); rest == before {
			return s, refused("format '%.40s' has no digits after its point", source)
		}
	}
	if len(rest) == 1 {
		s.verb, rest = rest[0], ""
	}
	if rest != "" || s.width > MaxText || s.precision > MaxText {
		return s, refused("format '%.40s' is not a format specification", source)
	}
	return s, nil
}

// number reads leading digits; what is too long for an int becomes too large.
func number(s string) (int, string) {
	n, i := 0, 0
	for ; i < len(s) && '0' <= s[i] && s[i] <= '9'; i++ {
		n = min(n*10+int(s[i]-'0'), MaxText+1)
	}
	return n, s[i:]
}

func (s spec) text(v string) (string, error) {
	zeroed := s.align == '=' && s.fill == '0' && !strings.Contains(s.source, "=")
	if s.verb != 0 && s.verb != 's' || s.sign != 0 || s.alternate || s.grouping != 0 || s.align == '=' && !zeroed {
		return "", refused("format '%.40s' does not apply to a text", s.source)
	}
	if s.precision >= 0 && utf8.RuneCountInString(v) > s.precision {
		v = string([]rune(v)[:s.precision])
	}
	if s.align == 0 || zeroed {
		s.align = '<'
	}
	return s.pad("", v), nil
}

func (s spec) integer(v int64) (string, error) {
	if s.verb != 0 && strings.IndexByte("eEfFgG%", s.verb) >= 0 {
		return s.float(float64(v))
	}
	base, prefix := 10, ""
	switch s.verb {
	case 0, 'd', 'n':
	case 'b':
		base, prefix = 2, "0b"
	case 'o':
		base, prefix = 8, "0o"
	case 'x', 'X':
		base, prefix = 16, "0"+string(s.verb)
	default:
		return "", refused("format '%.40s' does not apply to an integer", s.source)
	}
	if s.precision >= 0 {
		return "", refused("format '%.40s' gives an integer a precision", s.source)
	}
	digits := strings.TrimPrefix(strconv.FormatInt(v, base), "-")
	if s.verb == 'X' {
		digits = strings.ToUpper(digits)
	}
	if !s.alternate {
		prefix = ""
	}
	every := 3
	if base != 10 {
		every = 4
	}
	return s.signed(v < 0, prefix, group(digits, s.grouping, every)), nil
}

func (s spec) float(v float64) (string, error) {
	precision, verb := s.precision, s.verb
	suffix := ""
	switch verb {
	case 0:
		if precision < 0 {
			return s.signed(v < 0, "", strings.TrimPrefix(model.FloatText(v), "-")), nil
		}
		verb = 'g'
	case '%':
		v, verb, suffix = v*100, 'f', "%"
	case 'n':
		verb = 'g'
	}
	if strings.IndexByte("eEfFgG", verb) < 0 || s.alternate || precision > 1000 {
		return "", refused("format '%.40s' does not apply to a number", s.source)
	}
	if precision < 0 {
		precision = 6
	}
	if (verb == 'g' || verb == 'G') && precision == 0 {
		precision = 1
	}
	if verb == 'F' {
		verb = 'f'
	}
	digits := strings.TrimPrefix(strconv.FormatFloat(v, verb, precision, 64), "-")
	whole, fraction, pointed := strings.Cut(digits, ".")
	whole = group(whole, s.grouping, 3)
	if pointed {
		whole += "." + fraction
	}
	return s.signed(v < 0, "", whole+suffix), nil
}

func (s spec) signed(negative bool, prefix, digits string) string {
	switch {
	case negative:
		prefix = "-" + prefix
	case s.sign == '+' || s.sign == ' ':
		prefix = string(s.sign) + prefix
	}
	if s.align == 0 {
		s.align = '>'
	}
	return s.pad(prefix, digits)
}

func (s spec) pad(prefix, body string) string {
	missing := s.width - utf8.RuneCountInString(prefix) - utf8.RuneCountInString(body)
	if missing <= 0 {
		return prefix + body
	}
	fill := func(n int) string { return strings.Repeat(string(s.fill), n) }
	switch s.align {
	case '<':
		return prefix + body + fill(missing)
	case '^':
		return fill(missing/2) + prefix + body + fill(missing-missing/2)
	case '=':
		return prefix + fill(missing) + body
	default:
		return fill(missing) + prefix + body
	}
}

func group(digits string, separator byte, every int) string {
	if separator == 0 || len(digits) <= every {
		return digits
	}
	var b strings.Builder
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%every == 0 {
			b.WriteByte(separator)
		}
		b.WriteByte(digits[i])
	}
	return b.String()
}
