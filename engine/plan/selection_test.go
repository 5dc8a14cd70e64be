package plan_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

func targeting(patterns ...string) func(in *plan.Input) {
	return func(in *plan.Input) { in.Targets = patterns }
}

func replacing(patterns ...string) func(in *plan.Input) {
	return func(in *plan.Input) { in.Replace = patterns }
}

// verdicts are what is pending of a plan, in words.
func verdicts(p *plan.Plan) map[string]string {
	got := map[string]string{}
	for i := range p.Changes {
		if c := &p.Changes[i]; c.Pending() {
			got[c.NodeID] = brief(c)
		}
	}
	return got
}

// edited is a network in which every node has something to do, one that is gone included.
func edited(t fataler) (*config, *state.Snapshot) {
	old := network()
	old.file("n:local.File:gone", "gone.txt", "x")
	snapshot := applied(t, old)
	c := network()
	c.nodes[vpcID].Properties["tags"] = "b"
	c.nodes[netID].Properties["tags"] = "b"
	c.nodes[fileID].Properties["content"] = "two"
	return c, snapshot
}

func TestTargets(t *testing.T) {
	const vpc, net, file, other = "update [tags]", "replace [tags vpc_id] conditional", "update [content]", "update [content]"
	for _, tc := range []struct {
		why     string
		targets []string
		rows    func(s *state.Snapshot)
		edit    func(c *config)
		wants   map[string]string
	}{
		{why: "GR-23 no pattern is no selection", wants: map[string]string{vpcID: vpc, netID: net, fileID: file, otherID: other, "n:local.File:gone": "delete"}},
		{why: "T-090 what a target depends on comes along, what depends on it does not", targets: []string{netID}, wants: map[string]string{vpcID: vpc, netID: net}},
		{why: "and not the other way round", targets: []string{vpcID}, wants: map[string]string{vpcID: vpc}},
		{why: "GR-23 ordering-only edges count", targets: []string{vpcID}, edit: func(c *config) { c.nodes[vpcID].DependsOn = []string{fileID} },
			wants: map[string]string{vpcID: vpc, fileID: file}},
		{why: "GR-23 what only the state knows comes alone", targets: []string{"*:gone"}, wants: map[string]string{"n:local.File:gone": "delete"}},
		{why: "T-092 a glob", targets: []string{"local.File:[fg]"}, wants: map[string]string{fileID: file, otherID: other}},
		{why: "EX-13 an old half goes with its node", targets: []string{fileID},
			rows: func(s *state.Snapshot) {
				interrupt(s, fileID, state.CreateBeforeDestroy, "old.txt")
				s.Rows[fileID].Status = state.StatusCreated
			},
			wants: map[string]string{fileID: file, fileID + plan.PendingSuffix: "delete"}},
		{why: "or alone", targets: []string{fileID + plan.PendingSuffix},
			rows: func(s *state.Snapshot) {
				interrupt(s, fileID, state.CreateBeforeDestroy, "old.txt")
				s.Rows[fileID].Status = state.StatusCreated
			},
			wants: map[string]string{fileID + plan.PendingSuffix: "delete"}},
		{why: "PL-3 a guard outside of it is no state-only change", targets: []string{vpcID}, edit: func(c *config) { c.nodes[otherID].PreventDestroy = true },
			wants: map[string]string{vpcID: vpc}},
		{why: "PL-1 a protected delete outside of it does not block", targets: []string{vpcID}, rows: func(s *state.Snapshot) { s.Rows["n:local.File:gone"].PreventDestroy = true },
			wants: map[string]string{vpcID: vpc}},
		{why: "PL-9 a stack output that is missing outside of it is not required", targets: []string{vpcID},
			edit:  func(c *config) { c.nodes[otherID].Properties["content"] = model.StackOutputMarker("net:zone") },
			wants: map[string]string{vpcID: vpc}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			c, snapshot := edited(t)
			if tc.rows != nil {
				tc.rows(snapshot)
			}
			if tc.edit != nil {
				tc.edit(c)
			}
			p := mustPlan(t, c, snapshot, targeting(tc.targets...))
			if diff := cmp.Diff(tc.wants, verdicts(p)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			for i := range p.Changes {
				if ch := &p.Changes[i]; tc.targets != nil && tc.wants[ch.NodeID] == "" && ch.Desired != nil && ch.Action != plan.Noop {
					t.Errorf("DF-18: %s is left out and carries %+v", ch.NodeID, ch)
				}
			}
		})
	}
}

