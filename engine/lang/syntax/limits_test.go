package syntax

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// How deep a source may nest, construct by construct: as deep as said, and one more is a
// located LanguageError. A construct that only gets longer has no such limit.
func TestNesting(t *testing.T) {
	around := func(open, inner, end string) func(int) string {
		return func(n int) string { return "x = " + strings.Repeat(open, n) + inner + strings.Repeat(end, n) }
	}
	after := func(first, more string) func(int) string {
		return func(n int) string { return "x = " + first + strings.Repeat(more, n) }
	}
	blocks := func(head string) func(int) string {
		return func(n int) string {
			var b strings.Builder
			for i := range n {
				b.WriteString(strings.Repeat(" ", i) + head + "\n")
			}
			return b.String() + strings.Repeat(" ", n) + "pass\n"
		}
	}
	const flat = 20_000 // a construct that may be this long may be any length
	for _, c := range []struct {
		what string
		text func(n int) string
		most int
	}{
		{"parentheses", around("(", "1", ")"), 200},
		{"lists", around("[", "1", "]"), 200},
		{"dicts", around("{1: ", "1", "}"), 200},
		{"sets", around("{", "1", "}"), 200},
		{"calls in calls", around("f(", "1", ")"), 200},
		{"subscripts in subscripts", around("f[", "1", "]"), 200},
		{"f-strings in f-strings", func(n int) string { return "x = " + strings.Repeat("f'{", n) + "1" + strings.Repeat("}'", n) }, 200},
		{"fields in format specifications", func(n int) string { return "x = f'{1:" + strings.Repeat("{1:", n-1) + strings.Repeat("}", n) + "'" }, 3},
		{"unary operators", around("-", "1", ""), 999},
		{"not", around("not ", "1", ""), 999},
		{"powers", after("1", "**1"), 999},
		{"sums", after("1", "+1"), 999},
		{"products", after("1", "*1"), 999},
		{"shifts", after("1", "<<1"), 999},
		{"comparisons in a chain", after("1", "<1"), 1000},
		{"and", after("1", " and 1"), flat},
		{"or", after("1", " or 1"), flat},
		{"attributes", after("f", ".a"), 999},
		{"calls of calls", after("f", "()"), 999},
		{"subscripts of subscripts", after("f", "[0]"), 999},
		{"conditionals", after("1", " if 1 else 1"), 999},
		{"conditionals within the test", around("1 if (", "1", ") else 1"), 200},
		{"lambdas", around("lambda: ", "1", ""), 999},
		{"defaults of lambdas", around("lambda a=(", "1", "): 1"), 200},
		{"comprehensions", around("[x for x in ", "f", "]"), 200},
		{"clauses of a comprehension", func(n int) string { return "x = [x" + strings.Repeat(" for x in f", n) + "]" }, 1000},
		{"conditions of a comprehension", func(n int) string { return "x = [x for x in f" + strings.Repeat(" if x", n) + "]" }, 999},
		{"elements of a list", func(n int) string { return "x = [" + strings.Repeat("1,", n) + "]" }, flat},
		{"arguments", func(n int) string { return "x = f(" + strings.Repeat("1,", n) + ")" }, flat},
		{"parts of an f-string", func(n int) string { return "x = f'" + strings.Repeat("{1}", n) + "'" }, flat},
		{"strings side by side", after("'a'", " 'a'"), flat},
		{"targets of an assignment", func(n int) string { return strings.Repeat("x = ", n) + "1" }, flat},
		{"targets in targets", func(n int) string { return strings.Repeat("[", n) + "x" + strings.Repeat("]", n) + " = 1" }, 200},
		{"blocks", blocks("if 1:"), 100},
		{"loops", blocks("for x in f:"), 100},
		{"functions", blocks("def f():"), 100},
		{"managers", func(n int) string { return "with " + strings.TrimSuffix(strings.Repeat("f, ", n), ", ") + ": pass" }, 1000},
		{"branches", func(n int) string { return "if 1: pass\n" + strings.Repeat("elif 1: pass\n", n-1) }, 1000},
		{"decorators", func(n int) string { return strings.Repeat("@f\n", n) + "def g(): pass\n" }, flat},
		{"parameters", func(n int) string {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, "a%d,", i)
			}
			return "def f(" + b.String() + "): pass"
		}, flat},
		{"statements of a line", func(n int) string { return strings.Repeat("1;", n) }, flat},
		{"names of an import", func(n int) string { return "from a import (" + strings.Repeat("b,", n) + ")" }, flat},
		{"segments of a module", func(n int) string { return "from a" + strings.Repeat(".a", n) + " import b" }, flat},
		{"patterns", func(n int) string {
			return "match x:\n case " + strings.Repeat("[", n) + "1" + strings.Repeat("]", n) + ": pass\n"
		}, 200},
		{"alternatives of a pattern", func(n int) string { return "match x:\n case 1" + strings.Repeat("|1", n) + ": pass\n" }, flat},
		{"stars", func(n int) string { return "x = [" + strings.Repeat("*a,", n) + "]" }, flat},
		{"walruses", around("(a := ", "x", ")"), 200},
		{"yields", around("(yield ", "x", ")"), 200},
		{"slices", around("f[0:", "1", "]"), 200},
		{"annotations", func(n int) string {
			return "def f(a: " + strings.Repeat("[", n) + "1" + strings.Repeat("]", n) + "): pass"
		}, 199},
	} {
		if _, err := Parse("infra.py", c.text(c.most)); err != nil {
			t.Errorf("%s: %d are refused: %v", c.what, c.most, err)
		}
		if c.most == flat {
			continue
		}
		for _, n := range []int{c.most + 1, 10 * c.most} {
			_, err := Parse("infra.py", c.text(n))
			var e *model.Error
			if !errors.As(err, &e) || e.Kind != model.LanguageError || e.Line < 1 || e.Col < 1 {
				t.Errorf("%s: %d give %v; want a located LanguageError", c.what, n, err)
			}
		}
	}
}
