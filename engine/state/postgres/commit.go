package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// commitStatement writes a batch. Its first part is the fence (LS-13): the update of
// the partition's row, whose predicate the server evaluates again after it waited for
// another writer or claimant; everything else joins what it returns, so that without
// that row nothing is written. $11 and $12 name the plan that must run, if any. A JSON null
// arrives as an SQL one. Keys that are both removed and put are put.
//
// A removal of nothing says so before it looks at the table: without statistics of a young
// table the server would read the whole partition for it, at every commit.
const commitStatement = `
with fenced as (
  update partitions set serial = serial + 1
  where id = $1 and epoch = $2 and holder = $3 and deleted_at is null
    and not exists (select from schema_migrations where version > $4)
    and ($11::uuid is null or exists (select from plans r
      where r.partition_id = $1 and r.plan_id = $11 and r.status = 'Applying' and r.epoch = $2 and r.plan_hash = $12))
  returning id, epoch
), deleted_nodes as (
  delete from nodes n using fenced f where cardinality($5::text[]) > 0 and n.partition_id = f.id and n.id = any($5)
), put_nodes as (
  insert into nodes (partition_id, id, type, kind, provider, provider_version, input_hash, outputs, properties, dependencies,
    depends_on, prevent_destroy, create_before_destroy, status, secret_digests, ref_digests, refreshed_outputs, row_uid, attempt,
    updated_at, epoch)
  select f.id, r.id, r.type, r.kind, r.provider, r.provider_version, r.input_hash, r.outputs, r.properties, r.dependencies,
    r.depends_on, r.prevent_destroy, r.create_before_destroy, r.status, r.secret_digests, r.ref_digests, r.refreshed_outputs, r.row_uid, r.attempt,
    coalesce(r.updated_at, now()), f.epoch
  from fenced f, jsonb_to_recordset($6::jsonb) as r(id text, type text, kind text, provider text, provider_version text, input_hash text,
    outputs jsonb, properties jsonb, dependencies jsonb, depends_on jsonb, prevent_destroy boolean, create_before_destroy boolean,
    status text, secret_digests jsonb, ref_digests jsonb, refreshed_outputs jsonb, row_uid text, attempt text, updated_at timestamptz)
  on conflict (partition_id, id) do update set type = excluded.type, kind = excluded.kind, provider = excluded.provider,
    provider_version = excluded.provider_version, input_hash = excluded.input_hash, outputs = excluded.outputs,
    properties = excluded.properties, dependencies = excluded.dependencies, depends_on = excluded.depends_on,
    prevent_destroy = excluded.prevent_destroy, create_before_destroy = excluded.create_before_destroy, status = excluded.status,
    secret_digests = excluded.secret_digests, ref_digests = excluded.ref_digests, refreshed_outputs = excluded.refreshed_outputs,
    row_uid = excluded.row_uid, attempt = excluded.attempt, updated_at = excluded.updated_at, epoch = excluded.epoch
), deleted_pending as (
  delete from pending_destroys p using fenced f where cardinality($7::text[]) > 0 and p.partition_id = f.id and p.node_id = any($7)
), put_pending as (
  insert into pending_destroys (partition_id, node_id, row, mode)
  select f.id, r.node_id, r.row, r.mode
  from fenced f, jsonb_to_recordset($8::jsonb) as r(node_id text, row jsonb, mode text)
  on conflict (partition_id, node_id) do update set row = excluded.row, mode = excluded.mode
), removed_outputs as (
  delete from outputs o using fenced f where cardinality($9::text[]) > 0 and o.partition_id = f.id and o.key = any($9)
), set_outputs as (
  insert into outputs (partition_id, key, value, sensitive, source_nodes)
  select f.id, r.key, coalesce(r.value, 'null'), r.sensitive, r.source_nodes
  from fenced f, jsonb_to_recordset($10::jsonb) as r(key text, value jsonb, sensitive boolean, source_nodes text[])
  on conflict (partition_id, key) do update set value = excluded.value, sensitive = excluded.sensitive, source_nodes = excluded.source_nodes
)
select true from fenced`

// Commit implements state.Writer. Writes of one run that come together share a statement.
func (s *Store) Commit(ctx context.Context, partition string, fence model.Fence, batch state.Batch) error {
	return s.group.Commit(ctx, partition, fence, batch)
}

// commit writes the batch in one statement, or nothing.
func (s *Store) commit(ctx context.Context, partition string, fence model.Fence, batch state.Batch) error {
	return s.commitUnder(ctx, partition, fence, batch, nil)
}

