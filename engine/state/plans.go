package state

import (
	"context"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Plans keeps the plan records of partitions: exactly one is current, the latest that
// was accepted, whatever became of it; superseded ones are history. All status writes
// pass here (AP-27), and none removes a record that may be newer (O-9).
type Plans interface {
	// Current returns the current record, nil before the first plan. The record must
	// not be changed.
	Current(ctx context.Context, partition string) (*PlanRecord, error)
	// Propose makes p the current record and returns what is recorded. In one
	// transaction it
	//   - drops p with ErrStalePlan when the current record's generation is not
	//     p.Generation or its head is of a newer object generation,
	//   - drops p with ErrPlanApplying while the current record is Applying under the
	//     epoch and holder that the partition still has; a run that died leaves such
	//     a record until another run has claimed the partition,
	//   - keeps the current record's id and age when it has p's status and changeset
	//     digest, so that an approval stands; head, body and the rest are refreshed,
	//   - else supersedes the current record, whose body and text are dropped; of the
	//     superseded ones the latest are kept.
	// On a drop the current record is returned beside the error.
	Propose(ctx context.Context, partition string, p *PlanRecord) (*PlanRecord, error)
	// Advance moves exactly this plan from one of the statuses in from to another; it
	// reports false, and changes nothing, when the plan has none of them. To Applying
	// and from it a fence is required, and a fence that is no longer the partition's
	// is a FencedWriteError. Discarding drops the body.
	Advance(ctx context.Context, partition, planID string, from []PlanStatus, to PlanStatus, reason string, fence *model.Fence) (bool, error)
}

// PlanStatus is what became of a plan (AP-4).
type PlanStatus string

const (
	PlanPlanned     PlanStatus = "Planned" // the only one that may be applied
	PlanNoChanges   PlanStatus = "NoChanges"
	PlanErrored     PlanStatus = "Errored"
	PlanDiscarded   PlanStatus = "Discarded"
	PlanSuperseded  PlanStatus = "Superseded" // never current
	PlanApplying    PlanStatus = "Applying"
	PlanApplied     PlanStatus = "Applied"
	PlanApplyFailed PlanStatus = "ApplyFailed"
)

// Known reports whether s is one of the statuses; another one is refused, never
// interpreted (AP-32).
func (s PlanStatus) Known() bool {
	switch s {
	case PlanPlanned, PlanNoChanges, PlanErrored, PlanDiscarded, PlanSuperseded, PlanApplying, PlanApplied, PlanApplyFailed:
		return true
	default:
		return false
	}
}

// Head is what a plan was made from (AP-1). Digests are "sha256:" and hex, empty
// where there is none.
type Head struct {
	UID            string // of the Stack
	Generation     int64  // metadata.generation
	SourceKind     string // "inline", "configMap"
	SourceRef      string // the declared target: which object or branch
	Revision       string // of the source's content
	ArtifactDigest string // of the compiled IR
}

// PlanSummary counts a plan's changes by what they do.
type PlanSummary struct {
	Create, Update, Replace, Delete, StateOnly, Unchanged int
	Destructive                                           bool
}

// PlanHash is what PlanRecord.Hash must be for a body; a record whose body has another
// hash was altered and is refused (AP-25).
func PlanHash(body []byte) string {
	return ir.SHA256(body)
}

// PlanRecord is a plan as it was proposed and what became of it (O-1, AP-2).
type PlanRecord struct {
	ID string // UUID; a proposal without one is given one
	// Generation numbers the accepted proposals of a partition from 1. In a proposal
	// it is the generation of the record that the planner saw as current before it
	// read the head, 0 for none (operator ).
	Generation int64
	Head       Head

	InputsDigest    string
	PolicyDigest    string
	BaseSerial      int64  // of the snapshot that was compared with
	ChangesetDigest string // what an approval names (AP-33)
	Hash            string // PlanHash of Body, set by the store
	Body            []byte // canonical; nil once superseded or discarded
	Text            string // as people read it; "" once superseded
	Summary         PlanSummary
	CreatedBy       string // the run or reconcile that planned

	Status  PlanStatus
	Reason  string // of the status, one line
	Epoch   int64  // of the run that applies or applied it
	Created time.Time
	Updated time.Time
}
