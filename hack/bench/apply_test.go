package main

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/hack/devenv"
)

func TestMain(m *testing.M) {
	if os.Getenv(asChild) == "" {
		os.Exit(devenv.Main(m, devenv.WithPostgres))
	}
	main()
}

// workshop is a site on a database, and a config compiled for it.
func workshop(t testing.TB, dsn, name string, nodes int) (*site, *ir.Compilation) {
	t.Helper()
	c := compilerIn(t)
	s, err := newSite(t.Context(), c, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.store.Close)
	w := fromFile(name, nodes)
	compilation, err := c.compilation(&w)
	if err != nil {
		t.Fatal(err)
	}
	return s, compilation
}

// 10,000 creates take at most 700 commits, those of the lock included, although each of
// them is written ahead of its call and confirmed after it; the process that makes them
// has at most 200 MB resident. Before them the state is read, under the lock its serial. To
// find that nothing is to be done takes what reading the state takes, or, where that was
// found before, one query.
func TestApplyOf10k(t *testing.T) {
	const commits, memory = 700, 200_000_000
	for _, config := range []string{"nulls", "ids"} {
		f, err := inChild(t.Context(), job{DSN: devenv.Database(t), Config: config, Nodes: appliedNodes, Dir: t.TempDir(), Repeat: 1})
		if err != nil {
			t.Fatal(err)
		}
		if f.Create.Nodes != appliedNodes {
			t.Errorf("%s: %d nodes were created", config, f.Create.Nodes)
		}
		if f.Create.Writes < 2*appliedNodes/parallelism || f.Create.Writes > commits {
			t.Errorf("%s: %d commits; want at most %d, and at least one for each %d of twice %d writes", config, f.Create.Writes, commits, parallelism, appliedNodes)
		}
		if want := int64(loadQueries + 2); f.Create.Queries != want {
			t.Errorf("%s: %d queries; want %d: the state, the lock's partition, the serial under it", config, f.Create.Queries, want)
		}
		if f.Create.Peak > memory {
			t.Errorf("%s: %d bytes resident at the peak; want at most %d", config, f.Create.Peak, memory)
		}
	}
}

// durable is the DSN of an empty database that keeps what it committed.
func durable(b *testing.B) string {
	b.Helper()
	server, err := devenv.StartPostgres(b.Context(), devenv.PostgresOptions{Durable: true, Private: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = server.Stop() })
	dsn, err := server.NewDatabase(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return dsn
}

// BenchmarkApply is how many creates a second are on disk, beside what is demanded.
func BenchmarkApply(b *testing.B) {
	for _, config := range []string{"nulls", "ids"} {
		b.Run(fmt.Sprintf("%s/%d", config, appliedNodes), func(b *testing.B) {
			dsn := durable(b)
			var made, writes int64
			for b.Loop() {
				b.StopTimer()
				s, compilation := workshop(b, dsn, config, appliedNodes)
				b.StartTimer()
				a, err := s.apply(b.Context(), compilation)
				if err != nil {
					b.Fatal(err)
				}
				made, writes = made+int64(a.Nodes), writes+a.Writes
			}
			b.ReportMetric(float64(made)/b.Elapsed().Seconds(), "nodes/s")
			b.ReportMetric(float64(writes)/float64(b.N), "commits")
		})
	}
}

// BenchmarkNothingToDo is what it takes to find that out, and what its parts take.
func BenchmarkNothingToDo(b *testing.B) {
	for _, config := range []string{"nulls", "ids"} {
		b.Run(fmt.Sprintf("%s/%d", config, appliedNodes), func(b *testing.B) {
			s, compilation := workshop(b, durable(b), config, appliedNodes)
			if _, err := s.apply(b.Context(), compilation); err != nil {
				b.Fatal(err)
			}
			var sum noop
			for b.Loop() {
				n, err := s.noop(b.Context(), compilation)
				if err != nil {
					b.Fatal(err)
				}
				sum.Load, sum.Plan, sum.Digest, sum.Whole = sum.Load+n.Load, sum.Plan+n.Plan, sum.Digest+n.Digest, sum.Whole+n.Whole
				sum.Remembered += n.Remembered
			}
			for part, took := range map[string]time.Duration{"load": sum.Load, "plan": sum.Plan, "digest": sum.Digest, "whole": sum.Whole, "remembered": sum.Remembered} {
				b.ReportMetric(float64(took.Microseconds())/1e3/float64(b.N), part+"-ms")
			}
		})
	}
}