// Another config that is left out of a run must find its nodes as they were.
func TestTargetedRunLeavesTheRest(t *testing.T) {
	c, snapshot := edited(t)
	before := maps.Clone(snapshot.Rows)
	perform(t, mustPlan(t, c, snapshot, targeting(vpcID)), snapshot)
	for _, id := range []string{netID, fileID, otherID} {
		if snapshot.Rows[id] != before[id] {
			t.Errorf("T-089: the row of %s was written", id)
		}
	}
	if got := verdicts(mustPlan(t, c, snapshot)); got[fileID] == "" || got[netID] == "" || got[vpcID] != "" {
		t.Errorf("T-089: the full plan after it: %v", got)
	}
}

func TestTargetsThatMatchNothing(t *testing.T) {
	c, snapshot := edited(t)
	for _, with := range []func(*plan.Input){targeting("n:*", "x:*"), replacing("x:*")} {
		_, err := c.plan(t, snapshot, with)
		checkRefusal(t, err, model.TargetError, "x:*")
	}
	_, err := plan.DestroyTargets(snapshot, testSchemas(t), []string{"x:*"}, plan.Secrets{})
	checkRefusal(t, err, model.TargetError, "x:*")
}

func TestReplace(t *testing.T) {
	for _, tc := range []struct {
		why     string
		replace []string
		targets []string
		rows    func(s *state.Snapshot)
		edit    func(c *config)
		wants   map[string]string
	}{
		{why: "T-057, X-1: dependents of a forced node are looked at again, and with it alone nothing else is replaced", replace: []string{fileID},
			wants: map[string]string{fileID: "replace [(forced)]", otherID: "update [content]"}},
		{why: "T-056 what it depends on is not", replace: []string{otherID}, wants: map[string]string{otherID: "replace [(forced)]"}},
		{why: "DF-16 what changes anyway", replace: []string{fileID}, edit: func(c *config) { c.nodes[fileID].Properties["content"] = "two" },
			wants: map[string]string{fileID: "replace [(forced)]", otherID: "update [content]"}},
		{why: "DF-16 a replace keeps its reasons", replace: []string{fileID}, edit: func(c *config) { c.nodes[fileID].Properties["path"] = "moved.txt" },
			wants: map[string]string{fileID: "replace [path]", otherID: "update [content]"}},
		{why: "DF-20 and is certain: whoever asks for it gets it, though an upstream changes too", replace: []string{netID},
			rows: func(s *state.Snapshot) { s.Rows[vpcID].Outputs["vpc_id"] = "other" }, edit: func(c *config) { c.nodes[vpcID].Properties["tags"] = "b" },
			wants: map[string]string{vpcID: "update [tags]", netID: "replace [vpc_id]"}},
		{why: "nor does it become less than a replace", replace: []string{netID},
			rows: func(s *state.Snapshot) {
				s.Rows[vpcID].Outputs["vpc_id"] = "other"
				s.Rows[netID].InputHash = ""
			},
			edit:  func(c *config) { c.nodes[vpcID].Properties["tags"] = "b" },
			wants: map[string]string{vpcID: "update [tags]", netID: "replace [(forced)]"}},
		{why: "DF-16 a create stays one", replace: []string{fileID}, rows: func(s *state.Snapshot) { delete(s.Rows, fileID) },
			wants: map[string]string{fileID: "create", otherID: "update [content]"}},
		{why: "DF-16 what was left half made is replaced", replace: []string{fileID}, rows: func(s *state.Snapshot) { s.Rows[fileID].Status = state.StatusCreating },
			wants: map[string]string{fileID: "replace [(forced)]", otherID: "update [content]"}},
		{why: "DF-16 a delete is never revived", replace: []string{otherID}, edit: func(c *config) { delete(c.nodes, otherID) },
			wants: map[string]string{otherID: "delete"}},
		{why: "EX-13 an interrupted replace stays what it was", replace: []string{fileID}, rows: func(s *state.Snapshot) { interrupt(s, fileID, state.DestroyBeforeCreate, "old.txt") },
			wants: map[string]string{fileID: "replace [path]", otherID: "update [content]"}},
		{why: "DF-19 outside the targets nothing is forced", replace: []string{fileID, vpcID}, targets: []string{vpcID},
			wants: map[string]string{vpcID: "replace [(forced)]"}},
		{why: "DF-17, X-19: a data source is read again", replace: []string{"n:aws.Zones:z"},
			wants: map[string]string{"n:aws.Zones:z": "update [(forced)]"}},
		{why: "a data source that was never read is", replace: []string{"n:aws.Zones:z"}, rows: func(s *state.Snapshot) { s.Rows["n:aws.Zones:z"].Status = state.StatusCreating },
			wants: map[string]string{"n:aws.Zones:z": "create"}},
		{why: "DF-31 a dependent in an immutable field is certain behind it", replace: []string{vpcID},
			wants: map[string]string{vpcID: "replace [(forced)]", netID: "replace [vpc_id]"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			declare := func() *config {
				c := network()
				c.add("n:aws.Zones:z", map[string]any{"state": "available"}).Kind = model.KindData
				return c
			}
			snapshot := applied(t, declare())
			c := declare()
			if tc.rows != nil {
				tc.rows(snapshot)
			}
			if tc.edit != nil {
				tc.edit(c)
			}
			p := mustPlan(t, c, snapshot, replacing(tc.replace...), targeting(tc.targets...))
			if diff := cmp.Diff(tc.wants, verdicts(p)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestForcedReplaceOfProtectedNode(t *testing.T) {
	c := network()
	c.nodes[fileID].PreventDestroy = true
	_, err := c.plan(t, applied(t, network()), replacing(fileID))
	checkRefusal(t, err, model.PreventDestroyError, fileID)
}

// environments is a config of two environments and what they share, compiled for some of
// them.
func environments(selected ...string) *config {
	c := newConfig()
	c.declared, c.selected = []string{"dev", "prod"}, selected
	base := c.file("common:local.File:base", "base.txt", "base").ID
	for _, env := range selected {
		id := env + ":local.File:f"
		c.file(id, env+".txt", ref(base, "checksum"))
		c.output(env+":sum", ref(id, "checksum"))
	}
	return c
}

func TestEnvironments(t *testing.T) {
	touched := func(c *config) *config {
		c.nodes["common:local.File:base"].Properties["content"] = "two"
		return c
	}
	gone := func(s *state.Snapshot) {
		s.Rows["legacy:local.File:x"] = &state.Row{ID: "legacy:local.File:x", Type: "local.File", Status: state.StatusCreated}
	}
	for _, tc := range []struct {
		why     string
		config  *config
		targets []string
		rows    func(s *state.Snapshot)
		wants   map[string]string
	}{
		{why: "T-094a all of them", config: touched(environments("dev", "prod")), wants: map[string]string{
			"common:local.File:base": "update [content]", "dev:local.File:f": "update [content]", "prod:local.File:f": "update [content]"}},
		{why: "T-095 the other one stays as it is", config: touched(environments("dev")), wants: map[string]string{
			"common:local.File:base": "update [content]", "dev:local.File:f": "update [content]"}},
		{why: "T-096a a stack that is no environment is in scope, also to be deleted", config: environments("dev"), rows: gone,
			wants: map[string]string{"legacy:local.File:x": "delete"}},
		{why: "T-096b target and environment intersect", config: touched(environments("dev")), targets: []string{"*:local.File:f"}, wants: map[string]string{
			"common:local.File:base": "update [content]", "dev:local.File:f": "update [content]"}},
		{why: "a stack of its name is left out as well", config: func() *config {
			c := environments("dev")
			c.file("prod:local.File:extra", "e", "e")
			return c
		}(), wants: map[string]string{}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			snapshot := applied(t, environments("dev", "prod"))
			if tc.rows != nil {
				tc.rows(snapshot)
			}
			p := mustPlan(t, tc.config, snapshot, targeting(tc.targets...))
			if diff := cmp.Diff(tc.wants, verdicts(p)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if len(p.Outputs.Retired) > 0 {
				t.Errorf("EX-21, X-15: retired %v", p.Outputs.Retired)
			}
		})
	}
}

func TestTargetLeftOutByEnvironment(t *testing.T) {
	snapshot := applied(t, environments("dev", "prod"))
	_, err := environments("dev").plan(t, snapshot, targeting("prod:*"))
	checkRefusal(t, err, model.TargetError, "prod:local.File:f", "environment filter", "dev is selected of dev, prod")
}

// EX-21: which committed outputs a run retires.
func TestRetiredOutputs(t *testing.T) {
	const made = "n:made"
	for _, tc := range []struct {
		why   string
		plan  func(t *testing.T, s *state.Snapshot) (*plan.Plan, error)
		wants []string
	}{
		{"a whole destroy takes them all", func(t *testing.T, s *state.Snapshot) (*plan.Plan, error) {
			return plan.Destroy(s, testSchemas(t), plan.Secrets{})
		},
			[]string{made, "n:literal", "other:kept"}},
		{"X-15: a targeted one those that were made from what goes", func(t *testing.T, s *state.Snapshot) (*plan.Plan, error) {
			return plan.DestroyTargets(s, testSchemas(t), []string{otherID}, plan.Secrets{})
		}, []string{made}},
		{"and those of a stack that is left without a row", func(t *testing.T, s *state.Snapshot) (*plan.Plan, error) {
			return plan.DestroyTargets(s, testSchemas(t), []string{"other:*"}, plan.Secrets{})
		}, []string{"other:kept"}},
		{"a narrowed run those of its own stacks that are not declared any more", func(t *testing.T, s *state.Snapshot) (*plan.Plan, error) {
			return network().plan(t, s, targeting("n:*"))
		}, []string{"n:literal", made}},
		{"a whole one those of stacks that go as well", func(t *testing.T, s *state.Snapshot) (*plan.Plan, error) { return network().plan(t, s) },
			[]string{"n:literal", made, "other:kept"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			c := network()
			c.file("other:local.File:x", "x", "x")
			snapshot := applied(t, c)
			snapshot.Outputs[made] = state.Output{Value: "v", SourceNodes: []string{otherID}}
			snapshot.Outputs["n:literal"] = state.Output{Value: "v"}
			snapshot.Outputs["other:kept"] = state.Output{Value: "v", SourceNodes: []string{"other:local.File:x"}}
			p, err := tc.plan(t, snapshot)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(tc.wants)
			if !slices.Equal(p.Outputs.Retired, tc.wants) {
				t.Errorf("retired %v; want %v", p.Outputs.Retired, tc.wants)
			}
		})
	}
}

func TestDestroyTargets(t *testing.T) {
	for _, tc := range []struct {
		why    string
		target string
		rows   func(s *state.Snapshot)
		wants  []string
	}{
		{why: "GR-26 with what depends on it", target: vpcID, wants: []string{netID, vpcID}},
		{why: "GR-26 by ordering too", target: fileID, rows: func(s *state.Snapshot) { s.Rows[netID].DependsOn = []string{fileID} }, wants: []string{netID, fileID, otherID}},
		{why: "an edge to what is gone is dropped", target: netID, rows: func(s *state.Snapshot) { delete(s.Rows, vpcID) }, wants: []string{netID}},
		{why: "an old half with its node", target: fileID, rows: func(s *state.Snapshot) { interrupt(s, fileID, state.DestroyBeforeCreate, "old.txt") },
			wants: []string{fileID, fileID + plan.PendingSuffix, otherID}},
		{why: "an old half that replaced nothing yet with its dependents", target: fileID + plan.PendingSuffix,
			rows: func(s *state.Snapshot) {
				interrupt(s, fileID, state.DestroyBeforeCreate, "old.txt")
				delete(s.Rows, fileID)
			},
			wants: []string{fileID + plan.PendingSuffix, otherID}},
		{why: "a protected node elsewhere does not matter", target: netID, rows: func(s *state.Snapshot) { s.Rows[fileID].PreventDestroy = true }, wants: []string{netID}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			snapshot := applied(t, network())
			if tc.rows != nil {
				tc.rows(snapshot)
			}
			p, err := plan.DestroyTargets(snapshot, testSchemas(t), []string{tc.target}, plan.Secrets{})
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.Sorted(maps.Keys(verdicts(p))); !slices.Equal(got, tc.wants) {
				t.Errorf("deletes %v; want %v", got, tc.wants)
			}
		})
	}
}

// T-053: restricting keeps exactly the selected part, twice is once, to everything is
// nothing.
func TestRestrictLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, snapshot := anySituation(t)
		whole := mustPlan(t, c, snapshot).Changes
		kept := map[string]bool{}
		for i := range whole {
			kept[whole[i].NodeID] = rapid.Bool().Draw(t, "kept")
		}
		some := slices.Clone(whole)
		plan.Restrict(some, func(id string) bool { return kept[id] })
		for i := range some {
			if kept[some[i].NodeID] != same(&some[i], &whole[i]) && whole[i].Desired != nil {
				t.Fatalf("restricted to %v, %s is %+v", kept, some[i].NodeID, some[i])
			}
			if !kept[some[i].NodeID] && !same(&some[i], &plan.Change{NodeID: some[i].NodeID, Action: plan.Noop}) {
				t.Fatalf("%s is left out and no bare noop: %+v", some[i].NodeID, some[i])
			}
		}
		again := slices.Clone(some)
		plan.Restrict(again, func(id string) bool { return kept[id] })
		plan.Restrict(whole, func(string) bool { return true })
		for i := range again {
			if !same(&again[i], &some[i]) || whole[i].Action == plan.Noop && whole[i].Desired == nil {
				t.Fatalf("restricting twice, or to everything, changed %s", again[i].NodeID)
			}
		}
	})
}

func same(a, b *plan.Change) bool {
	return cmp.Equal(a, b, cmpopts.EquateEmpty())
}

// T-054: a forced replace never acts outside the targets.
func TestForceAndRestrictLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, snapshot := anySituation(t)
		ids := idsOf(c, snapshot)
		if len(ids) == 0 {
			return
		}
		target := rapid.SampledFrom(ids).Draw(t, "target")
		force := rapid.SliceOfN(rapid.SampledFrom(ids), 1, 3).Draw(t, "force")
		p := mustPlan(t, c, snapshot, targeting(target), replacing(force...))
		reach := p.Graph.Closure([]string{target}, false)
		for id := range verdicts(p) {
			if base := strings.TrimSuffix(id, plan.PendingSuffix); base != strings.TrimSuffix(target, plan.PendingSuffix) && !slices.Contains(reach, base) {
				t.Fatalf("%s is outside of %s", id, target)
			}
		}
	})
}

