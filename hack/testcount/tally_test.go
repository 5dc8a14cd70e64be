package main

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestReadEvents(t *testing.T) {
	tests := []struct {
		name, reason   string
		stream         string
		exit           error
		passed, failed int
		skipped        int
		shown          []string
	}{
		{
			name:   "leaves count",
			reason: "a parent of subtests is no test of its own",
			stream: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA/one"}
{"Action":"pass","Package":"p","Test":"TestA/two"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"pass","Package":"p","Elapsed":0.5}`,
			passed: 3,
			shown:  []string{"ok       p  3 passed in 0.5s"},
		},
		{
			name:   "a failed leaf",
			reason: "its parent fails for its sake only; both outputs are shown, a passed test's is not",
			stream: `{"Action":"output","Package":"p","Test":"TestA","Output":"parent says\n"}
{"Action":"output","Package":"p","Test":"TestA/one","Output":"wrong answer\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"chatter\n"}
{"Action":"fail","Package":"p","Test":"TestA/one"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p"}`,
			exit: errors.New("exit status 1"), passed: 1, failed: 1,
			shown: []string{"parent says", "wrong answer", "FAILED   p  1 passed, 1 failed", "p TestA/one"},
		},
		{
			name:   "a parent that fails alone",
			reason: "no subtest explains it",
			stream: `{"Action":"pass","Package":"p","Test":"TestA/one"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}`,
			passed: 1, failed: 1, shown: []string{"p TestA\n"},
		},
		{
			name:   "a build failure",
			reason: "no test ran, yet something failed; the compiler's words are shown",
			stream: `{"ImportPath":"p [p.test]","Action":"build-output","Output":"p.go:1: undefined: x\n"}
{"ImportPath":"p [p.test]","Action":"build-fail"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}`,
			failed: 1, shown: []string{"undefined: x", "FAILED   p"},
		},
		{
			name:   "a panic",
			reason: "the test that was running has no verdict",
			stream: `{"Action":"output","Package":"p","Test":"TestA","Output":"panic: boom\n"}
{"Action":"fail","Package":"p"}`,
			failed: 1, shown: []string{"panic: boom", "p TestA"},
		},
		{
			name:   "a stream that breaks off",
			reason: "a package without a verdict has not passed",
			stream: `{"Action":"start","Package":"p"}`,
			exit:   errors.New("signal: killed"), failed: 1, shown: []string{"FAILED   p"},
		},
		{
			name:   "an exit code that nothing explains",
			reason: "the go command may fail before any package",
			stream: `no required module provides package q`,
			exit:   errors.New("exit status 1"), failed: 1, shown: []string{"no required module", "exit status 1"},
		},
		{
			name:   "a skip",
			reason: "is neither passed nor failed, and is shown",
			stream: `{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}`,
			skipped: 1, shown: []string{"skipped  p TestA"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			out := &strings.Builder{}
			tally := newTally(out)
			readEvents(tally, strings.NewReader(test.stream), func() error { return test.exit })
			check(t, tally, test.passed, test.failed, test.reason)
			if tally.skipped != test.skipped {
				t.Errorf("skipped = %d, want %d: %s", tally.skipped, test.skipped, test.reason)
			}
			tally.close()
			for _, want := range test.shown {
				if !strings.Contains(out.String(), want) {
					t.Errorf("output lacks %q: %s\n%s", want, test.reason, out)
				}
			}
			if strings.Contains(out.String(), "chatter") {
				t.Errorf("a passed test's output is shown:\n%s", out)
			}
		})
	}
}

func TestReadClosingLine(t *testing.T) {
	tests := []struct {
		name, reason   string
		output         string
		exit           error
		passed, failed int
		shown          string
	}{
		{"counts", "the last line is taken in, the rest passed on", "a\n3 passed, 0 failed\n", nil, 3, 0, "a\n"},
		{"failures", "its exit code is explained by its count", "3 passed, 2 failed\n", errors.New("exit status 1"), 3, 2, ""},
		{"no count", "a command that broke is one failure", "panic: boom\n", nil, 0, 1, "panic: boom\n"},
		{"broken after its count", "an unexplained exit code is one failure", "3 passed, 0 failed\n", errors.New("exit status 1"), 3, 1, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			out := &strings.Builder{}
			tally := newTally(out)
			readClosingLine(tally, strings.NewReader(test.output), func() error { return test.exit })
			check(t, tally, test.passed, test.failed, test.reason)
			if out.String() != test.shown {
				t.Errorf("output = %q, want %q: %s", out, test.shown, test.reason)
			}
		})
	}
}

func TestCommandsBesideTheTestsCount(t *testing.T) {
	tests := []struct {
		name, reason string
		beside       []string
		passed       bool
	}{
		{"all pass", "what they count is added", []string{"echo '2 passed, 0 failed'", "echo '1 passed, 0 failed'"}, true},
		{"one fails", "it fails the whole", []string{"echo '2 passed, 0 failed'", "echo '0 passed, 1 failed'; exit 1"}, false},
		{"one breaks", "no count is a failure", []string{"echo '2 passed, 0 failed'", "exit 1"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			out := &strings.Builder{}
			all := newTally(out)
			for _, command := range test.beside {
				other := newTally(out)
				feed(t.Context(), other.reader(readClosingLine), "sh", "-c", command)
				all.add(other)
			}
			if passed := all.close(); passed != test.passed {
				t.Errorf("passed = %v: %s\n%s", passed, test.reason, out)
			}
		})
	}
}

func TestCloseRefusesAnEmptyRun(t *testing.T) {
	if newTally(io.Discard).close() {
		t.Error("a run without tests passed")
	}
}

func check(t *testing.T, tally *tally, passed, failed int, reason string) {
	t.Helper()
	if tally.passed != passed || tally.failed != failed {
		t.Errorf("%d passed, %d failed; want %d, %d: %s", tally.passed, tally.failed, passed, failed, reason)
	}
}
