package apply_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// An address that comes from a reference is known only when the node is made. What goes
// must not take along what another node is by then.
func TestAnObjectThatAnotherNodeTookOverIsNotDeleted(t *testing.T) {
	named := func(name string, key any) ir.Node {
		return node("s:test.Named:"+name, map[string]any{"key": key, "value": ""})
	}
	later := named("old", "elsewhere")
	later.DependsOn = []string{"s:test.Named:new"}
	for _, c := range []struct {
		reason string
		next   []ir.Node
	}{
		{"a rename", []ir.Node{thing("a", "k", "1"), named("new", ref("a", "sum"))}},
		{"a node that leaves its address to another", []ir.Node{thing("a", "k", "1"), named("new", ref("a", "sum")), later}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			b := newBench(t)
			b.mustApply([]ir.Node{thing("a", "k", "1"), named("old", "sum(1)")})
			b.world.before = func(_ context.Context, op string, r *model.Request) error {
				if op == "delete" && r.Node.Name == "old" {
					t.Errorf("the object of %s is deleted under the node that took it over", r.Node.ID)
				}
				return nil
			}
			_, err := b.apply(c.next)
			if !model.IsKind(err, model.ProviderError) || model.ClassOf(err) != model.ClassUser ||
				!strings.Contains(err.Error(), "s:test.Named:old") || !strings.Contains(err.Error(), "s:test.Named:new") {
				t.Errorf("got %v, want a user's ProviderError that names both nodes", err)
			}
			if row := b.snapshot().Rows["s:test.Named:old"]; row == nil {
				t.Error("the row of what was not deleted is gone")
			}
		})
	}
}

// Two nodes that turn out to be one object would overwrite each other.
func TestTwoNodesThatAreOneObject(t *testing.T) {
	named := func(name string, key any) ir.Node {
		return node("s:test.Named:"+name, map[string]any{"key": key, "value": name})
	}
	for _, c := range []struct {
		reason string
		before []ir.Node
		nodes  []ir.Node
	}{
		{"both behind a reference", nil, []ir.Node{thing("a", "k", "1"), named("b", ref("a", "sum")), named("c", ref("a", "sum"))}},
		{"one of them written out", nil, []ir.Node{thing("a", "k", "1"), named("b", ref("a", "sum")), named("c", "sum(1)")}},
		{"one of them unchanged", []ir.Node{named("c", "sum(1)")}, []ir.Node{thing("a", "k", "1"), named("b", ref("a", "sum")), named("c", "sum(1)")}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			b := newBench(t)
			if c.before != nil {
				b.mustApply(c.before)
			}
			_, err := b.apply(c.nodes)
			if !model.IsKind(err, model.ProviderError) || model.ClassOf(err) != model.ClassUser || !strings.Contains(err.Error(), "same object") {
				t.Fatalf("got %v, want a user's ProviderError", err)
			}
			if made := len(b.world.Objects); made != 2 {
				t.Errorf("%d objects exist, want the thing and one of the two", made)
			}
		})
	}
}

// What is put off keeps the address that it has, and takes none that it only would have: it
// is the former that nobody else may take in the same run.
func TestWhatIsPutOffKeepsItsAddress(t *testing.T) {
	bucket := func(name string, key any) ir.Node {
		return node("s:test.Bucket:"+name, map[string]any{"key": key, "value": "1"})
	}
	for _, c := range []struct {
		reason string
		of     string // whose sum the other one is named after
		made   bool
	}{
		{"another one takes the address that it has", "d", false},
		{"another one takes the address that it does not have yet", "a", true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			before := []ir.Node{thing("a", "k", "1"), thing("d", "k", "1"), bucket("b", ref("a", "sum"))}
			b := serial(t, before)
			row := b.snapshot().Rows["s:test.Bucket:b"]
			row.InputHash = ""
			if err := b.store.Commit(t.Context(), partition, b.handle.fence, state.Batch{PutRows: []*state.Row{row}}); err != nil {
				t.Fatal(err)
			}
			other := bucket("c", ref(c.of, "sum"))
			other.DependsOn = []string{"s:test.Bucket:b"}
			report, err := b.apply([]ir.Node{thing("a", "k", "2"), thing("d", "k", "1"), bucket("b", ref("a", "sum")), other})
			if c.made != (err == nil) || err != nil && !strings.Contains(err.Error(), "same object") || report.PutOff["s:test.Bucket:b"] == "" {
				t.Errorf("%v; the report is %+v", err, report)
			}
			if made := slices.Contains(report.Created, "s:test.Bucket:c"); made != c.made {
				t.Errorf("made: %v, want %v", made, c.made)
			}
		})
	}
}
