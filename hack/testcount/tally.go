package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// tally counts results and writes what a person needs to see of them.
type tally struct {
	out            io.Writer
	passed, failed int
	skipped        int
	failures       []string // names, for the summary
}

func newTally(out io.Writer) *tally { return &tally{out: out} }

// reader binds one of the read functions below to the tally. What it returns reads
// all output, then asks for the exit error.
func (t *tally) reader(read func(*tally, io.Reader, func() error)) func(io.Reader, func() error) {
	return func(r io.Reader, wait func() error) { read(t, r, wait) }
}

// close writes the summary and reports whether nothing failed and something passed:
// a run that tested nothing proves nothing.
func (t *tally) close() bool {
	if len(t.failures) > 0 {
		fmt.Fprintf(t.out, "\nfailed:\n")
		for _, name := range t.failures {
			fmt.Fprintf(t.out, "  %s\n", name)
		}
	}
	if t.skipped > 0 {
		fmt.Fprintf(t.out, "%d skipped\n", t.skipped)
	}
	fmt.Fprintf(t.out, "%d passed, %d failed\n", t.passed, t.failed)
	return t.failed == 0 && t.passed > 0
}

// add takes in what another tally has counted.
func (t *tally) add(other *tally) {
	t.passed += other.passed
	t.failed += other.failed
	t.skipped += other.skipped
	t.failures = append(t.failures, other.failures...)
}

func (t *tally) fail(name string) {
	t.failed++
	t.failures = append(t.failures, name)
}

// event is one line of "go test -json" (go doc test2json).
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build-output and build-fail
	Test        string
	Elapsed     float64
	Output      string
	FailedBuild string
}

// pkg is a package whose tests are running.
type pkg struct {
	results map[string]string           // test → pass, fail or skip
	output  map[string]*strings.Builder // test → what it said; "" = the package itself
}

// readEvents counts the tests of a "go test -json" stream: those without subtests,
// and besides them a failed parent of passed subtests and a failed package (build
// failure, panic, timeout) of passed tests.
func readEvents(t *tally, r io.Reader, wait func() error) {
	packages := map[string]*pkg{}
	builds := map[string]*strings.Builder{} // import path → compiler output
	before := t.failed
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		var e event
		switch {
		case line == "":
		case json.Unmarshal([]byte(line), &e) != nil:
			fmt.Fprint(t.out, line) // not ours: an error of the go command itself
		case e.Action == "build-output":
			builder(builds, e.ImportPath).WriteString(e.Output)
		case e.Package != "":
			t.packageEvent(packages, builds, e)
		}
		if err != nil {
			break
		}
	}
	// What ended without a verdict, then an exit code that no event explains.
	for _, name := range sortedKeys(packages) {
		t.packageEvent(packages, builds, event{Action: "fail", Package: name})
	}
	if err := wait(); err != nil && t.failed == before {
		t.fail(err.Error())
	}
}

func (t *tally) packageEvent(packages map[string]*pkg, builds map[string]*strings.Builder, e event) {
	p := packages[e.Package]
	if p == nil {
		p = &pkg{results: map[string]string{}, output: map[string]*strings.Builder{}}
		packages[e.Package] = p
	}
	switch e.Action {
	case "output":
		builder(p.output, e.Test).WriteString(e.Output)
	case "pass", "fail", "skip":
		if e.Test != "" {
			p.results[e.Test] = e.Action
			return
		}
		delete(packages, e.Package)
		t.packageEnd(p, builds, e)
	}
}

// packageEnd counts a package's tests and prints its line and its failures.
func (t *tally) packageEnd(p *pkg, builds map[string]*strings.Builder, e event) {
	for test := range p.output {
		if test != "" && p.results[test] == "" {
			p.results[test] = "fail" // it was running when the process died
		}
	}
	passed, failed := 0, 0
	hasChild, hasFailedChild := parents(p.results, ""), parents(p.results, "fail")
	for _, test := range sortedKeys(p.results) {
		switch result := p.results[test]; {
		case result == "skip":
			t.skipped++
			fmt.Fprintf(t.out, "skipped  %s %s\n", e.Package, test)
		case result == "pass" && !hasChild[test]:
			passed++
		case result == "fail" && !hasFailedChild[test]:
			failed++
			t.fail(e.Package + " " + test)
		}
		if p.results[test] == "fail" {
			fmt.Fprint(t.out, builder(p.output, test).String())
		}
	}
	t.passed += passed
	if e.Action == "fail" {
		if build := builds[e.FailedBuild]; build != nil {
			fmt.Fprint(t.out, build.String())
		}
		fmt.Fprint(t.out, builder(p.output, "").String())
		if failed == 0 {
			failed++
			t.fail(e.Package)
		}
	}
	switch {
	case failed > 0:
		fmt.Fprintf(t.out, "FAILED   %s  %d passed, %d failed\n", e.Package, passed, failed)
	case passed > 0:
		fmt.Fprintf(t.out, "ok       %s  %d passed in %.1fs\n", e.Package, passed, e.Elapsed)
	}
}

// parents marks the tests that have a subtest, or one that ended so.
func parents(results map[string]string, result string) map[string]bool {
	marked := map[string]bool{}
	for name, r := range results {
		if result != "" && r != result {
			continue
		}
		for i := strings.LastIndexByte(name, '/'); i > 0; i = strings.LastIndexByte(name[:i], '/') {
			marked[name[:i]] = true
		}
	}
	return marked
}

var closingLine = regexp.MustCompile(`^(\d+) passed, (\d+) failed$`)

// readClosingLine passes a command's output on and adds what its last line counts.
// A command that ends without such a line, or with an error that the line does not
// explain, is itself one failure.
func readClosingLine(t *tally, r io.Reader, wait func() error) {
	lines := bufio.NewReader(r)
	last := ""
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			if last != "" {
				fmt.Fprint(t.out, last)
			}
			last = line
		}
		if err != nil {
			break
		}
	}
	counts := closingLine.FindStringSubmatch(strings.TrimSuffix(last, "\n"))
	if counts == nil {
		fmt.Fprint(t.out, last)
		counts = []string{"", "0", "0"}
		t.fail("a command that closed without a count")
	}
	passed, _ := strconv.Atoi(counts[1])
	failed, _ := strconv.Atoi(counts[2])
	t.passed += passed
	if failed > 0 {
		t.failed += failed
		t.failures = append(t.failures, fmt.Sprintf("%d cases of the last command", failed))
	}
	if err := wait(); err != nil && failed == 0 {
		t.fail(err.Error())
	}
}

func builder(m map[string]*strings.Builder, key string) *strings.Builder {
	if m[key] == nil {
		m[key] = &strings.Builder{}
	}
	return m[key]
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
