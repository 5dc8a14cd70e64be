package graph_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/ir/irtest"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func build(t interface{ Fatal(...any) }, edges map[string][]string) *graph.Graph {
	g, err := graph.Build(edges)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestVectors(t *testing.T) {
	for _, v := range irtest.Vectors(t) {
		g := build(t, v.Document.Edges())
		if diff := cmp.Diff(irtest.Texts(v.Expected["order"]), g.Order(), cmp.Comparer(slices.Equal[[]string])); diff != "" {
			t.Errorf("%s: order (-want +got):\n%s", v.Name, diff)
		}
		if diff := cmp.Diff(irtest.Texts(v.Expected["reverse_order"]), g.ReverseOrder(), cmp.Comparer(slices.Equal[[]string])); diff != "" {
			t.Errorf("%s: reverse order (-want +got):\n%s", v.Name, diff)
		}
	}
}

func TestOrder(t *testing.T) {
	for _, tc := range []struct {
		why              string
		edges            map[string][]string
		forward, reverse string
	}{
		{"nothing", map[string][]string{}, "", ""},
		{"T-002 a chain", map[string][]string{"a": nil, "b": {"a"}, "c": {"b"}}, "a b c", "c b a"},
		{"T-003 a diamond, ties by id", map[string][]string{"r": nil, "x": {"r"}, "y": {"r"}, "z": {"x", "y"}}, "r x y z", "z x y r"},
		{"T-004 loose nodes between", map[string][]string{"a": {"z"}, "b": nil, "z": nil}, "b z a", "a b z"},
		{"an edge named twice", map[string][]string{"a": nil, "b": {"a", "a"}}, "a b", "b a"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			g := build(t, tc.edges)
			if got := strings.Join(g.Order(), " "); got != tc.forward {
				t.Errorf("order %s; want %s", got, tc.forward)
			}
			if got := strings.Join(g.ReverseOrder(), " "); got != tc.reverse {
				t.Errorf("reverse order %s; want %s", got, tc.reverse)
			}
		})
	}
}

func TestNeighbours(t *testing.T) {
	g := build(t, map[string][]string{"c": {"b", "a"}, "a": nil, "b": {"a"}})
	for why, pair := range map[string][2][]string{
		"T-001 ids":              {g.IDs(), {"a", "b", "c"}},
		"dependencies sorted":    {g.Deps("c"), {"a", "b"}},
		"dependents sorted":      {g.Dependents("a"), {"b", "c"}},
		"total: no dependency":   {g.Deps("a"), {}},
		"unknown: no dependency": {g.Deps("zz"), nil},
	} {
		if !slices.Equal(pair[0], pair[1]) {
			t.Errorf("%s: %v; want %v", why, pair[0], pair[1])
		}
	}
	if !g.Has("a") || g.Has("zz") {
		t.Error("Has: want a and not zz")
	}
}

func TestBuildRefuses(t *testing.T) {
	long := map[string][]string{}
	for i := range 200_000 {
		long[fmt.Sprintf("n%06d", i)] = []string{fmt.Sprintf("n%06d", (i+1)%200_000)}
	}
	for _, tc := range []struct {
		why    string
		edges  map[string][]string
		kind   model.Kind
		texts  []string
		cycles [][]string
	}{
		{why: "GR-6 unknown target, both ends named", edges: map[string][]string{"a": {"typo"}}, kind: model.IRError, texts: []string{"a", "typo"}},
		{why: "GR-6 before cycles", edges: map[string][]string{"a": {"b"}, "b": {"a", "typo"}}, kind: model.IRError, texts: []string{"typo"}},
		{why: "T-005 self-loop", edges: map[string][]string{"a": {"a"}}, kind: model.CycleError, cycles: [][]string{{"a"}}},
		{why: "T-006 two nodes", edges: map[string][]string{"a": {"b"}, "b": {"a"}}, kind: model.CycleError, texts: []string{"a -> b"}, cycles: [][]string{{"a", "b"}}},
		{why: "T-007 two cycles, the acyclic tail is not one", edges: map[string][]string{"a": {"b"}, "b": {"a"}, "c": {"d"}, "d": {"c"}, "e": {"a"}},
			kind: model.CycleError, texts: []string{"a -> b; c -> d"}, cycles: [][]string{{"a", "b"}, {"c", "d"}}},
		{why: "T-008 three nodes", edges: map[string][]string{"a": {"c"}, "b": {"a"}, "c": {"b"}}, kind: model.CycleError, cycles: [][]string{{"a", "b", "c"}}},
		{why: "GR-7 completion order: what the first depends on completes before it", edges: map[string][]string{"a": {"b", "y"}, "b": {"a"}, "y": {"z"}, "z": {"y"}},
			kind: model.CycleError, cycles: [][]string{{"y", "z"}, {"a", "b"}}},
		{why: "GR-7 self-loops follow, a node can be in both", edges: map[string][]string{"a": {"a", "b"}, "b": {"a"}}, kind: model.CycleError, cycles: [][]string{{"a", "b"}, {"a"}}},
		{why: "GR-7 no recursion limit", edges: long, kind: model.CycleError},
	} {
		t.Run(tc.why, func(t *testing.T) {
			_, err := graph.Build(tc.edges)
			if !model.IsKind(err, tc.kind) || model.ClassOf(err) != model.ClassUser {
				t.Fatalf("error %.200v; want %s", err, tc.kind)
			}
			for _, text := range tc.texts {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q does not name %q", err, text)
				}
			}
			var e *model.Error
			if errors.As(err, &e) && tc.cycles != nil && !cmp.Equal(e.Cycles, tc.cycles) {
				t.Errorf("cycles %v; want %v", e.Cycles, tc.cycles)
			}
		})
	}
}

