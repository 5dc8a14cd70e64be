package postgres

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/hack/devenv"
)

// createNodes writes as an apply of that many creates does: each of its workers writes a
// row ahead, and then the row, and goes to the next node.
func createNodes(ctx context.Context, s *Store, partition string, fence model.Fence, nodes, parallelism int) error {
	var next atomic.Int64
	var all sync.WaitGroup
	errs := make(chan error, parallelism)
	for range parallelism {
		all.Go(func() {
			for n := next.Add(1); n <= int64(nodes); n = next.Add(1) {
				for _, status := range []string{state.StatusCreating, state.StatusCreated} {
					row := &state.Row{ID: fmt.Sprintf("s:local.Null:n%d", n), Type: "local.Null", Status: status, Properties: map[string]any{"triggers": map[string]any{"n": n}}}
					if err := s.Commit(ctx, partition, fence, state.Batch{PutRows: []*state.Row{row}}); err != nil {
						errs <- err
						return
					}
				}
			}
		})
	}
	all.Wait()
	close(errs)
	return <-errs
}

// counted is a store that counts its commits.
func counted(t testing.TB, dsn string) (*Store, *atomic.Int64) {
	commits := &atomic.Int64{}
	return open(t, dsn, func(o *Options) {
		o.Observe = func(kind string) {
			if kind == ObserveWrite {
				commits.Add(1)
			}
		}
	}), commits
}

// 10,000 creates, two writes each, take at most 700 commits.
func TestGroupCommit(t *testing.T) {
	const nodes, parallelism = 10_000, 64
	s, commits := counted(t, devenv.Database(t))
	partition := newPartition(t, s)
	fence := take(t, s, partition, "run")
	commits.Store(0)
	if err := createNodes(t.Context(), s, partition, fence, nodes, parallelism); err != nil {
		t.Fatal(err)
	}
	if n := commits.Load(); n > 700 {
		t.Errorf("%d commits", n)
	}
	got, err := s.Load(t.Context(), partition)
	if err != nil || len(got.Rows) != nodes {
		t.Fatalf("%d rows, %v", len(got.Rows), err)
	}
	for id, row := range got.Rows {
		if row.Status != state.StatusCreated {
			t.Fatalf("%s is %s: a row written ahead came last", id, row.Status)
		}
	}
}

// BenchmarkGroupCommit is durable nodes per second, beside what the disk gives.
func BenchmarkGroupCommit(b *testing.B) {
	server, err := devenv.StartPostgres(b.Context(), devenv.PostgresOptions{Durable: true, Private: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = server.Stop() })
	dsn, err := server.NewDatabase(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	s, commits := counted(b, dsn)
	sync := syncTime(b)
	for b.Loop() {
		partition := newPartition(b, s)
		fence := take(b, s, partition, "run")
		alone := lone(b, s, partition, fence)
		commits.Store(0)
		began := time.Now()
		const nodes = 10_000
		if err := createNodes(b.Context(), s, partition, fence, nodes, 64); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(nodes/time.Since(began).Seconds(), "nodes/s")
		b.ReportMetric(float64(commits.Load()), "commits")
		b.ReportMetric(float64(alone.Microseconds()), "us/commit")
		b.ReportMetric(float64(sync.Microseconds()), "us/fdatasync")
	}
}

// lone is what one commit takes that nobody shares.
func lone(b *testing.B, s *Store, partition string, fence model.Fence) time.Duration {
	b.Helper()
	const writes = 50
	began := time.Now()
	for range writes {
		if err := s.Commit(b.Context(), partition, fence, state.Batch{PutRows: []*state.Row{{ID: "s:local.Null:alone"}}}); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began) / writes
}

// syncTime is what the disk takes to make a small write last.
func syncTime(b *testing.B) time.Duration {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "sync"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	const writes = 50
	began := time.Now()
	for range writes {
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began) / writes
}
