package graph_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func TestSelect(t *testing.T) {
	known := []string{"a:aws.S3Bucket:assets", "b:aws.S3Bucket:assets", "b:aws.S3Bucket:logs", "default:local.File:a", "s:local.File:a", "s:local.File:c-a"}
	for _, tc := range []struct {
		why, patterns, want string
	}{
		{"GR-19 an exact id", "s:local.File:a", "s:local.File:a"},
		{"GR-19 a short id is the default stack's first", "local.File:a", "default:local.File:a"},
		{"GR-19 and every stack's where the default one has none", "aws.S3Bucket:assets", "a:aws.S3Bucket:assets b:aws.S3Bucket:assets"},
		{"a glob over whole ids", "b:*", "b:aws.S3Bucket:assets b:aws.S3Bucket:logs"},
		{"a glob over short ids", "local.File:?", "default:local.File:a s:local.File:a"},
		{"GR-20 a star takes colons and dots", "*:*File*a", "default:local.File:a s:local.File:a s:local.File:c-a"},
		{"several, sorted and distinct", "s:* b:*:logs s:local.File:a", "b:aws.S3Bucket:logs s:local.File:a s:local.File:c-a"},
		{"none", "", ""},
	} {
		t.Run(tc.why, func(t *testing.T) {
			got, err := graph.Select(strings.Fields(tc.patterns), known)
			if err != nil || strings.Join(got, " ") != tc.want {
				t.Errorf("%v, %v; want %s", got, err, tc.want)
			}
		})
	}
}

func TestSelectRefuses(t *testing.T) {
	known := []string{"s:local.File:report"}
	for _, tc := range []struct {
		why      string
		patterns []string
		known    []string
		texts    []string
	}{
		{"GR-21 each pattern must match on its own", []string{"s:*", "t:*"}, known, []string{"'t:*'", "short form", "glob", "s:local.File:*"}},
		{"a typing error", []string{"s:local.File:reprot"}, known, []string{"'s:local.File:reprot'", "did you mean 's:local.File:report'"}},
		{"the empty pattern", []string{""}, known, []string{"''"}},
		{"GR-21 nothing is known at all", []string{"x"}, nil, []string{"'x'", "neither the config nor the state"}},
		{"a pattern too long", []string{strings.Repeat("a", 1025)}, known, []string{"1024 characters"}},
		{"too much to compare", []string{"*" + strings.Repeat("a", 500) + "b"}, slices.Repeat([]string{"s:T:" + strings.Repeat("a", 1020)}, 2000), []string{"take too long", "2000 ids"}},
		{"a class is as much as it has members", []string{"*[" + strings.Repeat("b", 500) + "a]" + strings.Repeat("a", 400) + "b"}, slices.Repeat([]string{"s:T:" + strings.Repeat("a", 1020)}, 2000), []string{"take too long"}},
		{"too many of them", slices.Repeat([]string{"s:*"}, 1001), known, []string{"1001 patterns"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			_, err := graph.Select(tc.patterns, tc.known)
			if !model.IsKind(err, model.TargetError) || model.ClassOf(err) != model.ClassUser {
				t.Fatalf("error %v; want a TargetError", err)
			}
			for _, text := range tc.texts {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q does not hold %q", err, text)
				}
			}
		})
	}
}

// TestGlob is the reference table of GR-20.
func TestGlob(t *testing.T) {
	for _, tc := range []struct {
		why, pattern, id string
		want             bool
	}{
		{"the whole text", "abc", "abcd", false},
		{"a star over nothing", "ab*c", "abc", true},
		{"a star over colons, dots and slashes", "a*z", "a:b.c/d:z", true},
		{"a star goes back", "*ab", "aab", true},
		{"stars go back one by one", "*a*b", "xaybzb", true},
		{"one character", "a?c", "abc", true},
		{"one, not none", "a?c", "ac", false},
		{"one code point", "a?c", "aéc", true},
		{"a set", "[ab]x", "bx", true},
		{"a range", "[a-c]x", "bx", true},
		{"outside a range", "[a-c]x", "dx", false},
		{"a range that runs backwards holds nothing", "[c-a]x", "bx", false},
		{"a hyphen at the end is a member", "[a-]x", "-x", true},
		{"not in a set", "[!ab]x", "cx", true},
		{"in a set that is excluded", "[!ab]x", "ax", false},
		{"a circumflex negates nothing", "[^a]x", "^x", true},
		{"a circumflex and its member", "[^a]x", "bx", false},
		{"a closing bracket first is a member", "[]a]x", "]x", true},
		{"an open bracket that nothing closes is itself", "[ab", "[ab", true},
		{"also when negated", "[!", "[!", true},
		{"a backslash escapes nothing", `a\*`, `a\bc`, true},
		{"case counts", "A", "a", false},
		{"nothing matches nothing", "", "", true},
	} {
		t.Run(tc.why, func(t *testing.T) {
			_, err := graph.Select([]string{tc.pattern}, []string{tc.id})
			if (err == nil) != tc.want {
				t.Errorf("'%s' on '%s': %v; want a match: %t", tc.pattern, tc.id, err, tc.want)
			}
		})
	}
}

