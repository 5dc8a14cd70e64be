package plan_test

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// situation is a plan in the making, with something to do for every kind of entry.
type situation struct {
	targets  []string
	replace  []string
	checker  plan.PolicyChecker
	config   *config
	snapshot *state.Snapshot
	compiled func(c *ir.Compilation) // edits what was compiled
	planned  func(p *plan.Plan)      // edits what was planned
}

func newSituation(t *testing.T) *situation {
	declare := func() *config {
		c := network()
		c.output("n:sum", ref(fileID, "checksum"))
		c.inputs = map[string]any{"size": int64(1)}
		c.nodes[netID].Properties["tags"] = model.StackOutputMarker("net:zone")
		return c
	}
	snapshot := emptySnapshot()
	snapshot.Outputs["net:zone"] = state.Output{Value: "a"}
	perform(t, mustPlan(t, declare(), snapshot), snapshot)
	snapshot.Outputs["net:zone"] = state.Output{Value: "a"}
	snapshot.Outputs["n:old"] = state.Output{Value: "v"}
	c := declare()
	c.nodes[fileID].Properties["content"] = "two"
	c.nodes[fileID].IgnoreChanges = []string{"path"}
	c.nodes[netID].Properties["cidr_block"] = "10.0.7.0/24"
	c.nodes[vpcID].PreventDestroy = true
	interrupt(snapshot, otherID, state.DestroyBeforeCreate, "old.txt")
	c.policies = []ir.PolicyBinding{{Name: "p", Level: "mandatory", Params: map[string]any{"keys": "a"}}}
	return &situation{config: c, snapshot: snapshot}
}

