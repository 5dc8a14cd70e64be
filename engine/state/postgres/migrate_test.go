package postgres

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

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

// N-35, ST-16: a newer schema stops the writes of a replica that runs already, and a
// replica that starts.
func TestNewerSchema(t *testing.T) {
	dsn := devenv.Database(t)
	running := open(t, dsn)
	partition := newPartition(t, running)
	fence := take(t, running, partition, "run")
	exec(t, running, "insert into schema_migrations (version) values ($1)", supportedVersion+1)
	starting := open(t, dsn)

	_, mintErr := running.Mint(t.Context(), partition)
	_, loadErr := starting.Load(t.Context(), partition)
	_, proposeErr := running.Plans().Propose(t.Context(), partition, proposal(0, 1, "d"))
	for reason, err := range map[string]error{
		"start":                loadErr,
		"check":                starting.Check(t.Context()),
		"check while running":  running.Check(t.Context()),
		"write":                running.Commit(t.Context(), partition, fence, state.Batch{PutRows: []*state.Row{{ID: "s:t:a"}}}),
		"mint":                 mintErr,
		"claim":                running.Claim(t.Context(), partition, model.Fence{Epoch: 1, Holder: "b"}, "x", 9),
		"plan":                 proposeErr,
		"make a new partition": running.EnsurePartition(t.Context(), uuid.NewString(), "n", "s"),
		"the probe":            running.CheckFence(t.Context(), partition, fence),
	} {
		if !errors.Is(err, state.ErrNewerSchema) || !model.IsKind(err, model.StateError) {
			t.Errorf("%s: %v, want a StateError because of a newer schema", reason, err)
		}
	}
	snapshot, err := running.Load(t.Context(), partition)
	if err != nil || snapshot.Serial != 0 {
		t.Errorf("serial %d, %v: something was written", snapshot.Serial, err)
	}
}
