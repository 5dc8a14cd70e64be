package graph

import (
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Build makes the graph of edges, which name for every node what it depends on; an
// edge may be named twice. A target that is not a node is an IRError that names both
// ends (GR-6), a cycle a CycleError (GR-7, GR-8).
func Build(edges map[string][]string) (*Graph, error) {
	g := &Graph{
		ids:        make([]string, 0, len(edges)),
		index:      make(map[string]int, len(edges)),
		deps:       make([][]int, len(edges)),
		dependents: make([][]int, len(edges)),
	}
	for id := range edges {
		g.ids = append(g.ids, id)
	}
	slices.Sort(g.ids)
	for i, id := range g.ids {
		g.index[id] = i
	}
	for i, id := range g.ids {
		targets, err := g.targets(id, edges[id])
		if err != nil {
			return nil, err
		}
		g.deps[i] = targets
		for _, target := range targets {
			g.dependents[target] = append(g.dependents[target], i) // i ascends
		}
	}
	if cycles := g.cycles(); len(cycles) > 0 {
		return nil, cycleError(cycles)
	}
	return g, nil
}

func (g *Graph) targets(id string, names []string) ([]int, error) {
	if len(names) == 0 {
		return nil, nil
	}
	targets := make([]int, 0, len(names))
	for _, name := range names {
		target, ok := g.index[name]
		if !ok {
			return nil, model.Errorf(model.IRError, model.ClassUser,
				"%s depends on %s, which is not declared; check the id for a typing error", id, name)
		}
		targets = append(targets, target)
	}
	slices.Sort(targets)
	return slices.Compact(targets), nil
}

func cycleError(cycles [][]string) error {
	texts := make([]string, len(cycles))
	for i, members := range cycles {
		texts[i] = strings.Join(members, " -> ")
	}
	err := model.Errorf(model.CycleError, model.ClassUser, "dependency cycle: %s", strings.Join(texts, "; "))
	err.Cycles = cycles
	return err
}

// cycles lists the members of every strongly connected component with more than one,
// in the order in which a depth-first search along dependencies completes them, then
// every node that depends on itself (GR-7). It is Tarjan's algorithm with its own
// stack, so that depth costs heap and not the goroutine's stack.
func (g *Graph) cycles() [][]string {
	s := search{g: g, low: make([]int, len(g.ids)), onStack: make([]bool, len(g.ids)), visited: make([]int, len(g.ids))}
	for root := range g.ids {
		if s.visited[root] == 0 {
			s.from(root)
		}
	}
	for i, deps := range g.deps {
		if _, self := slices.BinarySearch(deps, i); self {
			s.found = append(s.found, []string{g.ids[i]})
		}
	}
	return s.found
}

// search is the state of the depth-first search; numbers of visits count from 1.
type search struct {
	g       *Graph
	count   int
	visited []int
	low     []int
	onStack []bool
	stack   []int
	found   [][]string
}

type frame struct{ node, next int }

func (s *search) enter(node int) frame {
	s.count++
	s.visited[node], s.low[node] = s.count, s.count
	s.stack = append(s.stack, node)
	s.onStack[node] = true
	return frame{node: node}
}

func (s *search) from(root int) {
	path := []frame{s.enter(root)}
	for len(path) > 0 {
		top := &path[len(path)-1]
		if top.next < len(s.g.deps[top.node]) {
			child := s.g.deps[top.node][top.next]
			top.next++
			switch {
			case s.visited[child] == 0:
				path = append(path, s.enter(child))
			case s.onStack[child]:
				s.low[top.node] = min(s.low[top.node], s.visited[child])
			}
			continue
		}
		node := top.node
		path = path[:len(path)-1]
		if len(path) > 0 {
			parent := path[len(path)-1].node
			s.low[parent] = min(s.low[parent], s.low[node])
		}
		if s.low[node] == s.visited[node] {
			s.leave(node)
		}
	}
}

// leave takes the component whose first visited member is root off the stack.
func (s *search) leave(root int) {
	at := len(s.stack) - 1
	for s.stack[at] != root {
		at--
	}
	members := slices.Clone(s.stack[at:])
	s.stack = s.stack[:at]
	for _, m := range members {
		s.onStack[m] = false
	}
	if len(members) == 1 {
		return
	}
	slices.Sort(members)
	s.found = append(s.found, s.g.names(members))
}
