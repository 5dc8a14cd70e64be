package pytext

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Spec is a format specification: [[fill]align][sign][z][#][0][width][, or _][.precision][type].
type Spec struct {
	Fill      string // one code point
	Align     byte   // '<', '>', '=', '^'; 0 = the type's own
	Sign      byte   // '+', '-', ' '; 0 = absent
	Zero      bool   // z: no negative zero
	Alternate bool   // #
	Width     int64
	Grouping  byte  // ',' or '_'; 0 = none
	Precision int64 // -1 = absent
	Kind      byte  // 0 = the type's own
}

// ParseSpec reads the specification of a value of a Python type: "str", "int", "bool"
// or "float".
func ParseSpec(spec, typeName string) (Spec, error) {
	f := Spec{Fill: " ", Precision: -1}
	rest, filled := f.parseAlign(spec)
	if rest != "" && strings.IndexByte("+- ", rest[0]) >= 0 {
		f.Sign, rest = rest[0], rest[1:]
	}
	if strings.HasPrefix(rest, "z") {
		f.Zero, rest = true, rest[1:]
	}
	if strings.HasPrefix(rest, "#") {
		f.Alternate, rest = true, rest[1:]
	}
	if !filled && strings.HasPrefix(rest, "0") {
		f.Fill, rest = "0", rest[1:]
		if f.Align == 0 && typeName != "str" {
			f.Align = '='
		}
	}
	var err error
	if f.Width, rest, err = specNumber(rest, 0); err != nil {
		return f, err
	}
	if rest, err = f.parseGrouping(rest); err != nil {
		return f, err
	}
	if strings.HasPrefix(rest, ".") {
		if f.Precision, rest, err = specNumber(rest[1:], -1); err != nil {
			return f, err
		}
		if f.Precision < 0 {
			return f, valueErrorf("Format specifier missing precision")
		}
	}
	if len(rest) > 1 {
		return f, valueErrorf("Invalid format specifier %s for object of type '%s'", shown(spec), typeName)
	}
	if rest != "" {
		f.Kind = rest[0]
	}
	err = f.checkGrouping()
	return f, err
}

// parseAlign reads [[fill]align] and says whether there was a fill.
func (f *Spec) parseAlign(spec string) (rest string, filled bool) {
	if spec == "" {
		return spec, false
	}
	_, n := DecodeRune(spec)
	if len(spec) > n && isAlign(spec[n]) {
		f.Fill, f.Align = spec[:n], spec[n]
		return spec[n+1:], true
	}
	if isAlign(spec[0]) {
		f.Align = spec[0]
		return spec[1:], false
	}
	return spec, false
}

func isAlign(c byte) bool { return c == '<' || c == '>' || c == '=' || c == '^' }

// specNumber is ParseNumber for the digits of every script, as a width and a precision
// may be written.
func specNumber(s string, absent int64) (n int64, rest string, err error) {
	n, rest, err = ParseNumber(s, absent)
	if err != nil || rest == "" || rest[0] < utf8.RuneSelf {
		return n, rest, err
	}
	var digits []byte
	for rest = s; rest != ""; {
		r, size := DecodeRune(rest)
		d, ok := DecimalDigit(r)
		if !ok {
			break
		}
		digits = append(digits, byte('0'+d))
		rest = rest[size:]
	}
	n, _, err = ParseNumber(string(digits), absent)
	return n, rest, err
}

// ParseNumber reads leading digits; absent without any.
func ParseNumber(s string, absent int64) (n int64, rest string, err error) {
	end := 0
	for end < len(s) && '0' <= s[end] && s[end] <= '9' {
		end++
	}
	if end == 0 {
		return absent, s, nil
	}
	n, err = strconv.ParseInt(s[:end], 10, 64)
	if err != nil {
		return 0, s, valueErrorf("Too many decimal digits in format string")
	}
	return n, s[end:], nil
}

func (f *Spec) parseGrouping(rest string) (string, error) {
	if rest == "" || rest[0] != ',' && rest[0] != '_' {
		return rest, nil
	}
	f.Grouping, rest = rest[0], rest[1:]
	switch {
	case rest == "" || rest[0] != ',' && rest[0] != '_':
		return rest, nil
	case rest[0] == f.Grouping:
		return rest, valueErrorf("Cannot specify '%c' with '%c'.", rest[0], rest[0])
	default:
		return rest, valueErrorf("Cannot specify both ',' and '_'.")
	}
}

func (f *Spec) checkGrouping() error {
	if f.Grouping == 0 {
		return nil
	}
	allowed := "defgEFG%"
	if f.Grouping == '_' {
		allowed += "boxX"
	}
	if f.Kind != 0 && strings.IndexByte(allowed, f.Kind) < 0 {
		return valueErrorf("Cannot specify '%c' with '%c'.", f.Grouping, f.Kind)
	}
	return nil
}

// shownLength is how much of a text a message shows, in code points (lang.md §1).
const shownLength = 200

func shown(text string) string {
	quoted := model.Repr(text)
	if short, n := Prefix(quoted, shownLength); n == shownLength && len(short) < len(quoted) {
		return short + "..."
	}
	return quoted
}