// T-055: forcing twice is forcing once, what neither is forced nor depends on that is as
// without, and a delete stays one.
func TestForceLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, snapshot := anySituation(t)
		ids := idsOf(c, snapshot)
		if len(ids) == 0 {
			return
		}
		force := rapid.SliceOfNDistinct(rapid.SampledFrom(ids), 1, 3, rapid.ID[string]).Draw(t, "force")
		plain := mustPlan(t, c, snapshot)
		once := mustPlan(t, c, snapshot, replacing(force...))
		twice := mustPlan(t, c, snapshot, replacing(slices.Concat(force, force)...))
		if diff := cmp.Diff(once.Payload(), twice.Payload()); diff != "" {
			t.Fatalf("forced twice:\n%s", diff)
		}
		reached := once.Graph.Closure(force, true)
		for i := range once.Changes {
			got, before := &once.Changes[i], &plain.Changes[i]
			if !slices.Contains(reached, got.NodeID) && !same(got, before) {
				t.Fatalf("%s has nothing to do with %v: %+v; want %+v", got.NodeID, force, got, before)
			}
			if before.Action == plan.Delete && got.Action != plan.Delete {
				t.Fatalf("the delete of %s became a %s", got.NodeID, got.Action)
			}
			if forced := slices.Contains(force, got.NodeID) && got.Desired != nil; forced && got.Action != plan.Create && (got.Action != plan.Replace || got.Conditional) {
				t.Fatalf("%s was to be replaced: %+v", got.NodeID, got)
			}
		}
	})
}

