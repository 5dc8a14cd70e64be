package plan_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/ir/irtest"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// readSnapshot reads a case's state.json.
func readSnapshot(t *testing.T, dir string) *state.Snapshot {
	t.Helper()
	document := irtest.ReadJSON(t, filepath.Join(dir, "state.json"))
	snapshot := emptySnapshot()
	for id, item := range document["nodes"].(map[string]any) {
		m := item.(map[string]any)
		row := &state.Row{
			ID: id, Type: m["type"].(string), Provider: m["provider"].(string), ProviderVersion: m["provider_version"].(string),
			InputHash: m["input_hash"].(string), Outputs: m["outputs"].(map[string]any), Properties: m["properties"].(map[string]any),
			Dependencies: irtest.Texts(m["dependencies"]), DependsOn: irtest.Texts(m["depends_on"]),
			PreventDestroy: m["prevent_destroy"].(bool), Status: m["status"].(string), RefDigests: map[string]string{},
		}
		digests, _ := m["ref_digests"].(map[string]any)
		for field, digest := range digests {
			row.RefDigests[field] = digest.(string)
		}
		snapshot.Rows[id] = row
	}
	for key, value := range document["outputs"].(map[string]any) {
		snapshot.Outputs[key] = state.Output{Value: value}
	}
	return snapshot
}

// fromRows declares what is recorded, so that a case need say only what its config
// changes.
func fromRows(snapshot *state.Snapshot) *config {
	c := newConfig()
	for id, row := range snapshot.Rows {
		n := c.add(id, model.Clone(row.Properties).(map[string]any))
		n.DependsOn = row.DependsOn
	}
	return c
}

// walkthrough is the config that most cases start from.
func walkthrough(stack string) *config {
	c := newConfig()
	id := func(name string) string { return stack + ":local.File:" + name }
	c.file(id("a"), "a.txt", "one")
	c.file(id("b"), "b.txt", ref(id("a"), "checksum"))
	c.file(id("c"), "c.txt", ref(id("b"), "checksum"))
	c.file(id("lone"), "lone.txt", "l")
	c.output(stack+":sum", ref(id("c"), "checksum"))
	return c
}

