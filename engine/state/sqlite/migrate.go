package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// supportedVersion is the schema that this release writes: its last migration.
const supportedVersion = 1

// supported refuses a schema that a newer release made (ST-16).
func supported(version int64) error {
	switch {
	case version < 0:
		return stateError(model.ClassUser, nil, fmt.Sprintf("the state file has schema version %d, which no release writes: restore it from a backup", version))
	case version <= supportedVersion:
		return nil
	}
	return stateError(model.ClassUser, state.ErrNewerSchema, fmt.Sprintf(
		"the state file has schema version %d and this release knows up to %d: use the release that migrated it", version, supportedVersion))
}

// schemaVersion is 0 in a file that no release with versions has written.
func schemaVersion(ctx context.Context, tx *sql.Tx) (version int64, err error) {
	var present bool
	if err := tx.QueryRowContext(ctx, "select exists (select 1 from sqlite_master where type = 'table' and name = 'schema_migrations')").Scan(&present); err != nil || !present {
		return 0, err
	}
	err = tx.QueryRowContext(ctx, "select coalesce(max(version), 0) from schema_migrations").Scan(&version)
	return version, err
}

// migrate brings the tables forward, all steps in the transaction of the write that
// needs them.
func migrate(ctx context.Context, tx *sql.Tx, from int64, now time.Time) error {
	if err := supported(from); err != nil || from == supportedVersion {
		return err
	}
	if _, err := tx.ExecContext(ctx, "create table if not exists schema_migrations (version integer not null primary key, applied_at text not null)"); err != nil {
		return err
	}
	files, err := fs.Glob(migrationFiles, "migrations/*.sql") // sorted
	if err != nil {
		return err
	}
	for i, file := range files[from:] {
		text, err := migrationFiles.ReadFile(file)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, string(text)); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if _, err := tx.ExecContext(ctx, "insert into schema_migrations (version, applied_at) values ($1, $2)", from+int64(i)+1, timeText(now)); err != nil {
			return err
		}
	}
	return nil
}

func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
