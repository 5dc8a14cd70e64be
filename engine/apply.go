package engine

import (
	"cmp"
	"context"
	"io/fs"
	"runtime"
	"slices"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Apply plans, takes the lock, plans again under it and runs what came out
// (engine.md 4.1). A plan that is blocked, unsupported or not the expected one is
// refused before the lock. With nothing to do no lock is taken, and the result has no
// report unless the request asks for one. The end of ctx interrupts the run, which is then
// undone as the request says; with the cause apply.ErrHandOver it is left as it is, for
// another process to go on with (EX-36, EX-37). The result is returned beside an error as
// well, as far as it got.
func (e *Engine) Apply(ctx context.Context, req ApplyRequest) (*Result, error) {
	return e.run(ctx, session{
		partition: req.Partition, store: req.Store, locker: req.Locker, owner: req.Owner, expect: req.Expect, gate: req.Gate,
		source: req.Compilation.Source, secrets: secretsOf(req.Secrets, req.Recorder), reports: req.Report, parallelism: req.Parallelism,
		plan: func(ctx context.Context, snapshot *state.Snapshot) (*plan.Plan, error) {
			return e.Plan(ctx, PlanRequest{
				Compilation: req.Compilation, Snapshot: snapshot, Owner: req.Owner, OnFailure: req.OnFailure,
				Targets: req.Targets, Replace: req.Replace, Secrets: req.Secrets, Policies: req.Policies,
			})
		},
		covers: func(id string) bool { return req.Compilation.Document.Node(id) != nil },
	})
}

// Destroy deletes every recorded node of a partition, dependents first, and retires its
// outputs. It needs neither config nor inputs (RF-17). Unlike Apply it reports also when
// there was nothing to do.
func (e *Engine) Destroy(ctx context.Context, req DestroyRequest) (*Result, error) {
	return e.run(ctx, session{
		partition: req.Partition, store: req.Store, locker: req.Locker, owner: req.Owner, expect: req.Expect, gate: req.Gate,
		secrets: secretsOf(req.Secrets, nil), reports: true, parallelism: req.Parallelism,
		plan: func(ctx context.Context, snapshot *state.Snapshot) (*plan.Plan, error) {
			return e.PlanDestroyTargets(ctx, snapshot, req.Targets, req.Secrets)
		},
		covers: func(string) bool { return false },
	})
}

// session is what apply and destroy have in common.
type session struct {
	partition string
	store     state.Store
	locker    lease.Locker
	owner     string
	expect    string
	gate      apply.Gate
	source    fs.FS
	secrets   apply.Secrets
	reports   bool // also when there is nothing to do
	// parallelism is the request's; 0 = the engine's.
	parallelism int
	plan        func(ctx context.Context, snapshot *state.Snapshot) (*plan.Plan, error)
	covers      func(id string) bool // ids that the run knows of beside those recorded
}

func (e *Engine) run(ctx context.Context, s session) (*Result, error) {
	first, err := s.store.Load(ctx, s.partition)
	if err != nil {
		return &Result{}, err
	}
	p, err := s.plan(ctx, first)
	result := &Result{Plan: p}
	if err != nil {
		return result, err
	}
	if err := runnable(p); err != nil {
		return result, err
	}
	if err := expected(s.expect, p, p); err != nil {
		return result, err
	}
	if !p.HasPending() && p.Outputs.Empty() && !p.Unsynced() {
		if s.reports {
			result.Report = apply.Idle(ctx, p, e.Registry.Schemas(), s.secrets)
		}
		return result, nil
	}
	return result, e.holding(ctx, s.locker, func(h *held) error {
		err := h.fenced(e.locked(ctx, s, h, first, result))
		h.abandoned = result.Report != nil && len(result.Report.Abandoned) > 0
		return err
	})
}

// locked is the part of a run that happens under the lock.
func (e *Engine) locked(ctx context.Context, s session, h *held, first *state.Snapshot, result *Result) error {
	snapshot, err := s.reload(ctx, first)
	if err != nil {
		return err
	}
	if err := s.gained(first, snapshot); err != nil {
		return err
	}
	shown := result.Plan
	p, err := s.plan(ctx, snapshot)
	if p != nil { // also one that is refused is to be shown
		result.Plan = p
	}
	if err != nil {
		return err
	}
	if err := runnable(p); err != nil {
		return err
	}
	if err := expected(s.expect, shown, p); err != nil {
		return err
	}
	if err := e.move(ctx, s, h, p); err != nil {
		return err
	}
	run := &apply.Run{
		Provider: e.provider, Schemas: e.Registry.Schemas(), Store: s.store, Partition: s.partition, Lease: h, Owner: s.owner, Source: s.source,
		Parallelism: cmp.Or(s.parallelism, e.parallelism()), NodeTimeout: e.nodeTimeout(), DrainGrace: e.drainGrace(),
		Backoff: e.backoff(), Now: e.Now, NewID: e.NewID, Events: h.narrator.events(), Gate: s.gate, Secrets: s.secrets,
	}
	result.Report, err = run.Apply(ctx, p)
	return err
}

// reload is the state as it is under the lock: what was read before it, unless somebody
// wrote since.
func (s session) reload(ctx context.Context, first *state.Snapshot) (*state.Snapshot, error) {
	serial, err := s.store.Serial(ctx, s.partition)
	if err != nil {
		return nil, err
	}
	if serial == first.Serial {
		return first, nil
	}
	return s.store.Load(ctx, s.partition)
}

// secretsOf is what a run uses of secrets.
func secretsOf(s Secrets, r apply.Recorder) apply.Secrets {
	if s == nil {
		return apply.Secrets{}
	}
	of := apply.Secrets{Resolve: s.Resolve, Digests: s, Unsealer: s, Recorder: r, Scrub: s.Scrub}
	if narrow, ok := s.(interface{ Holds(text string) bool }); ok {
		of.Holds = narrow.Holds
	}
	return of
}

// move records that rows take the ids of renamed nodes, in one write, before anything else
// is done with them (DF-23).
func (e *Engine) move(ctx context.Context, s session, handle lease.Handle, p *plan.Plan) error {
	if p.Moves == nil {
		return nil
	}
	batch := p.Moves.Batch()
	fence := handle.Fence()
	for i, row := range batch.PutRows {
		batch.PutRows[i] = row.Clone()
		batch.PutRows[i].Epoch, batch.PutRows[i].UpdatedAt = fence.Epoch, e.Now()
	}
	return s.store.Commit(ctx, s.partition, fence, batch)
}

// gained refuses a run when rows appeared, while it waited for the lock, that it does
// not know of.
func (s session) gained(before, after *state.Snapshot) error {
	var unknown []string
	for id := range after.Rows {
		if before.Rows[id] == nil && !s.covers(id) {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	return model.Errorf(model.StateError, model.ClassTransient,
		"rows appeared while the run waited for its lock: %s; nothing was done, plan again", model.Listed(unknown, ", "))
}

func (e *Engine) provider(name string) (apply.Provider, bool) {
	p, ok := e.Registry.Provider(name)
	return p, ok
}

func (e *Engine) parallelism() int {
	if e.Parallelism == 0 {
		return min(32, 4*runtime.NumCPU())
	}
	return e.Parallelism
}

func (e *Engine) nodeTimeout() time.Duration {
	if e.NodeTimeout == 0 {
		return 40 * time.Minute
	}
	return e.NodeTimeout
}

func (e *Engine) backoff() func(attempt int) (time.Duration, bool) {
	if e.Backoff == nil {
		return defaultBackoff
	}
	return e.Backoff
}

// defaultBackoff waits half a minute in all for a store to come back, as it does from a
// restart or a failover.
func defaultBackoff(attempt int) (time.Duration, bool) {
	const shortest, longest, attempts = 100 * time.Millisecond, 5 * time.Second, 11
	return min(shortest<<min(attempt, 10), longest), attempt < attempts
}

func (e *Engine) drainGrace() time.Duration {
	if e.DrainGrace == 0 {
		return 30 * time.Second
	}
	return e.DrainGrace
}
