package cel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/policy"
	"github.com/atlantide-org/atlantide-operator/engine/policy/cel"
)

func changesOfEveryKind() []*policy.Change { return []*policy.Change{create(), update(), remove()} }

// repeated nests an expression in loops over one element each, so that a name in it
// doubles with every loop.
func repeated(loops int, double, innermost string) string {
	text := strings.ReplaceAll(innermost, "X", fmt.Sprintf("x%d", loops))
	for i := loops; i > 0; i-- {
		text = fmt.Sprintf("[%s].all(x%d, %s)", strings.ReplaceAll(double, "X", fmt.Sprintf("x%d", i-1)), i, text)
	}
	return "[change.desired.zones].all(x0, " + text + ")"
}

// Each of these would take hours or all memory without a limit that holds before the
// work is done.
func TestCostsAreBounded(t *testing.T) {
	compiler := newCompiler(t)
	big := update()
	var list []any
	for i := range 20_000 {
		list = append(list, fmt.Sprintf("item %d", i))
	}
	big.Desired["zones"], big.Desired["name"] = list, strings.Repeat("a", 60_000)
	for _, tc := range []struct {
		why, expression string
		early           bool // found by the estimate
	}{
		{"loops in a loop over a big list", `change.desired.zones.all(a, change.desired.zones.all(b, a + b != "x"))`, false},
		{"a list that holds itself twice, forty times over, compared", repeated(20, "[[X, X], [X, X]]", "X == X"), false},
		{"looked for", repeated(20, "[[X, X], [X, X]]", "!(X in [X])"), false},
		{"asked for", repeated(20, "[[X, X], [X, X]]", "known(X)"), false},
		{"formatted", repeated(20, "[[X, X], [X, X]]", "'%s'.format([X]) != ''"), false},
		{"a list joined to itself", repeated(25, "X + X", "size(X) > 0"), false},
		{"a text joined to itself", repeated(25, "X + X", "size(X) > 0") + " && " + strings.ReplaceAll(repeated(25, "X + X", "size(X) > 0"), "desired.zones", "desired.name"), false},
		{"a text in each place of a text", `change.desired.name.replace("", change.desired.name) != ""`, false},
		{"a long text between many", `change.desired.zones.map(z, string(z)).join(change.desired.name) != ""`, false},
		{"a search for a long text", `change.desired.name.indexOf(change.desired.name.substring(1) + "b") != 0`, false},
		{"a big pattern over a long text", `change.desired.name.matches("(a|b|c|[a-z]){90}x$") == true`, false},
		{"one list in another", `change.desired.zones.all(a, a in change.desired.zones)`, false},
		{"the limit cannot be got past with an or", `change.desired.zones.all(a, a in change.desired.zones) || true`, false},
		{"a long text read as a number again and again", `change.desired.zones.exists(a, int(change.desired.name) == 1)`, false},
		{"one long loop", `change.desired.zones.exists(a, a.upperAscii() == a + "x")`, false},
		{"a long loop that filters", `change.desired.zones.filter(a, change.conditional).size() == 0 && change.desired.zones.filter(a, change.conditional).size() == 1 ||
			change.desired.zones.exists_one(a, change.conditional)`, false},
		{"a big mapping made again and again", `change.desired.zones.all(a, {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}.size() == 5)`, false},
		{"loops in loops in loops", `change.desired.zones.all(a, change.desired.zones.all(b, change.desired.zones.all(c, a + b != c)))`, true},
	} {
		t.Run(tc.why, func(t *testing.T) {
			rule := cel.Source{Expression: tc.expression}
			if _, _, err := compiler.Compile(rule); err != nil {
				if !tc.early || !strings.Contains(err.Error(), "costs too much") {
					t.Fatal(err)
				}
				return
			}
			if got := verdict(t, compiler, rule, nil, big); tc.early || !strings.Contains(got, "costs more than one evaluation may") {
				t.Errorf("%s\ngives %q", tc.expression, got)
			}
		})
	}
	costly := cel.Source{Expression: "false", Message: `string(change.desired.zones.all(a, a in change.desired.zones))`}
	if got := verdict(t, compiler, costly, nil, big); !strings.Contains(got, "the rule is not met: false") {
		t.Errorf("a message that costs too much gives %q", got)
	}
}

