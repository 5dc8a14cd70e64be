package policy

import (
	"context"
	"errors"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// demand is a binding or a rule at work on one plan.
type demand struct {
	name, level, digest string
	at                  model.Place // of the enforce(); zero when unknown
	applies             func(c *Change) bool
	bind                func() (Check, error)
	check               Check // nil until the first change that it applies to
	violated            bool
}

func ofBinding(b ir.PolicyBinding) (*demand, error) {
	digest, err := b.Digest()
	if err != nil {
		return nil, model.Errorf(model.PolicyConfigError, model.ClassUser, "policy '%s': its parameters cannot be stored: %w", cut(b.Name, maxShown), err)
	}
	return &demand{
		name: b.Name, level: b.Level, digest: digest, at: b.At,
		applies: func(c *Change) bool { return b.Types == nil || slices.Contains(b.Types, c.Type) },
		bind:    func() (Check, error) { return bind(b.Name, b.Level, b.Params) },
	}, nil
}

// ofType are the demands that the type of a change itself binds.
func ofType(types map[string][]*demand, c *Change) ([]*demand, error) {
	if c.Schema == nil || len(c.Schema.Policies) == 0 {
		return nil, nil
	}
	if own, ok := types[c.Type]; ok {
		return own, nil
	}
	own := make([]*demand, len(c.Schema.Policies))
	for i, b := range c.Schema.Policies {
		var err error
		if own[i], err = ofBinding(ir.PolicyBinding{Name: b.Name, Level: b.Level, Types: []string{c.Type}, Params: b.Params}); err != nil {
			return nil, err
		}
	}
	types[c.Type] = own
	return own, nil
}

func ofRule(r *Rule) *demand {
	return &demand{
		name: r.Name, level: r.Level, digest: r.digest,
		applies: r.applies,
		bind:    func() (Check, error) { return r.Policy(r.Name, r.Params) },
	}
}

func (d *demand) judge(ctx context.Context, c *Change, found *violations) error {
	if !d.applies(c) {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.check == nil {
		var err error
		if d.check, err = d.bind(); err != nil {
			return d.located(err)
		}
	}
	message, err := d.check(ctx, c)
	if err != nil || message == "" {
		return err
	}
	d.violated = true
	found.add(Violation{Policy: d.name, Level: d.level, NodeID: c.NodeID, Message: cut(message, maxMessage)})
	return nil
}

// located is the error of a binding, at its place.
func (d *demand) located(err error) error {
	e, ok := errors.AsType[*model.Error](err)
	if !ok || e.Line > 0 {
		return err
	}
	at := *e
	at.File, at.Line, at.Col, at.EndLine, at.EndCol, at.Source = d.at.File, d.at.Line, d.at.Col, d.at.EndLine, d.at.EndCol, d.at.Source
	return &at
}

// bind finds a policy by its name. A level that is neither is refused, since it would
// not block.
func bind(name, level string, params map[string]any) (Check, error) {
	if err := validLevel(name, level); err != nil {
		return nil, err
	}
	policy := builtins()[name]
	if policy == nil {
		err := model.Errorf(model.RegistryError, model.ClassUser, "nothing defines the policy '%s'; there are %s", cut(name, maxShown), joined(Names()))
		err.Hint = model.DidYouMean(name, Names())
		return nil, err
	}
	return policy(name, params)
}

func validLevel(name, level string) error {
	if level != Mandatory && level != Advisory {
		return configError(name, "its level must be '%s' or '%s', not %s", Mandatory, Advisory, model.Repr(level))
	}
	return nil
}
