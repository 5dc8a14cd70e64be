package secrets

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func TestRouting(t *testing.T) {
	a := &vault{name: "a", values: map[string]string{"x": "from a"}}
	b := &vault{name: "b", values: map[string]string{"x": "from b", "bad": "\xff", "long": strings.Repeat("v", MaxValue+1)}}
	for _, tc := range []struct {
		why      string
		registry *Registry
		ref      model.SecretRef
		want     string
		texts    []string
	}{
		{why: "T-210 the first is the default", registry: mustRegistry(t, "", a, b), ref: model.SecretRef{Name: "x"}, want: "from a"},
		{why: "unless one is marked", registry: mustRegistry(t, "b", a, b), ref: model.SecretRef{Name: "x"}, want: "from b"},
		{why: "a handle names one", registry: mustRegistry(t, "b", a, b), ref: model.SecretRef{Name: "x", Provider: "a"}, want: "from a"},
		{why: "T-210 an unknown one", registry: mustRegistry(t, "", b, a), ref: model.SecretRef{Name: "x", Provider: "ssm"}, texts: []string{"'ssm'", "known: a, b"}},
		{why: "T-210 none at all", registry: mustRegistry(t, ""), ref: model.SecretRef{Name: "x"}, texts: []string{"no secret provider"}},
		{why: "none at all, named", registry: mustRegistry(t, ""), ref: model.SecretRef{Name: "x", Provider: "a"}, texts: []string{"no secret provider"}},
		{why: "not defined", registry: mustRegistry(t, "", a), ref: model.SecretRef{Name: "y"}, texts: []string{"'y' is not in a"}},
		{why: "no name", registry: mustRegistry(t, "", a), ref: model.SecretRef{}, texts: []string{"no name"}},
		{why: "SC-20 not UTF-8", registry: mustRegistry(t, "b", b), ref: model.SecretRef{Name: "bad"}, texts: []string{"'bad'", "UTF-8"}},
		{why: "too long", registry: mustRegistry(t, "b", b), ref: model.SecretRef{Name: "long"}, texts: []string{"'long'", "65536"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			got, err := NewSession(Options{Registry: tc.registry}).Resolve(context.Background(), tc.ref)
			if tc.texts != nil {
				wantUserError(t, err, tc.texts...)
			} else if err != nil {
				t.Fatal(err)
			}
			if got != tc.want {
				t.Errorf("resolved to %q; want %q", got, tc.want)
			}
		})
	}
}

func TestNewRegistryRefuses(t *testing.T) {
	for _, tc := range []struct {
		why, byDefault string
		providers      []Provider
		text           string
	}{
		{"T-210 nameless", "", []Provider{&vault{}}, "no name"},
		{"SC-1 twice", "", []Provider{&vault{name: "a"}, &vault{name: "a"}}, "two secret providers 'a'"},
		{"SC-6 an unknown default", "vlt", []Provider{&vault{name: "b"}, &vault{name: "a"}}, "'vlt'; known: a, b"},
	} {
		_, err := NewRegistry(tc.byDefault, tc.providers...)
		wantUserError(t, err, tc.text)
	}
}

// What a provider says in words of its own keeps its cause.
func TestForeignErrors(t *testing.T) {
	cause := errors.New("connection refused")
	_, err := mustRegistry(t, "", &vault{name: "a", err: cause}).Resolve(context.Background(), model.SecretRef{Name: "x"})
	if !model.IsKind(err, model.SecretsError) || model.ClassOf(err) != model.ClassUnknown || !errors.Is(err, cause) || !strings.Contains(err.Error(), "'a'") {
		t.Errorf("error %v", err)
	}
}

