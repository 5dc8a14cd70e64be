package model_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func TestNearest(t *testing.T) {
	for _, c := range []struct {
		reason, name string
		candidates   string // separated by spaces
		want         string
	}{
		{"a letter left out", "bucke", "region bucket tags", "bucket"},
		{"a letter too many", "bucckets", "buckets", "buckets"},
		{"another letter", "rigion", "region", "region"},
		{"two letters swapped are one edit", "tsak", "task", "task"},
		{"case alone is no edit", "s3bucket", "S3Bucket S3Buckets", "S3Bucket"},
		{"even in a name that is too short for an edit", "ID", "id", "id"},
		{"a short name has no room for an edit", "ab", "ac", ""},
		{"the nearer one wins", "contents", "content contends", "content"},
		{"of equals the one spelled alike", "Fils", "FILE File", "File"},
		{"of equals the first by code points", "cat", "rat bat", "bat"},
		{"nothing near", "bucket", "region tags", ""},
		{"no candidates", "bucket", "", ""},
		{"a name that is there is no mistake", "bucket", "buckets bucket", ""},
		{"letters are code points", "größe", "grösse größen", "größen"},
		{"three edits at most", strings.Repeat("a", 30), strings.Repeat("a", 26) + "bbbb", ""},
		{"a longer name is not compared", strings.Repeat("a", 257), strings.Repeat("a", 256), ""},
		{"nor with a longer one", strings.Repeat("a", 256), strings.Repeat("a", 257), ""},
	} {
		if got := model.Nearest(c.name, strings.Fields(c.candidates)); got != c.want {
			t.Errorf("%s: %.40s among %.60s: got %.40q, want %.40q", c.reason, c.name, c.candidates, got, c.want)
		}
	}
	long := strings.Repeat("x", 63)
	many := slices.Repeat([]string{long + "a", long + "b"}, 1<<14)
	if got := model.Nearest(long+"c", many); got != long+"a" {
		t.Errorf("%q among many names", got)
	}
	if got := model.Nearest(long+"c", slices.Concat(many, many[:1])); got != "" {
		t.Errorf("%q among more names than are compared", got)
	}
	if got := model.DidYouMean("tag", []string{"tags"}); got != "did you mean 'tags'?" {
		t.Errorf("hint %q", got)
	}
	if got := model.DidYouMean("tag", []string{"region"}); got != "" {
		t.Errorf("hint %q", got)
	}
}

// A suggestion is one of the candidates, the same wherever each stands, and within the
// distance that a plain count over the whole table of edits finds smallest.
func TestNearestIsTheNearest(t *testing.T) {
	word := rapid.StringOfN(rapid.RuneFrom([]rune("aAbBcé")), 0, 12, -1)
	rapid.Check(t, func(t *rapid.T) {
		name := word.Draw(t, "name")
		candidates := rapid.SliceOfN(word, 0, 8).Draw(t, "candidates")
		got := model.Nearest(name, candidates)
		if shuffled := rapid.Permutation(candidates).Draw(t, "shuffled"); model.Nearest(name, shuffled) != got {
			t.Fatalf("%q among %q depends on the order", name, candidates)
		}
		limit := min(len([]rune(name))/3, 3)
		smallest := limit + 1
		for _, c := range candidates {
			if c != "" {
				smallest = min(smallest, edits(name, c))
			}
		}
		switch {
		case slices.Contains(candidates, name):
			if got != "" {
				t.Fatalf("%q among %q: %q", name, candidates, got)
			}
		case got == "" && smallest <= limit:
			t.Fatalf("%q among %q: nothing, though one is %d away", name, candidates, smallest)
		case got == "":
		case !slices.Contains(candidates, got):
			t.Fatalf("%q among %q: %q", name, candidates, got)
		case edits(name, got) != smallest:
			t.Fatalf("%q among %q: %q is %d away, another %d", name, candidates, got, edits(name, got), smallest)
		}
	})
}

// edits is the textbook count, without a limit.
func edits(x, y string) int {
	fold := func(s string) []rune { return []rune(strings.Map(unicode.ToLower, s)) }
	a, b := fold(x), fold(y)
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
		table[i][0] = i
	}
	for j := range table[0] {
		table[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			n := min(table[i-1][j]+1, table[i][j-1]+1, table[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				n = min(n, table[i-2][j-2]+1)
			}
			table[i][j] = n
		}
	}
	return table[len(a)][len(b)]
}
