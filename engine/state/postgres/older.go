package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/legacy"
)

var (
	// errOlderForm says that the schema is to be read as legacy, not as ours.
	errOlderForm = errors.New("the schema has the older form")
	// errConverted says that the schema has our form now, whoever converted it.
	errConverted = errors.New("the schema was converted")
)

func newForm(o Options) legacy.Form {
	return legacy.Form{
		Columns: `select attname::text from pg_attribute where attrelid = to_regclass('nodes') and attnum > 0 and not attisdropped`,
		Now:     func() string { return "cast(extract(epoch from clock_timestamp()) as double precision)" },
		Margin:  o.LockSkewMargin.Seconds(), Imported: o.Imported,
	}
}

// refuseOlder is errOlderForm where the schema has no version and the older tables.
func (s *Store) refuseOlder(ctx context.Context) error {
	return s.inTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		older, err := s.form.Present(ctx, conn{tx})
		if err == nil && older {
			err = errOlderForm
		}
		return err
	})
}

// readOlder runs body in one read transaction of a schema of the older form.
func (s *Store) readOlder(ctx context.Context, body func(c conn) error) error {
	return s.older(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, body)
}

// writeOlder runs body in one write transaction of such a schema. It may write the lock
// only.
func (s *Store) writeOlder(ctx context.Context, body func(c conn) error) error {
	return s.older(ctx, pgx.TxOptions{}, body)
}

func (s *Store) older(ctx context.Context, o pgx.TxOptions, body func(c conn) error) error {
	err := s.inTx(ctx, o, func(tx pgx.Tx) error {
		older, err := s.form.Present(ctx, conn{tx})
		if err == nil && !older {
			err = errConverted
		}
		if err != nil {
			return err
		}
		return body(conn{tx})
	})
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && (pg.Code == "42P01" || pg.Code == "42703") {
		return errConverted // while we looked
	}
	return err
}

// convert gives the schema our form, after a backup, for the run of this fence, which goes
// on under the same epoch (ST-23). It ends with errConverted.
func (s *Store) convert(ctx context.Context, what, partition string, fence model.Fence) error {
	if partition != state.CommandLinePartition || s.options.Backup == nil {
		return stateError(model.ClassUser, nil, what+": the schema holds a state in the form of an older release, and is only read here: a locked run of the command line converts it")
	}
	var kept *state.Snapshot
	if err := s.readOlder(ctx, func(c conn) (err error) {
		kept, err = s.stillHeld(ctx, c, what, partition, fence)
		return err
	}); err != nil {
		return err
	}
	if err := s.options.Backup(ctx, kept); err != nil {
		return stateError(model.ClassUser, err, what+": the schema has the form of an older release and was not converted, because it could not be backed up: "+err.Error())
	}
	err := s.writeOlder(ctx, func(c conn) error {
		// Whoever else has the tables open finishes first, and then finds ours.
		if _, err := c.Exec(ctx, "lock table nodes, meta, locks in access exclusive mode"); err != nil {
			return err
		}
		current, err := s.stillHeld(ctx, c, what, partition, fence)
		if err != nil {
			return err
		}
		if current.Serial != kept.Serial {
			return stateError(model.ClassTransient, nil, what+": the state changed while it was backed up; nothing was converted, try again")
		}
		return s.rebuild(ctx, c, partition, fence, current)
	})
	if err == nil {
		err = errConverted
	}
	return err
}

func (s *Store) stillHeld(ctx context.Context, c conn, what, partition string, fence model.Fence) (*state.Snapshot, error) {
	held, err := s.form.Holds(ctx, c, fence)
	if err != nil {
		return nil, err
	}
	if !held {
		return nil, fenced(what, partition, "the run's lock is not the current one")
	}
	return s.form.Load(ctx, c, partition)
}

// rebuild replaces the tables by ours with the same content and lock.
func (s *Store) rebuild(ctx context.Context, c conn, partition string, fence model.Fence, content *state.Snapshot) error {
	holds, err := s.form.Listed(ctx, c)
	if err != nil {
		return err
	}
	minted, err := s.form.Minted(ctx, c)
	if err != nil {
		return err
	}
	if err := s.form.Drop(ctx, c); err != nil {
		return err
	}
	if err := createTables(ctx, c.tx); err != nil {
		return err
	}
	if _, err := c.Exec(ctx, `insert into partitions (id, installation, namespace, name, epoch_minted, epoch, holder, lock_ends, serial)
		values ($1, $2, '', '', $3, $4, $5, clock_timestamp() + make_interval(secs => $6), $7)`, partition, s.options.Installation, max(minted, fence.Epoch), fence.Epoch, fence.Holder,
		holds[0].Remaining.Seconds(), content.Serial); err != nil {
		return err
	}
	args, err := commitArguments(state.Replacement(state.NewSnapshot(), content))
	if err != nil {
		return err
	}
	args = append([]any{partition, fence.Epoch, fence.Holder, supportedVersion}, args...)
	_, err = c.Exec(ctx, commitStatement, append(args, (*runningPlan)(nil).arguments()...)...)
	return err
}

// createTables runs every migration in the caller's transaction, and records them as the
// migrator does.
func createTables(ctx context.Context, tx pgx.Tx) error {
	files, err := fs.Glob(migrationFiles, "migrations/*.sql") // sorted
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, versionTable{}.CreateTable("schema_migrations")); err != nil {
		return err
	}
	for version := range len(files) + 1 { // the migrator records 0 when it begins
		if version > 0 {
			text, err := migrationFiles.ReadFile(files[version-1])
			if err != nil {
				return err
			}
			if err := tx.Conn().PgConn().Exec(ctx, string(text)).Close(); err != nil {
				return fmt.Errorf("%s: %w", files[version-1], err)
			}
		}
		if _, err := tx.Exec(ctx, "insert into schema_migrations (version) values ($1)", version); err != nil {
			return err
		}
	}
	return nil
}

// conn is a transaction as package legacy takes it.
type conn struct{ tx pgx.Tx }

func (c conn) Query(ctx context.Context, query string, each func(scan func(...any) error) error, args ...any) error {
	rows, err := c.tx.Query(asQuery(ctx), query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (c conn) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := c.tx.Exec(asWrite(ctx), query, args...)
	return tag.RowsAffected(), err
}
