package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/secrets"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

var _ engine.Secrets = (*secrets.Session)(nil)

// install is a desk with a secret store, its key, and variables of which some may be read.
type install struct {
	*desk
	vault *secrets.Keyfile
	key   string
}

func newInstall(t *testing.T, values map[string]string) *install {
	dir := t.TempDir()
	key := filepath.Join(dir, "atlantide.key")
	i := &install{desk: newDesk(t), key: key, vault: &secrets.Keyfile{Path: filepath.Join(dir, "atlantide.secrets"), Keys: secrets.KeyFile{Path: key}}}
	for name, value := range values {
		i.set(name, value)
	}
	return i
}

func (i *install) set(name, value string) {
	i.Helper()
	if err := i.vault.Set(i.Context(), name, secrets.NewText(value)); err != nil {
		i.Fatal(err)
	}
}

// session begins a run.
func (i *install) session() *secrets.Session {
	i.Helper()
	variables := map[string]string{"APP_TOKEN": "sentinel-env", "HOME": "sentinel-home"}
	env, err := secrets.NewEnv([]string{"APP_*"}, func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	})
	if err != nil {
		i.Fatal(err)
	}
	registry, err := secrets.NewRegistry("", i.vault, env)
	if err != nil {
		i.Fatal(err)
	}
	return secrets.NewSession(secrets.Options{Registry: registry, Keys: secrets.KeyFile{Path: i.key}, Partition: partition})
}

func (i *install) plan(body string, snapshot *state.Snapshot) (*plan.Plan, error) {
	i.Helper()
	return i.engine.Plan(i.Context(), engine.PlanRequest{
		Compilation: i.compile(body), Snapshot: snapshot, Owner: owner, OnFailure: plan.OnFailureHalt, Secrets: i.session(),
	})
}

// applied is what an apply of the config records, its secrets' digests included.
func (i *install) applied(body string) *state.Snapshot {
	i.Helper()
	empty := &state.Snapshot{Rows: map[string]*state.Row{}}
	p, err := i.plan(body, empty)
	if err != nil {
		i.Fatal(err)
	}
	s := i.session()
	rows := map[string]*state.Row{}
	for _, c := range p.Changes {
		n := c.Desired
		row := &state.Row{
			ID: n.ID, Type: n.Type, Kind: n.Kind, Provider: n.Provider, ProviderVersion: n.ProviderVersion, InputHash: c.DesiredHash,
			Properties: n.Properties, Dependencies: n.Dependencies, Status: state.StatusCreated, RowUID: "uid-of-" + n.ID, SecretDigests: map[string]string{},
		}
		for field, value := range n.Properties {
			asked := false
			text, err := plan.SecretText(value, func(ref model.SecretRef) (string, error) {
				asked = true
				return s.Resolve(i.Context(), ref)
			})
			if err != nil {
				i.Fatal(err)
			}
			if !asked {
				continue
			}
			if row.SecretDigests[field], err = s.Recorder().Digest(text, row.RowUID+":"+field); err != nil {
				i.Fatal(err)
			}
		}
		rows[n.ID] = row
	}
	return &state.Snapshot{Serial: 1, Rows: rows}
}

// secretive reads secrets in a field that is not sensitive, in the depths of one, in a
// combinator, and from another provider.
const secretive = `File("plain", path="plain", content=SecretRef("token"))
Null("deep", triggers={"a": SecretRef("deep")})
File("joined", path="joined", content=concat("x-", SecretRef("part")))
File("env", path="env", content=SecretRef("APP_TOKEN", provider="env"))`

func secretiveInstall(t *testing.T) *install {
	return newInstall(t, map[string]string{"token": "sentinel-1", "deep": "sentinel-2", "part": "sentinel-3"})
}

