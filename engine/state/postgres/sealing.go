package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// SealingKey is the id of the key that the installation seals with, as it was recorded;
// "" before the first.
func (s *Store) SealingKey(ctx context.Context) (id string, err error) {
	err = s.read(ctx, "read which sealing key is in use", func(ctx context.Context) error {
		err := s.pool.QueryRow(asQuery(ctx), "select key_id from sealing_keys where installation = $1", s.options.Installation).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return id, err
}

// RecordSealingKey records the id of the key that the installation seals with from now on,
// if what is recorded is still was; "" is none. It reports whether it did.
func (s *Store) RecordSealingKey(ctx context.Context, was, id string) (recorded bool, err error) {
	err = s.do(ctx, "record which sealing key is in use", func(ctx context.Context) error {
		statement := `update sealing_keys set key_id = $3, recorded_at = now() where installation = $1 and key_id = $2
			and not exists (select from schema_migrations where version > $4)`
		if was == "" {
			statement = `insert into sealing_keys (installation, key_id) select $1, $3 where $2 = ''
			and not exists (select from schema_migrations where version > $4) on conflict (installation) do nothing`
		}
		tag, err := s.pool.Exec(asWrite(ctx), statement, s.options.Installation, was, id, supportedVersion)
		if err != nil {
			return err
		}
		if recorded = tag.RowsAffected() == 1; !recorded {
			return s.writable(ctx)
		}
		return nil
	})
	return recorded, err
}

// HoldsKeyed reports whether anything that the installation recorded needs its sealing key:
// a sealed value, or the digest of a secret. It reads everything.
func (s *Store) HoldsKeyed(ctx context.Context) (holds bool, err error) {
	err = s.read(ctx, "look for what needs the sealing key", func(ctx context.Context) error {
		return s.pool.QueryRow(asQuery(ctx), `
			with mine as (select id from partitions where installation = $1)
			select exists (select from nodes n join mine on mine.id = n.partition_id
			    where n.outputs::text like '%"$sealed": "%' or n.refreshed_outputs::text like '%"$sealed": "%' or n.ref_digests::text like '%"salted:%'
			      or exists (select from jsonb_object_keys(case jsonb_typeof(n.secret_digests) when 'object' then n.secret_digests else '{}' end) key where key not like '$stack_output:%'))
			  or exists (select from outputs o join mine on mine.id = o.partition_id where o.value::text like '%"$sealed": "%')
			  or exists (select from pending_destroys p join mine on mine.id = p.partition_id where p.row::text like '%"$sealed": "%')`,
			s.options.Installation).Scan(&holds)
	})
	return holds, err
}
