package lang

import (
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// An error that comes out of what is iterated is the error, and not that the value
// cannot be iterated.
func TestErrorsOfIteratedCallsAreKept(t *testing.T) {
	for reason, text := range map[string]string{
		"in a slice assignment": "x = [1]\nx[0:1] = map(lambda v: 1 / 0, [1])",
		"in an unpacking":       "a, b = map(lambda v: 1 / 0, [1, 2])",
		"in a call's arguments": "def f(a, b): return a\nf(*map(lambda v: 1 / 0, [1, 2]))",
		"in a loop":             "for i in map(lambda v: 1 / 0, [1]):\n    pass",
		"in a comprehension":    "x = [i for i in map(lambda v: 1 / 0, [1])]",
	} {
		t.Run(reason, func(t *testing.T) {
			_, err := compile(t, text, Options{})
			if !model.IsKind(err, model.LanguageError) || !strings.Contains(err.Error(), "ZeroDivisionError") {
				t.Errorf("got %v, want the ZeroDivisionError of the call", err)
			}
		})
	}
}
