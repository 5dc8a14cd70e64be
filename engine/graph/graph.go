// Package graph owns the dependency graph of nodes: build, cycles, order, closure, the
// parallel walk and its texts (Mermaid, DOT). It works on ids and edges alone.
//
// It must never know what a node is, nor why an edge exists.
package graph

import "container/heap"

// Graph is an immutable DAG over node ids. Inside it nodes are numbers, their places
// in the sorted ids, so that comparing numbers compares ids.
type Graph struct {
	ids        []string // sorted by code point (GR-5)
	index      map[string]int
	deps       [][]int // sorted
	dependents [][]int // sorted
}

// IDs lists the nodes, sorted. The caller must not change the list.
func (g *Graph) IDs() []string { return g.ids }

// Has reports whether id is a node.
func (g *Graph) Has(id string) bool {
	_, ok := g.index[id]
	return ok
}

// Deps lists what a node depends on, sorted; nothing for an unknown id.
func (g *Graph) Deps(id string) []string { return g.neighbours(g.deps, id) }

// Dependents lists what depends on a node, sorted; nothing for an unknown id.
func (g *Graph) Dependents(id string) []string { return g.neighbours(g.dependents, id) }

func (g *Graph) neighbours(edges [][]int, id string) []string {
	i, ok := g.index[id]
	if !ok {
		return nil
	}
	return g.names(edges[i])
}

func (g *Graph) names(nodes []int) []string {
	names := make([]string, len(nodes))
	for i, node := range nodes {
		names[i] = g.ids[node]
	}
	return names
}

// Order lists every node after its dependencies, always the smallest id that is
// ready first (GR-10).
func (g *Graph) Order() []string { return g.sorted(g.deps, g.dependents) }

// ReverseOrder lists every node after its dependents, ties again by ascending id: it
// is not Order backwards (GR-10).
func (g *Graph) ReverseOrder() []string { return g.sorted(g.dependents, g.deps) }

func (g *Graph) sorted(before, after [][]int) []string {
	waiting, ready := g.start(before)
	order := make([]string, 0, len(g.ids))
	for len(ready) > 0 {
		node := heap.Pop(&ready).(int)
		order = append(order, g.ids[node])
		for _, next := range after[node] {
			if waiting[next]--; waiting[next] == 0 {
				heap.Push(&ready, next)
			}
		}
	}
	return order
}

// start counts for every node what comes before it; ready are those with nothing.
func (g *Graph) start(before [][]int) (waiting []int, ready queue) {
	waiting = make([]int, len(g.ids))
	for node := range g.ids {
		waiting[node] = len(before[node])
		if waiting[node] == 0 {
			ready = append(ready, node) // ascending, so a heap
		}
	}
	return waiting, ready
}

// Closure is the seeds and everything that can be reached from them, along
// dependencies or, reversed, along dependents; sorted. Seeds that are not nodes are
// left out (GR-18).
func (g *Graph) Closure(seeds []string, reverse bool) []string {
	edges := g.deps
	if reverse {
		edges = g.dependents
	}
	reached := make([]bool, len(g.ids))
	var frontier []int
	reach := func(node int) {
		if !reached[node] {
			reached[node] = true
			frontier = append(frontier, node)
		}
	}
	for _, seed := range seeds {
		if node, ok := g.index[seed]; ok {
			reach(node)
		}
	}
	for len(frontier) > 0 {
		node := frontier[len(frontier)-1]
		frontier = frontier[:len(frontier)-1]
		for _, next := range edges[node] {
			reach(next)
		}
	}
	closure := []string{}
	for node, in := range reached {
		if in {
			closure = append(closure, g.ids[node])
		}
	}
	return closure
}

// queue is a min-heap of nodes.
type queue []int

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i] < q[j] }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(int)) }
func (q *queue) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}
