package apply_test

import (
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// An output that can not be made is an error; one whose source does not exist yet waits
// (EX-19).
func TestOutputsThatDoNotResolve(t *testing.T) {
	for _, c := range []struct {
		reason string
		value  any
		says   string // "" = skipped
	}{
		{"a combinator that does not exist", map[string]any{"$transform": map[string]any{"op": "evil", "args": []any{}}}, "'evil' does not exist"},
		{"a position that is out of range", model.Transform{Op: "index", Args: []any{[]any{"x"}, int64(7)}}.Marker(), "out of range"},
		{"deep inside", []any{map[string]any{"k": model.Transform{Op: "join", Args: []any{"-", "text"}}.Marker()}}, "join takes a list"},
		{"a stack output that nobody committed", model.StackOutputMarker("elsewhere:x"), ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			b := newBench(t)
			report, err := b.apply([]ir.Node{thing("a", "k", "1")}, ir.Output{Key: "s:o", Value: c.value})
			if c.says == "" {
				if err != nil || len(b.snapshot().Outputs) != 0 {
					t.Errorf("got %v and outputs %v, want none", err, b.snapshot().Outputs)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), "output 's:o'") || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want an error that names the output and says %q", err, c.says)
			}
			if len(report.Created) != 1 || len(b.snapshot().Outputs) != 0 {
				t.Errorf("created %v, outputs %v", report.Created, b.snapshot().Outputs)
			}
		})
	}
}
