// Command conformance runs conformance vectors through the engine:
//
//	go run ./hack/conformance            the repository's own copy, against pending.txt
//	go run ./hack/conformance DIR...     any folder of cases, or one case; nothing is pending
//	go run ./hack/conformance -list-failing > hack/conformance/pending.txt
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
	"strings"
	"syscall"
)

// Where the repository keeps its copy of the vectors and what it cannot do yet.
const (
	ownVectors  = "engine/testdata/conformance"
	ownPending  = "hack/conformance/pending.txt"
	workerFlag  = "worker"
	failingFlag = "list-failing"
)

func main() {
	worker := flag.Bool(workerFlag, false, "answer for cases named on standard input (used by the command itself)")
	failing := flag.Bool(failingFlag, false, "print what fails in the form of pending.txt")
	flag.Parse()
	if *worker {
		if err := serve(os.Stdin, os.NewFile(answers, "answers")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := run(ctx, os.Stdout, flag.Args(), *failing)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
	}
	if !ok || err != nil {
		os.Exit(1)
	}
}

// run reports whether every facet passed, or is pending where that counts.
func run(ctx context.Context, w io.Writer, dirs []string, listFailing bool) (bool, error) {
	expected := &pendingList{}
	if len(dirs) == 0 {
		root, err := moduleRoot()
		if err != nil {
			return false, err
		}
		dirs = []string{filepath.Join(root, ownVectors)}
		if !listFailing {
			if expected, err = readPending(filepath.Join(root, ownPending)); err != nil {
				return false, err
			}
		}
	}
	cases, err := findCases(dirs)
	if err != nil {
		return false, err
	}
	out := bufio.NewWriter(w)
	defer out.Flush()
	if listFailing {
		fmt.Fprintln(out, "# What is not supported yet, a case or a facet of one a line; CONTRIBUTING.md says how it is used.")
		err := runAll(ctx, cases, caseTimeout, func(c *testCase, results []result) { printFailing(out, c, results) })
		return err == nil, err
	}

	passed, failed, pending := 0, 0, 0
	err = runAll(ctx, cases, caseTimeout, func(c *testCase, results []result) {
		v := expected.judge(c.name, results)
		passed += v.passed
		failed += len(v.failed)
		pending += v.pending
		printFailures(out, c, v.failed)
	})
	if err != nil {
		return false, err
	}
	for _, line := range expected.unused() {
		failed++
		fmt.Fprintf(out, "FAIL %s: pending, but there is no such case or facet\n", line)
	}
	if pending > 0 {
		fmt.Fprintf(out, "%d pending\n", pending)
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
