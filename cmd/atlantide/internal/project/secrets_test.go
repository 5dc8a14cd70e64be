package project

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func TestSecretSettings(t *testing.T) {
	for _, c := range []struct {
		reason, text, profile, state string
		want                         Secrets
	}{
		{"beside the default database", "", "", "", Secrets{Key: "atlantide.key", Store: "atlantide.secrets"}},
		{"beside the project's database", "state = 'var/x.db'", "", "", Secrets{Key: "var/atlantide.key", Store: "var/atlantide.secrets"}},
		{"an absolute one", "state = '/srv/x.db'", "", "", Secrets{Key: "/srv/atlantide.key", Store: "/srv/atlantide.secrets"}},
		{"beside the database that was given", "state = 'var/x.db'", "", "other/y.db", Secrets{Key: "other/atlantide.key", Store: "other/atlantide.secrets"}},
		{"at the root with a store elsewhere", "state = 'var/x.db'\n[profile.remote]\nstate = {backend = 's3'}", "remote", "", Secrets{Key: "atlantide.key", Store: "atlantide.secrets"}},
		{"where the file says", "secrets_key = 'k/a'\nsecrets_store = '/s/b'", "", "y/z.db", Secrets{Key: "k/a", Store: "/s/b"}},
		{"values of another type count as absent", "secrets_key = 1\nstate = []\nsecrets = 3", "", "", Secrets{Key: "atlantide.key", Store: "atlantide.secrets"}},
		{
			"provider and patterns", "[secrets]\nprovider = 'env'\n[secrets.env]\nallow = ['A_*', 'B']", "", "",
			Secrets{Key: "atlantide.key", Store: "atlantide.secrets", Provider: "env", EnvAllow: []string{"A_*", "B"}},
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got, err := opened(t, c.text, c.profile).Secrets(c.state)
			must(t, err)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What may be read is nothing to guess at.
func TestRefusedPatterns(t *testing.T) {
	for _, allow := range []string{"'A_*'", "['A_*', 1]", "true"} {
		_, err := opened(t, "[secrets.env]\nallow = "+allow, "").Secrets("")
		if !model.IsKind(err, model.SecretsError) || model.ClassOf(err) != model.ClassUser || !strings.Contains(err.Error(), "[secrets.env] 'allow'") {
			t.Errorf("%s: %v", allow, err)
		}
	}
}
