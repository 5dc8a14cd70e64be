package py

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// The casers keep state while they map, so each use makes its own.

func lower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return cases.Lower(language.Und).String(s)
}

func upper(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	return cases.Upper(language.Und).String(s)
}

func casefold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	if !strings.ContainsFunc(s, isCherokeeCapital) {
		return cases.Fold().String(s)
	}
	// Cherokee folds to its capitals; the library folds them to small letters.
	return mapRuns(s, func(c string, _ bool) (string, bool) {
		if r, _ := decode(c); isCherokeeCapital(r) {
			return c, false
		}
		return cases.Fold().String(c), false
	})
}

func isCherokeeCapital(r rune) bool { return r >= 0x13A0 && r <= 0x13F5 }

func titleRune(c string) string {
	if isASCII(c) {
		return strings.ToUpper(c)
	}
	return cases.Title(language.Und, cases.NoLower).String(c)
}

func capitalize(s string) string {
	if s == "" {
		return s
	}
	_, n := decode(s)
	// The whole text is lowered, because a final sigma depends on what precedes it.
	first, all := lower(s[:n]), lower(s)
	return titleRune(s[:n]) + strings.TrimPrefix(all, first)
}

// title is the title case of what follows an uncased character, and lower case of
// what follows a cased one.
func title(s string) string {
	return mapRuns(s, func(c string, afterCased bool) (string, bool) {
		if afterCased {
			return "", true
		}
		return titleRune(c), false
	})
}

func swapcase(s string) string {
	return mapRuns(s, func(c string, _ bool) (string, bool) {
		r, _ := decode(c)
		switch {
		case isUpper(r):
			return "", true
		case isLower(r):
			return upper(c), false
		default:
			return c, false
		}
	})
}

// mapRuns maps character by character; where pick asks for it, a character is taken
// from its lower case in its place.
func mapRuns(s string, pick func(c string, afterCased bool) (mapped string, lowered bool)) string {
	var b strings.Builder
	cased := false
	for at := 0; at < len(s); {
		r, n := decode(s[at:])
		c := s[at : at+n]
		mapped, lowered := pick(c, cased)
		if lowered {
			mapped = lowerAt(s, at, n, r)
		}
		b.WriteString(mapped)
		cased = isCased(r)
		at += n
	}
	return b.String()
}

// lowerAt is the lower case of the character at at; a capital sigma at the end of a
// word has a form of its own.
func lowerAt(s string, at, n int, r rune) string {
	if r != 'Σ' {
		return lower(s[at : at+n])
	}
	before := strings.TrimRightFunc(s[:at], isCaseIgnorable)
	after := strings.TrimLeftFunc(s[at+n:], isCaseIgnorable)
	last, _ := decodeLast(before)
	if before == "" || !isCased(last) {
		return "σ"
	}
	if after != "" {
		if next, _ := decode(after); isCased(next) {
			return "σ"
		}
	}
	return "ς"
}

func isCaseIgnorable(r rune) bool {
	switch r {
	case '\'', '.', ':', '·', '’', '^', '`', '¨', '\u00AD', '´', '¸':
		return true
	}
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}

func isLower(r rune) bool { return unicode.IsLower(r) || unicode.Is(unicode.Other_Lowercase, r) }
func isUpper(r rune) bool { return unicode.IsUpper(r) || unicode.Is(unicode.Other_Uppercase, r) }
func isCased(r rune) bool { return isLower(r) || isUpper(r) || unicode.Is(unicode.Lt, r) }

func isLowerText(s string) bool {
	found := false
	for _, r := range runesOf(s) {
		if isUpper(r) || unicode.Is(unicode.Lt, r) {
			return false
		}
		found = found || isLower(r)
	}
	return found
}

func isUpperText(s string) bool {
	found := false
	for _, r := range runesOf(s) {
		if isLower(r) || unicode.Is(unicode.Lt, r) {
			return false
		}
		found = found || isUpper(r)
	}
	return found
}

func isTitleText(s string) bool {
	cased, found := false, false
	for _, r := range runesOf(s) {
		switch {
		case isUpper(r) || unicode.Is(unicode.Lt, r):
			if cased {
				return false
			}
			cased, found = true, true
		case isLower(r):
			if !cased {
				return false
			}
			found = true
		default:
			cased = false
		}
	}
	return found
}