func TestEnv(t *testing.T) {
	variables := map[string]string{"APP_TOKEN": "t", "app_token": "lower", "APP_[x]": "odd", "HOME": "/root", "APP_EMPTY": ""}
	for _, tc := range []struct {
		why   string
		allow []string
		name  string
		want  string
		texts []string
	}{
		{why: "T-209 allowed", allow: []string{"OTHER", "APP_*"}, name: "APP_TOKEN", want: "t"},
		{why: "empty is a value", allow: []string{"APP_*"}, name: "APP_EMPTY"},
		{why: "X-53, cli 169: nothing allows it, though it is there", name: "HOME", texts: []string{"'HOME'", "[secrets.env]"}},
		{why: "the whole name", allow: []string{"APP"}, name: "APP_TOKEN", texts: []string{"[secrets.env]"}},
		{why: "the whole name, from its start", allow: []string{"TOKEN"}, name: "APP_TOKEN", texts: []string{"[secrets.env]"}},
		{why: "case counts", allow: []string{"app_*"}, name: "APP_TOKEN", texts: []string{"[secrets.env]"}},
		{why: "one character", allow: []string{"APP_TOKE?"}, name: "APP_TOKEN", want: "t"},
		{why: "a class", allow: []string{"[A-B]PP_[!x]OKEN"}, name: "APP_TOKEN", want: "t"},
		{why: "nothing escapes", allow: []string{`APP_\[x]`}, name: "APP_[x]", texts: []string{"[secrets.env]"}},
		{why: "T-209 refused before it is looked up", allow: []string{"X"}, name: "ABSENT", texts: []string{"[secrets.env]"}},
		{why: "T-209 not set", allow: []string{"*"}, name: "ABSENT", texts: []string{"'ABSENT' is not set"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			var looked []string
			env, err := NewEnv(tc.allow, func(name string) (string, bool) {
				looked = append(looked, name)
				value, ok := variables[name]
				return value, ok
			})
			must(t, err)
			got, err := env.Resolve(context.Background(), tc.name)
			if tc.texts != nil {
				wantUserError(t, err, tc.texts...)
			} else if err != nil || got.Reveal() != tc.want {
				t.Errorf("%q, %v; want %q", got.Reveal(), err, tc.want)
			}
			if refused := err != nil && !strings.Contains(err.Error(), "not set"); refused && len(looked) > 0 {
				t.Errorf("looked up %q, which is refused", looked)
			}
		})
	}
	for _, allow := range [][]string{{"A", ""}, {strings.Repeat("a", maxPatternSize+1)}, make([]string, maxPatterns+1)} {
		_, err := NewEnv(allow, nil)
		wantUserError(t, err, "[secrets.env]")
	}
}

func TestChecks(t *testing.T) {
	none, err := NewEnv(nil, nil)
	must(t, err)
	some, err := NewEnv([]string{"A", "B_*"}, nil)
	must(t, err)
	want := []Check{
		{Name: "secrets: env", Status: StatusWarn, Detail: "nothing may be read: 'allow' in [secrets.env] is empty"},
		{Name: "secrets: plain", Status: StatusSkip, Detail: "this provider has no check"},
	}
	if diff := cmp.Diff(want, mustRegistry(t, "", none, &vault{name: "plain"}).Checks(context.Background())); diff != "" {
		t.Errorf("T-209, T-210 (-want +got):\n%s", diff)
	}
	// A session tells of the one that answers for handles which name none.
	for byDefault, want := range map[string]Check{"": want[0], "plain": want[1]} {
		session := NewSession(Options{Registry: mustRegistry(t, byDefault, none, &vault{name: "plain"})})
		if got := session.Check(context.Background()); got != want {
			t.Errorf("RF-27: the default %q: %+v", byDefault, got)
		}
	}
	if got := NewSession(Options{}).Check(context.Background()); got.Status != StatusSkip {
		t.Errorf("RF-27: without a provider: %+v", got)
	}
	if got := some.Check(context.Background()); got.Status != StatusOK || got.Detail != "2 patterns allow variables" {
		t.Errorf("T-209: %+v", got)
	}
}
