package graph

import (
	"math"
	"unicode/utf8"
)

// glob is a pattern of shell wildcards over a whole text (GR-20): '*' is any run of
// characters, colons, dots and slashes included, '?' one character, '[seq]' one of a
// set, '[!seq]' one outside of it. Nothing escapes, '^' stands for itself, and so does
// a '[' that nothing closes.
type glob []element

type element struct {
	kind    elementKind
	literal rune
	ranges  []runeRange
}

type elementKind int

const (
	literal elementKind = iota
	anyRun
	anyOne
	oneOf
	noneOf
)

type runeRange struct{ low, high rune }

func parseGlob(pattern string) glob {
	text := []rune(pattern)
	var g glob
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '*':
			if len(g) == 0 || g[len(g)-1].kind != anyRun {
				g = append(g, element{kind: anyRun})
			}
		case '?':
			g = append(g, element{kind: anyOne})
		case '[':
			class, end := parseClass(text, i)
			g = append(g, class)
			i = end
		default:
			g = append(g, element{literal: text[i]})
		}
	}
	return g
}

// parseClass reads the class that begins at start and returns where it ends. A ']' that
// comes first is a member.
func parseClass(text []rune, start int) (element, int) {
	first := start + 1
	kind := oneOf
	if first < len(text) && text[first] == '!' {
		kind = noneOf
		first++
	}
	end := first
	if end < len(text) && text[end] == ']' {
		end++
	}
	for end < len(text) && text[end] != ']' {
		end++
	}
	if end == len(text) {
		return element{literal: '['}, start
	}
	class := element{kind: kind}
	for i := first; i < end; i++ {
		member := runeRange{text[i], text[i]}
		if i+2 < end && text[i+1] == '-' {
			member.high = text[i+2]
			i += 2
		}
		class.ranges = append(class.ranges, member) // one that runs backwards holds nothing
	}
	return class, end
}

// matches reports whether the glob matches the whole text.
func (g glob) matches(text string) bool {
	steps := math.MaxInt
	return g.matchesWithin(text, &steps)
}

// matchesWithin goes back to the last '*' alone, so that the work is bounded by the product
// of the two lengths. Each comparison takes a step, and one more for
// every member of a class; with none left nothing matches.
func (g glob) matchesWithin(text string, steps *int) bool {
	at, pos := 0, 0
	star, from := -1, 0
	left := *steps
	defer func() { *steps = left }()
	for pos < len(text) {
		left--
		if at < len(g) {
			left -= len(g[at].ranges)
		}
		if left <= 0 {
			return false
		}
		r, size := rune(text[pos]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[pos:])
		}
		switch {
		case at < len(g) && g[at].kind == anyRun:
			star, from = at, pos
			at++
		case at < len(g) && g[at].holds(r):
			at++
			pos += size
		case star >= 0:
			_, skipped := utf8.DecodeRuneInString(text[from:])
			from += skipped
			at, pos = star+1, from
		default:
			return false
		}
	}
	for at < len(g) && g[at].kind == anyRun {
		at++
	}
	return at == len(g)
}

func (e *element) holds(r rune) bool {
	switch e.kind {
	case literal:
		return e.literal == r
	case anyOne:
		return true
	case oneOf, noneOf:
		for _, member := range e.ranges {
			if member.low <= r && r <= member.high {
				return e.kind == oneOf
			}
		}
		return e.kind == noneOf
	}
	return false
}

// GlobMatches reports whether a pattern of shell wildcards matches the whole text, as the
// patterns of a selection do (GR-20).
func GlobMatches(pattern, text string) bool { return parseGlob(pattern).matches(text) }
