package apply_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

const idC = "s:test.Thing:c"

// serial is a bench whose nodes go one after another, with what from declares applied.
func serial(t *testing.T, from []ir.Node) *bench {
	b := newBench(t)
	b.adjust = func(r *apply.Run) { r.Parallelism = 1 }
	b.mustApply(from)
	b.world.calls = nil
	return b
}

// TestOrderOfPhases: what must go first goes first (EX-1, EX-42, X-46, X-47).
func TestOrderOfPhases(t *testing.T) {
	founded := []ir.Node{thing("a", "k", "1"), keyed("b", ref("a", "id"), "1"), keyed("c", ref("b", "id"), "1")}
	flagged := []ir.Node{first(thing("a", "k", "1")), thing("b", "k", ref("a", "id")), thing("c", "k", "1")}
	for _, c := range []struct {
		reason   string
		from, to []ir.Node
		calls    []string
		replaced []string
	}{
		{"T-101 destroy-first", []ir.Node{thing("a", "k", "1")}, []ir.Node{thing("a", "k2", "1")},
			[]string{"delete a", "create a"}, []string{idA}},
		{"T-102 create-first", []ir.Node{first(thing("a", "k", "1"))}, []ir.Node{first(thing("a", "k2", "1"))},
			[]string{"create a", "delete a"}, []string{idA}},
		{"what stands on a destroy-first replace goes before it and comes after it",
			founded, append([]ir.Node{thing("a", "k2", "1")}, founded[1:]...),
			[]string{"delete c", "delete b", "delete a", "create a", "create b", "create c"}, []string{idA, idB, idC}},
		{"and goes before it when it goes for good", founded, []ir.Node{thing("a", "k2", "1"), founded[1]},
			[]string{"delete c", "delete b", "delete a", "create a", "create b"}, []string{idA, idB}},
		{"a delete that was made from an old half goes before that, others last", flagged, []ir.Node{first(thing("a", "k2", "1"))},
			[]string{"create a", "delete b", "delete a", "delete c"}, []string{idA}},
		{"what stays moves over before the old half goes", flagged, append([]ir.Node{first(thing("a", "k2", "1"))}, flagged[1:]...),
			[]string{"create a", "update b", "delete a"}, []string{idA}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			b := serial(t, c.from)
			report := b.mustApply(c.to)
			b.wantCalls(c.calls...)
			if diff := cmp.Diff(c.replaced, report.Replaced); diff != "" {
				t.Errorf("replaced (-want +got):\n%s", diff)
			}
			for _, id := range report.Deleted {
				if strings.HasSuffix(id, plan.PendingSuffix) {
					t.Errorf("the clean-up of %s counts as a delete", id)
				}
			}
			b.wantThings(expected(c.to))
			b.steady(c.to)
		})
	}
}

// TestFailedCleanup: an old half that cannot be destroyed is recorded and named, nothing
// is undone, and later phases do not run (EX-1, EX-35, X-37).
func TestFailedCleanup(t *testing.T) {
	b := serial(t, []ir.Node{first(thing("a", "k", "1")), thing("c", "k", "1")})
	b.onFailure = plan.OnFailureRollback
	b.world.before = func(_ context.Context, op string, _ *model.Request) error {
		if op == "delete" {
			return errBroken
		}
		return nil
	}
	to := []ir.Node{first(thing("a", "k2", "1"))}
	report, err := b.apply(to, ir.Output{Key: "s:o", Value: "1"})
	wantError(t, err, model.ProviderError, "broken")
	b.wantCalls("create a", "delete a")
	if !strings.Contains(report.Orphaned[idA], "broken") || len(report.RolledBack) > 0 {
		t.Errorf("report %+v", report)
	}
	b.wantStatuses(map[string]string{"a": "created", "a" + plan.PendingSuffix: "pending", "c": "created"})
	if len(b.snapshot().Outputs) > 0 {
		t.Error("outputs were committed")
	}
	b.world.before, b.onFailure = nil, plan.OnFailureHalt
	b.mustApply(to)
	b.wantThings(expected(to))
}

