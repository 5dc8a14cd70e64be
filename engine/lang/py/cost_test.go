package py

import (
	"strings"
	"testing"

	"go.starlark.net/starlark"
)

// costCase is one line of a table of charges: what the expression costs, and why.
type costCase struct {
	expr string
	want int64
	why  string
}

func runCosts(t *testing.T, names starlark.StringDict, cases []costCase) {
	t.Helper()
	for _, c := range cases {
		th := newThread(t, Limits{})
		if _, err := evalText(th, c.expr, names); err != nil {
			t.Errorf("%s: %v", c.expr, err)
			continue
		}
		if got := MeterOf(th).Used(); got != c.want {
			t.Errorf("%s costs %d, want %d (%s)", c.expr, got, c.want, c.why)
		}
	}
}

// The rest of the table of lang.md §7.1, row by row. The names hold values that cost
// nothing to read.
func TestFuelTable(t *testing.T) {
	th := newThread(t, Limits{})
	names := starlark.StringDict{
		"f":   NewNative("f", func(*thread, tuple, kwargsT) (value, error) { return starlark.None, nil }),
		"t10": starlark.String(strings.Repeat("a", 10)), "t3200": starlark.String(strings.Repeat("a", 3200)),
		"big": starlark.MakeInt(1).Lsh(6400),
	}
	for name, expr := range map[string]string{
		"l3": "[1, 2, 3]", "l2000": "list(range(2000))", "u3": "(1, 2, 3)", "u2000": "tuple(range(2000))",
		"d3": "{1: 2, 3: 4, 5: 6}", "k3": "{1: 2, 3: 4, 5: 6}.keys()", "v3": "{1: 2, 3: 4, 5: 6}.values()", "i3": "{1: 2, 3: 4, 5: 6}.items()",
		"s3": "set_([1, 2, 3])", "s2000": "set_(list(range(2000)))", "z3": "frozenset([1, 2, 3])", "d2000": "dict.fromkeys(range(2000))",
		"dt": "{(1, 2): 3}", "r9": "range(9)", "texts": "['a' * 1000, 'b' * 1000]", "nine": "'1' * 3200", "xy": "('x', 'y')",
	} {
		v, err := evalText(th, expr, nil)
		if err != nil {
			t.Fatal(err)
		}
		names[name] = v
	}
	mapped := func(n string) string { return "map(f, range(" + n + "))" }
	runCosts(t, names, []costCase{
		{"f(*u3)", 3 + 3, "a starred argument: its length; then each as an argument"},
		{"f(*" + mapped("3") + ")", 1 + 5 + 3*1 + 3 + 3, "one without a length: what it gives, after the calls that make it"},

		{"f(s3)", 7 + 7, "a set as an argument: the walk over it, and its order"},
		{"f(k3), f(v3), f(i3)", 7 + 7 + 10, "views: keys, values, both"},
		{"f(z3)", 7 + 7, "a frozenset"},
		{"f(True, 1.5, len)", 3, "any other leaf is one"},
		{"f(texts)", 1 + 2 + 2*(1+1000/64), "texts below the top"},
		{"u3.count(1), z3.copy()", 1 + 7 + 7, "methods walk their receiver"},

		{"l3.append(t10), l3.pop()", 1, "append and pop: one for each argument"},
		{"d3.get(t10), d3.setdefault(1, 2), d3.pop(99, t10)", 1 + 2 + 2, "so do get, setdefault and pop"},
		{"d3.keys(), d3.values(), d3.items()", 0, "and the views, which take none"},
		{"bool(t3200), bool(l3), len(t10), len(l2000)", 4, "bool and len"},
		{"[].extend(l3), {}.update(d3)", 7 + 10, "extend and update walk their argument alone"},
		{"set_([]).add(t10), set_([]).discard(u3)", 11 + 7, "as do add and discard"},
		{"dt.get((1, 2))", 1 + 5, "a tuple as a key is walked"},
		{"dt.setdefault((1, 2)), dt.pop((9, 9), 1)", 1 + 5 + 2 + 5, "whatever the method"},

		{"t10.rjust(3200), t10.center(3200)", 2 * (11 + 1 + 200), "padding: its width"},
		{"t10.zfill(1024), t10.zfill(1025)", 2*(11+1) + 1025/16, "from 1025 on"},
		{"''.join(texts)", 1 + 1 + 2 + 2*(1+1000/64) + 2000/16, "join: its result"},
		{"t10.replace('a', t10)", 11 + 2 + 11, "replace: a small result is free"},
		{"t10.replace('a', t3200)", 11 + 2 + 3201 + (10+10*3199)/16, "a large one is not"},
		{"'\t'.expandtabs(3200)", 2 + 1 + 3201/16, "expandtabs: its result"},
		{"int(nine, 16)", 3201 + 1 + 3200/16, "int of a long text"},
		{"t10.translate({})", 11 + 1, "translate: its walk"},

		{"big - 1, big & 1, big | 1, big ^ 1", 4 * (6402 / 64), "one bit more than the longer"},
		{"big // 3, big % 3", 2 * (6401 / 64), "division: the longer"},
		{"big / big", 6402 / 64, "true division as well"},
		{"big >> 5, big << 64", 6401/64 + 6465/64, "shifts: the result"},
		{"op('**', 3, 1000)", 1585 / 64, "a power: its bits"},
		{"op('**', 1, big), op('**', 7, 0)", 0, "unless it is 1"},

		{"u3 * 5, 'ab' * 7", 15 + 14, "repetition: the result's length"},
		{"'%s' % u2000[0:1]", 2 + 3, "% with a tuple: the text, and the walk"},
		{"'%(a)s%(a).0r' % {'a': l3}", 12 + 10 + 2*7, "what a key names is paid for whenever it is asked for"},
		{"'%s' % (l3,), '%r' % {1: l3}", 2 + 9 + 2 + 10, "over what is in it"},
		{"'%*d' % (80, 1)", 3 + 80/16 + 5, "a width from the arguments"},
		{"'%*d' % (16, 5)", 3 + 1 + 5, "is the largest of them"},

		{"s2000 | s3, s2000 - s3, s2000 & s3, s2000 ^ s3", 4 * (2003 / 16), "set operators: a sixteenth of both"},
		{"s3 | z3", 0, "small ones are free"},
		{"d2000 | d3", 2003 / 16, "dicts alike"},
		{"d2000.keys() & l2000", 4000/16 + 2000/16/4, "and a view with a list; a walk over a large dict copies its keys"},

		{"t3200 < t3200, t3200 != t10", 50, "texts: the shorter, 64 at a step"},
		{"l3 == l2000, u3 < u3, s3 <= s3, d3 == d3", 7 + 7 + 7 + 10, "containers: the smaller walk"},
		{"l3 == 1, 1 < 2", 0, "anything else is free"},

		{"1 in u3, 1 in v3", 3 + 3, "in a tuple, in values: the length times the item"},
		{"u3 in l3", 3 * 7, "whatever the item"},
		{"1 in s3, 1 in z3, 1 in k3, u3 in i3", 1 + 1 + 1 + 7, "in a set, keys, items: the item"},
		{"5 in r9", 0, "in a range: nothing"},

		{"u2000[:1600]", 1600 / 16, "a slice of a tuple"},
		{"r9[2:]", 0, "of a range"},

		{"fmt(u3, 'r', ''), fmt(d3, '', ''), fmt(s3, 's', '')", 7 + 10 + 7, "text forms of containers"},
		{"fmt(t3200, 'r', ''), fmt(7, '', '')", 0, "of anything else"},

		{"unpack(s3, 3, -1)", 7, "an order that unpacking needs"},
		{"{u3: 1}", 7, "a tuple as a key of a display"},
		{"set_([u3])", 7, "or an element"},
		{"dt[(1, 2)]", 5, "or a subscript"},
		{"unpack(l3, 2, 1)", 3, "a starred target: the items of the whole right side"},
	})
}
