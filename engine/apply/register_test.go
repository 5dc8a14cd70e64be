package apply_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// after is the node, behind others without reading of them.
func after(n ir.Node, others ...string) ir.Node {
	n.DependsOn = others
	return n
}

// TestOrderWithoutReferences: an order that is only declared is recorded, and holds for
// what goes (X-18, N-11).
func TestOrderWithoutReferences(t *testing.T) {
	nodes := []ir.Node{thing("a", "k", "1"), after(thing("b", "k", "1"), idA), after(thing("c", "k", "1"), idB)}
	destroyed := func(b *bench) (*apply.Report, error) {
		p, err := plan.Destroy(b.snapshot(), schemas(b), plan.Secrets{})
		if err != nil {
			b.Fatal(err)
		}
		return b.run(b.ctx, p)
	}
	for reason, run := range map[string]func(b *bench) (*apply.Report, error){
		"a destroy":                 destroyed,
		"a config without them":     func(b *bench) (*apply.Report, error) { return b.apply(nil) },
		"a config with one of them": func(b *bench) (*apply.Report, error) { return b.apply(nodes[:1]) },
	} {
		t.Run(reason, func(t *testing.T) {
			b := serial(t, nodes)
			if got := b.snapshot().Rows[idB].DependsOn; !slices.Equal(got, []string{idA}) {
				t.Errorf("the row records the order %v", got)
			}
			report, err := run(b)
			if err != nil {
				t.Fatal(err)
			}
			calls := []string{"delete c", "delete b", "delete a"}
			b.wantCalls(calls[:len(report.Deleted)]...)
		})
	}
}

// TestRollbackWaitsForCallsInFlight: nothing is undone while a call may still make
// something; what it makes is undone as well (GR-16, GR-17, X-39).
func TestRollbackWaitsForCallsInFlight(t *testing.T) {
	for _, c := range []struct {
		reason string
		takes  time.Duration // of the call in flight, which is deaf to its context
		calls  []string
		rows   map[string]string
		left   []string
		undone time.Duration // when the first undo starts
	}{
		{"it returns within the grace", 5 * time.Second, []string{"create u", "create a", "create z", "delete a", "delete u"},
			map[string]string{"z": "creating"}, nil, 5 * time.Second},
		{"it returns once it is told to stop", 15 * time.Second, []string{"create u", "create a", "create z", "delete a", "delete u"},
			map[string]string{"z": "creating"}, nil, 15 * time.Second},
		{"it is abandoned, and may yet make something (EX-33)", time.Hour, []string{"create u", "create a", "create z", "delete u"},
			map[string]string{"a": "creating", "z": "creating"}, []string{idA}, 20 * time.Second},
	} {
		t.Run(c.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.onFailure = plan.OnFailureRollback
				var undone time.Duration
				var failedAt time.Time
				inFlight := make(chan struct{})
				b.world.before = func(_ context.Context, op string, r *model.Request) error {
					switch op + " " + r.Node.Name {
					case "create a":
						close(inFlight)
						<-time.After(c.takes)
					case "create z":
						<-inFlight
						failedAt = time.Now()
						return errBroken
					}
					if op == "delete" && undone == 0 {
						undone = time.Since(failedAt)
					}
					return nil
				}
				report, err := b.apply([]ir.Node{thing("u", "k", "1"), after(thing("a", "k", "1"), "s:test.Thing:u"), after(thing("z", "k", "1"), "s:test.Thing:u")})
				wantError(t, err, model.ProviderError, "broken")
				slices.Sort(b.world.calls[1:3]) // a and z start together
				b.wantCalls(c.calls...)
				b.wantStatuses(c.rows)
				if undone != c.undone || !slices.Equal(report.Abandoned, c.left) {
					t.Errorf("the first undo came after %s, want %s; abandoned %v", undone, c.undone, report.Abandoned)
				}
				<-time.After(2 * time.Hour) // what was abandoned returns in the end
			})
		})
	}
}

// TestUndoOfACreateKnowsWhatItMade (T-105).
func TestUndoOfACreateKnowsWhatItMade(t *testing.T) {
	b := rollingBack(t, nil)
	b.world.before = func(_ context.Context, op string, r *model.Request) error {
		if op == "delete" && (r.Prior == nil || r.Prior.Outputs["id"] != "id-1" || r.Prior.Outputs["password"] != "secret") {
			t.Errorf("the undo is told of %+v", r.Prior)
		}
		if r.Node.Name == "z" {
			return errBroken
		}
		return nil
	}
	_, err := b.apply(failing([]ir.Node{thing("a", "k", "1")}))
	wantError(t, err, model.ProviderError, "broken")
	b.wantCalls("create a", "create z", "delete a")
}

