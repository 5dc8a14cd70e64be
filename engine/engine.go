// Package engine is the façade over the deterministic core: Compile, Plan, Apply,
// Destroy, Refresh. The operator and the command line use nothing below it except
// the types that it takes and returns.
//
// It must never know Kubernetes or a particular provider or store.
package engine

import (
	"context"
	"io/fs"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Registry finds providers and their schemas.
type Registry interface {
	Schemas() *model.Schemas
	// Provider returns the provider of that name, or false.
	Provider(name string) (model.Provider, bool)
}

// Engine is safe for concurrent use.
type Engine struct {
	Registry    Registry
	Parallelism int           // nodes at work at once; 0 = min(32, 4 × CPUs) (GR-13)
	NodeTimeout time.Duration // of one node's work; 0 = 40 min (EX-3)
	DrainGrace  time.Duration // for calls in flight when a run stops; 0 = 30 s (GR-17)
	Now         func() time.Time
	NewID       func() string     // UUIDs
	Events      func(apply.Event) // may be nil; must not block
	// PlainSecrets lets runs record sensitive values as plain text, as a command line
	// without key material does; without it a run that would is refused at its plan.
	PlainSecrets bool
}

// Source is the text of a config.
type Source struct {
	Filename string // shown in errors
	Text     string
}

// CompileOptions are all that a config may depend on beside its text.
type CompileOptions struct {
	Inputs map[string]any
	Envs   []string // nil = every declared environment
	Fuel   int64    // steps; 0 = 5,000,000
	// MaxNodes bounds the resources that a config may declare, and its outputs;
	// 0 = 100,000.
	MaxNodes int
	// Source is the tree of files that came with the config (package sourcetree has
	// some); nil = none. The compilation keeps it for its apply.
	Source fs.FS
}

// PlanRequest is what a plan is made from.
type PlanRequest struct {
	Compilation *ir.Compilation
	Snapshot    *state.Snapshot
	Owner       string // model.Request.Owner of every node
	OnFailure   string // plan.OnFailureHalt
}

// ApplyRequest runs what is planned under the lock (engine.md 4.1).
type ApplyRequest struct {
	Compilation *ir.Compilation
	Partition   string
	Store       state.Store
	Locker      lease.Locker
	Owner       string
	OnFailure   string
	// Expect is the changeset digest that must come out under the lock; another one
	// is a PlanDriftError and nothing is called. "" expects nothing.
	Expect string
	// Gate is asked under the lock before the first work of each phase; an error ends
	// the run there (AP-25, AP-38). It sees the plan made under the lock. nil = no gate.
	Gate func(ctx context.Context, phase apply.Phase, p *plan.Plan) error
}

// DestroyRequest deletes every recorded node of a partition from state alone (RF-17).
type DestroyRequest struct {
	Partition string
	Store     state.Store
	Locker    lease.Locker
	Owner     string
	Expect    string
	Gate      func(ctx context.Context, phase apply.Phase, p *plan.Plan) error
}

// RefreshRequest reads what a snapshot records (RF-1).
type RefreshRequest struct {
	Snapshot *state.Snapshot
	Owner    string
	Source   fs.FS // what recorded resources of the config's files are compared with; nil = none
}

// Result is what a run did. Plan is the one made under the lock, or the one before it
// where no lock was needed; Report is nil when an apply ended after its plan.
type Result struct {
	Plan   *plan.Plan
	Report *apply.Report
}
