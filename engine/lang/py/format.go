package py

import (
	"math"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
)

// Format is one replacement field of an f-string: value, then conversion (0, 's', 'r'
// or 'a'), then the format specification (lang.md §5.10).
func Format(t *starlark.Thread, x starlark.Value, conv byte, spec string) (string, error) {
	switch conv {
	case 'r', 'a', 's':
		text, err := convert(t, x, conv)
		if err != nil || spec == "" {
			return text, err
		}
		x = starlark.String(text)
	default:
		if spec == "" {
			return Str(t, x)
		}
	}
	m := MeterOf(t)
	if err := m.Charge(out(digitRuns(spec))); err != nil {
		return "", err
	}
	switch x := x.(type) {
	case starlark.String, starlark.Int, starlark.Bool, starlark.Float:
		f, err := parseSpec(spec, TypeName(x))
		if err != nil {
			return "", err
		}
		if err := m.Alloc(satMul(satAdd(f.width, max(f.precision, 0)), 4)); err != nil {
			return "", err
		}
		return formatScalar(x, f)
	default:
		return "", TypeErrorf("unsupported format string passed to %s.__format__", TypeName(x))
	}
}

func convert(t *thread, x value, conv byte) (string, error) {
	switch conv {
	case 'r':
		return Repr(t, x)
	case 'a':
		return asciiRepr(t, x)
	default:
		return Str(t, x)
	}
}

// digitRuns is the sum of the numbers in a specification.
func digitRuns(spec string) int64 {
	total, run := int64(0), int64(0)
	for i := range len(spec) {
		if isDigit(spec[i]) {
			run = satAdd(satMul(run, 10), int64(spec[i]-'0'))
			continue
		}
		total, run = satAdd(total, run), 0
	}
	return satAdd(total, run)
}

// formatSpec is [[fill]align][sign][z][#][0][width][, or _][.precision][type].
type formatSpec struct {
	fill      string
	align     byte // '<', '>', '=', '^'; 0 = the type's own
	sign      byte // '+', '-', ' '; 0 = absent
	zero      bool // z
	alternate bool // #
	width     int64
	grouping  byte  // ',' or '_'; 0 = none
	precision int64 // -1 = absent
	kind      byte  // 0 = the type's own
}

func isAlign(c byte) bool { return c == '<' || c == '>' || c == '=' || c == '^' }

func parseSpec(spec, typeName string) (formatSpec, error) {
	f := formatSpec{fill: " ", precision: -1}
	rest, filled := f.parseAlign(spec)
	if rest != "" && strings.IndexByte("+- ", rest[0]) >= 0 {
		f.sign, rest = rest[0], rest[1:]
	}
	if strings.HasPrefix(rest, "z") {
		f.zero, rest = true, rest[1:]
	}
	if strings.HasPrefix(rest, "#") {
		f.alternate, rest = true, rest[1:]
	}
	if !filled && strings.HasPrefix(rest, "0") {
		f.fill, rest = "0", rest[1:]
		if f.align == 0 && typeName != "str" {
			f.align = '='
		}
	}
	var err error
	if f.width, rest, err = parseNumber(rest, 0); err != nil {
		return f, err
	}
	if rest != "" && (rest[0] == ',' || rest[0] == '_') {
		f.grouping, rest = rest[0], rest[1:]
		if rest != "" && (rest[0] == ',' || rest[0] == '_') {
			if rest[0] == f.grouping {
				return f, ValueErrorf("Cannot specify '%c' with '%c'.", rest[0], rest[0])
			}
			return f, ValueErrorf("Cannot specify both ',' and '_'.")
		}
	}
	if strings.HasPrefix(rest, ".") {
		if f.precision, rest, err = parseNumber(rest[1:], -1); err != nil {
			return f, err
		}
		if f.precision < 0 {
			return f, ValueErrorf("Format specifier missing precision")
		}
	}
	if len(rest) > 1 {
		return f, ValueErrorf("Invalid format specifier %s for object of type '%s'", shorten(quote(spec, quoteText)), typeName)
	}
	if rest != "" {
		f.kind = rest[0]
	}
	return f, f.checkGrouping()
}

// parseAlign reads [[fill]align] and says whether there was a fill.
func (f *formatSpec) parseAlign(spec string) (rest string, filled bool) {
	if spec == "" {
		return spec, false
	}
	_, n := decode(spec)
	if len(spec) > n && isAlign(spec[n]) {
		f.fill, f.align = spec[:n], spec[n]
		return spec[n+1:], true
	}
	if isAlign(spec[0]) {
		f.align = spec[0]
		return spec[1:], false
	}
	return spec, false
}

func parseNumber(s string, absent int64) (n int64, rest string, err error) {
	end := 0
	for end < len(s) && isDigit(s[end]) {
		end++
	}
	if end == 0 {
		return absent, s, nil
	}
	n, err = strconv.ParseInt(s[:end], 10, 64)
	if err != nil {
		return 0, s, ValueErrorf("Too many decimal digits in format string")
	}
	return n, s[end:], nil
}

