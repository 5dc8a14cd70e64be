package apply_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/apply/applytest"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// crashing applies nodes until the run is killed; it reports whether it was. A run in
// which something fails by itself may end in that failure.
func (b *bench) crashing(kill *applytest.Kill, nodes []ir.Node) bool {
	b.Helper()
	b.provider, b.writer = kill.Provider(b.world), kill.Store(b.store)
	defer func() { b.provider, b.writer = b.world, b.store }()
	_, err := b.apply(nodes, outputsOf(nodes)...)
	if !kill.Dead() && err != nil && !errors.Is(err, errBroken) {
		b.Fatalf("a run that was not killed failed: %v", err)
	}
	if kill.Dead() && err == nil {
		b.Fatalf("killed at step %d (after: %v), and the run says nothing", kill.At, kill.After)
	}
	return kill.Dead()
}

// errBroken is what a node of a test fails with.
var errBroken = errors.New("broken")

// breaking lets the create and the update of a node fail.
func (b *bench) breaking(name string) {
	b.world.before = func(_ context.Context, op string, r *model.Request) error {
		if r.Node.Name == name && op != "delete" {
			return errBroken
		}
		return nil
	}
}

// outputsOf declares one output per node, so that the last phase has work.
func outputsOf(nodes []ir.Node) []ir.Output {
	var outputs []ir.Output
	for _, n := range nodes {
		outputs = append(outputs, ir.Output{Key: "s:" + model.LocalName(n.ID), Value: ref(model.LocalName(n.ID), "sum")})
	}
	return outputs
}

// converge applies nodes and complains unless exactly they exist afterwards and the
// next plan is empty.
func (b *bench) converge(nodes []ir.Node) {
	b.Helper()
	b.mustApply(nodes, outputsOf(nodes)...)
	b.forget()
	b.wantThings(expected(nodes))
	want := map[string]string{}
	for _, n := range nodes {
		want[model.LocalName(n.ID)] = state.StatusCreated
	}
	b.wantStatuses(want)
	b.steady(nodes, outputsOf(nodes)...)
}

// TestCrashAtEveryStep kills a run before and after each of its steps and demands that
// the next one, of the same or of another config, makes the world as declared:
// nothing is left behind, nothing made twice.
func TestCrashAtEveryStep(t *testing.T) {
	chain := func(key, value string) []ir.Node {
		return []ir.Node{thing("a", key, value), thing("b", "k", ref("a", "sum"))}
	}
	flagged := func(key string) []ir.Node {
		return []ir.Node{first(thing("a", key, "1")), thing("b", "k", ref("a", "id"))}
	}
	founded := func(key, value string) []ir.Node {
		return []ir.Node{thing("a", key, value), keyed("b", ref("a", "id"), "1"), keyed("c", ref("b", "id"), "1")}
	}
	summed := func(value string) []ir.Node {
		return []ir.Node{thing("a", "k", value), keyed("b", ref("a", "sum"), "1")}
	}
	for _, c := range []struct {
		name              string
		from, to, instead []ir.Node
	}{
		{"create", nil, chain("k", "1"), nil},
		{"create, then another identity", nil, chain("k", "1"), chain("k2", "1")},
		{"create, then nothing", nil, chain("k", "1"), []ir.Node{}},
		{"update", chain("k", "1"), chain("k", "2"), nil},
		{"update, then another value", chain("k", "1"), chain("k", "2"), chain("k", "3")},
		{"replace", chain("k", "1"), chain("k2", "1"), nil},
		{"replace and update", chain("k", "1"), chain("k2", "2"), nil},
		{"replace, then back", chain("k", "1"), chain("k2", "1"), chain("k", "1")},
		{"replace, then a third identity", chain("k", "1"), chain("k2", "1"), chain("k3", "1")},
		{"replace, then another value", chain("k", "1"), chain("k2", "1"), chain("k2", "2")},
		{"replace, then nothing", chain("k", "1"), chain("k2", "1"), []ir.Node{}},
		{"delete", chain("k", "1"), chain("k", "1")[:1], nil},
		{"delete, then back", chain("k", "1"), []ir.Node{}, chain("k", "1")},
		{"create-first replace", []ir.Node{first(thing("a", "k", "1"))}, []ir.Node{first(thing("a", "k2", "1"))}, nil},
		{"create-first replace under a dependent", flagged("k"), flagged("k2"), nil},
		{"create-first replace, then back", flagged("k"), flagged("k2"), flagged("k")},
		{"create-first replace, then a third identity", flagged("k"), flagged("k2"), flagged("k3")},
		{"create-first replace, then nothing", flagged("k"), flagged("k2"), []ir.Node{}},
		{"create-first replace beside a delete of its dependent", flagged("k"), flagged("k2")[:1], nil},
		{"early destroy of what is replaced", founded("k", "1"), founded("k2", "1"), nil},
		{"early destroy, then back", founded("k", "1"), founded("k2", "1"), founded("k", "1")},
		{"early destroy, then a third identity", founded("k", "1"), founded("k2", "1"), founded("k3", "1")},
		{"early destroy, then nothing", founded("k", "1"), founded("k2", "1"), []ir.Node{}},
		{"early destroy of what is deleted", founded("k", "1"), founded("k2", "1")[:1], nil},
		{"conditional replace that is not needed", founded("k", "1"), founded("k", "2"), nil},
		{"conditional replace that is", summed("1"), summed("2"), nil},
		{"conditional replace, then back", summed("1"), summed("2"), summed("1")},
		{"all at once", append(chain("k", "1"), thing("c", "k", "1"), thing("d", "k", "1")),
			append(chain("k", "2"), thing("c", "k2", "1"), thing("e", "k", "1")), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.instead == nil {
				c.instead = c.to
			}
			for _, after := range []bool{false, true} {
				steps := 0
				for killed := true; killed; steps++ {
					t.Run(fmt.Sprintf("step %d, after %v", steps, after), func(t *testing.T) {
						b := newBench(t)
						b.adjust = func(r *apply.Run) { r.Parallelism = 1 }
						b.converge(c.from)
						killed = b.crashing(&applytest.Kill{At: steps, After: after}, c.to)
						b.converge(c.instead)
					})
					if t.Failed() {
						return
					}
				}
				if steps < 3 {
					t.Errorf("only %d steps; the test kills nothing", steps)
				}
			}
		})
	}
}

