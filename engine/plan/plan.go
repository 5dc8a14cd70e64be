// Package plan owns the pure half of a run: the diff between a compilation and a
// snapshot, its guards, the changeset and its digest, and how both are shown.
//
// It must never call a provider, write a store or know Kubernetes.
package plan

import (
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Action is what a change does to its node (DF-2).
type Action string

const (
	Create  Action = "create"
	Update  Action = "update"
	Replace Action = "replace"
	Delete  Action = "delete"
	Noop    Action = "noop"
)

// Failure modes of a run (EX-23).
const (
	OnFailureHalt     = "halt"
	OnFailureRollback = "rollback"
)

// Change is the verdict on one node (DF-2).
type Change struct {
	NodeID      string
	Action      Action
	Desired     *ir.Node   // nil: not declared
	DesiredHash string     // Merkle hash; "" without Desired
	Prior       *state.Row // nil: not recorded
	// PendingDestroy is the old half that an interrupted replace left to delete
	// (EX-13): with Action Replace it is the prior of a replace to finish (Prior is the
	// write-ahead row then, nil if that is gone), with Action Delete it is all that
	// the change is about and NodeID ends in PendingSuffix.
	PendingDestroy *state.PendingDestroy

	ChangedFields       []string // sorted
	UpstreamMoved       []string // sorted, part of ChangedFields (DF-11a)
	Conditional         bool     // the replace may turn out unnecessary (DF-20)
	CreateBeforeDestroy bool
	StateOnly           bool // a noop whose row is rewritten (PL-3)
}

// PendingSuffix ends the node id under which a pending destroy is listed.
const PendingSuffix = "~replaced"

// Actionable reports whether the change calls a provider.
func (c *Change) Actionable() bool { return c.Action != Noop }

// Pending reports whether an apply has anything to do for the change.
func (c *Change) Pending() bool { return c.Actionable() || c.StateOnly }

// Plan is a changeset with all that an apply, a reviewer and the digest need.
type Plan struct {
	Changes     []Change        // every id of either side, sorted
	Compilation *ir.Compilation // nil for a destroy
	Graph       *graph.Graph    // of Compilation; nil for a destroy
	Snapshot    *state.Snapshot // what was compared with, renamed rows moved
	Moves       *Moves          // rows that a run moves first; nil = none
	Targets     []string        // patterns, as given
	Replace     []string        // patterns, as given
	Excluded    []string        // environments that are declared and not planned, sorted
	OnFailure   string
	Outputs     OutputChanges
	Policies    []PolicyResult
	Violations  []Violation
	Warnings    []string
	Blocked     bool // a mandatory policy objects
	// Leaks are the nodes of which an interrupted create may have left something that this
	// run will not find, with the reason; Warnings tells of them as well (EX-26).
	Leaks map[string]string
	// Refused is why the plan must not be run, although it can be shown; it is the error
	// that New returned beside it (PL-1).
	Refused *model.Error
	// SecretsSkipped: no secret was looked at, so that the plan has no digest.
	SecretsSkipped bool

	schemas      *model.Schemas // says which values are not shown
	plainSecrets bool           // of Input
	seals        bool           // of Input
	resolves     bool           // secret handles have a provider
	evaluated    bool           // Policies and Violations are a checker's
	selected     int            // nodes that the run may act on
	unsealer     Unsealer       // of Input
}

// OutputChanges is what the commit at the end of a run will do to stack outputs as
// far as planning knows (EX-20, EX-22).
type OutputChanges struct {
	Set     map[string]any // key → symbolic value, where it differs or is not known yet
	Retired []string       // sorted keys
	// Unresolved are the symbolic values that nothing in the run makes known, by key: what
	// is committed stays (EX-19).
	Unresolved map[string]any
}

// HasPending reports whether an apply has anything to do for a node. Outputs alone are
// not pending; see OutputChanges.Empty.
func (p *Plan) HasPending() bool {
	return slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Pending() })
}

// Destructive reports whether the plan takes anything away: a delete, a replace even if
// conditional, or the removal of a guard.
func (p *Plan) Destructive() bool {
	return slices.ContainsFunc(p.Changes, func(c Change) bool {
		return c.destroys() || c.Desired != nil && c.Prior != nil && c.Prior.PreventDestroy && !c.Desired.PreventDestroy
	})
}
