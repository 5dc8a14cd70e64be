package stack

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// AP-18, AP-19: whatever of the head moved or is empty refuses, and says what it was.
func TestHeadChange(t *testing.T) {
	now := metav1.Now()
	cases := []struct {
		reason    string
		operation string
		change    func(*v1alpha1.Stack, *run)
		want      string
	}{
		{"nothing moved", operationApply, func(*v1alpha1.Stack, *run) {}, ""},
		{"status does not count", operationApply, func(s *v1alpha1.Stack, _ *run) { s.Status.ObservedGeneration = 9 }, ""},
		{"changed", operationApply, func(s *v1alpha1.Stack, _ *run) { s.Generation++ }, "changed"},
		{"suspended", operationApply, func(s *v1alpha1.Stack, _ *run) { s.Spec.Suspend = true }, "suspended"},
		{"deleted", operationApply, func(s *v1alpha1.Stack, _ *run) { s.DeletionTimestamp = &now }, "deleted"},
		{"made again", operationApply, func(s *v1alpha1.Stack, _ *run) { s.UID = "other" }, "made again"},
		{"no identity recorded", operationApply, func(s *v1alpha1.Stack, n *run) { n.record.Head.UID, s.UID = "", "" }, "made again"},
		{"approval taken off", operationApply, func(s *v1alpha1.Stack, n *run) { n.verdict, s.Annotations = verdictApproved, nil }, "withdrawn"},
		{"another approval", operationApply, func(s *v1alpha1.Stack, n *run) { n.verdict = verdictApproved; approve(digestB)(s) }, "withdrawn"},
		{"a continued run's approval taken off", operationApply, func(s *v1alpha1.Stack, n *run) {
			n.verdict, n.scope, s.Annotations = verdictContinued, &scope{approval: digestA}, nil
		}, "withdrawn"},
		{"a continued run's approval stands", operationApply, func(_ *v1alpha1.Stack, n *run) {
			n.verdict, n.scope, n.record.ChangesetDigest = verdictContinued, &scope{approval: digestA}, digestB
		}, ""},
		{"a destroy of a deleted Stack", operationDestroy, func(s *v1alpha1.Stack, _ *run) { s.DeletionTimestamp = &now }, ""},
		{"a destroy of a live Stack", operationDestroy, func(*v1alpha1.Stack, *run) {}, "deleted"},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			live := stackAt(3)
			live.UID = "u"
			approve(digestA)(live)
			n := &run{operation: c.operation, record: &state.PlanRecord{ChangesetDigest: digestA, Head: state.Head{UID: "u", Generation: 3}}}
			c.change(live, n)
			if got := headChange(n, live); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// operator.md 1.10: a status stays small whatever went wrong with however many nodes.
func TestStatusIsBounded(t *testing.T) {
	long := strings.Repeat("ü", 50_000)
	ids := make([]string, 20_000)
	for i := range ids {
		ids[i] = fmt.Sprintf("demo:local.File:%s-%d", long[:100], i)
	}
	plan := &v1alpha1.StackPlan{Digest: digestA, Text: "+20000 ~0 ±0 -0", Decision: v1alpha1.PlanPending}
	failed := &model.Error{Kind: model.ProviderError, Class: model.ClassTransient, Message: long, NodeID: long}
	for _, o := range []outcome{
		refused(failed, stageRun), refused(failed, stageDestroy), refused(&model.Error{Kind: model.LockError, Message: long}, stageRun),
		refused(&model.Error{Kind: model.LanguageError, Class: model.ClassUser, Message: long, Line: 1, Col: 900, Source: long}, stagePlan),
		waiting(verdictMismatch, plan, approvalToken(long), ""), waiting(verdictSpent, plan, digestA, digestB), blocked("X", long+listed(ids)),
		waiting(verdictEarly, plan, digestB, digestA), steady(1, []string{long, long}), applied(1, []string{long}, plan.Text),
		unfinished(plan.Text, []string{long, long}),
	} {
		found := findings{plan: plan, request: requestToken(long), approval: &handledApproval{
			digest: approvalToken(long), early: &v1alpha1.EarlyApproval{Digest: digestB, Since: metav1.NewTime(noon)},
		}}
		next := settle(v1alpha1.StackStatus{}, stackAt(1), found, o, noon)
		text, err := json.Marshal(next)
		if err != nil || len(text) > 8<<10 {
			t.Errorf("%s: a status of %d bytes (%v)", o.reason, len(text), err)
		}
		for _, c := range next.Conditions {
			if len(c.Message) > maxMessage {
				t.Errorf("%s: a message of %d bytes", o.reason, len(c.Message))
			}
		}
		if o.event != nil && len(o.event.note) > maxMessage {
			t.Errorf("%s: an event of %d bytes", o.reason, len(o.event.note))
		}
	}
}
