package postgres

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/database/dialect"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// supportedVersion is the schema that this release writes: its last migration.
const supportedVersion = 5

// migrationTimeout bounds all migrations of one start, the wait for another process
// that is at it included.
const migrationTimeout = 10 * time.Minute

// supported refuses a schema that a newer release made (ST-16).
func supported(version int64) error {
	if version <= supportedVersion {
		return nil
	}
	return stateError(model.ClassTransient, state.ErrNewerSchema, fmt.Sprintf(
		"the state store has schema version %d and this release writes up to %d: run the release that migrated it", version, supportedVersion))
}

// ensureSchema brings the tables up to date, once per process, and again when they are
// gone. It costs nothing after that: a schema that became newer meanwhile is refused by
// the writes.
func (s *Store) ensureSchema(ctx context.Context) error {
	if s.migrated.Load() {
		return nil
	}
	select {
	case s.migrating <- struct{}{}:
		defer func() { <-s.migrating }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.migrated.Load() {
		return nil
	}
	version, err := s.schemaVersion(ctx)
	if err != nil {
		return err
	}
	if err := supported(version); err != nil {
		return err
	}
	if version == 0 {
		if err := s.refuseOlder(ctx); err != nil {
			return err
		}
	}
	if version < supportedVersion {
		// Not bound to the operation that happened to come first.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), migrationTimeout)
		defer cancel()
		if err := s.migrateTo(ctx, supportedVersion); err != nil {
			return err
		}
	}
	s.migrated.Store(true)
	return nil
}

// schemaVersion is 0 before the first migration. It needs no right to create tables.
func (s *Store) schemaVersion(ctx context.Context) (version int64, err error) {
	var present bool
	if err := s.pool.QueryRow(ctx, "select to_regclass($1) is not null", s.qualified("schema_migrations")).Scan(&present); err != nil || !present {
		return 0, err
	}
	err = s.pool.QueryRow(ctx, "select coalesce(max(version), 0) from schema_migrations").Scan(&version)
	return version, err
}

// schemaIdentifier is the schema's name as SQL takes it.
func (s *Store) schemaIdentifier() string { return pgx.Identifier{s.options.Schema}.Sanitize() }

func (s *Store) qualified(table string) string {
	return pgx.Identifier{s.options.Schema, table}.Sanitize()
}

// migrateTo applies what is missing, each migration in a transaction of its own, all
// of them under one advisory lock of a transaction that stays open meanwhile. Whoever
// waited for the lock finds nothing left to do, or a newer schema.
func (s *Store) migrateTo(ctx context.Context, target int64) (err error) {
	config := s.pool.Config().ConnConfig.Copy()
	config.Tracer = nil
	// Without the limits of a session: the lock's transaction is idle, and ctx bounds
	// the wait.
	db := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(session(s.options.Schema, nil)))
	defer db.Close()

	lock, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Rollback() }() // it holds nothing but the lock
	if _, err := lock.ExecContext(ctx, "select pg_advisory_xact_lock(hashtextextended($1, 0))", "atlantide schema "+s.options.Schema); err != nil {
		return err
	}
	if err := s.ensureNamespace(ctx, db); err != nil {
		return err
	}
	version, err := s.schemaVersion(ctx)
	if err != nil {
		return err
	}
	if err := supported(version); err != nil || version >= target {
		return err
	}
	return applyMigrations(ctx, db, target)
}

// ensureNamespace makes the schema, asking first: creating one needs a right that
// using one does not.
func (s *Store) ensureNamespace(ctx context.Context, db *sql.DB) error {
	schema := s.schemaIdentifier()
	var present bool
	if err := db.QueryRowContext(ctx, "select to_regnamespace($1) is not null", schema).Scan(&present); err != nil || present {
		return err
	}
	_, err := db.ExecContext(ctx, "create schema "+schema)
	return err
}

// applyMigrations runs the migrator. The caller holds the lock: the migrator's own
// covers the migrations but not its version table.
func applyMigrations(ctx context.Context, db *sql.DB, target int64) error {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return err
	}
	versions, err := database.NewStoreFromQuerier("schema_migrations", versionTable{})
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(database.DialectCustom, db, files, goose.WithStore(versions),
		goose.WithLogger(goose.NopLogger()), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	_, err = provider.UpTo(ctx, target)
	return err
}

// versionTable is the record of migrations in the form of ST-16. A version that is
// there was applied.
type versionTable struct{}

var _ dialect.QuerierExtender = versionTable{}

func (versionTable) CreateTable(table string) string {
	return "create table " + table + " (version integer primary key, applied_at timestamptz not null default now())"
}

func (versionTable) InsertVersion(table string) string {
	return "insert into " + table + " (version) select $1::integer where $2::boolean"
}

func (versionTable) DeleteVersion(table string) string {
	return "delete from " + table + " where version = $1"
}

func (versionTable) GetMigrationByVersion(table string) string {
	return "select applied_at, true from " + table + " where version = $1"
}

func (versionTable) ListMigrations(table string) string {
	return "select version, true from " + table + " order by version desc"
}

func (versionTable) GetLatestVersion(table string) string {
	return "select max(version) from " + table
}

func (versionTable) TableExists(table string) string {
	return "select to_regclass('" + table + "') is not null"
}