// commitUnder is commit while the plan runs; nil asks for none.
func (s *Store) commitUnder(ctx context.Context, partition string, fence model.Fence, batch state.Batch, plan *runningPlan) error {
	id, err := parsePartition(partition)
	if err != nil {
		return err
	}
	what := "write partition " + partition
	if fence.Holder == "" {
		return fenced(what, partition, "the run holds no lock")
	}
	args, err := commitArguments(batch)
	if err != nil {
		return err
	}
	args = append([]any{id, fence.Epoch, fence.Holder, supportedVersion}, args...)
	args = append(args, plan.arguments()...)
	return s.doEither(ctx, what, func(ctx context.Context) error {
		var written bool
		err := s.pool.QueryRow(asWrite(ctx), commitStatement, args...).Scan(&written)
		if errors.Is(err, pgx.ErrNoRows) {
			return plan.refusal(s.refusal(ctx, what, id, fence))
		}
		return err
	}, func(ctx context.Context) error { return s.convert(ctx, what, partition, fence) })
}

// commitArguments are $5 to $10.
func commitArguments(b state.Batch) ([]any, error) {
	rows := make(map[string]record, len(b.PutRows))
	for _, r := range b.PutRows {
		rows[r.ID] = r.AppendJSON
	}
	pending := make(map[string]record, len(b.PutPending))
	for _, p := range b.PutPending {
		pending[p.NodeID] = valueRecord(map[string]any{"node_id": p.NodeID, "row": p.Row.Document(), "mode": p.Mode})
	}
	outputs := make(map[string]record, len(b.SetOutputs))
	for key, o := range b.SetOutputs {
		outputs[key] = valueRecord(map[string]any{"key": key, "value": o.Value, "sensitive": o.Sensitive, "source_nodes": sources(o)})
	}
	var args []any
	for _, part := range []struct {
		what    string
		removed []string
		put     map[string]record
	}{
		{"node", b.DeleteRows, rows},
		{"pending destroy of node", b.DeletePending, pending},
		{"output", b.RemoveOutputs, outputs},
	} {
		documents, err := recordset(part.what, part.put)
		if err != nil {
			return nil, err
		}
		args = append(args, without(part.removed, part.put), documents)
	}
	return args, nil
}

func sources(o state.Output) []any {
	out := make([]any, len(o.SourceNodes))
	for i, id := range o.SourceNodes {
		out[i] = id
	}
	return out
}

// record writes one record as JSON behind what there is.
type record func(dst []byte) ([]byte, error)

func valueRecord(v map[string]any) record {
	return func(dst []byte) ([]byte, error) { return model.AppendJSON(dst, v) }
}

// recordset encodes records, in the order of their keys, as one JSON array: writers of
// many rows then lock them in one order.
func recordset(what string, records map[string]record) (string, error) {
	const usual = 1 << 10 // bytes of a record
	list := append(make([]byte, 0, 2+usual*len(records)), '[')
	for i, key := range slices.Sorted(maps.Keys(records)) {
		if i > 0 {
			list = append(list, ',')
		}
		var err error
		if list, err = records[key](list); err != nil {
			return "", fmt.Errorf("encode the %ss of a write: %w", what, err)
		}
	}
	return string(append(list, ']')), nil
}

// without is the removed keys that are not put as well; ones that the database could
// not hold are not in it either way.
func without(removed []string, put map[string]record) []string {
	out := make([]string, 0, len(removed))
	for _, key := range removed {
		if _, both := put[key]; !both && state.CheckStorable(key) == nil {
			out = append(out, key)
		}
	}
	return out
}

// errFenceHolds is a refusal that was not for the fence.
var errFenceHolds = errors.New("the fence is the partition's")

// refusal says why the fence let nothing through.
func (s *Store) refusal(ctx context.Context, what string, id uuid.UUID, fence model.Fence) error {
	var epoch, version int64
	var holder string
	var deleted bool
	err := s.pool.QueryRow(asQuery(ctx), `select epoch, holder, deleted_at is not null, (select coalesce(max(version), 0) from schema_migrations)
		from partitions where id = $1`, id).Scan(&epoch, &holder, &deleted, &version)
	partition := id.String()
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return fenced(what, partition, "it does not exist")
	case err != nil:
		// The refusal itself is certain; only its reason is not.
		return fenced(what, partition, "the run's lock is not the current one")
	case version > supportedVersion:
		return supported(version)
	case deleted:
		return fenced(what, partition, "it was deleted")
	case epoch == fence.Epoch && holder == fence.Holder && holder != "":
		return &model.Error{Kind: model.FencedWriteError, Class: model.ClassUnknown, Cause: errFenceHolds,
			Message: what + ": partition " + partition + ": it was refused for a moment; nothing was written, plan again"}
	case epoch == fence.Epoch && holder == "":
		return fenced(what, partition, fmt.Sprintf("the lock of epoch %d was released", epoch))
	default:
		return fenced(what, partition, fmt.Sprintf("the run's epoch %d was superseded by epoch %d of %s", fence.Epoch, epoch, orNobody(holder)))
	}
}

func orNobody(holder string) string {
	if holder == "" {
		return "a run that has ended"
	}
	return "'" + clip(holder) + "'"
}
