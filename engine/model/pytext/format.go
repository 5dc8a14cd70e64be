package pytext

import (
	"math/big"
	"strings"
)

// Text formats a str.
func (f Spec) Text(s string) (string, error) {
	switch {
	case f.Kind != 0 && f.Kind != 's':
		return "", unknownCode(f.Kind, "str")
	case f.Sign == ' ':
		return "", valueErrorf("Space not allowed in string format specifier")
	case f.Sign != 0:
		return "", valueErrorf("Sign not allowed in string format specifier")
	case f.Zero:
		return "", valueErrorf("Negative zero coercion (z) not allowed in string format specifier")
	case f.Alternate:
		return "", valueErrorf("Alternate form (#) not allowed in string format specifier")
	case f.Grouping != 0:
		return "", valueErrorf("Cannot specify '%c' with 's'.", f.Grouping)
	case f.Align == '=':
		return "", valueErrorf("'=' alignment not allowed in string format specifier")
	}
	if f.Align == 0 {
		f.Align = '<'
	}
	return f.Cut(s), nil
}

// Cut is s cut to the precision, then filled to the width.
func (f Spec) Cut(s string) string {
	if f.Precision >= 0 && f.Precision < int64(len(s)) {
		s, _ = Prefix(s, f.Precision)
	}
	return f.Pad("", s, Len(s))
}

// Pad fills prefix and body, the latter of n code points, to the width. prefix is
// ASCII: a sign and a base.
func (f Spec) Pad(prefix, body string, n int64) string {
	gap := f.Width - n - int64(len(prefix))
	if gap <= 0 {
		return prefix + body
	}
	fill := func(n int64) string { return strings.Repeat(f.Fill, int(n)) }
	switch f.Align {
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

// Int formats an int or, as typeName then says, a bool.
func (f Spec) Int(i *big.Int, typeName string) (string, error) {
	switch f.Kind {
	case 'e', 'E', 'f', 'F', 'g', 'G', '%':
		v, err := IntFloat(i)
		if err != nil {
			return "", err
		}
		return f.Float(v, typeName)
	case 0, 'b', 'c', 'd', 'n', 'o', 'x', 'X':
	default:
		return "", unknownCode(f.Kind, typeName)
	}
	if f.Precision >= 0 {
		return "", valueErrorf("Precision not allowed in integer format specifier")
	}
	if f.Zero {
		return "", valueErrorf("Negative zero coercion (z) not allowed in format specifier with integer presentation type")
	}
	if f.Kind == 'c' {
		return f.character(i)
	}
	prefix, digits, err := f.Digits(i)
	if err != nil {
		return "", err
	}
	group := 3
	if strings.IndexByte("boxX", f.Kind) >= 0 {
		group = 4
	}
	return f.Number(f.SignOf(i.Sign() < 0)+prefix, digits, "", group), nil
}

// Digits are the digits of an int without its sign, in the base of the kind, and the
// prefix of the base in the alternate form.
func (f Spec) Digits(i *big.Int) (prefix, digits string, err error) {
	switch f.Kind {
	case 'b', 'o', 'x', 'X':
		base := map[byte]int{'b': 2, 'o': 8, 'x': 16, 'X': 16}[f.Kind]
		digits = strings.TrimPrefix(i.Text(base), "-")
		if f.Alternate {
			prefix = "0" + string(f.Kind)
		}
		if f.Kind == 'X' {
			digits = strings.ToUpper(digits)
		}
		return prefix, digits, nil
	default:
		digits, err = IntText(i)
		return "", strings.TrimPrefix(digits, "-"), err
	}
}

func (f Spec) character(i *big.Int) (string, error) {
	if f.Sign != 0 {
		return "", valueErrorf("Sign not allowed with integer format specifier 'c'")
	}
	if f.Alternate {
		return "", valueErrorf("Alternate form (#) not allowed with integer format specifier 'c'")
	}
	text, err := Character(i)
	if err != nil {
		return "", err
	}
	return f.Pad("", text, 1), nil
}

// Character is the text of one code point by its number.
func Character(i *big.Int) (string, error) {
	if !i.IsInt64() || i.Int64() < 0 || i.Int64() > 0x10FFFF {
		return "", overflowErrorf("%%c arg not in range(0x110000)")
	}
	return string(AppendRune(nil, rune(i.Int64()))), nil
}

// SignOf is the sign that is written for a number.
func (f Spec) SignOf(negative bool) string {
	switch {
	case negative:
		return "-"
	case f.Sign == '+' || f.Sign == ' ':
		return string(f.Sign)
	default:
		return ""
	}
}

// Number puts together sign and base, grouped digits and what follows them. Zeros that
// fill the width are grouped as well.
func (f Spec) Number(prefix, digits, rest string, group int) string {
	if f.Grouping != 0 {
		least := int64(0)
		if f.Fill == "0" && f.Align == '=' {
			least = f.Width - int64(len(prefix)) - int64(len(rest))
		}
		digits = groupDigits(digits, f.Grouping, group, least)
	}
	if f.Align == 0 {
		f.Align = '>'
	}
	body := digits + rest
	return f.Pad(prefix, body, int64(len(body)))
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

func unknownCode(kind byte, typeName string) error {
	return valueErrorf("Unknown format code '%c' for object of type '%s'", kind, typeName)
}
