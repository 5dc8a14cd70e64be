package apply

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/resolve"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Import records resources that exist and that the config declares, as an apply would
// have. It reads and never changes the world.
type Import struct {
	Provider    func(name string) (Provider, bool)
	Schemas     *model.Schemas
	Compilation *ir.Compilation
	Graph       *graph.Graph // of Compilation
	Owner       string
	NodeTimeout time.Duration // of one read
	DrainGrace  time.Duration // for a read that was told to stop
	NewID       func() string
	Secrets     Secrets
	Record      *Record // nil = a dry run, which only answers (RF-15)
	Force       bool    // also what is recorded already
	AllowDrift  bool    // also what is not as the config says; the next plan updates it
}

// ImportRequest names one node, and what finds its resource where the inputs do not.
type ImportRequest struct {
	NodeID     string
	ExternalID string // "" = none
	IDField    string // the field to put it on; "" = the type's own (RF-11)
}

// Statuses of an import (RF-15).
const (
	Imported       = "imported"
	WouldImport    = "would_import"
	ImportDrifted  = "drifted"
	NotFound       = "not_found"
	AlreadyTracked = "already_tracked"
	Blocked        = "blocked"
)

// ImportReport is what an import did; Refused counts what makes it fail.
type ImportReport struct {
	Imported int            `json:"imported"`
	Refused  int            `json:"refused"`
	Nodes    []ImportedNode `json:"nodes"`
}

// ImportedNode is the answer to one request. Recorded are the outputs that were found,
// Unobserved the inputs that the read did not report, both sorted.
type ImportedNode struct {
	NodeID        string                 `json:"node_id"`
	Type          string                 `json:"type"`
	Status        string                 `json:"status"`
	IdentityField *string                `json:"identity_field"`
	ExternalID    *string                `json:"external_id"`
	Recorded      []string               `json:"recorded"`
	Drift         map[string]ImportDrift `json:"drift"`
	Unobserved    []string               `json:"unobserved"`
	Detail        string                 `json:"detail"`
}

// ImportDrift is what the config says of a field and what was found, "(sensitive)" on both
// sides where they may not be shown.
type ImportDrift struct {
	Config any `json:"config"`
	Live   any `json:"live"`
}

// Importable are the declared nodes that are not recorded, by id, with the fields that
// find them.
func Importable(doc *ir.Document, schemas *model.Schemas, s *state.Snapshot) []ImportedNode {
	nodes := []ImportedNode{}
	for i := range doc.Nodes {
		if n := &doc.Nodes[i]; s.Rows[n.ID] == nil {
			nodes = append(nodes, ImportedNode{NodeID: n.ID, Type: n.Type, IdentityField: identityField(schemas.Type(n.Type), "")})
		}
	}
	return nodes
}

// Run answers the requests one by one, dependencies first, those for ids that nothing
// declares last (RF-11). A request that is refused stops no other; a store that cannot be
// written and a lost lock end the import, with what was done so far beside the error.
func (m *Import) Run(ctx context.Context, s *state.Snapshot, requests []ImportRequest) (*ImportReport, error) {
	listening := *m
	listening.Secrets = m.Secrets.listening()
	report, err := listening.run(ctx, s, requests)
	for i := range report.Nodes {
		report.Nodes[i].Detail = listening.Secrets.scrub(report.Nodes[i].Detail)
	}
	return report, listening.Secrets.scrubbed(err)
}

// run is Run with secrets that remember what they tell.
func (m *Import) run(ctx context.Context, s *state.Snapshot, requests []ImportRequest) (*ImportReport, error) {
	x := &importing{Import: m, ctx: ctx, snapshot: s, values: m.Secrets.recorded(ctx, s), made: map[string]map[string]any{}, rows: maps.Clone(s.Rows)}
	before := x.values.Output
	x.values.Output = func(ref model.Reference) (any, bool) {
		if outputs, ok := x.made[ref.NodeID]; ok {
			v, ok := outputs[ref.Output]
			return v, ok
		}
		return before(ref)
	}
	report := &ImportReport{Nodes: []ImportedNode{}}
	for _, request := range m.ordered(requests) {
		if ctx.Err() != nil {
			return report, interrupted(ctx)
		}
		node, err := x.adopt(request)
		if err != nil {
			return report, err
		}
		switch node.Status {
		case Imported:
			report.Imported++
		case ImportDrifted, NotFound, Blocked:
			report.Refused++
		}
		report.Nodes = append(report.Nodes, *node)
	}
	return report, nil
}

