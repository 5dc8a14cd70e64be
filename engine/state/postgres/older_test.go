package postgres

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/statetest"
	"github.com/atlantide-org/atlantide-operator/hack/devenv"
)

// olderSubject is a schema that an older release wrote.
type olderSubject struct{ *Store }

func (s olderSubject) Exec(ctx context.Context, query string) error {
	_, err := s.pool.Exec(ctx, query)
	return err
}

func (s olderSubject) Older(ctx context.Context) (older bool, err error) {
	err = s.inTx(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
		older, err = s.form.Present(ctx, conn{tx})
		return err
	})
	return older, err
}

func (s olderSubject) Locked(ctx context.Context, owner string) (n int, err error) {
	err = s.pool.QueryRow(ctx, "select count(*) from locks where owner = $1", owner).Scan(&n)
	return n, err
}

// ST-23.
func TestOlderForm(t *testing.T) {
	dsn := devenv.Database(t)
	statetest.RunOlder(t, func(t *testing.T, first bool, backups *statetest.Backups) statetest.OlderSubject {
		schema := "older_" + strings.ReplaceAll(uuid.NewString(), "-", "_")
		s := olderSubject{open(t, dsn, func(o *Options) {
			o.Schema, o.Installation, o.Backup, o.Imported, o.LockSkewMargin = schema, state.CommandLineInstallation, backups.Keep, backups.Import, DefaultLockSkewMargin
		})}
		for _, statement := range append([]string{"create schema " + schema}, statetest.OlderForm("jsonb", "boolean", first)...) {
			if err := s.Exec(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		return s
	})
}

// An operator that is pointed at such a schema changes nothing and says what to do.
func TestOlderFormIsNoOperators(t *testing.T) {
	s := olderSubject{open(t, devenv.Database(t), func(o *Options) { o.Schema = "public" })}
	for _, statement := range statetest.OlderForm("jsonb", "boolean", false) {
		if err := s.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	_, mintErr := s.Mint(t.Context(), uuid.NewString())
	for reason, err := range map[string]error{"a check": s.Check(t.Context()), "a Stack": s.EnsurePartition(t.Context(), uuid.NewString(), "n", "s"), "an epoch": mintErr} {
		if !model.IsKind(err, model.StateError) || model.ClassOf(err) != model.ClassUser || !strings.Contains(err.Error(), "older release") {
			t.Errorf("%s: %v", reason, err)
		}
	}
	if older, err := s.Older(t.Context()); err != nil || !older {
		t.Errorf("it was converted, %v", err)
	}
	// Its checks are those of a schema that is fine for who converts it.
	for _, c := range s.Checks(t.Context()) {
		if c.Status == state.CheckFail {
			t.Errorf("%+v", c)
		}
	}
}
