// Command bench measures how long configs take to compile, from text to IR and hashes,
// and what that allocates, and how long they take to apply:
//
//	go run ./hack/bench                    every workload compiled, medians of ten
//	go run ./hack/bench -count 3 flat      those whose name begins with flat
//	go run ./hack/bench -apply             configs applied, medians of ten
//	go test -run '^$' -bench . ./hack/bench    the same workloads as benchmarks
//
// It prints the tables of docs/performance.md, all at the default GOGC. A compilation runs
// on one core, and its time is processor time of the process, the collector's included,
// which says more than the clock where others share the machine. An apply uses what cores
// there are, works on a Postgres of its own that keeps what it committed, and its time is
// the clock's.
//
// It owns the workloads. It must never know how the engine works inside: it uses the
// façade and the built-in providers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/atlantide-org/atlantide-operator/hack/devenv"
)

func main() {
	count := flag.Int("count", 10, "how often each workload is compiled, after once to warm up, or applied with nothing to do")
	applies := flag.Bool("apply", false, "apply configs instead of compiling them")
	flag.Parse()
	if *count < 1 {
		fmt.Fprintln(os.Stderr, "bench: -count must be at least 1")
		os.Exit(2)
	}
	var err error
	switch {
	case os.Getenv(asChild) != "":
		err = serve(context.Background(), os.Stdin, os.Stdout)
	case *applies:
		err = runApplies(context.Background(), os.Stdout, *count)
	default:
		runtime.GOMAXPROCS(1)
		err = run(os.Stdout, *count, flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// runApplies applies each config once to a database of its own, and then again count times.
func runApplies(ctx context.Context, w io.Writer, count int) (err error) {
	server, err := devenv.StartPostgres(ctx, devenv.PostgresOptions{Durable: true, Private: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // an empty folder that is left over hurts nobody
	fmt.Fprintln(w, "| config/resources | durable nodes/s | demanded | fdatasync | commit alone | commits | peak memory | nothing to do: load | plan | digest | whole | remembered |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|---|---|")
	// The first one is for the server alone: its log has to grow before it is used again.
	for i, config := range []string{"nulls", "nulls", "ids"} {
		dsn, err := server.NewDatabase(ctx)
		if err != nil {
			return err
		}
		f, err := inChild(ctx, job{DSN: dsn, Config: config, Nodes: appliedNodes, Dir: dir, Repeat: count})
		if err != nil {
			return err
		}
		if i > 0 {
			fmt.Fprintln(w, f)
		}
	}
	return nil
}

// appliedNodes is how many resources a config declares that is applied.
const appliedNodes = 10_000

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
