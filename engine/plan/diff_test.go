package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

const (
	vpcID   = "n:aws.Vpc:v"
	netID   = "n:aws.Subnet:s"
	fileID  = "n:local.File:f"
	otherID = "n:local.File:g"
)

// network is a VPC, a subnet that refers to it in an immutable field, and two files, one
// reading the other.
func network() *config {
	c := newConfig()
	c.add(vpcID, map[string]any{"cidr_block": "10.0.0.0/16", "tags": "a"})
	c.add(netID, map[string]any{"vpc_id": ref(vpcID, "vpc_id"), "cidr_block": "10.0.1.0/24", "tags": "a"})
	c.file(fileID, "f.txt", "one")
	c.file(otherID, "g.txt", ref(fileID, "checksum"))
	return c
}

func brief(c *plan.Change) string {
	text := string(c.Action)
	if len(c.ChangedFields) > 0 {
		text += " [" + strings.Join(c.ChangedFields, " ") + "]"
	}
	if len(c.UpstreamMoved) > 0 {
		text += " moved [" + strings.Join(c.UpstreamMoved, " ") + "]"
	}
	for flag, set := range map[string]bool{" conditional": c.Conditional, " state-only": c.StateOnly} {
		if set {
			text += flag
		}
	}
	return text
}

func TestDiff(t *testing.T) {
	for _, tc := range []struct {
		why   string
		rows  func(s *state.Snapshot)
		edit  func(c *config)
		wants map[string]string
	}{
		{why: "T-030 nothing moved",
			wants: map[string]string{vpcID: "noop", netID: "noop", fileID: "noop", otherID: "noop"}},
		{why: "T-040, X-3: a poisoned row is not replaced for an upstream that keeps its identity",
			rows:  func(s *state.Snapshot) { s.Rows[netID].InputHash = "" },
			edit:  func(c *config) { c.nodes[vpcID].Properties["tags"] = "b" },
			wants: map[string]string{vpcID: "update [tags]", netID: "update"}},
		{why: "X-3: but for one that is made anew it is",
			rows:  func(s *state.Snapshot) { s.Rows[netID].InputHash = ""; delete(s.Rows, vpcID) },
			wants: map[string]string{vpcID: "create", netID: "replace [vpc_id] conditional"}},
		{why: "T-041 poisoned and really changed",
			rows:  func(s *state.Snapshot) { s.Rows[netID].InputHash = "" },
			edit:  func(c *config) { c.nodes[netID].Properties["cidr_block"] = "10.0.2.0/24" },
			wants: map[string]string{netID: "replace [cidr_block]"}},
		{why: "T-042 an upstream's edit names the field that reads from it, conditionally where immutable",
			edit:  func(c *config) { c.nodes[vpcID].Properties["tags"] = "b" },
			wants: map[string]string{vpcID: "update [tags]", netID: "replace [vpc_id] conditional"}},
		{why: "X-4 the fields that read from what moved, and no other",
			edit: func(c *config) {
				c.nodes[otherID].Properties["path"] = op("concat", "by/", ref(vpcID, "vpc_id"))
				c.nodes[fileID].Properties["content"] = "two"
			},
			rows: func(s *state.Snapshot) {
				s.Rows[otherID].Properties = map[string]any{"path": op("concat", "by/", ref(vpcID, "vpc_id")), "content": ref(fileID, "checksum")}
				s.Rows[otherID].Dependencies = []string{vpcID, fileID}
			},
			wants: map[string]string{otherID: "update [content]", fileID: "update [content]", vpcID: "noop"}},
		{why: "DF-31, X-46: behind a destroy-first replace it is certain",
			edit:  func(c *config) { c.nodes[vpcID].Properties["cidr_block"] = "10.9.0.0/16" },
			wants: map[string]string{vpcID: "replace [cidr_block]", netID: "replace [vpc_id]"}},
		{why: "T-046 an ordering-only dependent of a re-created node is looked at again",
			rows:  func(s *state.Snapshot) { delete(s.Rows, fileID) },
			edit:  func(c *config) { c.nodes[vpcID].DependsOn = []string{fileID} },
			wants: map[string]string{fileID: "create", vpcID: "update", otherID: "update [content]"}},
		{why: "T-048 and so is what depends on that one, by whatever edge",
			rows:  func(s *state.Snapshot) { delete(s.Rows, fileID) },
			edit:  func(c *config) { c.nodes[vpcID].DependsOn = []string{fileID} },
			wants: map[string]string{vpcID: "update", netID: "replace [vpc_id] conditional"}},
		{why: "DF-12 a replace that only the second pass finds reaches its ordering-only dependents",
			edit: func(c *config) {
				c.nodes[vpcID].Properties["tags"] = "b"
				c.nodes[fileID].DependsOn = []string{netID}
			},
			wants: map[string]string{netID: "replace [vpc_id] conditional", fileID: "update"}},
		{why: "DF-11a a value that moved earlier makes a certain replace, though the hash is equal",
			rows:  func(s *state.Snapshot) { s.Rows[vpcID].Outputs["vpc_id"] = "other" },
			wants: map[string]string{vpcID: "noop", netID: "replace [vpc_id] moved [vpc_id]"}},
		{why: "DF-11a mutable: an update",
			rows:  func(s *state.Snapshot) { s.Rows[fileID].Outputs["checksum"] = "other" },
			wants: map[string]string{fileID: "noop", otherID: "update [content] moved [content]"}},
		{why: "DF-14 a known move is conditional again when its upstream changes in this run",
			rows:  func(s *state.Snapshot) { s.Rows[vpcID].Outputs["vpc_id"] = "other" },
			edit:  func(c *config) { c.nodes[vpcID].Properties["tags"] = "b" },
			wants: map[string]string{netID: "replace [vpc_id] conditional"}},
		{why: "X-45 what refresh --write moved leaves dependents alone",
			rows: func(s *state.Snapshot) {
				s.Rows[vpcID].Outputs["vpc_id"] = "other"
				s.Rows[vpcID].RefreshedOutputs = []string{"vpc_id"}
			},
			wants: map[string]string{vpcID: "noop", netID: "noop"}},
		{why: "X-45 unless another output that the field reads may have moved as well",
			rows: func(s *state.Snapshot) {
				s.Rows[fileID].Outputs["checksum"] = "other"
				s.Rows[fileID].RefreshedOutputs = []string{"size"}
			},
			wants: map[string]string{otherID: "update [content] moved [content]"}},
		{why: "DF-11a no record and another hash: a reference may have moved",
			rows:  func(s *state.Snapshot) { s.Rows[netID].RefDigests = nil; s.Rows[netID].InputHash = "0" },
			wants: map[string]string{netID: "replace [vpc_id] conditional"}},
		{why: "DF-11a a record in an unknown form is no record",
			rows: func(s *state.Snapshot) {
				s.Rows[netID].RefDigests["vpc_id"] = "md5:0"
				s.Rows[netID].InputHash = "0"
			},
			wants: map[string]string{netID: "replace [vpc_id] conditional"}},
		{why: "DF-11a no record but something else explains the hash",
			rows:  func(s *state.Snapshot) { s.Rows[netID].RefDigests = nil },
			edit:  func(c *config) { c.nodes[netID].Properties["tags"] = "b" },
			wants: map[string]string{netID: "update [tags]"}},
		{why: "DF-10 no record and poisoned: an update, never a replace",
			rows:  func(s *state.Snapshot) { s.Rows[netID].RefDigests = nil; s.Rows[netID].InputHash = "" },
			wants: map[string]string{netID: "update"}},
		{why: "DF-11a no record and an equal hash: nothing to ask",
			rows:  func(s *state.Snapshot) { s.Rows[netID].RefDigests = nil },
			wants: map[string]string{netID: "noop"}},
		{why: "DF-5 numbers compare by their canonical form",
			rows:  func(s *state.Snapshot) { s.Rows[vpcID].Properties = map[string]any{"cidr_block": 1.0, "tags": "a"} },
			edit:  func(c *config) { c.nodes[vpcID].Properties["cidr_block"] = int64(1) },
			wants: map[string]string{vpcID: "update"}},
		{why: "DF-5 true is not 1",
			rows:  func(s *state.Snapshot) { s.Rows[vpcID].Properties = map[string]any{"cidr_block": true, "tags": "a"} },
			edit:  func(c *config) { c.nodes[vpcID].Properties["cidr_block"] = int64(1) },
			wants: map[string]string{vpcID: "replace [cidr_block]"}},
		{why: "PL-3 the guard alone",
			edit:  func(c *config) { c.nodes[fileID].PreventDestroy = true },
			wants: map[string]string{fileID: "noop state-only", otherID: "noop"}},
		{why: "EX-13 an interrupted replace is finished as one",
			rows:  func(s *state.Snapshot) { interrupt(s, fileID, state.DestroyBeforeCreate, "old.txt") },
			wants: map[string]string{fileID: "replace [path]", otherID: "update [content]"}},
		{why: "EX-13 also when its write-ahead row is gone",
			rows: func(s *state.Snapshot) {
				interrupt(s, fileID, state.DestroyBeforeCreate, "old.txt")
				delete(s.Rows, fileID)
			},
			wants: map[string]string{fileID: "replace [path]"}},
		{why: "EX-13 the old half of a confirmed replace is deleted",
			rows: func(s *state.Snapshot) {
				interrupt(s, fileID, state.CreateBeforeDestroy, "old.txt")
				s.Rows[fileID].Status = state.StatusCreated
			},
			wants: map[string]string{fileID: "noop", fileID + plan.PendingSuffix: "delete"}},
		{why: "EX-13 both halves of what is no longer declared are deleted",
			rows:  func(s *state.Snapshot) { interrupt(s, fileID, state.DestroyBeforeCreate, "old.txt") },
			edit:  func(c *config) { delete(c.nodes, fileID); c.nodes[otherID].Properties["content"] = "x" },
			wants: map[string]string{fileID: "delete", fileID + plan.PendingSuffix: "delete"}},
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
			p := mustPlan(t, c, snapshot)
			for id, want := range tc.wants {
				if got := brief(change(t, p, id)); got != want {
					t.Errorf("%s: %s; want %s", id, got, want)
				}
			}
		})
	}
}

