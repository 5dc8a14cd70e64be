// Command conformance runs conformance vectors through the engine:
//
//	go run ./hack/conformance            the repository's own copy
//	go run ./hack/conformance DIR...     any folder of cases, or one case
//
// It prints each failure with its differences and closes with "N passed, N failed",
// counted in facets: what a case says about one thing (its hashes, its plan, one
// step). It exits 1 when anything failed.
//
// It owns how vectors are read and compared. It must never know how the engine works
// inside: it uses the façade, the built-in providers and the memory store.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	// ownVectors is where the repository keeps its copy.
	ownVectors = "engine/testdata/conformance"
	workerFlag = "worker"
)

func main() {
	worker := flag.Bool(workerFlag, false, "answer for cases named on standard input (used by the command itself)")
	flag.Parse()
	if *worker {
		if err := serve(os.Stdin, os.NewFile(answers, "answers")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := run(ctx, os.Stdout, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
	}
	if !ok || err != nil {
		os.Exit(1)
	}
}

// run reports whether every facet passed.
func run(ctx context.Context, w io.Writer, dirs []string) (bool, error) {
	if len(dirs) == 0 {
		root, err := moduleRoot()
		if err != nil {
			return false, err
		}
		dirs = []string{filepath.Join(root, ownVectors)}
	}
	cases, err := findCases(dirs)
	if err != nil {
		return false, err
	}
	out := bufio.NewWriter(w)
	defer out.Flush()
	passed, failed := 0, 0
	err = runAll(ctx, cases, caseTimeout, func(c *testCase, results []result) {
		wrong := slices.DeleteFunc(slices.Clone(results), func(r result) bool { return r.Diff == "" })
		passed += len(results) - len(wrong)
		failed += len(wrong)
		printFailures(out, c, wrong)
	})
	if err != nil {
		return false, err
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", passed, failed)
	return failed == 0, nil
}

// printFailures says once what several facets of a case have in common.
func printFailures(w io.Writer, c *testCase, failed []result) {
	var order []string
	facets := map[string][]string{}
	for _, r := range failed {
		if facets[r.Diff] == nil {
			order = append(order, r.Diff)
		}
		facets[r.Diff] = append(facets[r.Diff], r.Facet)
	}
	for _, diff := range order {
		fmt.Fprintf(w, "FAIL %s %s\n", c.name, strings.Join(facets[diff], ", "))
		for line := range strings.Lines(diff) {
			fmt.Fprintf(w, "    %s\n", strings.TrimRight(line, "\n"))
		}
	}
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod here or above; run it inside the repository or name a DIR")
		}
		dir = parent
	}
}
