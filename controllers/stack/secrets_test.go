package stack

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/controllers/internal/secrets"
)

func halting(s *v1alpha1.Stack) { s.Spec.OnFailure = v1alpha1.FailureHalt }

func readsFrom(secret string) func(*v1alpha1.Stack) {
	return func(s *v1alpha1.Stack) { s.Spec.Secrets = &v1alpha1.StackSecrets{DefaultSecret: secret} }
}

// secretFile writes a secret into a file.
func secretFile() string { return file(`"f.txt"`, `atlantide.secret("token")`) }

// secret makes or changes a Secret of the Stacks' namespace.
func (l *land) secret(name string, data map[string]string) {
	l.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name}, StringData: data}
	if client.IgnoreAlreadyExists(l.client.Create(l.Context(), s)) == nil {
		l.Expect(l.client.Update(l.Context(), s)).To(gomega.Succeed())
	}
}

// allow lets a service account of the Stacks' namespace get Secrets.
func (l *land) allow(account string, names ...string) {
	l.Helper()
	name := "reads-" + account
	for _, object := range []client.Object{
		&rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name},
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}, ResourceNames: names}},
		},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: l.namespace, Name: account}},
		},
	} {
		l.Expect(l.client.Create(l.Context(), object)).To(gomega.Succeed())
	}
}

// age lets the time pass after which a Stack's secrets are looked at again.
func (o *operator) age(s *v1alpha1.Stack) {
	f, ok := o.reconciler.memory.recall(keyOf(s))
	o.Expect(ok && !f.due.IsZero()).To(gomega.BeTrue(), "the Stack reads secrets and is remembered")
	f.due = time.Now().Add(-time.Second)
	o.reconciler.memory.keep(keyOf(s), f)
}

// A secret is awaited, read as the Stack's account, and not read again while nothing
// moves; one that changed is found by the first look after an interval, or on request.
func TestSecretOfAStack(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	o := l.operate()
	s := l.create(l.stackOf("app", secretFile(), readsFrom("app"), func(s *v1alpha1.Stack) { s.Spec.ServiceAccountName = "deployer" }))
	waits := func(want ...string) {
		t.Helper()
		l.eventually(func(g gomega.Gomega) {
			now := l.settled(s, metav1.ConditionFalse, v1alpha1.ReasonSecretsUnavailable)
			g.Expect(brief(now.Status)).To(gomega.Equal([]string{"Ready=False/SecretsUnavailable", "Reconciling=True/SecretsUnavailable"}))
			g.Expect(now.Status.Failure.NextRetryTime).NotTo(gomega.BeNil())
			for _, text := range append(want, "'app'", "'token'", "'"+l.namespace+"'", "'deployer'") {
				g.Expect(message(now)).To(gomega.ContainSubstring(text))
			}
		})
	}
	waits("may not get Secret", "Role")
	l.allow("deployer", "app")
	waits("does not exist", "create it")
	l.secret("app", map[string]string{"other": "x"})
	waits("has no key", "add it")
	l.secret("app", map[string]string{"token": strings.Repeat("x", 65537)})
	waits("longer than 65536 bytes", "shorten it")
	l.secret("app", map[string]string{"token": "sentinel-one"})
	s = l.steady(o, s)
	if got := l.files(s)["f.txt"]; got != "sentinel-one" {
		t.Errorf("the file says %q", got)
	}

	const rounds = 3
	before := o.spent()
	for range rounds {
		o.reconcile(s)
	}
	if diff := cmp.Diff(cost{Queries: rounds}, o.spent().since(before)); diff != "" {
		t.Errorf("%d steady reconciles cost:\n%s", rounds, diff)
	}

	// Planned again with the same secret, nothing is written.
	before = o.spent()
	o.age(s)
	o.reconcile(s)
	spent := o.spent().since(before)
	if spent.Compiles != 1 || spent.ProviderCalls != 0 || spent.APIWrites != 0 || spent.Writes != 0 {
		t.Errorf("a look at unchanged secrets cost %+v", spent)
	}

	l.secret("app", map[string]string{"token": "sentinel-two"})
	o.age(s)
	o.reconcile(s)
	s = l.steady(o, s)
	if got := l.files(s)["f.txt"]; got != "sentinel-two" || s.Status.Plan.Text != "+0 ~1 ±0 -0" {
		t.Errorf("after a rotation the file says %q, plan %s", got, s.Status.Plan.Text)
	}
	l.secret("app", map[string]string{"token": "sentinel-three"})
	l.edit(s, annotate(v1alpha1.AnnotationReconcileRequestedAt, "now"))
	l.eventually(func(g gomega.Gomega) { g.Expect(l.files(s)["f.txt"]).To(gomega.Equal("sentinel-three")) })
}

