package policy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/policy"
)

const (
	bucketID   = "prod:aws.S3Bucket:b"
	databaseID = "prod:aws.Database:d"
)

// bucket is a type with tags, database one with a sensitive input and a sensitive output.
func bucket() *model.ResourceType {
	return &model.ResourceType{Name: "aws.S3Bucket", Fields: []model.Field{{Name: "bucket"}, {Name: "tags"}}}
}

func database() *model.ResourceType {
	return &model.ResourceType{Name: "aws.Database", Fields: []model.Field{
		{Name: "password", Sensitive: true},
		{Name: "keys", Sensitive: true},
		{Name: "name"},
		{Name: "token", Sensitive: true, Mutability: model.Computed},
	}}
}

func tagged(tags any) policy.Change {
	return policy.Change{NodeID: bucketID, Type: "aws.S3Bucket", Action: "create", Desired: map[string]any{"bucket": "b", "tags": tags}, Schema: bucket()}
}

func stored(password any) policy.Change {
	return policy.Change{NodeID: databaseID, Type: "aws.Database", Action: "create", Schema: database(),
		Desired: map[string]any{"name": "n", "password": password, "keys": nil, "token": "given"}}
}

func acting(action, id string) policy.Change {
	c := policy.Change{NodeID: id, Type: model.TypeOf(id), Action: action}
	if action != "delete" {
		c.Desired = map[string]any{"path": "p"}
	}
	if action != "create" {
		c.Prior = map[string]any{"path": "q"}
	}
	return c
}

func enforce(name string, params map[string]any, types ...string) ir.PolicyBinding {
	return ir.PolicyBinding{Name: name, Level: policy.Mandatory, Params: params, Types: types}
}

func judge(t testing.TB, changes []policy.Change, bindings ...ir.PolicyBinding) (policy.Verdict, error) {
	t.Helper()
	return new(policy.Set).Judge(context.Background(), changes, bindings)
}

// messages are the violations on a line each.
func messages(v policy.Verdict) string {
	var lines []string
	for _, x := range v.Violations {
		lines = append(lines, x.Policy+" "+x.Level+" "+x.Message)
	}
	return strings.Join(lines, "\n")
}

