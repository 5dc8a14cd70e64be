package lang

import (
	"context"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/lang/check"
	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// spent is how many units a config needs.
func spent(t *testing.T, text string) int64 {
	t.Helper()
	module, err := parse(Source{Filename: "case.py", Text: text}, check.Options{Filename: "case.py"})
	if err != nil {
		t.Fatal(err)
	}
	meter := py.NewMeter(context.Background(), py.Limits{Fuel: 100_000_000})
	defer meter.Close()
	ev := newEvaluation(Options{Schemas: testSchemas(t)}, meter, "case.py", module.Lines)
	if err := ev.evaluate(module); err != nil {
		t.Fatal(err)
	}
	return meter.Used()
}

// What the reference counts for these programs (lang.md §7.2) is enough here, and no
// construct is nearly free.
func TestFuelOfConstructs(t *testing.T) {
	for _, c := range []struct {
		text      string
		reference int64
	}{
		{"for i in range(1000):\n    pass", 2_005},
		{"l = []\nfor i in range(1000):\n    l.append(f'{i}')", 10_007},
		{"l = [i for i in range(1000) if i % 2 == 0]", 7_506},
		{"t = 0\nfor i in range(100):\n    for j in range(100):\n        t = t + i * j", 70_607},
		{"def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(15)", 21_703},
		{"d = {}\nfor i in range(1000):\n    d[f'k{i}'] = i", 16_007},
		{"sum(range(100000))", 100_008},
	} {
		if got := spent(t, c.text); got > c.reference || got < c.reference/4 {
			t.Errorf("%s\nneeds %d units, the reference %d", c.text, got, c.reference)
		}
	}
}

// A construct within a loop costs at least a unit, or a handful of steps, every time.
func TestNothingIsFree(t *testing.T) {
	const rounds = 1000
	empty := spent(t, "x = [1, 2]\nd = {1: 2}\ns = 'a'\ndef f(a=1): return a\nfor i in range(1000):\n    pass")
	for _, body := range []string{
		"y = i", "y = x", "y = 1", "[]", "()", "{}", "[1, 2]", "(1, 2)", "{1}", "{1: 2}", "lambda: 0", "f()", "f(a=1)", "f(*[1])", "len(x)", "x.append", "x[0]", "x[:1]",
		"d[1]", "d[1] = i", "x[0] = i", "i + 1", "-i", "not i", "i < 1", "1 < i < 3", "i is x", "i in d", "i and x", "i or x", "1 if i else 2", "f'{i}'", "f'{i:>3}'",
		"'%d' % i", "y, z = x", "y, *z = x", "[j for j in x]", "[j for j in x if j]", "{j for j in x}", "{j: j for j in x}", "for j in x: pass",
		"if i: y = 1", "y = i; y += 1", "x[0] += 1", "def g(): pass", "range(i)", "map(str, x)", "s.upper()", "s * 2", "s + s", "s == s", "x == x", "sorted(x)",
	} {
		text := "x = [1, 2]\nd = {1: 2}\ns = 'a'\ndef f(a=1): return a\nfor i in range(1000):\n    " + body
		if cost := float64(spent(t, text)-empty) / rounds; cost < 0.5 {
			t.Errorf("%s costs %.2f units", body, cost)
		}
	}
}

// Every limit ends an evaluation with an error that says so, at a place of the config.
func TestEveryLimit(t *testing.T) {
	deep := func(open, inner, end string, n int) string {
		return "x = " + strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	for _, c := range []struct {
		why, text string
		o         Options
		kind      model.Kind
		says      string
	}{
		{"brackets", deep("[", "", "]", 201), Options{}, "LanguageError", "200"},
		{"a depth without brackets", deep("-", "1", "", 1200), Options{}, "LanguageError", "nested too deeply"},
		{"attributes", deep("", "x", ".a", 1200), Options{}, "LanguageError", "nested too deeply"},
		{"branches", "if 1: pass\n" + strings.Repeat("elif 1: pass\n", 1200), Options{}, "LanguageError", "1000"},
		{"links of a comparison", "x = 1" + strings.Repeat(" < 1", 1200), Options{}, "LanguageError", "1000"},
		{"a large source", strings.Repeat("#\n", 1<<20), Options{}, "LanguageError", "1048576 bytes"},
		{"a source larger than its share", strings.Repeat("#\n", 1<<18), Options{MaxTotalBytes: 64 << 20}, "LanguageError", "262144 bytes"},
		{"a source that lowers to more", "from atlantide.core import region\nr = region('r')\nfor i in [1]:\n    with " + strings.TrimSuffix(strings.Repeat("r, ", 900), ", ") + ":\n" + strings.Repeat("        if i: continue\n", 2000), Options{}, "FuelExhaustedError", "more memory to run"},
		{"fuel of a loop", "for i in range(10**9):\n    pass", Options{Fuel: 1000}, "FuelExhaustedError", "1000 steps"},
		{"fuel of a native", "list(range(10**12))", Options{}, "FuelExhaustedError", "5000000 steps"},
		{"a live list", "x = [1]\nfor i in x:\n    x.append(i)", Options{Fuel: 1000}, "FuelExhaustedError", "1000 steps"},
		{"calls", "def f(n):\n    return f(n + 1)\nf(0)", Options{}, "FuelExhaustedError", "1000"},
		{"calls through natives", "def f(n):\n    return max([n], key=f)\nf(0)", Options{}, "FuelExhaustedError", "1000"},
		{"calls through properties of nothing", "f = lambda: f()\nf()", Options{}, "FuelExhaustedError", "1000"},
		{"one value", "x = 'a' * 3000", Options{MaxValueBytes: 2000}, "FuelExhaustedError", "2000 bytes"},
		{"one value of a small memory", "x = 'a' * 4500000", Options{MaxTotalBytes: 64 << 20}, "FuelExhaustedError", "4194304 bytes"},
		{"all values", "x = []\nfor i in range(10**9):\n    x.append('a' * 1000)", Options{MaxTotalBytes: 1 << 20}, "FuelExhaustedError", "1048576 bytes"},
		{"all values, freed ones too", "for i in range(10**9):\n    x = 'a' * 1000", Options{MaxTotalBytes: 1 << 20}, "FuelExhaustedError", "1048576 bytes"},
		{"integers", "x = 1 << 10**12", Options{}, "FuelExhaustedError", "65536 bits"},
		{"integers by powers", "x = 10 ** 10**12", Options{}, "FuelExhaustedError", "65536 bits"},
		{"integers by steps of a range", "r = range(2**30000)\nfor i in range(5):\n    r = r[::2**30000]", Options{}, "FuelExhaustedError", "65536 bits"},
		{"digits", "x = int('9' * 10**6)", Options{}, "LanguageError", "4300"},
		{"repetition", "x = 'a' * 10**12", Options{}, "FuelExhaustedError", ""},
		{"repetition of a list", "x = [0] * 10**12", Options{}, "FuelExhaustedError", ""},
		{"a width in a format", "x = '%1000000000d' % 1", Options{}, "FuelExhaustedError", ""},
		{"a precision in a format", "x = '%.1000000000f' % 1", Options{}, "FuelExhaustedError", ""},
		{"a width of its own", "x = '%*d' % (10**12, 1)", Options{}, "FuelExhaustedError", ""},
		{"a width in an f-string", "x = f'{1:>10000000000}'", Options{}, "FuelExhaustedError", ""},
		{"a nested width", "x = f'{1:>{10**10}}'", Options{}, "FuelExhaustedError", ""},
		{"ljust", "x = 'x'.ljust(10**10)", Options{}, "FuelExhaustedError", ""},
		{"center", "x = 'x'.center(10**10, 'é')", Options{}, "FuelExhaustedError", ""},
		{"zfill", "x = 'x'.zfill(10**10)", Options{}, "FuelExhaustedError", ""},
		{"expandtabs", "x = '\\t'.expandtabs(10**10)", Options{}, "FuelExhaustedError", ""},
		{"replace", "x = ('a' * 10000).replace('a', 'b' * 10000)", Options{}, "FuelExhaustedError", ""},
		{"replace of nothing", "x = ('a' * 10000).replace('', 'b' * 10000)", Options{}, "FuelExhaustedError", ""},
		{"join", "x = ('a' * 10000).join(['b'] * 10000)", Options{}, "FuelExhaustedError", ""},
		{"starred arguments", "max(*range(10**9))", Options{}, "FuelExhaustedError", ""},
		{"a starred target", "a, *b = range(10**9)", Options{}, "FuelExhaustedError", ""},
		{"a comprehension", "x = [i for i in range(10**9)]", Options{}, "FuelExhaustedError", ""},
		{"nested comprehensions", "x = [[[k for k in range(10**4)] for j in range(10**4)] for i in range(10**4)]", Options{}, "FuelExhaustedError", ""},
		{"a set", "x = set(range(10**9))", Options{}, "FuelExhaustedError", ""},
		{"a dict", "x = dict.fromkeys(range(10**9))", Options{}, "FuelExhaustedError", ""},
		{"types", "x = int | str\nfor i in range(60):\n    x = x | x", Options{}, "FuelExhaustedError", "1000 bytes"},
		{"resources", "for i in range(100):\n    W(f'w{i}')", Options{MaxNodes: 50}, "RegistryError", "50 resources"},
		{"outputs", "for i in range(100):\n    output(f'o{i}', i)", Options{MaxNodes: 50}, "RegistryError", "50 outputs"},
		{"names", "W('w' * 2000)", Options{}, "RegistryError", "255"},
		{"managers", "def f(n):\n    with region('r'), region('r'), region('r'), region('r'), region('r'), region('r'), region('r'), region('r'), region('r'), region('r'), region('r'):\n        return f(n + 1)\nf(0)", Options{}, "FuelExhaustedError", ""},
		{"a schema times its environments", "Config({f'a{i}': var(int, default=1) for i in range(10**4)}, envs={f'e{i}': {} for i in range(10**4)})", Options{}, "FuelExhaustedError", ""},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := compileLimited(t, c.text, c.o)
			if model.KindOf(err) != c.kind || model.ClassOf(err) != model.ClassUser || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v of kind %s; want %s and %q", err, model.KindOf(err), c.kind, c.says)
			}
		})
	}
}

// compileLimited compiles with the surface that the cases use already imported.
func compileLimited(t *testing.T, text string, o Options) (*Result, error) {
	t.Helper()
	const imports = "from atlantide.core import Config, output, region, var; from atlantide.providers.test import W; "
	if !strings.HasPrefix(text, "#") && !strings.HasPrefix(text, "from") && !strings.HasPrefix(text, "if") {
		first, rest, _ := strings.Cut(text, "\n")
		if strings.HasPrefix(first, "def") || strings.HasPrefix(first, "for") {
			text = strings.TrimSuffix(imports, "; ") + "\n" + text
		} else {
			text = imports + first + "\n" + rest
		}
	}
	return compile(t, text, o)
}
