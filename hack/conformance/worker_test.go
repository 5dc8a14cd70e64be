package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test's own program be the worker that runAll starts.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "-"+workerFlag {
		misbehave()
		return
	}
	os.Exit(m.Run())
}

// misbehave is a worker that does what the case's name says.
func misbehave() {
	lines := bufio.NewScanner(os.Stdin)
	answer := json.NewEncoder(os.NewFile(answers, "answers"))
	for lines.Scan() {
		switch filepath.Base(lines.Text()) {
		case "panic":
			panic("boom")
		case "hang":
			select {}
		default:
			if err := answer.Encode([]result{{Facet: facetError}}); err != nil {
				panic(err)
			}
		}
	}
}

func TestRunAllIsolatesCases(t *testing.T) {
	names := []string{"fine", "panic", "fine", "hang", "fine", "fine"}
	var cases []*testCase
	for _, name := range names {
		cases = append(cases, &testCase{name: name, dir: name, want: map[string]any{"ok": false}})
	}
	var got []string
	err := runAll(context.Background(), cases, time.Second, func(c *testCase, results []result) {
		got = append(got, fmt.Sprintf("%s: %s", c.name, results[0].Diff))
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"fine: ", "panic: the process died\npanic: boom", "fine: ", "hang: no answer within 1s", "fine: ", "fine: "}
	if len(got) != len(want) {
		t.Fatalf("%d reports, want %d: %q", len(got), len(want), got)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) || strings.HasSuffix(want[i], ": ") && got[i] != want[i] {
			t.Errorf("report %d = %q, want %q, in the order of the cases", i, got[i], want[i])
		}
	}
}
