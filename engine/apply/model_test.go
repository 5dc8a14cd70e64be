package apply_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/apply/applytest"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// crashModel runs histories over one world: all kinds of cloud in it, secrets, and a
// judgement after every run that died.
type crashModel struct {
	*bench
	secrets   map[string]string
	rotations int // since a config was applied to its end
}

func newCrashModel(t rapid.TB) *crashModel {
	secrets := map[string]string{applytest.Secret: "first"}
	b, _ := vaulted(t, secrets)
	b.watched = true
	return &crashModel{bench: b, secrets: secrets}
}

// play runs a history: its middle part is killed, and if again is set, so is the run after
// it. It reports which of the two died.
func (m *crashModel) play(h applytest.History, kill, again *applytest.Kill) (killed, killedAgain bool) {
	m.Helper()
	m.end(h.From)
	if h.Rotates {
		m.rotate()
	}
	m.meets(h)
	killed = m.crashing(kill, h.To.Nodes())
	m.judge()
	m.world.before, m.onFailure, m.ctx = nil, plan.OnFailureHalt, context.Background()
	if again != nil {
		killedAgain = m.crashing(again, h.Instead.Nodes())
		m.judge()
	}
	m.end(h.Instead)
	return killed, killedAgain
}

// end applies a config to its end. A secret that rotated reaches what reads it in one run,
// and what was made from that, step by step, in later ones (DF-13, DF-20).
func (m *crashModel) end(c applytest.Config) {
	m.Helper()
	nodes := c.Nodes()
	for range m.rotations * len(nodes) {
		m.mustApply(nodes, outputsOf(nodes)...)
		m.judge()
	}
	m.rotations = 0
	m.convergeTo(nodes, c.Things(m.secrets))
}

// rotate changes the secret.
func (m *crashModel) rotate() {
	m.secrets[applytest.Secret] = "a second one"
	m.rotations++
}

// meets prepares the fate of the next run.
func (m *crashModel) meets(h applytest.History) {
	if h.Rollback {
		m.onFailure = plan.OnFailureRollback
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	m.ctx = ctx
	m.world.before = func(_ context.Context, op string, r *model.Request) error {
		if r.Node.Name != h.Fate.Node || ctx.Err() != nil {
			return nil
		}
		switch h.Fate.Ends {
		case applytest.Fails:
			if op != "delete" {
				return errBroken
			}
		case applytest.Interrupted:
			cancel(context.Canceled)
		case applytest.HandedOver:
			cancel(apply.ErrHandOver)
		}
		return nil
	}
}

// witness demands of every create that it is written ahead, and that one over a row which
// is still being created repeats the attempt that the row records.
type witness struct {
	apply.Provider
	b        *bench
	recorded *state.Snapshot // before the run
	deleted  sync.Map        // ids of nodes for which the run called delete
}

func (w *witness) Create(ctx context.Context, r *model.Request) (model.Outputs, error) {
	row := w.b.snapshot().Rows[r.Node.ID]
	if row == nil || row.Status != state.StatusCreating || row.Attempt != r.Attempt || r.Attempt == "" {
		w.b.Errorf("the create of %s as attempt '%s' is not written ahead: %+v", r.Node.ID, r.Attempt, row)
	}
	left := w.recorded.Rows[r.Node.ID]
	_, deleted := w.deleted.Load(r.Node.ID)
	if left != nil && left.Status == state.StatusCreating && left.InputHash != "" && !deleted && left.Attempt != r.Attempt {
		w.b.Errorf("%s is created as attempt %s while attempt %s may have made it", r.Node.ID, r.Attempt, left.Attempt)
	}
	return w.Provider.Create(ctx, r)
}

func (w *witness) Delete(ctx context.Context, r *model.Request) error {
	w.deleted.Store(r.Node.ID, true)
	return w.Provider.Delete(ctx, r)
}

// drawHistory draws a history from a property's source.
func drawHistory(t *rapid.T) applytest.History {
	return applytest.DrawHistory(func(label string, n int) int { return rapid.IntRange(0, n-1).Draw(t, label) })
}

// everywhere plays a history once for each of its steps, and is killed before or after it.
func everywhere(t rapid.TB, h applytest.History, again func(step int) *applytest.Kill) (points int) {
	t.Helper()
	for _, after := range []bool{false, true} {
		killed := true
		for step := 0; killed; step++ {
			killed, _ = newCrashModel(t).play(h, &applytest.Kill{At: step, After: after}, again(step))
			points++
			if t.Failed() {
				t.Fatalf("killed at step %d, after %v: %v", step, after, h)
			}
		}
		points-- // it survived
	}
	return points
}

func once(int) *applytest.Kill { return nil }

// TestCrashOfGeneratedHistories is the law of crashes: a run may die at any instant, the next
// one makes the world as declared, and at every moment between all that exists is recorded or
// named, and nothing counts as done that is not.
func TestCrashOfGeneratedHistories(t *testing.T) {
	graphs, points := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		points += everywhere(rt, drawHistory(rt), once)
		graphs++
	})
	t.Logf("%d graphs, killed at %d points", graphs, points)
}

