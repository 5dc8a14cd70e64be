package engine_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

const mebibyte = 1 << 20

// hoard is a config that fills memory with something.
type hoard struct{ what, text string }

// keeping is a config that keeps what an expression makes, again and again.
func keeping(setup, expression string) string {
	return setup + "\nkept = []\nfor i in range(10**9):\n    kept.append(" + expression + ")\n"
}

// hoards are configs that end only when a limit ends them, by what they fill memory
// with.
var hoards = []hoard{
	{"empty lists in a display", keeping("", "["+strings.Repeat("[],", 500)+"]")},
	{"empty lists in a wide display", keeping("", "[\x00[],\x00]")},
	{"tuples", keeping("", "(i, i)")},
	{"lists of ints", keeping("", "["+strings.Repeat("i,", 500)+"]")},
	{"dicts", keeping("", "{}")},
	{"small dicts", keeping("", "{'a': i}")},
	{"dicts of JSON", keeping("t = '[' + '{},' * 1000 + '{}]'", "from_json(t)")},
	{"small dicts of JSON", keeping("t = '[' + '{\"a\":1},' * 1000 + '{}]'", "from_json(t)")},
	{"lists of JSON", keeping("t = '[' + '[],' * 1000 + '1]'", "from_json(t)")},
	{"ints of JSON", keeping("t = '[' + '9007199254740993,' * 1000 + '1]'", "from_json(t)")},
	{"sets", keeping("", "{i}")},
	{"frozensets", keeping("", "frozenset([i])")},
	{"functions", keeping("", "lambda: 0")},
	{"functions in a display", keeping("", "["+strings.Repeat("lambda: 0,", 500)+"]")},
	{"closures", "kept = []\ndef f(n):\n    return lambda: n\nfor i in range(10**9):\n    kept.append(f(i))\n"},
	{"nested functions", "kept = []\ndef f(n):\n    def g(m=[], k=1):\n        return n\n    kept.append(g)\nfor i in range(10**9):\n    f(i)\n"},
	{"defaults", keeping("", "lambda a=i, b=i, c=i, d=i, e=i: 0")},
	{"methods", keeping("x = []", "x.append")},
	{"unbound methods", keeping("", "str.upper")},
	{"views", keeping("d = {}", "d.items()")},
	{"iterators", keeping("", "map(str, [])")},
	{"zips", keeping("", "zip([], [], [], [])")},
	{"ranges", keeping("", "range(i)")},
	{"large ranges", keeping("", "range(i, 2**70)")},
	{"big ints", keeping("", "i + 2**40")},
	{"bigger ints", keeping("x = 2**60000", "x + i")},
	{"floats", keeping("", "i + 0.5")},
	{"short texts", keeping("", "f'{i}'")},
	{"texts", keeping("", "'a' * 1000")},
	{"characters", keeping("t = 'é' * 1000", "list(t)")},
	{"characters, one by one", "kept = []\nt = 'é' * 100000\nfor i in range(10**9):\n    for c in t:\n        kept.append(c)\n"},
	{"slices of a text", keeping("t = 'ab' * 1000", "t[i % 1000:]")},
	{"words", keeping("t = 'a ' * 1000", "t.split()")},
	{"lines", keeping("t = 'a\\n' * 1000", "t.splitlines()")},
	{"empty lines", "t = '\\n' * 4000000\nx = t.splitlines()\ny = t.splitlines()\n"},
	{"pairs", keeping("", "list(enumerate(range(1000)))")},
	{"items", keeping("d = {i: i for i in range(1000)}", "list(d.items())")},
	{"an append without end", keeping("", "None")},
	{"extensions", "kept = []\nx = [0] * 1000\nfor i in range(10**9):\n    kept.extend(x)\n"},
	{"a live list", "x = [1]\nfor i in x:\n    x.append(1)\n"},
	{"a comprehension", "x = [i for i in range(10**9)]"},
	{"a comprehension of tuples", "x = [(i, i, i) for i in range(10**9)]"},
	{"a comprehension of lists", "x = [[] for i in range(10**9)]"},
	{"nested comprehensions", "x = [[j for j in range(100)] for i in range(10**9)]"},
	{"a dict of ints", "d = {}\nfor i in range(10**9):\n    d[i] = i\n"},
	{"a set of ints", "s = set()\nfor i in range(10**9):\n    s.add(i)\n"},
	{"a dict comprehension", "x = {i: i for i in range(10**9)}"},
	{"dict copies", keeping("d = {i: i for i in range(100)}", "dict(d)")},
	{"dict unions", keeping("d = {i: i for i in range(100)}", "d | d")},
	{"set copies", keeping("d = {i for i in range(100)}", "d.copy()")},
	{"merges", keeping("d = {'a': {'b': {}}}", "merge(d, d)")},
	{"starred targets", "kept = []\nfor i in range(10**9):\n    a, *b = (1, 2)\n    kept.append(b)\n"},
	{"NULs as text", keeping("t = '\\0' * 100000", "str([t])")},
	{"NULs as JSON", keeping("t = '\\0' * 100000", "to_json(t)")},
	{"one text of NULs", "t = '\\0' * 4000000\nx = str([t])\ny = str([t])\n"},
	{"case mappings that grow", keeping("t = 'ΐ' * 10000", "t.upper()")},
	{"combinators", keeping("", "concat('a')")},
	{"combinators of many", keeping("", "concat("+strings.Repeat("'a',", 100)+")")},
	{"references", keeping("from atlantide.core import Ref", "Ref('a:b.C:d', 'e')")},
	{"secrets", keeping("", "atlantide.secret('a')")},
	{"stack outputs", keeping("from atlantide.core import StackReference", "StackReference('s').output('o')")},
	{"stacks", keeping("from atlantide.core import Stack", "Stack('s', region='r')")},
	{"regions", keeping("from atlantide.core import region", "region('r')")},
	{"lifecycles", keeping("from atlantide.core import Lifecycle", "Lifecycle()")},
	{"inputs", keeping("", "atlantide.input('a', default=[1])")},
	{"values of a resource", keeping("from atlantide.providers.local import Null\nn = Null('n', triggers={'a': 'b'})", "n.triggers")},
	{"structured values", keeping("from atlantide.providers.aws import SgRule", "SgRule(from_port=1, to_port=2, cidr_blocks=['10.0.0.0/8'])")},
	{"policies", "from atlantide.policy import enforce\nfor i in range(10**9):\n    enforce('p', x=i)\n"},
	{"policies with values", "from atlantide.policy import enforce\nfor i in range(10**9):\n    enforce('p', x=['a'] * 100)\n"},
	{"resources", "from atlantide.providers.local import File\nfor i in range(10**9):\n    File(f'f{i}', path='p')\n"},
	{"resources with references", "from atlantide.providers.local import File\na = File('a', path='a').checksum\nfor i in range(10**9):\n    File(f'f{i}', path='p', content=a)\n"},
	{"resources with tags", "from atlantide.providers.local import Null\nfor i in range(10**9):\n    Null(f'f{i}', triggers={'a': 'b'})\n"},
	{"resources with many tags", "from atlantide.providers.local import Null\nd = {f'k{i}': 'v' for i in range(100)}\nfor i in range(10**9):\n    Null(f'f{i}', triggers=d)\n"},
	{"buckets", "from atlantide.core import Stack\nfrom atlantide.providers.aws import S3Bucket\nwith Stack('s', region='eu-west-1', tags={'a': 'b'}):\n    for i in range(10**9):\n        S3Bucket(f'f{i}', bucket=f'bucket-{i}')\n"},
	{"all resources there may be", "from atlantide.providers.local import File\na = File('a', path='a').checksum\nfor i in range(99999):\n    File(f'f{i}', path=f'p{i}', content=a)\n"},
	{"a chain of resources", "from atlantide.providers.local import File\na = ''\nfor i in range(100000):\n    a = File(f'f{i}', path=f'p{i}', content=a).checksum\n"},
	{"all buckets there may be", "from atlantide.core import Stack\nfrom atlantide.providers.aws import S3Bucket\nwith Stack('s', region='eu-west-1', tags={'a': 'b'}):\n    for i in range(100000):\n        S3Bucket(f'f{i}', bucket=f'bucket-{i}')\n"},
	{"resources of many values", "from atlantide.providers.local import Null\nd = {f'k{i}': 'v' for i in range(400)}\nfor i in range(1000):\n    Null(f'f{i}', triggers=d)\n"},
	{"all outputs there may be", "from atlantide.core import output\nfor i in range(100000):\n    output(f'o{i}', {'a': i})\n"},
	{"outputs", "from atlantide.core import output\nfor i in range(10**9):\n    output(f'o{i}', [i])\n"},
	{"outputs of dicts", "from atlantide.core import output\nfor i in range(10**9):\n    output(f'o{i}', {'a': {'b': i}})\n"},
	{"outputs of many values", "from atlantide.core import output\nx = [[]] * 10000\nfor i in range(10**9):\n    output(f'o{i}', x)\n"},
	{"outputs inside outputs", "from atlantide.core import output\nx = output('o', [[]] * 10000)\nfor i in range(10**9):\n    output(f'o{i}', [x])\n"},
	{"warnings", "from atlantide.core import Ref\nr = Ref('a:b.C:d', 'e')\nx = [" + strings.Repeat("f'{r}',\n", 20_000) + "]\n"},
	{"wide frames", "def f(n):\n    if n < 0:\n        x = [" + "\x000,\x00" + "]\n    return f(n - 1) if n else 0\nf(900)\n"},
	{"frames of many locals", "def f(n):\n    if n < 0:\n        " + "\x00x%=0\n        \x00" + "pass\n    return f(n - 1) if n else 0\nf(900)\n"},
	{"wide frames, one after another", "def f(n):\n    if n < 0:\n        x = [" + "\x000,\x00" + "]\nfor i in range(10**9):\n    f(1)\n"},
	{"wide frames of lambdas", "f = lambda n: 0 if n else [" + "\x000,\x00" + "]\nfor i in range(10**9):\n    f(1)\n"},
	{"wide frames in a comprehension", "x = [(lambda: i) if i else [" + "\x000,\x00" + "] for i in range(1, 10**9) if i == 0]"},
	{"wide frames in a chain", "for i in range(10**9):\n    x = 2 < i < len([0, 1, 2] if i else [" + "\x000,\x00" + "]) < 9\n"},
	{"returns within managers", "from atlantide.core import region\ndef f(r):\n    with " + strings.TrimSuffix(strings.Repeat("r,", 400), ",") + ":\n" + "\x00        if r: return\n\x00" + "f(region('r'))\n"},
	{"reads through functions", nestedReads()},
	{"a type that grows", "x = int | str\nfor i in range(60):\n    x = x | x\n"},
	{"a type of types", "x = list[int]\nfor i in range(60):\n    x = list[x, x]\n"},
	{"dicts walked within one another", "d = {i: 0 for i in range(200000)}\ndef f(n):\n    for k in d:\n        return f(n - 1) if n else 0\nf(900)\n"},
	{"sets walked within one another", "d = {i for i in range(100000)}\ndef f(n):\n    for k in d:\n        return f(n - 1) if n else 0\nf(900)\n"},
	{"source of lists", "x = [\x00[],\x00]\n"},
	{"source of names", "x = 0\ny = [\x00x,\x00]\n"},
	{"source of statements", "\x00x=1\n\x00"},
	{"source of functions", "\x00x=lambda:0\n\x00"},
	{"source of texts", "x = [\x00'a',\x00]\n"},
	{"source of operators", "\x00x=-~-~-~-~-~1\n\x00"},
	{"source of f-strings", "x = [\x00f'{1}',\x00]\n"},
	{"source of subscripts", "x = [[0]]\ny = [\x00x[0],\x00]\n"},
	{"source of comparisons", "x = 1\n\x00x<x+x<x\n\x00"},
	{"source of comprehensions", "\x00[x for x in[]]\n\x00"},
	{"source of calls", "x=str\n\x00x(1)\n\x00"},
	{"source of comments", "\x00#\n\x00"},
	{"source of tokens", "x=1\n\x00x;\x00"},
	{"source of broken tokens", "(\x00+\x00"},
	{"source of brackets", "x = [\x00[[[[[]]]]],\x00]\n"},
	{"source of undefined names", "\x00y,\x00"},
	{"source of violations", "\x00import os\n\x00"},
}

