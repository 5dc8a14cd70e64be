package plan_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

const newID = "n:local.File:new"

// rename declares the file under another id, and its reader reading that one.
func rename(c *config, aliases ...string) {
	n := c.nodes[fileID]
	delete(c.nodes, fileID)
	c.file(newID, "f.txt", n.Properties["content"]).Aliases = aliases
	c.nodes[otherID].Properties["content"] = ref(newID, "checksum")
}

func TestAliases(t *testing.T) {
	for _, tc := range []struct {
		why   string
		rows  func(s *state.Snapshot)
		edit  func(c *config)
		moves map[string]string
		wants map[string]string
	}{
		{why: "T-058 a rename and its dependents plan nothing", edit: func(c *config) { rename(c, "f") }, moves: map[string]string{fileID: newID}},
		{why: "T-061 by the full id", edit: func(c *config) { rename(c, fileID) }, moves: map[string]string{fileID: newID}},
		{why: "T-059 without an alias it is another node", edit: func(c *config) { rename(c) },
			wants: map[string]string{fileID: "delete", newID: "create", otherID: "update [content]"}},
		{why: "T-062 a rename and an edit", edit: func(c *config) { rename(c, "f"); c.nodes[newID].Properties["content"] = "two" },
			moves: map[string]string{fileID: newID}, wants: map[string]string{newID: "update [content]", otherID: "update [content]"}},
		{why: "DF-21 the first alias that is recorded", edit: func(c *config) { rename(c, "never", "f", "g") }, moves: map[string]string{fileID: newID}},
		{why: "DF-21 an alias of nothing is inert", edit: func(c *config) { c.nodes[fileID].Aliases = []string{"never"} }},
		{why: "DF-21 one that was used already is inert", edit: func(c *config) { c.nodes[fileID].Aliases = []string{"g"} }},
		{why: "DF-21 an old id goes to one node only, the first by id",
			edit: func(c *config) {
				rename(c, "f")
				c.file("n:local.File:a", "a.txt", "a").Aliases = []string{"f"}
			},
			moves: map[string]string{fileID: "n:local.File:a"},
			wants: map[string]string{"n:local.File:a": "replace [content path]", newID: "create", otherID: "update [content]"}},
		{why: "X-38, N-23: a mark to look again stays", rows: func(s *state.Snapshot) { s.Rows[fileID].InputHash = "" },
			edit: func(c *config) { rename(c, "f") }, moves: map[string]string{fileID: newID}, wants: map[string]string{newID: "update"}},
		{why: "what was not up to date still is not", rows: func(s *state.Snapshot) { s.Rows[otherID].InputHash = "0" },
			edit: func(c *config) { rename(c, "f") }, moves: map[string]string{fileID: newID}, wants: map[string]string{otherID: "update"}},
		{why: "DF-24 ordering-only edges are renamed", rows: func(s *state.Snapshot) { s.Rows[vpcID].DependsOn = []string{fileID} },
			edit:  func(c *config) { rename(c, "f"); c.nodes[vpcID].DependsOn = []string{newID} },
			moves: map[string]string{fileID: newID}},
		{why: "EX-13 an interrupted replace is finished under the new id",
			rows:  func(s *state.Snapshot) { interrupt(s, fileID, state.DestroyBeforeCreate, "old.txt") },
			edit:  func(c *config) { rename(c, "f") },
			moves: map[string]string{fileID: newID}, wants: map[string]string{newID: "replace [path]", otherID: "update [content]"}},
		{why: "EX-13 an old half that is left goes under the new id",
			rows: func(s *state.Snapshot) {
				interrupt(s, fileID, state.CreateBeforeDestroy, "old.txt")
				s.Rows[fileID].Status = state.StatusCreated
			},
			edit: func(c *config) { rename(c, "f") }, moves: map[string]string{fileID: newID}, wants: map[string]string{newID + plan.PendingSuffix: "delete"}},
		{why: "a node that takes over the name of the renamed one is a new one, whoever reads it",
			edit:  func(c *config) { rename(c, "f"); c.file(fileID, "elsewhere.txt", "x") },
			moves: map[string]string{fileID: newID}, wants: map[string]string{fileID: "create"}},
		{why: "also where the reader reads the name as before",
			edit: func(c *config) {
				rename(c, "f")
				c.file(fileID, "elsewhere.txt", "x")
				c.nodes[otherID].Properties["content"] = ref(fileID, "checksum")
			},
			moves: map[string]string{fileID: newID}, wants: map[string]string{fileID: "create", otherID: "update [content]"}},
		{why: "PL-2 the guard that counts is the new node's", rows: func(s *state.Snapshot) { s.Rows[fileID].PreventDestroy = true },
			edit:  func(c *config) { rename(c, "f"); c.nodes[newID].PreventDestroy = true },
			moves: map[string]string{fileID: newID}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			snapshot := applied(t, network())
			if tc.rows != nil {
				tc.rows(snapshot)
			}
			c := network()
			tc.edit(c)
			before := maps.Clone(snapshot.Rows)
			p := mustPlan(t, c, snapshot)
			if tc.wants == nil {
				tc.wants = map[string]string{}
			}
			if diff := cmp.Diff(tc.wants, verdicts(p)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if p.Moves == nil != (tc.moves == nil) || p.Moves != nil && !maps.Equal(p.Moves.From, tc.moves) {
				t.Errorf("moves %+v; want %v", p.Moves, tc.moves)
			}
			if !maps.Equal(before, snapshot.Rows) {
				t.Error("DF-23: planning changed the snapshot")
			}
			if p.Moves != nil {
				commit(snapshot, p.Moves.Batch())
				again := mustPlan(t, c, snapshot)
				if again.Moves != nil || digest(t, again) != digest(t, p) {
					t.Errorf("after the moves are recorded: %v; want the same plan without one, %v", verdicts(again), verdicts(p))
				}
			}
		})
	}
}

