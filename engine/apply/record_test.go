package apply_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// recording is where a refresh or an import of the bench writes, under a fence of its own.
func (b *bench) recording() *apply.Record {
	b.Helper()
	b.epoch++
	b.handle = &handle{fence: model.Fence{Epoch: b.epoch, Holder: "recorder"}, lost: make(chan struct{})}
	if err := b.store.Claim(context.Background(), partition, b.handle.fence); err != nil {
		b.Fatal(err)
	}
	b.events = nil
	var sink sync.Mutex
	return &apply.Record{
		Store: b.writer, Partition: partition, Lease: b.handle, Timeout: time.Minute,
		Now: func() time.Time { return time.Unix(1_900_000_001, 0).UTC() },
		Events: func(e apply.Event) {
			sink.Lock()
			defer sink.Unlock()
			b.events = append(b.events, e)
		},
	}
}

// TestRefreshWrites: outputs follow the world, inputs that differ mark the row, a reference
// is never overwritten, and what is in sync is not written (RF-7, T-177, T-180, T-181).
func TestRefreshWrites(t *testing.T) {
	b := newBench(t)
	b.adjust = func(r *apply.Run) { r.Parallelism = 1 }
	nodes := []ir.Node{thing("a", "k", "1"), keyed("b", ref("a", "sum"), "1"), thing("c", "k", "1")}
	b.mustApply(nodes)
	b.world.password = "secret" // as it is recorded
	b.world.Objects["id-1"].Key = "tampered"
	b.world.Objects["id-2"].Key = "tampered"
	b.world.Objects["id-2"].Value = "other"
	before := b.snapshot()
	r := b.refresher()
	r.Record = b.recording()
	if _, err := r.Run(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	after := b.snapshot()
	a, bb := after.Rows[idA], after.Rows[idB]
	if a.InputHash != "" || a.Properties["key"] != "tampered" || a.Outputs["sum"] != before.Rows[idA].Outputs["sum"] || len(a.RefreshedOutputs) > 0 {
		t.Errorf("a: %+v", a)
	}
	if bb.InputHash != "" || cmp.Diff(ref("a", "sum"), bb.Properties["key"]) != "" || bb.Outputs["sum"] != "sum(other)" || !slices.Equal(bb.RefreshedOutputs, []string{"sum"}) {
		t.Errorf("b: %+v", bb)
	}
	if diff := cmp.Diff(before.Rows[idC], after.Rows[idC]); diff != "" {
		t.Errorf("what is in sync was written (-before +after):\n%s", diff)
	}
	if after.Serial != before.Serial+2 || len(b.events) != 2 {
		t.Errorf("%d writes, %d events; want one for each row that moved", after.Serial-before.Serial, len(b.events))
	}
	left := pending(b.plan(compiled(t, nodes)))
	if !slices.Equal(left, []string{"replace " + idA, "update " + idB}) && !slices.Equal(left, []string{"replace " + idA, "replace " + idB}) {
		t.Errorf("the next plan: %v", left)
	}
}

// TestRefreshOfWhatIsGone: only with prune is a row forgotten, and never one that may still
// be on its way (RF-8, T-178, T-179).
func TestRefreshOfWhatIsGone(t *testing.T) {
	for _, c := range []struct {
		reason string
		status string
		hash   string
		prune  bool
		want   string // what becomes of the row
		writes int64
	}{
		{"it is marked", state.StatusCreated, "h", false, "marked", 1},
		{"once", state.StatusCreated, "", false, "marked", 0},
		{"or forgotten", state.StatusCreated, "h", true, "forgotten", 1},
		{"but not while it may be on its way", state.StatusCreating, "h", true, "kept", 0},
	} {
		t.Run(c.reason, func(t *testing.T) {
			b := newBench(t)
			b.mustApply([]ir.Node{thing("a", "k", "1")})
			row := b.snapshot().Rows[idA]
			row.Status, row.InputHash = c.status, c.hash
			if err := b.store.Commit(t.Context(), partition, b.handle.fence, state.Batch{PutRows: []*state.Row{row}}); err != nil {
				t.Fatal(err)
			}
			clear(b.world.Objects)
			before := b.snapshot()
			r := b.refresher()
			r.Prune, r.Record = c.prune, b.recording()
			if _, err := r.Run(t.Context(), before); err != nil {
				t.Fatal(err)
			}
			got := "kept"
			switch now := b.snapshot().Rows[idA]; {
			case now == nil:
				got = "forgotten"
			case now.InputHash == "":
				got = "marked"
			}
			if wrote := b.snapshot().Serial - before.Serial; got != c.want || wrote != c.writes {
				t.Errorf("%s with %d writes, want %s with %d", got, wrote, c.want, c.writes)
			}
		})
	}
}

// TestRefreshWithoutItsLock: nothing is written once the lock is lost or taken.
func TestRefreshWithoutItsLock(t *testing.T) {
	for _, c := range []struct {
		kind model.Kind
		lose func(b *bench)
	}{
		{model.LeaseLostError, func(b *bench) { b.handle.lose() }},
		{model.FencedWriteError, func(b *bench) {
			if err := b.store.Claim(context.Background(), partition, model.Fence{Epoch: 99, Holder: "other"}); err != nil {
				b.Fatal(err)
			}
		}},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			b := newBench(t)
			b.mustApply([]ir.Node{thing("a", "k", "1")})
			before := b.snapshot()
			r := b.refresher()
			r.Record = b.recording()
			c.lose(b)
			_, err := r.Run(t.Context(), before)
			wantError(t, err, c.kind, "")
			if diff := cmp.Diff(before, b.snapshot()); diff != "" {
				t.Errorf("state (-before +after):\n%s", diff)
			}
		})
	}
}