// filled repeats the piece between two NULs until a config has that many bytes; a "%" in
// it is a number.
func filled(text string, bytes int) string {
	parts := strings.Split(text, "\x00")
	if len(parts) != 3 {
		return text
	}
	var b strings.Builder
	b.WriteString(parts[0])
	for i := 0; b.Len() < bytes-len(parts[2])-len(parts[1])-8; i++ {
		b.WriteString(strings.ReplaceAll(parts[1], "%", strconv.Itoa(i)))
	}
	return b.String() + parts[2]
}

// What an evaluation holds is bounded by its cap: the process grows to at most twice as
// much, whatever the config makes. A config that is larger than its cap admits is cut to
// what is admitted.
func TestMemory(t *testing.T) {
	for _, h := range hoards {
		t.Run(h.what, func(t *testing.T) { h.bounded(t, 64*mebibyte) })
	}
}

// The same of some of them with the cap that a config has when nobody sets one.
func TestMemoryByDefault(t *testing.T) {
	for _, h := range hoards {
		switch h.what {
		case "empty lists in a display", "small dicts of JSON", "closures", "NULs as text", "all resources there may be", "wide frames", "source of operators":
			t.Run(h.what, func(t *testing.T) { h.bounded(t, 0) })
		}
	}
}

func (h hoard) bounded(t *testing.T, memory int64) {
	t.Helper()
	limit := memory
	if limit == 0 {
		limit = 256 * mebibyte
	}
	got := child{}.run(t, job{Text: filled(h.text, int(limit/256)), Memory: memory})[0]
	t.Logf("%d MiB of %d: %.100s", got.Grown/mebibyte, limit/mebibyte, got.Error)
	if got.Grown > 2*limit {
		t.Errorf("the process grew by %d MiB under a cap of %d MiB", got.Grown/mebibyte, limit/mebibyte)
	}
	if ends := h.ends(); got.Kind != ends && (memory != 0 || got.Kind != "") {
		t.Errorf("ends with %q, want %q: %.300s", got.Kind, ends, got.Error)
	}
}