// N-16, SC-24: a Stack is destroyed without its Secrets, and without the right to read any.
func TestDestroyWithoutSecrets(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	l.operate()
	l.secret("app", map[string]string{"token": "sentinel"})
	l.allow(secrets.DefaultAccount, "app")
	s := l.applied(l.create(l.stackOf("app", secretFile(), readsFrom("app"), destroyed)))
	l.Expect(l.client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "app"}})).To(gomega.Succeed())
	l.Expect(l.client.Delete(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "reads-default"}})).To(gomega.Succeed())
	l.remove(s)
	l.gone(s)
	if files := l.files(s); len(files) != 0 {
		t.Errorf("files %q are left", files)
	}
}

// SC-20: a Stack reads what its own account may get, which is not what another one may.
func TestSecretsOfAnotherAccount(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	l.operate()
	l.secret("app", map[string]string{"token": "sentinel"})
	l.allow("powerful", "app")
	s := l.settled(l.create(l.stackOf("app", secretFile(), readsFrom("app"))), metav1.ConditionFalse, v1alpha1.ReasonSecretsUnavailable)
	if m := message(s); !strings.Contains(m, "'default'") || !strings.Contains(m, "may not get Secret") {
		t.Errorf("message %q", m)
	}
	s = l.applied(l.edit(s, func(s *v1alpha1.Stack) { s.Spec.ServiceAccountName = "powerful" }))
	if got := l.files(s)["f.txt"]; got != "sentinel" {
		t.Errorf("the file says %q", got)
	}
}

// SC-22, SC-23: the key that state is sealed with is rotated while Stacks stay as they are,
// and one that is lost is said, with nothing read as rotated.
func TestSealingKeyRotates(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	o := l.operate()
	l.secret("app", map[string]string{"token": "sentinel"})
	l.allow(secrets.DefaultAccount, "app")
	s := l.steady(o, l.create(l.stackOf("app", secretFile(), readsFrom("app"))))
	key := &corev1.Secret{}
	at := client.ObjectKey{Namespace: l.leases, Name: secrets.DefaultSealingKey}
	l.Expect(l.client.Get(t.Context(), at, key)).To(gomega.Succeed())
	first := key.Data["key"]
	key.Data = map[string][]byte{"key": []byte(strings.Repeat("k", 32)), "key-1": first}
	l.Expect(l.client.Update(t.Context(), key)).To(gomega.Succeed())
	l.Expect(o.reconciler.Secrets.Check(t.Context())).To(gomega.Succeed())
	before := o.spent()
	o.age(s)
	o.reconcile(s)
	if spent := o.spent().since(before); spent.Compiles != 1 || spent.ProviderCalls != 0 || spent.APIWrites != 0 {
		t.Errorf("after a rotation of the sealing key a look cost %+v", spent)
	}
	o.stop()
	l.Expect(l.client.Delete(t.Context(), key)).To(gomega.Succeed())
	next := l.operate()
	s = l.settled(s, metav1.ConditionFalse, v1alpha1.ReasonSecretsUnavailable)
	if m := message(s); !strings.Contains(m, "restore it") || next.spent().ProviderCalls != 0 {
		t.Errorf("message %q, spent %+v", m, next.spent())
	}
}
