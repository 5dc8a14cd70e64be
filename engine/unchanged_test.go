package engine_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/memory"
	"github.com/atlantide-org/atlantide-operator/providers"
	"github.com/atlantide-org/atlantide-operator/providers/random"
)

// compiledText compiles a whole config with inputs.
func (d *desk) compiledText(text string, inputs map[string]any) *ir.Compilation {
	d.Helper()
	c, err := d.engine.Compile(d.Context(), engine.Source{Filename: "infra.py", Text: text}, engine.CompileOptions{Inputs: inputs})
	if err != nil {
		d.Fatalf("%s\n%v", text, err)
	}
	return c
}

// remembered applies a compilation to an empty state, plans it again and remembers that.
func (d *desk) remembered(c *ir.Compilation) *plan.Plan {
	d.Helper()
	d.store = memory.New()
	_, err := d.engine.Apply(d.Context(), engine.ApplyRequest{Compilation: c, Partition: partition, Store: d.store, Locker: d.locker,
		Owner: owner, OnFailure: plan.OnFailureHalt})
	if err != nil {
		d.Fatal(err)
	}
	p := d.planned(c, owner)
	if err := d.engine.Remember(d.Context(), partition, d.store, owner, p); err != nil {
		d.Fatal(err)
	}
	return p
}

func (d *desk) planned(c *ir.Compilation, owner string) *plan.Plan {
	d.Helper()
	p, err := d.engine.Plan(d.Context(), engine.PlanRequest{Compilation: c, Snapshot: d.snapshot(), Owner: owner, OnFailure: plan.OnFailureHalt})
	if err != nil {
		d.Fatal(err)
	}
	return p
}

func (d *desk) unchanged(c *ir.Compilation, owner string) bool {
	d.Helper()
	serial, unchanged, err := d.engine.Unchanged(d.Context(), engine.UnchangedRequest{Compilation: c, Partition: partition, Store: d.store, Owner: owner})
	if err != nil {
		d.Fatal(err)
	}
	if unchanged && serial != d.snapshot().Serial {
		d.Fatalf("unchanged at serial %d, and it is %d", serial, d.snapshot().Serial)
	}
	return unchanged
}

// empty says why a plan is not one that may be left out; "" = it is.
func empty(p *plan.Plan) string {
	switch {
	case p.HasPending(), p.Unsynced(), p.Moves != nil:
		return "there is something to do:\n" + p.Text()
	case !p.Outputs.Empty() || len(p.Outputs.Unresolved) > 0:
		return fmt.Sprintf("outputs %+v", p.Outputs)
	case len(p.Warnings)+len(p.Violations) > 0 || p.Blocked || p.Refused != nil:
		return "there is something to say:\n" + p.Text()
	}
	return ""
}

// pieces are what a config is put together from: of each list one.
var pieces = [][]string{
	{"", "from atlantide.policy import enforce\nenforce('deny-destroy-in-prod', stacks=['s'])\n", "from atlantide.policy import enforce\nenforce('deny-destroy-in-prod', stacks=['s'], level='advisory')\n"},
	{"size = 8\n", "size = atlantide.input('size', default=8)\n"},
	{"made = Id('made', byte_length=size)\n", "made = Id('made', byte_length=size, lifecycle=Lifecycle(prevent_destroy=True))\n", "made = Id('made', byte_length=4)\n",
		"made = Id('made', byte_length=size, lifecycle=Lifecycle(aliases=['former']))\n", "made = Id('made', byte_length=size, lifecycle=Lifecycle(ignore_changes=['keepers']))\n"},
	{"other = Null('other')\n", "other = Null('other', triggers={'made': made.result})\n", "other = Null('other', depends_on=[made])\n", "other = Null('another')\n"},
	{"", "output('o', made.result)\n", "output('o', 1)\n", "output('o', 1.0)\n", "output('p', made.result)\n", "output('o', [made.result, 1])\n"},
}

// put puts a config together.
func put(of []int) string {
	var b strings.Builder
	b.WriteString("from atlantide.core import Lifecycle, Stack, output\nfrom atlantide.providers.local import Null\nfrom atlantide.providers.random import Id\n")
	b.WriteString(pieces[0][of[0]] + pieces[1][of[1]] + "with Stack('s', region='r'):\n")
	for i := 2; i < len(pieces); i++ {
		if piece := pieces[i][of[i]]; piece != "" {
			b.WriteString("    " + piece)
		}
	}
	return b.String()
}

