package sqlite

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/lease/leasetest"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/statetest"
)

const partition = state.CommandLinePartition

// childPath makes the test binary a writer that is killed; see TestKilled.
const childPath = "ATLANTIDE_TEST_SQLITE_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		os.Exit(writeForever(path))
	}
	os.Exit(m.Run())
}

// open is a store on a file of its own, or on path.
func open(t testing.TB, path string, change ...func(*Options)) *Store {
	t.Helper()
	o := Options{Path: path}
	if path == "" {
		o.Path = filepath.Join(t.TempDir(), "it's 100% a #state?.db")
	}
	for _, c := range change {
		c(&o)
	}
	s := New(o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func take(t testing.TB, s *Store, holder string) model.Fence {
	t.Helper()
	fence, err := s.TakeLock(context.Background(), partition, holder, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return fence
}

// execSQL runs SQL past the store.
func execSQL(t testing.TB, s *Store, query string, args ...any) {
	t.Helper()
	db, err := s.open(true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(context.Background(), query, args...); err != nil {
		t.Fatal(err)
	}
}

// subject gives the suites the claims and the time that they ask for.
type subject struct {
	*Store
	passed *atomic.Int64
}

func newSubject(t testing.TB) subject {
	passed := &atomic.Int64{}
	return subject{passed: passed, Store: open(t, "", func(o *Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }
	})}
}

func (s subject) Claim(ctx context.Context, partition string, fence model.Fence) error {
	return s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `insert into partitions (id, installation, namespace, name, created_at, epoch_minted, epoch, holder) values ($1, 'i', '', '', '', $2, $2, $3)
			on conflict do update set epoch_minted = $2, epoch = $2, holder = $3`, partition, fence.Epoch, fence.Holder)
		return err
	})
}

func (s subject) Lapse(context.Context) error {
	s.passed.Add(int64(2 * time.Hour))
	return nil
}

func TestContract(t *testing.T) {
	statetest.Run(t, func(t *testing.T) statetest.Subject { return newSubject(t) })
}

func TestLocks(t *testing.T) {
	statetest.RunLocks(t, func(t *testing.T) statetest.LockSubject { return newSubject(t) })
}

// The lock as runs of two processes see it.
func TestLease(t *testing.T) {
	leasetest.Run(t, func(t *testing.T) leasetest.Subject {
		ours := newSubject(t)
		theirs := open(t, ours.options.Path, func(o *Options) { o.Now = ours.options.Now })
		times, err := lease.TimesOf(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return leasetest.Subject{
			Ours: &lease.Stored{Records: ours, Partition: partition, Times: times}, Theirs: &lease.Stored{Records: theirs, Partition: partition, Times: times},
			Write: func(ctx context.Context, fence model.Fence) error {
				return ours.Commit(ctx, partition, fence, state.Batch{PutRows: []*state.Row{{ID: "s:t:a"}}})
			},
			Lapse: ours.Lapse, Break: func(ctx context.Context) error { return breakAny(ctx, theirs) },
		}
	})
}

func breakAny(ctx context.Context, s *Store) error {
	holds, err := s.Holds(ctx, partition)
	for _, h := range holds {
		_, broken := s.BreakLock(ctx, partition, h.Holder)
		err = errors.Join(err, broken)
	}
	return err
}

// What reads makes no file; the first write makes one that is its owner's alone.
func TestFileIsMadeByTheFirstWrite(t *testing.T) {
	s := open(t, "")
	path := s.options.Path
	ctx := t.Context()
	got, err := s.Load(ctx, partition)
	if err != nil || len(got.Rows) != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	holds, err := s.Holds(ctx, partition)
	held, breakErr := s.BreakLock(ctx, partition, "a")
	if err := errors.Join(err, breakErr, s.ClearHolder(ctx, partition, model.Fence{Epoch: 1, Holder: "a"})); err != nil || held || len(holds) > 0 {
		t.Errorf("%v, %v, %v", holds, held, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a read made the file: %v", err)
	}
	take(t, s, "run")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if info, err := os.Stat(path + suffix); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", suffix, info, err)
		}
	}
}