func TestARuleHasOneBudgetForAPlan(t *testing.T) {
	compiler, err := cel.NewThriftyCompiler(1000)
	if err != nil {
		t.Fatal(err)
	}
	demanded, _, err := compiler.Compile(cel.Source{Expression: `change.desired.zones.all(a, a != "")`})
	if err != nil {
		t.Fatal(err)
	}
	const spent = "as much as it may in one plan"
	for plan := range 2 {
		check, err := demanded("rule", nil)
		if err != nil {
			t.Fatal(err)
		}
		first := 0 // change that is not judged any more
		for i := 1; i <= 1000; i++ {
			said, err := check(t.Context(), update())
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case said == "" && first == 0:
			case strings.Contains(said, spent) && first == 0:
				first = i
			case !strings.Contains(said, spent):
				t.Fatalf("change %d says %q", i, said)
			}
		}
		if first < 10 || first > 500 {
			t.Errorf("plan %d: the budget lasts for %d changes", plan, first-1)
		}
	}
}

func TestACancelledPlanEnds(t *testing.T) {
	demanded, _, err := newCompiler(t).Compile(cel.Source{Expression: `change.desired.zones.all(a, a != "")`})
	if err != nil {
		t.Fatal(err)
	}
	check, err := demanded("rule", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if said, err := check(ctx, update()); !errors.Is(err, context.Canceled) || said != "" {
		t.Errorf("%q, %v: neither a pass nor a violation was found out", said, err)
	}
}

// Whatever a rule does with a sensitive value, it neither tells it nor passes by it.
func TestSensitiveValuesAreNeverTold(t *testing.T) {
	compiler := newCompiler(t)
	atoms := []string{"change.desired.password", "change.prior.password", "change.desired.nested.token", "change.desired.nested", "change.desired"}
	wraps := []string{"[%s]", "{'k': %s}", "[1, [%s]]", "(true ? %s : %s)", "dyn(%s)"}
	asks := []string{
		"%s == 'x'", "%s != 'x'", "!(%s == ['x'])", "!('x' in [%s])", "string(%s) == 'x'", "'%%s'.format([%s]) == 'x'", "%s == %s", "[%s].exists(x, x == 'h')",
		"[%s].all(x, x != 'h')", "[%s].filter(x, x == 'h').size() == 0", "{'a': %s}.all(k, {'a': %s}[k] != 'x')",
	}
	fill := func(format, with string) string {
		args := make([]any, strings.Count(format, "%s")-strings.Count(format, "%%s"))
		for i := range args {
			args[i] = with
		}
		return fmt.Sprintf(format, args...)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom(atoms).Draw(t, "atom")
		for range rapid.IntRange(0, 3).Draw(t, "depth") {
			text = fill(rapid.SampledFrom(wraps).Draw(t, "wrap"), text)
		}
		expression := fill(rapid.SampledFrom(asks).Draw(t, "ask"), text)
		demanded, _, err := compiler.Compile(cel.Source{Expression: expression, Message: "string(" + text + ")"})
		if err != nil {
			return
		}
		check, err := demanded("rule", nil)
		if err != nil {
			t.Fatal(err)
		}
		said, err := check(context.Background(), update())
		if err != nil || said == "" || strings.Contains(said, canary) {
			t.Fatalf("%s gives %q, %v", expression, said, err)
		}
	})
}

func BenchmarkRules(b *testing.B) {
	compiler := newCompiler(b)
	var rules []policy.Rule
	for i, expression := range []string{
		`change.action != "delete" || change.stack != "prod"`,
		`!has(change.desired) || change.desired.size <= 100 && change.desired.name.startsWith("m")`,
		`!has(change.desired) || ["env", "ref"].all(k, k in change.desired.tags)`,
	} {
		demanded, digest, err := compiler.Compile(cel.Source{Expression: expression})
		if err != nil {
			b.Fatal(err)
		}
		rules = append(rules, policy.Rule{Name: fmt.Sprint("rule ", i), Level: policy.Mandatory, Policy: demanded, PolicyDigest: digest})
	}
	set, err := policy.NewSet(rules...)
	if err != nil {
		b.Fatal(err)
	}
	changes := make([]policy.Change, 10_000)
	for i := range changes {
		changes[i] = *update()
	}
	b.ReportAllocs()
	for b.Loop() {
		if v, err := set.Judge(context.Background(), changes, nil); err != nil || len(v.Violations) > 0 {
			b.Fatal(v.Violations, err)
		}
	}
}
