package plan_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// An output that is not there is told apart from one that is not committed yet (PL-9): of a
// stack that the config declares nobody else can commit it.
func TestAbsentStackOutputs(t *testing.T) {
	const uncommitted = "not committed yet: n:local.File:f.content -> 'net:zone'; apply the stack that declares them first"
	for _, tc := range []struct {
		why      string
		declare  func(c *config)
		mentions []string
		not      string
	}{
		{"of another config", func(c *config) {
			c.nodes[fileID].Properties["content"] = model.StackOutputMarker("net:zone")
		}, []string{uncommitted}, "declares stack"},
		{"of a stack that is here", func(c *config) {
			c.output("n:checksum", "x")
			c.nodes[fileID].Properties["content"] = model.StackOutputMarker("n:cheksum")
		}, []string{"do not exist: n:local.File:f.content -> 'n:cheksum'", "stack 'n' with the outputs checksum", "did you mean 'checksum'?"}, "first"},
		{"of a stack that is here and has none", func(c *config) {
			c.nodes[fileID].Properties["content"] = model.StackOutputMarker("n:cheksum")
		}, []string{"stack 'n' without an output"}, "did you mean"},
		{"of both", func(c *config) {
			c.nodes[fileID].Properties["content"] = model.StackOutputMarker("net:zone")
			c.nodes[otherID].Properties["content"] = model.StackOutputMarker("n:q")
		}, []string{"-> 'n:q'", uncommitted}, ""},
	} {
		t.Run(tc.why, func(t *testing.T) {
			c := network()
			tc.declare(c)
			_, err := c.plan(t, emptySnapshot())
			var failed *model.Error
			if !errors.As(err, &failed) {
				t.Fatalf("planned: %v", err)
			}
			text := failed.Error()
			for _, also := range failed.AlsoFailed {
				text += "\n" + also.Error()
			}
			for _, want := range tc.mentions {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in %q", want, text)
				}
			}
			if tc.not != "" && strings.Contains(text, tc.not) {
				t.Errorf("%q in %q", tc.not, text)
			}
		})
	}
}

// An output that reads an absent one of its own config is warned of, since it alone fails
// no plan.
func TestOutputsOfAbsentOutputs(t *testing.T) {
	c := network()
	c.output("n:zone", "x")
	c.output("n:copy", []any{model.StackOutputMarker("n:zoen"), model.StackOutputMarker("net:later")})
	want := []string{"output 'n:copy' reads 'n:zoen', which does not exist; this config declares stack 'n' with the outputs copy, zone; did you mean 'zone'?"}
	if got := mustPlan(t, c, emptySnapshot()).Warnings; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	snapshot := emptySnapshot()
	snapshot.Outputs["n:zoen"] = state.Output{Value: "x"}
	if got := mustPlan(t, c, snapshot).Warnings; len(got) > 0 {
		t.Errorf("a committed one can be read: %q", got)
	}
}
