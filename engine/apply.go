package engine

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Apply plans, takes the lock, plans again under it and runs what came out
// (engine.md 4.1). A plan that is blocked, unsupported or not the expected one is
// refused before the lock; with nothing to do, the result has no report and no lock was
// taken. The result is returned beside an error as well, as far as it got.
func (e *Engine) Apply(ctx context.Context, req ApplyRequest) (*Result, error) {
	return e.run(ctx, session{
		partition: req.Partition, store: req.Store, locker: req.Locker, owner: req.Owner, expect: req.Expect, gate: req.Gate,
		source: req.Compilation.Source,
		plan: func(ctx context.Context, snapshot *state.Snapshot) (*plan.Plan, error) {
			return e.Plan(ctx, PlanRequest{Compilation: req.Compilation, Snapshot: snapshot, Owner: req.Owner, OnFailure: req.OnFailure})
		},
		covers: func(id string) bool { return req.Compilation.Document.Node(id) != nil },
	})
}

// Destroy deletes every recorded node of a partition, dependents first, and retires its
// outputs. It needs neither config nor inputs (RF-17). Unlike Apply it reports also when
// there was nothing to do.
func (e *Engine) Destroy(ctx context.Context, req DestroyRequest) (*Result, error) {
	result, err := e.run(ctx, session{
		partition: req.Partition, store: req.Store, locker: req.Locker, owner: req.Owner, expect: req.Expect, gate: req.Gate,
		plan: func(_ context.Context, snapshot *state.Snapshot) (*plan.Plan, error) {
			return plan.Destroy(snapshot, e.Registry.Schemas())
		},
		covers: func(string) bool { return false },
	})
	if err == nil && result.Report == nil {
		result.Report = apply.NewReport()
	}
	return result, err
}

// Refresh reads every recorded node and reports what differs. It writes nothing and
// takes no lock (RF-1). What could not be read is the error; the rest is returned
// beside it.
func (e *Engine) Refresh(ctx context.Context, req RefreshRequest) (*apply.Drift, error) {
	r := &apply.Refresh{
		Provider: e.provider, Schemas: e.Registry.Schemas(), Owner: req.Owner, Source: req.Source,
		Parallelism: e.parallelism(), NodeTimeout: e.nodeTimeout(), DrainGrace: e.drainGrace(),
	}
	return r.Run(ctx, req.Snapshot)
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
	plan      func(ctx context.Context, snapshot *state.Snapshot) (*plan.Plan, error)
	covers    func(id string) bool // ids that the run knows of beside those recorded
}

func (e *Engine) run(ctx context.Context, s session) (*Result, error) {
	first, err := s.store.Load(ctx, s.partition)
	if err != nil {
		return &Result{}, err
	}
	p, err := s.plan(ctx, first)
	if err != nil {
		return &Result{}, err
	}
	result := &Result{Plan: p}
	if err := runnable(p); err != nil {
		return result, err
	}
	if err := expected(s.expect, p, p); err != nil {
		return result, err
	}
	if !p.HasPending() && p.Outputs.Empty() && !p.Unsynced() {
		return result, nil
	}
	handle, err := s.locker.Acquire(ctx)
	if err != nil {
		return result, err
	}
	err = e.locked(ctx, s, handle, first, result)
	return result, e.unlock(ctx, handle, result, err)
}

// locked is the part of a run that happens under the lock.
func (e *Engine) locked(ctx context.Context, s session, handle lease.Handle, first *state.Snapshot, result *Result) error {
	snapshot, err := s.store.Load(ctx, s.partition)
	if err != nil {
		return err
	}
	if err := s.gained(first, snapshot); err != nil {
		return err
	}
	shown := result.Plan
	p, err := s.plan(ctx, snapshot)
	if err != nil {
		return err
	}
	result.Plan = p
	if err := runnable(p); err != nil {
		return err
	}
	if err := expected(s.expect, shown, p); err != nil {
		return err
	}
	run := &apply.Run{
		Provider: e.provider, Schemas: e.Registry.Schemas(), Store: s.store, Partition: s.partition, Lease: handle, Owner: s.owner, Source: s.source,
		Parallelism: e.parallelism(), NodeTimeout: e.nodeTimeout(), DrainGrace: e.drainGrace(),
		Now: e.Now, NewID: e.NewID, Events: e.Events, Gate: s.gate,
	}
	result.Report, err = run.Apply(ctx, p)
	return err
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
		"rows appeared while the run waited for its lock: %s; nothing was done, plan again", strings.Join(unknown, ", "))
}

// releaseTimeout bounds the release of a lock; what is not released lapses.
const releaseTimeout = 15 * time.Second

// unlock gives the lock back, unless a call may still be in flight (LS-10). A release
// that fails goes with the run's error and never replaces a result.
func (e *Engine) unlock(ctx context.Context, handle lease.Handle, result *Result, err error) error {
	if result.Report != nil && len(result.Report.Abandoned) > 0 {
		handle.Abandon()
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	released := handle.Release(ctx)
	if released == nil {
		return err
	}
	if e.Events != nil {
		e.Events(apply.Event{RunID: handle.Fence().Holder, At: e.Now(), Phase: "lease_release", Detail: map[string]any{"error": released.Error()}})
	}
	var typed *model.Error
	if !errors.As(err, &typed) {
		return err
	}
	joined := *typed
	joined.AlsoFailed = append(slices.Clone(typed.AlsoFailed), model.Errorf(model.LockError, model.ClassTransient,
		"the lock could not be released and lapses by itself: %w", released))
	return &joined
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

func (e *Engine) drainGrace() time.Duration {
	if e.DrainGrace == 0 {
		return 30 * time.Second
	}
	return e.DrainGrace
}
