package py

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/model/pytext"
)

func intText(i starlark.Int) (string, error) {
	if small, ok := i.Int64(); ok {
		return strconv.FormatInt(small, 10), nil
	}
	return pytext.IntText(i.BigInt())
}

// parseInt reads a text as int(text, base) does. base 0 takes the prefix's.
func parseInt(t *thread, text string, base int) (starlark.Int, error) {
	bad := func() (starlark.Int, error) {
		return starlark.Int{}, ValueErrorf("invalid literal for int() with base %d: %s", base, shorten(quote(text, quoteText)))
	}
	s, ok := asciiDigits(trimNumber(text))
	if !ok || s == "" {
		return bad()
	}
	negative := s[0] == '-'
	if s[0] == '-' || s[0] == '+' {
		s = s[1:]
	}
	radix, s, prefixed := intRadix(s, base)
	if radix == 0 {
		return bad()
	}
	digits, ok := joinDigits(s, prefixed)
	if !ok {
		return bad()
	}
	if base == 0 && !prefixed && len(digits) > 1 && digits[0] == '0' && strings.Trim(digits, "0") != "" {
		return bad()
	}
	if radix&(radix-1) != 0 && len(strings.TrimLeft(digits, "0")) > pytext.MaxIntDigits {
		return starlark.Int{}, pytext.TooManyDigits()
	}
	m := MeterOf(t)
	if err := m.Charge(int64(len(digits)) / 16); err != nil {
		return starlark.Int{}, err
	}
	if int64(len(digits))*6 > maxIntBits*8 {
		return starlark.Int{}, m.chargeInt(infinite)
	}
	i, ok := new(big.Int).SetString(digits, radix)
	if !ok {
		return bad()
	}
	if negative {
		i.Neg(i)
	}
	n := starlark.MakeBigInt(i)
	return n, m.number(n)
}

// trimNumber removes the whitespace around a number. In a text of ASCII the separators
// U+001C to U+001F are none.
func trimNumber(text string) string {
	if isASCII(text) {
		return strings.Trim(text, " \t\n\v\f\r")
	}
	return strings.TrimFunc(text, isSpace)
}

// intRadix is the radix of a text without sign, and the text without its prefix.
func intRadix(s string, base int) (radix int, rest string, prefixed bool) {
	radix = base
	if len(s) >= 2 && s[0] == '0' {
		found := 0
		switch s[1] {
		case 'x', 'X':
			found = 16
		case 'o', 'O':
			found = 8
		case 'b', 'B':
			found = 2
		}
		if found != 0 && (base == 0 || base == found) {
			return found, s[2:], true
		}
	}
	if radix == 0 {
		radix = 10
	}
	return radix, s, false
}

// joinDigits removes single underscores between digits, and directly after a prefix.
func joinDigits(s string, prefixed bool) (string, bool) {
	if prefixed {
		s = strings.TrimPrefix(s, "_")
	}
	if s == "" || s[0] == '_' || s[len(s)-1] == '_' || strings.Contains(s, "__") || s[0] == '+' || s[0] == '-' {
		return "", false
	}
	return strings.ReplaceAll(s, "_", ""), true
}

// asciiDigits writes every decimal digit of Unicode as its ASCII digit; other
// characters outside ASCII are no part of a number.
func asciiDigits(s string) (string, bool) {
	if isASCII(s) {
		return s, true
	}
	b := make([]byte, 0, len(s))
	for len(s) > 0 {
		r, size := decode(s)
		s = s[size:]
		if r < 0x80 {
			b = append(b, byte(r))
			continue
		}
		d, ok := pytext.DecimalDigit(r)
		if !ok {
			return "", false
		}
		b = append(b, byte('0'+d))
	}
	return string(b), true
}

// parseFloat reads a text as float(text) does.
func parseFloat(text string) (float64, error) {
	bad := ValueErrorf("could not convert string to float: %s", shorten(quote(text, quoteText)))
	s, ok := asciiDigits(trimNumber(text))
	if !ok || s == "" {
		return 0, bad
	}
	if strings.Contains(s, "_") {
		for i := range len(s) {
			if s[i] == '_' && (i == 0 || i == len(s)-1 || !isDigit(s[i-1]) || !isDigit(s[i+1])) {
				return 0, bad
			}
		}
		s = strings.ReplaceAll(s, "_", "")
	}
	switch strings.ToLower(strings.TrimLeft(s, "+-")) {
	case "inf", "infinity", "nan":
		if len(s)-len(strings.TrimLeft(s, "+-")) > 1 {
			return 0, bad
		}
		f, err := strconv.ParseFloat(s, 64)
		if err != nil { // a signed nan
			f = math.NaN()
		}
		return f, nil
	}
	if strings.ContainsAny(s, "xXpPnNiI") {
		return 0, bad
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, bad
	}
	return f, nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// floatInt is the int a float truncates to.
func floatInt(f float64) (starlark.Int, error) {
	switch {
	case math.IsNaN(f):
		return starlark.Int{}, ValueErrorf("cannot convert float NaN to integer")
	case math.IsInf(f, 0):
		return starlark.Int{}, OverflowErrorf("cannot convert float infinity to integer")
	}
	if f > -(1<<62) && f < 1<<62 {
		return starlark.MakeInt64(int64(f)), nil
	}
	i, _ := new(big.Float).SetFloat64(f).Int(nil)
	return starlark.MakeBigInt(i), nil
}

// roundFloat rounds to n decimal places, half to even on the exact binary value.
func roundFloat(f float64, n int64) (float64, error) {
	switch {
	case math.IsNaN(f), math.IsInf(f, 0), f == 0, n > 330:
		return f, nil
	case n < -310:
		return math.Copysign(0, f), nil
	case n >= 0:
		rounded, err := strconv.ParseFloat(strconv.FormatFloat(f, 'f', int(n), 64), 64)
		if err != nil {
			return 0, OverflowErrorf("rounded value too large to represent")
		}
		return rounded, nil
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(-n), nil)
	whole, fraction := math.Modf(math.Abs(f))
	exact, _ := new(big.Float).SetFloat64(whole).Int(nil)
	q, rest := exact.DivMod(exact, scale, new(big.Int))
	if half := rest.Lsh(rest, 1).Cmp(scale); half > 0 || half == 0 && (fraction != 0 || q.Bit(0) == 1) {
		q.Add(q, big.NewInt(1))
	}
	rounded, _ := new(big.Float).SetInt(q.Mul(q, scale)).Float64()
	rounded = math.Copysign(rounded, f)
	if math.IsInf(rounded, 0) {
		return 0, OverflowErrorf("rounded value too large to represent")
	}
	if rounded == 0 {
		return math.Copysign(0, f), nil
	}
	return rounded, nil
}
