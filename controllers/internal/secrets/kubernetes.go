package secrets

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/engine/secrets"
)

// KubernetesName is the name of the provider that reads Secrets.
const KubernetesName = "kubernetes"

// readTimeout bounds one request for a Secret.
const readTimeout = 15 * time.Second

// reader reads the Secrets of one Stack's namespace as its service account, from the
// API server and by name alone (SC-20). It is made for one run, to which a Secret looks the
// same from the first read on.
type reader struct {
	namespace, account string
	spec               *v1alpha1.StackSecrets
	client             func() (corev1.SecretInterface, error) // made once, when it is needed
	asked              atomic.Bool

	mu   sync.Mutex
	seen map[string]*reading
}

// reading is a Secret as it was read, by who has the turn.
type reading struct {
	turn   chan struct{}
	values map[string]secrets.Text // nil = not read yet
}

func newReader(config *rest.Config, stack *v1alpha1.Stack) *reader {
	k := &reader{namespace: stack.Namespace, account: stack.Spec.ServiceAccountName, spec: stack.Spec.Secrets, seen: map[string]*reading{}}
	if k.account == "" {
		k.account = DefaultAccount
	}
	k.client = sync.OnceValues(func() (corev1.SecretInterface, error) {
		as := rest.CopyConfig(config)
		// The groups of a service account follow from its name; none is asked for.
		as.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + k.namespace + ":" + k.account}
		client, err := corev1.NewForConfig(as)
		if err != nil {
			return nil, err
		}
		return client.Secrets(k.namespace), nil
	})
	return k
}

// Name is KubernetesName.
func (k *reader) Name() string { return KubernetesName }

// Resolve reads the key that a name stands for, as it is.
func (k *reader) Resolve(ctx context.Context, name string) (secrets.Text, error) {
	k.asked.Store(true)
	at, err := placeOf(k.spec, name)
	if err != nil {
		return secrets.Text{}, err
	}
	values, err := k.read(ctx, at)
	if err != nil {
		return secrets.Text{}, err
	}
	value, ok := values[at.key]
	if !ok {
		return secrets.Text{}, passing("Secret '%s' of namespace '%s', as service account '%s' reads it, has no key '%s'; add it", at.secret, k.namespace, k.account, at.key)
	}
	if err := k.usable(at, value.Reveal()); err != nil {
		return secrets.Text{}, err
	}
	return value, nil
}

// usable refuses a value that no resource can take. What mends it is the Secret, of whose
// changes nothing tells, so that it is looked at again.
func (k *reader) usable(at place, value string) error {
	switch {
	case len(value) > secrets.MaxValue:
		return passing("Secret '%s' of namespace '%s', as service account '%s' reads it, has a value under the key '%s' that is longer than %d bytes; shorten it",
			at.secret, k.namespace, k.account, at.key, secrets.MaxValue)
	case !utf8.ValidString(value):
		return passing("Secret '%s' of namespace '%s', as service account '%s' reads it, has a value under the key '%s' that is not UTF-8 text; encode it, for instance as base64",
			at.secret, k.namespace, k.account, at.key)
	}
	return nil
}

// read is what a Secret holds. What failed is asked for again by the next who needs it.
func (k *reader) read(ctx context.Context, at place) (map[string]secrets.Text, error) {
	r := k.reading(at.secret)
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if r.values != nil {
		return r.values, nil
	}
	client, err := k.client()
	if err != nil {
		return nil, passing("no client to read Secrets of namespace '%s' with: %w", k.namespace, err)
	}
	ctx, cancel := unlogged(ctx)
	defer cancel()
	secret, err := client.Get(ctx, at.secret, metav1.GetOptions{})
	if err != nil {
		return nil, k.unreadable(at, err)
	}
	r.values = make(map[string]secrets.Text, len(secret.Data))
	for key, value := range secret.Data {
		r.values[key] = secrets.NewText(string(value))
	}
	return r.values, nil
}

// unlogged is a context for requests about Secrets. The client logs what it sends and
// receives, at a high enough level, to the logger of its context.
func unlogged(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(logr.NewContext(ctx, logr.Discard()), readTimeout)
}

func (k *reader) reading(secret string) *reading {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.seen[secret]
	if r == nil {
		r = &reading{turn: make(chan struct{}, 1)}
		k.seen[secret] = r
	}
	return r
}

// unreadable says what stands in the way and who mends it. Nothing in the Stack does, so
// all of it is tried again.
func (k *reader) unreadable(at place, err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return passing("Secret '%s' does not exist in namespace '%s' for service account '%s'; create it with the key '%s'", at.secret, k.namespace, k.account, at.key)
	case refusesActing(err):
		return passing("the operator may not act as service account '%s' of namespace '%s' to read key '%s' of Secret '%s'; "+
			"allow its own account the verb impersonate on serviceaccounts, in that namespace at least", k.account, k.namespace, at.key, at.secret)
	case apierrors.IsForbidden(err):
		return passing("service account '%s' of namespace '%s' may not get Secret '%s', whose key '%s' is asked for; "+
			"bind it to a Role with the verb get on secrets and the resource name '%s', or name another account in spec.serviceAccountName",
			k.account, k.namespace, at.secret, at.key, at.secret)
	}
	return passing("cannot read Secret '%s' of namespace '%s', whose key '%s' is asked for, as service account '%s': %w", at.secret, k.namespace, at.key, k.account, err)
}

// refusesActing reports whether it is the acting as an account that was refused, and not
// what the account does. Releases of the API server differ in the resource that they name.
func refusesActing(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), `" cannot impersonate`)
}
