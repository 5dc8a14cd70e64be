// Package secrets owns what the operator knows of secrets: which key of which Secret a
// handle of a Stack names (names.go), how its value is read (kubernetes.go), and the keys
// that the operator itself seals with (sealing.go). A Session is all that one reconcile
// sees of it.
//
// It must never know a reconcile, a plan or a provider of resources. A value reaches a
// Stack's run only through that Stack's own service account and namespace; no error, log
// line or object that the operator writes holds one.
package secrets

import (
	"context"
	"crypto/rand"
	"io"

	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/secrets"
)

// DefaultSealingKey is the name of the Secret with the operator's keys unless a flag says
// another one.
const DefaultSealingKey = "atlantide-sealing-key"

// DefaultAccount is the service account of a Stack that names none.
const DefaultAccount = "default"

// Options of Sessions.
type Options struct {
	Config     *rest.Config // of the operator's own account, which may impersonate those of Stacks
	Namespace  string       // the operator's, where its keys are
	SealingKey string       // name of the Secret with the keys; "" = DefaultSealingKey
	Records    Records      // of which key is in use
	Rand       io.Reader    // of a key that is made; nil = crypto/rand
}

// Sessions begins the secrets of reconciles. It is safe for concurrent use.
type Sessions struct {
	config  *rest.Config
	sealing *sealing
}

// New checks nothing: the API server may be away.
func New(o Options) (*Sessions, error) {
	if o.SealingKey == "" {
		o.SealingKey = DefaultSealingKey
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	config := rest.CopyConfig(o.Config)
	// One limit for all the accounts: a client of each is made per run.
	config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(50, 100)
	own, err := corev1.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Sessions{config: config, sealing: &sealing{
		secrets: own.Secrets(o.Namespace), namespace: o.Namespace, name: o.SealingKey, records: o.Records, rand: o.Rand,
	}}, nil
}

// Check reads the operator's keys and reports whether they are usable; ErrSealingKey is in
// the error's chain if only a person can mend that. A key that is to be sealed with from
// now on is found by a Check.
func (s *Sessions) Check(ctx context.Context) error {
	_, err := s.sealing.load(ctx)
	return err
}

// Session is what one reconcile of a Stack sees of secrets. It is dropped at its end.
type Session struct {
	*secrets.Session
	provider *reader
}

// Open begins a session. The keys are seen to here, so that what a run made never fails to be
// recorded for want of them; Secrets of the Stack are read when they are asked for.
func (s *Sessions) Open(ctx context.Context, stack *v1alpha1.Stack) (*Session, error) {
	if p := providerOf(stack); p != v1alpha1.SecretsKubernetes {
		return nil, userErrorf("spec.secrets.provider is '%s'; only %s is known here", p, v1alpha1.SecretsKubernetes)
	}
	ring, err := s.sealing.keys(ctx)
	if err != nil {
		return nil, err
	}
	provider := newReader(s.config, stack)
	registry, err := secrets.NewRegistry(KubernetesName, provider, refused(secrets.EnvName), refused(secrets.KeyfileName))
	if err != nil {
		return nil, err
	}
	return &Session{
		Session:  secrets.NewSession(secrets.Options{Registry: registry, Keys: ring, Partition: string(stack.UID)}),
		provider: provider,
	}, nil
}

// Asked reports whether any secret of the Stack was asked for.
func (s *Session) Asked() bool { return s.provider.asked.Load() }

func providerOf(stack *v1alpha1.Stack) v1alpha1.SecretsProvider {
	if stack.Spec.Secrets == nil || stack.Spec.Secrets.Provider == "" {
		return v1alpha1.SecretsKubernetes
	}
	return stack.Spec.Secrets.Provider
}

// refused is a provider of the command line, which would give every tenant what is the
// operator's own (SC-21).
type refused string

func (r refused) Name() string { return string(r) }

func (r refused) Resolve(context.Context, string) (secrets.Text, error) {
	return secrets.Text{}, userErrorf("the secret provider '%s' is for the command line and is refused in the operator, whose own it would read; "+
		"put the value into a Secret of the Stack's namespace and leave provider= away", string(r))
}

func userErrorf(format string, args ...any) *model.Error {
	return model.Errorf(model.SecretsError, model.ClassUser, format, args...)
}

// passing is an error that something outside of the Stack mends.
func passing(format string, args ...any) *model.Error {
	return model.Errorf(model.SecretsError, model.ClassTransient, format, args...)
}
