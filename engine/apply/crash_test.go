package apply_test

import (
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

// crashing applies nodes until the run is killed; it reports whether it was.
func (b *bench) crashing(kill *applytest.Kill, nodes []ir.Node) bool {
	b.Helper()
	b.provider, b.writer = kill.Provider(b.world), kill.Store(b.store)
	defer func() { b.provider, b.writer = b.world, b.store }()
	_, err := b.apply(nodes, outputsOf(nodes)...)
	if !kill.Dead() && err != nil {
		b.Fatalf("a run that was not killed failed: %v", err)
	}
	if kill.Dead() && !errors.Is(err, applytest.ErrKilled) {
		b.Fatalf("killed at step %d (after: %v), and the run says %v", kill.At, kill.After, err)
	}
	return kill.Dead()
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

// TestConvergence is the law of DF-15 for runs that are killed: whatever configs came
// before and wherever their runs died, one whole run makes the world as declared.
func TestConvergence(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(rt)
		b.adjust = func(r *apply.Run) { r.Parallelism = 1 }
		for range rapid.IntRange(1, 4).Draw(rt, "runs") {
			nodes := drawConfig(rt)
			if b.refusal(nodes) != nil {
				continue
			}
			b.crashing(&applytest.Kill{At: rapid.IntRange(0, 12).Draw(rt, "step"), After: rapid.Bool().Draw(rt, "after")}, nodes)
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
	p, err := plan.New(plan.Input{Compilation: compiled(b, nodes), Snapshot: b.snapshot(), Schemas: schemas(b)})
	if err != nil {
		return err
	}
	return p.Unsupported()
}

// drawConfig draws up to four things, each of which may read one before it.
func drawConfig(rt *rapid.T) []ir.Node {
	var nodes []ir.Node
	names := []string{"a", "b", "c", "d"}
	for i, name := range names {
		if !rapid.Bool().Draw(rt, "declared "+name) {
			continue
		}
		var value any = rapid.SampledFrom([]string{"1", "2"}).Draw(rt, "value "+name)
		if len(nodes) > 0 && i > 0 && rapid.Bool().Draw(rt, "reads "+name) {
			value = ref(model.LocalName(rapid.SampledFrom(nodes).Draw(rt, "upstream "+name).ID), "sum")
		}
		nodes = append(nodes, thing(name, rapid.SampledFrom([]string{"k", "k2"}).Draw(rt, "key "+name), value))
	}
	return nodes
}
