package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// unchanged nodes are counted where they are many, unless they are asked for.
func TestShowUnchanged(t *testing.T) {
	c := newConfig()
	for i := range 41 {
		c.file(fmt.Sprintf("m:local.File:f%02d", i), "p", "")
	}
	p := mustPlan(t, c, applied(t, c))
	if text := p.Text(); strings.Count(text, "= noop") != 0 || !strings.Contains(text, "= 41 unchanged") {
		t.Errorf("not folded:\n%s", text)
	}
	if text := p.TextWith(plan.TextOptions{ShowUnchanged: true}); strings.Count(text, "= noop") != 41 || strings.Contains(text, "= 41 unchanged") {
		t.Errorf("folded:\n%s", text)
	}
}

// A text with styles is the one without them, its parts marked.
func TestPaint(t *testing.T) {
	parts := map[plan.Part]int{}
	painted := everyChange(t).TextWith(plan.TextOptions{Paint: func(part plan.Part, text string) string {
		parts[part]++
		return "<" + string(part) + ">" + text + "</>"
	}})
	plain := painted
	for part := range parts {
		plain = strings.ReplaceAll(plain, "<"+string(part)+">", "")
	}
	if diff := cmp.Diff(everyChange(t).Text(), strings.ReplaceAll(plain, "</>", "")); diff != "" {
		t.Errorf("(-plain +painted):\n%s", diff)
	}
	want := map[plan.Part]int{
		plan.PartUpdate: 5, plan.PartReplace: 2, plan.PartDelete: 2, plan.PartNoop: 1,
		plan.PartStack: 2, plan.PartDenied: 2, plan.PartWarning: 2,
	}
	if diff := cmp.Diff(want, parts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if line := "  <update>~ update  aws.Database:db</>\n"; !strings.Contains(painted, line) {
		t.Errorf("no %q in\n%s", line, painted)
	}
}

// A reference that moves gives no sensitive value away, also where only a part of what it
// gives is one; neither does a value that becomes a handle.
func TestMovedSecretsAreNotTold(t *testing.T) {
	c := newConfig()
	c.file("m:local.File:left", "left.txt", "")
	mixed := model.Transform{Op: "concat", Args: []any{ref("m:local.File:left", "checksum"), model.StackOutputMarker("other:password")}}
	c.file("m:local.File:reader", "r.txt", mixed.Marker())
	c.file("m:local.File:plain", "p.txt", "hunter2")
	snapshot := emptySnapshot()
	commitPassword := func() { snapshot.Outputs["other:password"] = state.Output{Value: "hunter2", Sensitive: true} }
	commitPassword()
	perform(t, mustPlan(t, c, snapshot), snapshot)
	commitPassword() // nothing of its stack is recorded here, so that the run retired it
	snapshot.Rows["m:local.File:left"].Outputs["checksum"] = "moved"
	c.nodes["m:local.File:plain"].Properties = map[string]any{"path": "p.txt", "content": model.SecretRef{Name: "app/key"}.Marker()}
	p := mustPlan(t, c, snapshot)
	for _, detail := range []plan.Detail{plan.DetailShort, plan.DetailFull} {
		text := p.TextWith(plan.TextOptions{Detail: detail})
		if strings.Contains(text, "hunter2") || !strings.Contains(text, "content: (sensitive) (same reference") || !strings.Contains(text, "content: (sensitive) → (sensitive)") {
			t.Errorf("%s:\n%s", detail, text)
		}
	}
}
