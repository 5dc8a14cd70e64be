package graph

import (
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Limits of a selection: every pattern is tried on every id.
const (
	maxPatterns = 1_000
	maxPattern  = 1_024 // bytes
	// maxSteps bounds the comparisons of all patterns with all ids together: a glob may
	// need the product of its length and that of an id.
	maxSteps = 1 << 28
)

// Select resolves patterns to those of known that they match, sorted and distinct. A
// pattern is an exact id, else an id of the default stack without that stack's name,
// else a glob over whole ids and short ids (GR-19, GR-20). One that matches nothing is
// a TargetError (GR-21). known is sorted.
func Select(patterns, known []string) ([]string, error) {
	if len(patterns) > maxPatterns {
		return nil, targetError("%d patterns are given, and %d is the most; use fewer, wider ones", len(patterns), maxPatterns)
	}
	selected := make(map[string]bool, len(patterns))
	steps := maxSteps
	for _, pattern := range patterns {
		if len(pattern) > maxPattern {
			return nil, targetError("the pattern '%.40s…' is longer than %d characters; name the resource by its id", pattern, maxPattern)
		}
		matched := match(pattern, known, &steps)
		if steps <= 0 {
			return nil, targetError("the patterns take too long to compare with %d ids, at '%.40s'; use fewer '*', or name resources by their ids", len(known), pattern)
		}
		if len(matched) == 0 {
			return nil, unmatched(pattern, known)
		}
		for _, id := range matched {
			selected[id] = true
		}
	}
	ids := make([]string, 0, len(selected))
	for id := range selected {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, nil
}

// match takes what it needs from steps, and gives up when there are none left.
func match(pattern string, known []string, steps *int) []string {
	for _, id := range []string{pattern, model.DefaultStack + ":" + pattern} {
		if _, found := slices.BinarySearch(known, id); found {
			return []string{id}
		}
	}
	g := parseGlob(pattern)
	var matched []string
	for _, id := range known {
		if short := model.ShortID(id); g.matchesWithin(id, steps) || short != id && g.matchesWithin(short, steps) {
			matched = append(matched, id)
		}
		if *steps <= 0 {
			return nil
		}
	}
	return matched
}

func unmatched(pattern string, known []string) error {
	if len(known) == 0 {
		return targetError("'%s' matches nothing: neither the config nor the state has a resource", pattern)
	}
	err := targetError("'%s' matches no resource", pattern)
	if err.Hint = model.DidYouMean(pattern, known); err.Hint == "" {
		example := known[0]
		err.Hint = "name a resource by its id ('" + example + "'), its short form ('" + model.ShortID(example) +
			"') or a glob ('" + example[:strings.LastIndexByte(example, ':')+1] + "*')"
	}
	return err
}

func targetError(format string, args ...any) *model.Error {
	return model.Errorf(model.TargetError, model.ClassUser, format, args...)
}
