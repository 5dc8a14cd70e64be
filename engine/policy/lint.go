package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// parameters are what a built-in policy reads; whatever else a binding gives is ignored.
func parameters(policy string) []string {
	switch policy {
	case RequireTags:
		return []string{"keys"}
	case DenyDestroy, DenyDestroyAlias:
		return []string{"stacks"}
	default:
		return nil
	}
}

// maxLints bounds what one config is warned of.
const maxLints = 100

// linter collects what is odd about bindings.
type linter struct {
	types []string // all that providers have
	known map[string]bool
	found []model.Diagnostic
}

// Lint warns of bindings that judge nothing, or not what their author meant: of a policy
// that nobody defines, of a parameter that the policy ignores, of a type that no provider
// has. They are errors only once a change comes up that they apply to, or never (PL-12),
// so that a misspelt binding would let everything pass unseen.
func Lint(bindings []ir.PolicyBinding, schemas *model.Schemas) []model.Diagnostic {
	if len(bindings) == 0 {
		return nil
	}
	l := linter{known: map[string]bool{}}
	for _, p := range schemas.Providers() {
		for _, t := range p.Types {
			l.types = append(l.types, t.Name)
			l.known[t.Name] = true
		}
	}
	for i := range bindings {
		b := &bindings[i]
		if builtins()[b.Name] == nil {
			l.warn(b, model.DidYouMean(b.Name, Names()), "nothing defines the policy '%s'; there are %s", cut(b.Name, maxShown), joined(Names()))
		} else {
			l.lintParams(b)
		}
		l.lintTypes(b)
		if l.full() {
			break
		}
	}
	return l.found
}

func (l *linter) full() bool { return len(l.found) >= maxLints }

func (l *linter) warn(b *ir.PolicyBinding, hint, format string, args ...any) {
	if !l.full() {
		l.found = append(l.found, model.Diagnostic{
			Place: b.At, Code: model.PolicyWithoutEffect, Severity: model.SeverityWarning,
			Message: fmt.Sprintf(format, args...), Hint: hint,
		})
	}
}

func (l *linter) lintParams(b *ir.PolicyBinding) {
	taken := parameters(b.Name)
	reads := "it reads none"
	if len(taken) > 0 {
		reads = "it reads " + joined(taken)
	}
	ignored := false
	for _, name := range slices.Sorted(maps.Keys(b.Params)) {
		if l.full() {
			return
		}
		if !slices.Contains(taken, name) {
			ignored = true
			l.warn(b, model.DidYouMean(name, taken), "the policy '%s' ignores the parameter '%s'; %s", b.Name, cut(name, maxShown), reads)
		}
	}
	if _, given := b.Params["stacks"]; !given && !ignored && slices.Contains(taken, "stacks") {
		l.warn(b, "name the stacks to protect: stacks=[…]", "the policy '%s' protects no stack without 'stacks'", b.Name)
	}
}

func (l *linter) lintTypes(b *ir.PolicyBinding) {
	for _, name := range b.Types {
		if l.full() {
			return
		}
		if !l.known[name] {
			l.warn(b, l.typeMeant(name), "the policy '%s' is bound to the type '%s', which no provider has, so that it judges none of that type",
				cut(b.Name, maxShown), cut(name, maxShown))
		}
	}
}

// typeMeant is the type that a name is near, or whose class it is, or is near, without the
// provider.
func (l *linter) typeMeant(name string) string {
	if hint := model.DidYouMean(name, l.types); hint != "" {
		return hint
	}
	classes := make([]string, len(l.types))
	for i, full := range l.types {
		_, classes[i], _ = strings.Cut(full, ".")
	}
	class := name
	if near := model.Nearest(name, classes); near != "" {
		class = near
	}
	if i := slices.Index(classes, class); i >= 0 {
		return "did you mean '" + l.types[i] + "'?"
	}
	return "a type is written as 'provider.Class'"
}
