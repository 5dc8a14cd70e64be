// Package sqlite owns the local state store: one file, which several processes of one
// machine may use at the same time. Its tables are those of the shared store, its lock is
// a row in them.
//
// It must never know who uses the lock, the language, a provider or a file but its own.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/group"
	"github.com/atlantide-org/atlantide-operator/engine/state/legacy"
)

// Options of a Store.
type Options struct {
	// Path is the file. It is made, for its owner alone, by the first write; until then
	// the store reads as empty.
	Path string
	// Installation owns the partitions that are made; "" = state.CommandLineInstallation.
	Installation string
	// Timeout bounds one operation, the wait for other processes included; 0 = 40 s, which is
	// longer than that wait, so that it is the wait that is told of.
	Timeout time.Duration
	Now     func() time.Time // what locks end by; nil = time.Now

	// Backup keeps what a file of the older form holds, before the first locked write
	// converts it; an error leaves the file as it is. nil = such a file is only read.
	Backup func(ctx context.Context, s *state.Snapshot) error
	// Imported makes ours what release 0.3 recorded; see legacy.Form.
	Imported func(ctx context.Context, s *state.Snapshot) error
	// Observe is told of every transaction that was committed; may be nil.
	Observe func()
}

// Store implements state.Store and state.Locks. It is safe for concurrent use.
type Store struct {
	options Options
	form    legacy.Form
	group   *group.Writer

	mu   sync.Mutex
	db   *sql.DB     // nil until the file is there
	file os.FileInfo // of the file that db has open
}

var (
	_ state.Store = (*Store)(nil)
	_ state.Locks = (*Store)(nil)
)

// New is a store over the file. It touches nothing.
func New(o Options) *Store {
	if o.Installation == "" {
		o.Installation = state.CommandLineInstallation
	}
	if o.Timeout == 0 {
		o.Timeout = 40 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Observe == nil {
		o.Observe = func() {}
	}
	s := &Store{options: o}
	s.form = newForm(o)
	s.group = group.New(s.commit)
	return s
}

// Close ends the use of the file.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return nil
	}
	db := s.db
	s.db = nil
	return db.Close()
}

// ownerOnly is the mode of the file; SQLite gives it to those beside it.
const ownerOnly = 0o600

// open is the database; nil when the file is not there and is not to be made.
func (s *Store) open(create bool) (*sql.DB, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db != nil {
		return s.db, nil
	}
	info, err := os.Stat(s.options.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !create:
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		if err := makeFile(s.options.Path); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no file")
	}
	if s.file, err = os.Stat(s.options.Path); err != nil {
		return nil, err
	}
	s.db, err = sql.Open("sqlite", s.dsn())
	return s.db, err
}

// inPlace refuses to write a file that is not the one under its name any more: others take
// its lock in another file by now, and nobody would see what is written here.
func (s *Store) inPlace() error {
	s.mu.Lock()
	opened := s.file
	s.mu.Unlock()
	now, err := os.Stat(s.options.Path)
	if err == nil && os.SameFile(opened, now) {
		return nil
	}
	return stateError(model.ClassUser, nil, s.options.Path+" was replaced or removed while it was in use, and nothing more is written: bring it back from a backup, and look at what the last run did")
}

// makeFile makes an empty file, never where a link leads (RF-25). Somebody else may be
// faster.
func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, ownerOnly)
	if errors.Is(err, fs.ErrExist) {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		return errors.New("it is a link that leads nowhere; remove it, or bring back what it leads to")
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// dsn sets up every connection: readers beside one writer, whose commit is on the disk
// when it returns.
func (s *Store) dsn() string {
	path, err := filepath.Abs(s.options.Path)
	if err != nil {
		path = s.options.Path
	}
	settings := url.Values{"_txlock": {"immediate"}, "_pragma": {
		"busy_timeout(30000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)"}}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: settings.Encode()}).String()
}

// errOlderForm says that the file is to be read as legacy, not as ours.
var errOlderForm = errors.New("the file has the older form")

// read runs body in one read transaction of an up-to-date file. A file that is not there,
// or that nobody wrote, calls nothing; one of the older form gives errOlderForm.
func (s *Store) read(ctx context.Context, body func(ctx context.Context, tx *sql.Tx) error) error {
	db, err := s.open(false)
	if err != nil || db == nil {
		return err
	}
	return s.inTx(ctx, db, &sql.TxOptions{ReadOnly: true}, func(tx *sql.Tx) error {
		version, err := schemaVersion(ctx, tx)
		if err != nil {
			return err
		}
		if version == 0 {
			return s.refuseOlder(ctx, tx)
		}
		if err := supported(version); err != nil {
			return err
		}
		return body(ctx, tx)
	})
}

// write runs body in the one write transaction that the file has at a time, the tables
// being up to date.
func (s *Store) write(ctx context.Context, body func(ctx context.Context, tx *sql.Tx) error) error {
	db, err := s.open(true)
	if err != nil {
		return err
	}
	if err := s.inPlace(); err != nil {
		return err
	}
	err = s.inTx(ctx, db, nil, func(tx *sql.Tx) error {
		version, err := schemaVersion(ctx, tx)
		if err != nil {
			return err
		}
		if version == 0 {
			if err := s.refuseOlder(ctx, tx); err != nil {
				return err
			}
		}
		if err := migrate(ctx, tx, version, s.options.Now()); err != nil {
			return err
		}
		return body(ctx, tx)
	})
	if err == nil {
		s.options.Observe()
	}
	return err
}

// writeExisting is write, unless there is no file to write.
func (s *Store) writeExisting(ctx context.Context, body func(ctx context.Context, tx *sql.Tx) error) error {
	if db, err := s.open(false); err != nil || db == nil {
		return err
	}
	return s.write(ctx, body)
}

func (s *Store) refuseOlder(ctx context.Context, tx *sql.Tx) error {
	older, err := s.form.Present(ctx, conn{tx})
	if err == nil && older {
		err = errOlderForm
	}
	return err
}

func (s *Store) inTx(ctx context.Context, db *sql.DB, o *sql.TxOptions, body func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, o)
	if err != nil {
		return err
	}
	if err := body(tx); err != nil {
		_ = tx.Rollback() // the first error is the one that says what happened
		return err
	}
	return tx.Commit()
}

// do runs one operation: ours, or older where the file has the older form.
func (s *Store) do(ctx context.Context, what string, ours, older func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	err := patiently(ctx, func(ctx context.Context) error {
		err := ours(ctx)
		if errors.Is(err, errOlderForm) {
			if err = older(ctx); errors.Is(err, errConverted) {
				err = ours(ctx)
			}
		}
		return err
	})
	return failure(what+" in "+s.options.Path, err)
}

// patiently repeats what another process was in the way of. SQLite waits for others itself,
// but not while several switch a new file to its journal. Nothing was done then.
func patiently(ctx context.Context, operation func(context.Context) error) error {
	const pause = 20 * time.Millisecond
	for {
		err := operation(ctx)
		if !isBusy(err) {
			return err
		}
		again := time.NewTimer(pause)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return err
		}
	}
}

// conn is a transaction as package legacy takes it.
type conn struct{ tx *sql.Tx }

func (c conn) Query(ctx context.Context, query string, each func(scan func(...any) error) error, args ...any) error {
	rows, err := c.tx.QueryContext(ctx, query, args...)
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
	result, err := c.tx.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func stateError(class model.Class, cause error, message string) error {
	return &model.Error{Kind: model.StateError, Class: class, Message: message, Cause: cause}
}
