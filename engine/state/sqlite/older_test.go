package sqlite

import (
	"context"
	"database/sql"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/statetest"
)

// olderSubject is a file that an older release wrote.
type olderSubject struct{ *Store }

func (s olderSubject) Exec(ctx context.Context, query string) error {
	db, err := s.open(true)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, query)
	return err
}

func (s olderSubject) Older(ctx context.Context) (older bool, err error) {
	db, err := s.open(true)
	if err != nil {
		return false, err
	}
	err = s.inTx(ctx, db, &sql.TxOptions{ReadOnly: true}, func(tx *sql.Tx) error {
		older, err = s.form.Present(ctx, conn{tx})
		return err
	})
	return older, err
}

func (s olderSubject) Locked(ctx context.Context, owner string) (n int, err error) {
	db, err := s.open(true)
	if err != nil {
		return 0, err
	}
	err = db.QueryRowContext(ctx, "select count(*) from locks where owner = $1", owner).Scan(&n)
	return n, err
}

func newOlder(t *testing.T, first bool, change func(*Options)) olderSubject {
	s := olderSubject{open(t, "", change)}
	for _, statement := range statetest.OlderForm("text", "integer", first) {
		if err := s.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// ST-23.
func TestOlderForm(t *testing.T) {
	statetest.RunOlder(t, func(t *testing.T, first bool, backups *statetest.Backups) statetest.OlderSubject {
		return newOlder(t, first, func(o *Options) { o.Backup, o.Imported = backups.Keep, backups.Import })
	})
}

// A file of the older form is never converted without a backup.
func TestOlderFormWithoutABackup(t *testing.T) {
	s := newOlder(t, false, func(*Options) {})
	fence := take(t, s.Store, "run")
	if err := s.Commit(t.Context(), partition, fence, state.Batch{}); !model.IsKind(err, model.StateError) || model.ClassOf(err) != model.ClassUser {
		t.Errorf("got %v", err)
	}
	if older, err := s.Older(t.Context()); err != nil || !older {
		t.Errorf("it was converted, %v", err)
	}
}
