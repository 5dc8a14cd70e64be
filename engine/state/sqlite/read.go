package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Serial implements state.Reader; it is one indexed query.
func (s *Store) Serial(ctx context.Context, partition string) (serial int64, err error) {
	err = s.do(ctx, "read the serial of partition "+partition, func(ctx context.Context) error {
		return s.read(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
			serial, err = readSerial(ctx, tx, partition)
			return err
		})
	}, func(ctx context.Context) error {
		return s.readOlder(ctx, func(ctx context.Context, c conn) (err error) {
			if partition == state.CommandLinePartition {
				serial, err = s.form.Serial(ctx, c)
			}
			return err
		})
	})
	return serial, err
}

func readSerial(ctx context.Context, tx *sql.Tx, partition string) (serial int64, err error) {
	err = tx.QueryRowContext(ctx, "select serial from partitions where id = $1", partition).Scan(&serial)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return serial, err
}

// Load implements state.Reader: one read transaction sees one moment.
func (s *Store) Load(ctx context.Context, partition string) (*state.Snapshot, error) {
	snapshot := state.NewSnapshot()
	err := s.do(ctx, "load partition "+partition, func(ctx context.Context) error {
		return s.read(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
			if snapshot.Serial, err = readSerial(ctx, tx, partition); err != nil {
				return err
			}
			return errors.Join(loadRows(ctx, tx, partition, snapshot), loadPending(ctx, tx, partition, snapshot), loadOutputs(ctx, tx, partition, snapshot))
		})
	}, func(ctx context.Context) error {
		return s.readOlder(ctx, func(ctx context.Context, c conn) (err error) {
			if partition == state.CommandLinePartition {
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

func loadRows(ctx context.Context, tx *sql.Tx, partition string, into *state.Snapshot) error {
	return conn{tx}.Query(ctx, `select id, type, kind, provider, provider_version, input_hash, prevent_destroy, create_before_destroy, status, row_uid, attempt, updated_at, epoch,
		outputs, properties, dependencies, depends_on, secret_digests, ref_digests, refreshed_outputs from nodes where partition_id = $1`, func(scan func(...any) error) error {
		r := &state.Row{}
		var c state.Columns
		var at string
		fields := []any{&r.ID, &r.Type, &r.Kind, &r.Provider, &r.ProviderVersion, &r.InputHash, &r.PreventDestroy, &r.CreateBeforeDestroy, &r.Status, &r.RowUID, &r.Attempt, &at, &r.Epoch}
		for _, column := range []*[]byte{&c.Outputs, &c.Properties, &c.Dependencies, &c.DependsOn, &c.SecretDigests, &c.RefDigests, &c.RefreshedOutputs} {
			fields = append(fields, (*sql.RawBytes)(column))
		}
		if err := scan(fields...); err != nil {
			return err
		}
		if at != "" {
			written, err := time.Parse(time.RFC3339Nano, at)
			if err != nil {
				return unreadable(fmt.Sprintf("node %+.80q", r.ID), errors.New("its 'updated_at' is no time"))
			}
			r.UpdatedAt = written.UTC()
		}
		into.Rows[r.ID] = r
		return c.Decode(r)
	}, partition)
}

func loadPending(ctx context.Context, tx *sql.Tx, partition string, into *state.Snapshot) error {
	return conn{tx}.Query(ctx, "select node_id, row, mode from pending_destroys where partition_id = $1", func(scan func(...any) error) error {
		p := &state.PendingDestroy{}
		var text string
		if err := scan(&p.NodeID, &text, &p.Mode); err != nil {
			return err
		}
		value, err := model.DecodeJSON([]byte(text))
		doc, ok := value.(map[string]any)
		if err == nil && !ok {
			err = errors.New("it is no object")
		}
		if err != nil {
			return unreadable(fmt.Sprintf("the old half of node %+.80q", p.NodeID), err)
		}
		p.Row, err = state.RowFromDocument(doc)
		into.Pending[p.NodeID] = p
		return err
	}, partition)
}

func loadOutputs(ctx context.Context, tx *sql.Tx, partition string, into *state.Snapshot) error {
	return conn{tx}.Query(ctx, "select key, value, sensitive, source_nodes from outputs where partition_id = $1", func(scan func(...any) error) error {
		var key, value, sources string
		var o state.Output
		if err := scan(&key, &value, &o.Sensitive, &sources); err != nil {
			return err
		}
		var err error
		if o.Value, err = model.DecodeJSON([]byte(value)); err != nil {
			return unreadable(fmt.Sprintf("output %+.80q", key), err)
		}
		list, err := model.DecodeJSON([]byte(sources))
		if err != nil {
			return unreadable(fmt.Sprintf("output %+.80q", key), err)
		}
		items, _ := list.([]any)
		for _, item := range items {
			id, _ := item.(string)
			o.SourceNodes = append(o.SourceNodes, id)
		}
		into.Outputs[key] = o
		return nil
	}, partition)
}

func unreadable(what string, err error) error {
	return stateError(model.ClassUnknown, nil, "the record of "+what+" cannot be read ("+err.Error()+"): restore it from a backup")
}
