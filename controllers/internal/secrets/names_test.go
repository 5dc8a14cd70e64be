package secrets

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// SC-19, N-37: every form of a name, and every spelling that would lead elsewhere.
func TestPlaceOf(t *testing.T) {
	refs := func(name, secret, key string) *v1alpha1.StackSecrets {
		return &v1alpha1.StackSecrets{DefaultSecret: "app", Refs: []v1alpha1.StackSecretRef{
			{Name: name, SecretKeyRef: v1alpha1.SecretKeyRef{Name: secret, Key: key}},
		}}
	}
	app := &v1alpha1.StackSecrets{DefaultSecret: "app"}
	for _, c := range []struct {
		reason, name string
		spec         *v1alpha1.StackSecrets
		want         place
		refused      string
	}{
		{"a key of the default Secret", "token", app, place{"app", "token"}, ""},
		{"a key with every legal character", "A-b_c.9", app, place{"app", "A-b_c.9"}, ""},
		{"a Secret and its key", "db.prod/password", app, place{"db.prod", "password"}, ""},
		{"a Secret and its key, without any spec", "db/password", nil, place{"db", "password"}, ""},
		{"an entry comes before the default Secret", "token", refs("token", "db", "k"), place{"db", "k"}, ""},
		{"an entry comes before secret/key", "a/b", refs("a/b", "db", "k"), place{"db", "k"}, ""},
		{"an entry may be called anything", "prod/db/pass word", refs("prod/db/pass word", "db", "k"), place{"db", "k"}, ""},
		{"no default Secret", "token", nil, place{}, "set spec.secrets.defaultSecret"},
		{"another namespace by a path", "kube-system/admin/token", app, place{}, "spec.secrets.refs"},
		{"another namespace by a detour", "../kube-system/admin", app, place{}, "spec.secrets.refs"},
		{"another namespace by dots", "../admin", app, place{}, "spec.secrets.refs"},
		{"an absolute path", "/app", app, place{}, "spec.secrets.refs"},
		{"no key", "app/", app, place{}, "spec.secrets.refs"},
		{"a key that is a parent", "app/..", app, place{}, "spec.secrets.refs"},
		{"a Secret in upper case", "App/token", app, place{}, "spec.secrets.refs"},
		{"an escaped slash", "kube-system%2fadmin/token", app, place{}, "spec.secrets.refs"},
		{"a question mark", "app?x=1/token", app, place{}, "spec.secrets.refs"},
		{"a key with a space", "app/a b", app, place{}, "spec.secrets.refs"},
		{"a key that is too long", strings.Repeat("k", 254), app, place{}, "spec.secrets.refs"},
		{"a Secret whose name is too long", strings.Repeat("s", 254) + "/k", app, place{}, "spec.secrets.refs"},
		{"an entry that is older than the schema", "token", refs("token", "../admin", "k"), place{}, "spec.secrets.refs"},
		{"a default Secret that is older than the schema", "token", &v1alpha1.StackSecrets{DefaultSecret: "kube-system/admin"}, place{}, "spec.secrets.refs"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			at, err := placeOf(c.spec, c.name)
			if c.refused == "" {
				if err != nil || at != c.want {
					t.Errorf("%+v, %v, want %+v", at, err, c.want)
				}
				return
			}
			if !model.IsKind(err, model.SecretsError) || model.ClassOf(err) != model.ClassUser || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%+v, %v, want a user's error with %q", at, err, c.refused)
			}
		})
	}
}

// Law: whatever a name is, it leads to a legal key of a legal Secret or nowhere.
func TestPlaceOfLaw(t *testing.T) {
	text := rapid.StringOf(rapid.RuneFrom([]rune("ab./%\\:_-A \x00é")))
	rapid.Check(t, func(t *rapid.T) {
		spec := &v1alpha1.StackSecrets{DefaultSecret: text.Draw(t, "default")}
		at, err := placeOf(spec, text.Draw(t, "name"))
		if err == nil && (len(validation.IsDNS1123Subdomain(at.secret)) > 0 || len(validation.IsConfigMapKey(at.key)) > 0) {
			t.Fatalf("it leads to %+v", at)
		}
	})
}