// TestOldHalfOfAnEarlierRun: what a killed run left beside its new half goes before the
// next replace takes its place (EX-12, X-9).
func TestOldHalfOfAnEarlierRun(t *testing.T) {
	b := serial(t, []ir.Node{first(thing("a", "k", "1"))})
	b.world.before = func(_ context.Context, op string, _ *model.Request) error {
		if op == "delete" {
			return errBroken
		}
		return nil
	}
	if _, err := b.apply([]ir.Node{first(thing("a", "k2", "1"))}); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	b.world.before, b.world.calls = nil, nil
	to := []ir.Node{first(thing("a", "k3", "1"))}
	report := b.mustApply(to)
	b.wantCalls("delete a", "create a", "delete a")
	if diff := cmp.Diff([]string{idA + plan.PendingSuffix}, report.Deleted); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	b.wantThings(expected(to))
}

// TestStuckCleanup: a clean-up has the time of a node, and the error says how long that was
// (EX-3, X-25).
func TestStuckCleanup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := serial(t, []ir.Node{first(thing("a", "k", "1"))})
		b.world.before = func(ctx context.Context, op string, _ *model.Request) error {
			if op == "delete" {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		report, err := b.apply([]ir.Node{first(thing("a", "k2", "1"))})
		wantError(t, err, model.ProviderError, "did not finish within 1m0s")
		if !strings.Contains(report.Orphaned[idA], "1m0s") {
			t.Errorf("report %+v", report)
		}
	})
}

// TestFailedDeleteKeepsTheOldIdentity: of a destroy-first replace whose delete fails, the
// old half is still recorded, and the next run finishes the replace (EX-13, X-14, T-118).
func TestFailedDeleteKeepsTheOldIdentity(t *testing.T) {
	b := serial(t, []ir.Node{thing("a", "k", "1")})
	b.world.before = func(_ context.Context, op string, _ *model.Request) error {
		if op == "delete" {
			return errBroken
		}
		return nil
	}
	to := []ir.Node{thing("a", "k2", "1")}
	_, err := b.apply(to)
	wantError(t, err, model.ProviderError, "broken")
	if entry := b.snapshot().Pending[idA]; entry == nil || entry.Row.Outputs["id"] != "id-1" {
		t.Errorf("old half %+v", entry)
	}
	b.world.before = nil
	b.converge(to)
}