func (f *formatSpec) checkGrouping() error {
	if f.grouping == 0 {
		return nil
	}
	allowed := "defgEFG%"
	if f.grouping == '_' {
		allowed += "boxX"
	}
	if f.kind != 0 && strings.IndexByte(allowed, f.kind) < 0 {
		return ValueErrorf("Cannot specify '%c' with '%c'.", f.grouping, f.kind)
	}
	return nil
}

func formatScalar(x value, f formatSpec) (string, error) {
	switch x := x.(type) {
	case starlark.String:
		return formatText(string(x), f)
	case starlark.Float:
		return formatFloat(float64(x), f, "float")
	default:
		i, _ := asInt(x)
		return formatInt(i, f, TypeName(x))
	}
}

func errFormatCode(kind byte, typeName string) error {
	return ValueErrorf("Unknown format code '%c' for object of type '%s'", kind, typeName)
}

func formatText(s string, f formatSpec) (string, error) {
	switch {
	case f.kind != 0 && f.kind != 's':
		return "", errFormatCode(f.kind, "str")
	case f.sign == ' ':
		return "", ValueErrorf("Space not allowed in string format specifier")
	case f.sign != 0:
		return "", ValueErrorf("Sign not allowed in string format specifier")
	case f.zero:
		return "", ValueErrorf("Negative zero coercion (z) not allowed in string format specifier")
	case f.alternate:
		return "", ValueErrorf("Alternate form (#) not allowed in string format specifier")
	case f.grouping != 0:
		return "", ValueErrorf("Cannot specify '%c' with 's'.", f.grouping)
	case f.align == '=':
		return "", ValueErrorf("'=' alignment not allowed in string format specifier")
	}
	index := indexText(s)
	if f.precision >= 0 && f.precision < int64(index.n) {
		s = index.slice(0, int(f.precision))
		index = indexText(s)
	}
	if f.align == 0 {
		f.align = '<'
	}
	return f.pad("", s, int64(index.n)), nil
}

// pad fills prefix and body, the latter of n code points, to the width. prefix is
// ASCII: a sign and a base.
func (f formatSpec) pad(prefix, body string, n int64) string {
	gap := f.width - n - int64(len(prefix))
	if gap <= 0 {
		return prefix + body
	}
	fill := func(n int64) string { return strings.Repeat(f.fill, int(n)) }
	switch f.align {
	case '<':
		return prefix + body + fill(gap)
	case '=':
		return prefix + fill(gap) + body
	case '^':
		return fill(gap/2) + prefix + body + fill(gap-gap/2)
	default:
		return fill(gap) + prefix + body
	}
}

func formatInt(i starlark.Int, f formatSpec, typeName string) (string, error) {
	switch f.kind {
	case 'e', 'E', 'f', 'F', 'g', 'G', '%':
		v, err := intFloat(i)
		if err != nil {
			return "", err
		}
		return formatFloat(v, f, typeName)
	case 0, 'b', 'c', 'd', 'n', 'o', 'x', 'X':
	default:
		return "", errFormatCode(f.kind, typeName)
	}
	if f.precision >= 0 {
		return "", ValueErrorf("Precision not allowed in integer format specifier")
	}
	if f.zero {
		return "", ValueErrorf("Negative zero coercion (z) not allowed in format specifier with integer presentation type")
	}
	if f.kind == 'c' {
		return formatCharacter(i, f)
	}
	digits, prefix, group := "", "", 3
	negative := i.Sign() < 0
	switch f.kind {
	case 'b', 'o', 'x', 'X':
		base := map[byte]int{'b': 2, 'o': 8, 'x': 16, 'X': 16}[f.kind]
		digits, group = strings.TrimPrefix(i.BigInt().Text(base), "-"), 4
		if f.alternate {
			prefix = "0" + string(f.kind)
		}
		if f.kind == 'X' {
			digits = strings.ToUpper(digits)
		}
	default:
		text, err := intText(i)
		if err != nil {
			return "", err
		}
		digits = strings.TrimPrefix(text, "-")
	}
	return f.number(f.signOf(negative)+prefix, digits, "", group), nil
}

func formatCharacter(i starlark.Int, f formatSpec) (string, error) {
	if f.sign != 0 {
		return "", ValueErrorf("Sign not allowed with integer format specifier 'c'")
	}
	if f.alternate {
		return "", ValueErrorf("Alternate form (#) not allowed with integer format specifier 'c'")
	}
	r, ok := i.Int64()
	if !ok || r < 0 || r > 0x10FFFF {
		return "", OverflowErrorf("%%c arg not in range(0x110000)")
	}
	return f.pad("", runeText(rune(r)), 1), nil
}

func (f formatSpec) signOf(negative bool) string {
	switch {
	case negative:
		return "-"
	case f.sign == '+' || f.sign == ' ':
		return string(f.sign)
	default:
		return ""
	}
}

