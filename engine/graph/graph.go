// Package graph owns the dependency graph of nodes: build, cycles, order, closure
// and the parallel walk. It works on ids and edges alone.
//
// It must never know what a node is, nor why an edge exists.
package graph

// Graph is an immutable DAG over node ids.
type Graph struct {
	ids        []string // sorted by code point
	deps       map[string][]string
	dependents map[string][]string
}
