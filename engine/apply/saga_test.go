package apply_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/apply/applytest"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// failing is a node that comes after all others and cannot be made.
func failing(nodes []ir.Node) []ir.Node {
	z := thing("z", "k", "1")
	for _, n := range nodes {
		z.DependsOn = append(z.DependsOn, n.ID)
	}
	return append(slices.Clone(nodes), z)
}

type undoing struct {
	name     string
	from, to []ir.Node
	calls    []string // of the failing run, with parallelism 1
}

// undoable are changes whose run fails at its end, so that all of it is undone.
var undoable = []undoing{
	{"T-104 a create is deleted", nil, []ir.Node{thing("a", "k", "1")},
		[]string{"create a", "create z", "delete a"}},
	{"T-106 an update goes back", []ir.Node{thing("a", "k", "1")}, []ir.Node{thing("a", "k", "2")},
		[]string{"update a", "create z", "update a"}},
	{"T-107 with the values from before the run", []ir.Node{thing("a", "k", "1"), thing("b", "k", ref("a", "sum"))},
		[]ir.Node{thing("a", "k", "2"), thing("b", "k", ref("a", "sum"))},
		[]string{"update a", "update b", "create z", "update b", "update a"}},
	{"T-119 a destroy-first replace is made again", []ir.Node{thing("a", "k", "1")}, []ir.Node{thing("a", "k2", "1")},
		[]string{"delete a", "create a", "create z", "delete a", "create a"}},
	{"X-8 a create-first replace keeps its old half", []ir.Node{first(thing("a", "k", "1"))}, []ir.Node{first(thing("a", "k2", "1"))},
		[]string{"create a", "create z", "delete a"}},
	{"X-42 what went early is made again from what was made again",
		[]ir.Node{thing("a", "k", "1"), keyed("b", ref("a", "id"), "1"), keyed("c", ref("b", "id"), "1")},
		[]ir.Node{thing("a", "k2", "1"), keyed("b", ref("a", "id"), "1"), keyed("c", ref("b", "id"), "1")},
		[]string{"delete c", "delete b", "delete a", "create a", "create b", "create c", "create z",
			"delete c", "delete b", "delete a", "create a", "create b", "create c"}},
	{"a replace that was not needed", []ir.Node{thing("a", "k", "1"), keyed("b", ref("a", "id"), "1")},
		[]ir.Node{thing("a", "k", "2"), keyed("b", ref("a", "id"), "1")},
		[]string{"update a", "create z", "update a"}},
}

// rowOnly are such changes of which a row alone is left to undo.
var rowOnly = []undoing{
	{"EX-43 a row that was only rewritten", []ir.Node{thing("a", "k", "1")}, []ir.Node{guarded(thing("a", "k", "1"))},
		[]string{"create z"}},
	{"X-19 data has nothing but its row", nil, []ir.Node{node("s:test.Lookup:d", map[string]any{"query": "q"})},
		[]string{"create d", "create z"}},
	{"X-19 nor has data that is read again", []ir.Node{node("s:test.Lookup:d", map[string]any{"query": "q"})},
		[]ir.Node{node("s:test.Lookup:d", map[string]any{"query": "r"})}, []string{"update d", "create z"}},
}

func guarded(n ir.Node) ir.Node {
	n.PreventDestroy = true
	return n
}

// rollingBack is a bench at the state of undoable before its failing run.
func rollingBack(t *testing.T, from []ir.Node) *bench {
	b := newBench(t)
	b.adjust = func(r *apply.Run) { r.Parallelism = 1 }
	b.mustApply(from)
	b.onFailure = plan.OnFailureRollback
	b.world.calls = nil
	return b
}

