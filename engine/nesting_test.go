package engine_test

import (
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Values nested far deeper than any walk may go, the first ones a million deep, go
// through everything that walks a value, each in a process of its own: a stack that
// overflows would end it.
func TestValuesNestedWithoutEnd(t *testing.T) {
	const (
		million = "x = 0\nfor i in range(1000000):\n    x = [x]\n"
		deep    = "x = 0\nfor i in range(100000):\n    x = [x]\n"
		twin    = deep + "y = 0\nfor i in range(100000):\n    y = [y]\n"
		tuple   = "x = ()\nfor i in range(100000):\n    x = (x,)\n"
		dict    = "x = {}\nfor i in range(50000):\n    x = {'a': x}\n"
		join    = "x = concat('a')\nfor i in range(50000):\n    x = concat(x)\n"
		local   = "from atlantide.providers.local import File, Null\n"
		core    = "from atlantide.core import Config, Lifecycle, Stack, output, var\n"
	)
	for _, c := range []struct {
		what, text string
		kind       string
	}{
		{"a text of lists", million + "str(x)", "FuelExhaustedError"},
		{"an f-string", deep + "f'{x!r:>9}'", "FuelExhaustedError"},
		{"a format", deep + "'%s' % [x]", "FuelExhaustedError"},
		{"a text of tuples", tuple + "str(x)", "FuelExhaustedError"},
		{"a text of dicts", dict + "str(x)", "FuelExhaustedError"},
		{"equality", million + strings.ReplaceAll(million, "x", "y") + "x == y", "FuelExhaustedError"},
		{"order", twin + "x < y", "FuelExhaustedError"},
		{"a member", twin + "x in [y]", "FuelExhaustedError"},
		{"a count", twin + "[y].count(x)", "FuelExhaustedError"},
		{"a sort", twin + "sorted([x, y])", "FuelExhaustedError"},
		{"a sort by keys", twin + "sorted([1, 2], key=lambda i: x if i == 1 else y)", "FuelExhaustedError"},
		{"an extreme", twin + "max(x, y)", "FuelExhaustedError"},
		{"a hash", strings.ReplaceAll(strings.ReplaceAll(million, "[x]", "(x,)"), "0\n", "()\n") + "{x: 1}", "FuelExhaustedError"},
		{"a lookup", tuple + "x in {1: 2}", "FuelExhaustedError"},
		{"a set", tuple + "{x}", "FuelExhaustedError"},
		{"a frozenset", tuple + "frozenset([x])", "FuelExhaustedError"},
		{"JSON", million + "to_json(x)", "FuelExhaustedError"},
		{"JSON of dicts", dict + "to_json(x)", "FuelExhaustedError"},
		{"JSON read", "from_json('[' * 1000000)", "FuelExhaustedError"},
		{"JSON objects read", "from_json('{\"a\":' * 1000000)", "FuelExhaustedError"},
		{"a merge", dict + "merge(x, x)", "FuelExhaustedError"},
		{"a copy", million + "x.copy()", "FuelExhaustedError"},
		{"an argument", deep + "len([x]), list([x])", "FuelExhaustedError"},
		{"a field", local + million + "Null('n', triggers={'a': x})", "FuelExhaustedError"},
		{"a field of a text", local + deep + "File('n', path=x)", "FuelExhaustedError"},
		{"an output", core + million + "output('o', x)", "FuelExhaustedError"},
		{"an output of dicts", core + dict + "output('o', x)", "FuelExhaustedError"},
		{"an input's default", deep + "atlantide.input('a', default=x)", "FuelExhaustedError"},
		{"tags", core + dict + "Stack('s', region='r', tags=x)", "FuelExhaustedError"},
		{"an environment", core + deep + "Config({'a': var(list)}, envs={'e': {'a': x}})", "FuelExhaustedError"},
		{"a default of an environment", core + deep + "Config({'a': var(list, default=x)}, envs={'e': {}})", "FuelExhaustedError"},
		{"a policy", "from atlantide.policy import enforce\n" + deep + "enforce('p', a=x)", "FuelExhaustedError"},
		{"dependencies", local + deep + "Null('n', depends_on=x)", "FuelExhaustedError"},
		{"combinators in an output", core + join + "output('o', x)", "IRError"},
		{"combinators in a field", local + join + "File('f', path=x)", "IRError"},
		{"the text of combinators", join + "str(x)", "FuelExhaustedError"},
		{"equal combinators", join + "y = x\n" + strings.TrimPrefix(join, "x = concat('a')\n") + "x == y", "FuelExhaustedError"},
		{"combinators as keys", join + "{x: 1}", "LanguageError"},
		{"iterators", "x = []\nfor i in range(50000):\n    x = map(str, x)\nlist(x)", "FuelExhaustedError"},
		{"calls", "def f(n):\n    return f(n + 1)\nf(0)", "FuelExhaustedError"},
		{"calls through a key", "def f(n):\n    return sorted([1], key=f)\nf(0)", "FuelExhaustedError"},
		{"calls through an iterator", "def f(n):\n    return list(map(f, [n]))\nf(0)", "FuelExhaustedError"},
		{"calls through a comprehension", "def f(n):\n    return [f(i) for i in [n]]\nf(0)", "FuelExhaustedError"},
		{"calls through a text", "def f(n):\n    return f'{f(n)}'\nf(0)", "FuelExhaustedError"},
		{"types", "x = list[int]\nfor i in range(100000):\n    x = list[x]", "FuelExhaustedError"},
		{"a cycle in a text", "x = []\nx.append(x)\nstr(x)", "FuelExhaustedError"},
		{"a cycle through a dict", "x = {}\nx['a'] = [x]\nstr(x)", "FuelExhaustedError"},
		{"cycles compared", "x = []\nx.append(x)\ny = []\ny.append(y)\nx == y", "FuelExhaustedError"},
		{"cycles in order", "x = []\nx.append(x)\ny = []\ny.append(y)\nsorted([x, y])", "FuelExhaustedError"},
		{"cycles of dicts compared", "x = {}\nx['a'] = x\ny = {}\ny['a'] = y\nx == y", "FuelExhaustedError"},
		{"a cycle in JSON", "x = []\nx.append(x)\nto_json(x)", "FuelExhaustedError"},
		{"a cycle in an output", core + "x = {}\nx['a'] = x\noutput('o', x)", "FuelExhaustedError"},
		{"a cycle through a combinator", core + "x = []\nx.append(concat(x))\noutput('o', x)", "IRError"},
		{"combinators compared through a cycle", "x = []\nx.append(concat(x))\ny = []\ny.append(concat(y))\nx == y", "FuelExhaustedError"},
	} {
		t.Run(c.what, func(t *testing.T) {
			got := child{}.run(t, job{Text: c.text, Fuel: 100_000_000, Memory: 512 * mebibyte})[0]
			if string(got.Kind) != c.kind || got.Class != model.ClassUser {
				t.Errorf("%s of class %s: %s", got.Kind, got.Class, got.Error)
			}
		})
	}
}

// A value that doubles with every step is refused by what it costs to walk, wherever it
// goes.
func TestValuesThatDouble(t *testing.T) {
	const (
		list  = "x = ['a']\nfor i in range(100):\n    x = [x, x]\n"
		tuple = "x = ('a',)\nfor i in range(100):\n    x = (x, x)\n"
		dict  = "x = {}\nfor i in range(100):\n    x = {'a': x, 'b': x}\n"
		set   = "x = frozenset([1])\nfor i in range(100):\n    x = frozenset([x, (x,)])\n"
		join  = "x = concat('a')\nfor i in range(100):\n    x = concat(x, x)\n"
		core  = "from atlantide.core import output, StackReference\n"
		local = "from atlantide.providers.local import File, Null\n"
	)
	var jobs []job
	texts := []string{
		list + "str(x)", list + "f'{x}'", list + "'%s' % (x,)", list + "x == [x[0], x[1]]", list + "x < [x[0], x[1]]", list + "[x[0]] in [x]",
		list + "sorted([x, [x[0], x[1]]])", list + "to_json(x)", list + "max(x, x)", list + "x.copy()", list + "len(list(x))",
		tuple + "{x: 1}", tuple + "x in {}", tuple + "{}.get(x)", tuple + "set([x])", tuple + "hash_ = {(x, 1)}", tuple + "x.count(1)",
		dict + "str(x)", dict + "x == {'a': x['a'], 'b': x['b']}", dict + "merge(x, x)", dict + "to_json(x)", dict + "x.items() == x.items()", dict + "str(x.values())",
		set + "str(x)",
		join + "str(x)", join + strings.ReplaceAll(join, "x", "y") + "x == y",
		core + list + "output('o', x)", core + dict + "output('o', x)", core + join + "output('o', x)",
		local + dict + "Null('n', triggers=x)", local + list + "Null('n', triggers={'a': x})", local + join + "File('f', path=x)",
		core + "x = output('o', ['a'])\nfor i in range(100):\n    x = output('o' + str(i), [x, x])\n",
	}
	for _, text := range texts {
		jobs = append(jobs, job{Text: text})
	}
	for i, got := range (child{}).run(t, jobs...) {
		if got.Kind != model.FuelExhaustedError {
			t.Errorf("%s\ngives %s: %.300s", texts[i], got.Kind, got.Error)
		}
	}
}
