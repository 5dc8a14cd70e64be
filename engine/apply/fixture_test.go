package apply_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/apply/applytest"
	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/memory"
)

const partition = "p"

func schemas(t rapid.TB) *model.Schemas {
	t.Helper()
	s, err := model.NewSchemas(applytest.Schema())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// thing declares a node of the stack s; its edges follow from its references.
func thing(name, key string, value any) ir.Node {
	return node("s:test.Thing:"+name, map[string]any{"key": key, "value": value})
}

func node(id string, properties map[string]any) ir.Node {
	n := ir.Node{ID: id, Type: model.TypeOf(id), Kind: model.KindResource, Provider: "test", ProviderVersion: "1.0.0", Properties: properties}
	if n.Type == "test.Lookup" {
		n.Kind = model.KindData
	}
	for _, ref := range model.References(properties) {
		n.Dependencies = append(n.Dependencies, ref.NodeID)
	}
	n.Dependencies = slices.Compact(n.Dependencies)
	return n
}

// keyed declares a node whose identity is read from another.
func keyed(name string, key, value any) ir.Node {
	return node("s:test.Thing:"+name, map[string]any{"key": key, "value": value})
}

// first is the node, replaced create-first.
func first(n ir.Node) ir.Node {
	n.CreateBeforeDestroy = true
	return n
}

func ref(name, output string) map[string]any {
	return model.Reference{NodeID: "s:test.Thing:" + name, Output: output}.Marker()
}

// compiled is what a compiler would make of the nodes.
func compiled(t rapid.TB, nodes []ir.Node, outputs ...ir.Output) *ir.Compilation {
	t.Helper()
	doc := &ir.Document{Nodes: slices.SortedFunc(slices.Values(nodes), func(a, b ir.Node) int { return strings.Compare(a.ID, b.ID) })}
	g, err := graph.Build(doc.Edges())
	if err != nil {
		t.Fatal(err)
	}
	hashes, err := ir.Hashes(doc, g.Order())
	if err != nil {
		t.Fatal(err)
	}
	return &ir.Compilation{Document: doc, Hashes: hashes, Outputs: outputs}
}

// handle is a lock that a test can lose.
type handle struct {
	fence model.Fence
	mu    sync.Mutex
	err   error
	lost  chan struct{}
}

func (h *handle) Fence() model.Fence { return h.fence }

func (h *handle) Check() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

func (h *handle) Lost() <-chan struct{} { return h.lost }

func (h *handle) Release(context.Context) error { return nil }

func (h *handle) Abandon() {}

func (h *handle) lose() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = model.Errorf(model.LeaseLostError, model.ClassTransient, "taken over by 'other'")
	close(h.lost)
}

// bench is a world, a store and a clock that outlive runs.
type bench struct {
	rapid.TB
	world    *world
	provider apply.Provider // the world, or something around it
	store    *memory.Store
	writer   state.Writer // the store, or something around it
	epoch    int64
	ids      int
	idsMu    sync.Mutex
	handle   *handle // of the latest run
	events   []apply.Event
	adjust   func(*apply.Run)
	ctx      context.Context // of the next runs
	latest   *plan.Plan
	safe     *safe // of the next runs; nil = they know no secret
	watched  bool  // every create of the next runs must be written ahead
	deaf     bool  // nobody reads what plans name
	// onFailure is the mode of the next runs.
	onFailure string
	// planned changes what the next plans are made from.
	planned func(*plan.Input)
	named   map[string]bool // nodes of which a plan said that something may be left
}

func newBench(t rapid.TB) *bench {
	b := &bench{TB: t, world: newWorld(), store: memory.New(), named: map[string]bool{}, onFailure: plan.OnFailureHalt, ctx: context.Background()}
	b.provider, b.writer = b.world, b.store
	return b
}