// TestRollback: a run that fails leaves the world and the rows as they were, but for the
// row of what failed, and the report says so beside the error (EX-23…EX-26, X-12, X-33, X-43).
func TestRollback(t *testing.T) {
	for _, c := range slices.Concat(undoable, rowOnly) {
		t.Run(c.name, func(t *testing.T) {
			b := rollingBack(t, c.from)
			before := b.world.things(t)
			rows := b.statuses()
			b.breaking("z")
			report, err := b.apply(failing(c.to))
			e := failureOf(t, err, model.ProviderError, "broken")
			if e.NodeID != "s:test.Thing:z" || len(e.AlsoFailed) != 0 {
				t.Errorf("error %+v also %v", e, e.AlsoFailed)
			}
			b.wantCalls(c.calls...)
			if diff := cmp.Diff(before, b.world.things(t)); diff != "" {
				t.Errorf("things (-before +after):\n%s", diff)
			}
			rows["z"] = state.StatusCreating
			b.wantStatuses(rows)
			if len(report.RollbackFailed)+len(report.PoisonFailed)+len(report.Orphaned) > 0 || report.RollbackSkipped != nil || len(report.RolledBack) == 0 {
				t.Errorf("report %+v", report)
			}
			b.world.before = nil
			if left := pending(b.plan(compiled(t, c.from))); !slices.Equal(left, []string{"delete s:test.Thing:z"}) {
				t.Errorf("the next plan of what was there: %v", left)
			}
		})
	}
}

func pending(p *plan.Plan) []string {
	var left []string
	for i := range p.Changes {
		if c := &p.Changes[i]; c.Pending() {
			left = append(left, string(c.Action)+" "+c.NodeID)
		}
	}
	return left
}

// TestRollbackHalts: in the other mode nothing is undone (EX-23).
func TestRollbackHalts(t *testing.T) {
	for _, c := range undoable {
		t.Run(c.name, func(t *testing.T) {
			b := rollingBack(t, c.from)
			b.onFailure = plan.OnFailureHalt
			b.breaking("z")
			report, err := b.apply(failing(c.to))
			wantError(t, err, model.ProviderError, "broken")
			if got := len(b.world.calls); got > slices.Index(c.calls, "create z")+1 {
				t.Errorf("calls after the failure: %v", b.world.calls)
			}
			if len(report.RolledBack) > 0 || report.RollbackSkipped != nil {
				t.Errorf("report %+v", report)
			}
			if left := len(b.snapshot().Pending); left != len(report.Orphaned) {
				t.Errorf("%d old halves are left, and the report names %v (X-37)", left, report.Orphaned)
			}
			b.world.before = nil
			b.converge(failing(c.to))
		})
	}
}

// TestCrashInRollback kills the failing run before and after each of its steps, those of
// the rollback included: the next run makes the world as declared all the same.
func TestCrashInRollback(t *testing.T) {
	for _, c := range undoable {
		for _, instead := range [][]ir.Node{c.from, c.to, {}} {
			t.Run(fmt.Sprintf("%s, then %d nodes", c.name, len(instead)), func(t *testing.T) {
				for _, after := range []bool{false, true} {
					steps := 0
					for killed := true; killed; steps++ {
						b := rollingBack(t, c.from)
						b.breaking("z")
						killed = b.crashing(&applytest.Kill{At: steps, After: after}, failing(c.to))
						b.world.before, b.onFailure = nil, plan.OnFailureHalt
						b.converge(instead)
						if t.Failed() {
							t.Fatalf("killed at step %d, after %v", steps, after)
						}
					}
					if steps < 3 {
						t.Errorf("only %d steps; the test kills nothing", steps)
					}
				}
			})
		}
	}
}

// TestRollbackOfALostLock: nothing is undone without the lock, however its loss shows
// (EX-28, X-10, T-113).
func TestRollbackOfALostLock(t *testing.T) {
	for _, c := range []struct {
		reason string
		lose   func(b *bench)
		kind   model.Kind
	}{
		{"the lock says so", func(b *bench) { b.handle.lose() }, model.LeaseLostError},
		{"a write is refused", func(b *bench) {
			if err := b.store.Claim(context.Background(), partition, model.Fence{Epoch: 99, Holder: "other"}); err != nil {
				b.Fatal(err)
			}
		}, model.FencedWriteError},
	} {
		t.Run(c.reason, func(t *testing.T) {
			b := rollingBack(t, nil)
			b.world.before = func(_ context.Context, _ string, r *model.Request) error {
				if r.Node.Name == "z" {
					c.lose(b)
					return errBroken
				}
				return nil
			}
			report, err := b.apply(failing([]ir.Node{thing("a", "k", "1")}))
			if c.kind == model.FencedWriteError {
				// The failure came first; the rollback's first write shows the loss.
				wantError(t, err, model.ProviderError, "broken")
				if !strings.Contains(report.RollbackFailed[idA], "other") {
					t.Errorf("report %+v", report)
				}
			} else {
				wantError(t, err, c.kind, "")
				if report.RollbackSkipped == nil || !strings.Contains(*report.RollbackSkipped, "lock was lost") {
					t.Errorf("report %+v does not say why nothing was undone", report)
				}
			}
			b.wantCalls("create a", "create z")
			b.wantStatuses(map[string]string{"a": "created", "z": "creating"})
		})
	}
}

