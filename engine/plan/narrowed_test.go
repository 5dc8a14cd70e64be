package plan_test

import (
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// The old side of a field that reads what is sensitive is told as that, and never as what an
// apply will know; and a field that changes is never without a line, however it is told.
func TestOldSideOfASecret(t *testing.T) {
	const db = "m:aws.Database:db"
	sealed := map[string]any{model.KeySealed: "v3:x"}
	token := func(prefix string) any {
		return model.Transform{Op: "concat", Args: []any{prefix, ref(db, "token")}}.Marker()
	}
	for _, c := range []struct {
		reason      string
		old, now    any
		short, full string
	}{
		{"the same value, of what is replaced", token("x"), token("x"), "(sensitive) → (known after apply)", "(sensitive) → (known after apply)"},
		{"deep in a value", map[string]any{"k": token("x")}, map[string]any{"k": token("x")}, "(sensitive) → (known after apply)", "(sensitive) → (known after apply)"},
		{"another value", token("x"), token("y"), "(sensitive) → (known after apply)", "(sensitive) → (known after apply)"},
		{"a literal instead", token("x"), "open", "(sensitive) → 'open'", "(sensitive) → (sensitive)"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			config := newConfig()
			config.add(db, map[string]any{"password": "hunter2", "tags": "a"})
			config.add(vpcID, map[string]any{"cidr_block": "x", "tags": c.old})
			snapshot := applied(t, config)
			snapshot.Rows[db].Outputs["token"] = sealed
			config.nodes[vpcID].Properties = map[string]any{"cidr_block": "x", "tags": c.now}
			p := mustPlan(t, config, snapshot, replacing(db))
			for detail, want := range map[plan.Detail]string{plan.DetailShort: c.short, plan.DetailFull: c.full} {
				text := p.TextWith(plan.TextOptions{Detail: detail})
				if !strings.Contains(text, want) || strings.Contains(text, "(known after apply) →") || strings.Contains(text, "hunter2") {
					t.Errorf("%s: no %q in\n%s", detail, want, text)
				}
			}
		})
	}
}

// A reference whose recorded value is not known any more is no value of a run to come.
func TestOldSideThatIsNotRecorded(t *testing.T) {
	config := newConfig()
	config.file(fileID, "f.txt", "")
	config.add(vpcID, map[string]any{"cidr_block": "x", "tags": ref(fileID, "checksum")})
	snapshot := applied(t, config)
	snapshot.Rows[vpcID].RefDigests = nil // as a release wrote it that recorded none
	config.nodes[vpcID].Properties = map[string]any{"cidr_block": "x", "tags": "t"}
	for _, detail := range []plan.Detail{plan.DetailShort, plan.DetailFull} {
		if text := mustPlan(t, config, snapshot).TextWith(plan.TextOptions{Detail: detail}); !strings.Contains(text, "tags: (not recorded) → 't'") {
			t.Errorf("%s:\n%s", detail, text)
		}
	}
}

// TestOutputsOfATarget: a text of targets shows the outputs of the stacks that they reach, and
// of others those alone that the run commits.
func TestOutputsOfATarget(t *testing.T) {
	declare := func() *config {
		c := newConfig()
		for _, env := range []string{"dev", "prod"} {
			c.file(env+":local.File:f", env+".txt", env)
			c.output(env+":sum", ref(env+":local.File:f", "checksum"))
			c.output(env+":name", env)
		}
		return c
	}
	committed := func(t *testing.T) *state.Snapshot { return applied(t, declare()) }
	for _, c := range []struct {
		reason   string
		targets  []string
		snapshot func(t *testing.T) *state.Snapshot
		shown    []string
	}{
		{"what is committed of the stack alone", []string{"dev:*"}, committed, []string{"dev:sum", "dev:name"}},
		{"of both", []string{"dev:*", "prod:*"}, committed, []string{"dev:sum", "dev:name", "prod:sum", "prod:name"}},
		{"everything without targets", nil, committed, []string{"dev:sum", "dev:name", "prod:sum", "prod:name"}},
		{"one of another stack that the run commits", []string{"dev:*"}, func(t *testing.T) *state.Snapshot {
			s := committed(t)
			delete(s.Outputs, "prod:name")
			return s
		}, []string{"dev:sum", "dev:name", "prod:name"}},
		{"at first, what can be made", []string{"dev:*"}, func(*testing.T) *state.Snapshot { return emptySnapshot() }, []string{"dev:sum", "dev:name", "prod:name"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			p := mustPlan(t, declare(), c.snapshot(t), targeting(c.targets...))
			_, listed, _ := strings.Cut(p.Text(), "Outputs:\n")
			for _, key := range []string{"dev:sum", "dev:name", "prod:sum", "prod:name"} {
				want := false
				for _, shown := range c.shown {
					want = want || shown == key
				}
				if got := strings.Contains(listed, "  "+key+" = "); got != want {
					t.Errorf("%s is shown: %t, want %t\n%s", key, got, want, p.Text())
				}
			}
		})
	}
}

// EX-22: a plan without a change says which outputs an apply records all the same.
func TestOutputsAloneAreTold(t *testing.T) {
	c := network()
	c.output("n:sum", ref(fileID, "checksum"))
	snapshot := applied(t, c)
	if text := mustPlan(t, c, snapshot).Text(); strings.Contains(text, "An apply records") {
		t.Errorf("nothing differs:\n%s", text)
	}
	snapshot.Outputs["n:sum"] = state.Output{Value: "another"}
	if text := mustPlan(t, c, snapshot).Text(); !strings.Contains(text, "An apply records n:sum,") {
		t.Errorf("it is not told:\n%s", text)
	}
}
