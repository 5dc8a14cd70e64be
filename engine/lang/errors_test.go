package lang

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// An error that comes out of what is iterated is the error, and not that the value
// cannot be iterated.
func TestErrorsOfIteratedCallsAreKept(t *testing.T) {
	for reason, text := range map[string]string{
		"in a slice assignment": "x = [1]\nx[0:1] = map(lambda v: 1 / 0, [1])",
		"in an unpacking":       "a, b = map(lambda v: 1 / 0, [1, 2])",
		"in a call's arguments": "def f(a, b): return a\nf(*map(lambda v: 1 / 0, [1, 2]))",
		"in a loop":             "for i in map(lambda v: 1 / 0, [1]):\n    pass",
		"in a comprehension":    "x = [i for i in map(lambda v: 1 / 0, [1])]",
	} {
		t.Run(reason, func(t *testing.T) {
			_, err := compile(t, text, Options{})
			if !model.IsKind(err, model.LanguageError) || !strings.Contains(err.Error(), "ZeroDivisionError") {
				t.Errorf("got %v, want the ZeroDivisionError of the call", err)
			}
		})
	}
}

func failing(t *testing.T, text string, o Options) *model.Error {
	t.Helper()
	_, err := compile(t, text, o)
	e, ok := errors.AsType[*model.Error](err)
	if !ok {
		t.Fatalf("error %v", err)
	}
	return e
}

// A subset error reports the next ones with it, a bounded number of them.
func TestViolationsAreReportedTogether(t *testing.T) {
	for _, c := range []struct {
		reason      string
		violations  int
		beside      int
		leftUnshown string
	}{
		{"one alone", 1, 0, ""},
		{"as many as are shown", maxViolations, maxViolations - 1, ""},
		{"one more", maxViolations + 1, maxViolations, "1 more are not shown; mend the first ones and check again"},
		{"very many", 500, maxViolations, "480 more are not shown; mend the first ones and check again"},
	} {
		e := failing(t, strings.Repeat("x = eval\n", c.violations), Options{})
		if e.Line != 1 || len(e.AlsoFailed) != c.beside {
			t.Errorf("%s: line %d with %d beside it, want %d", c.reason, e.Line, len(e.AlsoFailed), c.beside)
			continue
		}
		for i, also := range e.AlsoFailed {
			switch last := i == maxViolations-1; {
			case last && (also.Line != 0 || also.Message != c.leftUnshown):
				t.Errorf("%s: the last one is %v", c.reason, also)
			case !last && (also.Line != i+2 || also.Col != 5):
				t.Errorf("%s: number %d is %v", c.reason, i, also)
			}
		}
	}
}

// However deep the calls are, an error has few related places, innermost first, each
// with its line.
func TestRelatedPlacesAreBounded(t *testing.T) {
	var text strings.Builder
	text.WriteString("def f0(x):\n    return 1 / x\n")
	for i := range 20 {
		fmt.Fprintf(&text, "def f%d(x):\n    return f%d(x)\n", i+1, i)
	}
	text.WriteString("f20(0)\n")
	e := failing(t, text.String(), Options{})
	if e.Line != 2 || len(e.Related) != model.MaxRelated {
		t.Fatalf("line %d with %d related places", e.Line, len(e.Related))
	}
	for i, r := range e.Related {
		want := model.Place{File: "infra.py", Line: 2*i + 4, Col: 12, Source: fmt.Sprintf("    return f%d(x)", i)}
		if r.Place != want || r.Message != "called from here" {
			t.Errorf("related place %d is %+v", i, r)
		}
	}
}

// Where nodes are declared is known beside the document, components' at their calls.
func TestOrigins(t *testing.T) {
	site := thing("", "child(W, 'part')")
	res, err := compile(t, useAcme+`def make(name):
    return W(name)

make("b")
with Stack("s", region="r"):
    W(
        "a")
Thing("t")
`, site.tree())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, n := range res.Document.Nodes {
		at := res.Declared(n.ID)
		got[n.ID] = fmt.Sprintf("%s:%d:%d %s", at.File, at.Line, at.Col, strings.TrimSpace(at.Source))
	}
	want := map[string]string{
		"default:test.W:b":      "infra.py:5:12 return W(name)",
		"s:test.W:a":            "infra.py:9:5 W(",
		"default:test.W:t-part": "infra.py:11:1 Thing(\"t\")",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if at := res.Declared("s:test.W:nope"); at != (model.Place{}) {
		t.Errorf("an unknown node is declared at %+v", at)
	}
}

// No hash and no byte of the document moves with the place of a declaration.
func TestOriginsLeaveNoTrace(t *testing.T) {
	plain, err := compile(t, "from atlantide.providers.test import W\nW('a')\nW('b')\n", Options{})
	if err != nil {
		t.Fatal(err)
	}
	moved, err := compile(t, "from atlantide.providers.test import W\n\n\nfor name in ['b', 'a']:\n    W(name)\n", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if plain.Hash != moved.Hash || asJSON(t, plain.Document.Stored()) != asJSON(t, moved.Document.Stored()) {
		t.Error("the document depends on where its nodes are declared")
	}
	if diff := cmp.Diff(plain.Hashes, moved.Hashes); diff != "" {
		t.Error(diff)
	}
}

// A warning is said once for each place, as text and as a diagnostic.
func TestWarningsHavePlaces(t *testing.T) {
	res, err := compile(t, `from atlantide.providers.test import W
w = W("w")
for i in range(3):
    label = f"{i}: {w.out}"
`, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []model.Diagnostic{{
		Place:    model.Place{File: "infra.py", Line: 4, Col: 20, Source: `    label = f"{i}: {w.out}"`},
		Code:     model.HandleInText,
		Severity: model.SeverityWarning,
		Message:  "a Ref is written into a text; its value is known at apply only",
		Hint:     "use interpolate() or concat()",
	}}
	if diff := cmp.Diff(want, res.Diagnostics); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"line 4, col 20: a Ref is written into a text; its value is known at apply only; use interpolate() or concat()"}, res.Warnings); diff != "" {
		t.Error(diff)
	}
}

// A hint costs little, whatever the config holds.
func TestHintsAreBounded(t *testing.T) {
	long := strings.Repeat("a", 300)
	for reason, text := range map[string]string{
		"a name that is very long":           "x = " + long,
		"among many names":                   "d = {str(i) * 50: i for i in range(9000)}\nx = d['1' * 49]",
		"a key that is no text":              "d = {1: 2}\nx = d[3]",
		"an argument that is very long":      "def f(a): return a\nf(" + long + "=1)",
		"a field that is very long":          "from atlantide.providers.test import W\nW('w', " + long + "=1)",
		"a value that is very long":          "from atlantide.providers.test import Rule\nRule(port=1, protocol='" + long + "')",
		"an environment that is very long":   "from atlantide.core import Config\nConfig(envs={'d': {}}).env('" + long + "')",
		"an attribute of a value of a class": "from atlantide.core import EnvSchema\nclass A(EnvSchema):\n    x: int = 1\nA.y",
	} {
		t.Run(reason, func(t *testing.T) {
			if e := failing(t, text, Options{}); len(e.Hint) > 300 || e.Class != model.ClassUser {
				t.Errorf("class %s, hint %q", e.Class, e.Hint)
			}
		})
	}
}
