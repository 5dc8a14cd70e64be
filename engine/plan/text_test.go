package plan_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestText(t *testing.T) {
	t.Run("first", func(t *testing.T) {
		c := network()
		c.inputs = map[string]any{"size": int64(3), "names": []any{"a", "b"}}
		c.output("n:sum", ref(fileID, "checksum"))
		c.output("n:lit", map[string]any{"b": true, "a": nil})
		golden(t, "first", mustPlan(t, c, emptySnapshot()).Text())
	})
	t.Run("idle", func(t *testing.T) {
		golden(t, "idle", mustPlan(t, network(), applied(t, network())).Text())
	})
	t.Run("empty", func(t *testing.T) {
		golden(t, "empty", mustPlan(t, newConfig(), emptySnapshot()).Text())
	})
	t.Run("changes", func(t *testing.T) { golden(t, "changes", everyChange(t).Text()) })
	t.Run("hostile", func(t *testing.T) { golden(t, "hostile", hostile(t).Text()) })
	t.Run("folded", func(t *testing.T) {
		c := network()
		for i := range 43 {
			c.file(fmt.Sprintf("m:local.File:f%02d", i), "p", "")
		}
		snapshot := applied(t, c)
		c.nodes["m:local.File:f07"].Properties["content"] = "x"
		c.file("m:local.File:f99", "p", "")
		snapshot.Rows["m:local.File:f40"].PreventDestroy = true
		c.file("m:local.File:g00", "p", "")
		golden(t, "folded", mustPlan(t, c, snapshot).Text())
	})
}

// everyChange has each kind of line once.
func everyChange(t *testing.T) *plan.Plan {
	declare := func() *config {
		c := network()
		c.file("m:local.File:gone", "gone.txt", "")
		c.file("m:local.File:left", "left.txt", "")
		c.file("m:local.File:reader", "r.txt", ref("m:local.File:left", "checksum"))
		c.file("m:local.File:guarded", "guarded.txt", "")
		c.add("m:aws.Database:db", map[string]any{"password": "hunter2", "tags": "a"})
		c.output("m:gone", "x")
		return c
	}
	snapshot := applied(t, declare())
	snapshot.Rows["m:local.File:left"].Outputs["checksum"] = "moved"
	snapshot.Rows["m:local.File:guarded"].PreventDestroy = true
	interrupt(snapshot, otherID, state.CreateBeforeDestroy, "old.txt")
	snapshot.Rows[otherID].Status = state.StatusCreated
	c := declare()
	delete(c.nodes, "m:local.File:gone")
	c.outputs = nil
	c.nodes["m:aws.Database:db"].Properties["password"] = "hunter3"
	c.nodes[vpcID].Properties["tags"] = map[string]any{"a": strings.Repeat("long ", 20)}
	c.nodes[vpcID].PreventDestroy = true
	c.nodes[fileID].Properties["path"] = "moved.txt"
	c.nodes[fileID].CreateBeforeDestroy = true
	c.output("n:sum", ref(fileID, "checksum"))
	p := mustPlan(t, c, snapshot)
	p.Violations = []plan.Violation{
		{Policy: "require-tags", Level: "mandatory", NodeID: vpcID, Message: vpcID + " has no tags"},
		{Policy: "naming", Level: "advisory", NodeID: vpcID, Message: "short name"},
	}
	p.Warnings = append(p.Warnings, "one more thing")
	return p
}

const attack = "\x1b[2J\x1b]0;x\a\r\nwarning fake\u202e\u2028\x00\u009b31m'\xff"

// hostile has an attack wherever text of others is shown.
func hostile(t *testing.T) *plan.Plan {
	snapshot := applied(t, network())
	snapshot.Rows[fileID].Properties = map[string]any{"path": "f.txt", "content": attack, attack: "x"}
	snapshot.Rows[fileID].InputHash = "0"
	snapshot.Rows["x"+attack+":local.File:"+attack] = &state.Row{Status: state.StatusCreated}
	snapshot.Outputs["n:"+attack] = state.Output{Value: "x"}
	c := network()
	c.inputs = map[string]any{attack: []any{attack}}
	c.output("n:o", "safe")
	p := mustPlan(t, c, snapshot)
	p.Violations = []plan.Violation{{Policy: attack, Level: "mandatory", Message: attack}}
	p.Warnings = []string{attack}
	return p
}

// TestTextHoldsNoControlCharacter draws the values that a plan shows.
func TestTextHoldsNoControlCharacter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		snapshot := applied(t, network())
		c := network()
		text := rapid.StringOf(rapid.RuneFrom([]rune("a'\"\\\x00\n\x1b\u009b\u200f\u2028\ufeff\U000e0001é😀"))).Draw(t, "text")
		c.nodes[fileID].Properties["content"] = []any{text, map[string]any{text: text}}
		c.inputs = map[string]any{text: text}
		for _, r := range mustPlan(t, c, snapshot).Text() {
			if r != '\n' && !unicode.IsPrint(r) {
				t.Fatalf("%U came through", r)
			}
		}
	})
}

