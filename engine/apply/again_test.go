package apply_test

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/apply/applytest"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
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

// unanswered lets every create of a node do its work and lose the answer.
func (b *bench) unanswered(name string) {
	b.world.outputs = func(r *model.Request) (model.Outputs, error) {
		if r.Node.Name == name {
			return nil, errBroken
		}
		o := b.world.Objects["id-"+strconv.Itoa(b.world.Made)]
		return model.Outputs{"id": o.ID, "sum": applytest.Sum(o.Value), "password": "secret"}, nil
	}
}

// frank is a world whose reads report every input.
type frank struct{ *world }

func (f frank) Read(ctx context.Context, r *model.Request) (model.Observed, bool, error) {
	live, found, err := f.world.Read(ctx, r)
	for _, o := range f.Objects {
		if found && o.ID == live["id"] {
			live["value"] = o.Value
		}
	}
	return live, found, err
}

// TestWhatIsBeingMadeIsMadeByItsAttempt: whatever finds a node whose create got no answer
// leaves it to the next plan, which shows a create: that is all that is called, as the very
// attempt that may have made it (RF-7, RF-8, EX-27).
func TestWhatIsBeingMadeIsMadeByItsAttempt(t *testing.T) {
	refresh := func(b *bench, prune bool) {
		r := b.refresher()
		r.Provider = func(string) (apply.Provider, bool) { return frank{b.world}, true }
		r.Owner, r.Record, r.Prune = "ns/uid", b.recording(), prune
		if _, err := r.Run(t.Context(), b.snapshot()); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		reason     string
		from, fail []ir.Node // fail is applied, and the create of z is not answered
		then       func(b *bench)
	}{
		{"a refresh finds it as it is", nil, []ir.Node{thing("z", "k", "1")}, func(b *bench) { refresh(b, false) }},
		{"a refresh finds another value", nil, []ir.Node{thing("z", "k", "1")}, func(b *bench) {
			b.world.Objects["id-1"].Value = "tampered"
			refresh(b, false)
		}},
		{"a refresh finds another key", nil, []ir.Node{thing("z", "k", "1")}, func(b *bench) {
			b.world.Objects["id-1"].Key = "tampered"
			refresh(b, false)
		}},
		{"a refresh prunes", nil, []ir.Node{thing("z", "k", "1")}, func(b *bench) {
			clear(b.world.Objects)
			refresh(b, true)
		}},
		{"what it was made from is undone, and another one from then on", []ir.Node{thing("a", "k", "1")},
			[]ir.Node{thing("a", "k2", "1"), thing("z", "k", ref("a", "id"))}, func(*bench) {}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			b := rollingBack(t, c.from)
			b.unanswered("z")
			if _, err := b.apply(c.fail); err == nil {
				t.Fatal("the create was answered")
			}
			b.world.outputs = nil
			const id = "s:test.Thing:z"
			row := b.snapshot().Rows[id]
			c.then(b)
			b.world.calls = nil
			if now := b.snapshot().Rows[id]; now.Status != state.StatusCreating || now.InputHash != row.InputHash || now.Attempt != row.Attempt {
				t.Errorf("the row is %+v, and was %+v", now, row)
			}
			attempt := ""
			b.world.before = func(_ context.Context, _ string, r *model.Request) error {
				attempt = r.Attempt
				return nil
			}
			nodes := append(slices.Clone(c.from), c.fail[len(c.fail)-1])
			b.converge(nodes)
			b.wantCalls("create z")
			if attempt != row.Attempt {
				t.Errorf("made as attempt %s, and %s may have made it", attempt, row.Attempt)
			}
		})
	}
}