// What the author of the edges reads beside the error, and the nodes that it concerns.
func TestBuildErrorsSayWhatToDo(t *testing.T) {
	var ring []string
	edges := map[string][]string{}
	for i := range 30 {
		ring = append(ring, fmt.Sprintf("n%02d", i))
		edges[ring[i]] = []string{fmt.Sprintf("n%02d", (i+1)%30)}
	}
	for _, tc := range []struct {
		why     string
		edges   map[string][]string
		message string
		hint    string
		nodes   []string
	}{
		{"a target that is misspelt", map[string][]string{"s:p.T:first": nil, "s:p.T:b": {"s:p.T:frist"}},
			"s:p.T:b depends on s:p.T:frist, which is not declared", "did you mean 's:p.T:first'?", []string{"s:p.T:b"}},
		{"nobody meant the node itself", map[string][]string{"s:p.T:a": {"s:p.T:b"}},
			"s:p.T:a depends on s:p.T:b, which is not declared", "check the id for a typing error, or declare it", []string{"s:p.T:a"}},
		{"a cycle", map[string][]string{"a": {"b"}, "b": {"a"}},
			"dependency cycle: a -> b", "take one of the references or depends_on between them away", []string{"a", "b"}},
		{"a node alone", map[string][]string{"a": {"a"}},
			"dependency cycle: a", "take the reference or depends_on to itself away", []string{"a"}},
		{"a long cycle is not shown whole", edges,
			"dependency cycle: " + strings.Join(ring[:20], " -> ") + " -> and 10 more", "take one of the references or depends_on between them away", ring},
	} {
		_, err := graph.Build(tc.edges)
		var e *model.Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: error %v", tc.why, err)
		}
		if e.Message != tc.message || e.Hint != tc.hint || !cmp.Equal(e.Nodes, tc.nodes) {
			t.Errorf("%s: %q; %q of %v", tc.why, e.Message, e.Hint, e.Nodes)
		}
	}
}

// dag draws an acyclic set of edges: a node depends on earlier ones only, under ids in
// which earlier does not mean smaller.
func dag(t *rapid.T) map[string][]string {
	n := rapid.IntRange(0, 12).Draw(t, "nodes")
	ids := rapid.Permutation(slices.Collect(func(yield func(string) bool) {
		for i := range n {
			if !yield(fmt.Sprintf("n%02d", i)) {
				return
			}
		}
	})).Draw(t, "ids")
	edges := map[string][]string{}
	for i, id := range ids {
		edges[id] = nil
		for _, earlier := range ids[:i] {
			if rapid.IntRange(0, 3).Draw(t, "edge") == 0 {
				edges[id] = append(edges[id], earlier)
			}
		}
	}
	return edges
}

func TestOrderLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		edges := dag(t)
		g := build(t, edges) // T-014: acyclic graphs never fail
		for _, reverse := range []bool{false, true} {
			order, again := g.Order(), g.Order()
			if reverse {
				order, again = g.ReverseOrder(), g.ReverseOrder()
			}
			if !slices.Equal(order, again) {
				t.Fatalf("T-011: %v and %v", order, again)
			}
			if sorted := slices.Sorted(slices.Values(order)); !slices.Equal(sorted, g.IDs()) {
				t.Fatalf("T-010: %v is no permutation of %v", order, g.IDs())
			}
			place := map[string]int{}
			for i, id := range order {
				place[id] = i
			}
			for id, deps := range edges {
				for _, dep := range deps {
					if (place[dep] < place[id]) == reverse {
						t.Fatalf("T-009: %s depends on %s in %v (reverse: %t)", id, dep, order, reverse)
					}
				}
			}
		}
		shuffled := map[string][]string{}
		for id, deps := range edges {
			shuffled[id] = rapid.Permutation(deps).Draw(t, "deps")
		}
		if !cmp.Equal(g, build(t, shuffled), cmp.AllowUnexported(graph.Graph{})) {
			t.Fatal("T-012: another order of dependencies built another graph")
		}
	})
}

func TestPlantedCycle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		edges := dag(t)
		g := build(t, edges)
		if len(g.IDs()) < 2 {
			return
		}
		from := rapid.SampledFrom(g.IDs()).Draw(t, "from")
		reach := g.Closure([]string{from}, false)
		to := rapid.SampledFrom(reach).Draw(t, "to")
		edges[to] = append(edges[to], from)
		_, err := graph.Build(edges)
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.CycleError {
			t.Fatalf("T-013: error %v", err)
		}
		if !slices.ContainsFunc(e.Cycles, func(c []string) bool { return slices.Contains(c, from) && slices.Contains(c, to) }) {
			t.Fatalf("T-013: %s and %s share no cycle of %v", from, to, e.Cycles)
		}
		for _, cycle := range e.Cycles {
			for _, a := range cycle {
				for _, b := range cycle {
					if !reaches(edges, a, b) {
						t.Fatalf("T-015: %s does not reach %s in %v", a, b, cycle)
					}
				}
			}
		}
	})
}

// reaches reports whether a path of at least one edge leads from a to b.
func reaches(edges map[string][]string, a, b string) bool {
	seen := map[string]bool{}
	frontier := slices.Clone(edges[a])
	for len(frontier) > 0 {
		id := frontier[0]
		frontier = frontier[1:]
		if id == b {
			return true
		}
		if !seen[id] {
			seen[id] = true
			frontier = append(frontier, edges[id]...)
		}
	}
	return false
}

func TestClosureLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := build(t, dag(t))
		reverse := rapid.Bool().Draw(t, "reverse")
		seeds := []string{"not-a-node"}
		if len(g.IDs()) > 0 {
			seeds = append(seeds, rapid.SliceOf(rapid.SampledFrom(g.IDs())).Draw(t, "seeds")...)
		}
		closure := g.Closure(seeds, reverse)
		for _, id := range closure {
			next := g.Deps(id)
			if reverse {
				next = g.Dependents(id)
			}
			for _, n := range next {
				if !slices.Contains(closure, n) {
					t.Fatalf("T-016: %s leads out of %v to %s", id, closure, n)
				}
			}
		}
		for _, seed := range seeds[1:] {
			if !slices.Contains(closure, seed) {
				t.Fatalf("T-017: the seed %s is not in %v", seed, closure)
			}
		}
		if !slices.Equal(g.Closure(closure, reverse), closure) {
			t.Fatal("T-017: not idempotent")
		}
		for _, id := range g.Closure(seeds[:len(seeds)/2+1], reverse) {
			if !slices.Contains(closure, id) {
				t.Fatalf("T-017: fewer seeds reach %s", id)
			}
		}
		if !slices.Equal(g.Closure(g.IDs(), reverse), g.IDs()) {
			t.Fatal("T-017: all ids are not everything")
		}
	})
}

func BenchmarkBuildAndOrder10k(b *testing.B) {
	edges := map[string][]string{}
	for i := range 10_000 {
		id := fmt.Sprintf("s:local.File:n%05d", i)
		edges[id] = nil
		if i > 0 {
			edges[id] = []string{fmt.Sprintf("s:local.File:n%05d", i/2)}
		}
	}
	delete(edges, "s:local.File:n00000")
	edges["s:local.File:n00000"] = nil
	for b.Loop() {
		build(b, edges).Order()
	}
}
