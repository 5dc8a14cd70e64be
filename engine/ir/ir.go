// Package ir owns the compiled form of a config: the IR document, its canonical
// bytes (RFC 8785), its hashes, and the compilation that carries them.
//
// It must never know the language that produced it, nor how it is planned or applied.
package ir

import (
	"io/fs"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Version of the IR document.
const Version = 1

// Node is one resource or data source of the IR (GR-2). Slices are never nil-sensitive:
// empty and nil mean the same.
type Node struct {
	ID                  string
	Type                string
	Kind                string // model.KindResource or model.KindData
	Provider            string
	ProviderVersion     string
	Properties          map[string]any // symbolic; every non-computed field of the type
	Dependencies        []string       // ids whose outputs Properties read; sorted, distinct
	DependsOn           []string       // explicit ordering edges; sorted, distinct
	PreventDestroy      bool
	CreateBeforeDestroy bool
	IgnoreChanges       []string
	Aliases             []string
}

// Document is the IR: nodes sorted by id, ids distinct.
type Document struct {
	Nodes []Node
}

// Output is a declared stack output.
type Output struct {
	Key   string // "{stack}:{name}"
	Value any    // symbolic
}

// PolicyBinding is one enforce() of the config.
type PolicyBinding struct {
	Name   string
	Level  string   // "mandatory" or "advisory"
	Types  []string // nil = all types
	Params map[string]any
	// At is where the config declares it, zero when that is not known. No hash and no
	// stored byte depends on it.
	At model.Place
}

// Compilation is a config evaluated: everything that planning needs of it.
type Compilation struct {
	Document     *Document
	Hash         string            // hex SHA-256 of Document.Canonical
	Hashes       map[string]string // node id → Merkle hash (GR-4)
	Outputs      []Output          // in declaration order, keys distinct
	Policies     []PolicyBinding   // in declaration order
	Inputs       map[string]any    // exactly the inputs that were read, defaults included
	InputTypes   map[string]string // input → Python's name of its default's type, of those with a default
	EnvsDeclared []string          // sorted
	EnvsSelected []string          // sorted
	Pins         map[string]string // provider → version
	Warnings     []string
	Diagnostics  []model.Diagnostic // the same warnings, with their places
	// Origins are where the nodes are declared, in the order of the document's; nil when
	// that is not known. No hash and no stored byte depends on them.
	Origins []model.Place
	// Source is the tree that the config was compiled with; nil = none. Its providers
	// read the same one when the compilation is applied.
	Source fs.FS
}
