// Package planstore stands between a reconciler and the plan records of the state
// store: it makes the record of a plan, knows when one is recorded already, and checks
// under the lock that what was planned is still what is recorded.
//
// The records, their transitions and the tables belong to engine/state; it must never
// know a reconcile, an approval or how a plan is shown.
package planstore

import (
	"fmt"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Plans is the part of a state store that this package is about.
type Plans = state.Plans

// Record makes the record of a plan (operator.md O-1): seen is what was current before
// the head was read, by who planned.
func Record(p *plan.Plan, head state.Head, seen *state.PlanRecord, by string) (*state.PlanRecord, error) {
	digest, err := p.ChangesetDigest()
	if err != nil {
		return nil, err
	}
	body, err := p.Body()
	if err != nil {
		return nil, err
	}
	record := &state.PlanRecord{
		Head:            head,
		BaseSerial:      p.Snapshot.Serial,
		ChangesetDigest: digest,
		Body:            body,
		Text:            p.Text(),
		Summary:         summary(p),
		CreatedBy:       by,
		Status:          state.PlanPlanned,
	}
	if Idle(p) {
		record.Status = state.PlanNoChanges
	}
	if seen != nil {
		record.Generation = seen.Generation
	}
	inputs := map[string]any{}
	if p.Compilation != nil && p.Compilation.Inputs != nil {
		inputs = p.Compilation.Inputs
	}
	record.InputsDigest, err = ir.PrefixedDigest(inputs)
	return record, err
}

// Idle reports whether applying the plan would do nothing at all.
func Idle(p *plan.Plan) bool { return !p.HasPending() && p.Outputs.Empty() }

func summary(p *plan.Plan) state.PlanSummary {
	s := p.Summary()
	return state.PlanSummary{
		Create: s.Create, Update: s.Update, Replace: s.Replace, Delete: s.Delete,
		StateOnly: s.StateOnly, Unchanged: s.Noop - s.StateOnly,
		Destructive: p.Destructive(),
	}
}

// Covers reports whether the current record says already what record would: then
// nothing has to be written. Having nothing to do is as well recorded by the plan of
// this very head that was applied (operator.md O-7).
func Covers(current, record *state.PlanRecord) bool {
	if current == nil || current.Head != record.Head || current.InputsDigest != record.InputsDigest {
		return false
	}
	if record.Status == state.PlanNoChanges && current.Status == state.PlanApplied {
		return true
	}
	return current.Status == record.Status && current.ChangesetDigest == record.ChangesetDigest && current.BaseSerial == record.BaseSerial
}

// Check compares the current record with the one that is about to run, or that this
// run is applying (engine.md AP-16, AP-18 to AP-25): the same plan, in that status, and
// its body as it was stored. An error is a PlanDriftError.
func Check(current, running *state.PlanRecord, status state.PlanStatus) error {
	why := difference(current, running, status)
	switch {
	case why == "":
		return nil
	case status == state.PlanApplying:
		why += "; nothing more is started, what is left is planned again"
	default:
		why += "; nothing was started, it is planned again"
	}
	return &model.Error{Kind: model.PlanDriftError, Class: model.ClassTransient, Message: why}
}

func difference(current, running *state.PlanRecord, status state.PlanStatus) string {
	switch {
	case current == nil:
		return "no plan is recorded any more"
	case !current.Status.Known():
		return fmt.Sprintf("the recorded plan has the unknown status '%s'", current.Status)
	case current.ID != running.ID:
		return fmt.Sprintf("a newer plan, %s, is recorded", current.ChangesetDigest)
	case current.Status != status:
		return fmt.Sprintf("the recorded plan is %s by now, not %s", current.Status, status)
	case current.Head.UID == "" || current.Head.Revision == "" || current.Head != running.Head:
		return "the recorded plan was made from another head"
	case current.ChangesetDigest != running.ChangesetDigest || current.Hash != running.Hash:
		return "the recorded plan is not the one that was decided on"
	case len(current.Body) == 0 || state.PlanHash(current.Body) != current.Hash:
		return "the body of the recorded plan does not have its hash"
	default:
		return ""
	}
}
