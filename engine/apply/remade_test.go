package apply_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

// drawn lets every create put out a value of its own.
func (b *bench) drawn() {
	b.world.outputs = func(r *model.Request) (model.Outputs, error) {
		for _, o := range b.world.Objects {
			if o.Node == r.Node.ID && o.Attempt == r.Attempt {
				return model.Outputs{"id": o.ID, "sum": "sum-" + o.ID, "password": "password-" + o.ID}, nil
			}
		}
		return nil, errBroken
	}
}

// TestWhatIsMadeAnewIsTold: a rollback that gave a node other outputs says so, in the error
// and in its event, and the next apply commits what is made of them although no node
// has anything to do (EX-22), sealed or not.
func TestWhatIsMadeAnewIsTold(t *testing.T) {
	early := func(key string) []ir.Node {
		return []ir.Node{thing("a", key, "1"), keyed("b", ref("a", "id"), "1")}
	}
	for _, c := range []struct {
		reason   string
		from, to []ir.Node
		of       string
		remade   []string
	}{
		{"a replace", []ir.Node{thing("a", "k", "1")}, []ir.Node{thing("a", "k2", "1")}, "a", []string{"a"}},
		{"what went early as well", early("k"), early("k2"), "b", []string{"a", "b"}},
		{"an update goes back to what it was", []ir.Node{thing("a", "k", "1")}, []ir.Node{thing("a", "k", "2")}, "a", nil},
		{"a create-first replace keeps its old half", []ir.Node{first(thing("a", "k", "1"))}, []ir.Node{first(thing("a", "k2", "1"))}, "a", nil},
	} {
		for _, output := range []string{"id", "password"} {
			t.Run(c.reason+", "+output, func(t *testing.T) {
				b, s := vaulted(t, nil)
				b.drawn()
				out := ir.Output{Key: "s:o", Value: ref(c.of, output)}
				committed := func() any {
					t.Helper()
					value := b.snapshot().Outputs["s:o"].Value
					if output != "password" {
						return value
					}
					plain, err := s.Unseal(value, "s:o", "")
					if err != nil {
						t.Fatal(err)
					}
					return plain
				}
				b.mustApply(c.from, out)
				was := committed()
				b.onFailure = plan.OnFailureRollback
				b.breaking("z")
				_, err := b.apply(failing(c.to), out)
				e := failureOf(t, err, model.ProviderError, "broken")
				if told := strings.Contains(e.Hint, "other outputs"); told != (len(c.remade) > 0) {
					t.Errorf("the hint is %q", e.Hint)
				}
				for _, name := range c.remade {
					if !strings.Contains(e.Hint, "s:test.Thing:"+name) {
						t.Errorf("the hint %q does not name %s", e.Hint, name)
					}
				}
				var remade int
				for _, event := range b.events {
					if event.Phase == "rollback_node" && event.Detail["remade"] == true {
						remade++
					}
				}
				if remade != len(c.remade) {
					t.Errorf("%d events tell of it, want %d: %v", remade, len(c.remade), b.events)
				}
				b.world.before = nil
				b.mustApply(append(c.from, thing("z", "k", "1")), out) // a create that failed may have made something
				if got := committed(); (got != was) != (len(c.remade) > 0) {
					t.Errorf("committed %v, was %v", got, was)
				}
				row := b.opened().Rows["s:test.Thing:"+c.of]
				if got := committed(); got != row.Outputs[output] {
					t.Errorf("committed %v, and the row has %v", got, row.Outputs[output])
				}
			})
		}
	}
}

