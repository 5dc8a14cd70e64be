package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSumCounters(t *testing.T) {
	const text = `# HELP atlantide_compile_total Configurations evaluated.
# TYPE atlantide_compile_total counter
atlantide_compile_total 3
atlantide_reconcile_total{outcome="applied"} 2
atlantide_reconcile_total{outcome="a } in a label"} 1.5e+01
go_goroutines 12
`
	got, err := sumCounters(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"atlantide_compile_total": 3, "atlantide_reconcile_total": 17}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sums over labels, of our own counters only (-want +got):\n%s", diff)
	}
	if _, err := sumCounters(strings.NewReader("atlantide_compile_total many\n")); err == nil {
		t.Error("a value that is no number was taken")
	}
}

func TestShellWords(t *testing.T) {
	tests := []struct{ arg, want, reason string }{
		{"stack/greeting", "stack/greeting", "a plain word stays"},
		{"jsonpath={.a}", "'jsonpath={.a}'", "braces would be expanded"},
		{"it's a", `'it'\''s a'`, "a quote inside quotes"},
	}
	for _, test := range tests {
		if got := shellWords([]string{test.arg}); got != test.want {
			t.Errorf("%s, want %s: %s", got, test.want, test.reason)
		}
	}
}

func TestDuring(t *testing.T) {
	tests := []struct {
		name, reason string
		takes        time.Duration
		want         string
	}{
		{"short", "nothing is said below two seconds", time.Second, ""},
		{"long", "then every five seconds", 8 * time.Second, "   … waiting (2s)\n   … waiting (7s)\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				failure := errors.New("it failed")
				n := &narrator{w: &out, start: time.Now()}
				err := n.during("waiting", func() error {
					<-time.After(test.takes)
					return failure
				})
				if !errors.Is(err, failure) {
					t.Errorf("the work's error is %v", err)
				}
				if diff := cmp.Diff(test.want, out.String()); diff != "" {
					t.Errorf("(-want +got): %s\n%s", test.reason, diff)
				}
			})
		})
	}
}
