package plan_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// vault is a store of secrets with a key; a digest under it spells out what it is of.
type vault struct {
	values map[string]string
	key    string // "" = there is none
	asked  []string
}

var errNoKey = model.Errorf(model.SecretsError, model.ClassUser, "no key at /home/x/secrets.key: %w", fs.ErrNotExist)

func (v *vault) resolve(ref model.SecretRef) (string, error) {
	v.asked = append(v.asked, ref.Name)
	if text, ok := v.values[ref.Name]; ok {
		return text, nil
	}
	return "", model.Errorf(model.SecretsError, model.ClassUser, "not defined")
}

func (v *vault) Digest(text, scope string) (string, error) {
	if v.key == "" {
		return "", errNoKey
	}
	return v.key + "/" + scope + "/" + text, nil
}

func (v *vault) Matches(digest, text string, scopes ...string) (bool, error) {
	for _, scope := range scopes {
		made, err := v.Digest(text, scope)
		if err != nil || made == digest {
			return err == nil, err
		}
	}
	return false, nil
}

func (v *vault) Unseal(sealed any, owner, field string) (any, error) {
	if v.key == "" {
		return nil, errNoKey
	}
	text, ok := sealed.(map[string]any)[model.KeySealed].(string)
	plain, opens := strings.CutPrefix(text, v.key+"/"+owner+"/"+field+"/")
	if !ok || !opens {
		return nil, model.Errorf(model.SecretsError, model.ClassUser, "another key")
	}
	return plain, nil
}

func (v *vault) with(in *plan.Input) {
	in.Secrets = plan.Secrets{Resolve: v.resolve, Digests: v, Unsealer: v}
}

const (
	dbID    = "n:aws.Database:d"
	groupID = "n:aws.SecurityGroup:g"
	zoneID  = "n:aws.Zones:z"
)

func handle(name string) map[string]any { return model.SecretRef{Name: name}.Marker() }

// secretive declares a secret in a mutable field, in an immutable one whose node others
// depend on, in the depths of a field, and in a data source.
func secretive() *config {
	c := newConfig()
	c.add(dbID, map[string]any{"password": handle("db"), "tags": "a"})
	c.add(groupID, map[string]any{"vpc_id": "v", "group_name": handle("group"), "ingress": []any{map[string]any{"from": handle("deep"), "n": int64(1)}}})
	c.add(zoneID, map[string]any{"state": handle("zone")}).Kind = model.KindData
	c.file(fileID, "f.txt", "one").DependsOn = []string{groupID}
	return c
}

func newVault() *vault {
	return &vault{key: "k", values: map[string]string{"db": "1", "group": "2", "deep": "3", "zone": "4"}}
}

// remembered is what an apply of the config leaves, digests included. An older release
// made them under the node's id, this one makes them under the row's.
func remembered(t *testing.T, c *config, v *vault, byRow bool) *state.Snapshot {
	t.Helper()
	snapshot := emptySnapshot()
	perform(t, mustPlan(t, c, snapshot, v.with), snapshot)
	for id, row := range snapshot.Rows {
		row.RowUID = "uid-of-" + model.LocalName(id)
		owner := id
		if byRow {
			owner = row.RowUID
		}
		row.SecretDigests = map[string]string{}
		for field, value := range row.Properties {
			if !strings.Contains(model.ReprWith(value, func(model.Value) (string, bool) { return "", false }), model.KeySecretRef) {
				continue
			}
			text, err := plan.SecretText(value, v.resolve)
			if err != nil {
				t.Fatal(err)
			}
			if row.SecretDigests[field], err = v.Digest(text, owner+":"+field); err != nil {
				t.Fatal(err)
			}
		}
	}
	v.asked = nil
	return snapshot
}

