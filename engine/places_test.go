package engine_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// What is refused at plan is shown where the config declares it, though no document has
// places.
func TestRefusalsAtPlanHaveAPlace(t *testing.T) {
	const guarded = `from atlantide.core import Lifecycle
File("a", path="a.txt")
File("b", path=%q, lifecycle=Lifecycle(prevent_destroy=True))`
	for _, c := range []struct {
		reason, first, second string
		kind                  model.Kind
		source                string
	}{
		{"a guarded node that would be replaced", fmt.Sprintf(guarded, "b.txt"), fmt.Sprintf(guarded, "c.txt"),
			model.PreventDestroyError, `    File("b", path="c.txt", lifecycle=Lifecycle(prevent_destroy=True))`},
		{"a node that its provider refuses", `File("a", path="a.txt")`, `File("a", path="../a.txt")`,
			model.ProviderError, `    File("a", path="../a.txt")`},
	} {
		t.Run(c.reason, func(t *testing.T) {
			d := newDesk(t)
			d.mustApply(c.first)
			_, err := d.engine.Plan(t.Context(), engine.PlanRequest{Compilation: d.compile(c.second), Snapshot: d.snapshot(), Owner: owner})
			var e *model.Error
			if !errors.As(err, &e) || e.Kind != c.kind {
				t.Fatalf("error %v, want a %s", err, c.kind)
			}
			if e.Line == 0 || e.Col != 5 || e.Source != c.source {
				t.Errorf("at %s:%d:%d %q, want %q", e.File, e.Line, e.Col, e.Source, c.source)
			}
		})
	}
}
