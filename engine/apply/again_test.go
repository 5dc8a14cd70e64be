package apply_test

import (
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/apply/applytest"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

// never is a step that no run of these tests reaches.
const never = 1000

// TestKilledAgainAndAgain: histories of several runs, each killed or failed, that once left
// something behind.
func TestKilledAgainAndAgain(t *testing.T) {
	type run struct {
		nodes  []ir.Node
		step   int // that it is killed at
		after  bool
		broken string // the node that cannot be made
	}
	a := func(key, value string) ir.Node { return first(thing("a", key, value)) }
	d := first(thing("d", "k", "1"))
	bucket := func(name string, key, value any) ir.Node {
		return node("s:test.Bucket:"+name, map[string]any{"key": key, "value": value})
	}
	named := func(key, value string) ir.Node { return first(bucket("a", key, value)) }
	b := bucket("b", model.Reference{NodeID: "s:test.Bucket:a", Output: "sum"}.Marker(), "1")
	for _, c := range []struct {
		reason string
		runs   []run
		last   []ir.Node
	}{
		{"what refers to a node whose replacement was never confirmed was made from the old half", []run{
			{[]ir.Node{named("k", "1"), b}, 5, false, ""},
			{[]ir.Node{named("k2", "1")}, 0, true, ""},
		}, nil},
		{"what an interrupted create was to be called is not guessed once its upstream moved on", []run{
			{[]ir.Node{named("k", "1"), b}, never, false, ""},
			{[]ir.Node{named("k2", "2")}, 3, true, ""},
		}, []ir.Node{first(bucket("b", "kb", "2"))}},
		{"the config goes back to the old half before the new one is made", []run{
			{[]ir.Node{named("k2", "1")}, never, false, ""},
			{[]ir.Node{named("k", "1")}, 0, true, ""},
		}, []ir.Node{named("k2", "1")}},
		{"and finds it deleted", []run{
			{[]ir.Node{a("k", "1")}, never, false, ""},
			{[]ir.Node{a("k2", "1")}, 0, true, ""},
			{[]ir.Node{d}, 7, false, ""},
		}, []ir.Node{a("k", "1")}},
		{"an undone finish does not trust in an old half that a clean-up may have got to", []run{
			{[]ir.Node{a("k", "1")}, never, false, ""},
			{[]ir.Node{a("k2", "1")}, 0, true, ""},
			{[]ir.Node{d}, 6, true, ""},
			{[]ir.Node{a("k2", "1"), thing("b", "k2", "1")}, never, false, "b"},
		}, []ir.Node{a("k", "2")}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			bench := newBench(t)
			bench.adjust = func(r *apply.Run) { r.Parallelism = 1 }
			bench.onFailure = plan.OnFailureRollback
			for _, r := range c.runs {
				bench.breaking(r.broken)
				bench.crashing(&applytest.Kill{At: r.step, After: r.after}, r.nodes)
			}
			bench.world.before, bench.onFailure = nil, plan.OnFailureHalt
			bench.converge(c.last)
			if len(bench.named) > 0 {
				t.Errorf("given up for lost: %v", bench.named)
			}
		})
	}
}