func (s *situation) digest(t *testing.T) string {
	t.Helper()
	compilation, g := s.config.compile(t)
	if s.compiled != nil {
		s.compiled(compilation)
	}
	p, err := plan.New(plan.Input{
		Compilation: compilation, Graph: g, Snapshot: s.snapshot, Schemas: testSchemas(t), OnFailure: plan.OnFailureHalt,
		Targets: s.targets, Replace: s.replace, Policies: s.checker,
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.planned != nil {
		s.planned(p)
	}
	return digest(t, p)
}

func TestChangesetDigest(t *testing.T) {
	edit := func(id, field string, value any) func(*situation) {
		return func(s *situation) { s.config.nodes[id].Properties[field] = value }
	}
	row := func(edit func(r *state.Row)) func(*situation) {
		return func(s *situation) { edit(s.snapshot.Rows[netID]) }
	}
	changed := func(id string, edit func(c *plan.Change)) func(*situation) {
		return func(s *situation) {
			s.planned = func(p *plan.Plan) {
				for i := range p.Changes {
					if p.Changes[i].NodeID == id {
						edit(&p.Changes[i])
					}
				}
			}
		}
	}
	planned := func(edit func(p *plan.Plan)) func(*situation) { return func(s *situation) { s.planned = edit } }
	compiled := func(edit func(c *ir.Compilation)) func(*situation) { return func(s *situation) { s.compiled = edit } }
	for _, tc := range []struct {
		why   string
		edit  func(s *situation)
		moves bool
	}{
		{"inputs", func(s *situation) { s.config.inputs["size"] = int64(2) }, true},
		{"envs", compiled(func(c *ir.Compilation) { c.EnvsDeclared, c.EnvsSelected = []string{"dev"}, []string{"dev"} }), true},
		{"targets, though they match everything", func(s *situation) { s.targets = []string{"*"} }, true},
		{"replace, though that is replaced anyway", func(s *situation) { s.replace = []string{netID} }, true},
		{"failure mode", planned(func(p *plan.Plan) { p.OnFailure = plan.OnFailureRollback }), true},
		{"pins", compiled(func(c *ir.Compilation) { c.Pins = map[string]string{"local": "2.0.0"} }), true},
		{"a node's id", func(s *situation) { s.config.file("n:local.File:new", "x", "x") }, true},
		{"action", changed(netID, func(c *plan.Change) { c.Action = plan.Update }), true},
		{"changed fields", changed(netID, func(c *plan.Change) { c.ChangedFields = []string{"tags"} }), true},
		{"conditional", changed(netID, func(c *plan.Change) { c.Conditional = true }), true},
		{"create before destroy", changed(netID, func(c *plan.Change) { c.CreateBeforeDestroy = true }), true},
		{"state only", changed(vpcID, func(c *plan.Change) { c.StateOnly, c.Action = false, plan.Update }), true},
		{"desired value", edit(fileID, "content", "three"), true},
		{"desired value of an ignored field, which a provider is handed too (DF-28)", edit(fileID, "path", "elsewhere.txt"), true},
		{"guard", func(s *situation) { s.config.nodes[fileID].PreventDestroy = true }, true},
		{"prior: type", row(func(r *state.Row) { r.Type = "aws.Other" }), true},
		{"prior: provider", row(func(r *state.Row) { r.Provider = "other" }), true},
		{"prior: hash", row(func(r *state.Row) { r.InputHash = "0" }), true},
		{"prior: outputs", row(func(r *state.Row) { r.Outputs = map[string]any{"id": "x"} }), true},
		{"prior: an output that canonical JSON cannot hold", row(func(r *state.Row) { r.Outputs = map[string]any{"id": int64(1) << 60} }), true},
		{"prior: properties", row(func(r *state.Row) { r.Properties = map[string]any{"cidr_block": "x"} }), true},
		{"prior: dependencies", row(func(r *state.Row) { r.Dependencies = nil }), true},
		{"prior: ordering", row(func(r *state.Row) { r.DependsOn = []string{fileID} }), true},
		{"prior: guard", func(s *situation) { s.snapshot.Rows[netID].PreventDestroy = true }, true},
		{"prior: status", row(func(r *state.Row) { r.Status = state.StatusCreating }), true},
		{"prior: reference digests", row(func(r *state.Row) { r.RefDigests = nil }), true},
		{"prior: secret digests", row(func(r *state.Row) { r.SecretDigests = map[string]string{"a": "b"} }), true},
		{"pending destroy: mode", func(s *situation) { s.snapshot.Pending[otherID].Mode = state.CreateBeforeDestroy }, true},
		{"pending destroy: content", func(s *situation) { s.snapshot.Pending[otherID].Row.Outputs = map[string]any{"checksum": "x"} }, true},
		{"policy: another", func(s *situation) { s.config.policies[0].Name = "q" }, true},
		{"policy: parameters", func(s *situation) { s.config.policies[0].Params["keys"] = "b" }, true},
		{"policy: types", func(s *situation) { s.config.policies[0].Types = []string{"local.File"} }, true},
		{"policy: result", planned(func(p *plan.Plan) { p.Violations = []plan.Violation{{Policy: "p"}} }), true},
		{"policy: result by a checker", func(s *situation) { s.checker = judged("p", "d", plan.PolicyViolated) }, true},
		{"outputs: set", func(s *situation) { s.config.output("n:more", "x") }, true},
		{"outputs: set to another value", planned(func(p *plan.Plan) { p.Outputs.Set["n:sum"] = "x" }), true},
		{"outputs: retired", func(s *situation) { delete(s.snapshot.Outputs, "n:old") }, true},
		{"consumed stack output", func(s *situation) { s.snapshot.Outputs["net:zone"] = state.Output{Value: "b"} }, true},

		{"consumed stack output that an output passes on", func(s *situation) {
			s.config.output("n:passed", model.StackOutputMarker("net:zone"))
		}, true},

		{"consumed stack output that canonical JSON cannot hold", func(s *situation) {
			s.snapshot.Outputs["net:zone"] = state.Output{Value: int64(1<<53 + 1)}
		}, true},
		{"an output that nothing in the run makes known", func(s *situation) { s.config.output("n:lost", ref(vpcID, "nope")) }, true},

		{"nothing", func(*situation) {}, false},
		{"serial", func(s *situation) { s.snapshot.Serial += 7 }, false},
		{"who wrote a row, when and in which try", row(func(r *state.Row) {
			r.UpdatedAt, r.Epoch, r.RowUID, r.Attempt = time.Unix(1, 0), 9, "uid", "try"
		}), false},
		{"the row of an idle node", func(s *situation) { s.snapshot.Rows["x:local.File:y"] = nil; delete(s.snapshot.Rows, "x:local.File:y") }, false},
		{"order of keys", func(s *situation) {
			s.config.nodes[fileID].Properties = map[string]any{"content": "two", "path": "f.txt"}
		}, false},
		{"an integral float for an integer", func(s *situation) { s.config.inputs["size"] = 1.0 }, false},
		{"order of declaration", func(s *situation) {
			s.config.nodes[fileID] = s.config.add(fileID, s.config.nodes[fileID].Properties)
			s.config.nodes[fileID].IgnoreChanges = []string{"path"}
		}, false},
		{"warnings", planned(func(p *plan.Plan) { p.Warnings = []string{"x"} }), false},
		{"compile warnings", compiled(func(c *ir.Compilation) { c.Warnings = []string{"x"} }), false},
	} {
		t.Run(tc.why, func(t *testing.T) {
			before := newSituation(t).digest(t)
			after := newSituation(t)
			tc.edit(after)
			if got := after.digest(t); (got != before) != tc.moves {
				t.Errorf("digest moved: %t; want %t", got != before, tc.moves)
			}
			if !strings.HasPrefix(before, "sha256:") || len(before) != len("sha256:")+64 {
				t.Errorf("digest %q", before)
			}
		})
	}
}

// What an output asks for is covered also where it cannot be told what it gives.
func TestUnresolvedOutputsInTheDigest(t *testing.T) {
	digests := map[string]bool{}
	for _, output := range []string{"nope", "neither", "nope"} {
		s := newSituation(t)
		s.config.output("n:lost", ref(vpcID, output))
		s.planned = func(p *plan.Plan) {
			if _, unresolved := p.Outputs.Unresolved["n:lost"]; !unresolved || p.Outputs.Set["n:lost"] != nil {
				t.Errorf("%s: %+v", output, p.Outputs)
			}
		}
		digests[s.digest(t)] = true
	}
	if len(digests) != 2 {
		t.Errorf("two expressions have %d digests", len(digests))
	}
}

// A value without a digest is told by where it stands.
func TestDigestNamesWhatHasNone(t *testing.T) {
	for where, edit := range map[string]func(p *plan.Plan){
		"net:zone": func(p *plan.Plan) { p.Snapshot.Outputs["net:zone"] = state.Output{Value: math.NaN()} },
		fileID:     func(p *plan.Plan) { change(t, p, fileID).Prior.Outputs = map[string]any{"checksum": math.NaN()} },
	} {
		s := newSituation(t)
		compilation, g := s.config.compile(t)
		p, err := plan.New(plan.Input{Compilation: compilation, Graph: g, Snapshot: s.snapshot, Schemas: testSchemas(t), OnFailure: plan.OnFailureHalt})
		if err != nil {
			t.Fatal(err)
		}
		edit(p)
		if _, err := p.ChangesetDigest(); err == nil || !strings.Contains(err.Error(), where) {
			t.Errorf("%s: error %v", where, err)
		}
	}
}

func judged(name, digest, result string) *judge {
	return &judge{verdict: plan.PolicyVerdict{Results: []plan.PolicyResult{{Name: name, Digest: digest, Result: result}}}}
}

// What a checker demands and finds is covered, in its order; its words are not.
func TestPoliciesInTheDigest(t *testing.T) {
	base := judged("p", "d", plan.PolicyPassed)
	two := judged("p", "d", plan.PolicyPassed)
	two.verdict.Results = append(two.verdict.Results, plan.PolicyResult{Name: "q", Digest: "d", Result: plan.PolicyPassed})
	worded := judged("p", "d", plan.PolicyPassed)
	worded.verdict.Violations = []plan.Violation{{Policy: "p", Level: plan.LevelAdvisory, NodeID: fileID, Message: "any words"}}
	digestWith := func(j *judge) string {
		s := newSituation(t)
		s.checker = j
		return s.digest(t)
	}
	want := digestWith(base)
	for why, tc := range map[string]struct {
		checker *judge
		moves   bool
	}{
		"the same":        {judged("p", "d", plan.PolicyPassed), false},
		"name":            {judged("q", "d", plan.PolicyPassed), true},
		"what it demands": {judged("p", "e", plan.PolicyPassed), true},
		"result":          {judged("p", "d", plan.PolicyViolated), true},
		"one more":        {two, true},
		"words":           {worded, false},
	} {
		if moved := digestWith(tc.checker) != want; moved != tc.moves {
			t.Errorf("%s: digest moved: %t; want %t", why, moved, tc.moves)
		}
	}
}

// The order in which patterns are given, and a repetition, say nothing.
func TestPatternsInTheDigest(t *testing.T) {
	with := func(targets, replace []string) string {
		s := newSituation(t)
		s.targets, s.replace = targets, replace
		return s.digest(t)
	}
	a, b := []string{netID, fileID}, []string{fileID, netID, fileID}
	if with(a, a) != with(b, b) {
		t.Error("the digest depends on the order of the patterns")
	}
	if with(a, nil) == with(nil, a) || with(a, nil) == with(a[:1], nil) {
		t.Error("other patterns give the same digest")
	}
}

// AP-33 names the keys. Each of them counts by itself.
func TestChangesetKeys(t *testing.T) {
	s := newSituation(t)
	body, err := mustPlan(t, s.config, s.snapshot).Body()
	if err != nil {
		t.Fatal(err)
	}
	read := func() map[string]any {
		record, err := model.DecodeJSON(body)
		if err != nil {
			t.Fatal(err)
		}
		return record.(map[string]any)["changeset"].(map[string]any)
	}
	keys := func(m any) []string { return slices.Sorted(maps.Keys(m.(map[string]any))) }
	changeset := read()
	for where, pair := range map[string][2][]string{
		"changeset": {keys(changeset), {"envs", "external", "format", "inputs", "nodes", "onFailure", "outputs", "pins", "policies", "replace", "targets"}},
		"envs":      {keys(changeset["envs"]), {"declared", "selected"}},
		"outputs":   {keys(changeset["outputs"]), {"retired", "set"}},
		"policies":  {keys(changeset["policies"].([]any)[0]), {"digest", "name", "result"}},
		"nodes": {keys(changeset["nodes"].([]any)[0]), {
			"action", "changedFields", "conditional", "createBeforeDestroy", "desired", "guard", "id", "prior", "stateOnly",
		}},
	} {
		if !slices.Equal(pair[0], pair[1]) {
			t.Errorf("%s has the keys %v; want %v", where, pair[0], pair[1])
		}
	}
	whole, err := ir.Digest(changeset)
	if err != nil {
		t.Fatal(err)
	}
	moves := func(where string, at func(c map[string]any) map[string]any, key string) {
		other := read()
		at(other)[key] = "something else"
		if digest, err := ir.Digest(other); err != nil || digest == whole {
			t.Errorf("%s.%s does not move the digest, %v", where, key, err)
		}
	}
	for key := range changeset {
		moves("changeset", func(c map[string]any) map[string]any { return c }, key)
	}
	for _, list := range []string{"nodes", "policies"} {
		first := func(c map[string]any) map[string]any { return c[list].([]any)[0].(map[string]any) }
		for key := range first(changeset) {
			moves(list, first, key)
		}
	}
}

func TestIdleNodesAreNotInTheDigest(t *testing.T) {
	change := func(t *testing.T, outputs map[string]any) string {
		snapshot := applied(t, network())
		snapshot.Rows[vpcID].Outputs["note"] = outputs["note"]
		c := network()
		c.nodes[fileID].Properties["content"] = "two"
		return digest(t, mustPlan(t, c, snapshot))
	}
	if change(t, map[string]any{"note": "a"}) != change(t, map[string]any{"note": "b"}) {
		t.Error("the row of a node with nothing to do moved the digest")
	}
}

func TestBody(t *testing.T) {
	s := newSituation(t)
	p := mustPlan(t, s.config, s.snapshot)
	body, err := p.Body()
	if err != nil {
		t.Fatal(err)
	}
	value, err := model.DecodeJSON(body)
	if err != nil {
		t.Fatal(err)
	}
	record := value.(map[string]any)
	if diff := cmp.Diff(any(p.Payload()), record["plan"]); diff != "" {
		t.Errorf("payload (-want +got):\n%s", diff)
	}
	if record["text"] != p.Text() {
		t.Error("the body does not hold the text that was shown")
	}
	if hash, err := ir.Digest(record["changeset"]); err != nil || "sha256:"+hash != digest(t, p) {
		t.Errorf("the stored changeset gives %s, %v; want the plan's digest", hash, err)
	}
	if again, err := p.Body(); err != nil || !bytes.Equal(again, body) {
		t.Errorf("a second body differs, %v", err)
	}
}

func TestDrift(t *testing.T) {
	approved := func(t *testing.T) *plan.Plan {
		c := network()
		c.nodes[fileID].Properties["content"] = "two"
		return mustPlan(t, c, applied(t, network()))
	}
	for _, tc := range []struct {
		why   string
		rows  func(s *state.Snapshot)
		edit  func(c *config)
		texts []string // nil: no drift
	}{
		{why: "T-075 the same again", rows: func(s *state.Snapshot) { s.Serial = 99; s.Rows[vpcID].Epoch = 5 }},
		{why: "T-074 a new entry", edit: func(c *config) { delete(c.nodes, netID) }, texts: []string{"now also: delete " + netID, "re-run"}},
		{why: "T-073 an entry gone", edit: func(c *config) { c.nodes[fileID].Properties["content"] = "one" }, texts: []string{"no longer: update " + fileID + " [content]"}},
		{why: "with its tags", edit: func(c *config) { c.nodes[vpcID].Properties["tags"] = "b" },
			texts: []string{"replace " + netID + " [vpc_id] (known after apply); update " + vpcID + " [tags]"}},
		{why: "create first", edit: func(c *config) {
			c.nodes[netID].Properties["cidr_block"] = "x"
			c.nodes[netID].CreateBeforeDestroy = true
		},
			texts: []string{"replace " + netID + " [cidr_block] create-before-destroy"}},
		{why: "state-only is in", edit: func(c *config) { c.nodes[vpcID].PreventDestroy = true }, texts: []string{"now also: state-only " + vpcID}},
		{why: "PL-22, X-28: another value under the same entry", edit: func(c *config) { c.nodes[fileID].Properties["content"] = "three" },
			texts: []string{"other content", "update " + fileID}},
		{why: "PL-22 another recorded side", rows: func(s *state.Snapshot) { s.Rows[fileID].Outputs["x"] = "y" },
			texts: []string{"other content", "update " + fileID}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			snapshot := applied(t, network())
			if tc.rows != nil {
				tc.rows(snapshot)
			}
			c := network()
			c.nodes[fileID].Properties["content"] = "two"
			if tc.edit != nil {
				tc.edit(c)
			}
			err := plan.Drift(approved(t), mustPlan(t, c, snapshot))
			if tc.texts == nil {
				if err != nil {
					t.Fatalf("error %v; want none", err)
				}
				return
			}
			checkRefusal(t, err, model.PlanDriftError, tc.texts...)
		})
	}
}
