package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Commit implements state.Writer. Writes of one run that come together share a
// transaction and move the serial once.
func (s *Store) Commit(ctx context.Context, partition string, fence model.Fence, batch state.Batch) error {
	return s.group.Commit(ctx, partition, fence, batch)
}

// commit writes the batch in one transaction, whose first statement is the fence (LS-13).
func (s *Store) commit(ctx context.Context, partition string, fence model.Fence, batch state.Batch) error {
	write := func(ctx context.Context) error {
		return s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
			done, err := changed(tx.ExecContext(ctx, "update partitions set serial = serial + 1 where id = $1 and epoch = $2 and holder = $3 and holder <> '' and deleted_at is null",
				partition, fence.Epoch, fence.Holder))
			if err != nil {
				return err
			}
			if !done {
				return s.refusal(ctx, tx, partition, fence)
			}
			return s.put(ctx, tx, partition, fence.Epoch, batch)
		})
	}
	return s.do(ctx, "write partition "+partition, write, func(ctx context.Context) error { return s.convert(ctx, partition, fence) })
}

// CheckFence implements state.Writer.
func (s *Store) CheckFence(ctx context.Context, partition string, fence model.Fence) error {
	err := fenced(partition, "it does not exist")
	check := func(ctx context.Context) error {
		return s.read(ctx, func(ctx context.Context, tx *sql.Tx) error {
			err = s.refusal(ctx, tx, partition, fence)
			return nil
		})
	}
	failed := s.do(ctx, "check the lock of partition "+partition, check, func(ctx context.Context) error {
		return s.readOlder(ctx, func(ctx context.Context, c conn) error {
			held, failed := s.form.Holds(ctx, c, fence)
			if err = nil; !held {
				err = fenced(partition, "the run's lock is not the current one")
			}
			return failed
		})
	})
	if failed != nil {
		return failed
	}
	return err
}

// refusal is nil while the fence is the partition's, else it says why it is not.
func (s *Store) refusal(ctx context.Context, tx *sql.Tx, partition string, fence model.Fence) error {
	var current model.Fence
	err := tx.QueryRowContext(ctx, "select epoch, holder from partitions where id = $1 and deleted_at is null", partition).Scan(&current.Epoch, &current.Holder)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fenced(partition, "it does not exist")
	case err != nil:
		return err
	case current == fence && fence.Holder != "":
		return nil
	default:
		return superseded(partition, fence, current)
	}
}

func changed(result sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// put does what the batch says. Keys that are both removed and put are put.
func (s *Store) put(ctx context.Context, tx *sql.Tx, partition string, epoch int64, b state.Batch) error {
	each := statements{ctx: ctx, tx: tx}
	for _, id := range b.DeleteRows {
		each.exec("delete from nodes where partition_id = $1 and id = $2", partition, id)
	}
	for _, r := range b.PutRows {
		each.exec(putRow, s.rowValues(&each, partition, epoch, r)...)
	}
	for _, id := range b.DeletePending {
		each.exec("delete from pending_destroys where partition_id = $1 and node_id = $2", partition, id)
	}
	for _, p := range b.PutPending {
		each.exec("insert or replace into pending_destroys (partition_id, node_id, row, mode) values ($1, $2, $3, $4)",
			partition, p.NodeID, each.json(p.Row.Document()), p.Mode)
	}
	for _, key := range b.RemoveOutputs {
		each.exec("delete from outputs where partition_id = $1 and key = $2", partition, key)
	}
	for _, key := range slices.Sorted(maps.Keys(b.SetOutputs)) {
		o := b.SetOutputs[key]
		each.exec("insert or replace into outputs (partition_id, key, value, sensitive, source_nodes) values ($1, $2, $3, $4, $5)",
			partition, key, each.json(o.Value), o.Sensitive, each.list(o.SourceNodes))
	}
	return each.close()
}

const putRow = `insert or replace into nodes (partition_id, id, type, kind, provider, provider_version, input_hash, outputs, properties,
	dependencies, depends_on, prevent_destroy, create_before_destroy, status, secret_digests, ref_digests, refreshed_outputs, row_uid,
	attempt, updated_at, epoch) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`

func (s *Store) rowValues(each *statements, partition string, epoch int64, r *state.Row) []any {
	doc := r.Document()
	at := r.UpdatedAt
	if at.IsZero() {
		at = s.options.Now()
	}
	// To the microsecond, as the shared store keeps it.
	at = at.Round(time.Microsecond)
	return []any{partition, r.ID, r.Type, r.Kind, r.Provider, r.ProviderVersion, r.InputHash, each.json(doc["outputs"]), each.json(doc["properties"]),
		each.json(doc["dependencies"]), each.json(doc["depends_on"]), r.PreventDestroy, r.CreateBeforeDestroy, r.Status, each.json(doc["secret_digests"]),
		each.json(doc["ref_digests"]), each.json(doc["refreshed_outputs"]), r.RowUID, r.Attempt, timeText(at), epoch}
}

// statements prepares each text once and keeps the first error.
type statements struct {
	ctx      context.Context
	tx       *sql.Tx
	prepared map[string]*sql.Stmt
	err      error
}

func (p *statements) exec(query string, args ...any) {
	if p.err != nil {
		return
	}
	stmt := p.prepared[query]
	if stmt == nil {
		if stmt, p.err = p.tx.PrepareContext(p.ctx, query); p.err != nil {
			return
		}
		if p.prepared == nil {
			p.prepared = map[string]*sql.Stmt{}
		}
		p.prepared[query] = stmt
	}
	_, p.err = stmt.ExecContext(p.ctx, args...)
}

func (p *statements) json(v any) string {
	data, err := model.EncodeJSON(v)
	if p.err == nil {
		p.err = err
	}
	return string(data)
}

func (p *statements) list(texts []string) string {
	v, err := model.NormalizeJSON(texts)
	if p.err == nil {
		p.err = err
	}
	return p.json(v)
}

func (p *statements) close() error {
	for _, stmt := range p.prepared {
		if err := stmt.Close(); p.err == nil {
			p.err = err
		}
	}
	return p.err
}