// TestConvergence is the law of DF-15 for runs that fail, are undone or are killed:
// whatever configs came before and wherever their runs died, one whole run makes the world
// as declared.
func TestConvergence(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(rt)
		b.world.kind = rapid.SampledFrom([]cloud{byToken, byName}).Draw(rt, "cloud")
		b.adjust = func(r *apply.Run) { r.Parallelism = 1 }
		for range rapid.IntRange(1, 4).Draw(rt, "runs") {
			nodes := drawConfig(rt)
			if b.refusal(nodes) != nil {
				continue
			}
			b.onFailure = rapid.SampledFrom([]string{plan.OnFailureHalt, plan.OnFailureRollback}).Draw(rt, "on failure")
			b.breaking(rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(rt, "broken"))
			b.crashing(&applytest.Kill{At: rapid.IntRange(0, 30).Draw(rt, "step"), After: rapid.Bool().Draw(rt, "after")}, nodes)
			b.world.before, b.onFailure = nil, plan.OnFailureHalt
		}
		nodes := drawConfig(rt)
		if b.refusal(nodes) != nil {
			nodes = nil
		}
		b.converge(nodes)
	})
}

// refusal is why a config cannot be run over the present state, nil if it can.
func (b *bench) refusal(nodes []ir.Node) error {
	b.Helper()
	p, err := plan.New(plan.Input{Compilation: compiled(b, nodes), Snapshot: b.snapshot(), Schemas: schemas(b), PlainSecrets: true})
	if err != nil {
		return err
	}
	return p.Unsupported()
}

// drawConfig draws up to four things, each of which may read one before it, in its value
// and in its identity, may only stand after one, and may be replaced create-first.
func drawConfig(rt *rapid.T) []ir.Node {
	var nodes []ir.Node
	for i, name := range []string{"a", "b", "c", "d"} {
		if !rapid.Bool().Draw(rt, "declared "+name) {
			continue
		}
		var key, value any = rapid.SampledFrom([]string{"k", "k2"}).Draw(rt, "key "+name), rapid.SampledFrom([]string{"1", "2"}).Draw(rt, "value "+name)
		upstream := func() string { return model.LocalName(rapid.SampledFrom(nodes).Draw(rt, "upstream of "+name).ID) }
		reads := "nothing"
		if len(nodes) > 0 && i > 0 {
			reads = rapid.SampledFrom([]string{"nothing", "sum", "id", "identity", "order"}).Draw(rt, "reads "+name)
		}
		switch reads {
		case "sum", "id":
			value = ref(upstream(), reads)
		case "identity":
			key = ref(upstream(), rapid.SampledFrom([]string{"sum", "id"}).Draw(rt, "identity of "+name))
		}
		n := keyed(name, key, value)
		if reads == "order" {
			n.DependsOn = []string{"s:test.Thing:" + upstream()}
		}
		n.CreateBeforeDestroy = rapid.IntRange(0, 3).Draw(rt, "create first "+name) == 0
		nodes = append(nodes, n)
	}
	return nodes
}

// TestCrashOnACloudThatKnowsNoToken: where nothing finds what a lost create made, there may
// be one too many, and its node is named by the row that is still being made (EX-26).
func TestCrashOnACloudThatKnowsNoToken(t *testing.T) {
	nodes := []ir.Node{thing("a", "k", "1"), thing("b", "k", ref("a", "sum"))}
	for _, after := range []bool{false, true} {
		killed := true
		for step := 0; killed; step++ {
			b := newBench(t)
			b.world.kind = byNothing
			b.adjust = func(r *apply.Run) { r.Parallelism = 1 }
			killed = b.crashing(&applytest.Kill{At: step, After: after}, nodes)
			creating := map[string]bool{}
			for id, row := range b.snapshot().Rows {
				creating[id] = row.Status == state.StatusCreating
			}
			b.mustApply(nodes, outputsOf(nodes)...)
			for id, row := range b.snapshot().Rows {
				if b.world.objects[row.Outputs["id"].(string)] == nil {
					t.Errorf("step %d, after %v: the row of %s stands for nothing", step, after, id)
				}
			}
			for id, o := range b.world.objects {
				if b.snapshot().Rows[o.Node].Outputs["id"] != id && !creating[o.Node] {
					t.Errorf("step %d, after %v: %s is a second thing of %s, and nothing says so", step, after, id, o.Node)
				}
			}
			b.steady(nodes, outputsOf(nodes)...)
		}
	}
}