// TestFailedCreateIsReclaimed: what a failed create may have left goes with its node, out of
// the config or in a destroy (T-109, EX-26).
func TestFailedCreateIsReclaimed(t *testing.T) {
	for reason, run := range map[string]func(b *bench) error{
		"dropped": func(b *bench) error { _, err := b.apply(nil); return err },
		"destroyed": func(b *bench) error {
			p, err := plan.Destroy(b.snapshot(), schemas(b), plan.Secrets{})
			if err == nil {
				_, err = b.run(b.ctx, p)
			}
			return err
		},
	} {
		t.Run(reason, func(t *testing.T) {
			b := newBench(t)
			b.world.outputs = func(*model.Request) (model.Outputs, error) { return nil, errBroken } // after it made something
			_, err := b.apply([]ir.Node{thing("a", "k", "1")})
			wantError(t, err, model.ProviderError, "broken")
			b.wantThings(map[string]string{"a": "k=1"})
			if err := run(b); err != nil {
				t.Fatal(err)
			}
			b.wantCalls("create a", "delete a")
			b.wantThings(map[string]string{})
			b.wantStatuses(map[string]string{})
		})
	}
}

// TestCancelledNodeIsTold: its failure is an event like another (T-115, EX-39).
func TestCancelledNodeIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		ctx, cancel := context.WithCancel(t.Context())
		b.world.before = func(callCtx context.Context, _ string, _ *model.Request) error {
			cancel()
			<-callCtx.Done()
			return callCtx.Err()
		}
		_, err := b.run(ctx, b.plan(compiled(t, []ir.Node{thing("a", "k", "1")})))
		wantError(t, err, model.InterruptedRunError, "")
		var phases []string
		for _, e := range b.events {
			phases = append(phases, e.Phase)
		}
		if diff := cmp.Diff([]string{"run_start", "node_start", "node_fail", "run_finish"}, phases); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

// TestCombinatorsResolveAtApply: each of them, nested, over what does not exist before the
// run (T-124a to T-124e, EX-6).
func TestCombinatorsResolveAtApply(t *testing.T) {
	op := func(name string, args ...any) map[string]any { return model.Transform{Op: name, Args: args}.Marker() }
	for _, c := range []struct {
		reason string
		value  any
		want   string // "" = the node fails
	}{
		{"concat", op("concat", "x-", ref("a", "id")), "k=x-id(a)"},
		{"join", op("join", "/", []any{"x", ref("a", "id")}), "k=x/id(a)"},
		{"interpolate", op("interpolate", "{} of {0}", ref("a", "id")), ""},
		{"interpolate, by place", op("interpolate", "{1} of {0}", "x", ref("a", "id")), "k=id(a) of x"},
		{"index", op("index", []any{"x", ref("a", "id")}, int64(1)), "k=id(a)"},
		{"nested", op("concat", op("join", "/", []any{op("interpolate", "<{}>", ref("a", "id")), "y"}), "!"), "k=<id(a)>/y!"},
		{"an unknown one", op("reverse", ref("a", "id")), ""},
		{"a list that is none", op("join", "/", ref("a", "id")), ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			b := serial(t, nil)
			nodes := []ir.Node{thing("a", "k", "1"), thing("b", "k", c.value)}
			_, err := b.apply(nodes)
			if c.want == "" {
				if e := failureOf(t, err, model.ProviderError, ""); e.NodeID != idB {
					t.Errorf("error %+v", e)
				}
				b.wantCalls("create a")
				b.wantStatuses(map[string]string{"a": "created"})
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			b.wantCalls("create a", "create b")
			b.wantThings(map[string]string{"a": "k=1", "b": c.want})
			b.steady(nodes)
		})
	}
}

// TestFenceLostAtAWriteAhead: a write that the fence refuses is a lost lock: nothing is
// undone, and the report says why (N-04, X-10, EX-28).
func TestFenceLostAtAWriteAhead(t *testing.T) {
	b := rollingBack(t, nil)
	b.writer = &pausing{Writer: b.store, at: 2, over: func() { // the write-ahead of the second node
		if err := b.store.Claim(context.Background(), partition, model.Fence{Epoch: 99, Holder: "other"}); err != nil {
			t.Fatal(err)
		}
	}}
	report, err := b.apply([]ir.Node{thing("a", "k", "1"), after(thing("b", "k", "1"), idA)})
	wantError(t, err, model.FencedWriteError, "other")
	if report.RollbackSkipped == nil || len(report.RolledBack) > 0 {
		t.Errorf("report %+v", report)
	}
	b.wantCalls("create a")
	b.wantStatuses(map[string]string{"a": "created"})
}