// TestVectors plans the recorded cases that need no alias, selection, environment,
// policy, secret or forced replace. The configs are written out here; the states and the
// expectations are the cases' own.
func TestVectors(t *testing.T) {
	const a, b, lone = "s:local.File:a", "s:local.File:b", "s:local.File:lone"
	const f, g = "default:local.File:f", "default:local.File:g"
	walk := func(edit func(c *config)) func(*state.Snapshot) *config {
		return func(*state.Snapshot) *config {
			c := walkthrough("s")
			edit(c)
			return c
		}
	}
	rows := func(edit func(c *config)) func(*state.Snapshot) *config {
		return func(s *state.Snapshot) *config {
			c := fromRows(s)
			edit(c)
			return c
		}
	}
	same := func(*config) {}
	for _, tc := range []struct {
		name   string
		config func(*state.Snapshot) *config
	}{
		{"001-empty-state", walk(same)},
		{"002-nothing-changed", walk(same)},
		{"003-immutable-change", walk(func(c *config) { c.nodes[a].Properties["path"] = "moved.txt" })},
		{"004-leaf-change-only", walk(func(c *config) { c.nodes[lone].Properties["content"] = "L" })},
		{"005-node-added", walk(func(c *config) { c.file("s:local.File:extra", "extra.txt", ref("s:local.File:c", "checksum")) })},
		{"006-everything-removed", func(*state.Snapshot) *config { return newConfig() }},
		{"010-upstream-replaced-conditional", rows(func(c *config) { c.nodes["n:aws.Vpc:v"].Properties["cidr_block"] = "10.8.0.0/16" })},
		{"011-upstream-missing-from-state", walk(same)},
		{"012-middle-missing-from-state", walk(same)},
		{"013-creating-row", walk(same)},
		{"014-creating-row-with-changed-config", walk(func(c *config) { c.nodes[a].Properties["content"] = "two" })},
		{"015-poisoned-row", walk(same)},
		{"016-poisoned-upstream", walk(same)},
		{"017-poisoned-row-with-recorded-drift", walk(same)},
		{"018-field-absent-from-prior-row", rows(func(c *config) { c.nodes["default:aws.SqsQueue:q"].Properties["kms_key_id"] = nil })},
		{"019-field-only-in-prior-row", walk(same)},
		{"020-hash-differs-properties-equal", walk(same)},
		{"021-depends-on-added", walk(func(c *config) { c.nodes[lone].DependsOn = []string{a} })},
		{"022-depends-on-upstream-recreated", walk(func(c *config) { c.nodes[lone].DependsOn = []string{a} })},
		{"023-reference-replaced-by-literal", walk(func(c *config) { c.nodes[b].Properties["content"] = "literal" })},
		{"024-literal-replaced-by-reference", walk(same)},
		{"026-nested-reference-moves", rows(func(c *config) { c.nodes["s:aws.S3Bucket:b"].Properties["versioning"] = true })},
		{"027-stack-renamed", func(*state.Snapshot) *config { return walkthrough("t") }},
		{"028-ignored-field-changed", rows(func(c *config) {
			c.nodes[f].Properties["content"] = "two"
			c.nodes[f].IgnoreChanges = []string{"content"}
		})},
		{"029-ignore-added-later", rows(func(c *config) {
			c.nodes[f].Properties["content"] = "two"
			c.nodes[f].IgnoreChanges = []string{"content"}
		})},
		{"030-ignored-reference-field-upstream-moves", rows(func(c *config) {
			c.nodes[a].Properties["content"] = "2"
			c.nodes[b].IgnoreChanges = []string{"content"}
		})},
		{"031-cbd-same-name-falls-back", rows(func(c *config) {
			c.nodes["default:aws.SqsQueue:q"].Properties["fifo"] = true
			c.nodes["default:aws.SqsQueue:q"].CreateBeforeDestroy = true
		})},
		{"032-cbd-no-physical-name", rows(func(c *config) {
			c.nodes[f].Properties["path"] = "new"
			c.nodes[f].CreateBeforeDestroy = true
		})},
		{"033-cbd-on-update-has-no-effect", rows(func(c *config) {
			c.nodes[f].Properties["content"] = "2"
			c.nodes[f].CreateBeforeDestroy = true
		})},
		{"034-guard-blocks-delete", rows(func(c *config) { delete(c.nodes, f) })},
		{"035-guard-allows-update", rows(func(c *config) {
			c.nodes[f].Properties["content"] = "d"
			c.nodes[f].PreventDestroy = true
		})},
		{"037-guard-several-blocked", rows(func(c *config) { clear(c.nodes) })},
		{"038-guard-newly-declared", rows(func(c *config) {
			c.nodes[f].Properties["path"] = "q"
			c.nodes[f].PreventDestroy = true
		})},
		{"043-rename-without-alias", func(*state.Snapshot) *config {
			c := newConfig()
			c.file("default:local.File:new", "p", "")
			return c
		}},
		{"061-data-source-unchanged", rows(func(c *config) { query(c, "eu-west-1") })},
		{"062-data-source-query-changed", rows(func(c *config) { query(c, "eu-west-2") })},
		{"063-data-source-missing-from-state", rows(func(c *config) { query(c, "eu-west-1") })},
		{"085-stack-output-missing", securityGroup},
		{"086-stack-output-present", securityGroup},
		{"087-stack-output-value-changed", rows(same)},
		{"088-outputs-in-plan", outputsInPlan},
		{"089-guard-removed-permits-replace-at-once", rows(func(c *config) { c.nodes[f].Properties["path"] = "q" })},
		{"090-guard-dropped-node-judged-by-row", rows(func(c *config) { clear(c.nodes) })},
		{"091-guard-removed-only", rows(same)},
		{"093-guard-changed-with-an-update", rows(func(c *config) {
			c.nodes[f].Properties["content"] = "d"
			c.nodes[f].PreventDestroy = true
		})},
		{"094-guard-changed-on-every-node", rows(func(c *config) { c.nodes[g].PreventDestroy = true })},
		{"095-guard-waits-for-apply-behind-update", rows(guardedGroup)},
		{"096-guard-not-deferred-with-known-change", rows(func(c *config) {
			guardedGroup(c)
			c.nodes["n:aws.SecurityGroup:g"].Properties["group_name"] = "h"
		})},
		{"097-guard-not-deferred-behind-missing-upstream", rows(func(c *config) {
			vpc(c)
			c.nodes["n:aws.SecurityGroup:g"].PreventDestroy = true
		})},
		{"098-conditional-only-if-every-immutable-change-is", rows(func(c *config) {
			vpc(c).Properties["tags"] = map[string]any{"a": "2"}
			c.nodes["n:aws.Subnet:s"].Properties["cidr_block"] = "10.0.2.0/24"
		})},
		{"099-cbd-extends-to-what-the-node-needs", rows(func(c *config) {
			c.nodes["n:aws.Vpc:v"].Properties["cidr_block"] = "10.1.0.0/16"
			c.nodes["n:aws.SecurityGroup:g"].Properties["group_name"] = "h"
			c.nodes["n:aws.SecurityGroup:g"].CreateBeforeDestroy = true
		})},
		{"100-cbd-extends-over-explicit-ordering", rows(func(c *config) {
			c.nodes["default:local.File:a"].Properties["path"] = "two"
			c.nodes["default:local.File:c"].CreateBeforeDestroy = true
		})},
		{"102-cbd-upstream-keeps-dependent-conditional", rows(func(c *config) {
			c.nodes["default:local.File:a"].Properties["path"] = "two"
			c.nodes["default:local.File:a"].CreateBeforeDestroy = true
		})},
		{"103-value-moved-before-this-run", rows(same)},
		{"104-value-recorded-and-unmoved", rows(same)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filepath.Join(irtest.Root, "plan", tc.name)
			snapshot := readSnapshot(t, dir)
			p, err := tc.config(snapshot).plan(t, snapshot)
			compare(t, irtest.ReadJSON(t, filepath.Join(dir, "expected.json")), p, err)
		})
	}
}