// TestLockLostInRollback: what is left is named (EX-24).
func TestLockLostInRollback(t *testing.T) {
	b := rollingBack(t, nil)
	b.world.before = func(_ context.Context, op string, r *model.Request) error {
		if op == "delete" {
			b.handle.lose()
			return errBroken
		}
		if r.Node.Name == "z" {
			return errBroken
		}
		return nil
	}
	report, err := b.apply(failing([]ir.Node{thing("a", "k", "1"), thing("b", "k", "1"), thing("c", "k", "1")}))
	wantError(t, err, model.ProviderError, "broken")
	b.wantCalls("create a", "create b", "create c", "create z", "delete c")
	for _, id := range []string{idA, idB} {
		if !strings.Contains(report.RollbackFailed[id], "not attempted") {
			t.Errorf("%s: %q", id, report.RollbackFailed[id])
		}
	}
}

// TestFailedUndo: every undo is attempted, the original error comes first, and what could
// not be undone is not taken for unchanged (EX-24, EX-31, T-120, T-121).
func TestFailedUndo(t *testing.T) {
	b := rollingBack(t, []ir.Node{thing("u", "k", "1")})
	b.world.before = func(_ context.Context, op string, r *model.Request) error {
		if r.Node.Name == "z" || r.Node.Name == "a" && op == "delete" || r.Node.Name == "u" && op == "update" && r.Inputs["value"] == "1" {
			return errBroken
		}
		return nil
	}
	to := []ir.Node{thing("a", "k", "1"), thing("b", "k", "1"), thing("u", "k", "2")}
	report, err := b.apply(failing(to))
	e := failureOf(t, err, model.ProviderError, "broken")
	if len(e.AlsoFailed) != 2 || e.AlsoFailed[0].Kind != model.RollbackError || e.AlsoFailed[0].Op != "rollback" || e.AlsoFailed[1].NodeID != idA {
		t.Errorf("also failed: %v", e.AlsoFailed)
	}
	if diff := cmp.Diff([]string{idA, "s:test.Thing:u"}, slices.Sorted(maps.Keys(report.RollbackFailed))); diff != "" {
		t.Errorf("rollback failed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"s:test.Thing:u", idB, idA}, report.RolledBack); diff != "" {
		t.Errorf("rolled back (-want +got):\n%s", diff)
	}
	b.wantStatuses(map[string]string{"a": "created", "u": "created", "z": "creating"})
	b.world.before = nil
	if left := pending(b.plan(compiled(t, to))); !slices.Equal(left, []string{"update " + idA, "create " + idB, "update s:test.Thing:u", "delete s:test.Thing:z"}) {
		t.Errorf("the next plan: %v", left)
	}
	b.onFailure = plan.OnFailureHalt
	b.converge(to)
}

// refusingPoison refuses every write that marks a row, as a store that is away would.
type refusingPoison struct{ state.Writer }

func (s refusingPoison) Commit(ctx context.Context, p string, f model.Fence, batch state.Batch) error {
	for _, row := range batch.PutRows {
		if row.InputHash == "" {
			return model.Errorf(model.StateError, model.ClassTransient, "the store is away")
		}
	}
	return s.Writer.Commit(ctx, p, f, batch)
}

// TestFailedPoison: a mark that cannot be written is reported, and the undo goes on
// (EX-29, X-11).
func TestFailedPoison(t *testing.T) {
	b := rollingBack(t, nil)
	b.writer = refusingPoison{b.store}
	b.breaking("z")
	report, err := b.apply(failing([]ir.Node{thing("a", "k", "1")}))
	wantError(t, err, model.ProviderError, "broken")
	if !strings.Contains(report.PoisonFailed[idA], "away") || len(report.RollbackFailed) > 0 {
		t.Errorf("report %+v", report)
	}
	b.wantThings(map[string]string{})
	b.wantStatuses(map[string]string{"z": "creating"})
}

// losingRows loses the answer of one confirming write.
type losingRows struct {
	state.Writer
	id string
}

func (s losingRows) Commit(ctx context.Context, p string, f model.Fence, batch state.Batch) error {
	for _, row := range batch.PutRows {
		if row.ID == s.id && row.Status == state.StatusCreated && row.InputHash != "" {
			return model.Errorf(model.StateError, model.ClassTransient, "the store is away")
		}
	}
	return s.Writer.Commit(ctx, p, f, batch)
}

// TestUnconfirmedRowIsUndone: what a provider made is undone although its row was not
// confirmed (EX-14).
func TestUnconfirmedRowIsUndone(t *testing.T) {
	b := rollingBack(t, nil)
	b.writer = losingRows{b.store, idA}
	_, err := b.apply([]ir.Node{thing("a", "k", "1")})
	wantError(t, err, model.StateError, "away")
	b.wantCalls("create a", "delete a")
	b.wantThings(map[string]string{})
	b.wantStatuses(map[string]string{})
}

// TestUndoneReplaceMarksItsDependents: a dependent that was undone before its upstream
// came back under another identity is looked at again (EX-27, X-13).
func TestUndoneReplaceMarksItsDependents(t *testing.T) {
	from := []ir.Node{thing("a", "k", "1"), thing("b", "k", ref("a", "id"))}
	b := rollingBack(t, from)
	b.breaking("z")
	_, err := b.apply(failing([]ir.Node{thing("a", "k2", "1"), from[1]}))
	wantError(t, err, model.ProviderError, "broken")
	if hash := b.snapshot().Rows[idB].InputHash; hash != "" {
		t.Errorf("the row of b has the hash %q; it refers to an id that is gone", hash)
	}
	b.world.before, b.onFailure = nil, plan.OnFailureHalt
	b.converge(from)
}

// TestFailedCreateAfterAnEarlyDestroy: what failed may exist, so its row stays and the old
// half stays away (EX-26); what was made from it cannot come back.
func TestFailedCreateAfterAnEarlyDestroy(t *testing.T) {
	from := []ir.Node{thing("a", "k", "1"), keyed("b", ref("a", "id"), "1")}
	b := rollingBack(t, from)
	to := []ir.Node{thing("a", "k2", "1"), from[1]}
	b.breaking("b")
	report, err := b.apply(to)
	wantError(t, err, model.ProviderError, "broken")
	if !strings.Contains(report.RollbackFailed[idB], "may exist") {
		t.Errorf("report %+v", report)
	}
	b.wantThings(map[string]string{"a": "k=1"})
	b.wantStatuses(map[string]string{"a": "created", "b": "creating"})
	b.world.before, b.onFailure = nil, plan.OnFailureHalt
	b.converge(to)
}

// TestInterruptRollsBack: a cancellation is undone like a failure, and stays one (EX-36,
// T-111, T-112). A further one does not cut an undo short (EX-30, X-40, T-116).
func TestInterruptRollsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := rollingBack(t, nil)
		ctx, cancel := context.WithCancel(context.Background())
		b.world.before = func(callCtx context.Context, op string, _ *model.Request) error {
			cancel()
			if op == "delete" {
				<-time.After(20 * time.Second) // longer than the drain grace
			}
			return callCtx.Err()
		}
		report, err := b.run(ctx, b.plan(compiled(t, []ir.Node{thing("a", "k", "1"), thing("b", "k", ref("a", "sum"))})))
		wantError(t, err, model.InterruptedRunError, "rolled back; plan again")
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v hides its cause", err)
		}
		b.wantCalls("create a", "delete a")
		b.wantStatuses(map[string]string{})
		if diff := cmp.Diff([]string{idA}, report.RolledBack); diff != "" {
			t.Errorf("rolled back (-want +got):\n%s", diff)
		}
	})
}