// TestOutputsAreFenced: a commit of outputs alone needs the fence and moves the serial
// (N-19, X-26, EX-22).
func TestOutputsAreFenced(t *testing.T) {
	nodes := []ir.Node{thing("a", "k", "1")}
	b := serial(t, nodes)
	before := b.snapshot()
	out := ir.Output{Key: "s:o", Value: ref("a", "sum")}
	b.adjust = func(*apply.Run) {
		if err := b.store.Claim(t.Context(), partition, model.Fence{Epoch: 99, Holder: "other"}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := b.apply(nodes, out)
	wantError(t, err, model.FencedWriteError, "other")
	if diff := cmp.Diff(before, b.snapshot()); diff != "" {
		t.Errorf("the stale run wrote (-before +after):\n%s", diff)
	}
	b.adjust, b.epoch = nil, 100
	b.mustApply(nodes, out)
	b.wantCalls()
	if now := b.snapshot(); now.Serial != before.Serial+1 || now.Outputs["s:o"].Value != "sum(1)" {
		t.Errorf("serial %d after %d, outputs %v", now.Serial, before.Serial, now.Outputs)
	}
}

// TestCreateFirstReachesUpstream: what a create-first node stands on is replaced create-first
// as well, all new halves before any old one goes (N-54, DF-30).
func TestCreateFirstReachesUpstream(t *testing.T) {
	chain := func(key string) []ir.Node {
		return []ir.Node{thing("a", key, "1"), keyed("b", ref("a", "id"), "1"), first(keyed("c", ref("b", "id"), "1"))}
	}
	b := serial(t, chain("k"))
	report := b.mustApply(chain("k2"))
	b.wantCalls("create a", "create b", "create c", "delete c", "delete b", "delete a")
	if diff := cmp.Diff([]string{idA, idB, idC}, report.Replaced); diff != "" {
		t.Errorf("replaced (-want +got):\n%s", diff)
	}
	b.wantThings(expected(chain("k2")))
	b.steady(chain("k2"))
}

// TestImportedRowIsAnAppliedOne: field for field, but for what tells one row from another
// (T-185, T-186, RF-14).
func TestImportedRowIsAnAppliedOne(t *testing.T) {
	nodes := importable()[:2]
	applied := newBench(t)
	applied.mustApply(nodes)
	b := newBench(t)
	m := b.importing(nodes, map[string]model.Observed{
		"id-1": {"key": "k", "value": "1", "sum": "sum(1)", "password": "secret"},
		"id-2": {"key": "k", "value": "sum(1)", "sum": "sum(sum(1))", "password": "secret"},
	})
	m.Record = b.recording()
	report, err := m.Run(t.Context(), b.snapshot(), []apply.ImportRequest{{NodeID: idB, ExternalID: "id-2"}, {NodeID: idA, ExternalID: "id-1"}})
	if err != nil || report.Imported != 2 {
		t.Fatalf("%+v, %v", report, err)
	}
	own := cmpopts.IgnoreFields(state.Row{}, "RowUID", "Attempt", "UpdatedAt", "Epoch")
	if diff := cmp.Diff(applied.snapshot().Rows, b.snapshot().Rows, own, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("rows (-applied +imported):\n%s", diff)
	}
	b.steady(nodes)
}

// TestReadOfAnotherStacksOutput: it resolves from what is committed, and what is not is an
// error that names the stack (T-133, EX-7).
func TestReadOfAnotherStacksOutput(t *testing.T) {
	b := serial(t, []ir.Node{node("net:test.Thing:n", map[string]any{"key": "k", "value": "1"})}) // keeps its stack alive
	if err := b.store.Commit(t.Context(), partition, b.handle.fence, state.Batch{SetOutputs: map[string]state.Output{"net:id": {Value: "n-1"}}}); err != nil {
		t.Fatal(err)
	}
	reader := thing("a", "k", concat("of ", model.StackOutputMarker("net:id")))
	b.planned = func(in *plan.Input) { in.Targets = []string{"s:*"} }
	b.mustApply([]ir.Node{reader})
	b.wantCalls("create a")
	b.wantThings(map[string]string{"n": "k=1", "a": "k=of n-1"})
	_, err := plan.New(plan.Input{Compilation: compiled(t, []ir.Node{thing("b", "k", model.StackOutputMarker("far:id"))}),
		Snapshot: b.snapshot(), Schemas: schemas(t), OnFailure: plan.OnFailureHalt, Targets: []string{"s:*"}})
	if err == nil || errors.Is(err, errBroken) {
		t.Errorf("an output that nobody committed: %v", err)
	}
	wantError(t, err, model.AtlantideError, "'far:id'")
}

// TestLeftBehindByATarget: what was made from a node that a narrowed run replaced is replaced
// in the next full run, and for certain: its value is known to have moved (N-22, DF-11a).
func TestLeftBehindByATarget(t *testing.T) {
	nodes := []ir.Node{thing("a", "k", "1"), keyed("b", ref("a", "id"), "1")}
	b := serial(t, nodes)
	b.planned = func(in *plan.Input) { in.Targets, in.Replace = []string{idA}, []string{idA} }
	b.mustApply(nodes)
	b.wantCalls("delete a", "create a")
	b.planned = nil
	p := b.plan(compiled(t, nodes))
	for i := range p.Changes {
		if c := &p.Changes[i]; c.NodeID == idB && (c.Action != plan.Replace || c.Conditional || !slices.Equal(c.UpstreamMoved, []string{"key"})) {
			t.Errorf("change %+v", c)
		}
	}
	b.mustApply(nodes)
	b.wantCalls("delete b", "create b")
	b.wantThings(expected(nodes))
	b.steady(nodes)
}
