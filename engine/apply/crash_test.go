package apply_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/apply/applytest"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// crashing applies nodes until the run is killed; it reports whether it was. A run that is
// not killed may end in what happens to it by itself.
func (b *bench) crashing(kill *applytest.Kill, nodes []ir.Node) bool {
	b.Helper()
	b.provider, b.writer = kill.Provider(b.world), kill.Store(b.store)
	defer func() { b.provider, b.writer = b.world, b.store }()
	_, err := b.apply(nodes, outputsOf(nodes)...)
	if !kill.Dead() && err != nil && !errors.Is(err, errBroken) && !model.IsKind(err, model.InterruptedRunError) {
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

// refusing lets every call of an operation fail.
func refusing(op string) func(context.Context, string, *model.Request) error {
	return func(_ context.Context, called string, _ *model.Request) error {
		if called == op {
			return errBroken
		}
		return nil
	}
}

// outputsOf declares one output per resource, so that the last phase has work.
func outputsOf(nodes []ir.Node) []ir.Output {
	var outputs []ir.Output
	for _, n := range nodes {
		if n.Kind == model.KindResource {
			outputs = append(outputs, ir.Output{Key: "s:" + model.LocalName(n.ID), Value: model.Reference{NodeID: n.ID, Output: "sum"}.Marker()})
		}
	}
	return outputs
}

// converge applies nodes and complains unless exactly they exist afterwards and the
// next plan is empty.
func (b *bench) converge(nodes []ir.Node) {
	b.Helper()
	b.convergeTo(nodes, expected(nodes))
}

func (b *bench) convergeTo(nodes []ir.Node, things map[string]string) {
	b.Helper()
	b.mustApply(nodes, outputsOf(nodes)...)
	b.judge()
	b.forget()
	b.wantThings(things)
	want := map[string]string{}
	for _, n := range nodes {
		want[model.LocalName(n.ID)] = state.StatusCreated
	}
	b.wantStatuses(want)
	b.steady(nodes, outputsOf(nodes)...)
}

// judge complains of what is recorded wrongly of the world.
func (b *bench) judge() {
	b.Helper()
	for _, fault := range b.world.Faults(b.opened(), b.named) {
		b.Errorf("%s", fault)
	}
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
						b.judge()
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