func TestRefreshedOutputsOfSeveralFields(t *testing.T) {
	declare := func() *config {
		c := network()
		c.file("n:local.File:both", "p", []any{ref(fileID, "checksum")}).Properties["path"] = ref(vpcID, "vpc_id")
		return c
	}
	snapshot := applied(t, declare())
	snapshot.Rows[fileID].Outputs["checksum"] = "other"
	snapshot.Rows[vpcID].Outputs["vpc_id"] = "other"
	for _, refreshed := range []string{fileID, vpcID} {
		snapshot.Rows[fileID].RefreshedOutputs, snapshot.Rows[vpcID].RefreshedOutputs = nil, nil
		snapshot.Rows[refreshed].RefreshedOutputs = []string{"checksum", "vpc_id"}
		got := brief(change(t, mustPlan(t, declare(), snapshot), "n:local.File:both"))
		if want := "replace [content path] moved [content path]"; got != want {
			t.Errorf("X-45: only what %s gives was refreshed: %s; want %s", refreshed, got, want)
		}
	}
}

// interrupt leaves a row as a replace does that was cut off after its write-ahead.
func interrupt(s *state.Snapshot, id, mode, oldPath string) {
	old := *s.Rows[id]
	old.Properties = model.Clone(old.Properties).(map[string]any)
	old.Properties["path"] = oldPath
	s.Pending[id] = &state.PendingDestroy{NodeID: id, Row: &old, Mode: mode}
	s.Rows[id].Status = state.StatusCreating
}

