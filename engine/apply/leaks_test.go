package apply_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/apply/applytest"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// TestLeaks: of what a create made that died, and that nothing will find again, the node is
// named before the next run and by it, whatever that run is for (EX-26); of all else nobody
// is troubled.
func TestLeaks(t *testing.T) {
	ticket := func(value string) []ir.Node { return one(applytest.Ticket, "k", value, false).Nodes() }
	bucket := func(value string) []ir.Node {
		return []ir.Node{thing("up", "k", value), node("s:test.Bucket:a", map[string]any{"key": ref("up", "sum"), "value": "1"})}
	}
	const cannotFind, notKnown = "cannot find again; look for it", "'key' is not known any more; look for it"
	for _, c := range []struct {
		reason   string
		from, to []ir.Node
		rows     func(r *state.Row) // what an interrupted run left of the row of a
		instead  []ir.Node
		says     string
	}{
		{"it is made again", nil, ticket("1"), creating, ticket("1"), cannotFind},
		{"another one is made", nil, ticket("1"), creating, one(applytest.Ticket, "k2", "1", false).Nodes(), cannotFind},
		{"it is not wanted any more", nil, ticket("1"), creating, []ir.Node{}, cannotFind},
		{"what may be gone is known by its id", nil, ticket("1"), deleting, ticket("1"), ""},
		{"a name that is written down finds it", nil, one(applytest.Bucket, "k", "1", false).Nodes(), creating, one(applytest.Bucket, "k", "1", false).Nodes(), ""},
		{"so does an attempt", nil, one(applytest.Thing, "k", "1", false).Nodes(), creating, one(applytest.Thing, "k", "1", false).Nodes(), ""},
		{"a name that still comes out finds it", nil, bucket("1"), creating, bucket("1"), ""},
		{"a name that does not come out any more finds nothing", nil, bucket("1"), func(r *state.Row) {
			creating(r)
			r.RefDigests = map[string]string{"key": "sha256:of something else"}
		}, bucket("1"), notKnown},
	} {
		t.Run(c.reason, func(t *testing.T) {
			b := newBench(t)
			b.mustApply(c.to)
			id := c.to[len(c.to)-1].ID
			row := b.snapshot().Rows[id]
			c.rows(row)
			if err := b.store.Commit(t.Context(), partition, b.handle.fence, state.Batch{PutRows: []*state.Row{row}}); err != nil {
				t.Fatal(err)
			}
			destroy, err := plan.Destroy(b.snapshot(), schemas(t), plan.Secrets{})
			if err != nil {
				t.Fatal(err)
			}
			next := b.plan(compiled(t, c.instead))
			for what, p := range map[string]*plan.Plan{"a destroy": destroy, "the next run": next} {
				if got := p.Leaks[id]; !strings.Contains(got, c.says) || (got == "") != (c.says == "") || len(p.Leaks) > 1 {
					t.Errorf("the plan of %s names %v, want %q of %s", what, p.Leaks, c.says, id)
				}
				if got := slices.Contains(p.Warnings, id+": "+p.Leaks[id]); got != (c.says != "") {
					t.Errorf("the plan of %s warns of %v", what, p.Warnings)
				}
			}
			report, err := b.run(t.Context(), next)
			if err != nil {
				t.Fatal(err)
			}
			if got := report.Orphaned[id]; !strings.Contains(got, c.says) || (got == "") != (c.says == "") {
				t.Errorf("the report names %v", report.Orphaned)
			}
			if again := b.plan(compiled(t, c.instead)); len(again.Leaks) > 0 {
				t.Errorf("it is named for ever: %v", again.Leaks)
			}
		})
	}
}

// creating is a row whose create was called, by a run that died.
func creating(r *state.Row) { r.Status, r.Outputs = state.StatusCreating, map[string]any{} }

// deleting is a row whose delete was called, by a run that died.
func deleting(r *state.Row) { r.Status, r.InputHash, r.Attempt = state.StatusCreating, "", "" }

// TestLeakBesideAnOldHalf: both reasons are told where both hold.
func TestLeakBesideAnOldHalf(t *testing.T) {
	b := newBench(t)
	b.mustApply(one(applytest.Ticket, "k", "1", true).Nodes())
	b.crashing(&applytest.Kill{At: 1, After: true}, one(applytest.Ticket, "k2", "1", true).Nodes())
	b.world.before = refusing("delete")
	report, err := b.apply(one(applytest.Ticket, "k2", "1", true).Nodes())
	if err == nil {
		t.Fatal("the clean-up did not fail")
	}
	for _, want := range []string{"look for it; ", "its old half was not destroyed"} {
		if got := report.Orphaned["s:test.Ticket:a"]; !strings.Contains(got, want) {
			t.Errorf("the report says %q, and not %q", got, want)
		}
	}
}