func TestRotation(t *testing.T) {
	for _, tc := range []struct {
		why      string
		vault    func(v *vault)
		rows     func(s *state.Snapshot)
		edit     func(c *config)
		targets  []string
		wants    map[string]string
		warnings []string
	}{
		{why: "T-081 unchanged"},
		{why: "T-081 mutable: an update", vault: func(v *vault) { v.values["db"] = "other" }, wants: map[string]string{dbID: "update [password]"}},
		{why: "PL-5a, X-41: immutable: a replace, and its dependents are looked at in the same plan", vault: func(v *vault) { v.values["group"] = "other" },
			wants: map[string]string{groupID: "replace [group_name]", fileID: "update"}},
		{why: "PL-7 in the depths of a field", vault: func(v *vault) { v.values["deep"] = "other" }, wants: map[string]string{groupID: "update [ingress]"}},
		{why: "PL-5, X-19: a data source is read again", vault: func(v *vault) { v.values["zone"] = "other" }, wants: map[string]string{zoneID: "update [state]"}},
		{why: "several fields of one node, sorted", vault: func(v *vault) { v.values["deep"], v.values["group"] = "other", "other" },
			wants: map[string]string{groupID: "replace [group_name ingress]", fileID: "update"}},
		{why: "a digest that was never recorded reads as rotated", rows: func(s *state.Snapshot) { s.Rows[dbID].SecretDigests = nil }, wants: map[string]string{dbID: "update [password]"}},
		{why: "PL-4 an idle node whose secret does not resolve says nothing", vault: func(v *vault) { delete(v.values, "db") }},
		{why: "PL-4 what is left out is not looked at", vault: func(v *vault) { v.values["db"] = "other" }, targets: []string{fileID}},
		{why: "an ignored field does not trigger", vault: func(v *vault) { v.values["db"] = "other" }, edit: func(c *config) { c.nodes[dbID].IgnoreChanges = []string{"password"} },
			rows: func(s *state.Snapshot) { s.Rows[dbID].InputHash = "" }, wants: map[string]string{dbID: "update"}},
		{why: "PL-3 a guard that changes with it is part of the update", vault: func(v *vault) { v.values["db"] = "other" },
			edit: func(c *config) { c.nodes[dbID].PreventDestroy = true }, wants: map[string]string{dbID: "update [password]"}},
		{why: "PL-6, T-082: all of them under another key: planned, with a warning", vault: func(v *vault) { v.key = "foreign" },
			wants: map[string]string{
				dbID: "update [password]", groupID: "replace [group_name ingress]", zoneID: "update [state]", fileID: "update",
			},
			warnings: []string{"every secret that was recorded reads as rotated, in 3 resources: the secrets_key is probably not the one that wrote this state"}},
		{why: "PL-6 none if one matches", vault: func(v *vault) { v.values["db"], v.values["group"], v.values["deep"] = "x", "x", "x" },
			wants: map[string]string{dbID: "update [password]", groupID: "replace [group_name ingress]", fileID: "update"}},
		{why: "PL-6 none for a single resource", vault: func(v *vault) { v.values["db"] = "x" },
			rows: func(s *state.Snapshot) { delete(s.Rows, groupID); delete(s.Rows, zoneID) },
			wants: map[string]string{
				dbID: "update [password]", groupID: "create", zoneID: "create", fileID: "update",
			}},
	} {
		for _, byRow := range []bool{false, true} {
			t.Run(tc.why, func(t *testing.T) {
				v := newVault()
				c := secretive()
				snapshot := remembered(t, secretive(), v, byRow)
				if tc.vault != nil {
					tc.vault(v)
				}
				if tc.rows != nil {
					tc.rows(snapshot)
				}
				if tc.edit != nil {
					tc.edit(c)
				}
				p := mustPlan(t, c, snapshot, v.with, targeting(tc.targets...))
				if tc.wants == nil {
					tc.wants = map[string]string{}
				}
				if diff := cmp.Diff(tc.wants, verdicts(p)); diff != "" {
					t.Errorf("changes (-want +got):\n%s", diff)
				}
				if !slices.Equal(p.Warnings, tc.warnings) {
					t.Errorf("warnings %q; want %q", p.Warnings, tc.warnings)
				}
			})
		}
	}
}

// N-14: a renamed node with a secret plans nothing, whichever way its digest was made, and
// still does once the move is recorded.
func TestRenamedSecretIsNotRotated(t *testing.T) {
	for _, byRow := range []bool{false, true} {
		v := newVault()
		snapshot := remembered(t, secretive(), v, byRow)
		c := secretive()
		n := c.nodes[dbID]
		delete(c.nodes, dbID)
		c.add("n:aws.Database:renamed", n.Properties).Aliases = []string{"d"}
		p := mustPlan(t, c, snapshot, v.with)
		if got := verdicts(p); len(got) > 0 || p.Moves == nil {
			t.Errorf("X-21: after a rename: %v, moves %v", got, p.Moves)
		}
		commit(snapshot, p.Moves.Batch())
		if got := verdicts(mustPlan(t, c, snapshot, v.with)); len(got) > 0 {
			t.Errorf("X-21: after the move was recorded: %v", got)
		}
		v.values["db"] = "other"
		if got := verdicts(mustPlan(t, c, snapshot, v.with)); got["n:aws.Database:renamed"] != "update [password]" {
			t.Errorf("a rotation after it: %v", got)
		}
	}
}