func TestFinishedReplaceKeepsItsMode(t *testing.T) {
	for mode, want := range map[string]bool{state.DestroyBeforeCreate: false, state.CreateBeforeDestroy: true} {
		snapshot := applied(t, network())
		interrupt(snapshot, fileID, mode, "old.txt")
		c := change(t, mustPlan(t, network(), snapshot), fileID)
		if c.CreateBeforeDestroy != want || c.PendingDestroy == nil || c.PendingDestroy.Row.Properties["path"] != "old.txt" {
			t.Errorf("%s: create first %t, entry %v", mode, c.CreateBeforeDestroy, c.PendingDestroy)
		}
	}
}

func TestPlanRefuses(t *testing.T) {
	for _, tc := range []struct {
		why   string
		rows  func(s *state.Snapshot)
		edit  func(c *config)
		kind  model.Kind
		texts []string
	}{
		{why: "DF-26 a type turned into a data source", kind: model.RegistryError, texts: []string{vpcID},
			rows: func(s *state.Snapshot) { s.Rows[vpcID].Kind = model.KindData }},
		{why: "DF-11a a salted digest without its key", kind: model.SecretsError, texts: []string{netID + ".vpc_id", "install key"},
			rows: func(s *state.Snapshot) { s.Rows[netID].RefDigests["vpc_id"] = "salted:0" }},
		{why: "PL-1 every protected id, sorted", kind: model.PreventDestroyError, texts: []string{vpcID + ", " + fileID},
			rows: func(s *state.Snapshot) { s.Rows[vpcID].PreventDestroy = true; s.Rows[fileID].PreventDestroy = true },
			edit: func(c *config) { clear(c.nodes) }},
		{why: "PL-9 a stack output inside a combinator", kind: model.AtlantideError, texts: []string{fileID + ".content -> 'net:zone'", "apply the stack"},
			edit: func(c *config) {
				c.nodes[fileID].Properties["content"] = model.Transform{Op: "concat", Args: []any{model.StackOutputMarker("net:zone"), "x"}}.Marker()
			}},
		{why: "PL-11, X-51: a dependent that declares create-before-destroy forbids the fallback", kind: model.AtlantideError, texts: []string{"n:aws.SqsQueue:q", fileID},
			rows: func(s *state.Snapshot) {
				s.Rows["n:aws.SqsQueue:q"] = &state.Row{ID: "n:aws.SqsQueue:q", Type: "aws.SqsQueue", Status: state.StatusCreated,
					Properties: map[string]any{"queue_name": "q", "fifo": false}}
			},
			edit: func(c *config) {
				c.add("n:aws.SqsQueue:q", map[string]any{"queue_name": "q", "fifo": true})
				c.nodes[fileID].DependsOn = []string{"n:aws.SqsQueue:q"}
				c.nodes[fileID].CreateBeforeDestroy = true
			}},
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
			_, err := c.plan(t, snapshot)
			checkRefusal(t, err, tc.kind, tc.texts...)
		})
	}
}

