package apply_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// What changes a row and nothing else is in the row after the next run, whatever that
// run is for, without a call and without a word (PL-3).
func TestSilentColumns(t *testing.T) {
	first := func() ir.Node { return thing("a", "k", "1") }
	second := func() ir.Node { return thing("b", "k", "1") }
	ordered := func(n ir.Node) ir.Node { n.DependsOn = []string{idA}; return n }
	for _, c := range []struct {
		reason string
		row    func(r *state.Row) // of b, before
		edit   func(n *ir.Node)   // of b
		want   func(r *state.Row) // of b, after
	}{
		{"an order is added", nil,
			func(n *ir.Node) { n.DependsOn = []string{idA} }, func(r *state.Row) { r.DependsOn = []string{idA} }},
		{"an order is taken away", func(r *state.Row) { r.DependsOn = []string{idA} },
			func(*ir.Node) {}, func(r *state.Row) { r.DependsOn = nil }},
		{"the replace mode changes", nil,
			func(n *ir.Node) { n.CreateBeforeDestroy = true }, func(r *state.Row) { r.CreateBeforeDestroy = true }},
		{"an older release recorded no kind", func(r *state.Row) { r.Kind = "" },
			func(*ir.Node) {}, func(r *state.Row) { r.Kind = model.KindResource }},
	} {
		for beside, run := range map[string]struct {
			a       func(n *ir.Node)
			gone    bool
			outputs []ir.Output
			calls   []string
		}{
			"alone":               {},
			"beside an update":    {a: func(n *ir.Node) { n.Properties["value"] = "2" }, calls: []string{"update a"}},
			"beside outputs only": {outputs: []ir.Output{{Key: "s:o", Value: "v"}}},
			"beside a delete":     {gone: true, calls: []string{"delete c"}},
		} {
			t.Run(c.reason+", "+beside, func(t *testing.T) {
				b := newBench(t)
				b.mustApply([]ir.Node{first(), second(), thing("c", "k", "1")})
				want := b.snapshot().Rows[idB]
				if c.row != nil {
					c.row(want)
					if err := b.store.Commit(t.Context(), partition, b.handle.fence, state.Batch{PutRows: []*state.Row{want}}); err != nil {
						t.Fatal(err)
					}
				}
				b.world.calls = nil
				n, edited := first(), second()
				c.edit(&edited)
				if run.a != nil {
					run.a(&n)
				}
				nodes := []ir.Node{n, edited, thing("c", "k", "1")}
				if run.gone {
					nodes = nodes[:2]
				}
				p := b.plan(compiled(t, nodes, run.outputs...))
				if !p.Unsynced() || p.HasPending() != (len(run.calls) > 0) {
					t.Errorf("unsynced %t, pending %t", p.Unsynced(), p.HasPending())
				}
				report, err := b.run(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				b.wantCalls(run.calls...)
				if !slices.Contains(report.Noop, idB) || len(report.StateOnly) > 0 {
					t.Errorf("noop %v, state only %v; want b among the idle", report.Noop, report.StateOnly)
				}
				c.want(want)
				want.Epoch = b.epoch
				got := b.snapshot().Rows[idB]
				if len(got.DependsOn) == 0 {
					got.DependsOn = nil
				}
				if len(want.DependsOn) == 0 {
					want.DependsOn = nil
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("row (-want +got):\n%s", diff)
				}
				if again := b.plan(compiled(t, nodes, run.outputs...)); again.Unsynced() {
					t.Error("the next plan would write again")
				}
			})
		}
	}

	t.Run("a destroy goes by the order that was added last", func(t *testing.T) {
		b := newBench(t)
		b.adjust = func(r *apply.Run) { r.Parallelism = 1 }
		b.mustApply([]ir.Node{first(), second()})
		b.mustApply([]ir.Node{first(), ordered(second())})
		b.world.calls = nil
		p, err := plan.Destroy(b.snapshot(), schemas(t), plan.Secrets{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.run(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		b.wantCalls("delete b", "delete a")
	})
}