// ordered are the requests in the order of the graph.
func (m *Import) ordered(requests []ImportRequest) []ImportRequest {
	place := map[string]int{}
	for i, id := range m.Graph.Order() {
		place[id] = i
	}
	rank := func(r ImportRequest) int {
		if i, ok := place[r.NodeID]; ok {
			return i
		}
		return len(place)
	}
	out := slices.Clone(requests)
	slices.SortStableFunc(out, func(a, b ImportRequest) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a.NodeID, b.NodeID)
	})
	return out
}

// importing is one import.
type importing struct {
	*Import
	ctx      context.Context // of the whole import
	snapshot *state.Snapshot
	values   resolve.Values
	made     map[string]map[string]any // outputs of what this import took in
	rows     map[string]*state.Row     // as they lie in the store
}

// adopt answers one request; its error ends the import.
func (x *importing) adopt(r ImportRequest) (*ImportedNode, error) {
	declared := x.Compilation.Document.Node(r.NodeID)
	node := &ImportedNode{
		NodeID: r.NodeID, Type: model.TypeOf(r.NodeID), Recorded: []string{}, Drift: map[string]ImportDrift{}, Unobserved: []string{},
		IdentityField: identityField(x.Schemas.Type(model.TypeOf(r.NodeID)), r.IDField),
	}
	if r.ExternalID != "" {
		node.ExternalID = &r.ExternalID
	}
	if node.Status, node.Detail = x.refusal(declared, node, r); node.Status != "" {
		return node, nil
	}
	row := x.row(declared)
	inputs, err := x.values.Concrete(declared.Properties)
	if err != nil {
		if sealed := x.Secrets.legible(declared.Properties, &state.Snapshot{Rows: x.rows, Outputs: x.snapshot.Outputs}); sealed != nil {
			err = sealed // rather than that there is no value
		}
		node.Status, node.Detail = Blocked, err.Error()
		return node, nil // the answer says it; the other requests go on
	}
	live, found, err := x.look(row, inputs, node)
	switch {
	case err != nil:
		node.Status, node.Detail = Blocked, err.Error()
		return node, nil //nolint:nilerr // the answer says it; the other requests go on
	case !found:
		node.Status, node.Detail = NotFound, "the provider finds no such resource; create it by an apply, or name another one"
		return node, nil
	}
	x.compare(node, row, inputs, live)
	if len(node.Drift) > 0 && !x.AllowDrift {
		node.Status, node.Recorded = ImportDrifted, []string{}
		node.Detail = "it is not as the config says; change the config, or allow drift and let the next apply update it"
		return node, nil
	}
	return node, x.take(node, row, declared, live)
}

// refusal is why a request is not even looked at; "" if it is (RF-12).
func (x *importing) refusal(declared *ir.Node, node *ImportedNode, r ImportRequest) (status, detail string) {
	if declared == nil {
		return Blocked, "the config does not declare it; declare it first"
	}
	if x.snapshot.Rows[r.NodeID] != nil && !x.Force {
		return AlreadyTracked, "it is recorded already"
	}
	var missing []string
	for _, id := range declared.Dependencies {
		if x.snapshot.Rows[id] == nil && x.made[id] == nil {
			missing = append(missing, id)
		}
	}
	switch field := node.IdentityField; {
	case len(missing) > 0:
		return Blocked, "it refers to what is not recorded: " + model.Listed(missing, ", ") + "; import that first"
	case x.Schemas.Type(declared.Type) == nil:
		return Blocked, "the type '" + declared.Type + "' is unknown; use a release that has it"
	case r.IDField != "" && !computed(x.Schemas.Type(declared.Type), r.IDField):
		return Blocked, fmt.Sprintf("its type has no output '%.80s' that an id could be put on", r.IDField)
	case field != nil && r.ExternalID == "":
		return Blocked, "it is found by its '" + *field + "'; give that id"
	case field == nil && r.ExternalID != "":
		return Blocked, "it is found by its name alone; leave the id out"
	}
	return "", ""
}

