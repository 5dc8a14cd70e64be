package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// pendingList is what the repository cannot do yet. A line is "CASE" (all facets) or
// "CASE FACET"; "#" starts a comment line. A line that passes is a failure, so that
// the list only shrinks.
type pendingList struct {
	lines []string
	seen  map[string]bool // lines that named something
}

func readPending(path string) (*pendingList, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	list := &pendingList{seen: map[string]bool{}}
	listed := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if listed[line] {
			return nil, fmt.Errorf("%s lists %q twice", path, line)
		}
		listed[line] = true
		list.lines = append(list.lines, line)
	}
	return list, nil
}

func (l *pendingList) has(line string) bool {
	listed := slices.Contains(l.lines, line)
	if listed {
		l.seen[line] = true
	}
	return listed
}

func (l *pendingList) unused() []string {
	var lines []string
	for _, line := range l.lines {
		if !l.seen[line] {
			lines = append(lines, line)
		}
	}
	return lines
}

// verdict on a case. Pending facets have neither passed nor failed.
type verdict struct {
	passed, pending int
	failed          []result
}

func (l *pendingList) judge(name string, results []result) verdict {
	var v verdict
	if l.has(name) {
		for _, r := range results {
			if r.Diff != "" {
				v.pending = len(results)
				return v
			}
		}
		v.failed = []result{{Facet: "all facets", Diff: "passes now: take its line out of pending.txt"}}
		return v
	}
	for _, r := range results {
		pending := l.has(name + " " + r.Facet)
		switch {
		case pending && r.Diff == "":
			v.failed = append(v.failed, result{Facet: r.Facet, Diff: "passes now: take its line out of pending.txt"})
		case pending:
			v.pending++
		case r.Diff == "":
			v.passed++
		default:
			v.failed = append(v.failed, r)
		}
	}
	return v
}

// printFailing writes the lines that make a case's failures pending.
func printFailing(w io.Writer, c *testCase, results []result) {
	var lines []string
	for _, r := range results {
		if r.Diff != "" {
			lines = append(lines, c.name+" "+r.Facet)
		}
	}
	if len(lines) > 0 && len(lines) == len(results) {
		lines = []string{c.name}
	}
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
}
