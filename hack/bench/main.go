// Command bench measures how long configs take to compile, from text to IR and hashes,
// and what that allocates:
//
//	go run ./hack/bench                    every workload, medians of ten
//	go run ./hack/bench -count 3 flat      those whose name begins with flat
//	go test -run '^$' -bench . ./hack/bench    the same workloads as benchmarks
//
// It runs on one core at the default GOGC and prints the table of docs/performance.md.
// Time is processor time of the process, the collector's included, which says more than
// the clock where others share the machine.
//
// It owns the workloads. It must never know how the engine works inside: it uses the
// façade and the built-in providers.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

func main() {
	count := flag.Int("count", 10, "how often each workload is compiled, after once to warm up")
	flag.Parse()
	if *count < 1 {
		fmt.Fprintln(os.Stderr, "bench: -count must be at least 1")
		os.Exit(2)
	}
	runtime.GOMAXPROCS(1)
	if err := run(os.Stdout, *count, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, count int, prefixes []string) error {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // an empty folder that is left over hurts nobody
	c, err := newCompiler(dir)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "| config/resources | time | fastest to slowest | a resource | allocated | a resource | allocations | a resource |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|")
	for _, work := range workloads() {
		if !chosen(work.name, prefixes) {
			continue
		}
		m, err := c.measure(&work, count)
		if err != nil {
			return err
		}
		fmt.Fprintln(w, m)
	}
	return nil
}

func chosen(name string, prefixes []string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return len(prefixes) == 0
}
