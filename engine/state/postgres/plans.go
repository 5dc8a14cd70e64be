package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// maxPlanBody bounds what one plan may store.
const maxPlanBody = 64 << 20

// Plans keeps the plan records in the same database.
type Plans struct{ store *Store }

var _ state.Plans = Plans{}

// Plans is the plan records of the store.
func (s *Store) Plans() Plans { return Plans{store: s} }

// Current implements state.Plans; it is one indexed query.
func (p Plans) Current(ctx context.Context, partition string) (record *state.PlanRecord, err error) {
	id, err := parsePartition(partition)
	if err != nil {
		return nil, err
	}
	err = p.store.read(ctx, "read the plan of partition "+partition, func(ctx context.Context) error {
		record, err = currentPlan(ctx, p.store.pool, id)
		return err
	})
	return record, err
}

// Propose implements state.Plans.
func (p Plans) Propose(ctx context.Context, partition string, proposed *state.PlanRecord) (record *state.PlanRecord, err error) {
	id, err := parsePartition(partition)
	if err != nil {
		return nil, err
	}
	if err := checkProposal(proposed); err != nil {
		return nil, err
	}
	err = p.store.do(ctx, "record a plan of partition "+partition, func(ctx context.Context) error {
		return p.store.inTx(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
			record, err = propose(ctx, tx, id, proposed)
			return err
		})
	})
	return record, err
}

// propose decides under the lock of the partition's row, so that two proposals, or a
// proposal and the start of a run, come one after the other.
func propose(ctx context.Context, tx pgx.Tx, id uuid.UUID, proposed *state.PlanRecord) (*state.PlanRecord, error) {
	var live model.Fence
	var version int64
	err := tx.QueryRow(asQuery(ctx), `select epoch, holder, (select coalesce(max(version), 0) from schema_migrations)
		from partitions where id = $1 and deleted_at is null for no key update`, id).Scan(&live.Epoch, &live.Holder, &version)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, stateError(model.ClassUnknown, nil, fmt.Sprintf("record a plan: partition %s does not exist or was deleted", id))
	}
	if err == nil {
		err = supported(version)
	}
	if err != nil {
		return nil, err
	}
	current, err := currentPlan(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	if err := admit(current, proposed, live); err != nil {
		return current, err
	}
	next := *proposed
	next.Hash, next.Generation, next.Epoch = "", 1, 0
	if next.Body != nil {
		next.Hash = state.PlanHash(next.Body)
	}
	if current != nil {
		next.Generation = current.Generation + 1
	}
	if keeps(current, proposed) {
		next.ID = current.ID
		return refreshPlan(ctx, tx, id, &next)
	}
	if current != nil {
		if err := supersede(ctx, tx, id, current.ID); err != nil {
			return nil, err
		}
	}
	return insertPlan(ctx, tx, id, &next)
}

// keptPlans is how many superseded plans of a partition stay as history.
const keptPlans = 20

// supersede makes a plan history: what it was about stays, what it would do goes, and
// so does the history that is too old.
func supersede(ctx context.Context, tx pgx.Tx, id uuid.UUID, planID string) error {
	if _, err := tx.Exec(asWrite(ctx), "update plans set status = $2, body = null, plan_text = '', updated_at = now() where plan_id = $1", planID, state.PlanSuperseded); err != nil {
		return err
	}
	_, err := tx.Exec(asWrite(ctx), `delete from plans where plan_id in (
		select plan_id from plans where partition_id = $1 and status = 'Superseded' order by generation desc offset $2)`, id, keptPlans)
	return err
}

// admit is nil when the proposal may replace or refresh what is recorded (AP-6, O-2).
func admit(current, proposed *state.PlanRecord, live model.Fence) error {
	seen := int64(0)
	if current != nil {
		seen = current.Generation
	}
	switch {
	case proposed.Generation != seen,
		current != nil && proposed.Head.Generation < current.Head.Generation:
		return stateError(model.ClassTransient, state.ErrStalePlan, "a newer plan is recorded than the one that was read before planning: plan again")
	case current != nil && current.Status == state.PlanApplying && live.Holder != "" && current.Epoch == live.Epoch:
		return stateError(model.ClassTransient, state.ErrPlanApplying, "a run of '"+clip(live.Holder)+"' applies the current plan: plan again when it has ended")
	default:
		return nil
	}
}

