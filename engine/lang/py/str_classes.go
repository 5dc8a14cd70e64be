package py

import (
	"unicode"
)

func allRunes(is func(rune) bool) func(string) bool {
	return func(s string) bool {
		for rest := s; rest != ""; {
			r, n := decode(rest)
			if !is(r) {
				return false
			}
			rest = rest[n:]
		}
		return s != ""
	}
}

func isAlpha(r rune) bool     { return unicode.IsLetter(r) }
func isDecimal(r rune) bool   { return unicode.Is(unicode.Nd, r) }
func isDigitRune(r rune) bool { return isDecimal(r) || unicode.Is(otherDigits, r) }
func isNumeric(r rune) bool   { return unicode.IsNumber(r) || unicode.Is(ideographNumbers, r) }
func isAlnum(r rune) bool     { return isAlpha(r) || isNumeric(r) }

// isSpace is whitespace as split and strip see it: the separators and the controls
// that Unicode's bidirectional classes count as such.
func isSpace(r rune) bool {
	switch {
	case r <= ' ':
		return r == ' ' || r >= '\t' && r <= '\r' || r >= 0x1C && r <= 0x1F
	case r < 0x1680:
		return r == 0x85 || r == 0xA0
	default:
		return unicode.Is(unicode.Zs, r) || r == 0x2028 || r == 0x2029
	}
}

func isIdentifier(s string) bool {
	for i, r := range s {
		if !isNameStart(r) && (i == 0 || !isNamePart(r)) {
			return false
		}
	}
	return s != ""
}

func isNameStart(r rune) bool {
	return r == '_' || (unicode.In(r, unicode.L, unicode.Nl, unicode.Other_ID_Start)) && !unicode.Is(notNameStart, r)
}

func isNamePart(r rune) bool {
	return unicode.In(r, unicode.L, unicode.Nl, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc,
		unicode.Other_ID_Start, unicode.Other_ID_Continue) && !unicode.Is(notNamePart, r)
}

// Characters whose numeric type is Digit without being decimal digits.
var otherDigits = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x00B2, 0x00B3, 1}, {0x00B9, 0x00B9, 1}, {0x1369, 0x1371, 1}, {0x19DA, 0x19DA, 1},
		{0x2070, 0x2070, 1}, {0x2074, 0x2079, 1}, {0x2080, 0x2089, 1}, {0x2460, 0x2468, 1},
		{0x2474, 0x247C, 1}, {0x2488, 0x2490, 1}, {0x24EA, 0x24EA, 1}, {0x24F5, 0x24FD, 1},
		{0x24FF, 0x24FF, 1}, {0x2776, 0x277E, 1}, {0x2780, 0x2788, 1}, {0x278A, 0x2792, 1},
	},
	R32: []unicode.Range32{
		{0x10A40, 0x10A43, 1}, {0x10E60, 0x10E68, 1}, {0x11052, 0x1105A, 1}, {0x1F100, 0x1F10A, 1},
	},
	LatinOffset: 2,
}

// Letters with a numeric value.
var ideographNumbers = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x3405, 0x3405, 1}, {0x3483, 0x3483, 1}, {0x382A, 0x382A, 1}, {0x3B4D, 0x3B4D, 1},
		{0x4E00, 0x4E00, 1}, {0x4E03, 0x4E03, 1}, {0x4E07, 0x4E07, 1}, {0x4E09, 0x4E09, 1},
		{0x4E5D, 0x4E5D, 1}, {0x4E8C, 0x4E8C, 1}, {0x4E94, 0x4E94, 1}, {0x4E96, 0x4E96, 1},
		{0x4EBF, 0x4EC0, 1}, {0x4EDF, 0x4EDF, 1}, {0x4EE8, 0x4EE8, 1}, {0x4F0D, 0x4F0D, 1},
		{0x4F70, 0x4F70, 1}, {0x5104, 0x5104, 1}, {0x5146, 0x5146, 1}, {0x5169, 0x5169, 1},
		{0x516B, 0x516B, 1}, {0x516D, 0x516D, 1}, {0x5341, 0x5341, 1}, {0x5343, 0x5345, 1},
		{0x534C, 0x534C, 1}, {0x53C1, 0x53C4, 1}, {0x56DB, 0x56DB, 1}, {0x58F1, 0x58F1, 1},
		{0x58F9, 0x58F9, 1}, {0x5E7A, 0x5E7A, 1}, {0x5EFE, 0x5EFF, 1}, {0x5F0C, 0x5F0E, 1},
		{0x5F10, 0x5F10, 1}, {0x62FE, 0x62FE, 1}, {0x634C, 0x634C, 1}, {0x67D2, 0x67D2, 1},
		{0x6F06, 0x6F06, 1}, {0x7396, 0x7396, 1}, {0x767E, 0x767E, 1}, {0x8086, 0x8086, 1},
		{0x842C, 0x842C, 1}, {0x8CAE, 0x8CAE, 1}, {0x8CB3, 0x8CB3, 1}, {0x8D30, 0x8D30, 1},
		{0x9621, 0x9621, 1}, {0x9646, 0x9646, 1}, {0x964C, 0x964C, 1}, {0x9678, 0x9678, 1},
		{0x96F6, 0x96F6, 1}, {0xF96B, 0xF96B, 1}, {0xF973, 0xF973, 1}, {0xF978, 0xF978, 1},
		{0xF9B2, 0xF9B2, 1}, {0xF9D1, 0xF9D1, 1}, {0xF9D3, 0xF9D3, 1}, {0xF9FD, 0xF9FD, 1},
	},
	R32: []unicode.Range32{
		{0x20001, 0x20001, 1}, {0x20064, 0x20064, 1}, {0x200E2, 0x200E2, 1}, {0x20121, 0x20121, 1},
		{0x2092A, 0x2092A, 1}, {0x20983, 0x20983, 1}, {0x2098C, 0x2098C, 1}, {0x2099C, 0x2099C, 1},
		{0x20AEA, 0x20AEA, 1}, {0x20AFD, 0x20AFD, 1}, {0x20B19, 0x20B19, 1}, {0x22390, 0x22390, 1},
		{0x22998, 0x22998, 1}, {0x23B1B, 0x23B1B, 1}, {0x2626D, 0x2626D, 1}, {0x2F890, 0x2F890, 1},
	},
}

// Characters that are no name start, or no name part, because their compatibility
// form is none (Unicode's XID properties).
var (
	notNamePart = &unicode.RangeTable{R16: []unicode.Range16{
		{0x037A, 0x037A, 1}, {0x2E2F, 0x2E2F, 1}, {0x309B, 0x309C, 1}, {0xFC5E, 0xFC63, 1},
		{0xFDFA, 0xFDFB, 1}, {0xFE70, 0xFE7E, 2},
	}}
	notNameStart = &unicode.RangeTable{R16: []unicode.Range16{
		{0x037A, 0x037A, 1}, {0x0E33, 0x0E33, 1}, {0x0EB3, 0x0EB3, 1}, {0x2E2F, 0x2E2F, 1},
		{0x309B, 0x309C, 1}, {0xFC5E, 0xFC63, 1}, {0xFDFA, 0xFDFB, 1}, {0xFE70, 0xFE7E, 2},
		{0xFF9E, 0xFF9F, 1},
	}}
)
