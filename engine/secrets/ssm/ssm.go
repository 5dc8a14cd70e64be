// Package ssm owns the secret provider that reads parameters of the AWS Systems Manager
// Parameter Store (SC-5): what a name means there, and what each of its answers means to
// who asked for a secret.
//
// Of AWS it needs one call. It must never know a store of state, a lock or Kubernetes, and
// never write: parameters are made elsewhere. No error of it holds a value, nor anything
// else that came with an answer but AWS's own code and message.
package ssm

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
	"github.com/atlantide-org/atlantide-operator/engine/secrets"
)

// Name is the name of the provider.
const Name = "ssm"

// API is what is called of AWS.
type API interface {
	GetParameter(ctx context.Context, in *ssm.GetParameterInput, options ...func(*ssm.Options)) (*ssm.GetParameterOutput, error)
}

// Connect makes ready to call: it finds a region and credentials. The region is for
// messages; "" = it is not said.
type Connect func(ctx context.Context) (api API, region string, err error)

// Provider resolves a name to the parameter "{prefix}{name}", decrypted.
type Provider struct {
	prefix  string
	connect Connect
}

// New connects when the first parameter is asked for, once in a run.
func New(prefix string, connect Connect) *Provider {
	return &Provider{prefix: prefix, connect: connect}
}

// Name is Name.
func (p *Provider) Name() string { return Name }

// Resolve connects and reads one parameter.
func (p *Provider) Resolve(ctx context.Context, name string) (secrets.Text, error) {
	return p.ForRun().Resolve(ctx, name)
}

// ForRun connects once: what is said of region and credentials, also that there are none,
// holds for the run. Values are remembered by the session.
func (p *Provider) ForRun() secrets.Provider { return p.view() }

func (p *Provider) view() *view { return &view{Provider: p, turn: make(chan struct{}, 1)} }

// probe is a name that nobody gives a parameter.
const probe = "atlantide-check-that-no-parameter-has-this-name"

// Check asks for a parameter that is not there: who may be told so may read.
func (p *Provider) Check(ctx context.Context) secrets.Check {
	check := secrets.Check{Name: "secrets: " + Name, Status: secrets.StatusOK}
	v := p.view()
	_, err := v.parameter(ctx, p.prefix+probe)
	if err != nil && !isNotFound(err) {
		check.Status, check.Detail = secrets.StatusFail, v.failure(ctx, p.prefix+probe, err).Error()
		return check
	}
	check.Detail = "the parameter store" + v.place() + " answers"
	if p.prefix != "" {
		check.Detail += fmt.Sprintf("; names begin with '%s' there", sourcetree.Shown(p.prefix))
	}
	return check
}

// view is the provider within one run.
type view struct {
	*Provider
	turn chan struct{} // held by who connects

	connected bool
	api       API
	region    string
	err       error
}

// Resolve reads one parameter.
func (v *view) Resolve(ctx context.Context, name string) (secrets.Text, error) {
	path := v.prefix + name
	found, err := v.parameter(ctx, path)
	if err != nil {
		return secrets.Text{}, v.failure(ctx, path, err)
	}
	if found.Type == types.ParameterTypeStringList {
		return secrets.Text{}, userErrorf("the parameter '%s' is a StringList, not one text; make one parameter of each value, or a SecureString of all of them",
			sourcetree.Shown(path))
	}
	return secrets.NewText(*found.Value), nil
}

// parameter is the one of a path. Its error is AWS's own.
func (v *view) parameter(ctx context.Context, path string) (*types.Parameter, error) {
	if err := v.ready(ctx); err != nil {
		return nil, err
	}
	out, err := v.api.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String(path), WithDecryption: aws.Bool(true)})
	if err != nil {
		return nil, err
	}
	if out.Parameter == nil || out.Parameter.Value == nil {
		return nil, errUnreadable
	}
	return out.Parameter, nil
}

// ready connects, unless that was done. What was interrupted is done again.
func (v *view) ready(ctx context.Context) error {
	select {
	case v.turn <- struct{}{}:
		defer func() { <-v.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if v.connected {
		return v.err
	}
	api, region, err := v.connect(ctx)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	v.connected, v.api, v.region, v.err = true, api, region, err
	return err
}

// place is where the store is, for a message.
func (v *view) place() string {
	if v.region == "" {
		return ""
	}
	return " of " + v.region
}
