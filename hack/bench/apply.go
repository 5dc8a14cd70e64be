package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/postgres"
)

const owner = "bench/bench"

// parallelism of every apply that is measured.
const parallelism = 64

// site is where a config is applied: a partition of a Postgres store.
type site struct {
	*compiler
	store     *postgres.Store
	partition string

	queries, writes atomic.Int64 // statements that were sent
}

// newSite opens a partition of its own in the database.
func newSite(ctx context.Context, c *compiler, dsn string) (*site, error) {
	s := &site{compiler: c, partition: uuid.NewString()}
	e := *c.engine
	e.Parallelism, e.Now, e.NewID = parallelism, time.Now, uuid.NewString
	e.PlainSecrets = true
	s.compiler = &compiler{engine: &e, source: c.source}
	var err error
	s.store, err = postgres.Open(ctx, dsn, postgres.Options{Installation: "bench", Timeout: time.Minute, Observe: s.observe})
	if err != nil {
		return nil, err
	}
	return s, s.store.EnsurePartition(ctx, s.partition, "bench", "bench")
}

func (s *site) observe(kind string) {
	if kind == postgres.ObserveWrite {
		s.writes.Add(1)
	} else {
		s.queries.Add(1)
	}
}

// applied is what one apply took.
type applied struct {
	Nodes           int
	Took            time.Duration
	Queries, Writes int64
	Peak            int64 // resident memory of the process, in bytes; 0 = not known
}

// NodesPerSecond counts nodes that are on disk.
func (a applied) NodesPerSecond() float64 { return float64(a.Nodes) / a.Took.Seconds() }

// apply runs a compilation.
func (s *site) apply(ctx context.Context, c *ir.Compilation) (applied, error) {
	queries, writes := s.queries.Load(), s.writes.Load()
	times, err := lease.TimesOf(nil, nil)
	if err != nil {
		return applied{}, err
	}
	began := time.Now()
	result, err := s.engine.Apply(ctx, engine.ApplyRequest{
		Compilation: c, Partition: s.partition, Store: s.store, Owner: owner, OnFailure: plan.OnFailureHalt,
		Locker: &lease.Stored{Records: s.store, Partition: s.partition, Times: times},
	})
	took := time.Since(began)
	if err != nil {
		return applied{}, err
	}
	a := applied{Took: took, Queries: s.queries.Load() - queries, Writes: s.writes.Load() - writes, Peak: peakMemory()}
	if result.Report != nil {
		a.Nodes = len(result.Report.Created)
	}
	return a, nil
}

// noop is what finding out that nothing is to be done takes: piece by piece, as a whole,
// and by what is remembered.
type noop struct{ Load, Plan, Digest, Whole, Remembered time.Duration }

// noop measures an apply of what is applied already.
func (s *site) noop(ctx context.Context, c *ir.Compilation) (n noop, err error) {
	var snapshot *state.Snapshot
	var p *plan.Plan
	for _, step := range []struct {
		took *time.Duration
		do   func() error
	}{
		{&n.Load, func() error { snapshot, err = s.store.Load(ctx, s.partition); return err }},
		{&n.Plan, func() error {
			p, err = s.engine.Plan(ctx, engine.PlanRequest{Compilation: c, Snapshot: snapshot, Owner: owner, OnFailure: plan.OnFailureHalt})
			return err
		}},
		{&n.Digest, func() error { _, err = p.ChangesetDigest(); return err }},
		{&n.Whole, func() error {
			a, err := s.apply(ctx, c)
			if err == nil && (a.Writes > 0 || a.Queries != loadQueries) {
				err = fmt.Errorf("an apply of what is applied asked %d times and wrote %d times; want %d and 0", a.Queries, a.Writes, loadQueries)
			}
			return err
		}},
		{&n.Remembered, func() error { return s.remembered(ctx, c) }},
	} {
		if step.took == &n.Remembered {
			if err := s.engine.Remember(ctx, s.partition, s.store, owner, p); err != nil {
				return n, err
			}
		}
		began := time.Now()
		if err := step.do(); err != nil {
			return n, err
		}
		*step.took = time.Since(began)
	}
	return n, nil
}

// loadQueries is how many statements, sent together, read the state.
const loadQueries = 4

// remembered finds out by one query.
func (s *site) remembered(ctx context.Context, c *ir.Compilation) error {
	before := s.queries.Load()
	_, unchanged, err := s.engine.Unchanged(ctx, engine.UnchangedRequest{Compilation: c, Partition: s.partition, Store: s.store, Owner: owner})
	if asked := s.queries.Load() - before; err == nil && (!unchanged || asked != 1) {
		err = fmt.Errorf("what is applied and remembered is unchanged: %t, after %d queries", unchanged, asked)
	}
	return err
}

// commitLatency is what one write takes that no other shares its commit with.
func (s *site) commitLatency(ctx context.Context) (time.Duration, error) {
	fence, err := s.store.TakeLock(ctx, s.partition, "latency", time.Hour)
	if err != nil {
		return 0, err
	}
	const writes = 100
	row := &state.Row{ID: "s:local.Null:latency", Status: state.StatusCreated}
	began := time.Now()
	for range writes {
		if err := s.store.Commit(ctx, s.partition, fence, state.Batch{PutRows: []*state.Row{row}}); err != nil {
			return 0, err
		}
	}
	took := time.Since(began) / writes
	if err := s.store.Commit(ctx, s.partition, fence, state.Batch{DeleteRows: []string{row.ID}}); err != nil {
		return 0, err
	}
	return took, s.store.ClearHolder(ctx, s.partition, fence)
}

// floor is how many nodes a second are demanded of a machine (issue "Speed"): what a
// commit may take is judged by the disk.
func floor(sync, commit time.Duration) float64 {
	if sync <= time.Millisecond {
		return 5_000
	}
	return 0.6 * parallelism / (2 * commit.Seconds())
}

// syncLatency is what the disk below dir takes to make a small write last.
func syncLatency(dir string) (_ time.Duration, err error) {
	f, err := os.Create(filepath.Join(dir, "sync-"+rand.Text()))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	const writes = 100
	page := make([]byte, 8<<10)
	began := time.Now()
	for range writes {
		if _, err := f.WriteAt(page, 0); err != nil {
			return 0, err
		}
		if err := datasync(f); err != nil {
			return 0, err
		}
	}
	return time.Since(began) / writes, nil
}
