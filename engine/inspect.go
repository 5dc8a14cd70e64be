package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Refresh reads every recorded node and reports what differs. It writes nothing and takes
// no lock unless the request says so (RF-1, RF-6). What could not be read is the error;
// the rest is returned beside it.
func (e *Engine) Refresh(ctx context.Context, req RefreshRequest) (*apply.Drift, error) {
	r := &apply.Refresh{
		Provider: e.provider, Schemas: e.Registry.Schemas(), Owner: req.Owner, Source: req.Source,
		Parallelism: cmp.Or(req.Parallelism, e.parallelism()), NodeTimeout: e.nodeTimeout(), DrainGrace: e.drainGrace(),
		Secrets: secretsOf(req.Secrets, req.Recorder), Prune: req.Prune,
	}
	if !req.Write {
		return r.Run(ctx, req.Snapshot)
	}
	var drift *apply.Drift
	err := e.recording(ctx, req.Locker, req.Store, req.Partition, func(record *apply.Record, now *state.Snapshot) error {
		r.Record = record
		var err error
		drift, err = r.Run(ctx, known(req.Snapshot, now))
		return err
	})
	return drift, err
}

// known are the rows of now that before had as well: what vanished meanwhile is not
// brought back, and what appeared is left for the next time (RF-6).
func known(before, now *state.Snapshot) *state.Snapshot {
	s := *now
	s.Rows = make(map[string]*state.Row, len(now.Rows))
	for id, row := range now.Rows {
		if before.Rows[id] != nil {
			s.Rows[id] = row
		}
	}
	return &s
}

// Import records resources that exist and that the config declares. The report says what
// became of each; one that was refused is no error.
func (e *Engine) Import(ctx context.Context, req ImportRequest) (*apply.ImportReport, error) {
	g, err := graph.Build(req.Compilation.Document.Edges())
	if err != nil {
		return nil, err
	}
	requests, err := importRequests(req, g)
	if err != nil {
		return nil, err
	}
	m := &apply.Import{
		Provider: e.provider, Schemas: e.Registry.Schemas(), Compilation: req.Compilation, Graph: g, Owner: req.Owner,
		NodeTimeout: e.nodeTimeout(), DrainGrace: e.drainGrace(), NewID: e.NewID,
		Secrets: secretsOf(req.Secrets, req.Recorder), Force: req.Force, AllowDrift: req.AllowDrift,
	}
	if req.DryRun {
		snapshot, err := req.Store.Load(ctx, req.Partition)
		if err != nil {
			return nil, err
		}
		return m.Run(ctx, snapshot, requests)
	}
	var report *apply.ImportReport
	err = e.recording(ctx, req.Locker, req.Store, req.Partition, func(record *apply.Record, now *state.Snapshot) error {
		m.Record = record
		var err error
		report, err = m.Run(ctx, now, requests)
		return err
	})
	return report, err
}

// Importable lists the declared nodes of a compilation that a snapshot does not record.
func (e *Engine) Importable(req ImportRequest, snapshot *state.Snapshot) []apply.ImportedNode {
	return apply.Importable(req.Compilation.Document, e.Registry.Schemas(), snapshot)
}

// importRequests are the nodes that a request means. An id that nothing declares is
// answered like any other; an external id stands for one node only.
func importRequests(req ImportRequest, g *graph.Graph) ([]apply.ImportRequest, error) {
	ids, err := graph.Select([]string{req.Node}, g.IDs())
	if model.IsKind(err, model.TargetError) && isNodeID(req.Node) {
		ids, err = []string{req.Node}, nil
	}
	if err != nil {
		return nil, err
	}
	if req.ExternalID != "" && len(ids) > 1 {
		return nil, model.Errorf(model.TargetError, model.ClassUser,
			"'%s' matches %d resources, and the id '%.80s' belongs to one of them; name it in full", req.Node, len(ids), req.ExternalID)
	}
	requests := make([]apply.ImportRequest, len(ids))
	for i, id := range ids {
		requests[i] = apply.ImportRequest{NodeID: id, ExternalID: req.ExternalID, IDField: req.IDField}
	}
	return requests, nil
}

// isNodeID reports whether a pattern is a whole id rather than one that may match several.
func isNodeID(pattern string) bool {
	return model.LocalName(pattern) != "" && model.TypeOf(pattern) != "" && !slices.ContainsFunc([]rune(pattern), func(r rune) bool { return r == '*' || r == '?' || r == '[' })
}

// recording does work under the lock, over the state as it is under it.
func (e *Engine) recording(ctx context.Context, locker lease.Locker, store state.Store, partition string,
	work func(record *apply.Record, now *state.Snapshot) error) error {
	at := StatePlace{Partition: partition, Store: store, Locker: locker}
	return e.underLock(ctx, at, func(h *held, now *state.Snapshot) error {
		return h.fenced(work(&apply.Record{
			Store: store, Partition: partition, Lease: h, Timeout: e.nodeTimeout(), Now: e.Now, Events: h.narrator.events(),
		}, now))
	})
}