// X-7, N-20: the guard that counts is the config's, at once, and a change of it shows.
func TestGuardOfTheConfigCounts(t *testing.T) {
	for _, tc := range []struct {
		why              string
		recorded         bool
		declared         bool
		refused, flipped bool
	}{
		{why: "neither"},
		{why: "added with the very change that it forbids", declared: true, refused: true, flipped: true},
		{why: "removed with the very change that it forbade", recorded: true, flipped: true},
		{why: "both", recorded: true, declared: true, refused: true},
	} {
		t.Run(tc.why, func(t *testing.T) {
			snapshot := applied(t, network())
			snapshot.Rows[fileID].PreventDestroy = tc.recorded
			c := network()
			c.nodes[fileID].Properties["path"] = "moved.txt"
			c.nodes[fileID].PreventDestroy = tc.declared
			p, err := c.plan(t, snapshot)
			if tc.refused {
				checkRefusal(t, err, model.PreventDestroyError, fileID)
			} else if err != nil {
				t.Fatal(err)
			}
			var shown map[string]any
			for _, item := range p.Payload()["changes"].([]any) {
				if entry := item.(map[string]any); entry["node_id"] == fileID {
					shown = entry["lifecycle_changes"].(map[string]any)
				}
			}
			want := map[string]any{}
			if tc.flipped {
				want["prevent_destroy"] = []any{tc.recorded, tc.declared}
			}
			if diff := cmp.Diff(want, shown); diff != "" {
				t.Errorf("lifecycle changes (-want +got):\n%s", diff)
			}
		})
	}
}

