package plan_test

import (
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// What an earlier run moved and did not follow up is followed up in one run, to whatever
// reads it at the end (DF-15): the hashes do not tell of it.
func TestWhatFollowsAValueThatMovedEarlier(t *testing.T) {
	const third, fourth = "n:local.File:third", "n:local.File:fourth"
	declare := func() *config {
		c := network()
		c.file(third, "third", ref(otherID, "checksum"))
		c.file(fourth, "fourth", ref(third, "checksum"))
		return c
	}
	moved := func(s *state.Snapshot) { s.Rows[fileID].Outputs["checksum"] = "other" }
	for _, tc := range []struct {
		why   string
		rows  func(s *state.Snapshot)
		edit  func(c *config)
		wants map[string]string
	}{
		{why: "by one node after another", rows: moved,
			wants: map[string]string{fileID: "noop", otherID: "update [content] moved [content]", third: "update [content]", fourth: "update [content]", netID: "noop"}},
		{why: "also where the run that followed it died in the middle",
			rows:  func(s *state.Snapshot) { moved(s); s.Rows[otherID].InputHash = "" },
			wants: map[string]string{otherID: "update [content] moved [content]", third: "update [content]", fourth: "update [content]"}},
		{why: "a row that is marked and reads nothing that moved leads to nothing",
			rows:  func(s *state.Snapshot) { s.Rows[otherID].InputHash = "" },
			wants: map[string]string{otherID: "update", third: "noop", fourth: "noop"}},
		{why: "a node that stands after it without reading it stays as it is", rows: moved,
			edit:  func(c *config) { c.nodes[netID].DependsOn = []string{third} },
			wants: map[string]string{third: "update [content]", netID: "noop"}},
		{why: "and so does one that ignores the field", rows: moved,
			edit:  func(c *config) { c.nodes[third].IgnoreChanges = []string{"content"} },
			wants: map[string]string{third: "noop", fourth: "noop"}},
		{why: "an identity that reads it is judged at apply", rows: moved,
			edit:  func(c *config) { c.nodes[third].Properties["path"] = op("concat", "p/", ref(otherID, "checksum")) },
			wants: map[string]string{third: "replace [content path] conditional"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			c := declare()
			if tc.edit != nil {
				tc.edit(c)
			}
			snapshot := applied(t, c)
			tc.rows(snapshot)
			p := mustPlan(t, c, snapshot)
			for id, want := range tc.wants {
				if got := brief(change(t, p, id)); got != want {
					t.Errorf("%s: %s; want %s", id, got, want)
				}
			}
		})
	}
}