// finder is a world of things that exist and were made by nobody, by id or, for what is
// found by its name, by key. Nothing but a read may be called.
type finder struct {
	apply.Provider
	found map[string]model.Observed
}

func (f finder) Read(_ context.Context, r *model.Request) (model.Observed, bool, error) {
	name, _ := r.Inputs["key"].(string)
	if id, ok := r.Prior.Outputs["id"].(string); ok {
		name = id
	}
	if name == "denied" {
		return nil, false, errors.New("access denied")
	}
	live, ok := f.found[name]
	return live, ok, nil
}

// importing is an import of a config into the bench; dry without a record.
func (b *bench) importing(nodes []ir.Node, found map[string]model.Observed) *apply.Import {
	b.Helper()
	c := compiled(b, nodes)
	g, err := graph.Build(c.Document.Edges())
	if err != nil {
		b.Fatal(err)
	}
	ids := 0
	return &apply.Import{
		Provider: func(string) (apply.Provider, bool) { return finder{found: found}, true }, Schemas: schemas(b), Compilation: c, Graph: g,
		NodeTimeout: time.Minute, DrainGrace: time.Second, NewID: func() string { ids++; return "import-" + string(rune('0'+ids)) },
	}
}

const idNamed = "s:test.Named:n"

func importable() []ir.Node {
	return []ir.Node{
		thing("a", "k", "1"),
		thing("b", "k", ref("a", "sum")),
		node(idNamed, map[string]any{"key": "name", "value": "1"}),
		node("s:test.Named:gone", map[string]any{"key": "gone", "value": "1"}),
		node("s:test.Named:denied", map[string]any{"key": "denied", "value": "1"}),
	}
}

func existing() map[string]model.Observed {
	return map[string]model.Observed{
		"i-1":  {"key": "k", "value": "1", "sum": "s1", "password": "pw"},
		"i-2":  {"key": "k", "value": "s1"},
		"i-3":  {"key": "k", "value": "else"},
		"name": {"key": "name"},
	}
}

// TestImportAnswers: what is refused is refused for the first reason that holds, and stops
// no other request (RF-11, RF-12, T-190a…T-190e, T-194).
func TestImportAnswers(t *testing.T) {
	for _, c := range []struct {
		reason  string
		request apply.ImportRequest
		status  string
		says    string
		rows    []ir.Node
	}{
		{"not declared", apply.ImportRequest{NodeID: "s:test.Thing:x", ExternalID: "i-1"}, apply.Blocked, "does not declare", nil},
		{"recorded already", apply.ImportRequest{NodeID: idA}, apply.AlreadyTracked, "already", []ir.Node{thing("a", "k", "1")}},
		{"what it refers to is not recorded", apply.ImportRequest{NodeID: idB, ExternalID: "i-2"}, apply.Blocked, idA, nil},
		{"no id", apply.ImportRequest{NodeID: idA}, apply.Blocked, "'id'", nil},
		{"an id that its type has no use for", apply.ImportRequest{NodeID: idNamed, ExternalID: "i-1"}, apply.Blocked, "by its name", nil},
		{"an id on a field that is no output", apply.ImportRequest{NodeID: idA, ExternalID: "i-1", IDField: "key"}, apply.Blocked, "no output 'key'", nil},
		{"an id on another output (T-194b)", apply.ImportRequest{NodeID: idA, ExternalID: "i-1", IDField: "sum"}, apply.NotFound, "", nil},
		{"nothing there", apply.ImportRequest{NodeID: "s:test.Named:gone"}, apply.NotFound, "no such resource", nil},
		{"a read that fails", apply.ImportRequest{NodeID: "s:test.Named:denied"}, apply.Blocked, "access denied", nil},
		{"not as the config says", apply.ImportRequest{NodeID: idA, ExternalID: "i-3"}, apply.ImportDrifted, "not as the config says", nil},
		{"by its id", apply.ImportRequest{NodeID: idA, ExternalID: "i-1"}, apply.WouldImport, "", nil},
		{"by its name", apply.ImportRequest{NodeID: idNamed}, apply.WouldImport, "", nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			b := newBench(t)
			b.mustApply(c.rows)
			before := b.snapshot()
			m := b.importing(importable(), existing())
			report, err := m.Run(t.Context(), before, []apply.ImportRequest{c.request})
			if err != nil || len(report.Nodes) != 1 {
				t.Fatalf("%+v, %v", report, err)
			}
			node := report.Nodes[0]
			if node.Status != c.status || !strings.Contains(node.Detail, c.says) {
				t.Errorf("%s %q, want %s with %q", node.Status, node.Detail, c.status, c.says)
			}
			refuses := slices.Contains([]string{apply.Blocked, apply.NotFound, apply.ImportDrifted}, c.status)
			if (report.Refused == 1) != refuses || report.Imported != 0 {
				t.Errorf("report %+v", report)
			}
			if diff := cmp.Diff(before, b.snapshot()); diff != "" {
				t.Errorf("a dry run wrote (-before +after):\n%s", diff)
			}
		})
	}
}

