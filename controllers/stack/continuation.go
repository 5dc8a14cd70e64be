package stack

import (
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// handedOver is the reason in the record of a plan whose run an operator's end interrupted.
const handedOver = "handed over while the operator stopped"

// continuationOf begins who made a plan that is what is left of an approved one; the digest
// of that follows.
const continuationOf = "continuation of "

// continues is the digest of the approved plan that a recorded one is what is left of, ""
// of any other.
func continues(record *state.PlanRecord) string {
	digest, ok := strings.CutPrefix(record.CreatedBy, continuationOf)
	if !ok {
		return ""
	}
	return digest
}

// remainsOf is the digest of the approved plan that next only goes on with, "" if there is
// none: its run was handed over, head and approval are what they were, and nothing is to be
// done that was not approved (EX-37). What is not certainly so needs its own approval.
func remainsOf(current, next *state.PlanRecord, given string) string {
	if current == nil || given == "" || next.Status != state.PlanPlanned || current.Head != next.Head {
		return ""
	}
	approved := continues(current)
	if approved == "" {
		approved = current.ChangesetDigest
	}
	if approved != given {
		return ""
	}
	switch current.Status {
	case state.PlanApplyFailed:
		if current.Reason == handedOver && state.PlanHash(current.Body) == current.Hash && plan.Within(next.Body, current.Body) {
			return approved
		}
	case state.PlanPlanned: // by an operator that ended before it began
		if continues(current) != "" && current.ChangesetDigest == next.ChangesetDigest {
			return approved
		}
	default:
	}
	return ""
}
