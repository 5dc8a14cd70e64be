package secrets

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

// Limits of one secret, in bytes.
const (
	maxName = 512
	// MaxValue of a secret: it has to fit into what a provider is called with.
	MaxValue = 64 << 10
)

// Provider is a place where secrets are (SC-2).
type Provider interface {
	Name() string
	// Resolve gives a value. Its error is a SecretsError that says why there is none, and
	// holds no value.
	Resolve(ctx context.Context, name string) (Text, error)
}

// Checker is a Provider that can say how it is without giving a value away.
type Checker interface {
	Check(ctx context.Context) Check
}

// Statuses of a check.
const (
	StatusOK   = "ok"
	StatusWarn = "warn"
	StatusFail = "fail"
	StatusSkip = "skip"
)

// Check is how a provider is.
type Check struct {
	Name   string // "secrets: PROVIDER"
	Status string
	Detail string
}

func checkOf(p Provider, status, detail string) Check {
	return Check{Name: "secrets: " + p.Name(), Status: status, Detail: detail}
}

// PerRun is a Provider that gives one consistent view to all of one run, and reads no
// more than that needs.
type PerRun interface {
	ForRun() Provider
}

// Registry routes handles to providers (SC-1). A Registry does not change.
type Registry struct {
	providers []Provider
	byDefault string
}

// NewRegistry takes the providers and which of them answers for a handle that names none;
// "" = the first. Without any provider no handle resolves.
func NewRegistry(byDefault string, providers ...Provider) (*Registry, error) {
	r := &Registry{byDefault: byDefault}
	for _, p := range providers {
		switch name := p.Name(); {
		case name == "":
			return nil, userErrorf("a secret provider has no name")
		case r.provider(name) != nil:
			return nil, userErrorf("there are two secret providers '%s'; remove one of them", sourcetree.Shown(name))
		}
		r.providers = append(r.providers, p)
	}
	switch {
	case byDefault != "" && r.provider(byDefault) == nil:
		return nil, r.unknown(byDefault)
	case byDefault == "" && len(providers) > 0:
		r.byDefault = providers[0].Name()
	}
	return r, nil
}

// Checks asks every provider, in the order in which they were given.
func (r *Registry) Checks(ctx context.Context) []Check {
	checks := make([]Check, len(r.providers))
	for i, p := range r.providers {
		checks[i] = checkedBy(ctx, p)
	}
	return checks
}

func checkedBy(ctx context.Context, p Provider) Check {
	if c, ok := p.(Checker); ok {
		return c.Check(ctx)
	}
	return checkOf(p, StatusSkip, "this provider has no check")
}

// Resolve gives the value that a handle names, as valid text of bounded size.
func (r *Registry) Resolve(ctx context.Context, ref model.SecretRef) (Text, error) {
	if err := checkName(ref.Name); err != nil {
		return Text{}, err
	}
	p, err := r.route(ref)
	if err != nil {
		return Text{}, err
	}
	value, err := p.Resolve(ctx, ref.Name)
	if err != nil {
		if _, typed := errors.AsType[*model.Error](err); !typed {
			err = model.Errorf(model.SecretsError, model.ClassUnknown, "secret provider '%s': %w", p.Name(), err)
		}
		return Text{}, err
	}
	return value, checkValue(ref.Name, value.Reveal())
}

func (r *Registry) route(ref model.SecretRef) (Provider, error) {
	name := ref.Provider
	if name == "" {
		name = r.byDefault
	}
	if p := r.provider(name); p != nil {
		return p, nil
	}
	return nil, r.unknown(name)
}

func (r *Registry) provider(name string) Provider {
	for _, p := range r.providers {
		if p.Name() == name {
			return p
		}
	}
	return nil
}

func (r *Registry) unknown(name string) error {
	if len(r.providers) == 0 {
		return userErrorf("there is no secret provider; configure one")
	}
	names := make([]string, len(r.providers))
	for i, p := range r.providers {
		names[i] = p.Name()
	}
	slices.Sort(names)
	return userErrorf("there is no secret provider '%s'; known: %s", sourcetree.Shown(name), strings.Join(names, ", "))
}

// forRun is the registry as one run sees it.
func (r *Registry) forRun() *Registry {
	view := &Registry{byDefault: r.byDefault, providers: slices.Clone(r.providers)}
	for i, p := range view.providers {
		if p, ok := p.(PerRun); ok {
			view.providers[i] = p.ForRun()
		}
	}
	return view
}

// checkName refuses what cannot be listed one a line.
func checkName(name string) error {
	switch {
	case name == "":
		return userErrorf("a secret has no name; give it one")
	case len(name) > maxName:
		return userErrorf("the name of a secret, '%s', is longer than %d bytes", sourcetree.Shown(name), maxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || 0x7f <= r && r < 0xa0 }):
		return userErrorf("the name of a secret, '%s', holds a control character or is not UTF-8", sourcetree.Shown(name))
	}
	return nil
}

func checkValue(name, value string) error {
	switch {
	case len(value) > MaxValue:
		return userErrorf("the value of the secret '%s' is longer than %d bytes", name, MaxValue)
	case !utf8.ValidString(value):
		return userErrorf("the value of the secret '%s' is not UTF-8 text; encode it, for instance as base64", name)
	}
	return nil
}

func userErrorf(format string, args ...any) *model.Error {
	return model.Errorf(model.SecretsError, model.ClassUser, format, args...)
}
