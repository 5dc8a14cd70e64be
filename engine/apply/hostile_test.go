package apply_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

func TestHostileOutputs(t *testing.T) {
	for _, c := range []struct {
		reason  string
		outputs model.Outputs
		says    string
	}{
		{"NUL in a value (ST-20)", model.Outputs{"id": "a\x00"}, "\"id\" holds a NUL"},
		{"NUL in a nested key", model.Outputs{"x": map[string]any{"deep": []any{map[string]any{"k\x00": "v"}}}}, "\"x\" holds a NUL"},
		{"NUL in a name", model.Outputs{"i\x00d": "v"}, "NUL"},
		{"not UTF-8", model.Outputs{"id": "\xff"}, "UTF-8"},
		{"not JSON", model.Outputs{"id": make(chan int)}, "no JSON form"},
		{"not a number", model.Outputs{"id": math.NaN()}, "not finite"},
		{"too much", model.Outputs{"id": strings.Repeat("x", 5<<20)}, "more than"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			b := newBench(t)
			b.world.outputs = func(*model.Request) (model.Outputs, error) { return c.outputs, nil }
			_, err := b.apply([]ir.Node{thing("a", "k", "1")})
			e := failureOf(t, err, model.ProviderError, c.says)
			if e.NodeID != idA || !strings.Contains(e.Error(), "succeeded, but its outputs cannot be recorded") {
				t.Errorf("error %+v", e)
			}
			b.wantStatuses(map[string]string{"a": "creating"})
			b.world.outputs = nil
			b.mustApply([]ir.Node{thing("a", "k", "1")})
			b.wantThings(map[string]string{"a": "k=1"}) // the same thing, found by its attempt
		})
	}
}

func TestOutputsThatLookLikeHandles(t *testing.T) {
	b := newBench(t)
	b.world.outputs = func(*model.Request) (model.Outputs, error) {
		return model.Outputs{"sum": map[string]any{"$secret_ref": map[string]any{"name": "admin", "provider": nil}}}, nil
	}
	_, err := b.apply([]ir.Node{thing("a", "k", "1"), thing("b", "k", ref("a", "sum"))})
	if e := failureOf(t, err, model.SecretsError, "field 'value'"); e.NodeID != idB {
		t.Errorf("error %+v", e)
	}
	b.wantCalls("create a")
	b.wantStatuses(map[string]string{"a": "created"}) // b failed before its write-ahead
}

// Planning refuses such a config. A run that does not ask it calls nobody all the same.
func TestPropertiesThatNoRowCanHold(t *testing.T) {
	b := newBench(t)
	p, err := plan.New(plan.Input{Compilation: compiled(t, []ir.Node{thing("a", "k", "a\x00b")}), Snapshot: b.snapshot(), Schemas: schemas(t)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.run(t.Context(), p)
	wantError(t, err, model.StateError, "holds a NUL")
	b.wantCalls()
}

func TestPanickingProvider(t *testing.T) {
	b := newBench(t)
	b.world.before = func(context.Context, string, *model.Request) error { panic("oops") }
	_, err := b.apply([]ir.Node{thing("a", "k", "1")})
	wantError(t, err, model.ProviderError, "panicked: oops")
}

func TestPartialOutputsAreKept(t *testing.T) {
	b := newBench(t)
	b.world.outputs = func(r *model.Request) (model.Outputs, error) {
		return model.Outputs{"id": "id-1"}, errors.New("tagging failed")
	}
	_, err := b.apply([]ir.Node{thing("a", "k", "1")})
	wantError(t, err, model.ProviderError, "tagging failed")
	if row := b.snapshot().Rows[idA]; row.Status != state.StatusCreating || row.Outputs["id"] != "id-1" {
		t.Errorf("row %+v, want the partial outputs on a creating row", row)
	}
	b.world.outputs = nil
	b.mustApply([]ir.Node{thing("a", "k", "1")})
	b.wantThings(map[string]string{"a": "k=1"})
}