func (b *bench) snapshot() *state.Snapshot {
	b.Helper()
	s, err := b.store.Load(context.Background(), partition)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func (b *bench) plan(c *ir.Compilation) *plan.Plan {
	b.Helper()
	in := plan.Input{Compilation: c, Snapshot: b.snapshot(), Schemas: schemas(b), OnFailure: b.onFailure, PlainSecrets: true}
	if b.planned != nil {
		b.planned(&in)
	}
	p, err := plan.New(in)
	if err != nil {
		b.Fatal(err)
	}
	if err := p.Unsupported(); err != nil {
		b.Fatal(err)
	}
	b.latest = p
	for id, reason := range p.Leaks {
		b.named[id] = !b.deaf
		if !slices.Contains(p.Warnings, id+": "+reason) {
			b.Errorf("no warning tells of what may be left of %s: %v", id, p.Warnings)
		}
	}
	return p
}

// run applies a plan under a fence of its own.
func (b *bench) run(ctx context.Context, p *plan.Plan) (*apply.Report, error) {
	b.Helper()
	b.epoch++
	b.handle = &handle{fence: model.Fence{Epoch: b.epoch, Holder: fmt.Sprintf("run-%d", b.epoch)}, lost: make(chan struct{})}
	if err := b.store.Claim(ctx, partition, b.handle.fence); err != nil {
		b.Fatal(err)
	}
	b.events = nil
	provider := b.provider
	if b.watched {
		provider = &witness{Provider: provider, b: b, recorded: p.Snapshot}
	}
	r := &apply.Run{
		Provider: func(name string) (apply.Provider, bool) { return provider, name == "test" },
		Schemas:  schemas(b), Store: b.writer, Partition: partition, Lease: b.handle, Owner: "ns/uid",
		Parallelism: 4, NodeTimeout: time.Minute, DrainGrace: 10 * time.Second,
		Now: func() time.Time { return time.Unix(1_900_000_000, 0).UTC() },
		NewID: func() string {
			b.idsMu.Lock()
			defer b.idsMu.Unlock()
			b.ids++
			return fmt.Sprintf("uid-%d", b.ids)
		},
		Events: func(e apply.Event) { b.events = append(b.events, e) },
	}
	if b.adjust != nil {
		b.adjust(r)
	}
	report, err := r.Apply(ctx, p)
	for id := range p.Leaks {
		if report.Orphaned[id] == "" {
			b.Errorf("the report does not name %s, of which something may be left", id)
		}
	}
	return report, err
}

// forget takes away what plans named as possibly left, as their reader would.
func (b *bench) forget() { b.world.Forget(b.opened(), b.named) }

// opened is the snapshot with nothing sealed.
func (b *bench) opened() *state.Snapshot {
	b.Helper()
	if b.safe == nil {
		return b.snapshot()
	}
	return applytest.Opened(b.snapshot(), b.safe.Unseal)
}

func (b *bench) apply(nodes []ir.Node, outputs ...ir.Output) (*apply.Report, error) {
	b.Helper()
	return b.run(b.ctx, b.plan(compiled(b, nodes, outputs...)))
}

func (b *bench) mustApply(nodes []ir.Node, outputs ...ir.Output) *apply.Report {
	b.Helper()
	report, err := b.apply(nodes, outputs...)
	if err != nil {
		b.Fatalf("apply: %v", err)
	}
	return report
}

// steady complains unless the next plan has nothing to do.
func (b *bench) steady(nodes []ir.Node, outputs ...ir.Output) {
	b.Helper()
	p := b.plan(compiled(b, nodes, outputs...))
	if p.HasPending() || !p.Outputs.Empty() {
		for i := range p.Changes {
			if p.Changes[i].Pending() {
				b.Errorf("still pending: %s %s %v", p.Changes[i].Action, p.Changes[i].NodeID, p.Changes[i].ChangedFields)
			}
		}
		b.Errorf("output changes: %+v", p.Outputs)
	}
}

func (b *bench) wantThings(want map[string]string) {
	b.Helper()
	if diff := cmp.Diff(want, b.world.things(b)); diff != "" {
		b.Errorf("things (-want +got):\n%s", diff)
	}
}

func (b *bench) wantCalls(want ...string) {
	b.Helper()
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	if diff := cmp.Diff(want, b.world.calls); diff != "" {
		b.Errorf("calls (-want +got):\n%s", diff)
	}
	b.world.calls = nil
}

// statuses are the rows as name → status.
func (b *bench) statuses() map[string]string {
	b.Helper()
	rows := map[string]string{}
	for id, row := range b.snapshot().Rows {
		rows[model.LocalName(id)] = row.Status
	}
	for id := range b.snapshot().Pending {
		rows[model.LocalName(id)+plan.PendingSuffix] = "pending"
	}
	return rows
}

func (b *bench) wantStatuses(want map[string]string) {
	b.Helper()
	if diff := cmp.Diff(want, b.statuses()); diff != "" {
		b.Errorf("rows (-want +got):\n%s", diff)
	}
}

func wantError(t rapid.TB, err error, kind model.Kind, says string) {
	t.Helper()
	_ = failureOf(t, err, kind, says)
}

// failureOf is an error of the wanted kind and text, for a closer look.
func failureOf(t rapid.TB, err error, kind model.Kind, says string) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != kind || !strings.Contains(e.Error(), says) {
		t.Fatalf("error %s %v, want %s with %q", model.KindOf(err), err, kind, says)
	}
	return e
}

// expected is what the world should hold for nodes whose values are literals or the
// sum of another.
func expected(nodes []ir.Node) map[string]string {
	want, values := map[string]string{}, map[string]string{}
	var value func(name string) string
	byName := map[string]ir.Node{}
	for _, n := range nodes {
		byName[model.LocalName(n.ID)] = n
	}
	resolved := func(v any) string {
		if r, ok := model.AsReference(v); ok && r.Output == "id" {
			return "id(" + model.LocalName(r.NodeID) + ")"
		} else if ok {
			return "sum(" + value(model.LocalName(r.NodeID)) + ")"
		}
		return v.(string)
	}
	value = func(name string) string {
		if _, ok := values[name]; !ok {
			values[name] = resolved(byName[name].Properties["value"])
		}
		return values[name]
	}
	for name, n := range byName {
		want[name] = resolved(n.Properties["key"]) + "=" + value(name)
	}
	return maps.Clone(want)
}
