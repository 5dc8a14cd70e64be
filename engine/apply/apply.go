// Package apply owns the half of the engine that touches the world: it runs a plan's
// phases against providers, records what happened and undoes what failed, and it holds
// refresh and import, which share its parts. The map: run.go has the run and its end,
// early.go, change.go, cleanup.go, remove.go and outputs.go one phase each, make.go and
// makefirst.go what is done for one node, saga.go and undo.go the way back, write.go the
// only way into the store.
//
// It knows providers only by the interface below, stores and locks only by their
// contracts. It must never know the language or Kubernetes.
package apply

import (
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Provider is what apply asks of a provider.
type Provider interface{ model.Operations }

// Phase is a part of a run that ends before the next begins (engine.md 4.2).
type Phase string

const (
	PhaseEarly   Phase = "0"  // destroys that a replace waits for
	PhaseChange  Phase = "1"  // creates, updates, replaces
	PhaseCleanup Phase = "1b" // old halves of create-first replaces
	PhaseDelete  Phase = "2"  // deletes
	PhaseOutputs Phase = "3"  // outputs
)

// Report is what a run did; it is returned beside an error as well (EX-34). Lists are
// in completion order.
type Report struct {
	Created    []string          `json:"created"`
	Updated    []string          `json:"updated"`
	Replaced   []string          `json:"replaced"`
	Deleted    []string          `json:"deleted"`
	Noop       []string          `json:"noop"`
	StateOnly  []string          `json:"state_only"`
	Downgraded map[string]string `json:"downgraded"`
	// PutOff are nodes that stay as they are although an update was planned, and why: each is
	// among Noop, and the next plan shows what it needs.
	PutOff           map[string]string `json:"put_off,omitempty"`
	RolledBack       []string          `json:"rolled_back"`
	RollbackFailed   map[string]string `json:"rollback_failed"`
	PoisonFailed     map[string]string `json:"poison_failed"`
	Orphaned         map[string]string `json:"orphaned"`
	RollbackSkipped  *string           `json:"rollback_skipped"`
	Outputs          map[string]any    `json:"outputs"`
	SensitiveOutputs []string          `json:"-"`
	Abandoned        []string          `json:"-"`
}

// NewReport is a report of nothing, with no list and no map that is nil.
func NewReport() *Report {
	return &Report{
		Created: []string{}, Updated: []string{}, Replaced: []string{}, Deleted: []string{}, Noop: []string{}, StateOnly: []string{},
		Downgraded: map[string]string{}, PutOff: map[string]string{}, RolledBack: []string{}, RollbackFailed: map[string]string{},
		PoisonFailed: map[string]string{}, Orphaned: map[string]string{}, Outputs: map[string]any{},
	}
}

// Event is one moment of a run (EX-39).
type Event struct {
	RunID string // the holder of the lock
	At    time.Time
	// Phase is run_start, run_finish, node_start, node_finish, node_fail, rollback_start,
	// rollback_node, rollback_skipped, lease_acquire, lease_renew, lease_lost or
	// lease_release (a failed one).
	Phase  string
	NodeID string
	Action string
	Detail map[string]any
}
