package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// anyConfig draws a config of files and networks that refer to earlier ones, some by
// order alone, some in immutable fields.
func anyConfig(t *rapid.T) *config {
	c := newConfig()
	var files, vpcs []string
	for range rapid.IntRange(0, 8).Draw(t, "nodes") {
		content := any(rapid.SampledFrom([]string{"one", "two"}).Draw(t, "content"))
		var up string
		if len(files) > 0 && rapid.Bool().Draw(t, "reads") {
			up = rapid.SampledFrom(files).Draw(t, "upstream")
			content = ref(up, "checksum")
		}
		path := any(rapid.SampledFrom([]string{"p", "q"}).Draw(t, "path"))
		name := fmt.Sprintf("n%d", rapid.IntRange(0, 11).Draw(t, "name"))
		switch rapid.IntRange(0, 3).Draw(t, "shape") {
		case 0:
			if up != "" {
				path = model.Transform{Op: "concat", Args: []any{"by/", ref(up, "checksum")}}.Marker()
			}
			fallthrough
		case 1:
			id := "s:local.File:" + name
			if c.nodes[id] != nil || up == id {
				continue
			}
			n := c.add(id, map[string]any{"path": path, "content": content})
			if len(files) > 0 && rapid.IntRange(0, 2).Draw(t, "ordered") == 0 {
				n.DependsOn = []string{rapid.SampledFrom(files).Draw(t, "before")}
			}
			files = append(files, id)
		case 2:
			id := "s:aws.Vpc:" + name
			if c.nodes[id] == nil {
				c.add(id, map[string]any{"cidr_block": path, "tags": content})
				vpcs = append(vpcs, id)
			}
		case 3:
			id := "s:aws.Subnet:" + name
			if len(vpcs) > 0 && c.nodes[id] == nil {
				c.add(id, map[string]any{"vpc_id": ref(rapid.SampledFrom(vpcs).Draw(t, "vpc"), "vpc_id"), "cidr_block": "10.0.0.0/24", "tags": content})
			}
		}
	}
	for id := range c.nodes {
		if model.TypeOf(id) == "local.File" {
			c.output("s:"+model.LocalName(id), ref(id, "checksum"))
		}
	}
	slices.SortFunc(c.outputs, func(a, b ir.Output) int { return strings.Compare(a.Key, b.Key) })
	return c
}

// damage leaves a snapshot as crashes, drift and other configs may.
func damage(t *rapid.T, snapshot *state.Snapshot) {
	for _, id := range sortedIDs(snapshot) {
		row := *snapshot.Rows[id]
		snapshot.Rows[id] = &row
		switch rapid.IntRange(0, 9).Draw(t, "damage to "+id) {
		case 0:
			delete(snapshot.Rows, id)
		case 1:
			row.InputHash = ""
		case 2:
			row.Status = state.StatusCreating
			row.Outputs = map[string]any{}
		case 3:
			row.Properties = map[string]any{"path": "drifted", "content": "drifted"}
			row.InputHash = ""
		case 4:
			row.RefDigests = nil
		case 5:
			row.Outputs = map[string]any{"checksum": "moved", "vpc_id": "moved"}
		case 6:
			old := row
			row.Status = state.StatusCreating
			row.Outputs = map[string]any{}
			snapshot.Pending[id] = &state.PendingDestroy{NodeID: id, Row: &old, Mode: state.DestroyBeforeCreate}
		case 7:
			old := row
			snapshot.Pending[id] = &state.PendingDestroy{NodeID: id, Row: &old, Mode: state.CreateBeforeDestroy}
		}
	}
}

func sortedIDs(snapshot *state.Snapshot) []string {
	var ids []string
	for id := range snapshot.Rows {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// anySituation draws a config and a damaged snapshot of it or of another one.
func anySituation(t *rapid.T) (*config, *state.Snapshot) {
	c := anyConfig(t)
	snapshot := applied(t, c)
	damage(t, snapshot)
	if rapid.Bool().Draw(t, "edited") {
		c = anyConfig(t)
	}
	return c, snapshot
}

func TestConvergence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, snapshot := anySituation(t)
		perform(t, mustPlan(t, c, snapshot), snapshot)
		second := mustPlan(t, c, snapshot)
		if second.HasPending() || !second.Outputs.Empty() {
			t.Fatalf("T-047: the second plan is not idle:\n%s%+v", second.Text(), second.Outputs)
		}
	})
}

func TestDiffLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, snapshot := anySituation(t)
		p, again := mustPlan(t, c, snapshot), mustPlan(t, c, snapshot)
		if !cmp.Equal(p.Payload(), again.Payload()) || digest(t, p) != digest(t, again) {
			t.Fatal("T-049: two plans of one situation differ")
		}
		checkIDs(t, c, snapshot, p)
		checkStale(t, p)
		for i := range p.Changes {
			if ch := &p.Changes[i]; !slices.IsSorted(ch.ChangedFields) || !subset(ch.UpstreamMoved, ch.ChangedFields) {
				t.Fatalf("DF-2: fields of %s: %v, moved %v", ch.NodeID, ch.ChangedFields, ch.UpstreamMoved)
			}
		}
	})
}

// checkIDs holds T-050: one change per id of either side, and per half that is pending.
func checkIDs(t *rapid.T, c *config, snapshot *state.Snapshot, p *plan.Plan) {
	want := map[string]bool{}
	for id := range c.nodes {
		want[id] = true
	}
	for id := range snapshot.Rows {
		want[id] = true
	}
	for id := range snapshot.Pending {
		row := snapshot.Rows[id]
		if finishes := c.nodes[id] != nil && (row == nil || row.Status != state.StatusCreated); !finishes {
			want[id+plan.PendingSuffix] = true
		}
	}
	var got []string
	for i := range p.Changes {
		got = append(got, p.Changes[i].NodeID)
	}
	if !slices.IsSorted(got) || len(got) != len(want) {
		t.Fatalf("T-050: changes of %v; want %v", got, want)
	}
	for _, id := range got {
		if !want[id] {
			t.Fatalf("T-050: a change of %s", id)
		}
	}
}

// checkStale holds T-048: nothing that depends on a created or replaced node is idle.
func checkStale(t *rapid.T, p *plan.Plan) {
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.Desired == nil || c.Action != plan.Create && c.Action != plan.Replace {
			continue
		}
		for _, dependent := range p.Graph.Closure([]string{c.NodeID}, true) {
			if change(t, p, dependent).Action == plan.Noop {
				t.Fatalf("T-048: %s is made anew and %s stays idle", c.NodeID, dependent)
			}
		}
	}
}

func TestOneSidedDiffs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyConfig(t)
		for _, ch := range mustPlan(t, c, emptySnapshot()).Changes {
			if ch.Action != plan.Create {
				t.Fatalf("T-051: %s of %s against an empty state", ch.Action, ch.NodeID)
			}
		}
		snapshot := applied(t, c)
		destroy, err := plan.Destroy(snapshot, testSchemas(t), plan.Secrets{})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []*plan.Plan{destroy, mustPlan(t, newConfig(), snapshot)} {
			if len(p.Changes) != len(c.nodes) || len(p.Outputs.Retired) != len(c.outputs) {
				t.Fatalf("T-051: %d deletes and %v retired", len(p.Changes), p.Outputs.Retired)
			}
			for _, ch := range p.Changes {
				if ch.Action != plan.Delete {
					t.Fatalf("T-051: %s of %s with nothing declared", ch.Action, ch.NodeID)
				}
			}
		}
	})
}

func TestIgnoringEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, snapshot := anySituation(t)
		for _, n := range c.nodes {
			for field := range n.Properties {
				n.IgnoreChanges = append(n.IgnoreChanges, field)
			}
		}
		for _, ch := range mustPlan(t, c, snapshot).Changes {
			for _, field := range ch.ChangedFields {
				if _, declared := ch.Desired.Properties[field]; declared {
					t.Fatalf("T-038: %s lists the ignored field %s", ch.NodeID, field)
				}
			}
		}
	})
}

func subset(some, all []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

func digest(t fataler, p *plan.Plan) string {
	t.Helper()
	d, err := p.ChangesetDigest()
	if err != nil {
		t.Fatalf("%v", err)
	}
	return d
}
