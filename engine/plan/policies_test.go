package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

// judge is a checker that remembers what it was asked.
type judge struct {
	verdict plan.PolicyVerdict
	err     error
	seen    []string
}

func (j *judge) Check(changes []*plan.Change, bindings []ir.PolicyBinding) (plan.PolicyVerdict, error) {
	for _, c := range changes {
		j.seen = append(j.seen, brief(c)+" "+c.NodeID)
	}
	for _, b := range bindings {
		j.seen = append(j.seen, "by "+b.Name)
	}
	return j.verdict, j.err
}

func (j *judge) with(in *plan.Input) { in.Policies = j }

func TestPoliciesSeeWhatIsPlanned(t *testing.T) {
	for _, tc := range []struct {
		why   string
		edit  func(c *config)
		with  func(in *plan.Input)
		wants []string
	}{
		{why: "T-087 no noop, no state-only change", edit: func(c *config) { c.nodes[vpcID].PreventDestroy = true }, with: targeting(),
			wants: []string{"by p"}},
		{why: "PL-12 actionable changes by id, deletes included", edit: func(c *config) { delete(c.nodes, netID); c.nodes[fileID].Properties["content"] = "two" }, with: targeting(),
			wants: []string{"delete " + netID, "update [content] " + fileID, "update [content] " + otherID, "by p"}},
		{why: "what is left out is not seen", edit: func(c *config) { delete(c.nodes, netID); c.nodes[fileID].Properties["content"] = "two" }, with: targeting(fileID),
			wants: []string{"update [content] " + fileID, "by p"}},
		{why: "DF-20 a conditional replace is a replace", edit: func(c *config) { c.nodes[vpcID].Properties["tags"] = "b" }, with: targeting(),
			wants: []string{"replace [vpc_id] conditional " + netID, "update [tags] " + vpcID, "by p"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			c := network()
			c.policies = []ir.PolicyBinding{{Name: "p", Level: plan.LevelMandatory}}
			tc.edit(c)
			j := &judge{}
			p := mustPlan(t, c, applied(t, network()), j.with, tc.with)
			if diff := cmp.Diff(tc.wants, j.seen); diff != "" {
				t.Errorf("seen (-want +got):\n%s", diff)
			}
			if p.Blocked {
				t.Error("blocked without a violation")
			}
		})
	}
}

func TestPolicyLevels(t *testing.T) {
	for level, blocked := range map[string]bool{plan.LevelMandatory: true, plan.LevelAdvisory: false} {
		j := &judge{verdict: plan.PolicyVerdict{
			Violations: []plan.Violation{{Policy: "p", Level: level, NodeID: fileID, Message: fileID + " is wrong"}},
			Results:    []plan.PolicyResult{{Name: "p", Digest: "d", Result: plan.PolicyViolated}},
		}}
		p := mustPlan(t, network(), emptySnapshot(), j.with)
		if p.Blocked != blocked || len(p.Violations) != 1 {
			t.Errorf("PL-13: %s: blocked %t", level, p.Blocked)
		}
		if sign := map[bool]string{true: "policy DENY p: ", false: "policy WARN p: "}[blocked]; !strings.Contains(p.Text(), sign+fileID+" is wrong\n") {
			t.Errorf("the text lacks %q:\n%s", sign, p.Text())
		}
	}
}

func TestPolicyErrorsFailThePlan(t *testing.T) {
	j := &judge{err: model.Errorf(model.PolicyConfigError, model.ClassUser, "policy 'p' takes no such thing")}
	_, err := network().plan(t, emptySnapshot(), j.with)
	checkRefusal(t, err, model.PolicyConfigError, "'p'")
}

// PL-15.
func TestDestroyAsksNoPolicy(t *testing.T) {
	p, err := plan.Destroy(applied(t, network()), testSchemas(t), plan.Secrets{})
	if err != nil || p.Blocked || len(p.Violations) > 0 {
		t.Errorf("%v, %v", p.Violations, err)
	}
}
