package postgres

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/group"
)

// UnderPlan is the store for a run of a recorded plan. What is ahead of a change of the
// world, in a write or as the probe, is let through only while this record is the current
// one of its partition: being applied under the run's own epoch, with the body that has
// this hash (AP-25, LS-15). Else it is a PlanDriftError, and nothing was done. What says
// how a call ended is recorded all the same.
func (s *Store) UnderPlan(planID, hash string) state.Store {
	u := underPlan{Store: s, plan: &runningPlan{id: planID, hash: hash}}
	u.group = group.New(func(ctx context.Context, partition string, fence model.Fence, batch state.Batch) error {
		if !batch.Ahead {
			return s.commit(ctx, partition, fence, batch)
		}
		return s.commitUnder(ctx, partition, fence, batch, u.plan)
	})
	return u
}

type underPlan struct {
	*Store
	plan  *runningPlan
	group *group.Writer
}

// Commit implements state.Writer.
func (u underPlan) Commit(ctx context.Context, partition string, fence model.Fence, batch state.Batch) error {
	return u.group.Commit(ctx, partition, fence, batch)
}

// CheckFence implements state.Writer; it is one query over two indexes.
func (u underPlan) CheckFence(ctx context.Context, partition string, fence model.Fence) error {
	id, err := parsePartition(partition)
	if err != nil {
		return err
	}
	what := "check the lock and the plan of partition " + partition
	return u.do(ctx, what, func(ctx context.Context) error {
		args := append([]any{id, fence.Epoch, fence.Holder, supportedVersion}, u.plan.arguments()...)
		var current bool
		err := u.pool.QueryRow(asQuery(ctx), `select exists (
			select from partitions p join plans r on r.partition_id = p.id
			where p.id = $1 and p.epoch = $2 and p.holder = $3 and p.holder <> '' and p.deleted_at is null
			  and r.plan_id = $5 and r.status = 'Applying' and r.epoch = $2 and r.plan_hash = $6)
			and not exists (select from schema_migrations where version > $4)`, args...).Scan(&current)
		if err == nil && !current {
			err = u.plan.refusal(u.refusal(ctx, what, id, fence))
		}
		return err
	})
}

// runningPlan names a record and what its body must be; nil names none.
type runningPlan struct{ id, hash string }

// arguments are the last two of a statement that asks for the plan. An id that is none
// matches no plan.
func (p *runningPlan) arguments() []any {
	if p == nil {
		return []any{nil, nil}
	}
	id, err := uuid.Parse(p.id)
	if err != nil {
		id = uuid.Nil
	}
	return []any{id, p.hash}
}

// refusal is why a statement that asks for the plan let nothing through.
func (p *runningPlan) refusal(err error) error {
	if p == nil || !errors.Is(err, errFenceHolds) {
		return err
	}
	return model.Errorf(model.PlanDriftError, model.ClassTransient,
		"the plan that runs is not the recorded one any more, or was altered; nothing was called for what is left: plan again")
}
