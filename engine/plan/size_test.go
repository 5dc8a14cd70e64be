package plan_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

// tree is a config of n files, each reading another one, and what an apply of it left.
func tree(t fataler, n int) plan.Input {
	t.Helper()
	c := newConfig()
	name := func(i int) string { return fmt.Sprintf("s:local.File:n%05d", i) }
	for i := range n {
		content := any("hello")
		if i > 0 {
			content = ref(name(i/2), "checksum")
		}
		c.file(name(i), fmt.Sprintf("out/%05d.txt", i), content)
	}
	compilation, g := c.compile(t)
	in := plan.Input{Compilation: compilation, Graph: g, Snapshot: applied(t, c), Schemas: testSchemas(t), OnFailure: plan.OnFailureHalt}
	return in
}

// touch changes the last file, which nothing reads.
func touch(t fataler, in plan.Input, n int) plan.Input {
	t.Helper()
	c := newConfig()
	for i := range in.Compilation.Document.Nodes {
		node := in.Compilation.Document.Nodes[i]
		c.nodes[node.ID] = &node
	}
	last := fmt.Sprintf("s:local.File:n%05d", n-1)
	c.file(last, "out/touched.txt", ref(fmt.Sprintf("s:local.File:n%05d", (n-1)/2), "checksum"))
	in.Compilation, in.Graph = c.compile(t)
	return in
}

// planned plans and digests.
func planned(t fataler, in plan.Input, pending int) {
	p, err := plan.New(in)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if got := len(verdicts(p)); got != pending {
		t.Fatalf("%d changes; want %d", got, pending)
	}
	digest(t, p)
}

// A plan costs what changes: what does not takes no more room than its line in the list.
func TestRoomOfUnchangedNodes(t *testing.T) {
	const most = 200 // bytes per unchanged node
	used := func(in plan.Input) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := plan.New(in); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	small, big := touch(t, tree(t, 1_000), 1_000), touch(t, tree(t, 5_000), 5_000)
	used(small) // whatever is made once
	if per := (used(big) - used(small)) / 4_000; per > most {
		t.Errorf("%d bytes per unchanged node; want at most %d", per, most)
	}
}

func BenchmarkDiff10kUnchanged(b *testing.B) {
	in := tree(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		planned(b, in, 0)
	}
}

func BenchmarkDiff10kOneChanged(b *testing.B) {
	in := touch(b, tree(b, 10_000), 10_000)
	b.ReportAllocs()
	for b.Loop() {
		planned(b, in, 1)
	}
}

// BenchmarkDiff10kRootChanged changes what everything depends on.
func BenchmarkDiff10kRootChanged(b *testing.B) {
	in := tree(b, 10_000)
	in.Replace = []string{"s:local.File:n00000"}
	b.ReportAllocs()
	for b.Loop() {
		planned(b, in, 10_000)
	}
}

func BenchmarkAlias10k(b *testing.B) {
	in := tree(b, 10_000)
	c := newConfig()
	for i := range in.Compilation.Document.Nodes {
		node := in.Compilation.Document.Nodes[i]
		c.nodes[node.ID] = &node
	}
	c = renamedConfig(c, map[string]string{"s:local.File:n09999": "s:local.File:renamed"})
	in.Compilation, in.Graph = c.compile(b)
	b.ReportAllocs()
	for b.Loop() {
		planned(b, in, 0)
	}
}