// ends is how a compilation ends, "" for well.
func (h hoard) ends() model.Kind {
	switch h.what {
	case "outputs":
		return model.RegistryError // there may be so many, of whatever size
	case "source of broken tokens", "source of violations":
		return model.LanguageError
	case "resources of many values", "warnings", "source of names", "source of statements", "source of functions", "source of texts", "source of f-strings",
		"source of subscripts", "source of comprehensions", "source of calls", "source of comments", "source of tokens":
		return ""
	}
	return model.FuelExhaustedError
}

// The measure itself: a process that takes more than it may is seen to.
func TestMemoryIsMeasured(t *testing.T) {
	got := child{}.run(t, job{Text: "x = 1\n", Memory: 64 * mebibyte, Waste: 3 * 64 * mebibyte})[0]
	if got.Grown <= 2*64*mebibyte || got.Grown > 4*64*mebibyte {
		t.Errorf("three times 64 MiB are measured as %d MiB", got.Grown/mebibyte)
	}
}

// nestedReads is a config whose functions stand in one another, each with an x that it
// may not have assigned, so that a read in the innermost asks every one of them.
func nestedReads() string {
	const deep = 90
	var b strings.Builder
	for i := range deep {
		in := strings.Repeat(" ", i)
		b.WriteString(in + "def f():\n" + in + " if f: x = 1\n")
	}
	in := strings.Repeat(" ", deep)
	b.WriteString(in + "return [" + "\x00x,\x00" + "]\n")
	return b.String()
}
