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
	"github.com/atlantide-org/atlantide-operator/engine/ir"
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

// without takes a safeguard out of all runs to come.
func (m *crashModel) without(x *mutant) *crashModel {
	if x == nil {
		return m
	}
	m.watched, m.deaf = false, x.deaf
	adjust := m.adjust
	m.adjust = func(r *apply.Run) {
		adjust(r)
		store, find := r.Store, r.Provider
		r.Store = mutantStore{store, x}
		r.Provider = func(name string) (apply.Provider, bool) {
			p, ok := find(name)
			return mutantProvider{p, x}, ok
		}
	}
	return m
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

// end applies a config to its end. One run does it, but for two things: what a secret that
// rotated leads to comes with the next runs (DF-13, DF-20), and so does a replace that only
// turned out on the way to be needed, which no plan may leave to chance.
func (m *crashModel) end(c applytest.Config) {
	m.Helper()
	nodes := c.Nodes()
	for left := m.rotations * len(nodes); left > 0 || m.putOff(c); left-- {
		m.mustApply(nodes, outputsOf(nodes)...)
		m.judge()
	}
	m.rotations = 0
	m.convergeTo(nodes, c.Things(m.secrets))
}

// putOff reports whether a plan updates what was marked for a look and refers to something
// that it changes.
func (m *crashModel) putOff(c applytest.Config) bool {
	nodes := c.Nodes()
	changes := map[string]*plan.Change{}
	p := m.plan(compiled(m, nodes, outputsOf(nodes)...))
	for i := range p.Changes {
		changes[p.Changes[i].NodeID] = &p.Changes[i]
	}
	for _, change := range changes {
		if change.Action != plan.Update || change.Prior.InputHash != "" {
			continue
		}
		for _, ref := range model.References(change.Desired.Properties["key"]) {
			if changes[ref.NodeID].Pending() {
				return true
			}
		}
	}
	return false
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
		if r.Node.Name != h.Fate.Node {
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
func everywhere(t rapid.TB, h applytest.History, x *mutant) (points int) {
	t.Helper()
	kill := &applytest.Kill{}
	defer func() {
		if t.Failed() {
			t.Logf("killed at step %d, after %v: %v", kill.At, kill.After, h)
		}
	}()
	for _, after := range []bool{false, true} {
		killed := true
		for step := 0; killed && !t.Failed(); step++ {
			kill = &applytest.Kill{At: step, After: after}
			killed, _ = newCrashModel(t).without(x).play(h, kill, nil)
			points++
		}
		points-- // it survived
	}
	return points
}

// twice does the same with the run that comes after it, for each pair of steps.
func twice(t rapid.TB, h applytest.History) {
	t.Helper()
	kill, again := &applytest.Kill{}, &applytest.Kill{}
	defer func() {
		if t.Failed() {
			t.Logf("killed at step %d, and again at step %d: %v", kill.At, again.At, h)
		}
	}()
	killed := true
	for step := 0; killed; step++ {
		killedAgain := true
		for next := 0; killedAgain && !t.Failed(); next++ {
			kill, again = &applytest.Kill{At: step}, &applytest.Kill{At: next}
			killed, killedAgain = newCrashModel(t).play(h, kill, again)
		}
	}
}

// TestCrashOfGeneratedHistories is the law of crashes: a run may die at any instant, the next
// one makes the world as declared, and at every moment between all that exists is recorded or
// named, and nothing counts as done that is not.
func TestCrashOfGeneratedHistories(t *testing.T) {
	graphs, points := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		points += everywhere(rt, drawHistory(rt), nil)
		graphs++
	})
	t.Logf("%d graphs, killed at %d points", graphs, points)
}

// TestCrashAfterACrash: so may the run that was to put it right.
func TestCrashAfterACrash(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := drawHistory(rt)
		rt.Logf("%v", h)
		for range 5 {
			draw := func(label string) *applytest.Kill {
				return &applytest.Kill{At: rapid.IntRange(0, 20).Draw(rt, label), After: rapid.Bool().Draw(rt, label+", after")}
			}
			newCrashModel(rt).play(h, draw("killed at"), draw("killed again at"))
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

// TestHistoriesThatWentWrong: what generated histories found, killed at each step, and again
// at each step of the next run.
func TestHistoriesThatWentWrong(t *testing.T) {
	text := func(s string) applytest.Expr { return applytest.Expr{Text: s} }
	of := func(name, output string) applytest.Expr { return applytest.Expr{Of: name, Output: output} }
	secret := applytest.Expr{Secret: applytest.Secret}
	thing := func(name string, key, value applytest.Expr) applytest.Decl {
		return applytest.Decl{Name: name, Type: applytest.Thing, Key: key, Value: value}
	}
	bucket := func(name string, key, value applytest.Expr) applytest.Decl {
		return applytest.Decl{Name: name, Type: applytest.Bucket, Key: key, Value: value, CreateFirst: true}
	}
	chain := func(key string) applytest.Config {
		return applytest.Config{thing("a", text(key), text("1")), thing("b", text("k"), of("a", "id")), thing("c", text("k"), of("b", "sum"))}
	}
	held := applytest.Config{thing("a", text("k"), secret)}
	broken := func(h applytest.History, then applytest.Config) applytest.History {
		h.Instead = then
		return h
	}
	for _, c := range []struct {
		reason string
		h      applytest.History
	}{
		{"an undo that gives its node another id dies before the dependents of its dependents are marked (EX-27)",
			broken(breaking(chain("k"), chain("k2")), chain("k"))},
		{"a delete that died may have spent the attempt of a create that died", applytest.History{
			From: applytest.Config{}, To: chain("k"), Instead: applytest.Config{}}},
		{"what may be deleted is wanted again", applytest.History{From: chain("k"), To: applytest.Config{}, Instead: chain("k")}},
		{"the old half of an interrupted replace is wanted again, and its name was no secret when it was made", applytest.History{
			From:    applytest.Config{thing("a", text("k"), text("1")), bucket("c", applytest.Expr{Text: "c-", Of: "a", Output: "sum"}, secret)},
			To:      applytest.Config{thing("a", text("k"), secret), bucket("c", text("c-k"), of("a", "id"))},
			Instead: applytest.Config{thing("a", text("k"), text("1")), bucket("c", applytest.Expr{Text: "c-", Of: "a", Output: "sum"}, secret)},
			Rotates: true}},
		{"the old half of what others are named after comes back destroy-first, as it went, and they stay (DF-31)", applytest.History{
			From: applytest.Config{bucket("a", text("k"), text("1")), bucket("d", applytest.Expr{Text: "d-", Of: "a", Output: "id"}, text("1"))},
			To: applytest.Config{{Name: "a", Type: applytest.Bucket, Key: text("k2"), Value: text("1")},
				bucket("d", text("d-k"), text("1"))},
			Instead: applytest.Config{bucket("a", text("k"), text("1")), bucket("d", applytest.Expr{Text: "d-", Of: "a", Output: "id"}, text("1"))}}},
		{"what died in an update is to be another object, as what it is named after changes", applytest.History{
			From:    applytest.Config{thing("a", text("k"), text("1")), bucket("c", applytest.Expr{Text: "c-", Of: "a", Output: "sum"}, text("1"))},
			To:      applytest.Config{thing("a", text("k"), text("1")), bucket("c", applytest.Expr{Text: "c-", Of: "a", Output: "sum"}, text("2"))},
			Instead: applytest.Config{thing("a", text("k"), text("2")), bucket("c", applytest.Expr{Text: "c-", Of: "a", Output: "sum"}, text("2"))}}},
		{"an undo cannot give a secret back that has rotated", applytest.History{
			From: held, To: breaking(held, held).To, Instead: held, Rotates: true, Rollback: true,
			Fate: applytest.Fate{Ends: applytest.Fails, Node: "z"}}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			everywhere(t, c.h, nil)
			twice(t, c.h)
		})
	}
}

// TestUpdateThatTurnsOutToBeAReplace: what a plan shows as an update is not replaced, and not
// updated into something that it cannot become; the next plan shows the replace.
func TestUpdateThatTurnsOutToBeAReplace(t *testing.T) {
	declared := func(value string) []ir.Node {
		return []ir.Node{thing("a", "k", value), node("s:test.Bucket:b", map[string]any{"key": ref("a", "sum"), "value": "1"})}
	}
	const id = "s:test.Bucket:b"
	b := serial(t, declared("1"))
	row := b.snapshot().Rows[id]
	row.InputHash = ""
	if err := b.store.Commit(t.Context(), partition, b.handle.fence, state.Batch{PutRows: []*state.Row{row}}); err != nil {
		t.Fatal(err)
	}
	report := b.mustApply(declared("2"))
	b.wantCalls("update a")
	if len(report.Downgraded) > 0 || !strings.Contains(report.PutOff[id], "needs a replace") || !slices.Contains(report.Noop, id) {
		t.Errorf("report %+v", report)
	}
	finished := slices.IndexFunc(b.events, func(e apply.Event) bool { return e.Phase == "node_finish" && e.NodeID == id })
	if finished < 0 || b.events[finished].Action != string(plan.Noop) || b.events[finished].Detail["planned"] != string(plan.Update) {
		t.Errorf("events %+v", b.events)
	}
	if left := pending(b.plan(compiled(t, declared("2")))); !slices.Equal(left, []string{"replace " + id}) {
		t.Errorf("the next plan: %v", left)
	}
	b.mustApply(declared("2"))
	b.wantCalls("delete b", "create b")
	b.steady(declared("2"))
}
