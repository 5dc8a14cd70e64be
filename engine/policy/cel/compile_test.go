package cel_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/policy/cel"
)

func TestSourcesThatAreRefused(t *testing.T) {
	compiler := newCompiler(t)
	nested := strings.Repeat("(", 200) + "true" + strings.Repeat(")", 200)
	for _, tc := range []struct {
		why    string
		source cel.Source
		wants  string
	}{
		{"nothing", cel.Source{}, "empty"},
		{"white space", cel.Source{Expression: " \n"}, "empty"},
		{"no expression", cel.Source{Expression: "change.action =="}, "(line 1, col "},
		{"a place on another line", cel.Source{Expression: "true &&\n  chnage.action == ''"}, "'chnage'"},
		{"a misspelt field", cel.Source{Expression: "change.actoin == 'x'"}, "actoin"},
		{"a field of another type", cel.Source{Expression: "change.action == 3"}, "no matching overload"},
		{"no truth value", cel.Source{Expression: "change.action"}, "must give a bool, and gives a string"},
		{"a value of which nobody knows the type", cel.Source{Expression: "change.desired.public"}, "must give a bool, and gives a dyn"},
		{"a message that is no text", cel.Source{Expression: "true", Message: "1"}, "message expression must give a string"},
		{"a message that does not compile", cel.Source{Expression: "true", Message: "nope"}, "message expression does not compile"},
		{"no clock", cel.Source{Expression: "timestamp('2020-01-01T00:00:00Z') < now"}, "timestamp"},
		{"no durations", cel.Source{Expression: "duration('1s') == duration('1s')"}, "duration"},
		{"nor by their types", cel.Source{Expression: "google.protobuf.Timestamp{} == null"}, "cannot be made"},
		{"no objects", cel.Source{Expression: "atlantide.Change{action: 'x'} == change"}, "cannot be made"},
		{"no pattern out of a change", cel.Source{Expression: "'x'.matches(change.desired.name)"}, "literal"},
		{"no pattern put together", cel.Source{Expression: "'x'.matches('a' + change.type)"}, "literal"},
		{"a bad pattern", cel.Source{Expression: "'x'.matches('(')"}, "(line 1"},
		{"a pattern that explodes", cel.Source{Expression: "'x'.matches('((a{100}){10})')"}, "instructions"},
		{"loops in loops in loops", cel.Source{Expression: "change.changedFields.all(a, change.changedFields.all(b, change.changedFields.all(c, a + b + c != '')))"}, "nest fewer loops"},
		{"too deep", cel.Source{Expression: nested}, "does not compile"},
		{"too many parts", cel.Source{Expression: "true" + strings.Repeat(" && true", 1000)}, "does not compile"},
		{"too long", cel.Source{Expression: "true // " + strings.Repeat("x", 9000)}, "bytes"},
		{"a message that is too long", cel.Source{Expression: "true", Message: `"` + strings.Repeat("x", 9000) + `"`}, "bytes"},
		{"no UTF-8", cel.Source{Expression: "'\xff' == ''"}, "UTF-8"},
		{"the meter is out of reach", cel.Source{Expression: "@meter == null"}, "does not compile"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			_, _, err := compiler.Compile(tc.source)
			if !model.IsKind(err, model.PolicyConfigError) || model.ClassOf(err) != model.ClassUser || !strings.Contains(err.Error(), tc.wants) {
				t.Fatalf("%v, want a PolicyConfigError with %q", err, tc.wants)
			}
			if strings.Contains(err.Error(), "\n") || len(err.Error()) > 2500 {
				t.Errorf("%q is not one short line", err)
			}
		})
	}
}

func TestADigestNamesWhatIsDemanded(t *testing.T) {
	digest := func(s cel.Source) string {
		_, d, err := newCompiler(t).Compile(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	first := digest(cel.Source{Expression: "true", Message: "'x'"})
	if again := digest(cel.Source{Expression: "true", Message: "'x'"}); again != first {
		t.Errorf("another compiler gives %s, not %s", again, first)
	}
	for _, other := range []cel.Source{{Expression: "true "}, {Expression: "true"}, {Expression: "true", Message: "'y'"}} {
		if digest(other) == first {
			t.Errorf("%+v has the same digest", other)
		}
	}
}

func TestACompilerIsShared(t *testing.T) {
	compiler := newCompiler(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i, wants := range []bool{true, false} {
				s := cel.Source{Expression: []string{"change.desired.size == 20", "change.desired.size == 21"}[i]}
				if got := verdict(t, compiler, s, nil, update()); (got == "") != wants {
					t.Errorf("%s: %q", s.Expression, got)
				}
			}
		})
	}
	all.Wait()
}

func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		"true", "change.desired.zones.all(z, z in ['a'])", "change.desired.tags.env.matches('^p.*$')",
		"known(change.desired.address) ? true : sensitive(change.desired)", "'%s'.format([change.desired]) == ''",
		"[[change.desired.zones]].map(a, [a + a]).map(b, b == b).size() > 0", "change.desired.name.replace('', 'ab').split('') == []",
		"{'a': 1}.exists_one(k, k == 'a')", "1u + 2u > 0u && 0x1 == 1", "b'a' == b'b'", "type(change) == type(1)",
	} {
		f.Add(seed, "'m'")
		f.Add("false", seed)
	}
	compiler := newCompiler(f)
	f.Fuzz(func(t *testing.T, expression, message string) {
		demanded, _, err := compiler.Compile(cel.Source{Expression: expression, Message: message})
		if err != nil {
			if !model.IsKind(err, model.PolicyConfigError) {
				t.Fatalf("%v is no PolicyConfigError", err)
			}
			return
		}
		check, err := demanded("rule", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changesOfEveryKind() {
			said, err := check(t.Context(), c)
			if err != nil {
				t.Fatalf("the rule ends the plan: %v", err)
			}
			if strings.Contains(said, canary) && !strings.Contains(expression+message, canary) {
				t.Fatalf("%q shows a sensitive value", said)
			}
		}
	})
}