func TestBuiltins(t *testing.T) {
	secret := model.SecretRef{Name: "db"}.Marker()
	ref := model.Reference{NodeID: "a:b.C:d", Output: "x"}.Marker()
	keys := func(v any) map[string]any { return map[string]any{"keys": v} }
	stacks := func(v any) map[string]any { return map[string]any{"stacks": v} }
	for _, tc := range []struct {
		why    string
		bind   ir.PolicyBinding
		change policy.Change
		wants  string // "" = passes
	}{
		{"T-083a without keys one tag will do", enforce(policy.RequireTags, nil), tagged(map[string]any{"any": "x"}), ""},
		{"T-083a and none will not", enforce(policy.RequireTags, nil), tagged(map[string]any{}), bucketID + " has no tags"},
		{"no keys are the same as none given", enforce(policy.RequireTags, keys([]any{})), tagged(map[string]any{}), bucketID + " has no tags"},
		{"tags that are not set are none", enforce(policy.RequireTags, nil), tagged(nil), bucketID + " has no tags"},
		{"T-083b more tags than the keys are fine", enforce(policy.RequireTags, keys([]any{"env"})), tagged(map[string]any{"env": "x", "b": "y"}), ""},
		{"T-083c what is missing is listed, sorted, once", enforce(policy.RequireTags, keys([]any{"owner", "env", "cost", "owner"})), tagged(map[string]any{"env": "x"}), bucketID + " is missing tag(s): cost, owner"},
		{"T-083d a blank value is missing", enforce(policy.RequireTags, keys([]any{"a", "b", "c"})), tagged(map[string]any{"a": "", "b": " \t", "c": nil}), bucketID + " is missing tag(s): a, b, c"},
		{"a value that is known later is there", enforce(policy.RequireTags, keys("env")), tagged(map[string]any{"env": ref}), ""},
		{"tags that are known later may lack any", enforce(policy.RequireTags, keys("$ref")), tagged(ref), "known only after the apply"},
		{"also without keys", enforce(policy.RequireTags, nil), tagged(ref), "known only after the apply"},
		{"tags of another shape are not guessed at", enforce(policy.RequireTags, nil), tagged([]any{"env"}), "no mapping"},
		{"T-083e one key as a text", enforce(policy.RequireTags, keys("env")), tagged(map[string]any{}), bucketID + " is missing tag(s): env"},
		{"T-083g a type without tags", enforce(policy.RequireTags, keys("env")), stored(nil), ""},
		{"T-083g a delete", enforce(policy.RequireTags, keys("env")), acting("delete", bucketID), ""},
		{"unknown parameters are ignored", enforce(policy.RequireTags, map[string]any{"keys": "env", "other": int64(1)}), tagged(map[string]any{"env": "x"}), ""},

		{"T-084a a delete", enforce(policy.DenyDestroy, stacks([]any{"prod"})), acting("delete", bucketID), "delete, and the stack 'prod' is protected"},
		{"T-084a a replace", enforce(policy.DenyDestroy, stacks([]any{"prod"})), acting("replace", bucketID), "replace, and the stack 'prod' is protected"},
		{"T-084a an update passes", enforce(policy.DenyDestroy, stacks([]any{"prod"})), acting("update", bucketID), ""},
		{"T-084a a create passes", enforce(policy.DenyDestroy, stacks([]any{"prod"})), acting("create", bucketID), ""},
		{"T-088 the same change elsewhere", enforce(policy.DenyDestroy, stacks([]any{"prod"})), acting("replace", "dev:aws.S3Bucket:b"), ""},
		{"a stack is its whole name", enforce(policy.DenyDestroy, stacks([]any{"prod"})), acting("delete", "prod2:aws.S3Bucket:b"), ""},
		{"the old half of an interrupted replace", enforce(policy.DenyDestroy, stacks("prod")), acting("delete", bucketID+"~replaced"), "is protected"},
		{"T-084b one stack as a text", enforce(policy.DenyDestroy, stacks("prod")), acting("delete", bucketID), "is protected"},
		{"T-084c no stacks protect nothing", enforce(policy.DenyDestroy, nil), acting("delete", bucketID), ""},
		{"T-084e the former name", enforce(policy.DenyDestroyAlias, stacks("prod")), acting("delete", bucketID), "is protected"},

		{"T-085a a handle", enforce(policy.RequireSecretRefs, nil), stored(secret), ""},
		{"T-085a a literal", enforce(policy.RequireSecretRefs, nil), stored("hunter2"), databaseID + " has a secret written out in password; use a SecretRef"},
		{"a combinator around a handle", enforce(policy.RequireSecretRefs, nil), stored(model.Transform{Op: "concat", Args: []any{"x", secret}}.Marker()), ""},
		{"a literal deep inside", enforce(policy.RequireSecretRefs, nil), stored([]any{secret, map[string]any{"a": "hunter2"}}), "in password;"},
		{"fields sorted", enforce(policy.RequireSecretRefs, nil), func() policy.Change {
			c := stored("a")
			c.Desired["keys"] = "b"
			return c
		}(), "in keys, password;"},
		{"T-085b not set", enforce(policy.RequireSecretRefs, nil), stored(nil), ""},
		{"T-085b an empty text", enforce(policy.RequireSecretRefs, nil), stored(""), ""},
		{"T-085b a delete", enforce(policy.RequireSecretRefs, nil), acting("delete", databaseID), ""},

		{"T-086d a filter that matches", enforce(policy.RequireTags, nil, "aws.S3Bucket"), tagged(nil), "has no tags"},
		{"T-086d a filter that does not", enforce(policy.RequireTags, nil, "aws.SqsQueue"), tagged(nil), ""},
		{"a filter is no glob", enforce(policy.RequireTags, nil, "aws.*"), tagged(nil), ""},
	} {
		t.Run(tc.why, func(t *testing.T) {
			v, err := judge(t, []policy.Change{tc.change}, tc.bind)
			if err != nil {
				t.Fatal(err)
			}
			if got := messages(v); (got == "") != (tc.wants == "") || !strings.Contains(got, tc.wants) {
				t.Errorf("%q, want %q", got, tc.wants)
			}
			for _, x := range v.Violations {
				if !strings.HasPrefix(x.Message, x.NodeID) || x.NodeID != tc.change.NodeID || x.Policy != tc.bind.Name {
					t.Errorf("%+v does not name its node and its policy", x)
				}
				if strings.Contains(x.Message, "hunter2") {
					t.Errorf("%q tells the value", x.Message)
				}
			}
			if len(v.Results) != 1 || v.Results[0].Violated != (tc.wants != "") {
				t.Errorf("results %+v", v.Results)
			}
		})
	}
}

