package graph

import "container/heap"

// Place is the number of a node among the sorted ids, which is where it stands in any
// other list that is sorted by the same ids.
func (g *Graph) Place(id string) (int, bool) {
	place, ok := g.index[id]
	return place, ok
}

// DepsAt are the places of what the node at a place depends on, sorted. The caller must
// not change the list.
func (g *Graph) DepsAt(place int) []int { return g.deps[place] }

// Downstream lists, by place, the seeds and everything that depends on them, dependencies
// first. The work is in proportion to that part of the graph.
func (g *Graph) Downstream(seeds []int) []int {
	if len(seeds) == 0 {
		return nil
	}
	reached := make([]bool, len(g.ids))
	var part []int
	for _, seed := range seeds {
		if !reached[seed] {
			reached[seed] = true
			part = append(part, seed)
		}
	}
	for at := 0; at < len(part); at++ {
		for _, next := range g.dependents[part[at]] {
			if !reached[next] {
				reached[next] = true
				part = append(part, next)
			}
		}
	}
	waiting := make(map[int]int, len(part))
	var ready queue
	for _, node := range part {
		for _, dep := range g.deps[node] {
			if reached[dep] {
				waiting[node]++
			}
		}
		if waiting[node] == 0 {
			ready = append(ready, node)
		}
	}
	heap.Init(&ready)
	order := part[:0] // its nodes are counted in waiting by now
	for len(ready) > 0 {
		node := heap.Pop(&ready).(int)
		order = append(order, node)
		for _, next := range g.dependents[node] {
			if waiting[next]--; waiting[next] == 0 {
				heap.Push(&ready, next)
			}
		}
	}
	return order
}
