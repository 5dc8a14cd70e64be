package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJudge(t *testing.T) {
	results := []result{{Facet: "ir"}, {Facet: "graph", Diff: "no graph"}}
	allPass := []result{{Facet: "ir"}, {Facet: "graph"}}
	tests := []struct {
		name, reason    string
		lines           []string
		results         []result
		passed, pending int
		failed          []string
		unused          []string
	}{
		{name: "nothing pending", reason: "what fails has failed", results: results, passed: 1, failed: []string{"graph"}},
		{name: "pending facet", reason: "it is neither passed nor failed", lines: []string{"f/001-a graph"}, results: results, passed: 1, pending: 1},
		{name: "pending facet passes", reason: "the list only shrinks", lines: []string{"f/001-a ir", "f/001-a graph"}, results: results, pending: 1, failed: []string{"ir"}},
		{name: "pending case", reason: "it covers all facets", lines: []string{"f/001-a"}, results: results, pending: 2},
		{name: "pending case passes", reason: "the list only shrinks", lines: []string{"f/001-a"}, results: allPass, failed: []string{"all facets"}},
		{name: "line of no case", reason: "a stale line is found", lines: []string{"f/002-b", "f/001-a plan"}, results: allPass, passed: 2, unused: []string{"f/002-b", "f/001-a plan"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pending.txt")
			if err := os.WriteFile(file, []byte("# reason\n\n"+strings.Join(test.lines, "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			list, err := readPending(file)
			if err != nil {
				t.Fatal(err)
			}
			v := list.judge("f/001-a", test.results)
			var failed []string
			for _, r := range v.failed {
				failed = append(failed, r.Facet)
			}
			if v.passed != test.passed || v.pending != test.pending {
				t.Errorf("%d passed, %d pending; want %d, %d: %s", v.passed, v.pending, test.passed, test.pending, test.reason)
			}
			if diff := cmp.Diff(test.failed, failed); diff != "" {
				t.Errorf("failed (-want +got): %s\n%s", test.reason, diff)
			}
			if diff := cmp.Diff(test.unused, list.unused()); diff != "" {
				t.Errorf("unused (-want +got): %s\n%s", test.reason, diff)
			}
		})
	}
}

func TestPrintFailing(t *testing.T) {
	tests := []struct {
		reason  string
		results []result
		want    string
	}{
		{"a case that passes has no line", []result{{Facet: "ir"}}, ""},
		{"a facet alone is named", []result{{Facet: "ir"}, {Facet: "step 2", Diff: "x"}}, "f/001-a step 2\n"},
		{"all facets are the case", []result{{Facet: "ir", Diff: "x"}, {Facet: "graph", Diff: "y"}}, "f/001-a\n"},
	}
	for _, test := range tests {
		out := &strings.Builder{}
		printFailing(out, &testCase{name: "f/001-a"}, test.results)
		if out.String() != test.want {
			t.Errorf("%q, want %q: %s", out, test.want, test.reason)
		}
	}
}

func TestPendingListedTwice(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pending.txt")
	if err := os.WriteFile(file, []byte(strings.Repeat("f/001-a\n", 2)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readPending(file); err == nil {
		t.Error("a line that stands twice was taken")
	}
}
