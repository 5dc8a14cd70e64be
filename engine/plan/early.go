package plan

import "strings"

// EarlyDestroys are the changes whose recorded half is destroyed before anything is made
// (EX-42), by node id: what was made from a node that is replaced destroy-first, and goes
// in the same run, goes before it; so does, in turn, what was made from that. The replaced
// nodes that nothing waits for are not among them: each is destroyed right before it is
// made again.
func (p *Plan) EarlyDestroys() map[string]*Change {
	var frontier []string
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.Action == Replace && !c.CreateBeforeDestroy && len(c.goingHalves()) > 0 {
			frontier = append(frontier, c.NodeID)
		}
	}
	early := map[string]*Change{}
	if len(frontier) == 0 {
		return early
	}
	dependents := map[string][]*Change{}
	for i := range p.Changes {
		c := &p.Changes[i]
		if !c.goesForCertain() {
			continue
		}
		for _, up := range c.recordedEdges() {
			if up != strings.TrimSuffix(c.NodeID, PendingSuffix) {
				dependents[up] = append(dependents[up], c)
			}
		}
	}
	for len(frontier) > 0 {
		id := frontier[len(frontier)-1]
		frontier = frontier[:len(frontier)-1]
		for _, c := range dependents[id] {
			if early[c.NodeID] == nil {
				early[c.NodeID] = c
				frontier = append(frontier, strings.TrimSuffix(c.NodeID, PendingSuffix))
			}
		}
	}
	return early
}

// goesForCertain reports whether what is recorded goes in the run, whatever comes out on
// the way, and before anything is made.
func (c *Change) goesForCertain() bool {
	return c.Action == Delete || c.Action == Replace && !c.Conditional && !c.CreateBeforeDestroy
}