func TestUnusableFiles(t *testing.T) {
	dir := t.TempDir()
	link, junk := filepath.Join(dir, "link"), filepath.Join(dir, "junk")
	if err := errors.Join(os.Symlink(filepath.Join(dir, "nowhere"), link), os.WriteFile(junk, []byte(strings.Repeat("no database", 1000)), 0o600)); err != nil {
		t.Fatal(err)
	}
	for reason, path := range map[string]string{"a link that leads nowhere": link, "a folder": dir, "another kind of file": junk, "a folder that is missing": filepath.Join(dir, "no", "state.db")} {
		_, err := open(t, path).TakeLock(t.Context(), partition, "run", time.Hour)
		if !model.IsKind(err, model.StateError) || model.ClassOf(err) != model.ClassUser || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want a user's StateError that names the file", reason, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a file was made where a link led")
	}
	if _, err := open(t, junk).Load(t.Context(), partition); !model.IsKind(err, model.StateError) {
		t.Errorf("junk read as %v", err)
	}
}

// An operation that has no time left for another process's transaction ends as an outage.
func TestAnotherProcessWrites(t *testing.T) {
	s := open(t, "")
	fence := take(t, s, "run")
	other := open(t, s.options.Path)
	db, err := other.open(true)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := s.Commit(ctx, partition, fence, state.Batch{}); !errors.Is(err, state.ErrUnavailable) || model.ClassOf(err) != model.ClassTransient {
		t.Errorf("got %v, want an outage", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	if got, err := s.Load(t.Context(), partition); err != nil || got.Serial != 0 {
		t.Errorf("a reader beside the writer: %+v, %v", got, err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), partition, fence, state.Batch{}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// X-5, ST-16: a file that a newer release migrated is neither written nor read.
func TestNewerSchema(t *testing.T) {
	s := open(t, "")
	fence := take(t, s, "run")
	execSQL(t, s, "insert into schema_migrations (version, applied_at) values ($1, '')", supportedVersion+1)
	ctx := t.Context()
	_, loadErr := s.Load(ctx, partition)
	_, takeErr := s.TakeLock(ctx, partition, "run", time.Hour)
	for reason, err := range map[string]error{"load": loadErr, "lock": takeErr,
		"write": s.Commit(ctx, partition, fence, state.Batch{PutRows: []*state.Row{{ID: "s:t:a"}}}), "renew": s.RenewLock(ctx, partition, fence, time.Hour),
		"probe": s.CheckFence(ctx, partition, fence), "release": s.ClearHolder(ctx, partition, fence)} {
		if !errors.Is(err, state.ErrNewerSchema) || !model.IsKind(err, model.StateError) {
			t.Errorf("%s: %v, want a StateError because of a newer schema", reason, err)
		}
	}
	execSQL(t, s, "delete from schema_migrations where version > $1", supportedVersion)
	if got, err := s.Load(ctx, partition); err != nil || got.Serial != 0 {
		t.Errorf("something was written: %+v, %v", got, err)
	}
}

// A file that was taken away from under a run is not written any more: its lock is another's.
func TestReplacedFile(t *testing.T) {
	for reason, replace := range map[string]func(path string) error{
		"removed": os.Remove,
		"renamed": func(path string) error { return os.Rename(path, path+".old") },
		"another in its place": func(path string) error {
			if err := os.Rename(path, path+".old"); err != nil {
				return err
			}
			return os.WriteFile(path, nil, 0o600)
		},
	} {
		s := open(t, "")
		fence := take(t, s, "run")
		row := state.Batch{PutRows: []*state.Row{{ID: "s:t:a", Status: state.StatusCreated}}}
		if err := s.Commit(t.Context(), partition, fence, row); err != nil {
			t.Fatal(err)
		}
		if err := replace(s.options.Path); err != nil {
			t.Fatal(err)
		}
		for what, err := range map[string]error{"write": s.Commit(t.Context(), partition, fence, row), "renewal": s.RenewLock(t.Context(), partition, fence, time.Hour)} {
			if !model.IsKind(err, model.StateError) || !strings.Contains(err.Error(), "replaced or removed") {
				t.Errorf("%s, %s: %v", reason, what, err)
			}
		}
	}
}

// A version that no release writes is no reason to start anew.
func TestVersionOfNoRelease(t *testing.T) {
	s := open(t, "")
	take(t, s, "run")
	execSQL(t, s, "delete from schema_migrations")
	execSQL(t, s, "insert into schema_migrations (version, applied_at) values (-3, '')")
	_, loadErr := s.Load(t.Context(), partition)
	_, takeErr := s.TakeLock(t.Context(), partition, "run", time.Hour)
	for reason, err := range map[string]error{"load": loadErr, "lock": takeErr} {
		if !model.IsKind(err, model.StateError) || !strings.Contains(err.Error(), "-3") {
			t.Errorf("%s: %v, want a StateError that names the version", reason, err)
		}
	}
}

func TestMigrationsAreNumbered(t *testing.T) {
	files, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil || len(files) != supportedVersion {
		t.Errorf("%d migrations, supportedVersion is %d, %v", len(files), supportedVersion, err)
	}
	for i, file := range files {
		if !strings.HasPrefix(file, fmt.Sprintf("migrations/%04d_", i+1)) {
			t.Errorf("%s is migration %d: numbers have no gaps", file, i+1)
		}
	}
}

// Processes that start on an empty file at once make its tables once.
func TestMigrateConcurrently(t *testing.T) {
	first := open(t, "")
	stores := []*Store{first}
	for range 5 {
		stores = append(stores, open(t, first.options.Path))
	}
	var all sync.WaitGroup
	for i, s := range stores {
		all.Go(func() {
			if _, err := s.TakeLock(t.Context(), fmt.Sprintf("partition-%d", i), "run", time.Hour); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// A writer that is killed at any point loses nothing that a commit returned for, and
// leaves a file that the next process goes on with.
func TestKilled(t *testing.T) {
	s := open(t, "")
	for round := range 5 {
		child := childOn(t, s.options.Path)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		acknowledged := 0
		for lines := bufio.NewScanner(out); acknowledged < 20+7*round && lines.Scan(); acknowledged++ {
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait() // it was killed
		got, err := s.Load(t.Context(), partition)
		if err != nil {
			t.Fatal(err)
		}
		for i := range acknowledged {
			if got.Rows[childRow(i)] == nil {
				t.Errorf("round %d: row %d of %d was acknowledged and is gone", round, i, acknowledged)
			}
		}
		if acknowledged < 20 || int64(len(got.Rows)) > got.Serial {
			t.Errorf("round %d: %d acknowledged, %d rows, serial %d", round, acknowledged, len(got.Rows), got.Serial)
		}
		if held, err := s.BreakLock(t.Context(), partition, "child"); err != nil || !held {
			t.Fatalf("the lock of the dead run: %v, %v", held, err)
		}
		fence := take(t, s, "next")
		if err := s.Commit(t.Context(), partition, fence, state.Replacement(got, state.NewSnapshot())); err != nil {
			t.Fatal(err)
		}
		if err := s.ClearHolder(t.Context(), partition, fence); err != nil {
			t.Fatal(err)
		}
	}
}

func childOn(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), binary)
	child.Env = append(os.Environ(), childPath+"="+path)
	child.Stderr = os.Stderr
	return child
}

func childRow(i int) string { return fmt.Sprintf("s:local.Null:n%d", i) }

// writeForever writes rows and says so after each, until it is killed.
func writeForever(path string) int {
	s := New(Options{Path: path})
	fence, err := s.TakeLock(context.Background(), partition, "child", time.Hour)
	for i := 0; err == nil; i++ {
		if err = s.Commit(context.Background(), partition, fence, state.Batch{PutRows: []*state.Row{{ID: childRow(i)}}}); err == nil {
			fmt.Println(i)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// Two processes with a store each: one is fenced by the other, whatever it still tries.
func TestTwoProcesses(t *testing.T) {
	ours := open(t, "")
	child := childOn(t, ours.options.Path)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	child.Stderr = &said
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	if _, err := ours.TakeLock(t.Context(), partition, "ours", time.Hour); !model.IsKind(err, model.LockError) || !strings.Contains(err.Error(), "'child'") {
		t.Errorf("a lock of another process: %v", err)
	}
	if held, err := ours.BreakLock(t.Context(), partition, "child"); err != nil || !held {
		t.Errorf("break: %v, %v", held, err)
	}
	before, err := ours.Serial(t.Context(), partition)
	if err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // what it wrote before
	}
	if err := child.Wait(); err == nil || !strings.Contains(said.String(), "superseded") {
		t.Errorf("the other process ended with %v: %s", err, said.String())
	}
	if after, err := ours.Serial(t.Context(), partition); err != nil || after != before {
		t.Errorf("the serial moved from %d to %d after the lock was broken, %v", before, after, err)
	}
}
