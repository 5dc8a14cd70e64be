// Package state owns the contract of a store: rows, pending destroys, outputs and
// plan records of a partition, and the one way to write them. Stores live below it
// (postgres, sqlite, memory), and beside them what stores share: group commit, the
// snapshot file, the form of older releases.
//
// It must never know the language, a provider, a lock or Kubernetes. A partition is
// named by an opaque id (the UID of a Stack in the operator); a caller sees one
// partition at a time (ST-17).
package state

import (
	"context"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Row statuses (ST-1).
const (
	StatusCreated  = "created"
	StatusCreating = "creating" // written ahead of the provider call
)

// Row is what is recorded of a node (ST-1, ST-6).
type Row struct {
	ID                  string
	Type                string
	Kind                string
	Provider            string
	ProviderVersion     string
	InputHash           string // "" = poisoned: matches no hash
	Outputs             map[string]any
	Properties          map[string]any // symbolic
	Dependencies        []string
	DependsOn           []string // ordering edges as declared, sorted
	PreventDestroy      bool
	CreateBeforeDestroy bool
	Status              string
	SecretDigests       map[string]string
	RefDigests          map[string]string // ST-21
	RefreshedOutputs    []string
	RowUID              string // UUID, stable across renames and replaces of the record
	Attempt             string // token of the create that made, or may have made, what the row stands for
	UpdatedAt           time.Time
	Epoch               int64 // last writer
}

// Modes of a replace; what a pending destroy remembers (EX-13).
const (
	DestroyBeforeCreate = "destroy-before-create"
	CreateBeforeDestroy = "create-before-destroy"
)

// PendingDestroy is the old half of a replace whose deletion is not confirmed yet.
type PendingDestroy struct {
	NodeID string // the node that is being replaced
	Row    *Row   // the old half as it was recorded
	Mode   string
}

// Output is a committed stack output.
type Output struct {
	Value       any
	Sensitive   bool
	SourceNodes []string // ids the value was made from
}

// Snapshot is one consistent view of a partition. Callers must not change it.
type Snapshot struct {
	Serial  int64 // moves with every committed write
	Rows    map[string]*Row
	Pending map[string]*PendingDestroy // by NodeID
	Outputs map[string]Output          // by key "{stack}:{name}"
}

// Batch is a set of changes that commit together or not at all.
type Batch struct {
	PutRows       []*Row
	DeleteRows    []string
	PutPending    []*PendingDestroy
	DeletePending []string
	SetOutputs    map[string]Output
	RemoveOutputs []string // removed before SetOutputs lands
	// Ahead says that the batch is written ahead of a change of the world: it commits only
	// while CheckFence is nil, whatever that looks at beside the fence (EX-18).
	Ahead bool
}

// Reader reads one partition. A partition that was never written reads as empty with
// serial 0. An unreachable store is a transient StateError, never an empty snapshot.
type Reader interface {
	Load(ctx context.Context, partition string) (*Snapshot, error)
	// Serial is one indexed query.
	Serial(ctx context.Context, partition string) (int64, error)
}

// Writer is the only way to change rows, pending destroys and outputs: one atomic,
// fenced write that moves the serial by one; writes of one fence that come together may
// share a transaction, and then move it by one together. A write is durable when Commit
// returns. A fence that is no longer the
// partition's commits nothing and is a FencedWriteError (LS-13). A batch that
// Batch.CheckStorable refuses commits nothing either. Retrying a batch whose answer was
// lost is safe.
type Writer interface {
	Commit(ctx context.Context, partition string, fence model.Fence, batch Batch) error
	// CheckFence is nil while a write with this fence that is Ahead would commit, else what
	// that write would return: the probe before a change of the world that no write
	// precedes (EX-18).
	CheckFence(ctx context.Context, partition string, fence model.Fence) error
}

// Store is what the engine needs of a store.
type Store interface {
	Reader
	Writer
}