func TestSecretsRefuse(t *testing.T) {
	for _, tc := range []struct {
		why   string
		vault func(v *vault)
		rows  func(s *state.Snapshot)
		edit  func(c *config)
		kind  model.Kind
		texts []string
	}{
		{why: "T-077, X-27: one that is needed, with the provider's reason, sorted", kind: model.SecretsError,
			vault: func(v *vault) { clear(v.values) },
			edit:  func(c *config) { c.nodes[groupID].Properties["vpc_id"] = "w" },
			texts: []string{groupID + ".group_name -> 'group' (not defined), " + groupID + ".ingress -> 'deep' (not defined)"}},
		{why: "PL-8 of what goes, the recorded one", kind: model.SecretsError,
			vault: func(v *vault) { delete(v.values, "db") }, edit: func(c *config) { delete(c.nodes, dbID) },
			texts: []string{dbID + ".password -> 'db'"}},
		{why: "PL-4, X-54: a digest was recorded and there is no key", kind: model.SecretsError,
			vault: func(v *vault) { v.key = "" }, texts: []string{"/home/x/secrets.key"}},
		{why: "N-55, PL-5a: a protected node whose immutable secret rotated", kind: model.PreventDestroyError,
			vault: func(v *vault) { v.values["group"] = "other" }, edit: func(c *config) { c.nodes[groupID].PreventDestroy = true },
			texts: []string{groupID}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			v := newVault()
			c := secretive()
			snapshot := remembered(t, secretive(), v, true)
			tc.vault(v)
			if tc.rows != nil {
				tc.rows(snapshot)
			}
			if tc.edit != nil {
				tc.edit(c)
			}
			_, err := c.plan(t, snapshot, v.with)
			checkRefusal(t, err, tc.kind, tc.texts...)
			for _, value := range v.values {
				if strings.Contains(err.Error(), "'"+value+"'") {
					t.Errorf("%q holds a secret", err)
				}
			}
		})
	}
}

// However much is refused, the error stays one that can be read.
func TestRefusalsAreBounded(t *testing.T) {
	many := func(declare func(n *ir.Node)) *config {
		c := newConfig()
		for i := range 3000 {
			declare(c.file(fmt.Sprintf("n:local.File:f%04d", i), fmt.Sprintf("%d.txt", i), "x"))
		}
		return c
	}
	plain := many(func(*ir.Node) {})
	for _, tc := range []struct {
		why      string
		config   *config
		snapshot *state.Snapshot
	}{
		{"secrets", many(func(n *ir.Node) { n.Properties["content"] = handle("gone") }), emptySnapshot()},
		{"stack outputs", many(func(n *ir.Node) { n.Properties["content"] = model.StackOutputMarker("net:zone") }), emptySnapshot()},
		{"guards", many(func(n *ir.Node) {
			n.PreventDestroy = true
			n.Properties["path"] = "elsewhere/" + n.Properties["path"].(string)
		}), applied(t, plain)},
	} {
		_, err := tc.config.plan(t, tc.snapshot, newVault().with)
		if err == nil || len(err.Error()) > 2000 || !strings.Contains(err.Error(), "and 2980 more") {
			t.Errorf("%s: %.2100v", tc.why, err)
		}
	}
}

// A reason that may pass is not the user's to mend.
func TestUnreachableSecretIsTransient(t *testing.T) {
	_, err := secretive().plan(t, emptySnapshot(), func(in *plan.Input) {
		in.Secrets.Resolve = func(model.SecretRef) (string, error) {
			return "", model.Errorf(model.SecretsError, model.ClassTransient, "the store does not answer")
		}
	})
	if !model.IsKind(err, model.SecretsError) || model.ClassOf(err) != model.ClassTransient {
		t.Errorf("error %v of class %s; want a transient SecretsError", err, model.ClassOf(err))
	}
}

// The old half of a replace is cleaned up though its secret is gone (EX-17).
func TestCleanUpNeedsNoSecret(t *testing.T) {
	v := newVault()
	snapshot := remembered(t, secretive(), v, true)
	old := *snapshot.Rows[dbID]
	old.Properties = map[string]any{"password": handle("gone")}
	snapshot.Pending[dbID] = &state.PendingDestroy{NodeID: dbID, Row: &old, Mode: state.CreateBeforeDestroy}
	if got := verdicts(mustPlan(t, secretive(), snapshot, v.with)); got[dbID+plan.PendingSuffix] != "delete" {
		t.Errorf("%v", got)
	}
}