// keeps reports whether the proposal says the same as what is recorded, so that the
// record, and an approval of it, stands.
func keeps(current, proposed *state.PlanRecord) bool {
	if current == nil || current.Status != proposed.Status || current.ChangesetDigest != proposed.ChangesetDigest {
		return false
	}
	switch current.Status {
	case state.PlanPlanned, state.PlanNoChanges, state.PlanErrored:
		return true
	default:
		return false
	}
}

func checkProposal(p *state.PlanRecord) error {
	refuse := func(why string) error {
		return stateError(model.ClassUnknown, nil, "a plan cannot be recorded: "+why)
	}
	switch p.Status {
	case state.PlanPlanned, state.PlanNoChanges, state.PlanErrored:
	default:
		return refuse("a new one is Planned, NoChanges or Errored, not '" + string(p.Status) + "'")
	}
	if _, err := uuid.Parse(p.ID); p.ID != "" && err != nil {
		return refuse("its id is not a UUID")
	}
	if p.Status != state.PlanErrored && (p.ChangesetDigest == "" || p.Body == nil) {
		return refuse("it has no changeset digest or no body")
	}
	if len(p.Body)+len(p.Text) > maxPlanBody {
		return stateError(model.ClassUser, nil, fmt.Sprintf("a plan is larger than %d MiB: split the config into several Stacks", maxPlanBody>>20))
	}
	return checkText("the plan", p.Text, p.Reason, p.CreatedBy, p.InputsDigest, p.PolicyDigest, p.ChangesetDigest,
		p.Head.UID, p.Head.SourceKind, p.Head.SourceRef, p.Head.Revision, p.Head.ArtifactDigest)
}

// Advance implements state.Plans.
func (p Plans) Advance(ctx context.Context, partition, planID string, from []state.PlanStatus, to state.PlanStatus, reason string, fence *model.Fence) (advanced bool, err error) {
	id, err := parsePartition(partition)
	if err != nil {
		return false, err
	}
	plan, err := uuid.Parse(planID)
	if err != nil {
		return false, stateError(model.ClassUnknown, nil, "a plan is named by a UUID, which '"+clip(planID)+"' is not")
	}
	what := "set plan " + planID + " " + string(to)
	if !to.Known() || to == state.PlanSuperseded {
		return false, stateError(model.ClassUnknown, nil, what+": a plan cannot be moved there")
	}
	if fence == nil && (to == state.PlanApplying || slices.Contains(from, state.PlanApplying)) {
		return false, fenced(what, partition, "only the run that holds the lock may start or end an apply")
	}
	if err := checkText("the reason of a plan", reason); err != nil {
		return false, err
	}
	err = p.store.do(ctx, what, func(ctx context.Context) error {
		advanced, err = p.advance(ctx, what, id, plan, from, to, reason, fence)
		return err
	})
	return advanced, err
}

func (p Plans) advance(ctx context.Context, what string, id, plan uuid.UUID, from []state.PlanStatus, to state.PlanStatus, reason string, fence *model.Fence) (bool, error) {
	var epoch *int64
	var holder *string
	if fence != nil {
		epoch, holder = &fence.Epoch, &fence.Holder
	}
	tag, err := p.store.pool.Exec(asWrite(ctx), `
		with owner as (
		  select id from partitions
		  where id = $1 and ($5::bigint is null or (epoch = $5 and holder = $6 and holder <> '' and deleted_at is null))
		    and not exists (select from schema_migrations where version > $7)
		  for no key update
		)
		update plans p set status = $3, reason = $4, updated_at = now(), epoch = coalesce($5, p.epoch),
		  body = case when $3 = 'Discarded' then null else p.body end
		from owner where p.partition_id = owner.id and p.plan_id = $2 and p.status = any($8)`,
		id, plan, to, reason, epoch, holder, supportedVersion, from)
	if err != nil || tag.RowsAffected() == 1 {
		return err == nil, err
	}
	if fence == nil {
		return false, p.store.writable(ctx)
	}
	var current bool
	err = p.store.pool.QueryRow(asQuery(ctx), `select exists (select from partitions where id = $1 and epoch = $2 and holder = $3 and holder <> '' and deleted_at is null)
		and not exists (select from schema_migrations where version > $4)`, id, epoch, holder, supportedVersion).Scan(&current)
	if err == nil && !current {
		err = p.store.refusal(ctx, what, id, *fence)
	}
	return false, err
}

