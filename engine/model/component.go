package model

import "regexp"

var (
	componentAlias  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)
	componentCommit = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
)

// ValidAlias reports whether text can be the alias of a component: a letter, then letters,
// digits and '_', as many as a name has at most.
func ValidAlias(text string) bool { return len(text) <= MaxName && componentAlias.MatchString(text) }

// ValidCommit reports whether text is a commit of git, in either of its lengths.
func ValidCommit(text string) bool { return componentCommit.MatchString(text) }
