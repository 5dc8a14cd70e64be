package secrets

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/hack/devenv"
)

func TestMain(m *testing.M) { os.Exit(devenv.Main(m, devenv.WithControlPlane)) }

// town is a cluster with the operator's namespace and one of a tenant.
type town struct {
	testing.TB
	gomega.Gomega
	kubernetes.Interface        // the administrator's
	operator, tenant     string // namespaces
	account              string // the operator's, which is bound to a ClusterRole of this name
	config               *rest.Config
	records              *ledger
}

// newTown binds the operator's account to these rules, in its own namespace those that
// keys need.
func newTown(t *testing.T, everywhere ...rbacv1.PolicyRule) *town {
	t.Helper()
	admin := devenv.Cluster(t).RESTConfig
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	id := uuid.NewString()[:8]
	w := &town{TB: t, Gomega: gomega.NewWithT(t), Interface: client, operator: "operator-" + id, tenant: "team-" + id, account: "op-" + id, records: &ledger{}}
	for _, name := range []string{w.operator, w.tenant} {
		_, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		w.Expect(err).NotTo(gomega.HaveOccurred())
	}
	_, err = client.CoreV1().ServiceAccounts(w.operator).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: w.account}}, metav1.CreateOptions{})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	_, err = client.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.account}, Rules: everywhere}, metav1.CreateOptions{})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	_, err = client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: w.account}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: w.account},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.operator, Name: w.account}},
	}, metav1.CreateOptions{})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.allow(w.operator, w.account, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{DefaultSealingKey}, Verbs: []string{"get"}})
	token, err := client.CoreV1().ServiceAccounts(w.operator).CreateToken(t.Context(), w.account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.config = rest.AnonymousClientConfig(admin)
	w.config.BearerToken = token.Status.Token
	return w
}

// impersonate is the right that the operator has on every service account.
var impersonate = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, Verbs: []string{"impersonate"}}

// allow binds a service account of a namespace to rules in it.
func (w *town) allow(namespace, account string, rules ...rbacv1.PolicyRule) {
	w.Helper()
	name := account + "-" + uuid.NewString()[:8]
	_, err := w.RbacV1().Roles(namespace).Create(w.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}, metav1.CreateOptions{})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	_, err = w.RbacV1().RoleBindings(namespace).Create(w.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
	}, metav1.CreateOptions{})
	w.Expect(err).NotTo(gomega.HaveOccurred())
}

// readable lets the tenant's account get Secrets.
func (w *town) readable(names ...string) {
	w.Helper()
	w.allow(w.tenant, DefaultAccount, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}, ResourceNames: names})
}

// put makes or changes a Secret.
func (w *town) put(namespace, name string, data map[string][]byte) {
	w.Helper()
	client := w.CoreV1().Secrets(namespace)
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
	if _, err := client.Update(w.Context(), s, metav1.UpdateOptions{}); err == nil {
		return
	}
	_, err := client.Create(w.Context(), s, metav1.CreateOptions{})
	w.Expect(err).NotTo(gomega.HaveOccurred())
}

func (w *town) sessions() *Sessions {
	w.Helper()
	s, err := New(Options{Config: w.config, Namespace: w.operator, Records: w.records})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	return s
}

func (w *town) stack(change ...func(*v1alpha1.Stack)) *v1alpha1.Stack {
	s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: w.tenant, Name: "s", UID: types.UID(uuid.NewString())}}
	for _, c := range change {
		c(s)
	}
	return s
}

func (w *town) open(s *Sessions, stack *v1alpha1.Stack) *Session {
	w.Helper()
	session, err := s.Open(w.Context(), stack)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	return session
}

const patience = 30 * time.Second

// granted waits until the API server knows of the rights that were given.
func (w *town) granted(check func() error) {
	w.Helper()
	w.Eventually(check, patience, 50*time.Millisecond).Should(gomega.Succeed())
}

// ledger is Records in memory.
type ledger struct {
	mu    sync.Mutex
	id    string
	keyed bool
}

func (l *ledger) SealingKey(context.Context) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.id, nil
}

func (l *ledger) RecordSealingKey(_ context.Context, was, id string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.id != was {
		return false, nil
	}
	l.id = id
	return true, nil
}

func (l *ledger) HoldsKeyed(context.Context) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keyed, nil
}
