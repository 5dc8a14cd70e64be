package apply_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

const (
	idA = "s:test.Thing:a"
	idB = "s:test.Thing:b"
)

func TestLifeOfAChain(t *testing.T) {
	b := newBench(t)
	one := []ir.Node{thing("a", "k", "1"), thing("b", "k", ref("a", "sum"))}
	report := b.mustApply(one)
	if diff := cmp.Diff([]string{idA, idB}, report.Created); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	b.wantCalls("create a", "create b")
	b.wantThings(map[string]string{"a": "k=1", "b": "k=sum(1)"})
	b.steady(one)

	want := &state.Row{
		ID: idB, Type: "test.Thing", Kind: model.KindResource, Provider: "test", ProviderVersion: "1.0.0",
		InputHash:  b.plan(compiled(t, one)).Compilation.Hashes[idB],
		Outputs:    map[string]any{"id": "id-2", "sum": "sum(sum(1))", "password": "secret"},
		Properties: map[string]any{"key": "k", "value": ref("a", "sum")}, Dependencies: []string{idA}, DependsOn: []string{},
		Status:     state.StatusCreated,
		RefDigests: map[string]string{"value": b.snapshot().Rows[idB].RefDigests["value"]},
		RowUID:     "uid-3", Attempt: "uid-4", UpdatedAt: time.Unix(1_900_000_000, 0).UTC(), Epoch: 1,
	}
	if diff := cmp.Diff(want, b.snapshot().Rows[idB]); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(want.RefDigests["value"], "sha256:") {
		t.Errorf("the row records no digest of what its reference gave: %v", want.RefDigests)
	}

	two := []ir.Node{thing("a", "k", "2"), thing("b", "k", ref("a", "sum"))}
	report = b.mustApply(two)
	if diff := cmp.Diff([]string{idA, idB}, report.Updated); diff != "" {
		t.Errorf("updated (-want +got):\n%s", diff)
	}
	b.wantCalls("update a", "update b")
	if got := b.snapshot().Rows[idA]; got.Outputs["password"] != "secret" || got.RowUID != "uid-1" {
		t.Errorf("an update lost an output or the row's identity: %+v", got)
	}
	b.steady(two)

	three := []ir.Node{thing("a", "k2", "2"), thing("b", "k", ref("a", "sum"))}
	report = b.mustApply(three)
	if diff := cmp.Diff([]string{idA}, report.Replaced); diff != "" {
		t.Errorf("replaced (-want +got):\n%s", diff)
	}
	b.wantCalls("delete a", "create a", "update b")
	b.wantThings(expected(three))
	b.wantStatuses(map[string]string{"a": "created", "b": "created"})
	b.steady(three)

	report = b.mustApply(three[:1])
	if diff := cmp.Diff([]string{idB}, report.Deleted); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{idA}, report.Noop); diff != "" {
		t.Errorf("noop (-want +got):\n%s", diff)
	}
	b.wantCalls("delete b")
}