// What others may read shows no value that its schema does not declare printable
// (operator.md 1.11).
func TestPublicViewHidesValues(t *testing.T) {
	c := network()
	c.nodes[fileID].Properties["content"] = "canary-of-a-field"
	c.nodes[fileID].Properties["path"] = "shown/path.txt"
	c.inputs = map[string]any{"name-of-an-input": "canary-of-an-input"}
	c.output("n:o", []any{"canary-of-an-output"})
	snapshot := applied(t, network())
	snapshot.Rows[fileID].Properties["content"] = "canary-of-a-row"
	p := mustPlan(t, c, snapshot)

	text := p.PublicText()
	payload, err := model.EncodeJSON(p.PublicPayload())
	if err != nil {
		t.Fatal(err)
	}
	for what, view := range map[string]string{"text": text, "payload": string(payload)} {
		if strings.Contains(view, "canary") {
			t.Errorf("the public %s shows a value:\n%s", what, view)
		}
		if !strings.Contains(view, "name-of-an-input") || !strings.Contains(view, "sha256:") {
			t.Errorf("the public %s lacks names or digests:\n%s", what, view)
		}
	}
	if !strings.Contains(text, "→ 'shown/path.txt'") {
		t.Errorf("a printable field is hidden:\n%s", text)
	}
	if full := p.Text(); strings.Count(full, "canary") != 4 {
		t.Errorf("the author's text shows %d of 4 values:\n%s", strings.Count(full, "canary"), full)
	}
}

func TestTextHidesSecrets(t *testing.T) {
	text := everyChange(t).Text()
	for _, secret := range []string{"hunter2", "hunter3"} {
		if strings.Contains(text, secret) {
			t.Errorf("the text shows %q", secret)
		}
	}
}

func TestShownValues(t *testing.T) {
	secret := model.SecretRef{Name: "token"}.Marker()
	for _, tc := range []struct {
		why   string
		value any
		want  string
	}{
		{"nothing", nil, "None"},
		{"truth", []any{true, false}, "[True, False]"},
		{"numbers as Python writes them", []any{int64(7), -0.5, 1.0, 123456789.25, 0.0001}, "[7, -0.5, 1.0, 123456789.25, 0.0001]"},
		{"exponents as well", []any{1e16, 1e15, 1e-5, 1e100}, "[1e+16, 1000000000000000.0, 1e-05, 1e+100]"},
		{"not finite", []any{math.Inf(1), math.Inf(-1), math.NaN()}, "[inf, -inf, nan]"},
		{"quotes as Python chooses them", []any{"a", "it's", `"`, `'"`}, `['a', "it's", '"', '\'"']`},
		{"escapes", "\\\n\t\x7f\u00a0\u200b\U000e0001é😀", `'\\\n\t\x7f\xa0\u200b\U000e0001é😀'`},
		{"maps by key", map[string]any{"b": int64(1), "a": []any{}}, "{'a': [], 'b': 1}"},
		{"cut to sixty characters", strings.Repeat("é", 80), "'" + strings.Repeat("é", 58) + "…"},
		{"sixty fit", strings.Repeat("é", 58), "'" + strings.Repeat("é", 58) + "'"},
		{"a secret anywhere", []any{"x", secret}, "(sensitive)"},
		{"a sealed value", map[string]any{model.KeySealed: "v3:x"}, "(sensitive)"},
		{"a reference anywhere", []any{ref(fileID, "checksum")}, "(known after apply)"},
		{"another stack's output", model.StackOutputMarker("net:zone"), "(known after apply)"},
		{"a combinator of known values", op("join", ",", []any{"a", "b"}), "'a,b'"},
		{"a combinator in a container", []any{op("concat", "a", int64(1)), "b"}, "['a1', 'b']"},
		{"a combinator of a reference", op("concat", "a", ref(fileID, "checksum")), "(known after apply)"},
		{"a combinator of another stack's output", op("concat", "a", model.StackOutputMarker("net:zone")), "(known after apply)"},
		{"a combinator of a secret", op("concat", "a", secret), "(sensitive)"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			c := network()
			c.output("n:o", tc.value)
			text := mustPlan(t, c, emptySnapshot()).Text()
			if want := "  n:o = " + tc.want + "\n"; !strings.Contains(text, want) {
				t.Errorf("want %q in\n%s", want, text)
			}
		})
	}
}

func TestSummary(t *testing.T) {
	for _, tc := range []struct {
		summary        plan.Summary
		words, oneLine string
	}{
		{plan.Summary{}, "no changes", "+0 ~0 ±0 -0"},
		{plan.Summary{Noop: 3}, "3 unchanged", "+0 ~0 ±0 -0"},
		{plan.Summary{Create: 2, Update: 1, Replace: 1, Delete: 4, Noop: 3, StateOnly: 1}, "2 to add, 2 to change, 4 to destroy, 1 state-only, 2 unchanged", "+2 ~1 ±1 -4"},
	} {
		if tc.summary.String() != tc.words || tc.summary.OneLine() != tc.oneLine {
			t.Errorf("%q, %q; want %q, %q", tc.summary, tc.summary.OneLine(), tc.words, tc.oneLine)
		}
	}
}

func TestDestructive(t *testing.T) {
	for _, tc := range []struct {
		why  string
		rows func(s *state.Snapshot)
		edit func(c *config)
		want bool
	}{
		{why: "nothing"},
		{why: "an update", edit: func(c *config) { c.nodes[fileID].Properties["content"] = "two" }},
		{why: "a new guard", edit: func(c *config) { c.nodes[fileID].PreventDestroy = true }},
		{why: "a guard that goes", rows: func(s *state.Snapshot) { s.Rows[fileID].PreventDestroy = true }, want: true},
		{why: "a delete", edit: func(c *config) { delete(c.nodes, otherID) }, want: true},
		{why: "a replace", edit: func(c *config) { c.nodes[fileID].Properties["path"] = "x" }, want: true},
		{why: "a conditional replace", edit: func(c *config) { c.nodes[vpcID].Properties["tags"] = "b" }, want: true},
	} {
		snapshot := applied(t, network())
		c := network()
		if tc.rows != nil {
			tc.rows(snapshot)
		}
		if tc.edit != nil {
			tc.edit(c)
		}
		if got := mustPlan(t, c, snapshot).Destructive(); got != tc.want {
			t.Errorf("%s: destructive %t; want %t", tc.why, got, tc.want)
		}
	}
}