// A pure rename is not recorded by itself, so a plan says to keep the alias.
func TestPendingRenameIsTold(t *testing.T) {
	c := network()
	snapshot := applied(t, c)
	told := "renamed: " + fileID + " is now " + newID + " — keep the alias until a run with something to do records it\n"
	if text := mustPlan(t, c, snapshot).Text(); strings.Contains(text, "renamed:") {
		t.Errorf("nothing is renamed:\n%s", text)
	}
	rename(c, "f")
	if text := mustPlan(t, c, snapshot).Text(); !strings.Contains(text, told) {
		t.Errorf("%q is not in\n%s", told, text)
	}
}

func TestAliasOfAnotherType(t *testing.T) {
	c := network()
	c.nodes[fileID].Aliases = []string{vpcID}
	snapshot := applied(t, network())
	delete(snapshot.Rows, fileID)
	_, err := c.plan(t, snapshot)
	checkRefusal(t, err, model.AtlantideError, fileID, vpcID, "aws.Vpc", "remove the alias")
}

// DF-22 for the rows of an environment that is left out of the run: their reference is
// renamed and they stay up to date.
func TestAliasReachesWhatIsLeftOut(t *testing.T) {
	moved := func(selected ...string) *config {
		c := environments(selected...)
		base := c.nodes["common:local.File:base"]
		delete(c.nodes, base.ID)
		c.file("common:local.File:moved", "base.txt", "base").Aliases = []string{"base"}
		for _, env := range selected {
			c.nodes[env+":local.File:f"].Properties["content"] = ref("common:local.File:moved", "checksum")
		}
		return c
	}
	snapshot := applied(t, environments("dev", "prod"))
	perform(t, mustPlan(t, moved("dev"), snapshot), snapshot)
	if got := verdicts(mustPlan(t, moved("dev", "prod"), snapshot)); len(got) > 0 {
		t.Errorf("the whole plan after a narrowed one: %v", got)
	}
}

// Every id of a config, its aliases naming the old ones: whatever is recorded, the plan is
// the same under the new names.
func TestRenamingEverythingChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, snapshot := anySituation(t)
		plain := mustPlan(t, c, snapshot)
		to := map[string]string{}
		for _, id := range slices.Sorted(maps.Keys(c.nodes)) {
			if snapshot.Rows[id] != nil && rapid.Bool().Draw(t, "rename "+id) {
				to[id] = model.NodeID(model.StackOf(id), model.TypeOf(id), "renamed-"+model.LocalName(id))
			}
		}
		got := mustPlan(t, renamedConfig(c, to), snapshot)
		want := verdicts(plain)
		for old, id := range to {
			for _, suffix := range []string{"", plan.PendingSuffix} {
				if verdict, ok := want[old+suffix]; ok {
					delete(want, old+suffix)
					want[id+suffix] = verdict
				}
			}
		}
		if diff := cmp.Diff(want, verdicts(got)); diff != "" {
			t.Fatalf("renamed %v (-want +got):\n%s", to, diff)
		}
		if got.Moves == nil {
			return
		}
		commit(snapshot, got.Moves.Batch())
		again := mustPlan(t, renamedConfig(c, to), snapshot)
		if again.Moves != nil || digest(t, again) != digest(t, got) {
			t.Fatalf("DF-23: after the moves are recorded: %v; want the same plan, %v", verdicts(again), verdicts(got))
		}
	})
}

func renamedConfig(c *config, to map[string]string) *config {
	out := newConfig()
	for id, n := range c.nodes {
		next := *n
		if to[id] != "" {
			next.ID, next.Aliases = to[id], []string{model.LocalName(id)}
		}
		next.DependsOn = nil
		for _, up := range n.DependsOn {
			if to[up] != "" {
				up = to[up]
			}
			next.DependsOn = append(next.DependsOn, up)
		}
		next.Properties = renamedRefs(n.Properties, to).(map[string]any)
		out.nodes[next.ID] = &next
	}
	for _, o := range c.outputs {
		out.output(o.Key, renamedRefs(o.Value, to))
	}
	return out
}

func renamedRefs(v any, to map[string]string) any {
	if r, ok := model.AsReference(v); ok && to[r.NodeID] != "" {
		return ref(to[r.NodeID], r.Output)
	}
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = renamedRefs(v[i], to)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key := range v {
			out[key] = renamedRefs(v[key], to)
		}
		return out
	}
	return v
}