// cli.md 22: a plan without secrets asks for none, says so, and cannot be approved.
func TestSkippedSecrets(t *testing.T) {
	v := newVault()
	c := secretive()
	snapshot := remembered(t, secretive(), v, true)
	clear(v.values)
	c.nodes[dbID].Properties["tags"] = "b"
	p := mustPlan(t, c, snapshot, v.with, func(in *plan.Input) { in.Secrets.Skip = true })
	if got := verdicts(p); !cmp.Equal(got, map[string]string{dbID: "update [tags]"}) || len(v.asked) > 0 {
		t.Errorf("changes %v, asked for %v", got, v.asked)
	}
	if p.Payload()["secrets"] != "skipped" || !strings.Contains(p.Text(), "aws.Database:d  [secret not checked]") {
		t.Errorf("payload %v, text\n%s", p.Payload()["secrets"], p.Text())
	}
	_, err := p.ChangesetDigest()
	checkRefusal(t, err, model.SecretsError, "no digest")
	// What was made from a secret takes the key to compare, and there need be none.
	snapshot = emptySnapshot()
	perform(t, mustPlan(t, network(), snapshot), snapshot)
	snapshot.Rows[netID].RefDigests["vpc_id"] = "salted:0"
	p = mustPlan(t, network(), snapshot, func(in *plan.Input) { in.Secrets = plan.Secrets{Skip: true} })
	if got := verdicts(p); len(got) > 0 || !strings.Contains(p.Text(), model.ShortID(netID)+"  [secret not checked]") {
		t.Errorf("changes %v, text\n%s", got, p.Text())
	}
	if _, says := mustPlan(t, network(), emptySnapshot()).Payload()["secrets"]; says {
		t.Error("a plan that looked at its secrets says that it did not")
	}
}

func TestSecretText(t *testing.T) {
	v := newVault()
	for _, tc := range []struct {
		why   string
		value any
		want  string
	}{
		{"a handle is the secret itself", handle("db"), "1"},
		{"anything else is JSON, its other markers left", map[string]any{"b": []any{handle("deep"), int64(1)}, "a": ref(fileID, "checksum")},
			`{"a":{"$ref":"` + fileID + `#checksum"},"b":["3",1]}`},
	} {
		if got, err := plan.SecretText(tc.value, v.resolve); err != nil || got != tc.want {
			t.Errorf("%s: %s, %v; want %s", tc.why, got, err, tc.want)
		}
	}
	if _, err := plan.SecretText([]any{handle("no")}, v.resolve); !model.IsKind(err, model.SecretsError) {
		t.Errorf("a secret that does not resolve: %v", err)
	}
}

