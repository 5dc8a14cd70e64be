package model

import (
	"context"
	"io/fs"
)

// Node is what a provider is told of the node it works for.
type Node struct {
	ID    string // "{stack}:{type}:{name}"
	Stack string
	Type  string // "local.File"
	Name  string // local name, component prefixes included
}

// NodeOf takes a node id apart.
func NodeOf(id string) Node {
	return Node{ID: id, Stack: StackOf(id), Type: TypeOf(id), Name: LocalName(id)}
}

// Request is the argument of every provider operation (providers.md 1.16).
type Request struct {
	Node Node
	// Owner is who the resource belongs to, in a form that is unique among all
	// owners a provider instance may serve: "{namespace}/{Stack UID}" in the
	// operator, "" at the command line.
	Owner string
	// Attempt identifies one try to create. It is stored on the write-ahead row
	// before the call and repeated when that row is created again, so that a
	// provider can find what an interrupted try left behind. The row keeps it, and
	// every later call carries it: where Prior.Outputs name something that is gone,
	// a try that died may have made it anew under the same attempt.
	Attempt string
	// Inputs are the fields of the type, defaults and nulls present. In a provider
	// call every handle is resolved; in Validate markers may be left.
	Inputs map[string]any
	// Prior is what was recorded at the last write, nil before the first.
	Prior *Prior
	// Source is the tree of files that came with the config; nil when there is none, as
	// in a destroy, which works from state alone.
	Source fs.FS
}

// Operations are what a provider does for one node. One instance serves concurrent calls
// for independent nodes. Errors are *Error of kind ProviderError; a plain error is
// wrapped by the engine.
type Operations interface {
	// Create makes the resource. Outputs beside an error are partial and are kept. It
	// is called again for whatever is not confirmed: with r.Prior set, an earlier try
	// or an interrupted delete recorded it, and the resource may be there already.
	Create(ctx context.Context, r *Request) (Outputs, error)
	// Read looks the resource up; false = it does not exist.
	Read(ctx context.Context, r *Request) (Observed, bool, error)
	// Update changes the resource in place; the outputs are laid over the recorded ones.
	Update(ctx context.Context, r *Request) (Outputs, error)
	// Delete removes the resource; nil when it is already gone.
	Delete(ctx context.Context, r *Request) error
}

// Provider is all that the engine asks of a provider beside its schema.
type Provider interface {
	Operations
	// Validate looks at all desired nodes of this provider at once, before anything
	// is locked or called; values may still hold markers. Pure. An error refuses the
	// plan.
	Validate(ctx context.Context, nodes []*Request) error
}

// Prior is the recorded side of a node.
type Prior struct {
	Outputs map[string]any // plaintext
	Inputs  map[string]any // resolved as far as they can be
}

// Outputs is what a create or update made, as far as it is JSON; unknown keys are
// stored too (providers.md 1.3).
type Outputs map[string]any

// Observed is what a read found: inputs and outputs in one flat map. A key that is
// missing was not checked.
type Observed map[string]any