// a conditional replace of what is protected waits for apply only if nothing that
// its fields read from is made anew.
func TestGuardIsDeferred(t *testing.T) {
	for _, tc := range []struct {
		why      string
		edit     func(c *config)
		rows     func(s *state.Snapshot)
		deferred bool
	}{
		{why: "behind an update", edit: func(c *config) { c.nodes[vpcID].Properties["tags"] = "b" }, deferred: true},
		{why: "behind a create", rows: func(s *state.Snapshot) { delete(s.Rows, vpcID) }},
		{why: "behind a create-first replace", edit: func(c *config) {
			c.nodes[vpcID].Properties["cidr_block"] = "10.9.0.0/16"
			c.nodes[vpcID].CreateBeforeDestroy = true
		}},
		{why: "not known to change alone", edit: func(c *config) {
			c.nodes[vpcID].Properties["tags"] = "b"
			c.nodes[netID].Properties["cidr_block"] = "10.0.2.0/24"
		}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			snapshot := applied(t, network())
			c := network()
			c.nodes[netID].PreventDestroy = true
			if tc.edit != nil {
				tc.edit(c)
			}
			if tc.rows != nil {
				tc.rows(snapshot)
			}
			p, err := c.plan(t, snapshot)
			if !tc.deferred {
				checkRefusal(t, err, model.PreventDestroyError, netID)
				return
			}
			if err != nil || len(p.Warnings) != 1 || !strings.HasPrefix(p.Warnings[0], netID+": prevent_destroy is checked at apply") {
				t.Errorf("warnings %q, %v", p.Warnings, err)
			}
		})
	}
}

// A plan that was refused for what it would destroy is there to be read, and not to be run.
func TestRefusedPlanIsShown(t *testing.T) {
	snapshot := applied(t, network())
	snapshot.Rows[netID].PreventDestroy = true
	c := network()
	delete(c.nodes, netID)
	p, err := c.plan(t, snapshot)
	checkRefusal(t, err, model.PreventDestroyError, netID)
	if p == nil || !strings.Contains(p.Text(), "- delete  aws.Subnet:s") || p.Payload()["summary"].(map[string]any)["delete"] != int64(1) {
		t.Fatalf("the plan does not show the delete: %+v", p)
	}
	if _, err := p.Body(); err != nil {
		t.Error(err)
	}
	checkRefusal(t, p.Unsupported(), model.PreventDestroyError, netID)

	destroy, err := plan.Destroy(snapshot, testSchemas(t), plan.Secrets{})
	checkRefusal(t, err, model.PreventDestroyError, netID)
	if destroy.Summary().Delete != 4 {
		t.Errorf("the destroy shows %s", destroy.Summary())
	}
	snapshot.Rows[netID].RefDigests["vpc_id"] = "salted:0"
	if p, err := network().plan(t, snapshot); p != nil || err == nil {
		t.Errorf("a plan beside %v; want none, nothing was decided", err)
	}
}

// PL-11 looks at dependents that this run leaves alone as well: they use the old half.
func TestCollisionBehindWhatIsLeftOut(t *testing.T) {
	const queue = "n:aws.SqsQueue:q"
	declare := func() *config {
		c := network()
		c.add(queue, map[string]any{"queue_name": "q", "fifo": false})
		c.nodes[fileID].DependsOn = []string{queue}
		c.nodes[fileID].CreateBeforeDestroy = true
		return c
	}
	c := declare()
	c.nodes[queue].Properties["fifo"] = true
	_, err := c.plan(t, applied(t, declare()), targeting(queue))
	checkRefusal(t, err, model.AtlantideError, queue, fileID)
}

