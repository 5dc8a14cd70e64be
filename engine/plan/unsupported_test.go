package plan_test

import (
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// A provider that has only a schema keeps what it planned from being run, as long as
// there is something to run.
func TestPlanOnly(t *testing.T) {
	schemas := testSchemas(t)
	schemas.Provider("aws").PlanOnly = "it comes later"
	for _, tc := range []struct {
		why     string
		edit    func(c *config)
		refused string // id; "" = runs
		action  string
	}{
		{why: "nothing of it changes", edit: func(c *config) { c.nodes[fileID].Properties["content"] = "two" }},
		{why: "an update", edit: func(c *config) { c.nodes[netID].Properties["tags"] = "b" }, refused: netID, action: "update"},
		{why: "a delete", edit: func(c *config) { delete(c.nodes, netID) }, refused: netID, action: "delete"},
		{why: "beside one that could run", refused: netID, action: "update", edit: func(c *config) {
			c.nodes[fileID].Properties["content"] = "two"
			c.nodes[netID].Properties["tags"] = "b"
		}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			snapshot := applied(t, network())
			c := network()
			tc.edit(c)
			compilation, g := c.compile(t)
			p, err := plan.New(plan.Input{Compilation: compilation, Graph: g, Snapshot: snapshot, Schemas: schemas, OnFailure: plan.OnFailureHalt})
			if err != nil {
				t.Fatal(err)
			}
			err = p.Unsupported()
			if tc.refused == "" {
				if err != nil {
					t.Fatalf("error %v; want none", err)
				}
				return
			}
			checkRefusal(t, err, model.ProviderError, tc.refused, tc.action, "it comes later")
		})
	}
}

func TestUnsupported(t *testing.T) {
	secret := model.SecretRef{Name: "token"}.Marker()
	for _, tc := range []struct {
		why   string
		rows  func(s *state.Snapshot)
		edit  func(c *config)
		texts []string // nil: runs
	}{
		{why: "creates, updates and deletes run", edit: func(c *config) {
			c.nodes[fileID].Properties["content"] = "two"
			c.file("n:local.File:new", "new", "")
			delete(c.nodes, netID)
		}},
		{why: "a destroy-first replace whose dependents stay runs", edit: func(c *config) { c.nodes[fileID].Properties["path"] = "moved.txt" }},
		{why: "deletes among themselves run", edit: func(c *config) { delete(c.nodes, netID); delete(c.nodes, vpcID) }},
		{why: "an interrupted replace is finished", rows: func(s *state.Snapshot) { interrupt(s, fileID, state.DestroyBeforeCreate, "old.txt") }},
		{why: "a rename that keeps the path would lose the file", texts: []string{fileID, "n:local.File:renamed", "same object"},
			edit: func(c *config) {
				c.file("n:local.File:renamed", c.nodes[fileID].Properties["path"].(string), "one")
				delete(c.nodes, fileID)
				delete(c.nodes, otherID)
			}},
		{why: "so would a path that one node leaves to another", texts: []string{fileID, "n:local.File:heir", "same object"},
			edit: func(c *config) {
				c.file("n:local.File:heir", c.nodes[fileID].Properties["path"].(string), "one")
				c.nodes[fileID].Properties["path"] = "moved.txt"
			}},
		{why: "and the path of an old half that is left", texts: []string{fileID, "n:local.File:heir", "same object"},
			rows: func(s *state.Snapshot) { interrupt(s, fileID, state.DestroyBeforeCreate, "old.txt") },
			edit: func(c *config) { c.file("n:local.File:heir", "old.txt", "one") }},
		{why: "a path that a half-made node leaves behind is taken as well", texts: []string{fileID, "n:local.File:heir", "same object"},
			rows: func(s *state.Snapshot) { s.Rows[fileID].Status = state.StatusCreating },
			edit: func(c *config) {
				c.file("n:local.File:heir", c.nodes[fileID].Properties["path"].(string), "one")
				c.nodes[fileID].Properties["path"] = "moved.txt"
			}},
		{why: "a policy is never ignored", texts: []string{"require-tags"},
			edit: func(c *config) { c.policies = []ir.PolicyBinding{{Name: "require-tags", Level: "mandatory"}} }},
		{why: "nor a secret, at any depth", texts: []string{fileID + ".content"},
			edit: func(c *config) {
				c.nodes[fileID].Properties["content"] = model.Transform{Op: "concat", Args: []any{[]any{secret}}}.Marker()
			}},
		{why: "EX-17, X-23: but a secret of what is deleted may be gone",
			rows: func(s *state.Snapshot) { s.Rows[fileID].Properties = map[string]any{"content": secret} },
			edit: func(c *config) { delete(c.nodes, fileID); delete(c.nodes, otherID) }},
		{why: "nor a secret in an output", texts: []string{"n:o"}, edit: func(c *config) { c.output("n:o", secret) }},
	} {
		t.Run(tc.why, func(t *testing.T) {
			snapshot := applied(t, network())
			if tc.rows != nil {
				tc.rows(snapshot)
			}
			c := network()
			if tc.edit != nil {
				tc.edit(c)
			}
			err := mustPlan(t, c, snapshot).Unsupported()
			if tc.texts == nil {
				if err != nil {
					t.Fatalf("error %v; want none", err)
				}
				return
			}
			checkRefusal(t, err, model.AtlantideError, tc.texts...)
		})
	}
}
