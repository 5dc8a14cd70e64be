package engine

import (
	"context"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// UnchangedRequest asks whether a whole configuration is applied already.
type UnchangedRequest struct {
	Compilation *ir.Compilation
	Partition   string
	Store       state.Marks
	Owner       string // as in PlanRequest
}

// Unchanged reports whether it is known that a plan of the whole compilation has nothing
// to do and nothing to say: one indexed query, no state read. It is for a process that
// forgot what it did, and may keep the serial for the next time; false only means that
// somebody has to plan.
//
// What makes true safe: a plan depends on the compilation, the schemas of the providers,
// what the partition records, and secrets. Remember marked the partition after a plan that
// was empty; the mark is a digest of all that a plan takes from the compilation (markOf), the
// store takes it away with the next write, and a compilation whose plan depends on
// anything else never has one. Providers are asked, as before every plan, whether they
// accept what is declared. Policies judge what a plan would do, and it does nothing.
func (e *Engine) Unchanged(ctx context.Context, req UnchangedRequest) (serial int64, unchanged bool, err error) {
	mark, err := e.markOf(req.Compilation, req.Owner)
	if err != nil || mark == "" {
		return 0, false, err
	}
	serial, marked, err := req.Store.Marked(ctx, req.Partition, mark)
	if err != nil || !marked {
		return 0, false, err
	}
	if err := e.validate(ctx, req.Compilation.Document, req.Owner, req.Compilation.Source); err != nil {
		return 0, false, req.Compilation.Located(err)
	}
	return serial, true, nil
}

// Remember marks a partition as what the plan found, if it is what Unchanged may answer
// true for: a plan of everything that has nothing to do and nothing to say. Any other plan
// leaves the partition as it is. The plan may be of a snapshot that is not the newest.
func (e *Engine) Remember(ctx context.Context, partition string, store state.Marks, owner string, p *plan.Plan) error {
	if !quiet(p) {
		return nil
	}
	mark, err := e.markOf(p.Compilation, owner)
	if err != nil || mark == "" {
		return err
	}
	return store.Mark(ctx, partition, p.Snapshot.Serial, mark)
}

// quiet reports whether nothing at all comes of a plan of everything.
func quiet(p *plan.Plan) bool {
	return p.Compilation != nil && len(p.Targets)+len(p.Replace) == 0 && !p.SecretsSkipped &&
		p.Refused == nil && !p.Blocked && len(p.Violations)+len(p.Warnings) == 0 &&
		!p.HasPending() && !p.Unsynced() && p.Moves == nil && p.Outputs.Empty() && len(p.Outputs.Unresolved) == 0
}

// markFormat is part of every mark. Whoever changes what a plan makes of the same config
// and the same state counts it up: what an older release found out is worth nothing then.
const markFormat = 1

// markOf is the digest of all that a plan takes from a compilation; "" when a plan depends
// on more than that and the state: on a secret, on what another Stack put out, on what a
// data source reads, on whether values are sealed, and with which key.
func (e *Engine) markOf(c *ir.Compilation, owner string) (string, error) {
	for i := range c.Document.Nodes {
		if !e.settled(&c.Document.Nodes[i]) {
			return "", nil
		}
	}
	outputs, edges := []any{}, []any{}
	for _, o := range c.Outputs {
		if foreign(o.Value) {
			return "", nil
		}
		outputs = append(outputs, []any{o.Key, o.Value})
	}
	for i := range c.Document.Nodes { // what the hash of the document leaves out
		if n := &c.Document.Nodes[i]; len(n.DependsOn)+len(n.Aliases) > 0 {
			edges = append(edges, []any{n.ID, list(n.DependsOn), list(n.Aliases)})
		}
	}
	policies := []any{}
	for _, b := range c.Policies {
		policies = append(policies, []any{b.Name, b.Level, b.Types == nil, list(b.Types), orNone(b.Params)})
	}
	pins := map[string]any{}
	for provider, version := range c.Pins {
		pins[provider] = version
	}
	// Not the canonical form, which takes 1 and 1.0 for one.
	text, err := model.EncodeJSON(map[string]any{
		"format": int64(markFormat), "document": c.Hash, "edges": edges, "outputs": outputs, "policies": policies,
		"inputs": orNone(c.Inputs), "declared": list(c.EnvsDeclared), "selected": list(c.EnvsSelected), "pins": pins,
		"warnings": list(c.Warnings), "owner": owner, "plain": e.PlainSecrets,
	})
	if err != nil {
		return "", err
	}
	return ir.SHA256(text), nil
}

// settled reports whether the plan of a node depends on nothing but the node and its row.
func (e *Engine) settled(n *ir.Node) bool {
	schema := e.Registry.Schemas().Type(n.Type)
	if schema == nil || n.Kind != model.KindResource || schema.Kind != model.KindResource {
		return false
	}
	for i := range schema.Fields {
		if schema.Fields[i].Sensitive || schema.Fields[i].FromSource {
			return false
		}
	}
	for _, v := range n.Properties {
		if foreign(v) {
			return false
		}
	}
	return true
}

// foreign reports whether a value holds a secret or an output of another Stack.
func foreign(v model.Value) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, foreign)
	case map[string]any:
		_, secret := model.AsSecretRef(v)
		_, output := model.AsStackOutput(v)
		if secret || output {
			return true
		}
		for _, item := range v {
			if foreign(item) {
				return true
			}
		}
	}
	return false
}

func list(texts []string) []any {
	out := make([]any, len(texts))
	for i, s := range texts {
		out[i] = s
	}
	return out
}

func orNone(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}
