package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// DF-20: what a conditional replace comes to once the values are there.
func TestJudgement(t *testing.T) {
	gave := func(v any) plan.Values {
		return plan.Values{Output: func(model.Reference) (any, bool) { return v, v != nil }}
	}
	for _, tc := range []struct {
		why    string
		row    func(r *state.Row)
		before any
		now    any
		action plan.Action
		fields []string
		fails  bool
	}{
		{why: "the same value", before: "v", now: "v", action: plan.Noop},
		{why: "another one", before: "v", now: "w", action: plan.Replace, fields: []string{"vpc_id"}},
		{why: "the record outranks what the upstream gave when the run started", before: "w", now: "v", action: plan.Noop},
		{why: "without a record that decides", row: func(r *state.Row) { r.RefDigests = nil }, before: "v", now: "w", action: plan.Replace, fields: []string{"vpc_id"}},
		{why: "and so it does for a record of a later scheme", row: func(r *state.Row) { r.RefDigests = map[string]string{"vpc_id": "v9:x"} },
			before: "v", now: "v", action: plan.Noop},
		{why: "what does not resolve as it was then differs", row: func(r *state.Row) { r.RefDigests = nil }, now: "v", action: plan.Replace, fields: []string{"vpc_id"}},
		{why: "a mutable field alone is an update", row: func(r *state.Row) { r.Properties["tags"] = "old" }, before: "v", now: "v",
			action: plan.Update, fields: []string{"tags"}},
		{why: "X-44 a row that is marked never comes to nothing", row: func(r *state.Row) { r.InputHash = "" }, before: "v", now: "v", action: plan.Update},
		{why: "what does not resolve now is an error", before: "v", now: nil, fails: true},
	} {
		t.Run(tc.why, func(t *testing.T) {
			c := network()
			compilation, _ := c.compile(t)
			desired := compilation.Document.Node(netID)
			digests, err := plan.RefDigests(desired, testSchemas(t), gave("v"), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			row := &state.Row{ID: netID, Type: desired.Type, InputHash: "h", Properties: model.Clone(desired.Properties).(map[string]any), RefDigests: digests}
			if tc.row != nil {
				tc.row(row)
			}
			action, fields, err := plan.Judgement{Schemas: testSchemas(t), Before: gave(tc.before), Now: gave(tc.now)}.Decide(
				&plan.Change{NodeID: netID, Action: plan.Replace, Desired: desired, Prior: row, Conditional: true})
			if tc.fails {
				if err == nil {
					t.Fatalf("%s %v; want an error", action, fields)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if action != tc.action {
				t.Errorf("action %s, want %s", action, tc.action)
			}
			if diff := cmp.Diff(tc.fields, fields); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}