func TestBindingsThatAreRefused(t *testing.T) {
	many := make([]any, 1001)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for _, tc := range []struct {
		why   string
		bind  ir.PolicyBinding
		kind  model.Kind
		wants []string
	}{
		{"T-083f a number", enforce(policy.RequireTags, map[string]any{"keys": int64(5)}), model.PolicyConfigError, []string{"'require-tags'", "'keys'", "int"}},
		{"a truth value", enforce(policy.RequireTags, map[string]any{"keys": true}), model.PolicyConfigError, []string{"bool"}},
		{"a fraction", enforce(policy.RequireTags, map[string]any{"keys": 1.5}), model.PolicyConfigError, []string{"float"}},
		{"a mapping", enforce(policy.RequireTags, map[string]any{"keys": map[string]any{"env": "x"}}), model.PolicyConfigError, []string{"dict"}},
		{"nothing, which is not the same as left out", enforce(policy.DenyDestroy, map[string]any{"stacks": nil}), model.PolicyConfigError, []string{"'stacks'", "NoneType"}},
		{"a handle", enforce(policy.RequireTags, map[string]any{"keys": model.StackOutputMarker("a:b")}), model.PolicyConfigError, []string{"a handle"}},
		{"T-084d a list that holds another thing", enforce(policy.DenyDestroy, map[string]any{"stacks": []any{"prod", []any{}}}), model.PolicyConfigError, []string{"'deny-destroy-in-protected'", "'stacks'", "list"}},
		{"too many names", enforce(policy.RequireTags, map[string]any{"keys": many}), model.PolicyConfigError, []string{"1001"}},
		{"under the name that was used", enforce(policy.DenyDestroyAlias, map[string]any{"stacks": int64(1)}), model.PolicyConfigError, []string{"'deny-destroy-in-prod'"}},
		{"a level that would not block", ir.PolicyBinding{Name: policy.RequireTags, Level: "Mandatory"}, model.PolicyConfigError, []string{"'Mandatory'", "'advisory'"}},
		{"T-086e a name that nobody defines", enforce("require-tag", nil), model.RegistryError, []string{"'require-tag'", "did you mean 'require-tags'?", "deny-destroy-in-protected"}},
		{"a name that is no line", enforce("a\nb"+strings.Repeat("c", 5000), nil), model.RegistryError, []string{`'a\x0ab`}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			_, err := judge(t, []policy.Change{acting("create", bucketID)}, tc.bind)
			if !model.IsKind(err, tc.kind) || model.ClassOf(err) != model.ClassUser || len(err.Error()) > 1000 {
				t.Fatalf("%v, want a short %s", err, tc.kind)
			}
			for _, text := range tc.wants {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q lacks %q", err, text)
				}
			}
			// Nobody is asked where nothing would be judged (cli.md 16).
			elsewhere := tc.bind
			elsewhere.Types = []string{"local.File"}
			for why, judged := range map[string]func() (policy.Verdict, error){
				"without a change": func() (policy.Verdict, error) { return judge(t, nil, tc.bind) },
				"without a change of its type": func() (policy.Verdict, error) {
					return judge(t, []policy.Change{acting("create", bucketID)}, elsewhere)
				},
			} {
				if v, err := judged(); err != nil || len(v.Violations) > 0 || len(v.Results) != 1 {
					t.Errorf("%s: %+v, %v", why, v, err)
				}
			}
		})
	}
}