// idsOf are what patterns may name.
func idsOf(c *config, snapshot *state.Snapshot) []string {
	ids := map[string]bool{}
	for id := range c.nodes {
		ids[id] = true
	}
	for id := range snapshot.Rows {
		ids[id] = true
	}
	return slices.Sorted(maps.Keys(ids))
}

// A narrowed plan says so, and a whole one nothing (T-091, T-096e).
func TestNarrowingIsShown(t *testing.T) {
	snapshot := applied(t, environments("dev", "prod"))
	for _, tc := range []struct {
		config *config
		with   func(in *plan.Input)
		wants  []string
		not    []string
	}{
		{environments("dev", "prod"), targeting(), nil, []string{"targeting", "envs:"}},
		{environments("dev"), targeting("dev:*"), []string{"envs: dev (of dev, prod) — prod is not planned and will not change\n",
			"targeting 0 change(s) across 2 resource(s) — a subset, by dev:*; nothing else is planned\n"}, nil},
		{environments("dev", "prod"), replacing("dev:local.File:f"), []string{"planning 1 change(s) across 3 resource(s) — dev:local.File:f is replaced on demand\n",
			"      (forced): None → None\n"}, []string{"envs:", "subset", "targeting"}},
		{environments("dev", "prod"), func(in *plan.Input) { targeting("prod:*")(in); replacing("dev:*", "prod:*")(in) },
			[]string{"; nothing else is planned — prod:* is replaced on demand — dev:* is outside of it and not replaced\n", "Plan: 1 to change, 1 unchanged\n"},
			[]string{"dev ──"}},
	} {
		text := mustPlan(t, tc.config, snapshot, tc.with).Text()
		for _, want := range tc.wants {
			if !strings.Contains(text, want) {
				t.Errorf("the text lacks %q:\n%s", want, text)
			}
		}
		for _, not := range tc.not {
			if strings.Contains(text, not) {
				t.Errorf("the text holds %q:\n%s", not, text)
			}
		}
	}
}

// A subset shows no output that belongs to what it leaves out.
func TestOutputsOfASubset(t *testing.T) {
	c := environments("dev", "prod")
	c.output("dev:text", "x")
	text := mustPlan(t, c, emptySnapshot(), targeting("prod:*")).Text()
	for line, shown := range map[string]bool{"  prod:sum = (known after apply)\n": true, "  dev:text = 'x'\n": true, "dev:sum": false, "local.File:f": true, "dev ──": false} {
		if strings.Contains(text, line) != shown {
			t.Errorf("%q shown: %t, want %t:\n%s", line, !shown, shown, text)
		}
	}
}