// identityField is the field on which an id is put; nil where there is none.
func identityField(schema *model.ResourceType, override string) *string {
	switch {
	case override != "":
		return &override
	case schema != nil && schema.IdentityField != "":
		return &schema.IdentityField
	default:
		return nil
	}
}

// computed reports whether a type has an output of that name (RF-13).
func computed(schema *model.ResourceType, name string) bool {
	f := schema.Field(name)
	return f != nil && f.Mutability == model.Computed
}

// row is what an apply would write of the node, its outputs aside.
func (x *importing) row(n *ir.Node) *state.Row {
	return rowOf(&plan.Change{NodeID: n.ID, Desired: n, DesiredHash: x.Compilation.Hashes[n.ID], Prior: x.snapshot.Rows[n.ID]}, x.NewID)
}

// look reads the resource, with the id that was given where the provider would have
// recorded it.
func (x *importing) look(row *state.Row, inputs map[string]any, node *ImportedNode) (model.Observed, bool, error) {
	request := &model.Request{
		Node: model.NodeOf(row.ID), Owner: x.Owner, Inputs: inputs, Source: x.source(),
		Prior: &model.Prior{Outputs: map[string]any{}, Inputs: inputs},
	}
	if node.ExternalID != nil {
		request.Prior.Outputs[*node.IdentityField] = *node.ExternalID
	}
	live, found, err := reader{find: x.Provider, timeout: x.NodeTimeout, grace: x.DrainGrace}.read(x.ctx, row, request)
	if found && node.ExternalID != nil {
		if _, reported := live[*node.IdentityField]; !reported {
			live[*node.IdentityField] = *node.ExternalID
		}
	}
	return live, found, err
}

func (x *importing) source() fs.FS { return x.Compilation.Source }

// compare notes what differs from the config, and what will be recorded (RF-13).
func (x *importing) compare(node *ImportedNode, row *state.Row, inputs map[string]any, live model.Observed) {
	secret := x.sealer().shownSecret(row, inputs, live)
	_, node.Unobserved = coverage(row.Properties, live)
	for _, key := range slices.Sorted(maps.Keys(live)) {
		want, input := inputs[key]
		switch {
		case !input:
			node.Recorded = append(node.Recorded, key)
		case !ir.Equal(want, live[key]):
			drift := ImportDrift{Config: want, Live: live[key]}
			if secret(key, want, live[key]) {
				drift = ImportDrift{Config: hidden, Live: hidden}
			}
			node.Drift[key] = drift
		}
	}
}

// take records a resource. One with drift gets an empty hash, so that the next plan
// updates it (RF-14).
func (x *importing) take(node *ImportedNode, row *state.Row, n *ir.Node, live model.Observed) error {
	for _, key := range node.Recorded {
		row.Outputs[key] = live[key]
	}
	if _, err := storableOutputs(row.Outputs); err != nil {
		node.Status, node.Detail = Blocked, "what was found cannot be recorded: "+err.Error()
		return nil //nolint:nilerr // the answer says it; the other requests go on
	}
	if len(node.Drift) > 0 {
		row.InputHash = ""
	}
	node.Status = WouldImport
	if x.Record != nil {
		if err := x.write(row, n); err != nil {
			return err
		}
		node.Status = Imported
	}
	x.made[row.ID] = row.Outputs
	return nil
}

func (x *importing) write(row *state.Row, n *ir.Node) error {
	change := &plan.Change{NodeID: n.ID, Desired: n}
	var err error
	if row.SecretDigests, err = x.Secrets.secretDigests(change, row.RowUID, x.snapshot.Outputs, x.values.Secret); err != nil {
		return err
	}
	if row.RefDigests, err = plan.RefDigests(n, x.Schemas, x.values, x.sealer().covert, x.Secrets.salt()); err != nil {
		return err
	}
	batch := state.Batch{PutRows: []*state.Row{row}}
	if err := x.Record.commit(x.ctx, actionImport, x.sealer(), batch); err != nil {
		return err
	}
	x.rows[row.ID] = batch.PutRows[0]
	return nil
}

// sealer is what decides what of an import is a secret.
func (x *importing) sealer() sealer {
	return sealer{
		Secrets: x.Secrets, schemas: x.Schemas, values: x.values, outputs: x.snapshot.Outputs,
		stored: func(id string) *state.Row { return x.rows[id] },
	}
}