// asRegexp is the same glob for another matcher; ok is false for what it cannot say.
func asRegexp(pattern string) (re *regexp.Regexp, ok bool) {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	text := []rune(pattern)
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '*':
			b.WriteString(".*")
		case '?':
			b.WriteString(".")
		case '[':
			end := slices.Index(text[i:], ']')
			if end < 2 || slices.Contains(text[i+1:i+end], '-') || text[i+1] == '!' && end < 3 {
				return nil, false
			}
			negate, members := "", text[i+1:i+end]
			if members[0] == '!' {
				negate, members = "^", members[1:]
			}
			b.WriteString("[" + negate)
			for _, m := range members {
				fmt.Fprintf(&b, `\x{%x}`, m)
			}
			b.WriteString("]")
			i += end
		default:
			b.WriteString(regexp.QuoteMeta(string(text[i])))
		}
	}
	re, err := regexp.Compile(b.String() + `\z`)
	return re, err == nil
}

// N-49: the matcher agrees with a regular expression that says the same.
func TestGlobLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringOfN(rapid.RuneFrom([]rune("ab:.*?[]!^é")), 0, 8, -1).Draw(t, "pattern")
		id := rapid.StringOfN(rapid.RuneFrom([]rune("ab.[]!^é")), 0, 8, -1).Draw(t, "id")
		re, ok := asRegexp(pattern)
		if !ok {
			return
		}
		_, err := graph.Select([]string{pattern}, []string{id})
		exact := pattern == id || model.DefaultStack+":"+pattern == id
		if want := exact || re.MatchString(id) || re.MatchString(model.ShortID(id)); (err == nil) != want {
			t.Fatalf("'%s' on '%s': %v; want a match: %t", pattern, id, err, want)
		}
	})
}

// T-018, T-019.
func TestSelectLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[ab]:local\.File:[a-d]{1,2}`), 1, 8, rapid.ID[string]).Draw(t, "ids")
		slices.Sort(ids)
		some := slices.DeleteFunc(slices.Clone(ids), func(string) bool { return rapid.Bool().Draw(t, "left out") })
		got, err := graph.Select(some, ids)
		if err != nil || !slices.Equal(got, some) {
			t.Fatalf("T-018: %v selects %v, %v", some, got, err)
		}
		if _, err := graph.Select(append(some, "c:nothing"), ids); !model.IsKind(err, model.TargetError) {
			t.Fatalf("T-019: a pattern that matches nothing: %v", err)
		}
	})
}

func FuzzSelect(f *testing.F) {
	for _, seed := range []string{"*", "[", "[!a-", "a**b", "[]]", "\xff?"} {
		f.Add(seed, "s:local.File:a")
	}
	f.Fuzz(func(t *testing.T, pattern, id string) {
		got, err := graph.Select([]string{pattern}, []string{id})
		if err == nil && !slices.Equal(got, []string{id}) {
			t.Errorf("'%s' selects %q of %q", pattern, got, id)
		}
	})
}

// Downstream is the part of the order that the seeds and their dependents make up.
func TestDownstream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		edges := map[string][]string{}
		n := rapid.IntRange(1, 12).Draw(t, "nodes")
		for i := range n {
			id := fmt.Sprintf("n%02d", i)
			edges[id] = nil
			for j := range i {
				if rapid.IntRange(0, 3).Draw(t, "edge") == 0 {
					edges[id] = append(edges[id], fmt.Sprintf("n%02d", j))
				}
			}
		}
		g, err := graph.Build(edges)
		if err != nil {
			t.Fatal(err)
		}
		seeds := rapid.SliceOf(rapid.IntRange(0, n-1)).Draw(t, "seeds")
		var ids []string
		for _, place := range seeds {
			ids = append(ids, g.IDs()[place])
		}
		var got []string
		for _, place := range g.Downstream(seeds) {
			id := g.IDs()[place]
			if at, ok := g.Place(id); !ok || at != place {
				t.Fatalf("%s is at %d, not at %d", id, at, place)
			}
			for _, dep := range g.DepsAt(place) {
				if slices.Contains(ids, g.IDs()[dep]) && !slices.Contains(got, g.IDs()[dep]) {
					t.Fatalf("%s comes before what it depends on", id)
				}
			}
			got = append(got, id)
		}
		for i, id := range got {
			for _, dep := range g.Deps(id) {
				if at := slices.Index(got, dep); at > i {
					t.Fatalf("%s comes before %s", id, dep)
				}
			}
		}
		slices.Sort(got)
		if want := g.Closure(ids, true); !slices.Equal(got, want) {
			t.Fatalf("%v; want %v", got, want)
		}
	})
}
