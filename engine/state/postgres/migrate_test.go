package postgres

import (
	"errors"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/hack/devenv"
)

func TestSupportedVersionIsTheLastMigration(t *testing.T) {
	files, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range files {
		number, _, _ := strings.Cut(strings.TrimPrefix(file, "migrations/"), "_")
		if n, err := strconv.Atoi(number); err != nil || n != i+1 {
			t.Errorf("%s is migration %d: numbers have no gaps", file, i+1)
		}
		text, err := migrationFiles.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "+goose Down") || strings.Contains(string(text), "NO TRANSACTION") {
			t.Errorf("%s: migrations only go forward, each in a transaction (ST-16)", file)
		}
	}
	if len(files) != supportedVersion {
		t.Errorf("%d migrations, supportedVersion is %d", len(files), supportedVersion)
	}
}

// N-35: whoever comes first migrates, once; the others wait and find it done.
func TestMigrateConcurrently(t *testing.T) {
	for _, c := range []struct {
		reason string
		from   int64
	}{{"an empty database", 0}, {"an older schema", 1}} {
		t.Run(c.reason, func(t *testing.T) {
			dsn := devenv.Database(t)
			if c.from > 0 {
				if err := open(t, dsn).migrateTo(t.Context(), c.from); err != nil {
					t.Fatal(err)
				}
			}
			var stores []*Store
			for range 6 {
				stores = append(stores, open(t, dsn, func(o *Options) { o.MaxConns = 2 }))
			}
			var all sync.WaitGroup
			for _, s := range stores {
				all.Go(func() {
					if err := s.EnsurePartition(t.Context(), uuid.NewString(), "n", "s"); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			var applied, highest int
			if err := stores[0].pool.QueryRow(t.Context(), "select count(*), max(version) from schema_migrations where version > 0 and applied_at <= now()").Scan(&applied, &highest); err != nil {
				t.Fatal(err)
			}
			if applied != supportedVersion || highest != supportedVersion {
				t.Errorf("%d migrations up to %d, want each once up to %d", applied, highest, supportedVersion)
			}
		})
	}
}

// X-5, N-35, ST-16: a newer schema stops every write of a replica that runs already, and a
// replica that starts. What only reads goes on.
func TestNewerSchema(t *testing.T) {
	dsn := devenv.Database(t)
	running := open(t, dsn)
	ctx, partition := t.Context(), newPartition(t, running)
	first := take(t, running, partition, "first")
	if err := running.Commit(ctx, partition, first, state.Batch{PutRows: []*state.Row{{ID: "s:t:a"}}}); err != nil {
		t.Fatal(err)
	}
	plan, err := running.Plans().Propose(ctx, partition, proposal(0, 1, "d"))
	if err != nil {
		t.Fatal(err)
	}
	if err := running.ClaimStackNames(ctx, partition, "team-a", []string{"s"}); err != nil {
		t.Fatal(err)
	}
	next, err := running.Mint(ctx, partition)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, running, "insert into schema_migrations (version) values ($1)", supportedVersion+1)
	before := dump(t, running)

	planned := []state.PlanStatus{state.PlanPlanned}
	methods := map[string]func() error{
		"Check": func() error { return running.Check(ctx) },
		"Commit": func() error {
			return running.Commit(ctx, partition, first, state.Batch{PutRows: []*state.Row{{ID: "s:t:b"}}, DeleteRows: []string{"s:t:a"}})
		},
		"TakeLock":   func() error { _, err := running.TakeLock(ctx, partition, "first", time.Minute); return err },
		"RenewLock":  func() error { return running.RenewLock(ctx, partition, first, time.Minute) },
		"BreakLock":  func() error { _, err := running.BreakLock(ctx, partition, "first"); return err },
		"CheckFence": func() error { return running.CheckFence(ctx, partition, first) },
		"UnderPlan":  func() error { return running.UnderPlan(plan.ID, plan.Hash).CheckFence(ctx, partition, first) },
		"UnderPlan, a write": func() error {
			return running.UnderPlan(plan.ID, plan.Hash).Commit(ctx, partition, first, state.Batch{DeleteRows: []string{"s:t:a"}, Ahead: true})
		},
		"Mint":                                 func() error { _, err := running.Mint(ctx, partition); return err },
		"Claim":                                func() error { return running.Claim(ctx, partition, model.Fence{Epoch: next, Holder: "b"}, "x", 9) },
		"ClearHolder":                          func() error { return running.ClearHolder(ctx, partition, first) },
		"EnsurePartition":                      func() error { return running.EnsurePartition(ctx, uuid.NewString(), "n", "s") },
		"EnsurePartition of one that is there": func() error { return running.EnsurePartition(ctx, partition, "n", "s") },
		"DeletePartition":                      func() error { _, err := running.DeletePartition(ctx, partition, 1); return err },
		"ClaimStackNames":                      func() error { return running.ClaimStackNames(ctx, partition, "team-a", []string{"t"}) },
		"ClaimStackNames of those it has":      func() error { return running.ClaimStackNames(ctx, partition, "team-a", []string{"s"}) },
		"Plans.Propose":                        func() error { _, err := running.Plans().Propose(ctx, partition, proposal(1, 1, "other")); return err },
		"Plans.Advance without a fence": func() error {
			_, err := running.Plans().Advance(ctx, partition, plan.ID, planned, state.PlanDiscarded, "", nil)
			return err
		},
		"Plans.Advance": func() error {
			_, err := running.Plans().Advance(ctx, partition, plan.ID, planned, state.PlanApplying, "", &first)
			return err
		},
		"RecordSealingKey":      func() error { _, err := running.RecordSealingKey(ctx, "", "00000000"); return err },
		"Mark":                  func() error { return running.Mark(ctx, partition, 1, "x") },
		"a replica that starts": func() error { _, err := open(t, dsn).Load(ctx, partition); return err },
	}
	for reason, call := range methods {
		if err := call(); !errors.Is(err, state.ErrNewerSchema) || !model.IsKind(err, model.StateError) {
			t.Errorf("%s: %v, want a StateError because of a newer schema", reason, err)
		}
	}
	if diff := cmp.Diff(before, dump(t, running)); diff != "" {
		t.Errorf("something was written (-before +after):\n%s", diff)
	}

	reads := []string{"Load", "Serial", "Holds", "Checks", "Marked", "SealingKey", "HoldsKeyed", "Plans.Current", "Plans", "Close"}
	for prefix, value := range map[string]any{"": running, "Plans.": running.Plans()} {
		for m := range reflect.TypeOf(value).Methods() {
			if name := prefix + m.Name; methods[name] == nil && !slices.Contains(reads, name) {
				t.Errorf("%s is not in the table", name)
			}
		}
	}
	if _, err := running.Load(ctx, partition); err != nil {
		t.Errorf("a read fails: %v", err)
	}
}

// dump is every row of every table, as JSON.
func dump(t *testing.T, s *Store) map[string][]string {
	t.Helper()
	tables := map[string][]string{}
	for _, table := range query[string](t, s, "select table_name from information_schema.tables where table_schema = current_schema()") {
		tables[table] = query[string](t, s, "select to_jsonb(t)::text from "+pgx.Identifier{table}.Sanitize()+" t order by 1")
	}
	if len(tables) < 7 {
		t.Fatalf("the tables are %v", slices.Collect(maps.Keys(tables)))
	}
	return tables
}

// A schema that is dropped while the store is in use is made again; its content is as
// lost as after a restart.
func TestDroppedSchema(t *testing.T) {
	ctx := t.Context()
	for name, use := range map[string]func(s *Store, partition string) error{
		"a read":           func(s *Store, p string) error { _, err := s.Serial(ctx, p); return err },
		"a snapshot":       func(s *Store, p string) error { _, err := s.Load(ctx, p); return err },
		"a write":          func(s *Store, p string) error { return s.EnsurePartition(ctx, p, "n", "s") },
		"stack names":      func(s *Store, p string) error { return s.ClaimStackNames(ctx, p, "n", nil) },
		"the current plan": func(s *Store, p string) error { _, err := s.Plans().Current(ctx, p); return err },
		"the check":        func(s *Store, _ string) error { return s.Check(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, devenv.Database(t))
			partition := newPartition(t, s)
			exec(t, s, "drop schema atlantide cascade")
			if err := use(s, partition); err != nil {
				t.Fatal(err)
			}
			if err := s.EnsurePartition(ctx, partition, "n", "s"); err != nil {
				t.Fatal(err)
			}
			take(t, s, partition, "run")
		})
	}
	t.Run("a table alone cannot be made again", func(t *testing.T) {
		s := open(t, devenv.Database(t))
		partition := newPartition(t, s)
		exec(t, s, "drop table nodes")
		if _, err := s.Load(ctx, partition); !model.IsKind(err, model.StateError) || !strings.Contains(err.Error(), "42P01") {
			t.Errorf("error %v, want a StateError that says what is missing", err)
		}
	})
}

// A pooler in between (PgBouncer) refuses a connection with parameters that it does not
// track.
func TestStartupParameters(t *testing.T) {
	s := open(t, devenv.Database(t))
	tracked := []string{"client_encoding", "datestyle", "timezone", "standard_conforming_strings", "application_name"}
	for name := range s.pool.Config().ConnConfig.RuntimeParams {
		if !slices.Contains(tracked, strings.ToLower(name)) {
			t.Errorf("%s is a startup parameter", name)
		}
	}
}

// Who only reads makes nothing: a plan of a new database leaves it as it was, and needs no
// right to make tables.
func TestReadingMakesNoTables(t *testing.T) {
	s := open(t, devenv.Database(t))
	snapshot, err := s.Load(t.Context(), state.CommandLinePartition)
	if err != nil || snapshot == nil || snapshot.Serial != 0 || len(snapshot.Rows) != 0 {
		t.Fatalf("%v, %v", snapshot, err)
	}
	if serial, err := s.Serial(t.Context(), state.CommandLinePartition); err != nil || serial != 0 {
		t.Errorf("serial %d, %v", serial, err)
	}
	if holds, err := s.Holds(t.Context(), state.CommandLinePartition); err != nil || len(holds) != 0 {
		t.Errorf("holds %v, %v", holds, err)
	}
	if version, err := s.schemaVersion(t.Context()); err != nil || version != 0 {
		t.Errorf("schema version %d, %v: a read made tables", version, err)
	}
	take(t, s, newPartition(t, s), "writer")
	if version, err := s.schemaVersion(t.Context()); err != nil || version != supportedVersion {
		t.Errorf("schema version %d, %v, want %d once something is written", version, err, supportedVersion)
	}
}
