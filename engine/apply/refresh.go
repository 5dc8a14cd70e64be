package apply

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/resolve"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Refresh reads every recorded node and compares; it changes nothing and needs no lock
// (RF-1).
type Refresh struct {
	Provider    func(name string) (Provider, bool)
	Schemas     *model.Schemas
	Owner       string
	Source      fs.FS // model.Request.Source of every read; may be nil
	Parallelism int
	NodeTimeout time.Duration // of one read
	DrainGrace  time.Duration // for a read that was told to stop
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
// together, the first by id before the others; ctx ends the refresh as a whole.
func (r *Refresh) Run(ctx context.Context, s *state.Snapshot) (*Drift, error) {
	edges := make(map[string][]string, len(s.Rows))
	outputs := make(map[string]map[string]any, len(s.Rows))
	for id, row := range s.Rows {
		edges[id], outputs[id] = nil, row.Outputs
	}
	g, err := graph.Build(edges)
	if err != nil {
		return nil, err
	}
	values := resolve.Values{
		Output: resolve.Outputs(outputs),
		StackOutput: func(key string) (any, bool) {
			out, ok := s.Outputs[key]
			return out.Value, ok
		},
	}
	var mu sync.Mutex
	drift := &Drift{Nodes: []NodeDrift{}}
	var failures []*model.Error
	err = g.Walk(ctx, r.Parallelism, false, func(_ context.Context, id string) error {
		found, err := r.node(ctx, s.Rows[id], values)
		mu.Lock()
		defer mu.Unlock()
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
	slices.SortFunc(failures, func(a, b *model.Error) int { return strings.Compare(a.NodeID, b.NodeID) })
	if len(failures) > 0 {
		return drift, grouped(failures[0], failures[1:])
	}
	return drift, nil
}

func (r *Refresh) node(ctx context.Context, row *state.Row, values resolve.Values) (*NodeDrift, error) {
	p, err := provider(r.Provider, row)
	if err != nil {
		return nil, failed(err, "read", row)
	}
	inputs := values.Lenient(row.Properties)
	request := &model.Request{
		Node: model.NodeOf(row.ID), Owner: r.Owner, Attempt: row.Attempt, Inputs: inputs, Source: r.Source,
		Prior: &model.Prior{Outputs: model.Clone(outputsOf(row)).(map[string]any), Inputs: inputs},
	}
	type reading struct {
		live  model.Observed
		found bool
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.NodeTimeout, errNodeTimeout)
	defer cancel()
	got, _, err := within(ctx, r.DrainGrace, func(ctx context.Context) (reading, error) {
		live, found, err := p.Read(ctx, request)
		return reading{live, found}, err
	})
	if err != nil {
		if errors.Is(context.Cause(ctx), errNodeTimeout) {
			err = model.Errorf(model.ProviderError, model.ClassTransient,
				"%s read of '%s' failed: it did not finish within %s: %w", row.Provider, row.Type, r.NodeTimeout, err)
		}
		return nil, failed(err, "read", row)
	}
	found := &NodeDrift{NodeID: row.ID, Kind: Missing, Changed: map[string]FieldDrift{}, Observed: []string{}, Unobserved: []string{}}
	if !got.found {
		return found, nil
	}
	return found, r.compare(found, row, inputs, got.live)
}

// compare overlays the inputs that the provider was handed with the recorded outputs
// and looks at the keys that the read reported (RF-2).
func (r *Refresh) compare(found *NodeDrift, row *state.Row, inputs map[string]any, live model.Observed) error {
	schema := r.Schemas.Type(row.Type)
	for key, now := range live {
		now, err := model.NormalizeJSON(now)
		if err != nil {
			return failed(model.Errorf(model.ProviderError, model.ClassUnknown, "%s read of '%s' reported '%s' in a form that is not JSON: %w", row.Provider, row.Type, key, err), "read", row)
		}
		recorded, ok := row.Outputs[key]
		if !ok {
			recorded, ok = inputs[key]
		}
		if ok && ir.Equal(recorded, now) {
			continue
		}
		drift := FieldDrift{State: recorded, Live: now}
		if schema == nil || schema.Field(key) != nil && schema.Field(key).Sensitive {
			drift = FieldDrift{State: hidden, Live: hidden}
		}
		found.Changed[key] = drift
	}
	for field := range row.Properties {
		if _, ok := live[field]; ok {
			found.Observed = append(found.Observed, field)
		} else {
			found.Unobserved = append(found.Unobserved, field)
		}
	}
	slices.Sort(found.Observed)
	slices.Sort(found.Unobserved)
	found.Kind = InSync
	if len(found.Changed) > 0 {
		found.Kind = Drifted
	}
	return nil
}