// TestCrashAfterACrash: so may the run that was to put it right.
func TestCrashAfterACrash(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := drawHistory(rt)
		for range 5 {
			draw := func(label string) *applytest.Kill {
				return &applytest.Kill{At: rapid.IntRange(0, 20).Draw(rt, label), After: rapid.Bool().Draw(rt, label+", after")}
			}
			if newCrashModel(rt).play(h, draw("killed at"), draw("killed again at")); rt.Failed() {
				rt.Fatalf("%v", h)
			}
		}
	})
}

// TestConvergence is the law of DF-15 for runs that fail, are undone or are killed:
// whatever configs came before and wherever their runs died, one whole run makes the world
// as declared.
func TestConvergence(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newCrashModel(rt)
		parallelism := rapid.SampledFrom([]int{1, 3}).Draw(rt, "parallelism")
		adjust := m.adjust
		m.adjust = func(r *apply.Run) { adjust(r); r.Parallelism = parallelism }
		h := drawHistory(rt)
		for range rapid.IntRange(1, 4).Draw(rt, "runs") {
			m.meets(h)
			m.crashing(&applytest.Kill{At: rapid.IntRange(0, 30).Draw(rt, "step"), After: rapid.Bool().Draw(rt, "after")}, h.To.Nodes())
			m.judge()
			m.world.before, m.onFailure, m.ctx = nil, plan.OnFailureHalt, context.Background()
			h.To = applytest.DrawNext(func(label string, n int) int { return rapid.IntRange(0, n-1).Draw(rt, label) }, h.To)
		}
		m.end(h.Instead)
	})
}

// TestGeneratedHistoriesReachEverything: what is drawn covers every part of a run; the
// histories are always the same ones.
func TestGeneratedHistoriesReachEverything(t *testing.T) {
	seen := map[string]int{}
	for seed := range 200 {
		h := rapid.Custom(drawHistory).Example(seed)
		m := newCrashModel(t)
		m.end(h.From)
		if h.Rotates {
			m.rotate()
		}
		m.meets(h)
		adjust := m.adjust
		m.adjust = func(r *apply.Run) {
			adjust(r)
			r.Gate = func(_ context.Context, phase apply.Phase, _ *plan.Plan) error {
				seen["phase "+string(phase)]++
				return nil
			}
		}
		nodes := h.To.Nodes()
		report, err := m.apply(nodes, outputsOf(nodes)...)
		if err != nil {
			seen["it "+h.Fate.Ends]++
		}
		for what, ids := range map[string][]string{
			"created": report.Created, "updated": report.Updated, "replaced": report.Replaced, "deleted": report.Deleted,
			"rolled back": report.RolledBack, "row only": report.StateOnly, "a replace judged to be less": slices.Collect(maps.Keys(report.Downgraded)),
		} {
			for _, id := range ids {
				seen[what+" "+model.TypeOf(strings.TrimSuffix(id, plan.PendingSuffix))]++
			}
		}
		for i := range m.latest.Changes {
			if c := &m.latest.Changes[i]; c.Action == plan.Replace && c.CreateBeforeDestroy {
				seen["create-first "+model.TypeOf(c.NodeID)]++
			} else if c.Conditional {
				seen["conditional "+model.TypeOf(c.NodeID)]++
			}
			if c := &m.latest.Changes[i]; slices.Contains(c.ChangedFields, "value") && h.Rotates && c.Prior != nil && len(c.Prior.SecretDigests) > 0 {
				seen["a secret that rotated"]++
			}
		}
	}
	want := []string{
		"phase 0", "phase 1", "phase 1b", "phase 2", "phase 3", "it fails", "it is interrupted", "it is handed over",
		"row only test.Thing", "a secret that rotated", "created test.Lookup", "updated test.Lookup", "deleted test.Lookup", "rolled back test.Lookup",
	}
	for _, kind := range []string{applytest.Thing, applytest.Bucket, applytest.Ticket} {
		for _, what := range []string{"created", "updated", "replaced", "deleted", "rolled back", "create-first", "conditional", "a replace judged to be less"} {
			want = append(want, what+" "+kind)
		}
	}
	for _, what := range want {
		if seen[what] == 0 {
			t.Errorf("no history reaches: %s", what)
		}
	}
	t.Logf("%v", seen)
}