// PL-10, X-29: another stack's output that moved since the node was applied.
func TestMovedStackOutputs(t *testing.T) {
	declare := func() *config {
		c := network()
		c.nodes[vpcID].Properties["cidr_block"] = model.StackOutputMarker("net:cidr")
		c.nodes[otherID].Properties["content"] = op("concat", "in ", model.StackOutputMarker("net:zone"))
		return c
	}
	for _, tc := range []struct {
		why   string
		edit  func(c *config, s *state.Snapshot)
		wants map[string]string
	}{
		{why: "the same", edit: func(*config, *state.Snapshot) {}},
		{why: "mutable, inside a combinator: an update", edit: func(_ *config, s *state.Snapshot) { s.Outputs["net:zone"] = state.Output{Value: "b"} },
			wants: map[string]string{otherID: "update [content]"}},
		{why: "immutable: a replace and what follows", edit: func(_ *config, s *state.Snapshot) { s.Outputs["net:cidr"] = state.Output{Value: "b"} },
			wants: map[string]string{vpcID: "replace [cidr_block]", netID: "replace [vpc_id]"}},
		{why: "a row without a record stays as it is", edit: func(_ *config, s *state.Snapshot) {
			s.Rows[otherID].SecretDigests = nil
			s.Outputs["net:zone"] = state.Output{Value: "b"}
		}},
		{why: "an ignored field does not trigger", edit: func(c *config, s *state.Snapshot) {
			c.nodes[otherID].IgnoreChanges = []string{"content"}
			s.Rows[otherID].InputHash = ""
			s.Outputs["net:zone"] = state.Output{Value: "b"}
		}, wants: map[string]string{otherID: "update"}},
		{why: "nothing is known of one that became sensitive", edit: func(_ *config, s *state.Snapshot) { s.Outputs["net:zone"] = state.Output{Value: "b", Sensitive: true} }},
	} {
		t.Run(tc.why, func(t *testing.T) {
			snapshot := emptySnapshot()
			commit(snapshot, state.Batch{SetOutputs: map[string]state.Output{"net:zone": {Value: "a"}, "net:cidr": {Value: "a"}}})
			perform(t, mustPlan(t, declare(), snapshot), snapshot)
			commit(snapshot, state.Batch{SetOutputs: map[string]state.Output{"net:zone": {Value: "a"}, "net:cidr": {Value: "a"}}})
			c := declare()
			tc.edit(c, snapshot)
			if tc.wants == nil {
				tc.wants = map[string]string{}
			}
			if diff := cmp.Diff(tc.wants, verdicts(mustPlan(t, c, snapshot))); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
	n := &ir.Node{Properties: map[string]any{"a": model.StackOutputMarker("net:secret"), "b": model.StackOutputMarker("net:gone")}}
	if got := plan.StackOutputDigests(n, map[string]state.Output{"net:secret": {Value: "x", Sensitive: true}}); len(got) > 0 {
		t.Errorf("digests %v; want none of a sensitive output", got)
	}
}

// DF-11a over what is sealed: it is opened to be compared, and where it does not open there
// is no verdict.
func TestSealedOutputsAreCompared(t *testing.T) {
	for _, tc := range []struct {
		why   string
		edit  func(v *vault, s *state.Snapshot)
		wants map[string]string
	}{
		{why: "the same value, sealed", edit: func(_ *vault, s *state.Snapshot) { s.Rows[fileID].Outputs["checksum"] = sealedAs("k", "", "one") }},
		{why: "another one", edit: func(_ *vault, s *state.Snapshot) { s.Rows[fileID].Outputs["checksum"] = sealedAs("k", "", "two") },
			wants: map[string]string{otherID: "update [content] moved [content]"}},
		{why: "under a key that is not there", edit: func(_ *vault, s *state.Snapshot) { s.Rows[fileID].Outputs["checksum"] = sealedAs("other", "", "two") }},
		{why: "a salted digest of the same", edit: func(_ *vault, s *state.Snapshot) {
			s.Rows[otherID].RefDigests["content"] = `salted:k/$ref:content/"one"`
		}},
		{why: "a salted digest of another one", edit: func(_ *vault, s *state.Snapshot) {
			s.Rows[otherID].RefDigests["content"] = `salted:k/$ref:content/"other"`
		}, wants: map[string]string{otherID: "update [content] moved [content]"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			v := newVault()
			snapshot := applied(t, network())
			snapshot.Rows[fileID].Outputs["checksum"] = "one"
			n := network().nodes[otherID]
			snapshot.Rows[otherID].RefDigests = refDigests(n, testSchemas(t), snapshot)
			tc.edit(v, snapshot)
			if tc.wants == nil {
				tc.wants = map[string]string{}
			}
			if diff := cmp.Diff(tc.wants, verdicts(mustPlan(t, network(), snapshot, v.with))); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
	v := newVault()
	v.key = ""
	snapshot := applied(t, network())
	snapshot.Rows[otherID].RefDigests["content"] = "salted:0"
	_, err := network().plan(t, snapshot, v.with)
	checkRefusal(t, err, model.SecretsError, "/home/x/secrets.key")
	snapshot.Rows[fileID].Outputs["checksum"] = sealedAs("k", "", "one")
	_, err = network().plan(t, snapshot, v.with)
	checkRefusal(t, err, model.SecretsError, "/home/x/secrets.key")
}

// EX-22: a committed output is compared unsealed.
func TestSealedCommittedOutput(t *testing.T) {
	for _, tc := range []struct {
		why, plain string
		moves      bool
	}{
		{"the same value", "one", false},
		{"another one", "two", true},
	} {
		c := network()
		c.output("n:sum", "one")
		snapshot := applied(t, c)
		snapshot.Outputs["n:sum"] = state.Output{Value: map[string]any{model.KeySealed: "k/n:sum//" + tc.plain}, Sensitive: true}
		if _, moves := mustPlan(t, c, snapshot, newVault().with).Outputs.Set["n:sum"]; moves != tc.moves {
			t.Errorf("%s: committed again %t; want %t", tc.why, moves, tc.moves)
		}
	}
}

func sealedAs(key, owner, plain string) map[string]any {
	return map[string]any{model.KeySealed: key + "/" + owner + "/checksum/" + plain}
}
