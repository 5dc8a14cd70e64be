package model

import (
	"unicode"
	"unicode/utf8"
)

// Excerpt is the offending line as far as it fits into width code points, cut around
// the column, and how many code points of it stand before that column. What a terminal
// would act on, tabs included, becomes one space each, so that a caret stays below its
// character.
func (e *Error) Excerpt(width int) (line string, before int) {
	runes := []rune(e.Source)
	for i, r := range runes {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			runes[i] = ' '
		}
	}
	before = min(max(e.Col-1, 0), len(runes))
	if len(runes) <= width {
		return string(runes), before
	}
	from := min(max(before-width/2, 0), len(runes)-width)
	line = string(runes[from : from+width])
	before -= from
	if from > 0 {
		line, before = "…"+line, before+1
	}
	if from+width < len(runes) {
		line += "…"
	}
	return line, before
}
