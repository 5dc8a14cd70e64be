package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/atlantide-org/atlantide-operator/engine/state"
)

var _ state.Marks = (*Store)(nil)

// Mark implements state.Marks.
func (s *Store) Mark(ctx context.Context, partition string, serial int64, mark string) error {
	id, err := parsePartition(partition)
	if err != nil {
		return err
	}
	if err := checkText("the mark", mark); err != nil {
		return err
	}
	return s.do(ctx, "mark partition "+partition, func(ctx context.Context) error {
		tag, err := s.pool.Exec(asWrite(ctx), `update partitions set mark = $3, mark_serial = $2
			where id = $1 and serial = $2 and deleted_at is null and not exists (select from schema_migrations where version > $4)`, id, serial, mark, supportedVersion)
		if err != nil || tag.RowsAffected() > 0 {
			return err
		}
		return s.writable(ctx)
	})
}

// Marked implements state.Marks.
func (s *Store) Marked(ctx context.Context, partition, mark string) (serial int64, marked bool, err error) {
	id, err := parsePartition(partition)
	if err != nil {
		return 0, false, err
	}
	err = s.read(ctx, "look for the mark of partition "+partition, func(ctx context.Context) error {
		err := s.pool.QueryRow(asQuery(ctx), `select serial from partitions
			where id = $1 and mark = $2 and mark <> '' and mark_serial = serial and deleted_at is null`, id, mark).Scan(&serial)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		marked = err == nil
		return err
	})
	return serial, marked, err
}