// number puts together sign and base, grouped digits and what follows them. Zeros that
// fill the width are grouped as well.
func (f formatSpec) number(prefix, digits, rest string, group int) string {
	if f.grouping != 0 {
		least := int64(0)
		if f.fill == "0" && f.align == '=' {
			least = f.width - int64(len(prefix)) - int64(len(rest))
		}
		digits = groupDigits(digits, f.grouping, group, least)
	}
	if f.align == 0 {
		f.align = '>'
	}
	body := digits + rest
	return f.pad(prefix, body, int64(len(body)))
}

// groupDigits separates digits and puts zeros before them up to the least length.
func groupDigits(digits string, sep byte, group int, least int64) string {
	var reversed []byte
	for i := 0; i < len(digits) || int64(len(reversed)) < least; i++ {
		if i > 0 && i%group == 0 {
			reversed = append(reversed, sep)
			if i >= len(digits) && int64(len(reversed)) >= least {
				reversed = append(reversed, '0')
				break
			}
		}
		if i < len(digits) {
			reversed = append(reversed, digits[len(digits)-1-i])
		} else {
			reversed = append(reversed, '0')
		}
	}
	for i, j := 0, len(reversed)-1; i < j; i, j = i+1, j-1 {
		reversed[i], reversed[j] = reversed[j], reversed[i]
	}
	return string(reversed)
}

func formatFloat(v float64, f formatSpec, typeName string) (string, error) {
	switch f.kind {
	case 0, 'e', 'E', 'f', 'F', 'g', 'G', 'n', '%':
	default:
		return "", errFormatCode(f.kind, typeName)
	}
	percent := f.kind == '%'
	if percent {
		v *= 100
	}
	text := floatDigits(math.Abs(v), f)
	negative := math.Signbit(v) && !math.IsNaN(v)
	if f.zero && strings.Trim(text, "0.e+-") == "" {
		negative = false
	}
	if percent {
		text += "%"
	}
	whole, rest := text, ""
	if end := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		whole, rest = text[:end], text[end:]
	}
	if whole == "" { // inf and nan have no digits to group
		f.grouping = 0
	}
	return f.number(f.signOf(negative), whole, rest, 3), nil
}

// floatDigits is the text of a float without its sign.
func floatDigits(v float64, f formatSpec) string {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		text := floatText(v)
		if f.kind == 'E' || f.kind == 'F' || f.kind == 'G' {
			return strings.ToUpper(text)
		}
		return text
	}
	precision := int(min(f.precision, math.MaxInt32))
	switch f.kind {
	case 'e', 'E', 'f', 'F', '%':
		if precision < 0 {
			precision = 6
		}
		verb := f.kind
		if verb == 'F' || verb == '%' {
			verb = 'f'
		}
		text := strconv.FormatFloat(v, verb, precision, 64)
		if f.alternate && precision == 0 {
			text = withPoint(text)
		}
		return text
	case 0:
		if precision < 0 {
			text := floatText(v)
			if f.alternate && !strings.Contains(text, ".") {
				text = withPoint(text)
			}
			return text
		}
		return generalDigits(v, max(precision, 1), 'e', f.alternate, true)
	default:
		if precision < 0 {
			precision = 6
		}
		exponent := byte('e')
		if f.kind == 'G' {
			exponent = 'E'
		}
		return generalDigits(v, max(precision, 1), exponent, f.alternate, false)
	}
}

// generalDigits is the g form: so many significant digits, with an exponent when the
// number is too small or too large. alternate keeps trailing zeros; dotted is the form
// without a type, which reads as a float.
func generalDigits(v float64, precision int, exponent byte, alternate, dotted bool) string {
	scientific := strconv.FormatFloat(v, 'e', precision-1, 64)
	at := strings.IndexByte(scientific, 'e')
	exp, _ := strconv.Atoi(scientific[at+1:])
	limit := precision
	if dotted {
		limit--
	}
	if v != 0 && (exp < -4 || exp >= limit) || v == 0 && limit == 0 && dotted {
		mantissa := scientific[:at]
		if !alternate {
			mantissa = trimZeros(mantissa)
		} else {
			mantissa = withPoint(mantissa)
		}
		return mantissa + string(exponent) + scientific[at+1:]
	}
	text := strconv.FormatFloat(v, 'f', max(precision-1-exp, 0), 64)
	switch {
	case alternate:
		text = withPoint(text)
	case dotted:
		text = trimZeros(text)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
	default:
		text = trimZeros(text)
	}
	return text
}

func trimZeros(text string) string {
	if !strings.Contains(text, ".") {
		return text
	}
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// withPoint puts a decimal point behind the digits of a number that has none.
func withPoint(text string) string {
	if strings.Contains(text, ".") {
		return text
	}
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		return text[:at] + "." + text[at:]
	}
	return text + "."
}