// drawConfig is a config, often the one before, and its input.
func drawConfig(t *rapid.T, of []int, first bool) (text string, inputs map[string]any) {
	for i := range pieces {
		if first || rapid.IntRange(0, 2*len(pieces)).Draw(t, "another piece") == 0 {
			of[i] = rapid.IntRange(0, len(pieces[i])-1).Draw(t, "piece")
		}
	}
	if of[1] > 0 && rapid.Bool().Draw(t, "an input") {
		inputs = map[string]any{"size": rapid.Int64Range(7, 9).Draw(t, "size")}
	}
	return put(of), inputs
}

// disturb writes something to the state, or nothing.
func (d *desk) disturb(t *rapid.T) string {
	snapshot := d.snapshot()
	id := rapid.SampledFrom(slices.Sorted(maps.Keys(snapshot.Rows))).Draw(t, "row")
	row := snapshot.Rows[id].Clone()
	batches := map[string]func() state.Batch{
		"a row is taken away": func() state.Batch { return state.Batch{DeleteRows: []string{id}} },
		"a row is poisoned":   func() state.Batch { row.InputHash = ""; return state.Batch{PutRows: []*state.Row{row}} },
		"a row is written as it is": func() state.Batch {
			return state.Batch{PutRows: []*state.Row{row}}
		},
		"a row is guarded": func() state.Batch { row.PreventDestroy = true; return state.Batch{PutRows: []*state.Row{row}} },
		"a row has another order": func() state.Batch {
			row.DependsOn = []string{"s:local.Null:x"}
			return state.Batch{PutRows: []*state.Row{row}}
		},
		"a row is there that nobody declares": func() state.Batch { row.ID = "s:local.Null:x"; return state.Batch{PutRows: []*state.Row{row}} },
		"an old half is left": func() state.Batch {
			return state.Batch{PutPending: []*state.PendingDestroy{{NodeID: id, Row: row, Mode: state.DestroyBeforeCreate}}}
		},
		"an output is written": func() state.Batch {
			return state.Batch{SetOutputs: map[string]state.Output{"s:o": {Value: int64(1)}}}
		},
	}
	what := rapid.SampledFrom(append(slices.Sorted(maps.Keys(batches)), "nothing", "nothing", "nothing", "nothing")).Draw(t, "disturbance")
	if batches[what] == nil {
		return what
	}
	h, err := d.locker.Acquire(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.store.Commit(context.Background(), partition, h.Fence(), batches[what]()); err != nil {
		t.Fatal(err)
	}
	if err := h.Release(context.Background()); err != nil {
		t.Fatal(err)
	}
	return what
}

// leftOut fails unless a plan that the short way leaves out is empty; it reports whether it
// does.
func (d *desk) leftOut(t interface{ Fatalf(string, ...any) }, what string, c *ir.Compilation, owner string) bool {
	if !d.unchanged(c, owner) {
		return false
	}
	p, err := d.engine.Plan(d.Context(), engine.PlanRequest{Compilation: c, Snapshot: d.snapshot(), Owner: owner, OnFailure: plan.OnFailureHalt})
	if err != nil {
		t.Fatalf("%s\nthe plan that was left out fails: %v", what, err)
	}
	if why := empty(p); why != "" {
		t.Fatalf("%s\nthe plan that was left out is not empty: %s", what, why)
	}
	return true
}

// Whenever the short way is taken, the long one finds nothing to do and nothing to say;
// and it is taken when neither the config nor the state moved.
func TestLawUnchangedMeansAnEmptyPlan(t *testing.T) {
	d := newDesk(t)
	d.build(random.New(rand.Reader, time.Now))
	taken := 0
	rapid.Check(t, func(rt *rapid.T) {
		of := make([]int, len(pieces))
		before, inputs := drawConfig(rt, of, true)
		c := d.compiledText(before, inputs)
		first := d.remembered(c)
		if d.leftOut(rt, before, c, owner) != (empty(first) == "") {
			rt.Fatalf("right after it was applied: unchanged %t, the plan: %s\n%s", d.unchanged(c, owner), empty(first), before)
		}
		disturbed := d.disturb(rt)
		after, inputs := drawConfig(rt, of, false)
		whose := rapid.SampledFrom([]string{owner, owner, owner, "team-b/" + partition}).Draw(rt, "whose")
		if !d.leftOut(rt, disturbed+"\n"+before+"became\n"+after, d.compiledText(after, inputs), whose) {
			return
		}
		taken++
		if disturbed != "nothing" || whose != owner {
			rt.Fatalf("%s, owner %s: taken for unchanged", disturbed, whose)
		}
	})
	if taken == 0 {
		t.Error("the short way was never taken")
	}
}

// The same for every change of one piece.
func TestUnchangedAfterEveryChange(t *testing.T) {
	d := newDesk(t)
	d.build(random.New(rand.Reader, time.Now))
	for i := range pieces {
		of := make([]int, len(pieces))
		for before := range pieces[i] {
			of[i] = before
			text := put(of)
			d.remembered(d.compiledText(text, nil))
			for after := range pieces[i] {
				of[i] = after
				c := d.compiledText(put(of), nil)
				if same := before == after; d.leftOut(t, text+"became\n"+put(of), c, owner) != (same && empty(d.planned(c, owner)) == "") {
					t.Errorf("unchanged %t:\n%sbecame\n%s", !same, text, put(of))
				}
			}
		}
	}
}

// What a plan takes from elsewhere is never taken for unchanged, and neither is a plan that
// had something to do, or to say.
func TestNeverUnchanged(t *testing.T) {
	const head = "from atlantide.core import Lifecycle, SecretRef, Stack, StackReference, output\nfrom atlantide.providers.local import File, Null\nfrom atlantide.providers.random import Id, Password\n" +
		"with Stack('s', region='r'):\n    "
	settled := head + "Id('i')"
	for reason, text := range map[string]string{
		"a sensitive value may have to be sealed anew": head + "Password('p')",
		"an output of another Stack may have changed":  head + "output('o', StackReference('t').output('x'))",
		"a secret may have been rotated":               head + "Null('n', triggers={'t': SecretRef('token')})",
		"an output may be a secret":                    head + "Null('n')\n    output('o', SecretRef('token'))",
	} {
		d := newDesk(t)
		d.build(random.New(rand.Reader, time.Now))
		marks := &lenient{}
		if _, got, err := d.engine.Unchanged(t.Context(), engine.UnchangedRequest{Compilation: d.compiledText(text, nil), Partition: partition, Store: marks, Owner: owner}); got || err != nil || marks.asked > 0 {
			t.Errorf("%s: unchanged %t, %v, and the store was asked %d times", reason, got, err, marks.asked)
		}
	}

	d := newDesk(t)
	d.build(random.New(rand.Reader, time.Now))
	c := d.compiledText(settled, nil)
	if empty(d.remembered(c)) != "" || !d.unchanged(c, owner) {
		t.Fatal("what is settled is not")
	}
	for reason, p := range map[string]*plan.Plan{
		"there is something to do": d.planned(d.compiledText(head+"Id('j')", nil), owner),
		"it warns":                 warned(d.planned(c, owner)),
		"a destroy":                {Snapshot: state.NewSnapshot()},
		"a part of it":             targeted(d.planned(c, owner)),
	} {
		marks := &lenient{}
		if err := d.engine.Remember(t.Context(), partition, marks, owner, p); err != nil || marks.kept > 0 {
			t.Errorf("%s: remembered, %v", reason, err)
		}
	}
	d.build(objecting{random.New(rand.Reader, time.Now)})
	if _, got, err := d.engine.Unchanged(t.Context(), engine.UnchangedRequest{Compilation: c, Partition: partition, Store: d.store, Owner: owner}); got || err == nil {
		t.Errorf("a provider objects: unchanged %t, %v", got, err)
	}
}

// objecting is a provider that accepts nothing.
type objecting struct{ providers.Provider }

func (objecting) Validate(context.Context, []*model.Request) error {
	return model.Errorf(model.ProviderError, model.ClassUser, "not any more")
}

func warned(p *plan.Plan) *plan.Plan {
	p.Warnings = []string{"careful"}
	return p
}

func targeted(p *plan.Plan) *plan.Plan {
	p.Targets = []string{"s:*:*"}
	return p
}

// lenient has every mark.
type lenient struct{ asked, kept int }

func (l *lenient) Mark(context.Context, string, int64, string) error {
	l.kept++
	return nil
}

func (l *lenient) Marked(context.Context, string, string) (serial int64, marked bool, err error) {
	l.asked++
	return 1, true, nil
}
