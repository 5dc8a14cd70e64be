package plan_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// fataler is what tests, benchmarks and properties share.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// testSchemas declare the few types that the tests use, as the providers declare them.
func testSchemas(t fataler) *model.Schemas {
	t.Helper()
	text := model.FieldType{Kind: model.KindString}
	field := func(name string, m model.Mutability) model.Field {
		return model.Field{Name: name, Type: text, Mutability: m}
	}
	resource := func(provider, class string, fields ...model.Field) *model.ResourceType {
		return &model.ResourceType{Name: provider + "." + class, Provider: provider, Class: class, Kind: model.KindResource, Fields: fields}
	}
	name := field("queue_name", model.Immutable)
	name.PhysicalName = true
	password := field("password", model.Mutable)
	password.Sensitive = true
	token := field("token", model.Computed)
	token.Sensitive = true
	query := resource("aws", "Zones", field("state", model.Immutable), field("names", model.Computed))
	query.Kind = model.KindData
	file := resource("local", "File", field("path", model.Immutable), field("content", model.Mutable), field("checksum", model.Computed))
	file.Fields[0].Printable = true
	file.Address = func(inputs map[string]any) (string, bool) {
		path, known := inputs["path"].(string)
		return path, known
	}
	schemas, err := model.NewSchemas(
		&model.ProviderSchema{Name: "local", Version: "1.0.0", Types: []*model.ResourceType{file}},
		&model.ProviderSchema{Name: "aws", Version: "1.0.0", Types: []*model.ResourceType{
			resource("aws", "Vpc", field("cidr_block", model.Immutable), field("tags", model.Mutable), field("vpc_id", model.Computed)),
			resource("aws", "Subnet", field("vpc_id", model.Immutable), field("cidr_block", model.Immutable), field("tags", model.Mutable)),
			resource("aws", "SecurityGroup", field("vpc_id", model.Immutable), field("group_name", model.Immutable), field("ingress", model.Mutable)),
			resource("aws", "SqsQueue", name, field("fifo", model.Immutable), field("tags", model.Mutable)),
			resource("aws", "Database", password, token, field("tags", model.Mutable)),
			query,
		}},
	)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return schemas
}

// config is a compiled config in the making.
type config struct {
	nodes    map[string]*ir.Node
	outputs  []ir.Output
	inputs   map[string]any
	policies []ir.PolicyBinding
	declared []string // environments
	selected []string
}

func newConfig() *config { return &config{nodes: map[string]*ir.Node{}} }

// add declares a resource.
func (c *config) add(id string, properties map[string]any) *ir.Node {
	n := &ir.Node{
		ID: id, Type: model.TypeOf(id), Kind: model.KindResource, Provider: providerOf(id), ProviderVersion: "1.0.0", Properties: properties,
	}
	c.nodes[id] = n
	return n
}

func (c *config) file(id, path string, content any) *ir.Node {
	return c.add(id, map[string]any{"path": path, "content": content})
}

func (c *config) output(key string, value any) {
	c.outputs = append(c.outputs, ir.Output{Key: key, Value: value})
}

func providerOf(id string) string {
	resourceType := model.TypeOf(id)
	return resourceType[:slices.Index([]byte(resourceType), '.')]
}

func ref(id, output string) map[string]any {
	return model.Reference{NodeID: id, Output: output}.Marker()
}

// compile lowers the config as the language would: dependencies from references,
// nodes sorted, hashes in order.
func (c *config) compile(t fataler) (*ir.Compilation, *graph.Graph) {
	t.Helper()
	doc := &ir.Document{}
	for _, n := range slices.SortedFunc(maps.Values(c.nodes), func(a, b *ir.Node) int { return cmp.Compare(a.ID, b.ID) }) {
		n.Dependencies = nil
		for _, r := range model.References(n.Properties) {
			n.Dependencies = append(n.Dependencies, r.NodeID)
		}
		n.Dependencies = slices.Compact(n.Dependencies)
		doc.Nodes = append(doc.Nodes, *n)
	}
	g, err := graph.Build(doc.Edges())
	if err != nil {
		t.Fatalf("%v", err)
	}
	hashes, err := ir.Hashes(doc, g.Order())
	if err != nil {
		t.Fatalf("%v", err)
	}
	return &ir.Compilation{
		Document: doc, Hashes: hashes, Outputs: c.outputs, Policies: c.policies, Inputs: c.inputs,
		EnvsDeclared: c.declared, EnvsSelected: c.selected,
		Pins: map[string]string{"local": "1.0.0"},
	}, g
}

// plan plans the config against a snapshot, the input changed by whoever has to.
func (c *config) plan(t fataler, snapshot *state.Snapshot, with ...func(in *plan.Input)) (*plan.Plan, error) {
	t.Helper()
	compilation, g := c.compile(t)
	in := plan.Input{
		Compilation: compilation, Graph: g, Snapshot: snapshot, Schemas: testSchemas(t), OnFailure: plan.OnFailureHalt,
	}
	for _, change := range with {
		change(&in)
	}
	return plan.New(in)
}