func TestOrderAndResults(t *testing.T) {
	owned := bucket()
	owned.Policies = []model.PolicyBinding{
		{Name: policy.RequireTags, Level: policy.Advisory, Params: map[string]any{"keys": "own"}},
		{Name: policy.DenyDestroy, Level: policy.Mandatory},
	}
	second := tagged(map[string]any{"env": "x"})
	second.NodeID = "prod:aws.S3Bucket:c"
	changes := []policy.Change{stored(nil), tagged(nil), second}
	for i := range changes[1:] {
		changes[i+1].Schema = owned
	}
	of, digest, err := policy.Builtin(policy.RequireTags)
	if err != nil {
		t.Fatal(err)
	}
	rule := policy.Rule{Name: "platform/tags", Level: policy.Mandatory, Types: []string{"aws.S3*"}, Actions: []string{"create"}, Params: map[string]any{"keys": "team"}, Policy: of, PolicyDigest: digest}
	set, err := policy.NewSet(rule)
	if err != nil {
		t.Fatal(err)
	}
	v, err := set.Judge(t.Context(), changes, []ir.PolicyBinding{
		{Name: policy.RequireTags, Level: policy.Advisory, Params: map[string]any{"keys": "cost"}},
		enforce(policy.RequireTags, map[string]any{"keys": "env"}),
		enforce(policy.RequireSecretRefs, nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	wants := `require-tags advisory prod:aws.S3Bucket:b is missing tag(s): cost
require-tags mandatory prod:aws.S3Bucket:b is missing tag(s): env
require-tags advisory prod:aws.S3Bucket:b is missing tag(s): own
platform/tags mandatory prod:aws.S3Bucket:b is missing tag(s): team
require-tags advisory prod:aws.S3Bucket:c is missing tag(s): cost
require-tags advisory prod:aws.S3Bucket:c is missing tag(s): own
platform/tags mandatory prod:aws.S3Bucket:c is missing tag(s): team`
	if diff := cmp.Diff(wants, messages(v)); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
	var results []string
	for _, r := range v.Results {
		results = append(results, fmt.Sprint(r.Name, " ", r.Violated))
	}
	if diff := cmp.Diff([]string{"require-tags true", "require-tags true", "require-secret-refs false", "require-tags true",
		"deny-destroy-in-protected false", "platform/tags true"}, results); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// Each part of a demand moves its digest, the order of filters does not.
func TestDigests(t *testing.T) {
	of, policyDigest, err := policy.Builtin(policy.RequireTags)
	if err != nil {
		t.Fatal(err)
	}
	base := policy.Rule{Name: "r", Level: policy.Mandatory, Types: []string{"a.*", "b.*"}, Actions: []string{"create", "update"}, Params: map[string]any{"keys": "a"}, Policy: of, PolicyDigest: policyDigest}
	digest := func(edit func(r *policy.Rule)) string {
		r := base
		edit(&r)
		set, err := policy.NewSet(r)
		if err != nil {
			t.Fatal(err)
		}
		v, err := set.Judge(t.Context(), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return v.Results[0].Digest
	}
	first := digest(func(*policy.Rule) {})
	for why, edit := range map[string]func(r *policy.Rule){
		"level":   func(r *policy.Rule) { r.Level = policy.Advisory },
		"types":   func(r *policy.Rule) { r.Types = []string{"a.*"} },
		"actions": func(r *policy.Rule) { r.Actions = nil },
		"params":  func(r *policy.Rule) { r.Params = nil },
		"policy":  func(r *policy.Rule) { r.PolicyDigest = "cel:x" },
	} {
		if digest(edit) == first {
			t.Errorf("another %s has the same digest", why)
		}
	}
	for why, edit := range map[string]func(r *policy.Rule){
		"order":      func(r *policy.Rule) { r.Types, r.Actions = []string{"b.*", "a.*"}, []string{"update", "create"} },
		"repetition": func(r *policy.Rule) { r.Types = []string{"b.*", "a.*", "a.*"} },
		"name":       func(r *policy.Rule) { r.Name = "s" },
	} {
		if digest(edit) != first {
			t.Errorf("%s moves the digest, which is of the demand alone", why)
		}
	}
	binding, err := enforce("p", nil).Digest()
	if err != nil || binding == "" {
		t.Fatal(err)
	}
	if filtered, err := enforce("p", nil, "a.B").Digest(); err != nil || filtered == binding {
		t.Errorf("a binding's filter is not in its digest: %v", err)
	}
}

func TestRulesThatAreRefused(t *testing.T) {
	of, digest, err := policy.Builtin(policy.RequireTags)
	if err != nil {
		t.Fatal(err)
	}
	for why, edit := range map[string]func(r *policy.Rule){
		"no name":             func(r *policy.Rule) { r.Name = "" },
		"no level":            func(r *policy.Rule) { r.Level = "" },
		"no policy":           func(r *policy.Rule) { r.Policy = nil },
		"no digest":           func(r *policy.Rule) { r.PolicyDigest = "" },
		"a bad glob":          func(r *policy.Rule) { r.Types = []string{"[a"} },
		"an empty glob":       func(r *policy.Rule) { r.Types = []string{""} },
		"too many types":      func(r *policy.Rule) { r.Types = make([]string, 257) },
		"no action":           func(r *policy.Rule) { r.Actions = []string{"noop"} },
		"a bad parameter":     func(r *policy.Rule) { r.Params = map[string]any{"keys": int64(1)} },
		"a name without end":  func(r *policy.Rule) { r.Name = strings.Repeat("n", 600) },
		"a glob without end":  func(r *policy.Rule) { r.Types = []string{strings.Repeat("n", 300)} },
		"parameters of no IR": func(r *policy.Rule) { r.Params = map[string]any{"x": struct{}{}} },
	} {
		r := policy.Rule{Name: "r", Level: policy.Mandatory, Policy: of, PolicyDigest: digest}
		edit(&r)
		if _, err := policy.NewSet(r); err == nil {
			t.Errorf("a rule with %s is taken", why)
		}
	}
	if _, _, err := policy.Builtin("nope"); !model.IsKind(err, model.RegistryError) {
		t.Errorf("%v", err)
	}
}

func TestTooManyViolationsLoseNoLevel(t *testing.T) {
	changes := make([]policy.Change, policy.MaxViolations+5)
	for i := range changes {
		changes[i] = tagged(nil)
		changes[i].NodeID = fmt.Sprintf("dev:aws.S3Bucket:b%06d", i)
	}
	changes[len(changes)-1] = acting("delete", bucketID)
	v, err := judge(t, changes, ir.PolicyBinding{Name: policy.RequireTags, Level: policy.Advisory}, enforce(policy.DenyDestroy, map[string]any{"stacks": "prod"}))
	if err != nil {
		t.Fatal(err)
	}
	last := v.Violations[len(v.Violations)-2:]
	if len(v.Violations) != policy.MaxViolations+2 || last[0].Level != policy.Mandatory || last[0].NodeID != bucketID ||
		!strings.Contains(last[1].Message, "and 3 more advisory violations") {
		t.Errorf("%d violations, the last %+v", len(v.Violations), last)
	}
}

func TestTooManyBindings(t *testing.T) {
	if _, err := judge(t, nil, make([]ir.PolicyBinding, 1001)...); !model.IsKind(err, model.PolicyConfigError) {
		t.Errorf("%v", err)
	}
}

func TestMessagesAreFitToBeShown(t *testing.T) {
	v, err := judge(t, []policy.Change{tagged(nil)}, enforce(policy.RequireTags, map[string]any{"keys": []any{"a\x1b[31m\n", strings.Repeat("k", 5000)}}))
	if err != nil || len(v.Violations) != 1 {
		t.Fatal(v, err)
	}
	if m := v.Violations[0].Message; strings.ContainsAny(m, "\x1b\n") || len([]rune(m)) > 1000 {
		t.Errorf("%q", m)
	}
}

func TestACancelledContextEndsThePlan(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := new(policy.Set).Judge(ctx, []policy.Change{tagged(nil)}, []ir.PolicyBinding{enforce(policy.RequireTags, nil)}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Laws: a verdict is a function of its input; every change stands for itself; a binding
// judges what its filter lets through and nothing else; and what one binding says does not
// depend on the others.
func TestLawsOfJudging(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var changes []policy.Change
		for i := range rapid.IntRange(0, 6).Draw(t, "changes") {
			stack := rapid.SampledFrom([]string{"dev", "prod"}).Draw(t, "stack")
			action := rapid.SampledFrom([]string{"create", "update", "replace", "delete"}).Draw(t, "action")
			c := acting(action, fmt.Sprintf("%s:aws.S3Bucket:b%d", stack, i))
			if c.Desired != nil {
				c.Desired["tags"] = map[string]any{"env": rapid.SampledFrom([]any{"", "x", nil}).Draw(t, "tag")}
			}
			changes = append(changes, c)
		}
		var bindings []ir.PolicyBinding
		for range rapid.IntRange(0, 4).Draw(t, "bindings") {
			b := enforce(rapid.SampledFrom(policy.Names()).Draw(t, "policy"), map[string]any{"keys": "env", "stacks": []any{"prod"}})
			b.Level = rapid.SampledFrom([]string{policy.Mandatory, policy.Advisory}).Draw(t, "level")
			b.Types = rapid.SampledFrom([][]string{nil, {"aws.S3Bucket"}, {"local.File"}}).Draw(t, "types")
			bindings = append(bindings, b)
		}
		all := func(changes []policy.Change, bindings []ir.PolicyBinding) []policy.Violation {
			v, err := new(policy.Set).Judge(context.Background(), changes, bindings)
			if err != nil {
				t.Fatal(err)
			}
			if len(v.Results) != len(bindings) {
				t.Fatalf("%d results of %d bindings", len(v.Results), len(bindings))
			}
			return v.Violations
		}
		got := all(changes, bindings)
		var apart []policy.Violation
		for _, c := range changes {
			for _, b := range bindings {
				if found := all([]policy.Change{c}, []ir.PolicyBinding{b}); len(b.Types) == 0 || b.Types[0] == c.Type {
					apart = append(apart, found...)
				} else if len(found) > 0 {
					t.Fatalf("%+v got through the filter", found)
				}
			}
		}
		if diff := cmp.Diff(apart, got); diff != "" {
			t.Fatalf("together and apart (-apart +together):\n%s", diff)
		}
	})
}

func BenchmarkBuiltins(b *testing.B) {
	changes := make([]policy.Change, 10_000)
	for i := range changes {
		changes[i] = tagged(map[string]any{"env": "prod", "owner": "me"})
	}
	bindings := []ir.PolicyBinding{
		enforce(policy.RequireTags, map[string]any{"keys": []any{"env", "owner"}}),
		enforce(policy.RequireSecretRefs, nil),
		enforce(policy.DenyDestroy, map[string]any{"stacks": []any{"prod"}}),
	}
	b.ReportAllocs()
	for b.Loop() {
		if v, err := judge(b, changes, bindings...); err != nil || len(v.Violations) > 0 {
			b.Fatal(v.Violations, err)
		}
	}
}
