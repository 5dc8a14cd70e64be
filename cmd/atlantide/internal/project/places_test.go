package project

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInEveryProfile(t *testing.T) {
	type places struct{ Profile, State, Key, Store string }
	for _, c := range []struct {
		name, reason, text, profile string
		want                        []places
	}{
		{"nothing", "the defaults", "", "", []places{{"", "atlantide.db", "atlantide.key", "atlantide.secrets"}}},
		{
			"two", "each over the base, whichever is chosen", "state = 'a/s.db'\n[profile.dev]\nsecrets_key = 'k'\n[profile.prod]\nstate = 'b/s.db'\nfuel = 3\n", "dev",
			[]places{{"", "a/s.db", "a/atlantide.key", "a/atlantide.secrets"}, {"dev", "a/s.db", "k", "a/atlantide.secrets"}, {"prod", "b/s.db", "b/atlantide.key", "b/atlantide.secrets"}},
		},
		{
			"a table over a text", "as it is when the profile is chosen", "state = 'a/s.db'\n[profile.far.state]\nbackend = 'postgres'\n", "",
			[]places{{"", "a/s.db", "a/atlantide.key", "a/atlantide.secrets"}, {"far", "atlantide.db", "atlantide.key", "atlantide.secrets"}},
		},
		{
			"a table over a table", "the backend of the base counts, and a profile that is no table does not", "secrets_store = 's'\n[state]\nbackend = 'postgres'\n[profile]\nno = 1\n[profile.far.state]\nschema = 'x'\n", "",
			[]places{{"", "atlantide.db", "atlantide.key", "s"}, {"far", "atlantide.db", "atlantide.key", "s"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := opened(t, c.text, c.profile)
			var got []places
			for _, each := range p.InEveryProfile() {
				s, err := each.Secrets("")
				must(t, err)
				state, err := filepath.Rel(p.Root, each.LocalState())
				must(t, err)
				got = append(got, places{each.Profile, state, s.Key, s.Store})
				chosen := opened(t, c.text, each.Profile)
				alone, err := chosen.Secrets("")
				must(t, err)
				if rel, err := filepath.Rel(chosen.Root, chosen.LocalState()); err != nil || rel != state || alone.Key != s.Key || alone.Store != s.Store {
					t.Errorf("profile '%s' has %s, %s and %s when it is chosen", each.Profile, rel, alone.Key, alone.Store)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