// TestOutputsAloneAreRecorded: with nothing left of the failure, the next plan has no node to
// act on, says which outputs an apply records, and the apply records them (EX-22).
func TestOutputsAloneAreRecorded(t *testing.T) {
	for _, output := range []string{"id", "password"} {
		t.Run(output, func(t *testing.T) {
			b, _ := vaulted(t, nil)
			b.drawn()
			from := []ir.Node{thing("a", "k", "1"), thing("z", "k", "1")}
			out := ir.Output{Key: "s:o", Value: ref("a", output)}
			b.mustApply(from, out)
			b.onFailure = plan.OnFailureRollback
			b.breaking("z")
			_, err := b.apply([]ir.Node{thing("a", "k2", "1"), thing("z", "k", "2")}, out)
			wantError(t, err, model.ProviderError, "broken")
			b.world.before = nil
			p := b.plan(compiled(t, from, out))
			if p.HasPending() || p.Outputs.Empty() || !strings.Contains(p.Text(), "An apply records s:o") {
				t.Fatalf("%+v\n%s", p.Outputs, p.Text())
			}
			b.world.calls = nil
			if report := b.mustApply(from, out); len(report.Noop) != 2 {
				t.Errorf("report %+v", report)
			}
			b.wantCalls()
			b.steady(from, out)
		})
	}
}

// TestCreateThatFailsAfterItsDelete: the error of a node whose old object went before its new
// one could be made says so, and what becomes of it; no other error does (EX-11, EX-26).
func TestCreateThatFailsAfterItsDelete(t *testing.T) {
	founded := func(key string) []ir.Node {
		return []ir.Node{thing("a", key, "1"), keyed("b", ref("a", "id"), "1")}
	}
	for _, c := range []struct {
		reason   string
		from, to []ir.Node
		fails    string // "op name"
		told     bool
	}{
		{"a destroy-first replace", []ir.Node{thing("a", "k", "1")}, []ir.Node{thing("a", "k2", "1")}, "create a", true},
		{"one whose old half went early", founded("k"), founded("k2"), "create b", true},
		{"its delete fails", []ir.Node{thing("a", "k", "1")}, []ir.Node{thing("a", "k2", "1")}, "delete a", false},
		{"a create-first replace", []ir.Node{first(thing("a", "k", "1"))}, []ir.Node{first(thing("a", "k2", "1"))}, "create a", false},
		{"a create", nil, []ir.Node{thing("a", "k", "1")}, "create a", false},
		{"an update", []ir.Node{thing("a", "k", "1")}, []ir.Node{thing("a", "k", "2")}, "update a", false},
	} {
		for _, mode := range []string{plan.OnFailureRollback, plan.OnFailureHalt} {
			t.Run(c.reason+", "+mode, func(t *testing.T) {
				b := serial(t, c.from)
				b.onFailure = mode
				b.world.before = func(_ context.Context, op string, r *model.Request) error {
					if op+" "+r.Node.Name == c.fails {
						return fmt.Errorf("%s: %w", op, errBroken)
					}
					return nil
				}
				_, err := b.apply(c.to)
				e := failureOf(t, err, model.ProviderError, "broken")
				if told := strings.Contains(e.Hint, "is deleted already; the next apply makes the node again"); told != c.told {
					t.Errorf("the hint is %q", e.Hint)
				}
				b.world.before, b.onFailure = nil, plan.OnFailureHalt
				b.converge(c.to)
			})
		}
	}
}

// TestUndoThatCannotMakeItAgain: the same goes for an undo that got no further.
func TestUndoThatCannotMakeItAgain(t *testing.T) {
	b := rollingBack(t, []ir.Node{thing("a", "k", "1")})
	made := 0
	b.world.before = func(_ context.Context, op string, r *model.Request) error {
		if op == "create" && r.Node.Name == "a" {
			made++
		}
		if r.Node.Name == "z" || made == 2 {
			return errBroken
		}
		return nil
	}
	_, err := b.apply(failing([]ir.Node{thing("a", "k2", "1")}))
	e := failureOf(t, err, model.ProviderError, "broken")
	if len(e.AlsoFailed) != 1 || e.AlsoFailed[0].Kind != model.RollbackError || !strings.Contains(e.AlsoFailed[0].Error(), "is deleted already") {
		t.Errorf("%v also %v", e, e.AlsoFailed)
	}
}