func checkRefusal(t *testing.T, err error, kind model.Kind, texts ...string) {
	t.Helper()
	if !model.IsKind(err, kind) || model.ClassOf(err) != model.ClassUser {
		t.Fatalf("error %v; want %s of the user", err, kind)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q does not name %q", err, text)
		}
	}
}

func TestDestroy(t *testing.T) {
	c := network()
	c.output("n:sum", ref(fileID, "checksum"))
	snapshot := applied(t, c)
	interrupt(snapshot, otherID, state.DestroyBeforeCreate, "old.txt")
	p, err := plan.Destroy(snapshot, testSchemas(t), plan.Secrets{})
	if err != nil {
		t.Fatal(err)
	}
	if s := p.Summary(); s.Delete != 5 || s != (plan.Summary{Delete: 5}) {
		t.Errorf("summary %+v; want four rows and an old half deleted", s)
	}
	if !slices.Equal(p.Outputs.Retired, []string{"n:sum"}) || !p.Destructive() || p.OnFailure != plan.OnFailureHalt {
		t.Errorf("retired %v, destructive %t, on failure %s", p.Outputs.Retired, p.Destructive(), p.OnFailure)
	}
	snapshot.Rows[vpcID].PreventDestroy = true
	_, err = plan.Destroy(snapshot, testSchemas(t), plan.Secrets{})
	checkRefusal(t, err, model.PreventDestroyError, vpcID)
}

func TestOutputChanges(t *testing.T) {
	for _, tc := range []struct {
		why     string
		rows    func(s *state.Snapshot)
		edit    func(c *config)
		set     []string
		retired []string
	}{
		{why: "nothing differs"},
		{why: "another literal", edit: func(c *config) { c.outputs[1].Value = "b" }, set: []string{"n:lit"}},
		{why: "not known yet behind an update", edit: func(c *config) { c.nodes[fileID].Properties["content"] = "two" }, set: []string{"n:sum"}},
		{why: "committed value differs from the recorded one", rows: func(s *state.Snapshot) { s.Outputs["n:sum"] = state.Output{Value: "old"} }, set: []string{"n:sum"}},
		{why: "never committed", rows: func(s *state.Snapshot) { delete(s.Outputs, "n:lit") }, set: []string{"n:lit"}},
		{why: "EX-19 what nothing makes resolvable keeps its committed value",
			rows: func(s *state.Snapshot) { delete(s.Rows[fileID].Outputs, "checksum"); s.Rows[otherID].RefDigests = nil }},
		{why: "EX-20 no longer declared", edit: func(c *config) { c.outputs = c.outputs[:1] }, retired: []string{"n:lit"}},
		{why: "EX-21 a stack that is left without a row", rows: func(s *state.Snapshot) { s.Outputs["gone:x"] = state.Output{Value: "v"} }, retired: []string{"gone:x"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			declare := func() *config {
				c := network()
				c.output("n:sum", ref(fileID, "checksum"))
				c.output("n:lit", "a")
				return c
			}
			snapshot := applied(t, declare())
			if tc.rows != nil {
				tc.rows(snapshot)
			}
			c := declare()
			if tc.edit != nil {
				tc.edit(c)
			}
			out := mustPlan(t, c, snapshot).Outputs
			var set []string
			for key := range out.Set {
				set = append(set, key)
			}
			if !slices.Equal(set, tc.set) || !slices.Equal(out.Retired, tc.retired) || out.Empty() != (tc.set == nil && tc.retired == nil) {
				t.Errorf("set %v, retired %v; want %v, %v", set, out.Retired, tc.set, tc.retired)
			}
		})
	}
}
