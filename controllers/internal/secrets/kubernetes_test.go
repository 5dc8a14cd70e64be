package secrets

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// SC-20, N-37: values are read as they are, by the tenant's account, with the operator's own
// rights of no use; everything else says who may not read what, and what to do.
func TestResolve(t *testing.T) {
	w := newTown(t, impersonate)
	w.put(w.tenant, "app", map[string][]byte{"token": []byte(" sentinel\n"), "binary": {0xff, 0xfe}, "empty": {}, "long": []byte(strings.Repeat("x", 65537))})
	w.put(w.tenant, "other", map[string][]byte{"token": []byte("sentinel")})
	w.readable("app", "missing")
	s := w.sessions()
	app := w.stack(func(s *v1alpha1.Stack) { s.Spec.Secrets = &v1alpha1.StackSecrets{DefaultSecret: "app"} })
	w.granted(func() error {
		_, err := w.open(s, app).Resolve(t.Context(), model.SecretRef{Name: "token"})
		return err
	})
	session := w.open(s, app)
	if session.Asked() {
		t.Error("nothing was asked for")
	}
	for _, c := range []struct {
		reason string
		ref    model.SecretRef
		want   string
		class  model.Class
		texts  []string
	}{
		{"as it is, untrimmed", model.SecretRef{Name: "token"}, " sentinel\n", 0, nil},
		{"by the provider's name", model.SecretRef{Name: "app/token", Provider: "kubernetes"}, " sentinel\n", 0, nil},
		{"an empty one", model.SecretRef{Name: "empty"}, "", 0, nil},
		{"not text", model.SecretRef{Name: "binary"}, "", model.ClassTransient, []string{"'app'", w.tenant, "'binary'", "not UTF-8", "base64"}},
		{"too long", model.SecretRef{Name: "long"}, "", model.ClassTransient, []string{"'app'", w.tenant, "'long'", "65536", "shorten it"}},
		{"a missing key", model.SecretRef{Name: "none"}, "", model.ClassTransient, []string{"'app'", w.tenant, "'default'", "'none'", "add it"}},
		{"a missing Secret", model.SecretRef{Name: "missing/k"}, "", model.ClassTransient, []string{"'missing'", w.tenant, "'default'", "'k'", "create it"}},
		{"one that the account may not get", model.SecretRef{Name: "other/token"}, "", model.ClassTransient, []string{"'default'", w.tenant, "'other'", "'token'", "Role", "spec.serviceAccountName"}},
		{"the operator's key", model.SecretRef{Name: w.operator + "/" + DefaultSealingKey + "/key"}, "", model.ClassUser, []string{"spec.secrets.refs"}},
		{"the operator's environment", model.SecretRef{Name: "HOME", Provider: "env"}, "", model.ClassUser, []string{"'env' is for the command line"}},
		{"the operator's files", model.SecretRef{Name: "HOME", Provider: "keyfile"}, "", model.ClassUser, []string{"'keyfile' is for the command line"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got, err := session.Resolve(t.Context(), c.ref)
			if len(c.texts) == 0 {
				if err != nil || got != c.want {
					t.Errorf("%q, %v", got, err)
				}
				return
			}
			if !model.IsKind(err, model.SecretsError) || model.ClassOf(err) != c.class {
				t.Fatalf("%v of class %s", err, model.ClassOf(err))
			}
			for _, text := range c.texts {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q is not in: %v", text, err)
				}
			}
			if strings.Contains(err.Error(), "sentinel") {
				t.Errorf("it tells the secret: %v", err)
			}
		})
	}
	if !session.Asked() {
		t.Error("something was asked for")
	}
	if text := fmt.Sprintf("%v %+v %#v", session, session.provider.seen["app"].values, session.provider.seen["app"].values); strings.Contains(text, "sentinel") {
		t.Errorf("it prints as %s", text)
	}
}

// A run sees a Secret as it was when the run first read it, whichever key it asks for; the
// next run sees what it is then.
func TestOneRunSeesOneSecret(t *testing.T) {
	w := newTown(t, impersonate)
	w.put(w.tenant, "app", map[string][]byte{"user": []byte("one"), "password": []byte("one")})
	w.readable("app")
	s, stack := w.sessions(), w.stack()
	user, password := model.SecretRef{Name: "app/user"}, model.SecretRef{Name: "app/password"}
	w.granted(func() error { _, err := w.open(s, stack).Resolve(t.Context(), user); return err })
	run := w.open(s, stack)
	resolve := func(run *Session, ref model.SecretRef, want string) {
		t.Helper()
		if got, err := run.Resolve(t.Context(), ref); err != nil || got != want {
			t.Errorf("%s is %q, %v, want %q", ref.Name, got, err, want)
		}
	}
	resolve(run, user, "one")
	w.put(w.tenant, "app", map[string][]byte{"user": []byte("two"), "password": []byte("two")})
	resolve(run, password, "one")
	resolve(w.open(s, stack), password, "two")
}

// An operator that may impersonate nobody, or nobody there, says that this is what it lacks.
func TestNoImpersonation(t *testing.T) {
	w := newTown(t)
	w.put(w.tenant, "app", map[string][]byte{"token": []byte("sentinel")})
	w.readable("app")
	s, stack := w.sessions(), w.stack()
	ref := model.SecretRef{Name: "app/token"}
	_, err := w.open(s, stack).Resolve(t.Context(), ref)
	if model.ClassOf(err) != model.ClassTransient || !strings.Contains(fmt.Sprint(err), "impersonate on serviceaccounts") || !strings.Contains(fmt.Sprint(err), w.tenant) {
		t.Fatalf("%v", err)
	}
	// The right in the one namespace is enough.
	_, err = w.RbacV1().Roles(w.tenant).Create(t.Context(), &rbacv1.Role{ObjectMeta: objectMeta("impersonator"), Rules: []rbacv1.PolicyRule{impersonate}}, createOptions)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	_, err = w.RbacV1().RoleBindings(w.tenant).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: objectMeta("impersonator"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "impersonator"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.operator, Name: w.account}},
	}, createOptions)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.granted(func() error { _, err := w.open(s, stack).Resolve(t.Context(), ref); return err })
}
