package project

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func TestStateSettings(t *testing.T) {
	seconds := func(n float64) *time.Duration {
		d := time.Duration(n * float64(time.Second))
		return &d
	}
	noEnv := func(string) string { return "" }
	withDSN := func(name string) string { return map[string]string{envDSN: "postgres://env"}[name] }
	tests := []struct {
		name, reason, text, given string
		env                       func(string) string
		want                      State
		refused                   string // mentions; "" = it is not
	}{
		{name: "nothing", reason: "a database at the root", env: noEnv, want: State{Backend: BackendLocal, Path: "ROOT/atlantide.db", Shown: "ROOT/atlantide.db"}},
		{name: "another file", reason: "from the root", text: "state = 'sub/x.db'", env: noEnv, want: State{Backend: BackendLocal, Path: "ROOT/sub/x.db", Shown: "ROOT/sub/x.db"}},
		{name: "given", reason: "shown as it was given", text: "state = 'sub/x.db'", given: "y.db", env: noEnv, want: State{Backend: BackendLocal, Path: "ROOT/y.db", Shown: "y.db"}},
		{
			name: "given over a remote one", reason: "T: an explicit path wins and says over what", text: "[state]\nbackend = 'postgres'", given: "y.db", env: noEnv,
			want: State{Backend: BackendLocal, Path: "ROOT/y.db", Shown: "y.db", Overridden: "postgres"},
		},
		{name: "postgres", reason: "the file's DSN beats the environment's", text: "[state]\nbackend = 'postgres'\ndsn = 'postgres://file'\nschema = 's'", env: withDSN, want: State{Backend: BackendPostgres, DSN: "postgres://file", Schema: "s"}},
		{name: "a DSN of the environment", reason: "no file has to hold a password", text: "[state]\nbackend = 'postgres'", env: withDSN, want: State{Backend: BackendPostgres, DSN: "postgres://env"}},
		{name: "no DSN", reason: "T-163 both ways out are named", text: "[state]\nbackend = 'postgres'", env: noEnv, refused: "ATLANTIDE_STATE_DSN"},
		{name: "an unknown backend", reason: "T-163 value and choice are named", text: "[state]\nbackend = 'etcd'", env: noEnv, refused: "'etcd'"},
		{
			name: "times", reason: "numbers of either type are seconds", text: "[state]\nlock_ttl = 30\nlock_renew_interval = 2.5\nlock_skew_margin = 0\nnode_timeout = 1.5", env: noEnv,
			want: State{Backend: BackendLocal, Path: "ROOT/atlantide.db", Shown: "ROOT/atlantide.db", LockTTL: seconds(30), LockRenew: seconds(2.5), LockSkewMargin: seconds(0), NodeTimeout: 1500 * time.Millisecond},
		},
		{name: "times that are no numbers", reason: "T-164e they are ignored", text: "[state]\nlock_ttl = 'long'\nlock_skew_margin = true", env: noEnv, want: State{Backend: BackendLocal, Path: "ROOT/atlantide.db", Shown: "ROOT/atlantide.db"}},
		{name: "a time without an end", reason: "it is a year, and no sum of it overflows", text: "[state]\nlock_ttl = inf", env: noEnv, want: State{Backend: BackendLocal, Path: "ROOT/atlantide.db", Shown: "ROOT/atlantide.db", LockTTL: seconds(365 * 24 * 60 * 60)}},
		{name: "a negative margin", reason: "ST-8a", text: "[state]\nlock_skew_margin = -1", env: noEnv, refused: "lock_skew_margin"},
		{name: "no time for a node", reason: "no call could ever end", text: "[state]\nnode_timeout = 0", env: noEnv, refused: "node_timeout"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := opened(t, test.text, "")
			got, err := p.State(test.given, test.env)
			if test.refused != "" {
				if !model.IsKind(err, model.StateError) || !strings.Contains(err.Error(), test.refused) {
					t.Errorf("%v is no StateError that mentions %q: %s", err, test.refused, test.reason)
				}
				return
			}
			must(t, err)
			for _, path := range []*string{&test.want.Path, &test.want.Shown} {
				if rest, ok := strings.CutPrefix(*path, "ROOT/"); ok {
					*path = filepath.Join(p.Root, rest)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got): %s\n%s", test.reason, diff)
			}
		})
	}
}

func TestParallelism(t *testing.T) {
	tests := []struct {
		text, reason string
		want         int
		refused      bool
	}{
		{"", "the engine's own", 0, false},
		{"parallelism = 8", "as it says", 8, false},
		{"parallelism = 'many'", "another type counts as absent", 0, false},
		{"parallelism = 0", "T-026 nothing would ever be done", 0, true},
		{"parallelism = 257", "more than a run may have in flight", 0, true},
	}
	for _, test := range tests {
		got, err := opened(t, test.text, "").Parallelism()
		if got != test.want || (err != nil) != test.refused {
			t.Errorf("%q: %d, %v, want %d: %s", test.text, got, err, test.want, test.reason)
		}
	}
}