func TestPlanWithSecrets(t *testing.T) {
	for _, tc := range []struct {
		why     string
		change  func(i *install)
		wants   map[string]string
		warning string
	}{
		{why: "N-14, X-20, X-21: the second plan is empty"},
		{why: "PL-5 rotated", change: func(i *install) { i.set("token", "other") }, wants: map[string]string{"s:local.File:plain": "update [content]"}},
		{why: "X-21 in the depths", change: func(i *install) { i.set("deep", "other") }, wants: map[string]string{"s:local.Null:deep": "update [triggers]"}},
		{why: "X-20 in a combinator", change: func(i *install) { i.set("part", "other") }, wants: map[string]string{"s:local.File:joined": "update [content]"}},
		{why: "PL-4 what is idle needs no secret", change: func(i *install) {
			if found, err := i.vault.Delete(i.Context(), "token"); err != nil || !found {
				i.Fatal(found, err)
			}
		}},
		{why: "PL-6, X-54: another key file: planned, with a warning", change: func(i *install) {
			for _, path := range []string{i.key, i.vault.Path} {
				if err := os.Remove(path); err != nil {
					i.Fatal(err)
				}
			}
			i.set("token", "sentinel-1")
			i.set("deep", "sentinel-2")
			i.set("part", "sentinel-3")
		}, wants: map[string]string{
			"s:local.File:plain": "update [content]", "s:local.Null:deep": "update [triggers]", "s:local.File:joined": "update [content]",
			"s:local.File:env": "update [content]",
		}, warning: "secrets_key"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			i := secretiveInstall(t)
			snapshot := i.applied(secretive)
			if tc.change != nil {
				tc.change(i)
			}
			p, err := i.plan(secretive, snapshot)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, c := range p.Changes {
				if c.Action != plan.Noop {
					got[c.NodeID] = string(c.Action) + " [" + strings.Join(c.ChangedFields, " ") + "]"
				}
			}
			if tc.wants == nil {
				tc.wants = map[string]string{}
			}
			if diff := cmp.Diff(tc.wants, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if warnings := strings.Join(p.Warnings, "\n"); (tc.warning == "") != (warnings == "") || !strings.Contains(warnings, tc.warning) {
				t.Errorf("warnings %q; want %q", warnings, tc.warning)
			}
			encoded, err := model.EncodeJSON(p.Payload())
			if err != nil {
				t.Fatal(err)
			}
			if shown := p.Text() + string(encoded); strings.Contains(shown, "sentinel") || strings.Contains(shown, "other") {
				t.Errorf("SC-17: the plan shows a secret:\n%s", shown)
			}
		})
	}
}

func TestPlanRefusesSecrets(t *testing.T) {
	for _, tc := range []struct {
		why   string
		body  string
		texts []string
	}{
		{"PL-8, X-27: not defined, with the reason, sorted", "Null('b', triggers={'x': SecretRef('gone')})\nFile('a', path='a', content=concat(SecretRef('away')))",
			[]string{"s:local.File:a.content -> 'away' ('away' is not in the secret store", "), s:local.Null:b.triggers -> 'gone' ("}},
		{"X-53: no pattern allows it, though it is set", "File('a', path='a', content=SecretRef('HOME', provider='env'))", []string{"'HOME'", "[secrets.env]"}},
		{"SC-1: an unknown provider", "File('a', path='a', content=SecretRef('x', provider='ssm'))", []string{"'ssm'; known: env, keyfile"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			i := newInstall(t, nil)
			_, err := i.plan(tc.body, &state.Snapshot{})
			i.refused(err, tc.texts...)
			if _, err := os.Lstat(i.key); err == nil {
				t.Error("SC-7: a plan made a key")
			}
		})
	}
}

// without the key file a plan over recorded digests fails and makes none.
func TestPlanWithoutItsKey(t *testing.T) {
	i := secretiveInstall(t)
	const body = "File('env', path='env', content=SecretRef('APP_TOKEN', provider='env'))"
	snapshot := i.applied(body)
	if err := os.Remove(i.key); err != nil {
		t.Fatal(err)
	}
	_, err := i.plan(body, snapshot)
	i.refused(err, i.key)
	if _, err := os.Lstat(i.key); err == nil {
		t.Error("the plan made a key")
	}
	p, err := i.plan(body, &state.Snapshot{})
	if err != nil || len(p.Changes) != 1 {
		t.Errorf("a plan that compares nothing needs the key: %v", err)
	}
}

func (i *install) refused(err error, texts ...string) {
	i.Helper()
	if !model.IsKind(err, model.SecretsError) || model.ClassOf(err) != model.ClassUser {
		i.Fatalf("error %v; want a SecretsError of the user's", err)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			i.Errorf("error %q; want %q in it", err, text)
		}
	}
	if strings.Contains(err.Error(), "sentinel") {
		i.Errorf("error %q holds a secret", err)
	}
}
