package apply_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// trace is what a run asks of its store and of its provider, in order.
type trace struct {
	state.Writer
	apply.Provider
	steps []string
	// refuse is what the store says to the gate from the n-th on, counted from 1; 0 = never.
	refuse  error
	from, n int
}

func (t *trace) Commit(ctx context.Context, p string, fence model.Fence, b state.Batch) error {
	step := "commit"
	if b.Ahead {
		if err := t.gate(); err != nil {
			return err
		}
		step = "ahead"
		for _, row := range b.PutRows {
			step += " " + model.LocalName(row.ID)
		}
	}
	t.steps = append(t.steps, step)
	return t.Writer.Commit(ctx, p, fence, b)
}

func (t *trace) CheckFence(ctx context.Context, p string, fence model.Fence) error {
	if err := t.gate(); err != nil {
		return err
	}
	t.steps = append(t.steps, "probe")
	return t.Writer.CheckFence(ctx, p, fence)
}

func (t *trace) gate() error {
	if t.n++; t.from > 0 && t.n >= t.from {
		return t.refuse
	}
	return nil
}

func (t *trace) Create(ctx context.Context, r *model.Request) (model.Outputs, error) {
	t.steps = append(t.steps, "call create "+r.Node.Name)
	return t.Provider.Create(ctx, r)
}

func (t *trace) Update(ctx context.Context, r *model.Request) (model.Outputs, error) {
	t.steps = append(t.steps, "call update "+r.Node.Name)
	return t.Provider.Update(ctx, r)
}

func (t *trace) Delete(ctx context.Context, r *model.Request) error {
	t.steps = append(t.steps, "call delete "+r.Node.Name)
	return t.Provider.Delete(ctx, r)
}

// ungated are the calls that nothing stands right before which proves the right to them.
func (t *trace) ungated() (calls []string) {
	before := ""
	for _, step := range t.steps {
		if name, is := strings.CutPrefix(step, "call "); is {
			node := name[strings.Index(name, " ")+1:]
			written, ahead := strings.CutPrefix(before, "ahead ")
			if before != "probe" && (!ahead || !slices.Contains(strings.Fields(written), node)) {
				calls = append(calls, before+", then "+step)
			}
		}
		before = step
	}
	return calls
}

func (t *trace) calls() (calls []string) {
	for _, step := range t.steps {
		if call, is := strings.CutPrefix(step, "call "); is {
			calls = append(calls, call)
		}
	}
	return calls
}

// gated are changes that reach every way in which a run calls a provider.
var gated = []struct {
	reason   string
	from, to []ir.Node
}{
	{"create", nil, []ir.Node{thing("a", "k", "1"), thing("b", "k", ref("a", "sum"))}},
	{"update", []ir.Node{thing("a", "k", "1"), thing("b", "k", ref("a", "sum"))}, []ir.Node{thing("a", "k", "2"), thing("b", "k", ref("a", "sum"))}},
	{"replace", []ir.Node{thing("a", "k", "1"), thing("b", "k", "1")}, []ir.Node{thing("a", "k2", "1"), thing("b", "k", "2")}},
	{"create-first replace", []ir.Node{first(thing("a", "k", "1")), thing("b", "k", "1")}, []ir.Node{first(thing("a", "k2", "1")), thing("b", "k", "2")}},
	{"early destroy", []ir.Node{thing("a", "k", "1"), keyed("b", ref("a", "id"), "1"), keyed("c", ref("b", "id"), "1")},
		[]ir.Node{thing("a", "k2", "1"), keyed("b", ref("a", "id"), "1"), keyed("c", ref("b", "id"), "1")}},
	{"delete", []ir.Node{thing("a", "k", "1"), thing("b", "k", ref("a", "sum"))}, nil},
}

// traced runs a change with a node broken and says what it asked.
func traced(t *testing.T, from, to []ir.Node, broken, onFailure string, refuse error, at int) (*trace, *apply.Report, error) {
	b := newBench(t)
	b.mustApply(from)
	tr := &trace{Writer: b.store, Provider: b.world, refuse: refuse, from: at}
	b.writer, b.provider, b.onFailure = tr, tr, onFailure
	b.adjust = func(r *apply.Run) { r.Parallelism = 1 }
	if broken != "" {
		b.breaking(broken)
	}
	report, err := b.apply(to)
	return tr, report, err
}

// EX-18: whatever a run does, right before every call the store let through that very node:
// in the write ahead of it, or in a probe. Rollbacks too.
func TestEveryCallIsGated(t *testing.T) {
	undone := 0
	for _, c := range gated {
		for _, broken := range []string{"", "a", "b", "c"} {
			tr, report, _ := traced(t, c.from, c.to, broken, plan.OnFailureRollback, nil, 0)
			if ungated := tr.ungated(); len(ungated) > 0 {
				t.Errorf("%s, %q broken: %q in\n%s", c.reason, broken, ungated, strings.Join(tr.steps, "\n"))
			}
			undone += len(report.RolledBack)
		}
	}
	if undone < 8 {
		t.Errorf("only %d undos; the test gates none", undone)
	}
}

// A create, an update and a delete cost no probe: the write ahead of each has proved all.
func TestGatesCostNothing(t *testing.T) {
	for _, c := range gated[:2] {
		tr, _, err := traced(t, c.from, c.to, "", plan.OnFailureHalt, nil, 0)
		if err != nil || slices.Contains(tr.steps, "probe") || len(tr.steps) != 6 {
			t.Errorf("%s: %v, %q", c.reason, err, tr.steps)
		}
	}
}

// AP-25: a plan that is not the recorded one any more ends the run at its next gate. What was
// called is recorded all the same, and a rollback gets through no gate either.
func TestStalePlan(t *testing.T) {
	stale := model.Errorf(model.PlanDriftError, model.ClassTransient, "the plan is not the recorded one any more")
	for _, c := range gated {
		whole, _, err := traced(t, c.from, c.to, "", plan.OnFailureRollback, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for at := 1; at <= whole.n; at++ {
			t.Run(fmt.Sprintf("%s, gate %d", c.reason, at), func(t *testing.T) {
				tr, _, err := traced(t, c.from, c.to, "", plan.OnFailureRollback, stale, at)
				if !model.IsKind(err, model.PlanDriftError) {
					t.Errorf("%v", err)
				}
				if all, got := whole.calls(), tr.calls(); len(got) >= len(all) || !slices.Equal(all[:len(got)], got) {
					t.Errorf("calls %q, of %q", got, all)
				}
				if steps := tr.steps; len(steps) > 0 && strings.HasPrefix(steps[len(steps)-1], "call ") {
					t.Errorf("the last call was not recorded:\n%s", strings.Join(steps, "\n"))
				}
			})
		}
	}
}
