package stack

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// approval is what is known of a Stack's approval annotation when a plan was made. Its
// methods are the rules of approvals (operator.md O-3, 1.13): one counts once, only by
// its full digest, and not for a plan that was superseded since it was given.
type approval struct {
	given   string // the annotation, as approvalToken gives it; "" without one
	handled string // its echo in status
	pending string // digest of the plan that waited or ran before; "" without one
	early   *v1alpha1.EarlyApproval
	used    bool // a run was started under it
	now     time.Time
}

// verdict is the answer of the approval gate.
type verdict int

const (
	// verdictFree: the plan needs no approval.
	verdictFree verdict = iota
	// verdictApproved: the approval names this plan.
	verdictApproved
	// verdictWaiting: there is no approval that was not looked at before.
	verdictWaiting
	// verdictMismatch: a new approval can approve nothing any more: it is no digest, or
	// its plan was superseded by this one.
	verdictMismatch
	// verdictEarly: the approval names a plan that is not there yet and waits for it.
	verdictEarly
	// verdictSpent: the approval names this plan, but was used, or was void, before.
	verdictSpent
	// verdictContinued: this is what is left of an approved plan whose run was handed over.
	verdictContinued
)

// mayRun reports whether the plan may be applied.
func (v verdict) mayRun() bool { return v == verdictFree || v.approved() }

// approved reports whether the plan may be applied because somebody approved it.
func (v verdict) approved() bool { return v == verdictApproved || v == verdictContinued }

// judge decides whether the plan of a digest may run.
func (a approval) judge(needed bool, digest string) verdict {
	switch handled := a.handledBy(digest); {
	case !needed:
		return verdictFree
	case a.given == "":
		return verdictWaiting
	case a.given == digest && handled == "":
		return verdictApproved
	case a.given == digest:
		return verdictSpent
	case a.given == a.handled:
		return verdictWaiting
	case handled != "":
		return verdictMismatch
	default:
		return verdictEarly
	}
}

// earlyLifetime is how long an approval waits for a plan that did not come up yet.
const earlyLifetime = 7 * 24 * time.Hour

// handledBy is the echo of the approval in status once the plan of a digest is the
// current one, whether or not it has anything to do: an approval with an echo approves
// nothing until it was taken off once.
func (a approval) handledBy(digest string) string {
	switch {
	case a.given == "":
		return ""
	case a.given == a.handled, a.used, !isDigest(a.given), a.superseded(digest) != "", a.expired():
		return a.given
	default:
		return ""
	}
}

// superseded is the digest of the approved plan that the plan of another digest took
// the place of, "" if there is none.
func (a approval) superseded(digest string) string {
	if a.given != "" && a.given == a.pending && a.given != digest {
		return a.given
	}
	return ""
}

func (a approval) expired() bool {
	return a.early != nil && a.early.Digest == a.given && a.now.Sub(a.early.Since.Time) >= earlyLifetime
}

// waitsBeside is the approval as it waits while the plan of another digest is the
// current one, nil when it does not.
func (a approval) waitsBeside(digest string) *v1alpha1.EarlyApproval {
	switch {
	case a.given == "" || a.given == digest || a.handledBy(digest) != "":
		return nil
	case a.early != nil && a.early.Digest == a.given:
		return a.early
	default:
		return &v1alpha1.EarlyApproval{Digest: a.given, Since: metav1.NewTime(a.now).Rfc3339Copy()}
	}
}

// usedUnder reports whether a record shows that a run was started under an approval:
// the status that said so may never have been written (operator.md O-14).
func usedUnder(record *state.PlanRecord, given string) bool {
	if record == nil || given == "" || record.ChangesetDigest != given {
		return false
	}
	switch record.Status {
	case state.PlanApplying, state.PlanApplied, state.PlanApplyFailed:
		return true
	default:
		return false
	}
}

// awaited is the digest of the plan that a status shows as waiting or running.
func awaited(status *v1alpha1.StackStatus) string {
	if p := status.Plan; p != nil && (p.Decision == v1alpha1.PlanPending || p.Decision == v1alpha1.PlanApproved) {
		return p.Digest
	}
	return ""
}

var digestPattern = regexp.MustCompile(`^` + digestPrefix + `[0-9a-f]{64}$`)

func isDigest(text string) bool { return digestPattern.MatchString(text) }

// approvalToken is the approval annotation in a form that may stand in status: a digest
// as it is, whatever else somebody wrote as a hash, which equals no digest.
func approvalToken(annotation string) string {
	if annotation == "" || isDigest(annotation) {
		return annotation
	}
	return "invalid-" + hashOf(annotation)[:12]
}

// requestToken is a request annotation in a form that may stand in status: as it is,
// so that clients can wait for it, unless it is longer than any token needs to be.
func requestToken(annotation string) string {
	const longest = 253
	if len(annotation) <= longest {
		return annotation
	}
	return digestPrefix + hashOf(annotation)
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
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
