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
	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/memory"
)

const partition = "p"

var text = model.FieldType{Kind: model.KindString}

// The types of the tests: a thing is found by the id that its create gave, so a lost
// id is a lost thing.
var testSchema = &model.ProviderSchema{Name: "test", Version: "1.0.0", Module: "test", Types: []*model.ResourceType{
	{Name: "test.Thing", Provider: "test", Class: "Thing", Kind: model.KindResource, IdentityField: "id", Fields: []model.Field{
		{Name: "key", Type: text, Mutability: model.Immutable, Required: true},
		{Name: "value", Type: text, Mutability: model.Mutable, Default: ""},
		{Name: "id", Type: text, Mutability: model.Computed},
		{Name: "sum", Type: text, Mutability: model.Computed},
		{Name: "password", Type: text, Mutability: model.Computed, Sensitive: true},
	}},
	{Name: "test.Named", Provider: "test", Class: "Named", Kind: model.KindResource, Address: byKey, Fields: []model.Field{
		{Name: "key", Type: text, Mutability: model.Immutable, Required: true},
		{Name: "value", Type: text, Mutability: model.Mutable, Default: ""},
		{Name: "zone", Type: text, Mutability: model.Immutable, Default: ""},
	}},
	{Name: "test.Lookup", Provider: "test", Class: "Lookup", Kind: model.KindData, Fields: []model.Field{
		{Name: "query", Type: text, Mutability: model.Immutable, Required: true},
		{Name: "answer", Type: text, Mutability: model.Computed},
	}},
}}

func byKey(inputs map[string]any) (string, bool) {
	key, known := inputs["key"].(string)
	return key, known
}

func schemas(t rapid.TB) *model.Schemas {
	t.Helper()
	s, err := model.NewSchemas(testSchema)
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

// object is something that exists in the world.
type object struct{ ID, Node, Attempt, Key, Value string }

// cloud is how a provider finds what it made.
type cloud int

const (
	byToken   cloud = iota // by its id, or by the attempt that made it
	byName                 // by the name that the inputs give it
	byNothing              // by its id alone: a create whose answer is lost is lost
)

// world is a provider and what it made.
type world struct {
	kind    cloud
	mu      sync.Mutex
	objects map[string]*object
	next    int
	calls   []string // "op name", in the order in which they started
	// before runs in a call before it does anything; an error fails the call.
	before   func(ctx context.Context, op string, r *model.Request) error
	password string // that a read finds
	// outputs replaces what a create returns.
	outputs func(r *model.Request) (model.Outputs, error)
}

func newWorld() *world { return &world{objects: map[string]*object{}, password: "changed"} }

func (w *world) enter(ctx context.Context, op string, r *model.Request) error {
	w.mu.Lock()
	w.calls = append(w.calls, op+" "+r.Node.Name)
	w.mu.Unlock()
	if w.before == nil {
		return nil
	}
	return w.before(ctx, op, r)
}

// find is the object that a request is about.
func (w *world) find(r *model.Request) *object {
	if w.kind == byName {
		return w.objects[w.name(r)]
	}
	if r.Prior != nil {
		if id, ok := r.Prior.Outputs["id"].(string); ok && w.objects[id] != nil {
			return w.objects[id]
		}
	}
	for _, o := range w.objects {
		if w.kind == byToken && o.Node == r.Node.ID && o.Attempt == r.Attempt && r.Attempt != "" {
			return o
		}
	}
	return nil
}

// name is the id of an object that its inputs name.
func (w *world) name(r *model.Request) string {
	if key, ok := r.Inputs["key"].(string); ok {
		return "<" + r.Node.Name + "/" + key + ">"
	}
	if r.Prior != nil {
		id, _ := r.Prior.Outputs["id"].(string)
		return id
	}
	return ""
}

func (w *world) set(o *object, r *model.Request) model.Outputs {
	o.Key, o.Value = r.Inputs["key"].(string), r.Inputs["value"].(string)
	return model.Outputs{"id": o.ID, "sum": "sum(" + o.Value + ")", "password": "secret"}
}

func (w *world) Create(ctx context.Context, r *model.Request) (model.Outputs, error) {
	if err := w.enter(ctx, "create", r); err != nil {
		return nil, err
	}
	if r.Node.Type == "test.Lookup" {
		return model.Outputs{"answer": "42"}, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.find(r)
	if o == nil {
		w.next++
		o = &object{ID: fmt.Sprintf("id-%d", w.next), Node: r.Node.ID, Attempt: r.Attempt}
		if w.kind == byName {
			o.ID = w.name(r)
		}
		w.objects[o.ID] = o
	}
	outputs := w.set(o, r)
	if w.outputs != nil {
		return w.outputs(r)
	}
	return outputs, nil
}

func (w *world) Update(ctx context.Context, r *model.Request) (model.Outputs, error) {
	if err := w.enter(ctx, "update", r); err != nil {
		return nil, err
	}
	if r.Node.Type == "test.Lookup" {
		return model.Outputs{"answer": "42"}, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.find(r)
	if o == nil {
		return nil, errors.New("not found")
	}
	outputs := w.set(o, r)
	delete(outputs, "password") // the engine lays outputs over the recorded ones
	return outputs, nil
}

func (w *world) Read(ctx context.Context, r *model.Request) (model.Observed, bool, error) {
	if err := w.enter(ctx, "read", r); err != nil {
		return nil, false, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.find(r)
	if o == nil {
		return nil, false, nil
	}
	return model.Observed{"key": o.Key, "id": o.ID, "sum": "sum(" + o.Value + ")", "password": w.password}, true, nil
}

func (w *world) Delete(ctx context.Context, r *model.Request) error {
	if err := w.enter(ctx, "delete", r); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if o := w.find(r); o != nil {
		delete(w.objects, o.ID)
	}
	return nil
}

// things lists what exists as name → "key=value", and complains of two for one node. The
// id of something that exists reads as "id(name)".
func (w *world) things(t rapid.TB) map[string]string {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := slices.SortedFunc(maps.Keys(w.objects), func(a, b string) int { return len(b) - len(a) })
	var names []string
	for _, id := range ids {
		names = append(names, id, "id("+model.LocalName(w.objects[id].Node)+")")
	}
	named := strings.NewReplacer(names...)
	found := map[string]string{}
	for _, o := range w.objects {
		name := model.LocalName(o.Node)
		if other, twice := found[name]; twice {
			t.Errorf("two things of node %s exist: %s and %s=%s", name, other, o.Key, o.Value)
		}
		found[name] = named.Replace(o.Key + "=" + o.Value)
	}
	return found
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
	// onFailure is the mode of the next runs.
	onFailure string
	// planned changes what the next plans are made from.
	planned func(*plan.Input)
}

func newBench(t rapid.TB) *bench {
	b := &bench{TB: t, world: newWorld(), store: memory.New(), onFailure: plan.OnFailureHalt}
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
	r := &apply.Run{
		Provider: func(name string) (apply.Provider, bool) { return b.provider, name == "test" },
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
	return r.Apply(ctx, p)
}

func (b *bench) apply(nodes []ir.Node, outputs ...ir.Output) (*apply.Report, error) {
	b.Helper()
	return b.run(context.Background(), b.plan(compiled(b, nodes, outputs...)))
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