// TestHandOver: a run that another process goes on with is not undone (EX-37).
func TestHandOver(t *testing.T) {
	b := rollingBack(t, nil)
	ctx, cancel := context.WithCancelCause(context.Background())
	b.world.before = func(context.Context, string, *model.Request) error {
		cancel(apply.ErrHandOver)
		return nil
	}
	nodes := []ir.Node{thing("a", "k", "1"), thing("b", "k", ref("a", "sum"))}
	report, err := b.run(ctx, b.plan(compiled(t, nodes)))
	wantError(t, err, model.InterruptedRunError, "nothing was undone")
	if report.RollbackSkipped == nil || !strings.Contains(*report.RollbackSkipped, "handed over") {
		t.Errorf("report %+v", report)
	}
	b.wantCalls("create a")
	b.wantStatuses(map[string]string{"a": "created"})
	b.world.before, b.onFailure = nil, plan.OnFailureHalt
	b.converge(nodes)
}

// TestTimeoutRollsBack: a node that takes too long is a failure like another; what was
// done beside it is undone (T-117c).
func TestTimeoutRollsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := rollingBack(t, nil)
		b.world.before = func(ctx context.Context, _ string, r *model.Request) error {
			if r.Node.Name == "z" {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		_, err := b.apply(failing([]ir.Node{thing("a", "k", "1")}))
		wantError(t, err, model.ProviderError, "did not finish within 1m0s")
		b.wantCalls("create a", "create z", "delete a")
		b.wantStatuses(map[string]string{"z": "creating"})
	})
}

