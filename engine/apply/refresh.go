package apply

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Refresh reads every recorded node and compares. It never changes the world; without
// Record it changes nothing at all and needs no lock (RF-1).
type Refresh struct {
	Provider    func(name string) (Provider, bool)
	Schemas     *model.Schemas
	Owner       string
	Source      fs.FS // model.Request.Source of every read; may be nil
	Parallelism int
	NodeTimeout time.Duration // of one read
	DrainGrace  time.Duration // for a read that was told to stop
	Secrets     Secrets
	Record      *Record // nil = what is found is only reported
	// Prune forgets rows whose resource is gone; it does nothing without Record (RF-8).
	Prune bool
}

// Verdicts of a refresh (RF-2).
const (
	InSync  = "in_sync"
	Drifted = "drifted"
	Missing = "missing"
)

// Drift is what a refresh found.
type Drift struct {
	Drift bool        `json:"drift"` // any node that is not in sync
	Nodes []NodeDrift `json:"nodes"` // sorted by id; without those that could not be read
}

// NodeDrift is the verdict on one node. Observed and Unobserved are the inputs that
// the read reported and those that it did not, sorted (RF-3).
type NodeDrift struct {
	NodeID     string                `json:"node_id"`
	Kind       string                `json:"kind"`
	Changed    map[string]FieldDrift `json:"changed"`
	Observed   []string              `json:"observed"`
	Unobserved []string              `json:"unobserved"`
}

// FieldDrift is the recorded and the live value of a field, "(sensitive)" on both
// sides where they may not be shown.
type FieldDrift struct {
	State any `json:"state"`
	Live  any `json:"live"`
}

const hidden = "(sensitive)"

// Run reads all rows. Reads that fail are left out of the result and returned
// together, the first by id before the others; ctx and a lost lock end the refresh as a
// whole.
func (r *Refresh) Run(ctx context.Context, s *state.Snapshot) (*Drift, error) {
	edges := make(map[string][]string, len(s.Rows))
	for id := range s.Rows {
		edges[id] = nil
	}
	g, err := graph.Build(edges)
	if err != nil {
		return nil, err
	}
	listening := *r
	listening.Secrets = r.Secrets.listening()
	return listening.run(ctx, g, s)
}

// run is Run with secrets that remember what they tell.
func (r *Refresh) run(ctx context.Context, g *graph.Graph, s *state.Snapshot) (*Drift, error) {
	seal := r.sealer(ctx, s)
	var mu sync.Mutex
	drift := &Drift{Nodes: []NodeDrift{}}
	var failures []*model.Error
	err := g.Walk(ctx, r.Parallelism, false, func(_ context.Context, id string) error {
		found, err := r.node(ctx, s, s.Rows[id], seal)
		mu.Lock()
		defer mu.Unlock()
		if model.IsKind(err, model.LeaseLostError) || model.IsKind(err, model.FencedWriteError) {
			return err
		}
		if err != nil {
			failures = append(failures, asError(err))
			return nil
		}
		drift.Nodes = append(drift.Nodes, *found)
		drift.Drift = drift.Drift || found.Kind != InSync
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(drift.Nodes, func(a, b NodeDrift) int { return strings.Compare(a.NodeID, b.NodeID) })
	for i, failure := range failures { // once all is known that may stand in them
		failures[i] = asError(r.Secrets.scrubbed(failure))
	}
	slices.SortFunc(failures, func(a, b *model.Error) int { return strings.Compare(a.NodeID, b.NodeID) })
	if len(failures) > 0 {
		return drift, grouped(failures[0], failures[1:])
	}
	return drift, nil
}

// sealer is what decides what of the recorded state is a secret.
func (r *Refresh) sealer(ctx context.Context, s *state.Snapshot) sealer {
	return sealer{
		Secrets: r.Secrets, schemas: r.Schemas, values: r.Secrets.recorded(ctx, s), outputs: s.Outputs,
		stored: func(id string) *state.Row { return s.Rows[id] },
	}
}

// node reads one row. What does not open is an error: a provider that is not told of it may
// find nothing, and what is not known is never missing.
func (r *Refresh) node(ctx context.Context, s *state.Snapshot, row *state.Row, seal sealer) (*NodeDrift, error) {
	outputs, err := r.Secrets.opened(row)
	if err != nil {
		return nil, failed(unreadable(row, err), "read", row)
	}
	if err := r.Secrets.located(row, r.Schemas, s); err != nil {
		return nil, failed(err, "read", row)
	}
	inputs := plan.RecordedInputs(row, seal.values, r.Secrets.Digests)
	live, exists, err := r.read(ctx, row, inputs, outputs)
	if err != nil {
		return nil, err
	}
	found := &NodeDrift{NodeID: row.ID, Kind: Missing, Changed: map[string]FieldDrift{}, Observed: []string{}, Unobserved: []string{}}
	changed := map[string]any{}
	if exists {
		changed = r.compare(found, seal, row, inputs, outputs, live)
	}
	if r.Record == nil {
		return found, nil
	}
	return found, r.Record.commit(ctx, actionRefresh, seal, r.batch(seal, row, outputs, exists, changed))
}

// read asks the provider, within the time of a node.
func (r *Refresh) read(ctx context.Context, row *state.Row, inputs, outputs map[string]any) (model.Observed, bool, error) {
	reader := reader{find: r.Provider, timeout: r.NodeTimeout, grace: r.DrainGrace}
	return reader.read(ctx, row, &model.Request{
		Node: model.NodeOf(row.ID), Owner: r.Owner, Attempt: row.Attempt, Inputs: inputs, Source: r.Source,
		Prior: &model.Prior{Outputs: model.Clone(outputs).(map[string]any), Inputs: inputs},
	})
}

// compare overlays the inputs that the provider was handed with the recorded outputs
// and looks at the keys that the read reported (RF-2). It returns what differs.
func (r *Refresh) compare(found *NodeDrift, seal sealer, row *state.Row, inputs, outputs map[string]any, live model.Observed) map[string]any {
	secret := seal.shownSecret(row, outputs, live)
	changed := map[string]any{}
	for key, now := range live {
		recorded, ok := outputs[key]
		if !ok {
			recorded, ok = inputs[key]
		}
		_, input := row.Properties[key]
		if ok && ir.Equal(recorded, now) || !ok && input {
			continue // in sync, or what it was is not known
		}
		changed[key] = now
		drift := FieldDrift{State: recorded, Live: now}
		if secret(key, recorded, now) {
			drift = FieldDrift{State: hidden, Live: hidden}
		}
		found.Changed[key] = drift
	}
	found.Observed, found.Unobserved = coverage(row.Properties, live)
	found.Kind = InSync
	if len(found.Changed) > 0 {
		found.Kind = Drifted
	}
	return changed
}

// coverage are the inputs that a read reported and those that it did not, sorted (RF-3).
func coverage(properties map[string]any, live model.Observed) (observed, unobserved []string) {
	observed, unobserved = []string{}, []string{}
	for field := range properties {
		if _, ok := live[field]; ok {
			observed = append(observed, field)
		} else {
			unobserved = append(unobserved, field)
		}
	}
	slices.Sort(observed)
	slices.Sort(unobserved)
	return observed, unobserved
}
