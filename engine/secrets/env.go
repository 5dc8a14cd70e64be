package secrets

import (
	"context"
	"fmt"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/graph"
)

// EnvName is the name of the provider that reads variables of the process.
const EnvName = "env"

// Limits of the list of what may be read.
const (
	maxPatterns    = 1000
	maxPatternSize = 256
)

// Env reads variables of the process, as far as a pattern allows the whole name (SC-4).
// It is for a command line only: in a process that serves others it would give them what
// is its own.
type Env struct {
	allow  []string
	lookup func(name string) (string, bool)
}

// NewEnv takes the patterns of [secrets.env] allow, in the form of shell wildcards where
// case counts, and the way to look a variable up.
func NewEnv(allow []string, lookup func(name string) (string, bool)) (*Env, error) {
	if len(allow) > maxPatterns {
		return nil, userErrorf("[secrets.env] 'allow' has %d patterns; at most %d are allowed", len(allow), maxPatterns)
	}
	for i, pattern := range allow {
		if pattern == "" || len(pattern) > maxPatternSize {
			return nil, userErrorf("[secrets.env] 'allow': pattern %d has to be a text of 1 to %d bytes", i+1, maxPatternSize)
		}
	}
	return &Env{allow: slices.Clone(allow), lookup: lookup}, nil
}

// Name is EnvName.
func (e *Env) Name() string { return EnvName }

// Resolve refuses what is not allowed before it looks.
func (e *Env) Resolve(_ context.Context, name string) (Text, error) {
	if !slices.ContainsFunc(e.allow, func(pattern string) bool { return graph.GlobMatches(pattern, name) }) {
		return Text{}, userErrorf("the environment variable '%s' may not be read; add a pattern for it to 'allow' in [secrets.env]", name)
	}
	value, ok := e.lookup(name)
	if !ok {
		return Text{}, userErrorf("the environment variable '%s' is not set", name)
	}
	return NewText(value), nil
}

// Check looks at the list alone.
func (e *Env) Check(context.Context) Check {
	if len(e.allow) == 0 {
		return checkOf(e, StatusWarn, "nothing may be read: 'allow' in [secrets.env] is empty")
	}
	return checkOf(e, StatusOK, fmt.Sprintf("%d patterns allow variables", len(e.allow)))
}