// TestImportRecords: what is taken in is what an apply would have recorded, dependencies
// first, so that the next plan has nothing to do with it (RF-13, RF-14, T-184…T-189).
func TestImportRecords(t *testing.T) {
	b := newBench(t)
	nodes := importable()
	requests := []apply.ImportRequest{{NodeID: idB, ExternalID: "i-2"}, {NodeID: "s:test.Thing:x"}, {NodeID: idA, ExternalID: "i-1"}}
	dry, err := b.importing(nodes, existing()).Run(t.Context(), b.snapshot(), requests)
	if err != nil {
		t.Fatal(err)
	}
	m := b.importing(nodes, existing())
	m.Record = b.recording()
	report, err := m.Run(t.Context(), b.snapshot(), requests)
	if err != nil {
		t.Fatal(err)
	}
	var order, answers []string
	for i, n := range report.Nodes {
		order = append(order, n.NodeID+" "+n.Status)
		answers = append(answers, strings.Replace(dry.Nodes[i].NodeID+" "+dry.Nodes[i].Status, apply.WouldImport, apply.Imported, 1))
	}
	if diff := cmp.Diff([]string{idA + " imported", idB + " imported", "s:test.Thing:x blocked"}, order); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(order, answers); diff != "" {
		t.Errorf("a dry run answers otherwise (-real +dry):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"id", "password", "sum"}, report.Nodes[0].Recorded); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
	row := b.snapshot().Rows[idB]
	if row.Status != state.StatusCreated || row.Outputs["id"] != "i-2" || cmp.Diff(ref("a", "sum"), row.Properties["value"]) != "" ||
		!slices.Equal(row.Dependencies, []string{idA}) || row.RefDigests["value"] == "" || row.RowUID == "" {
		t.Errorf("row %+v", row)
	}
	if left := pending(b.plan(compiled(t, nodes[:2]))); len(left) > 0 {
		t.Errorf("still pending: %v", left)
	}
	if len(b.events) != 2 || b.events[0].Action != "import" {
		t.Errorf("events %+v", b.events)
	}
}

// TestImportWithDrift: what differs is updated by the next apply, never replaced, and a
// sensitive value is not shown (RF-14, T-188, T-191).
func TestImportWithDrift(t *testing.T) {
	b := newBench(t)
	nodes := []ir.Node{thing("a", "k", "1")}
	m := b.importing(nodes, existing())
	m.Record, m.AllowDrift = b.recording(), true
	report, err := m.Run(t.Context(), b.snapshot(), []apply.ImportRequest{{NodeID: idA, ExternalID: "i-3"}})
	if err != nil || report.Imported != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	if diff := cmp.Diff(map[string]apply.ImportDrift{"value": {Config: "1", Live: "else"}}, report.Nodes[0].Drift); diff != "" {
		t.Errorf("drift (-want +got):\n%s", diff)
	}
	if left := pending(b.plan(compiled(t, nodes))); !slices.Equal(left, []string{"update " + idA}) {
		t.Errorf("the next plan: %v", left)
	}
}

// TestImportWithoutItsLock: a lost lock ends the import with nothing written (T-193).
func TestImportWithoutItsLock(t *testing.T) {
	b := newBench(t)
	m := b.importing(importable(), existing())
	m.Record = b.recording()
	b.handle.lose()
	_, err := m.Run(t.Context(), b.snapshot(), []apply.ImportRequest{{NodeID: idA, ExternalID: "i-1"}})
	wantError(t, err, model.LeaseLostError, "")
	b.wantStatuses(map[string]string{})
}

// TestImportable lists what is declared and not recorded (RF-16).
func TestImportable(t *testing.T) {
	b := newBench(t)
	b.mustApply([]ir.Node{thing("a", "k", "1")})
	got := apply.Importable(compiled(t, importable()[:3]).Document, schemas(t), b.snapshot())
	if len(got) != 2 || got[0].NodeID != idNamed || got[0].IdentityField != nil || got[1].NodeID != idB || *got[1].IdentityField != "id" {
		t.Errorf("%+v", got)
	}
}
