package main

import (
	"math"
	"runtime"
	"testing"
)

func compilerIn(t testing.TB) *compiler {
	t.Helper()
	c, err := newCompiler(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// BenchmarkCompile reports each workload's figures for one resource as well.
func BenchmarkCompile(b *testing.B) {
	c := compilerIn(b)
	for _, w := range workloads() {
		b.Run(w.name, func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			b.ReportAllocs()
			for b.Loop() {
				if err := c.compile(&w); err != nil {
					b.Fatal(err)
				}
			}
			runtime.ReadMemStats(&after)
			made := float64(b.N * w.nodes)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/made, "ns/node")
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/made, "B/node")
			b.ReportMetric(float64(after.Mallocs-before.Mallocs)/made, "allocs/node")
		})
	}
}

// What a resource costs does not depend on how many there are: nothing in a compilation
// grows faster than the config.
func TestAllocationsAreLinear(t *testing.T) {
	const tolerance = 0.05
	c := compilerIn(t)
	warm := fromFile("flat", 10)
	if err := c.compile(&warm); err != nil {
		t.Fatal(err)
	}
	var bytes, objects []float64
	for _, nodes := range []int{1_000, 10_000, 100_000} {
		w := fromFile("flat", nodes)
		s, err := c.sample(&w)
		if err != nil {
			t.Fatal(err)
		}
		bytes = append(bytes, float64(s.bytes)/float64(nodes))
		objects = append(objects, float64(s.objects)/float64(nodes))
	}
	for what, per := range map[string][]float64{"bytes": bytes, "allocations": objects} {
		for i, n := range per {
			if math.Abs(n/per[1]-1) > tolerance {
				t.Errorf("%s of a resource at 1k, 10k and 100k resources: %.1f; the one at index %d is not within %.0f %% of the one at 10k", what, per, i, 100*tolerance)
			}
		}
	}
}

// Every workload declares what it says it does.
func TestWorkloads(t *testing.T) {
	c := compilerIn(t)
	for _, w := range workloads() {
		if w.nodes > 10_000 {
			continue // the same config as a smaller one
		}
		if err := c.compile(&w); err != nil {
			t.Error(err)
		}
	}
}