// TestRollbackEvents: what a rollback does is told as it happens (EX-39).
func TestRollbackEvents(t *testing.T) {
	b := rollingBack(t, nil)
	b.breaking("z")
	if _, err := b.apply(failing([]ir.Node{thing("a", "k", "1")})); err == nil {
		t.Fatal("nothing failed")
	}
	var phases []string
	for _, e := range b.events {
		phases = append(phases, e.Phase+" "+model.LocalName(e.NodeID))
	}
	want := []string{"run_start ", "node_start a", "node_finish a", "node_start z", "node_fail z", "rollback_start ", "rollback_node a", "run_finish "}
	if diff := cmp.Diff(want, phases); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// pausing lets another run take over right before one of the writes.
type pausing struct {
	state.Writer
	at   int
	over func()
}

func (s *pausing) Commit(ctx context.Context, p string, f model.Fence, batch state.Batch) error {
	if s.at--; s.at == -1 {
		s.over()
	}
	return s.Writer.Commit(ctx, p, f, batch)
}

// TestPausedAtEveryWrite: a run that wakes up after another one took over writes nothing,
// calls nothing and undoes nothing any more (EX-28, X-10).
func TestPausedAtEveryWrite(t *testing.T) {
	for _, c := range undoable {
		t.Run(c.name, func(t *testing.T) {
			taken := true
			for at := 0; taken; at++ {
				b := rollingBack(t, c.from)
				b.breaking("z")
				taken = false
				var before *state.Snapshot
				calls := 0
				b.writer = &pausing{Writer: b.store, at: at, over: func() {
					taken = true
					if err := b.store.Claim(context.Background(), partition, model.Fence{Epoch: 99, Holder: "other"}); err != nil {
						t.Fatal(err)
					}
					before, calls = b.snapshot(), len(b.world.calls)
				}}
				_, err := b.apply(failing(c.to))
				if !taken {
					break
				}
				if err == nil || !strings.Contains(err.Error(), "other") && !errors.Is(err, errBroken) {
					t.Errorf("write %d: %v", at, err)
				}
				if diff := cmp.Diff(before, b.snapshot()); diff != "" {
					t.Errorf("write %d: the loser wrote (-before +after):\n%s", at, diff)
				}
				if late := b.world.calls[calls:]; len(late) > 0 {
					t.Errorf("write %d: the loser called %v", at, late)
				}
			}
		})
	}
}