const planColumns = `plan_id::text, generation, head_uid, head_generation, source_kind, source_ref, revision, artifact_digest,
	inputs_digest, policy_digest, base_serial, changeset_digest, plan_hash, body, plan_text, summary, created_by, status, reason, epoch, created_at, updated_at`

// querier is a pool or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func currentPlan(ctx context.Context, q querier, id uuid.UUID) (*state.PlanRecord, error) {
	record, err := scanPlan(q.QueryRow(asQuery(ctx), "select "+planColumns+" from plans where partition_id = $1 and status <> 'Superseded'", id))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return record, err
}

// insertPlan and refreshPlan share the parameters of planValues.

func insertPlan(ctx context.Context, tx pgx.Tx, id uuid.UUID, p *state.PlanRecord) (*state.PlanRecord, error) {
	return scanPlan(tx.QueryRow(asWrite(ctx), `insert into plans (partition_id, plan_id, generation, head_uid, head_generation, source_kind, source_ref, revision,
		artifact_digest, inputs_digest, policy_digest, base_serial, changeset_digest, plan_hash, body, plan_text, summary, created_by, status, reason)
		values ($1, coalesce($2, gen_random_uuid()), $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20) returning `+planColumns, planValues(id, p)...))
}

func refreshPlan(ctx context.Context, tx pgx.Tx, id uuid.UUID, p *state.PlanRecord) (*state.PlanRecord, error) {
	return scanPlan(tx.QueryRow(asWrite(ctx), `update plans set generation = $3, head_uid = $4, head_generation = $5, source_kind = $6, source_ref = $7, revision = $8,
		artifact_digest = $9, inputs_digest = $10, policy_digest = $11, base_serial = $12, changeset_digest = $13, plan_hash = $14, body = $15,
		plan_text = $16, summary = $17, created_by = $18, status = $19, reason = $20, updated_at = now()
		where partition_id = $1 and plan_id = $2 returning `+planColumns, planValues(id, p)...))
}

func planValues(id uuid.UUID, p *state.PlanRecord) []any {
	h := p.Head
	var planID *string // null lets the database choose
	if p.ID != "" {
		planID = &p.ID
	}
	return []any{id, planID, p.Generation, h.UID, h.Generation, h.SourceKind, h.SourceRef, h.Revision, h.ArtifactDigest,
		p.InputsDigest, p.PolicyDigest, p.BaseSerial, p.ChangesetDigest, p.Hash, p.Body, p.Text, p.Summary, p.CreatedBy, p.Status, p.Reason}
}

func scanPlan(row pgx.Row) (*state.PlanRecord, error) {
	p := &state.PlanRecord{}
	h := &p.Head
	err := row.Scan(&p.ID, &p.Generation, &h.UID, &h.Generation, &h.SourceKind, &h.SourceRef, &h.Revision, &h.ArtifactDigest,
		&p.InputsDigest, &p.PolicyDigest, &p.BaseSerial, &p.ChangesetDigest, &p.Hash, &p.Body, &p.Text, &p.Summary, &p.CreatedBy,
		&p.Status, &p.Reason, &p.Epoch, &p.Created, &p.Updated)
	if err != nil {
		return nil, err
	}
	if !p.Status.Known() {
		return nil, stateError(model.ClassUnknown, nil, "plan "+p.ID+" has the status '"+clip(string(p.Status))+"', which this release does not know")
	}
	return p, nil
}
