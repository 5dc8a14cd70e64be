package stack

import (
	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
)

// verdict is the answer of the approval gate.
type verdict int

const (
	// verdictFree: the plan needs no approval.
	verdictFree verdict = iota
	// verdictApproved: the approval names this plan.
	verdictApproved
	// verdictWaiting: there is no approval that was not looked at before.
	verdictWaiting
	// verdictMismatch: a new approval names something else than this plan.
	verdictMismatch
	// verdictSpent: the approval names this plan, but was used, or was void, before.
	verdictSpent
)

// mayRun reports whether the plan may be applied.
func (v verdict) mayRun() bool { return v == verdictFree || v == verdictApproved }

// judge decides whether a plan may run (operator.md O-3). An approval counts once, and
// only by its full digest: approval and handled are the annotation and its echo in
// status, digest is the plan's.
func judge(needed bool, approval, handled, digest string) verdict {
	switch {
	case !needed:
		return verdictFree
	case approval == "":
		return verdictWaiting
	case approval == digest && approval != handled:
		return verdictApproved
	case approval == digest:
		return verdictSpent
	case approval == handled:
		return verdictWaiting
	default:
		return verdictMismatch
	}
}

// handledApproval is the echo of the approval annotation after a reconcile: an approval
// that was used, or that named no pending plan, approves nothing later (design.md: an
// approval is void when its plan is superseded). One that is still to be used, and one
// that was not needed so far, has no echo.
func handledApproval(approval, handled string, v verdict, used bool) string {
	switch {
	case approval == "":
		return ""
	case used || v == verdictMismatch || v == verdictSpent:
		return approval
	case approval == handled:
		return handled
	default:
		return ""
	}
}

// approvalNeeded says whether a plan that has something to do waits for a person.
// Destroying a deleted Stack under Destructive needs none: the deletion is the request.
func approvalNeeded(required v1alpha1.ApprovalRequirement, destructive, deletion bool) bool {
	switch required {
	case v1alpha1.ApprovalNever:
		return false
	case v1alpha1.ApprovalDestructive, "":
		return destructive && !deletion
	default: // Always, and anything unknown (O-5)
		return true
	}
}

func requiredApproval(stack *v1alpha1.Stack) v1alpha1.ApprovalRequirement {
	if stack.Spec.Approval == nil {
		return ""
	}
	return stack.Spec.Approval.Required
}

func deletionPolicy(stack *v1alpha1.Stack) v1alpha1.DeletionPolicy {
	if stack.Spec.Deletion == nil || stack.Spec.Deletion.Policy == "" {
		return v1alpha1.DeletionOrphan
	}
	return stack.Spec.Deletion.Policy
}
