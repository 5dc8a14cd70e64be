// Package engine is the façade over the deterministic core: Compile, Plan, Apply,
// Destroy, Refresh, Import. The operator and the command line use nothing below it except
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
	"github.com/atlantide-org/atlantide-operator/engine/policy"
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
	// Backoff is how long a state write that found no store waits before it is tried
	// again, and whether it is; nil = for half a minute in all (LS-22).
	Backoff func(attempt int) (time.Duration, bool)
	Now     func() time.Time
	NewID   func() string     // UUIDs
	Events  func(apply.Event) // may be nil; must not block
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
	// Memory bounds the values that the evaluation makes, in bytes, freed ones
	// included; 0 = 256 MiB. The heap grows to at most twice as much.
	Memory int64
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
	// Targets narrow the plan to what they match and to all that this depends on; Replace
	// names what is replaced whatever it looks like. Both are patterns (engine.md GR-19).
	// Environments are selected by CompileOptions.Envs.
	Targets, Replace []string
	Secrets          Secrets // nil = none
	// SkipSecrets leaves every secret handle unresolved and unchecked; such a plan has no
	// digest (cli.md 22).
	SkipSecrets bool
	// Policies judge beside those that the config and its types bind; nil = these alone.
	Policies *policy.Set
}

// Secrets are the stores and the key material that one run may use.
type Secrets interface {
	// Resolve gives the value that a handle names. Its error is the reason as the store
	// gives it, and holds no value.
	Resolve(ctx context.Context, ref model.SecretRef) (string, error)
	plan.SecretDigests
	plan.Unsealer
	// Seals reports whether there is key material: whether what a run writes of sensitive
	// values is encrypted.
	Seals() bool
	// Scrub takes every value that Resolve gave out of a text (EX-41).
	Scrub(text string) string
}

// ApplyRequest runs what is planned under the lock (engine.md 4.1).
type ApplyRequest struct {
	Compilation *ir.Compilation
	Partition   string
	Store       state.Store
	Locker      lease.Locker
	Owner       string
	OnFailure   string

	// As in PlanRequest.
	Targets, Replace []string
	Secrets          Secrets
	Policies         *policy.Set
	// Recorder makes what the run writes of Secrets; nil = it writes no digest of a secret
	// and seals nothing.
	Recorder apply.Recorder
	// Report asks for a report also when there is nothing to do, as a deploy gives one.
	Report bool
	// Parallelism is how many nodes are at work at once; 0 = the engine's.
	Parallelism int

	// Expect is the changeset digest that must come out under the lock; another one
	// is a PlanDriftError and nothing is called. "" expects nothing.
	Expect string
	// Gate is asked under the lock before the first work of each phase; an error ends
	// the run there (AP-25, AP-38). It sees the plan made under the lock. nil = no gate.
	Gate func(ctx context.Context, phase apply.Phase, p *plan.Plan) error
}

// DestroyRequest deletes recorded nodes of a partition from state alone (RF-17): every
// one, or what Targets match and all that was recorded to depend on it.
type DestroyRequest struct {
	Partition string
	Store     state.Store
	Locker    lease.Locker
	Owner     string
	Targets   []string
	// Secrets are those that the recorded resources read; what does not resolve is absent
	// (EX-17). nil = nothing does.
	Secrets Secrets
	// Parallelism is how many nodes are at work at once; 0 = the engine's.
	Parallelism int
	Expect      string
	Gate        func(ctx context.Context, phase apply.Phase, p *plan.Plan) error
}

// RefreshRequest reads what a snapshot records (RF-1). With Write it records what it finds,
// under the lock: of the rows of the snapshot, those that are still there (RF-6).
type RefreshRequest struct {
	Snapshot *state.Snapshot
	Owner    string
	Source   fs.FS   // what recorded resources of the config's files are compared with; nil = none
	Secrets  Secrets // that the recorded resources read; nil = none resolves

	Parallelism int // resources that are read at once; 0 = the engine's

	Write     bool
	Prune     bool // with Write: forget rows whose resource is gone
	Partition string
	Store     state.Store
	Locker    lease.Locker
	Recorder  apply.Recorder // as in ApplyRequest
}

// ImportRequest takes resources that exist into the state (engine.md 5.2). Node is an id
// or a pattern; ExternalID names the one resource that it stands for, where the type has
// an id of its own, and IDField the field to put it on, if not the type's.
type ImportRequest struct {
	Compilation *ir.Compilation
	Partition   string
	Store       state.Store
	Locker      lease.Locker // not asked in a dry run
	Owner       string
	Secrets     Secrets
	Recorder    apply.Recorder // as in ApplyRequest

	Node       string
	ExternalID string
	IDField    string
	DryRun     bool
	Force      bool // also what is recorded already
	AllowDrift bool // also what is not as the config says
}

// Result is what a run did. Plan is the one made under the lock, or the one before it
// where no lock was needed; Report is nil when an apply ended after its plan.
type Result struct {
	Plan   *plan.Plan
	Report *apply.Report
}
