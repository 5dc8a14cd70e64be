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
		{
			"the parameter store of AWS", "[secrets]\nprovider = 'ssm'\nprefix = '/app/'\nregion = 'eu-west-1'\nprofile = 'p'\nendpoint = 'http://localhost:4566'", "", "",
			Secrets{Key: "atlantide.key", Store: "atlantide.secrets", Provider: "ssm", SSM: SSM{"/app/", "eu-west-1", "p", "http://localhost:4566"}},
		},
		{
			"what holds for all of AWS holds for it, unless it has its own", "aws_region = 'a'\naws_profile = 'b'\naws_endpoint = 'c'\naws_prefix = 'd'\n[secrets]\nregion = 'own'\nendpoint = ''", "", "",
			Secrets{Key: "atlantide.key", Store: "atlantide.secrets", SSM: SSM{Region: "own", Profile: "b"}},
		},
		{
			"settings of another type count as absent there too", "aws_region = 'a'\n[secrets]\nprefix = 1\nregion = ['x']", "", "",
			Secrets{Key: "atlantide.key", Store: "atlantide.secrets", SSM: SSM{Region: "a"}},
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
