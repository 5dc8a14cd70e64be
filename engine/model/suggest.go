package model

import (
	"unicode"
	"unicode/utf8"
)

// DidYouMean is the hint for a name that none of candidates is: "did you mean 'x'?", or
// "" when none is near.
func DidYouMean(name string, candidates []string) string {
	if near := Nearest(name, candidates); near != "" {
		return "did you mean '" + near + "'?"
	}
	return ""
}

const (
	// maxSuggested bounds the length of names that are compared, in code points.
	maxSuggested = 256
	// maxCompared bounds the names of about the right length, in bytes together; with
	// more there is no suggestion.
	maxCompared = 2 << 20
	// maxEdits is the most that a suggestion may differ by.
	maxEdits = 3
)

// Nearest is the candidate that takes the fewest edits to become name, "" when none is
// near or name is one of them: one edit for every three characters of name, three at most. An edit is a
// character inserted, left out, replaced, or swapped with its neighbour; upper and lower
// case count as equal. Of equally near ones it is the one with fewer characters of
// another spelling, then the first in order of code points, wherever it stands in the list.
func Nearest(name string, candidates []string) string {
	if utf8.RuneCountInString(name) > maxSuggested {
		return ""
	}
	exact := []rune(name)
	typed := folded(exact)
	limit := min(len(typed)/3, maxEdits)
	shortest, longest, total := len(typed)-limit, utf8.UTFMax*(len(typed)+limit), 0
	for _, candidate := range candidates {
		if candidate == name {
			return ""
		}
		if shortest <= len(candidate) && len(candidate) <= longest {
			total += len(candidate)
		}
	}
	if total > maxCompared {
		return ""
	}
	best, bestOther := "", 0
	for _, candidate := range candidates {
		if len(candidate) < shortest || len(candidate) > longest {
			continue
		}
		spelled := []rune(candidate)
		if len(spelled) == 0 || len(spelled) > maxSuggested {
			continue
		}
		edits := distance(typed, folded(spelled), limit)
		if edits > limit {
			continue
		}
		other := differing(exact, spelled)
		if best == "" || edits < limit || other < bestOther || other == bestOther && candidate < best {
			best, bestOther, limit = candidate, other, edits
		}
	}
	return best
}

func folded(runes []rune) []rune {
	out := make([]rune, len(runes))
	for i, r := range runes {
		out[i] = unicode.ToLower(r)
	}
	return out
}

// differing counts the places at which two texts have other characters.
func differing(a, b []rune) int {
	n := 0
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// distance counts the edits between two texts (Damerau-Levenshtein, no character edited
// twice), limit+1 when they are more than limit. It looks at no more than 2·limit+1
// characters of b for each of a.
func distance(a, b []rune, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	far := limit + 1
	var rows [3][maxSuggested + 1]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = min(j, far)
	}
	for i := 1; i <= len(a); i++ {
		from, to := max(1, i-limit), min(len(b), i+limit)
		row[0] = min(i, far)
		if from > 1 {
			row[from-1] = far
		}
		nearest := row[from-1]
		for j := from; j <= to; j++ {
			edits := last[j-1]
			if a[i-1] != b[j-1] {
				edits++
			}
			if j < i+limit { // above it is outside of the band
				edits = min(edits, last[j]+1)
			}
			edits = min(edits, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				edits = min(edits, before[j-2]+1)
			}
			row[j] = min(edits, far)
			nearest = min(nearest, row[j])
		}
		if nearest > limit {
			return far
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