// query declares the data sources of the cases about them.
func query(c *config, region string) {
	for id, properties := range map[string]map[string]any{
		"s:aws.AwsAvailabilityZones:z": {"provider_alias": nil, "region": region, "state": "available"},
		"s:aws.AwsCallerIdentity:me":   {"provider_alias": nil, "region": region},
	} {
		c.add(id, properties).Kind = model.KindData
	}
}

func securityGroup(*state.Snapshot) *config {
	c := newConfig()
	c.add("app:aws.SecurityGroup:g", map[string]any{"group_name": "g", "vpc_id": model.StackOutputMarker("net:vpc_id")})
	return c
}

func outputsInPlan(*state.Snapshot) *config {
	c := newConfig()
	sum := ref(c.file("o:local.File:f", "f", "").ID, "checksum")
	c.output("o:lit", map[string]any{"a": []any{int64(1), nil, "x"}})
	c.output("o:ref", sum)
	c.output("o:nested", []any{"x", map[string]any{"y": sum}})
	c.output("o:derived", model.Transform{Op: "concat", Args: []any{"a", sum}}.Marker())
	c.output("o:path", "f")
	return c
}

// vpc declares the network of the guard cases.
func vpc(c *config) *ir.Node {
	return c.add("n:aws.Vpc:v", map[string]any{
		"cidr_block": "10.0.0.0/16", "provider_alias": nil, "region": "eu-west-1", "tags": map[string]any{"a": "1"},
	})
}

func guardedGroup(c *config) {
	vpc(c).Properties["tags"] = map[string]any{"a": "2"}
	c.nodes["n:aws.SecurityGroup:g"].PreventDestroy = true
}

func compare(t *testing.T, expected map[string]any, p *plan.Plan, err error) {
	t.Helper()
	if expected["ok"] != true {
		if !model.IsKind(err, model.Kind(expected["error"].(string))) || model.ClassOf(err) != model.ClassUser {
			t.Fatalf("error %v; want %s", err, expected["error"])
		}
		for _, text := range irtest.Texts(expected["message_contains"]) {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%q does not name %q", err, text)
			}
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	want := expected["plan"].(map[string]any)
	got := p.Payload()
	compareWarnings(t, want["warnings_contain"].([]any), p.Warnings)
	delete(want, "warnings_contain")
	delete(got, "warnings")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("payload (-want +got):\n%s", diff)
	}
	pending := expected["exit_codes"].(map[string]any)["plan_detailed"] == int64(2)
	if p.HasPending() != pending {
		t.Errorf("pending %t; want %t", p.HasPending(), pending)
	}
}

func compareWarnings(t *testing.T, want []any, got []string) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("warnings %q; want %d", got, len(want))
	}
	for i, words := range want {
		if j := slices.IndexFunc(irtest.Texts(words), func(w string) bool { return !strings.Contains(got[i], w) }); j >= 0 {
			t.Errorf("warning %q does not hold %q", got[i], irtest.Texts(words)[j])
		}
	}
}