// TestEventsOfWhatGoes: deletes, early ones and clean-ups are told of as well (EX-41, X-24).
func TestEventsOfWhatGoes(t *testing.T) {
	b := serial(t, []ir.Node{first(thing("a", "k", "1")), thing("b", "k", "1")})
	b.mustApply([]ir.Node{first(thing("a", "k2", "1"))})
	var told []string
	for _, e := range b.events {
		if e.Phase == "node_finish" {
			told = append(told, e.Action+" "+e.NodeID)
		}
	}
	if diff := cmp.Diff([]string{"replace " + idA, "delete " + idA + plan.PendingSuffix, "delete " + idB}, told); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestHalvesThatAreOneObject: a clean-up never destroys what the run made (PL-11 where the
// address is behind a reference).
func TestHalvesThatAreOneObject(t *testing.T) {
	named := func(key any, zone string) ir.Node {
		return first(node("s:test.Named:n", map[string]any{"key": key, "value": "1", "zone": zone}))
	}
	b := serial(t, []ir.Node{thing("a", "k", "1"), named("sum(1)", "x")})
	_, err := b.apply([]ir.Node{thing("a", "k", "1"), named(ref("a", "sum"), "y")})
	wantError(t, err, model.ProviderError, "same object")
	b.wantCalls()
	b.wantStatuses(map[string]string{"a": "created", "n": "created"})
}

// TestConditionalReplace: whether it is needed is decided when the values are there, before
// any write or call for the node (DF-20).
func TestConditionalReplace(t *testing.T) {
	byID := []ir.Node{thing("a", "k", "1"), keyed("b", ref("a", "id"), "1")}
	bySum := []ir.Node{thing("a", "k", "1"), keyed("b", ref("a", "sum"), "1")}
	for _, c := range []struct {
		reason     string
		from, to   []ir.Node
		rows       func(r *state.Row) // changes the row of b before the run
		calls      []string
		downgraded map[string]string
	}{
		{reason: "X-2 the value stayed: nothing is called", from: byID, to: []ir.Node{thing("a", "k", "2"), byID[1]},
			calls: []string{"update a"}, downgraded: map[string]string{idB: "noop"}},
		{reason: "only a mutable field differs: an update", from: byID, to: []ir.Node{thing("a", "k", "2"), keyed("b", ref("a", "id"), ref("a", "sum"))},
			calls: []string{"update a", "update b"}, downgraded: map[string]string{idB: "update"}},
		{reason: "the value moved: the replace", from: bySum, to: []ir.Node{thing("a", "k", "2"), bySum[1]},
			calls: []string{"update a", "delete b", "create b"}, downgraded: map[string]string{}},
		{reason: "X-44 a row that is marked for a look is updated at least", from: byID, to: []ir.Node{thing("a", "k", "2"), byID[1]},
			rows: func(r *state.Row) { r.InputHash = "" }},
		{reason: "a row without a record is compared by what it was resolved with", from: byID, to: []ir.Node{thing("a", "k", "2"), byID[1]},
			rows:  func(r *state.Row) { r.RefDigests = nil },
			calls: []string{"update a"}, downgraded: map[string]string{idB: "noop"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			b := serial(t, c.from)
			if c.rows != nil {
				row := b.snapshot().Rows[idB]
				c.rows(row)
				if err := b.store.Commit(t.Context(), partition, b.handle.fence, state.Batch{PutRows: []*state.Row{row}}); err != nil {
					t.Fatal(err)
				}
			}
			before := b.snapshot().Rows[idB]
			report := b.mustApply(c.to)
			if c.downgraded == nil {
				b.wantThings(expected(c.to))
				b.steady(c.to)
				return // what it was planned as is the plan's own business
			}
			b.wantCalls(c.calls...)
			if diff := cmp.Diff(c.downgraded, report.Downgraded); diff != "" {
				t.Errorf("downgraded (-want +got):\n%s", diff)
			}
			after := b.snapshot().Rows[idB]
			if c.downgraded[idB] == "noop" {
				if after.Status != before.Status || after.Attempt != before.Attempt || cmp.Diff(after.Outputs, before.Outputs) != "" || after.InputHash == before.InputHash {
					t.Errorf("the row went from %+v to %+v", before, after)
				}
				for _, e := range b.events {
					if e.Phase == "node_finish" && e.NodeID == idB && (e.Action != "noop" || e.Detail["planned"] != "replace") {
						t.Errorf("event %+v", e)
					}
				}
			}
			b.wantThings(expected(c.to))
			b.steady(c.to)
		})
	}
}

// TestGuardedConditionalReplace: a guard holds when the replace turns out to be needed, with
// no write and no call for the node (X-48, PL-1).
func TestGuardedConditionalReplace(t *testing.T) {
	from := []ir.Node{thing("a", "k", "1"), guarded(keyed("b", ref("a", "sum"), "1"))}
	b := serial(t, from)
	before := b.snapshot().Rows[idB]
	b.onFailure = plan.OnFailureRollback
	_, err := b.apply([]ir.Node{thing("a", "k", "2"), from[1]})
	e := failureOf(t, err, model.PreventDestroyError, idB)
	if e.Class != model.ClassUser || e.NodeID != idB {
		t.Errorf("error %+v", e)
	}
	b.wantCalls("update a", "update a")
	if diff := cmp.Diff(before, b.snapshot().Rows[idB]); diff != "" {
		t.Errorf("the row of b (-before +after):\n%s", diff)
	}
	b.steady(from)
}

// TestDataIsNeverDeleted: what is only read is forgotten, and re-read where a resource
// would be replaced (X-19, DF-17).
func TestDataIsNeverDeleted(t *testing.T) {
	data := func(query string) ir.Node { return node("s:test.Lookup:d", map[string]any{"query": query}) }
	b := serial(t, []ir.Node{data("q")})
	b.mustApply([]ir.Node{data("r")})
	b.wantCalls("update d")
	b.mustApply(nil)
	b.wantCalls()
	b.wantStatuses(map[string]string{})
}
