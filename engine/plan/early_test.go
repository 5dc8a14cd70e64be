package plan_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

func TestEarlyDestroys(t *testing.T) {
	for _, tc := range []struct {
		why  string
		rows func(s *state.Snapshot)
		edit func(c *config)
		want []string
	}{
		{why: "EX-42 a dependent that is replaced goes before what it was made from",
			edit: func(c *config) { c.nodes[vpcID].Properties["cidr_block"] = "10.9.0.0/16" }, want: []string{netID}},
		{why: "EX-42 so does one that is deleted",
			edit: func(c *config) { c.nodes[fileID].Properties["path"] = "moved.txt"; delete(c.nodes, otherID) }, want: []string{otherID}},
		{why: "one that stays waits for nothing", edit: func(c *config) { c.nodes[fileID].Properties["path"] = "moved.txt" }},
		{why: "a replaced node that nothing was made from is destroyed when its turn comes",
			edit: func(c *config) { c.nodes[otherID].Properties["path"] = "moved.txt" }},
		{why: "deletes among themselves need no early phase", edit: func(c *config) { delete(c.nodes, netID); delete(c.nodes, vpcID) }},
		{why: "EX-13 a replace that is finished is one as well",
			rows: func(s *state.Snapshot) { interrupt(s, fileID, state.DestroyBeforeCreate, "old.txt") },
			edit: func(c *config) { delete(c.nodes, otherID) }, want: []string{otherID}},
		{why: "ordering-only edges count, and what follows from what was added",
			rows: func(s *state.Snapshot) { s.Rows[vpcID].DependsOn = []string{fileID} },
			edit: func(c *config) {
				c.nodes[fileID].Properties["path"] = "moved.txt"
				delete(c.nodes, vpcID)
				delete(c.nodes, netID)
			}, want: []string{netID, vpcID}},
		{why: "an old half that is left counts",
			rows: func(s *state.Snapshot) {
				interrupt(s, otherID, state.CreateBeforeDestroy, "old.txt")
				s.Rows[otherID].Status = state.StatusCreated
			},
			edit: func(c *config) { c.nodes[fileID].Properties["path"] = "moved.txt" }, want: []string{otherID + plan.PendingSuffix}},
		{why: "behind a create-first replace nothing is early",
			edit: func(c *config) {
				c.nodes[fileID].Properties["path"] = "moved.txt"
				c.nodes[fileID].CreateBeforeDestroy = true
				delete(c.nodes, otherID)
			}},
		{why: "a conditional dependent waits for its judgement", edit: func(c *config) { c.nodes[vpcID].Properties["tags"] = "b" }},
	} {
		t.Run(tc.why, func(t *testing.T) {
			snapshot := applied(t, network())
			if tc.rows != nil {
				tc.rows(snapshot)
			}
			c := network()
			tc.edit(c)
			p := mustPlan(t, c, snapshot)
			if err := p.Unsupported(); err != nil {
				t.Fatalf("it cannot be run: %v", err)
			}
			if diff := cmp.Diff(tc.want, slices.Sorted(maps.Keys(p.EarlyDestroys()))); diff != "" {
				t.Errorf("early (-want +got):\n%s", diff)
			}
		})
	}
}
