package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Serial is one indexed query; 0 for a partition that was never written.
func (s *Store) Serial(ctx context.Context, partition string) (serial int64, err error) {
	id, err := parsePartition(partition)
	if err != nil {
		return 0, err
	}
	err = s.readEither(ctx, "read the serial of partition "+partition, again(func(ctx context.Context) error {
		err := s.pool.QueryRow(asQuery(ctx), "select serial from partitions where id = $1", id).Scan(&serial)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	}), func(ctx context.Context) error {
		return s.readOlder(ctx, func(c conn) (err error) {
			if partition == state.CommandLinePartition {
				serial, err = s.form.Serial(ctx, c)
			}
			return err
		})
	})
	return serial, err
}

// Load reads the partition in one read-only snapshot of the database, so that serial,
// rows, pending destroys and outputs are of one moment.
func (s *Store) Load(ctx context.Context, partition string) (snapshot *state.Snapshot, err error) {
	id, err := parsePartition(partition)
	if err != nil {
		return nil, err
	}
	snapshot = state.NewSnapshot()
	err = s.readEither(ctx, "load partition "+partition, again(func(ctx context.Context) error {
		snapshot = state.NewSnapshot()
		batch := &pgx.Batch{}
		batch.Queue("select serial from partitions where id = $1", id).Query(func(rows pgx.Rows) error { return loadSerial(rows, snapshot) })
		batch.Queue(rowsQuery, id).Query(func(rows pgx.Rows) error { return loadRows(rows, snapshot) })
		batch.Queue("select node_id, row::text, mode from pending_destroys where partition_id = $1", id).Query(func(rows pgx.Rows) error { return loadPending(rows, snapshot) })
		batch.Queue("select key, value::text, sensitive, source_nodes from outputs where partition_id = $1", id).Query(func(rows pgx.Rows) error { return loadOutputs(rows, snapshot) })
		return s.inTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
			return tx.SendBatch(asQuery(ctx), batch).Close()
		})
	}), func(ctx context.Context) error {
		return s.readOlder(ctx, func(c conn) (err error) {
			if snapshot = state.NewSnapshot(); partition == state.CommandLinePartition {
				snapshot, err = s.form.Load(ctx, c, partition)
			}
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return snapshot, nil
}

func loadSerial(rows pgx.Rows, into *state.Snapshot) error {
	for rows.Next() {
		if err := rows.Scan(&into.Serial); err != nil {
			return err
		}
	}
	return rows.Err()
}

// rowsQuery asks for the columns as they are: to make JSON of whole rows, and to read it,
// was most of what a load took.
const rowsQuery = `select id, type, kind, provider, provider_version, input_hash, status, row_uid, attempt, prevent_destroy, create_before_destroy,
	updated_at, epoch, outputs::text, properties::text, dependencies::text, depends_on::text, secret_digests::text, ref_digests::text, refreshed_outputs::text
	from nodes where partition_id = $1`

func loadRows(rows pgx.Rows, into *state.Snapshot) error {
	var r state.Row
	var c state.Columns
	shared := words{}
	fields := []any{
		text{&r.ID, nil}, text{&r.Type, shared}, text{&r.Kind, shared}, text{&r.Provider, shared}, text{&r.ProviderVersion, shared}, text{&r.InputHash, nil},
		text{&r.Status, shared}, text{&r.RowUID, nil}, text{&r.Attempt, nil}, &r.PreventDestroy, &r.CreateBeforeDestroy, &r.UpdatedAt, &r.Epoch,
	}
	for _, column := range []*[]byte{&c.Outputs, &c.Properties, &c.Dependencies, &c.DependsOn, &c.SecretDigests, &c.RefDigests, &c.RefreshedOutputs} {
		fields = append(fields, document{column})
	}
	for rows.Next() {
		if err := rows.Scan(fields...); err != nil {
			return err
		}
		row := r
		row.UpdatedAt = row.UpdatedAt.UTC()
		if err := c.Decode(&row); err != nil {
			return err
		}
		into.Rows[row.ID] = &row
	}
	return rows.Err()
}

// text takes a column over; of what many rows say alike one copy is kept.
type text struct {
	into   *string
	shared words // nil = each row has its own
}

// ScanBytes implements pgtype.BytesScanner.
func (t text) ScanBytes(v []byte) error {
	if t.shared == nil {
		*t.into = string(v)
		return nil
	}
	s, ok := t.shared[string(v)]
	if !ok {
		s = string(v)
		t.shared[s] = s
	}
	*t.into = s
	return nil
}

// words are texts by themselves.
type words map[string]string

// document lends a column until the next row is read.
type document struct{ into *[]byte }

// ScanBytes implements pgtype.BytesScanner.
func (d document) ScanBytes(v []byte) error {
	*d.into = v
	return nil
}

func loadPending(rows pgx.Rows, into *state.Snapshot) error {
	for rows.Next() {
		var doc []byte
		p := &state.PendingDestroy{}
		if err := rows.Scan(&p.NodeID, &doc, &p.Mode); err != nil {
			return err
		}
		row, err := decodeRow(doc)
		if err != nil {
			return err
		}
		p.Row = row
		into.Pending[p.NodeID] = p
	}
	return rows.Err()
}

func loadOutputs(rows pgx.Rows, into *state.Snapshot) error {
	for rows.Next() {
		var key string
		var value []byte
		var o state.Output
		if err := rows.Scan(&key, &value, &o.Sensitive, &o.SourceNodes); err != nil {
			return err
		}
		decoded, err := model.DecodeJSON(value)
		if err != nil {
			return unreadable("output '"+clip(key)+"'", err)
		}
		if len(o.SourceNodes) == 0 {
			o.SourceNodes = nil
		}
		o.Value = decoded
		into.Outputs[key] = o
	}
	return rows.Err()
}

func decodeRow(doc []byte) (*state.Row, error) {
	value, err := model.DecodeJSON(doc)
	if err != nil {
		return nil, unreadable("a node", err)
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, unreadable("a node", errors.New("it is not an object"))
	}
	return state.RowFromDocument(fields)
}

func unreadable(what string, err error) error {
	return stateError(model.ClassUnknown, nil, "the record of "+what+" cannot be read ("+err.Error()+"): restore it from a backup")
}
