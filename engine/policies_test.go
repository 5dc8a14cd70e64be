package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/policy"
	"github.com/atlantide-org/atlantide-operator/engine/policy/cel"
	"github.com/atlantide-org/atlantide-operator/providers"
)

// enforcing puts enforce() calls in front of a body.
func enforcing(calls, body string) string {
	return "from atlantide.policy import enforce\n" + calls + "\n" + body
}

// T-086b, T-088.
func TestPoliciesAreAskedBeforeTheLock(t *testing.T) {
	d := newDesk(t)
	d.mustApply(`File("a", path="a")`)
	locks := d.locks.Load()
	const moved = `File("a", path="moved")`
	_, err := d.engine.Apply(t.Context(), d.request(enforcing(
		"enforce('deny-destroy-in-protected', stacks='s', level='advisory')\nenforce('deny-destroy-in-prod', stacks=['s'])", moved)))
	wantKind(t, err, model.PolicyViolationError, "deny-destroy-in-prod: s:local.File:a ")
	if err == nil || strings.Contains(err.Error(), policy.DenyDestroy) {
		t.Errorf("%v names what only advises", err)
	}
	if d.locks.Load() != locks {
		t.Error("a blocked plan took the lock")
	}
	result := d.mustApply(enforcing("enforce('deny-destroy-in-prod', stacks='s', level='advisory')", moved))
	if len(result.Plan.Violations) != 1 || result.Plan.Blocked {
		t.Errorf("PL-13: violations %+v", result.Plan.Violations)
	}
	d.wantFiles(map[string]string{"moved": ""})
	if _, err := d.engine.Destroy(t.Context(), engine.DestroyRequest{Partition: partition, Store: d.store, Locker: d.locker, Owner: owner}); err != nil {
		t.Errorf("PL-15: destroying asks no policy: %v", err)
	}
}

// judging is a provider whose type binds a policy to itself.
type judging struct{ providers.Provider }

func (j judging) Schema() *model.ProviderSchema {
	schema := *j.Provider.Schema()
	schema.Types = slices.Clone(schema.Types)
	for i, declared := range schema.Types {
		own := *declared
		own.Policies = []model.PolicyBinding{{Name: policy.DenyDestroy, Level: policy.Mandatory, Params: map[string]any{"stacks": "s"}}}
		schema.Types[i] = &own
	}
	return &schema
}

// PL-12.
func TestATypeBindsPolicies(t *testing.T) {
	d := newDesk(t)
	d.policy = judging{d.policy}
	d.build()
	result := d.mustApply(`File("a", path="a")`)
	if r := result.Plan.Policies; len(r) != 1 || r[0].Name != policy.DenyDestroy || r[0].Result != plan.PolicyPassed {
		t.Errorf("results %+v", r)
	}
	_, err := d.engine.Apply(t.Context(), d.request(`File("a", path="b")`))
	wantKind(t, err, model.PolicyViolationError, "s:local.File:a")
	_, err = d.engine.Apply(t.Context(), d.request(`Null("n")`))
	wantKind(t, err, model.PolicyViolationError, "s:local.File:a would go in a delete")
}

// AP-33: an approval names what was demanded and how it was judged, by rules from outside
// the config too.
func TestRulesFromOutside(t *testing.T) {
	d := newDesk(t)
	compiler, err := cel.NewCompiler()
	if err != nil {
		t.Fatal(err)
	}
	under := func(level string, sources ...string) *policy.Set {
		var rules []policy.Rule
		for _, s := range sources {
			demanded, digest, err := compiler.Compile(cel.Source{Expression: s})
			if err != nil {
				t.Fatal(err)
			}
			rules = append(rules, policy.Rule{Name: "platform", Level: level, Types: []string{"local.*"}, Policy: demanded, PolicyDigest: digest})
		}
		set, err := policy.NewSet(rules...)
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	const named, short = `change.desired.path.startsWith("tmp-")`, `size(change.desired.path) < 10`
	planned := func(set *policy.Set) *plan.Plan {
		p, err := d.engine.Plan(t.Context(), engine.PlanRequest{Compilation: d.compile(`File("a", path="a")`), Snapshot: d.snapshot(), Owner: owner,
			OnFailure: plan.OnFailureHalt, Policies: set})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := planned(under(policy.Mandatory, short, named)); !p.Blocked || len(p.Violations) != 1 || !strings.HasPrefix(p.Violations[0].Message, "s:local.File:a: ") {
		t.Errorf("violations %+v", p.Violations)
	}
	digests := map[string]string{}
	for why, set := range map[string]*policy.Set{
		"no rule": nil, "a rule that passes": under(policy.Mandatory, short), "that only advises": under(policy.Advisory, short),
		"a rule that does not": under(policy.Advisory, named), "both": under(policy.Advisory, short, named),
	} {
		digest, err := planned(set).ChangesetDigest()
		if err != nil {
			t.Fatal(err)
		}
		if other := digests[digest]; other != "" {
			t.Errorf("%s and %s have one digest", why, other)
		}
		digests[digest] = why
	}
	request := d.request(`File("a", path="a")`)
	request.Policies = under(policy.Mandatory, named)
	_, err = d.engine.Apply(t.Context(), request)
	wantKind(t, err, model.PolicyViolationError, "platform: s:local.File:a")
}

// A misspelt binding would let everything pass; it is named where it stands, before any
// change comes up that it applies to.
func TestPoliciesWithoutEffectWarn(t *testing.T) {
	d := newDesk(t)
	c, err := d.compileWhole("from atlantide.policy import enforce\nenforce('require-tags',\n    key=['team'])\nenforce('nope', types=['local.Null'])\n")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"ignores the parameter 'key'; it reads 'keys'; did you mean 'keys'?", "nothing defines the policy 'nope'"} {
		if i >= len(c.Warnings) || !strings.Contains(c.Warnings[i], want) {
			t.Fatalf("warnings %q, want %q", c.Warnings, want)
		}
		if at := c.Diagnostics[i]; at.Line == 0 || at.Source == "" || c.Policies[i].At != at.Place {
			t.Errorf("%q stands nowhere: %+v", want, at)
		}
	}
}
