package syntax

import (
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// isNameRune reports whether c may stand in an identifier (XID_Start when first,
// else XID_Continue).
func isNameRune(c rune, first bool) bool {
	if !idContinue(c) || first && !idStart(c) {
		return false
	}
	// The X of XID: what normalisation makes of the rune must still be such a text.
	for i, r := range norm.NFKC.String(string(c)) {
		if !idContinue(r) || first && i == 0 && !idStart(r) {
			return false
		}
	}
	return true
}

func idStart(c rune) bool {
	return c == '_' || unicode.In(c, unicode.L, unicode.Nl, unicode.Other_ID_Start) &&
		!unicode.In(c, unicode.Pattern_Syntax, unicode.Pattern_White_Space)
}

func idContinue(c rune) bool {
	return idStart(c) || unicode.In(c, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue) &&
		!unicode.In(c, unicode.Pattern_Syntax, unicode.Pattern_White_Space)
}

func normalise(name string) string { return norm.NFKC.String(name) }
