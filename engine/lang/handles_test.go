package lang

import (
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Operands of a combinator may be cyclic or shared at any depth; nothing that compares,
// hashes or shows them may take the process down or run unmetered (lang.md 5.9).
func TestOperandsThatAreCyclicOrShared(t *testing.T) {
	for _, c := range []struct {
		reason, text string
		kind         model.Kind // "" = compiles
	}{
		{"comparing two cycles", `from atlantide.core import Transform
x=[]
a = Transform("concat", (x,))
x.append(a)
y=[]
b = Transform("concat", (y,))
y.append(b)
r = a == b`, model.FuelExhaustedError},
		{"comparing a cycle with itself ends at once", `from atlantide.core import Transform
x=[]
a = Transform("concat", (x,))
x.append(a)
r = a == a`, ""},
		{"showing a cycle", `from atlantide.core import Transform
x=[]
a = Transform("concat", (x,))
x.append(a)
r = str(a)`, model.FuelExhaustedError},
		{"comparing what doubles at each level", `x=[1]
y=[1]
for i in range(60):
    x=[concat(x,x)]
    y=[concat(y,y)]
r = x == y`, model.FuelExhaustedError},
		{"a key that doubles at each level is compared once per pair", `x=concat(1)
y=concat(1)
for i in range(60):
    x=concat(x,x)
    y=concat(y,y)
r = {x: 1}[y]`, ""},
		{"a key of another shape is another key", `r = {concat(concat("a"), "b"): 1, concat("a", concat("b")): 2}
n = [0, 1, 2][len(r)]
if n != 2:
    r.missing`, ""},
		{"a key that nests beyond the bound", `x=concat(1)
for i in range(2000):
    x=concat(x)
r = {x: 1}`, model.LanguageError},
	} {
		t.Run(c.reason, func(t *testing.T) {
			_, err := compile(t, c.text, Options{})
			switch {
			case c.kind == "" && err != nil:
				t.Fatalf("got %v", err)
			case c.kind != "" && !model.IsKind(err, c.kind):
				t.Fatalf("got %v, want a %s", err, c.kind)
			}
		})
	}
}
