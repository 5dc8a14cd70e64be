package graph

import (
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Build makes the graph of edges, which name for every node what it depends on; an
// edge may be named twice. A target that is not a node is an IRError that names both
// ends (GR-6), a cycle a CycleError (GR-7, GR-8).
func Build(edges map[string][]string) (*Graph, error) {
	ids := make([]string, 0, len(edges))
	for id := range edges {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	ordered := make([][]string, len(ids))
	for i, id := range ids {
		ordered[i] = edges[id]
	}
	return BuildSorted(ids, ordered)
}

// BuildSorted is Build for ids that are sorted and distinct; edges[i] are those of
// ids[i]. The graph keeps ids.
func BuildSorted(ids []string, edges [][]string) (*Graph, error) {
	g := &Graph{ids: ids, index: make(map[string]int, len(ids))}
	for i, id := range ids {
		g.index[id] = i
	}
	var err error
	if g.deps, err = g.resolve(edges); err != nil {
		return nil, err
	}
	g.dependents = reversed(g.deps)
	if cycles := g.cycles(); len(cycles) > 0 {
		return nil, cycleError(cycles)
	}
	return g, nil
}

// resolve turns the names of every node's targets into numbers.
func (g *Graph) resolve(edges [][]string) ([][]int, error) {
	total := 0
	for _, names := range edges {
		total += len(names)
	}
	all := make([]int, 0, total) // holds the lists of all nodes
	deps := make([][]int, len(edges))
	for i, names := range edges {
		from := len(all)
		for _, name := range names {
			target, ok := g.index[name]
			if !ok {
				return nil, g.undeclared(g.ids[i], name)
			}
			all = append(all, target)
		}
		targets := all[from:]
		slices.Sort(targets)
		all = all[:from+len(slices.Compact(targets))]
		deps[i] = all[from:len(all):len(all)]
	}
	return deps, nil
}

// reversed turns every edge around; the lists ascend.
func reversed(edges [][]int) [][]int {
	counts, total := make([]int, len(edges)), 0
	for _, targets := range edges {
		total += len(targets)
		for _, target := range targets {
			counts[target]++
		}
	}
	all := make([]int, total) // holds the lists of all nodes
	out := make([][]int, len(edges))
	for i, n := range counts {
		out[i], all = all[:0:n], all[n:]
	}
	for i, targets := range edges {
		for _, target := range targets {
			out[target] = append(out[target], i)
		}
	}
	return out
}

func (g *Graph) undeclared(id, name string) error {
	err := model.Errorf(model.IRError, model.ClassUser,
		"%s depends on %s, which is not declared", id, name)
	err.Nodes = []string{id}
	others := slices.DeleteFunc(slices.Clone(g.ids), func(other string) bool { return other == id })
	if err.Hint = model.DidYouMean(name, others); err.Hint == "" {
		err.Hint = "check the id for a typing error, or declare it"
	}
	return err
}

func cycleError(cycles [][]string) error {
	texts := make([]string, len(cycles))
	for i, members := range cycles {
		texts[i] = model.Listed(members, " -> ")
	}
	err := model.Errorf(model.CycleError, model.ClassUser, "dependency cycle: %s", model.Listed(texts, "; "))
	err.Cycles = cycles
	err.Nodes = cycles[0]
	err.Hint = "take one of the references or depends_on between them away"
	if len(cycles[0]) == 1 {
		err.Hint = "take the reference or depends_on to itself away"
	}
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
	path    []frame // kept from one root to the next for its space
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
	path := s.path[:0]
	path = append(path, s.enter(root))
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
	s.path = path
}

// leave takes the component whose first visited member is root off the stack.
func (s *search) leave(root int) {
	at := len(s.stack) - 1
	for s.stack[at] != root {
		at--
	}
	members := s.stack[at:] // until the stack grows again
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
