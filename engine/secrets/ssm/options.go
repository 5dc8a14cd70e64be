package ssm

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/smithy-go"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

// Options are the settings of the provider (SC-6). What is absent is what AWS's own
// variables and files say.
type Options struct {
	Prefix   string // put before every name as it is, as in "/app/prod/"
	Region   string
	Profile  string // of AWS's own configuration files
	Endpoint string // URL of what is called in place of AWS
}

// Bounds of one call (SC-5) and of what is read of its answer.
const (
	connectTimeout = 10 * time.Second
	readTimeout    = 120 * time.Second
	attempts       = 3
	maxAnswer      = 1 << 20 // bytes; a parameter has 8 KiB at most
)

// maxPrefix is how long a prefix may be, in bytes: no parameter has a longer name.
const maxPrefix = 2048

var regionForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// FromOptions is the provider over AWS. It reads no file and calls nothing before the first
// parameter is asked for.
func FromOptions(o Options) (*Provider, error) {
	switch {
	case len(o.Prefix) > maxPrefix:
		return nil, userErrorf("[secrets] 'prefix' is longer than %d bytes", maxPrefix)
	case o.Region != "" && !regionForm.MatchString(o.Region):
		return nil, userErrorf("[secrets] 'region' is no name of a region: '%s'; write it as in eu-west-1", sourcetree.Shown(o.Region))
	case o.Endpoint != "" && !isEndpoint(o.Endpoint):
		return nil, userErrorf("[secrets] 'endpoint' has to be the URL of a server, as in https://ssm.example.com, without user or path")
	}
	return New(o.Prefix, o.connect(nil)), nil
}

// isEndpoint refuses also what would make a secret of the URL itself.
func isEndpoint(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && u.User == nil &&
		(u.Path == "" || u.Path == "/") && u.RawQuery == "" && u.Fragment == ""
}

// connect finds region and credentials. transport is what requests go through; nil = the
// network. further settings win over those of load.
func (o Options) connect(transport aws.HTTPClient, further ...func(*config.LoadOptions) error) Connect {
	return func(ctx context.Context) (API, string, error) {
		cfg, err := config.LoadDefaultConfig(ctx, append(o.load(), further...)...)
		if err != nil {
			return nil, "", userErrorf("the AWS configuration for the secret provider '%s' cannot be used: %s; mend it, or 'profile' in [secrets]", Name, reason(err))
		}
		if cfg.Region == "" {
			return nil, "", userErrorf("no region is set for the secret provider '%s'; set 'region' in [secrets], or AWS_REGION", Name)
		}
		if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
			return nil, "", noCredentials(err)
		}
		return ssm.NewFromConfig(cfg, func(so *ssm.Options) {
			if transport != nil {
				so.HTTPClient = transport
			}
			so.HTTPClient = bounded{so.HTTPClient}
			if o.Endpoint != "" {
				so.BaseEndpoint = aws.String(o.Endpoint)
			}
		}), cfg.Region, nil
	}
}

// load is what AWS's own variables and files do not decide.
func (o Options) load() []func(*config.LoadOptions) error {
	client := awshttp.NewBuildableClient().WithReadTimeout(readTimeout).
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = connectTimeout }).
		WithTransportOptions(func(t *http.Transport) { t.TLSHandshakeTimeout = connectTimeout })
	load := []func(*config.LoadOptions) error{
		config.WithHTTPClient(client), config.WithRetryMode(aws.RetryModeAdaptive), config.WithRetryMaxAttempts(attempts),
	}
	if o.Region != "" {
		load = append(load, config.WithRegion(o.Region))
	}
	if o.Profile != "" {
		load = append(load, config.WithSharedConfigProfile(o.Profile))
	}
	return load
}

// noCredentials tells a login service that does not serve now from credentials that nobody
// set. The last place where they are looked for is a machine at AWS, and elsewhere nobody
// answers there.
func noCredentials(err error) error {
	class, why := model.ClassUser, reason(err)
	if call, ok := errors.AsType[*smithy.OperationError](err); ok {
		switch {
		case call.Service() == imds.ServiceID:
			why = "none are set, and this machine has no role that gives any"
		case passes(err):
			class = model.ClassTransient
		}
	}
	return model.Errorf(model.SecretsError, class, "there are no AWS credentials for the secret provider '%s': %s; log in, or set 'profile' in [secrets] or AWS's own variables", Name, why)
}

// bounded reads no more of an answer than one can have.
type bounded struct{ aws.HTTPClient }

func (b bounded) Do(r *http.Request) (*http.Response, error) {
	answer, err := b.HTTPClient.Do(r)
	if err != nil {
		return nil, err
	}
	answer.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	return answer, nil
}
