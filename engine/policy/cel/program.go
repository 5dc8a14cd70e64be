package cel

import (
	"context"
	"errors"
	"slices"
	"strings"

	celgo "cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/policy"
)

// program is a compiled rule.
type program struct {
	source  Source
	budget  uint64 // of one plan
	allowed celgo.Program
	message celgo.Program // nil = the standard message
}

// session is a rule at work on one plan.
type session struct {
	*program
	params ref.Val
	spent  uint64
}

const (
	// maxMessage bounds what a rule says of a change, and maxExcerpt how much of the
	// expression the standard message shows; in code points.
	maxMessage = 500
	maxExcerpt = 120
)

func (p *program) bind(_ string, params map[string]any) (policy.Check, error) {
	if params == nil {
		params = map[string]any{}
	}
	s := &session{program: p, params: valueOf(params)}
	return s.check, nil
}

// check is the verdict on a change. Only the caller's context ends the plan; everything
// that goes wrong in the rule is a violation.
func (s *session) check(ctx context.Context, c *policy.Change) (string, error) {
	if s.spent > s.budget {
		return c.NodeID + ": the rule was not evaluated, since it has cost as much as it may in one plan", nil
	}
	input := &activation{change: &changeValue{Change: c}, params: s.params}
	result, err := s.run(ctx, s.allowed, input)
	if cause := ctx.Err(); cause != nil {
		return "", cause
	}
	if err != nil {
		return c.NodeID + ": the rule cannot be evaluated: " + shorten(err.Error(), maxMessage), nil
	}
	switch result := result.(type) {
	case types.Bool:
		if result == types.True {
			return "", nil
		}
	case *types.Unknown:
		return c.NodeID + ": the rule rests on a value that is " + strings.Join(slices.Compact(slices.Sorted(slices.Values(reasons(result)))), " or "), nil
	default:
		return c.NodeID + ": the rule gives neither true nor false", nil
	}
	message, err := s.say(ctx, input)
	return c.NodeID + ": " + message, err
}

// say is the rule's own message, the standard one where there is none that can be told.
func (s *session) say(ctx context.Context, input *activation) (string, error) {
	standard := "the rule is not met: " + shorten(strings.Join(strings.Fields(s.source.Expression), " "), maxExcerpt)
	if s.message == nil {
		return standard, nil
	}
	if result, err := s.run(ctx, s.message, input); err == nil {
		if text, ok := result.(types.String); ok && strings.TrimSpace(string(text)) != "" {
			return shorten(string(text), maxMessage), nil
		}
	}
	return standard, ctx.Err()
}

// errCost is told in place of the library's error, which names no way out.
var errCost = errors.New("it costs more than one evaluation may; compare fewer or smaller values")

func (s *session) run(ctx context.Context, p celgo.Program, input *activation) (ref.Val, error) {
	input.work, input.look, input.done = 0, 0, ctx.Done()
	result, _, err := p.Eval(input)
	s.spent += input.work
	if err != nil && isCancelled(err) {
		return nil, errCost
	}
	return result, err
}

// activation is what an evaluation reads, and the meter of its work.
type activation struct {
	change     *changeValue
	params     ref.Val
	work, look uint64 // done, and at which the context is looked at next
	done       <-chan struct{}
}

// nameMeter is no identifier, so that no expression can read it.
const nameMeter = "@meter"

func (a *activation) ResolveName(name string) (any, bool) {
	switch name {
	case varChange:
		return a.change, true
	case varParams:
		return a.params, true
	case nameMeter:
		return a, true
	default:
		return nil, false
	}
}

func (a *activation) Parent() celgo.Activation { return nil }

// shorten makes a text fit to be shown: at most limit code points, none of which a
// terminal would act on.
func shorten(text string, limit int) string {
	runes := []rune(model.Printable(text))
	if len(runes) <= limit {
		return string(runes)
	}
	return string(runes[:limit-1]) + "…"
}
