package postgres

import (
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/hack/devenv"
)

// LS-15, AP-25: the probe and what is written ahead look at the plan as well as at the
// fence; what says how a call ended looks at the fence alone.
func TestUnderPlan(t *testing.T) {
	for _, c := range []struct {
		reason  string
		meddle  func(f planFixture, plan *state.PlanRecord, fence *model.Fence)
		id      string // of another plan than the one that runs
		ahead   model.Kind
		confirm model.Kind
	}{
		{reason: "it is being applied under the run's fence", ahead: "", confirm: ""},
		{reason: "it was not started", ahead: model.PlanDriftError, meddle: func(f planFixture, plan *state.PlanRecord, _ *model.Fence) {
			exec(f, f.Store, "update plans set status = 'Planned' where plan_id = $1", plan.ID)
		}},
		{reason: "it has ended", ahead: model.PlanDriftError, meddle: func(f planFixture, plan *state.PlanRecord, fence *model.Fence) {
			f.advance(plan.ID, state.PlanApplying, state.PlanApplyFailed, fence)
		}},
		{reason: "its body was altered", ahead: model.PlanDriftError, meddle: func(f planFixture, plan *state.PlanRecord, _ *model.Fence) {
			exec(f, f.Store, "update plans set plan_hash = 'sha256:00' where plan_id = $1", plan.ID)
		}},
		{reason: "another run started it", ahead: model.PlanDriftError, meddle: func(f planFixture, plan *state.PlanRecord, fence *model.Fence) {
			exec(f, f.Store, "update plans set epoch = $2 where plan_id = $1", plan.ID, fence.Epoch-1)
		}},
		{reason: "it is gone", ahead: model.PlanDriftError, meddle: func(f planFixture, plan *state.PlanRecord, _ *model.Fence) {
			exec(f, f.Store, "delete from plans where plan_id = $1", plan.ID)
		}},
		{reason: "another plan is meant", ahead: model.PlanDriftError, id: uuid.NewString()},
		{reason: "no plan is meant", ahead: model.PlanDriftError, id: "none"},
		{reason: "the lock went to another run", ahead: model.FencedWriteError, confirm: model.FencedWriteError,
			meddle: func(f planFixture, _ *state.PlanRecord, _ *model.Fence) { take(f, f.Store, f.partition, "successor") }},
		{reason: "the lock was broken", ahead: model.FencedWriteError, confirm: model.FencedWriteError,
			meddle: func(f planFixture, _ *state.PlanRecord, fence *model.Fence) {
				if held, err := f.BreakLock(f.Context(), f.partition, fence.Holder); err != nil || !held {
					f.Fatal(held, err)
				}
			}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			f := newPlanFixture(t)
			plan := f.propose(proposal(0, 1, "d"))
			fence := take(t, f.Store, f.partition, "run")
			if !f.advance(plan.ID, state.PlanPlanned, state.PlanApplying, &fence) {
				t.Fatal("it does not start")
			}
			if c.meddle != nil {
				c.meddle(f, plan, &fence)
			}
			if c.id == "" {
				c.id = plan.ID
			}
			run := f.UnderPlan(c.id, plan.Hash)
			wantVerdict(t, "the probe", run.CheckFence(t.Context(), f.partition, fence), c.ahead)
			ahead := state.Batch{PutRows: []*state.Row{{ID: "s:t:ahead"}}, Ahead: true}
			wantVerdict(t, "a write ahead", run.Commit(t.Context(), f.partition, fence, ahead), c.ahead)
			confirm := state.Batch{PutRows: []*state.Row{{ID: "s:t:confirmed"}}}
			wantVerdict(t, "a confirmation", run.Commit(t.Context(), f.partition, fence, confirm), c.confirm)
			rows := query[string](t, f.Store, "select id from nodes where partition_id = $1 order by id", f.partition)
			want := 0
			for _, kind := range []model.Kind{c.ahead, c.confirm} {
				if kind == "" {
					want++
				}
			}
			if len(rows) != want {
				t.Errorf("rows %v, want %d", rows, want)
			}
		})
	}
}

// The gate costs one query, and nothing on top of a write.
func TestUnderPlanCosts(t *testing.T) {
	dsn := devenv.Database(t)
	ours := open(t, dsn)
	f := planFixture{TB: t, Store: ours, plans: ours.Plans(), partition: newPartition(t, ours)}
	var queries, writes atomic.Int64
	s := open(t, dsn, func(o *Options) {
		o.Observe = func(kind string) {
			if kind == ObserveWrite {
				writes.Add(1)
			} else {
				queries.Add(1)
			}
		}
	})
	plan := f.propose(proposal(0, 1, "d"))
	fence := take(t, f.Store, f.partition, "run")
	f.advance(plan.ID, state.PlanPlanned, state.PlanApplying, &fence)
	run := s.UnderPlan(plan.ID, plan.Hash)
	wantVerdict(t, "the probe", run.CheckFence(t.Context(), f.partition, fence), "")
	if queries.Load() != 1 || writes.Load() != 0 {
		t.Errorf("a probe takes %d queries and %d writes", queries.Load(), writes.Load())
	}
	wantVerdict(t, "a write ahead", run.Commit(t.Context(), f.partition, fence, state.Batch{PutRows: []*state.Row{{ID: "s:t:a"}}, Ahead: true}), "")
	if queries.Load() != 1 || writes.Load() != 1 {
		t.Errorf("with a write ahead it is %d queries and %d writes", queries.Load(), writes.Load())
	}
}

// wantVerdict demands an error of a kind; none for "".
func wantVerdict(t *testing.T, reason string, err error, kind model.Kind) {
	t.Helper()
	if err == nil && kind == "" {
		return
	}
	wantKind(t, reason, err, kind)
}