func TestDestroyGoesBackwards(t *testing.T) {
	b := newBench(t)
	ordered := thing("c", "k", "x")
	ordered.DependsOn = []string{idB}
	b.mustApply([]ir.Node{thing("a", "k", "1"), thing("b", "k", ref("a", "sum")), ordered})
	b.world.calls = nil
	p, err := plan.Destroy(b.snapshot(), schemas(t), plan.Secrets{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.run(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	b.wantCalls("delete c", "delete b", "delete a")
	if s := b.snapshot(); len(s.Rows) != 0 {
		t.Errorf("rows are left: %v", b.statuses())
	}
}

func TestDestroyOfContradictingRows(t *testing.T) {
	b := newBench(t)
	b.mustApply([]ir.Node{thing("a", "k", "1"), thing("b", "k", ref("a", "sum")), thing("c", "k", ref("b", "sum"))})
	a, c := b.snapshot().Rows[idA].Clone(), b.snapshot().Rows["s:test.Thing:c"].Clone()
	a.DependsOn = []string{idB}                           // a cycle between rows of different runs
	c.Dependencies = append(c.Dependencies, "s:test.X:z") // a dependency that is gone
	if err := b.store.Commit(context.Background(), partition, b.handle.fence, state.Batch{PutRows: []*state.Row{a, c}}); err != nil {
		t.Fatal(err)
	}
	b.world.calls = nil
	b.adjust = func(r *apply.Run) { r.Parallelism = 1 }
	p, err := plan.Destroy(b.snapshot(), schemas(t), plan.Secrets{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.run(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	b.wantThings(map[string]string{})
	if slices.Index(b.world.calls, "delete c") > slices.Index(b.world.calls, "delete b") {
		t.Errorf("calls %v, want c before b, which it reads", b.world.calls)
	}
}

func TestHalt(t *testing.T) {
	b := newBench(t)
	nodes := []ir.Node{thing("a", "k", "1"), thing("b", "k", ref("a", "sum")), thing("c", "k", ref("b", "sum"))}
	boom := errors.New("boom")
	b.world.before = func(_ context.Context, op string, r *model.Request) error {
		if r.Node.Name == "b" {
			return boom
		}
		return nil
	}
	report, err := b.apply(nodes, ir.Output{Key: "s:x", Value: "1"})
	e := failureOf(t, err, model.ProviderError, "test create of 'test.Thing' failed: boom")
	if e.NodeID != idB || e.Op != "create" || e.ResourceType != "test.Thing" || !errors.Is(err, boom) {
		t.Errorf("error %+v does not name node, operation, type and cause", e)
	}
	if diff := cmp.Diff([]string{idA}, report.Created); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	b.wantCalls("create a", "create b")
	b.wantStatuses(map[string]string{"a": "created", "b": "creating"})
	if s := b.snapshot(); len(s.Outputs) != 0 {
		t.Errorf("outputs were committed by a failed run: %v", s.Outputs)
	}
	attempt := b.snapshot().Rows[idB].Attempt

	b.world.before = func(_ context.Context, op string, r *model.Request) error {
		if r.Node.Name == "b" && r.Attempt != attempt {
			t.Errorf("the repeated create has attempt %q, want the recorded %q", r.Attempt, attempt)
		}
		return nil
	}
	report = b.mustApply(nodes)
	b.wantCalls("create b", "create c")
	if diff := cmp.Diff([]string{idA}, report.Noop); diff != "" {
		t.Errorf("noop (-want +got):\n%s", diff)
	}
	b.wantThings(expected(nodes))
}

func TestSeveralFailures(t *testing.T) {
	b := newBench(t)
	var both sync.WaitGroup
	both.Add(2)
	b.world.before = func(_ context.Context, _ string, r *model.Request) error {
		both.Done()
		both.Wait() // both are in flight before either fails
		return model.Errorf(model.ProviderError, model.ClassUser, "no %s", r.Node.Name)
	}
	_, err := b.apply([]ir.Node{thing("a", "k", "1"), thing("b", "k", "1")})
	e := failureOf(t, err, model.ProviderError, "no ")
	if len(e.AlsoFailed) != 1 || e.AlsoFailed[0].NodeID == e.NodeID || e.Class != model.ClassUser {
		t.Errorf("error %+v with %v; want both nodes in it", e, e.AlsoFailed)
	}
}

func TestIndependentNodesOverlap(t *testing.T) {
	b := newBench(t)
	inside := make(chan string, 2)
	proceed := make(chan struct{})
	b.world.before = func(_ context.Context, _ string, r *model.Request) error {
		if r.Node.Name == "c" {
			if rows := b.snapshot().Rows; rows[idA].Status != state.StatusCreated || rows[idB].Status != state.StatusCreated {
				t.Error("a dependent started before the rows of its upstreams were confirmed (EX-44)")
			}
			return nil
		}
		if row := b.snapshot().Rows[r.Node.ID]; row == nil || row.Status != state.StatusCreating {
			t.Errorf("%s is called without its write-ahead row: %v", r.Node.Name, row)
		}
		inside <- r.Node.Name
		<-proceed
		return nil
	}
	result := make(chan error, 1)
	go func() {
		_, err := b.apply([]ir.Node{thing("a", "k", "1"), thing("b", "k", "1"),
			thing("c", "k", model.Transform{Op: "concat", Args: []any{ref("a", "id"), ref("b", "id")}}.Marker())})
		result <- err
	}()
	both := []string{<-inside, <-inside} // would never come if they waited for each other
	close(proceed)
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	slices.Sort(both)
	if !slices.Equal(both, []string{"a", "b"}) {
		t.Errorf("inside together: %v", both)
	}
}

func TestCreateOverALeftoverOfAnotherIdentity(t *testing.T) {
	b := newBench(t)
	b.world.outputs = func(r *model.Request) (model.Outputs, error) { return nil, errors.New("crash after the create") }
	if _, err := b.apply([]ir.Node{thing("a", "old", "1")}); err == nil {
		t.Fatal("no error")
	}
	b.world.outputs = nil
	b.wantThings(map[string]string{"a": "old=1"})
	report := b.mustApply([]ir.Node{thing("a", "new", "1")})
	if diff := cmp.Diff([]string{idA}, report.Created); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	b.wantThings(map[string]string{"a": "new=1"})
	b.wantStatuses(map[string]string{"a": "created"})
}

func TestDeletes(t *testing.T) {
	lookup := node("s:test.Lookup:l", map[string]any{"query": "q"})
	t.Run("a data source is only forgotten", func(t *testing.T) {
		b := newBench(t)
		b.mustApply([]ir.Node{lookup})
		b.world.calls = nil
		if report := b.mustApply(nil); len(report.Deleted) != 1 {
			t.Errorf("deleted %v", report.Deleted)
		}
		b.wantCalls()
	})
	t.Run("a row whose drop fails is poisoned", func(t *testing.T) {
		b := newBench(t)
		b.mustApply([]ir.Node{thing("a", "k", "1")})
		b.writer = failingStore{Store: b.store, fail: func(batch state.Batch) bool { return len(batch.DeleteRows) > 0 }}
		_, err := b.apply(nil)
		wantError(t, err, model.StateError, "disk full")
		if row := b.snapshot().Rows[idA]; row == nil || row.InputHash != "" {
			t.Errorf("row %+v, want it poisoned (EX-17)", row)
		}
	})
	t.Run("a row whose delete was refused is as before", func(t *testing.T) {
		b := newBench(t)
		b.mustApply([]ir.Node{thing("a", "k", "1")})
		before := b.snapshot().Rows[idA]
		b.world.before = func(context.Context, string, *model.Request) error { return errors.New("in use") }
		_, err := b.apply(nil)
		wantError(t, err, model.ProviderError, "in use")
		before.Epoch++
		if diff := cmp.Diff(before, b.snapshot().Rows[idA]); diff != "" {
			t.Errorf("row (-before +after):\n%s", diff)
		}
	})
	t.Run("an unknown type and provider are named", func(t *testing.T) {
		b := newBench(t)
		b.mustApply([]ir.Node{thing("a", "k", "1")})
		for what, change := range map[string]func(*state.Row){
			"the type 'test.Gone'": func(r *state.Row) { r.Type = "test.Gone" },
			"'gone'":               func(r *state.Row) { r.Provider = "gone" },
		} {
			row := b.snapshot().Rows[idA].Clone()
			change(row)
			if err := b.store.Commit(context.Background(), partition, b.handle.fence, state.Batch{PutRows: []*state.Row{row}}); err != nil {
				t.Fatal(err)
			}
			_, err := b.apply(nil)
			wantError(t, err, model.ProviderError, what)
			row.Type, row.Provider = "test.Thing", "test"
			if err := b.store.Commit(context.Background(), partition, b.handle.fence, state.Batch{PutRows: []*state.Row{row}}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// failingStore refuses the batches that fail names.
type failingStore struct {
	state.Store
	fail func(state.Batch) bool
}

func (s failingStore) Commit(ctx context.Context, p string, fence model.Fence, batch state.Batch) error {
	if s.fail(batch) {
		return errors.New("disk full")
	}
	return s.Store.Commit(ctx, p, fence, batch)
}

func TestFailedUpdateLeavesTheRow(t *testing.T) {
	b := newBench(t)
	b.mustApply([]ir.Node{thing("a", "k", "1")})
	before := b.snapshot().Rows[idA]
	b.world.before = func(context.Context, string, *model.Request) error { return errors.New("denied") }
	_, err := b.apply([]ir.Node{thing("a", "k", "2")})
	if e := failureOf(t, err, model.ProviderError, "test update of 'test.Thing' failed: denied"); e.Op != "update" {
		t.Errorf("error %+v", e)
	}
	before.Epoch++
	if diff := cmp.Diff(before, b.snapshot().Rows[idA]); diff != "" {
		t.Errorf("row (-before +after):\n%s", diff)
	}
}

func TestStateOnly(t *testing.T) {
	b := newBench(t)
	n := thing("a", "k", "1")
	b.mustApply([]ir.Node{n})
	b.world.calls = nil
	n.PreventDestroy = true
	report := b.mustApply([]ir.Node{n})
	b.wantCalls()
	if diff := cmp.Diff([]string{idA}, report.StateOnly); diff != "" || !slices.Equal(report.Noop, []string{idA}) {
		t.Errorf("noop %v, state only (-want +got):\n%s", report.Noop, diff)
	}
	if !b.snapshot().Rows[idA].PreventDestroy {
		t.Error("the guard was not recorded")
	}
	b.steady([]ir.Node{n})
}

func TestOutputs(t *testing.T) {
	b := newBench(t)
	nodes := []ir.Node{thing("a", "k", "1")}
	concat := func(args ...any) any { return model.Transform{Op: "concat", Args: args}.Marker() }
	report := b.mustApply(nodes,
		ir.Output{Key: "s:plain", Value: concat("<", ref("a", "sum"), ">")},
		ir.Output{Key: "s:secret", Value: map[string]any{"deep": concat(ref("a", "password"))}},
		ir.Output{Key: "s:literal", Value: []any{int64(1), 2.0}},
		ir.Output{Key: "s:unknown", Value: ref("z", "sum")},
	)
	want := map[string]state.Output{
		"s:plain":   {Value: "<sum(1)>", SourceNodes: []string{idA}},
		"s:secret":  {Value: map[string]any{"deep": "secret"}, Sensitive: true, SourceNodes: []string{idA}},
		"s:literal": {Value: []any{int64(1), 2.0}},
	}
	if diff := cmp.Diff(want, b.snapshot().Outputs); diff != "" {
		t.Errorf("committed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"s:secret"}, report.SensitiveOutputs); diff != "" {
		t.Errorf("sensitive (-want +got):\n%s", diff)
	}
	if report.Outputs["s:plain"] != "<sum(1)>" || len(report.Outputs) != 3 {
		t.Errorf("reported %v", report.Outputs)
	}
	serial := b.snapshot().Serial
	b.mustApply(nodes, ir.Output{Key: "s:literal", Value: []any{int64(1), 2.0}}, ir.Output{Key: "s:plain", Value: "new"})
	if got := b.snapshot(); got.Serial != serial+1 || len(got.Outputs) != 2 || got.Outputs["s:plain"].Value != "new" {
		t.Errorf("after one output went and one changed: serial +%d, %v", got.Serial-serial, got.Outputs)
	}
	serial = b.snapshot().Serial
	b.mustApply(nodes, ir.Output{Key: "s:literal", Value: []any{int64(1), 2.0}}, ir.Output{Key: "s:plain", Value: "new"})
	if got := b.snapshot().Serial; got != serial {
		t.Errorf("an equal commit wrote %d times", got-serial)
	}
	b.mustApply(nil)
	if got := b.snapshot().Outputs; len(got) != 0 {
		t.Errorf("outputs of a stack without rows stayed: %v", got)
	}
}

func TestGate(t *testing.T) {
	refuse := model.Errorf(model.PlanDriftError, model.ClassUser, "the approval was withdrawn")
	declared := func(value string) []ir.Output {
		if value == "" {
			return nil
		}
		return []ir.Output{{Key: "s:o", Value: value}}
	}
	before, after, ordered := []ir.Node{thing("a", "k", "1"), thing("c", "k", "1")}, []ir.Node{thing("b", "k", "1"), thing("c", "k", "1")}, []ir.Node{thing("a", "k", "1"), thing("c", "k", "1")}
	ordered[1].DependsOn = []string{idA}
	for _, c := range []struct {
		reason string
		nodes  []ir.Node
		output string // its value; "" = none is declared
		refuse apply.Phase
		asked  []apply.Phase
		calls  []string
		writes bool
	}{
		{"every phase with work is asked, in order", after, "new", "", []apply.Phase{apply.PhaseChange, apply.PhaseDelete, apply.PhaseOutputs}, []string{"create b", "delete a"}, true},
		{"a refusal before the first calls nothing", after, "new", apply.PhaseChange, []apply.Phase{apply.PhaseChange}, nil, false},
		{"one before the second keeps what was done", after, "new", apply.PhaseDelete, []apply.Phase{apply.PhaseChange, apply.PhaseDelete}, []string{"create b"}, true},
		{"one before the third commits no output", before, "new", apply.PhaseOutputs, []apply.Phase{apply.PhaseOutputs}, nil, false},
		{"an output alone is asked for", before, "new", "", []apply.Phase{apply.PhaseOutputs}, nil, true},
		{"so is its end", before, "", apply.PhaseOutputs, []apply.Phase{apply.PhaseOutputs}, nil, false},
		{"nothing to write, nothing to ask", before, "old", "", nil, nil, false},
		{"an order alone is asked for", ordered, "old", apply.PhaseChange, []apply.Phase{apply.PhaseChange}, nil, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			b := newBench(t)
			b.mustApply(before, declared("old")...)
			b.world.calls = nil
			serial := b.snapshot().Serial
			var asked []apply.Phase
			b.adjust = func(r *apply.Run) {
				r.Gate = func(_ context.Context, phase apply.Phase, p *plan.Plan) error {
					asked = append(asked, phase)
					if phase == c.refuse {
						return refuse
					}
					return nil
				}
			}
			_, err := b.apply(c.nodes, declared(c.output)...)
			if wrote := b.snapshot().Serial > serial; wrote != c.writes {
				t.Errorf("wrote: %t", wrote)
			}
			if c.refuse == "" && err != nil || c.refuse != "" && !errors.Is(err, refuse) {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(c.asked, asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			b.wantCalls(c.calls...)
		})
	}
}

func TestEvents(t *testing.T) {
	b := newBench(t)
	b.adjust = func(r *apply.Run) { r.Parallelism = 1 }
	b.mustApply([]ir.Node{thing("old", "k", "1")})
	b.world.before = func(_ context.Context, op string, r *model.Request) error {
		if op == "delete" {
			return errors.New("boom")
		}
		return nil
	}
	if _, err := b.apply([]ir.Node{thing("a", "k", "1")}); err == nil {
		t.Fatal("no error")
	}
	var got []string
	for _, e := range b.events {
		if e.RunID != "run-2" || e.At.IsZero() {
			t.Errorf("event %+v has no run or time", e)
		}
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Phase, e.Action, model.LocalName(e.NodeID))))
	}
	want := []string{"run_start", "node_start create a", "node_finish create a", "node_start delete old", "node_fail delete old", "run_finish"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestBrokenSinkBreaksNothing(t *testing.T) {
	b := newBench(t)
	b.adjust = func(r *apply.Run) { r.Events = func(apply.Event) { panic("sink") } }
	b.mustApply([]ir.Node{thing("a", "k", "1")})
}

func TestRequests(t *testing.T) {
	b := newBench(t)
	b.mustApply([]ir.Node{thing("a", "k", "1"), thing("b", "k", ref("a", "sum"))})
	seen := map[string]*model.Request{}
	b.world.before = func(_ context.Context, op string, r *model.Request) error {
		seen[op+" "+r.Node.Name] = r
		return nil
	}
	b.mustApply([]ir.Node{thing("a", "k", "2"), thing("b", "k2", ref("a", "sum"))})
	update := seen["update a"]
	if update.Owner != "ns/uid" || update.Node.Stack != "s" || update.Inputs["value"] != "2" || update.Prior.Inputs["value"] != "1" || update.Prior.Outputs["id"] != "id-1" {
		t.Errorf("update of a: %+v, prior %+v", update, update.Prior)
	}
	// The old half is rebuilt from what was recorded, not from what a gives now.
	if del := seen["delete b"]; del.Inputs["value"] != "sum(1)" || del.Inputs["key"] != "k" || del.Prior.Outputs["id"] != "id-2" {
		t.Errorf("delete of b: %+v, prior %+v", del, del.Prior)
	}
	if create := seen["create b"]; create.Inputs["value"] != "sum(2)" || create.Prior != nil || create.Attempt == "" {
		t.Errorf("create of b: %+v", create)
	}
}
