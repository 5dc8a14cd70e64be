package sqlite

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// BenchmarkGroupCommit is durable nodes per second: 64 workers that write a row ahead and
// then the row.
func BenchmarkGroupCommit(b *testing.B) {
	for b.Loop() {
		var commits atomic.Int64
		s := open(b, "", func(o *Options) { o.Observe = func() { commits.Add(1) } })
		fence := take(b, s, "run")
		began := time.Now()
		const nodes = 10_000
		var next atomic.Int64
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				for n := next.Add(1); n <= nodes; n = next.Add(1) {
					for _, status := range []string{state.StatusCreating, state.StatusCreated} {
						row := &state.Row{ID: fmt.Sprintf("s:local.Null:n%d", n), Type: "local.Null", Status: status, Properties: map[string]any{"n": n}}
						if err := s.Commit(b.Context(), partition, fence, state.Batch{PutRows: []*state.Row{row}}); err != nil {
							b.Error(err)
							return
						}
					}
				}
			})
		}
		all.Wait()
		b.ReportMetric(nodes/time.Since(began).Seconds(), "nodes/s")
		b.ReportMetric(float64(commits.Load()), "commits")
	}
}
