package pytext

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// MaxIntDigits bounds the conversion between an int and decimal text (lang.md §5.4).
const MaxIntDigits = 4300

// IntText is the decimal text of an int.
func IntText(i *big.Int) (string, error) {
	if i.IsInt64() {
		return strconv.FormatInt(i.Int64(), 10), nil
	}
	if i.BitLen() > MaxIntDigits*4 { // a digit has less than four bits
		return "", TooManyDigits()
	}
	text := i.String()
	if len(strings.TrimPrefix(text, "-")) > MaxIntDigits {
		return "", TooManyDigits()
	}
	return text, nil
}

// TooManyDigits is the error of an int that is too large for decimal text.
func TooManyDigits() error {
	return valueErrorf("exceeds the limit (%d digits) for integer string conversion", MaxIntDigits)
}

// DecimalDigit is the value of a decimal digit of any script; they come in runs of ten.
func DecimalDigit(r rune) (int, bool) {
	if r < utf8.RuneSelf {
		return int(r - '0'), '0' <= r && r <= '9'
	}
	for _, r16 := range unicode.Nd.R16 {
		if r >= rune(r16.Lo) && r <= rune(r16.Hi) {
			return int(r-rune(r16.Lo)) % 10, true
		}
	}
	for _, r32 := range unicode.Nd.R32 {
		if r >= rune(r32.Lo) && r <= rune(r32.Hi) {
			return int(r-rune(r32.Lo)) % 10, true
		}
	}
	return 0, false
}

// IntFloat is the float that is nearest to an int.
func IntFloat(i *big.Int) (float64, error) {
	f, _ := new(big.Float).SetInt(i).Float64()
	if math.IsInf(f, 0) {
		return 0, overflowErrorf("int too large to convert to float")
	}
	return f, nil
}

// Float formats a float, or an int of type typeName in a float's form.
func (f Spec) Float(v float64, typeName string) (string, error) {
	switch f.Kind {
	case 0, 'e', 'E', 'f', 'F', 'g', 'G', 'n', '%':
	default:
		return "", unknownCode(f.Kind, typeName)
	}
	percent := f.Kind == '%'
	if percent {
		v *= 100
	}
	text := f.floatDigits(math.Abs(v))
	negative := math.Signbit(v) && !math.IsNaN(v)
	if f.Zero && strings.Trim(text, "0.eE+-") == "" {
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
		f.Grouping = 0
	}
	return f.Number(f.SignOf(negative), whole, rest, 3), nil
}

// floatDigits is the text of a float without its sign.
func (f Spec) floatDigits(v float64) string {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		text := model.FloatText(v)
		if f.Kind == 'E' || f.Kind == 'F' || f.Kind == 'G' {
			return strings.ToUpper(text)
		}
		return text
	}
	precision := int(min(f.Precision, math.MaxInt32))
	switch f.Kind {
	case 'e', 'E', 'f', 'F', '%':
		if precision < 0 {
			precision = 6
		}
		verb := f.Kind
		if verb == 'F' || verb == '%' {
			verb = 'f'
		}
		text := strconv.FormatFloat(v, verb, precision, 64)
		if f.Alternate && precision == 0 {
			text = withPoint(text)
		}
		return text
	case 0:
		if precision < 0 {
			text := model.FloatText(v)
			if f.Alternate && !strings.Contains(text, ".") {
				text = withPoint(text)
			}
			return text
		}
		return generalDigits(v, max(precision, 1), 'e', f.Alternate, true)
	default:
		if precision < 0 {
			precision = 6
		}
		exponent := byte('e')
		if f.Kind == 'G' {
			exponent = 'E'
		}
		return generalDigits(v, max(precision, 1), exponent, f.Alternate, false)
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
