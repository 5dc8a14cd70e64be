package postgres

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/lease/leasetest"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/statetest"
	"github.com/atlantide-org/atlantide-operator/hack/devenv"
)

func TestMain(m *testing.M) { os.Exit(devenv.Main(m, devenv.WithPostgres)) }

const installation = "test-installation"

// open is a store on a database of its own, or on dsn.
func open(t testing.TB, dsn string, change ...func(*Options)) *Store {
	t.Helper()
	o := Options{Installation: installation}
	for _, c := range change {
		c(&o)
	}
	s, err := Open(t.Context(), dsn, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// newPartition is the id of a partition that exists.
func newPartition(t testing.TB, s *Store) string {
	t.Helper()
	id := uuid.NewString()
	if err := s.EnsurePartition(t.Context(), id, "team-a", "web"); err != nil {
		t.Fatal(err)
	}
	return id
}

// take mints and claims an epoch for a holder.
func take(t testing.TB, s *Store, partition, holder string) model.Fence {
	t.Helper()
	epoch, err := s.Mint(t.Context(), partition)
	if err != nil {
		t.Fatal(err)
	}
	fence := model.Fence{Epoch: epoch, Holder: holder}
	if err := s.Claim(t.Context(), partition, fence, "lease", int32(epoch)); err != nil {
		t.Fatal(err)
	}
	return fence
}

func wantKind(t testing.TB, reason string, err error, kind model.Kind) {
	t.Helper()
	if !model.IsKind(err, kind) {
		t.Errorf("%s: %v, want a %s", reason, err, kind)
	}
}

// exec runs SQL as a person would, past the store.
func exec(t testing.TB, s *Store, sql string, args ...any) {
	t.Helper()
	if _, err := s.pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// query reads one column, past the store.
func query[T any](t testing.TB, s *Store, sql string, args ...any) []T {
	t.Helper()
	rows, err := s.pool.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	values, err := pgx.CollectRows(rows, pgx.RowTo[T])
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// subject gives the contract suite the claims it asks for, whatever their number.
type subject struct{ *Store }

func (s subject) Claim(ctx context.Context, partition string, fence model.Fence) error {
	if err := s.EnsurePartition(ctx, partition, "n", "s"); err != nil {
		return err
	}
	for minted := int64(0); minted < fence.Epoch; {
		var err error
		if minted, err = s.Mint(ctx, partition); err != nil {
			return err
		}
	}
	return s.Store.Claim(ctx, partition, fence, "lease", int32(fence.Epoch))
}

func TestContract(t *testing.T) {
	dsn := devenv.Database(t)
	statetest.Run(t, func(t *testing.T) statetest.Subject {
		// A schema for each: stores of one database do not see each other (T-165b),
		// and a hostile schema name is only a name (T-165e).
		schema := `a"; drop schema public; --` + uuid.NewString()
		return subject{open(t, dsn, func(o *Options) { o.Schema = schema })}
	})
}

func TestMarks(t *testing.T) {
	s := subject{open(t, devenv.Database(t))}
	statetest.RunMarks(t, s)
	partition := newPartition(t, s.Store)
	if err := s.Mark(t.Context(), partition, 0, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DeletePartition(t.Context(), partition, 0); err != nil {
		t.Fatal(err)
	}
	if _, marked, err := s.Marked(t.Context(), partition, "x"); marked || err != nil {
		t.Errorf("a partition that was ended is marked: %t, %v", marked, err)
	}
}

// Lapse moves the end of every lock into the past, beyond the margin.
func (s subject) Lapse(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, "update partitions set lock_ends = lock_ends - interval '1 day'")
	return err
}

func TestLocks(t *testing.T) {
	dsn := devenv.Database(t)
	statetest.RunLocks(t, func(t *testing.T) statetest.LockSubject {
		s := subject{open(t, dsn, func(o *Options) { o.Schema, o.LockSkewMargin = "locks_"+uuid.NewString(), DefaultLockSkewMargin })}
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		return s
	})
}

// The lock as runs of two processes see it.
func TestLease(t *testing.T) {
	dsn := devenv.Database(t)
	times, err := lease.TimesOf(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	leasetest.Run(t, func(t *testing.T) leasetest.Subject {
		change := func(o *Options) { o.LockSkewMargin = DefaultLockSkewMargin }
		ours, theirs, partition := subject{open(t, dsn, change)}, open(t, dsn, change), uuid.NewString()
		return leasetest.Subject{
			Ours: &lease.Stored{Records: ours, Partition: partition, Times: times}, Theirs: &lease.Stored{Records: theirs, Partition: partition, Times: times},
			Write: func(ctx context.Context, fence model.Fence) error {
				return ours.Commit(ctx, partition, fence, state.Batch{PutRows: []*state.Row{{ID: "s:t:a"}}})
			},
			Lapse: ours.Lapse, Break: func(ctx context.Context) error {
				holds, err := theirs.Holds(ctx, partition)
				for _, h := range holds {
					_, broken := theirs.BreakLock(ctx, partition, h.Holder)
					err = errors.Join(err, broken)
				}
				return err
			},
		}
	})
}

// A retried batch whose answer was lost changes nothing but the serial.
func TestCommitIsRepeatable(t *testing.T) {
	s := open(t, devenv.Database(t))
	partition := newPartition(t, s)
	fence := take(t, s, partition, "run")
	row := &state.Row{ID: "s:local.Null:a", Type: "local.Null", Status: state.StatusCreated}
	batch := state.Batch{PutRows: []*state.Row{row, row}, DeleteRows: []string{"s:local.Null:gone", "bad\x00id"}, RemoveOutputs: []string{"s:x"}}
	for range 2 {
		if err := s.Commit(t.Context(), partition, fence, batch); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Load(t.Context(), partition)
	if err != nil || len(got.Rows) != 1 || got.Serial != 2 || got.Rows[row.ID].UpdatedAt.IsZero() {
		t.Errorf("after two commits: %+v, %v", got, err)
	}
}

// What an operation costs, counted where it leaves the process.
func TestCosts(t *testing.T) {
	var queries, writes atomic.Int64
	s := open(t, devenv.Database(t), func(o *Options) {
		o.Observe = func(kind string) {
			if kind == ObserveWrite {
				writes.Add(1)
			} else {
				queries.Add(1)
			}
		}
	})
	partition := newPartition(t, s)
	fence := take(t, s, partition, "run")
	ctx := t.Context()
	for _, c := range []struct {
		reason         string
		do             func() error
		queries, write int64
	}{
		{"a steady look", func() error { _, err := s.Serial(ctx, partition); return err }, 1, 0},
		{"a partition that exists", func() error {
			return s.EnsurePartition(ctx, partition, "team-a", "web")
		}, 1, 0},
		{"a load, one round trip", func() error { _, err := s.Load(ctx, partition); return err }, 4, 0},
		{"a write is one statement", func() error {
			return s.Commit(ctx, partition, fence, state.Batch{PutRows: []*state.Row{{ID: "s:t:a"}}})
		}, 0, 1},
		{"the current plan", func() error { _, err := s.Plans().Current(ctx, partition); return err }, 1, 0},
		{"names claimed first", func() error { return s.ClaimStackNames(ctx, partition, "team-a", []string{"s"}) }, 2, 2},
		{"names claimed before", func() error { return s.ClaimStackNames(ctx, partition, "team-a", []string{"s"}) }, 1, 0},
	} {
		queries.Store(0)
		writes.Store(0)
		if err := c.do(); err != nil {
			t.Fatal(err)
		}
		if queries.Load() != c.queries || writes.Load() != c.write {
			t.Errorf("%s: %d queries and %d writes, want %d and %d", c.reason, queries.Load(), writes.Load(), c.queries, c.write)
		}
	}
}

func TestSerialUsesTheIndex(t *testing.T) {
	s := open(t, devenv.Database(t))
	newPartition(t, s)
	tx, err := s.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), "set local enable_seqscan = off"); err != nil {
		t.Fatal(err)
	}
	rows, err := tx.Query(t.Context(), "explain select serial from partitions where id = '"+uuid.NewString()+"'")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || !strings.Contains(strings.Join(lines, "\n"), "partitions_pkey") {
		t.Errorf("%v, %v", lines, err)
	}
}

func TestPartitionIDs(t *testing.T) {
	s := open(t, devenv.Database(t))
	if _, err := s.Load(t.Context(), "not a uuid"); !model.IsKind(err, model.StateError) {
		t.Errorf("got %v", err)
	}
	if errors.Is(s.EnsurePartition(t.Context(), strings.Repeat("x", 5000), "n", "s"), state.ErrUnavailable) {
		t.Error("a malformed id passes for an outage")
	}
}