func mustPlan(t fataler, c *config, snapshot *state.Snapshot, with ...func(in *plan.Input)) *plan.Plan {
	t.Helper()
	p, err := c.plan(t, snapshot, with...)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return p
}

func emptySnapshot() *state.Snapshot {
	return &state.Snapshot{Rows: map[string]*state.Row{}, Pending: map[string]*state.PendingDestroy{}, Outputs: map[string]state.Output{}}
}

// applied is the snapshot that a faultless apply of the config leaves (T-052). A checksum
// follows the config; any other output is made anew whenever its node is.
func applied(t fataler, c *config) *state.Snapshot {
	t.Helper()
	snapshot := emptySnapshot()
	p, err := c.plan(t, snapshot)
	if err != nil {
		t.Fatalf("%v", err)
	}
	perform(t, p, snapshot)
	return snapshot
}

// perform is a model of an apply: it does to the snapshot what the changes say, nodes in
// dependency order, deletes last.
func perform(t fataler, p *plan.Plan, snapshot *state.Snapshot) {
	t.Helper()
	if p.Moves != nil {
		commit(snapshot, p.Moves.Batch())
	}
	schemas := testSchemas(t)
	byID := map[string]*plan.Change{}
	for i := range p.Changes {
		byID[p.Changes[i].NodeID] = &p.Changes[i]
	}
	for _, id := range p.Graph.Order() {
		c := byID[id]
		switch {
		case c.StateOnly:
			row := *snapshot.Rows[id]
			row.PreventDestroy = c.Desired.PreventDestroy
			snapshot.Rows[id] = &row
		case c.Actionable():
			snapshot.Rows[id] = written(c, schemas, snapshot)
			delete(snapshot.Pending, id)
		}
	}
	for _, c := range byID {
		if c.Action != plan.Delete {
			continue
		}
		if c.PendingDestroy != nil {
			delete(snapshot.Pending, c.PendingDestroy.NodeID)
		} else {
			delete(snapshot.Rows, c.NodeID)
		}
	}
	for key, value := range p.Outputs.Set {
		resolved, err := values(snapshot).Resolve(value)
		if err == nil {
			snapshot.Outputs[key] = state.Output{Value: resolved}
		}
	}
	for _, key := range p.Outputs.Retired {
		delete(snapshot.Outputs, key)
	}
	snapshot.Serial++
}

// commit does to a snapshot what a store does with a batch.
func commit(snapshot *state.Snapshot, b state.Batch) {
	for _, id := range b.DeleteRows {
		delete(snapshot.Rows, id)
	}
	for _, row := range b.PutRows {
		snapshot.Rows[row.ID] = row
	}
	for _, id := range b.DeletePending {
		delete(snapshot.Pending, id)
	}
	for _, entry := range b.PutPending {
		snapshot.Pending[entry.NodeID] = entry
	}
	maps.Copy(snapshot.Outputs, b.SetOutputs)
}

func values(snapshot *state.Snapshot) plan.Values {
	return plan.Values{
		Output: func(r model.Reference) (any, bool) {
			if row := snapshot.Rows[r.NodeID]; row != nil && row.Status == state.StatusCreated {
				v, ok := row.Outputs[r.Output]
				return v, ok
			}
			return nil, false
		},
		StackOutput: func(key string) (any, bool) { out, ok := snapshot.Outputs[key]; return out.Value, ok },
	}
}

// refDigests are those without a salt, which cannot fail.
func refDigests(n *ir.Node, schemas *model.Schemas, snapshot *state.Snapshot) map[string]string {
	digests, err := plan.RefDigests(n, schemas, values(snapshot), nil, nil)
	if err != nil {
		panic(err)
	}
	return digests
}

// written is the row that an apply of the change persists.
func written(c *plan.Change, schemas *model.Schemas, snapshot *state.Snapshot) *state.Row {
	n := c.Desired
	row := &state.Row{
		ID: n.ID, Type: n.Type, Kind: n.Kind, Provider: n.Provider, ProviderVersion: n.ProviderVersion, InputHash: c.DesiredHash,
		Properties: n.Properties, Dependencies: n.Dependencies, DependsOn: n.DependsOn, PreventDestroy: n.PreventDestroy,
		CreateBeforeDestroy: n.CreateBeforeDestroy, Status: state.StatusCreated, Outputs: map[string]any{},
		RefDigests: refDigests(n, schemas, snapshot), SecretDigests: plan.StackOutputDigests(n, snapshot.Outputs),
	}
	for _, f := range schemas.Type(n.Type).Fields {
		switch {
		case f.Mutability != model.Computed:
		case f.Name == "checksum":
			row.Outputs[f.Name] = "checksum of " + c.DesiredHash
		case c.Action == plan.Update:
			row.Outputs[f.Name] = c.Prior.Outputs[f.Name]
		default:
			row.Outputs[f.Name] = fmt.Sprintf("%s of %s@%d", f.Name, n.ID, snapshot.Serial)
		}
	}
	return row
}

func change(t fataler, p *plan.Plan, id string) *plan.Change {
	t.Helper()
	for i := range p.Changes {
		if p.Changes[i].NodeID == id {
			return &p.Changes[i]
		}
	}
	t.Fatalf("the plan has no change for %s", id)
	return nil
}
