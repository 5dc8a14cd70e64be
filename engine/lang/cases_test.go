package lang

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/lang/check"
	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// runNamed evaluates text with every importable name bound, so that a case is as
// short as the rule it is about. It gives the globals back as reprs.
func runNamed(t *testing.T, text string, o Options) (*evaluation, map[string]string, error) {
	t.Helper()
	o.Schemas = testSchemas(t)
	module, err := parse(Source{Filename: "case.py", Text: text}, check.Options{Filename: "case.py"})
	if err != nil {
		return nil, nil, err
	}
	meter := py.NewMeter(context.Background(), py.Limits{Fuel: o.Fuel})
	defer meter.Close()
	ev := newEvaluation(o, meter, "case.py", module.Lines)
	for _, m := range ev.modules {
		maps.Copy(ev.builtins, m.table())
	}
	reprs := map[string]string{}
	ev.builtins["see"] = py.NewNative("see", func(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		shown, err := py.Repr(th, args[1])
		reprs[string(args[0].(starlark.String))] = shown
		return starlark.None, err
	})
	if err := ev.evaluate(module); err != nil {
		return ev, nil, err
	}
	return ev, reprs, nil
}

// compileNamed is runNamed to the end of the pipeline.
func compileNamed(t *testing.T, text string, o Options) (*Result, error) {
	t.Helper()
	ev, _, err := runNamed(t, text, o)
	if err != nil {
		return nil, err
	}
	if err := ev.registry.inlineOutputs(); err != nil {
		return nil, err
	}
	return ev.build()
}

// numbered repeats a piece of text, formatted with 0, 1, 2 and so on.
func numbered(piece string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, piece, i)
	}
	return b.String()
}

// Values of r after a config ran (lang.md §17).
func TestValues(t *testing.T) {
	for _, c := range []struct{ why, text, want string }{
		{"44", "r = [1 < 2 > 5, 3 > 2 > 1]", "[False, True]"},
		{"45 one evaluation, lazy", "c=[]\ndef t(v):\n    c.append(v)\n    return v\nr = (t(1)<t(2)<t(0)<t(9), c)", "(False, [1, 2, 0])"},
		{"45 in a comprehension", "r = [i for i in range(9) if 2 < i * 2 < 8]", "[2, 3]"},
		{"45 names in the middle", "x = 5\nr = 1 < x < 9, 9 < x < 1, 1 < x > 4 < 6", "(True, False, True)"},
		{"46", "r = -7//2, -7%3, 7%-3, -7.5//2, 2**-1, -2**2, 2**3**2", "(-4, 2, -2, -4.0, 0.5, -4, 512)"},
		{"47", "r = True + 1, True == 1, 0 == False, 1 == '1', ~True", "(2, True, True, False, -2)"},
		{"48", "r = {1: 'a', 1.0: 'b', True: 'c'}", "{1: 'c'}"},
		{"49", "r = [x for x in {10, 9, 2}]", "[10, 2, 9]"},
		{"50", "r = str({3, 1, 2})", "'{1, 2, 3}'"},
		{"51", `r = list({"b": 1, "a": 2})`, "['b', 'a']"},
		{"52", "a, b = {2, 1}\nr = a, b", "(1, 2)"},
		{"53", "r = \"-\".join({'b', 'a'})", "'a-b'"},
		{"58 live iteration", "x=[1]\nfor i in x:\n    if i<5:\n        x.append(i+1)\nr=x", "[1, 2, 3, 4, 5]"},
		{"61", "for i in range(3):\n    pass\nelse:\n    r = i", "2"},
		{"62", "r='no'\nfor i in [1]:\n    break\nelse:\n    r='else'", "'no'"},
		{"62 nested, continue", "r=[]\nfor i in range(4):\n    for j in range(3):\n        if j == 1:\n            continue\n        if i == 2:\n            break\n        r.append((i, j))\n    else:\n        r.append(i)", "[(0, 0), (0, 2), 0, (1, 0), (1, 2), 1, (3, 0), (3, 2), 3]"},
		{"63", "(a,(b,c)),d = (1,(2,3)),4\nr=a,b,c,d", "(1, 2, 3, 4)"},
		{"65", "d={}\nfor d['k'] in [1,2]:\n    pass\nr=d", "{'k': 2}"},
		{"66", "x=[1,2,3,4]\nx[1:3]=[9]\nr=x", "[1, 9, 4]"},
		{"67 LX-2", "a=[1]\nb=a\na += [2]\nr=b", "[1]"},
		{"68 LX-3", "x=1\ndef f():\n    x += 1\n    return x\nr=(f(), x)", "(2, 1)"},
		{"LX-3 assigned in a branch", "x=1\ndef f(c):\n    if c:\n        x = 2\n    return x\nr=(f(True), f(False))", "(2, 1)"},
		{"LX-3 an outer function's local", "def f():\n    x = 1\n    def g(c):\n        if c:\n            x = 2\n        return x\n    return (g(True), g(False), x)\nr=f()", "(2, 1, 1)"},
		{"LX-3 read by an inner function", "x=0\ndef f():\n    def g():\n        return x\n    a = g()\n    x = 5\n    return (a, g())\nr=f()", "(0, 5)"},
		{"LX-3 a builtin", "def f(c):\n    if c:\n        len = 7\n    return len\nr=(f(True), f(False)([1, 2]))", "(7, 2)"},
		{"LX-3 both branches, loop", "x=1\ndef f(c):\n    if c:\n        x = 2\n    else:\n        x = 3\n    for i in []:\n        y = 1\n    return x\nr=(f(True), f(False))", "(2, 3)"},
		{"LX-3 a nested def in a branch", "def h():\n    return 'outer'\ndef f(c):\n    if c:\n        def h():\n            return 'inner'\n    return h()\nr=(f(True), f(False))", "('inner', 'outer')"},
		{"69 LX-4", "r=[f() for f in [lambda: i for i in range(3)]]", "[0, 1, 2]"},
		{"69 several clauses, conditions, dicts", "fs={k: (lambda: (i, j, k)) for i in range(2) for j, k in [(i, i * 10), (9, i + 5)] if (lambda: k != 6)()}\nr=[f() for f in fs.values()]", "[(0, 0, 0), (0, 9, 5), (1, 1, 10)]"},
		{"a comprehension's names do not meet", "y=[1]\nr=[y for x in [1, 2] for y in [y[0] + x]] if False else [(x, y) for x in 'ab' for y in x + 'z']", "[('a', 'a'), ('a', 'z'), ('b', 'b'), ('b', 'z')]"},
		{"first iterable is outer", "x=[3, 4]\nr=[x for x in x]", "[3, 4]"},
		{"70", "fs=[]\nfor i in range(3):\n    fs.append(lambda: i)\nr=[f() for f in fs]", "[2, 2, 2]"},
		{"71", "def f(x, y=[]):\n    y.append(x)\n    return y\nf(1)\nr=f(2)", "[1, 2]"},
		{"72", "def f():\n    return later\nlater = 3\nr = f()", "3"},
		{"73", "if False:\n    nope()\nr = 1", "1"},
		{"74", "str = str(5)\nr = str", "'5'"},
		{"74 rebound on one way only", "def f():\n    return len('ab')\nr = [f()]\nif len('a') == 1:\n    len = lambda x: 9\nr.append(f())", "[2, 9]"},
		{"names of the host language", "load = 1\nprint = load\nr = print", "1"},
		{"a name first read in an earlier line", "def f():\n    return g()\nfor i in range(2):\n    if i:\n        r = later\n    later = 'x'\ndef g():\n    return 1", "'x'"},
		{"80", "m = map(str,[1,2])\nr = list(m), list(m)", "(['1', '2'], [])"},
		{"81", "r = f\"{'ab'!r:>6}|{1.0}|{1e20}|{True}\"", `"  'ab'|1.0|1e+20|True"`},
		{"nested specs, self-documenting", "x=3\nw=6\nr = f'{x:>{w}}|{x=}|{x!r:*^{w}}'", "'     3|x=3|**3***'"},
		{"131", "with Stack('s', region='r') as s:\n    v = 7\nr = v, s.name", "(7, 's')"},
		{"135", "a, *b = [1, 2, 3]\nr = a, b", "(1, [2, 3])"},
		{"135", "*a, b = 'xyz'\nr = a, b", "(['x', 'y'], 'z')"},
		{"135", "a, *b, c = (1, 2)\nr = a, b, c", "(1, [], 2)"},
		{"135", "a, (b, *c), d = 1, [2, 3, 4], 5\nr = a, b, c, d", "(1, 2, [3, 4], 5)"},
		{"135 in a comprehension", "r = [(a, b, d) for a, (b, *c), d in [(1, 'xyz', 2)] for *e, f in [c] if f == 'z']", "[(1, 'x', 2)]"},
		{"135 subscripts", "d = {}\nd['a'], (d['b'], *d['c']) = 1, 'xyz'\nr = d, [d['k'] for d['k'] in [4]]", "({'a': 1, 'b': 'x', 'c': ['y', 'z'], 'k': 4}, [4])"},
		{"142", "c=[]\ndef t(v):\n    c.append(v)\n    return v\nd={0:1}\nd[t(0)] += 1\nr=(d,c)", "({0: 2}, [0])"},
		{"subscript assignment order", "c=[]\ndef t(v, k):\n    c.append(k)\n    return v\nd={}\nt(d, 'd')[t('x', 'key')] = t(1, 'value')\nr=c", "['value', 'd', 'key']"},
		{"148", `r = str([{10, 9}]), f"{frozenset({3, 1})}", "%s" % {2, 1}, str(set())`, "('[{10, 9}]', 'frozenset({1, 3})', '{1, 2}', 'set()')"},
		{"149", "s = {3, 1, 2}\nr = s.pop(), s.pop()", "(1, 2)"},
		{"151", "r = list(map(list, [{3, 1}])), list(map(str, [{3, 1}]))", "([[1, 3]], ['{1, 3}'])"},
		{"153", `r = f"{atlantide}"`, "'<atlantide config API>'"},
		{"155", "r = (2**65535).bit_length()", "65536"},
		{"163", "class A(EnvSchema):\n    x: str | None = 'a'\nr = Config(A,envs={'d':{'x':None}}).env('d').x", "None"},
		{"return leaves the managers", "def f():\n    with Stack('a', region='r'), region('q'):\n        for i in [1, 2]:\n            with Stack('b', region='r'):\n                if i == 2:\n                    return current_stack(), current_stack_region()\nr = f(), current_stack(), current_stack_region()", "(('b', 'r'), 'default', None)"},
		{"break and continue leave the inner managers", "r=[]\nwith Stack('a', region='r'):\n    for i in range(4):\n        with Stack('b', region='r'):\n            if i == 1:\n                continue\n            if i == 3:\n                break\n        r.append(current_stack())\n    r.append(current_stack())\nr.append(current_stack())", "['a', 'a', 'a', 'default']"},
		{"133 long calls, lists and f-strings", "def f(" + numbered("a%d, ", 300) + "): return a299\nr = f(" + numbered("%d, ", 300) + "), f(" + numbered("a%d=%[1]d, ", 300) + "), len([" + numbered("%d, ", 300) + "]), len(f'" + numbered("{%d}", 400) + "')", "(299, 299, 300, 1090)"},
		{"order of evaluation in a starred call", "c=[]\ndef t(v):\n    c.append(v)\n    return v\ndef f(a, b, d, k=0):\n    return (a, b, d, k)\nr=(f(t(1), *[t(2)], t(3), k=t(4)), c)", "((1, 2, 3, 4), [1, 2, 3, 4])"},
		{"annotations bind nothing without a value", "x: int = 4\ny: unknown.name\ndef f():\n    x: int\n    return x\nr = x, f()", "(4, 4)"},
		{"and, or give the deciding operand", "r = [0 or 'a', 1 and [], '' or 0 or None, 1 and 2 and 3, not 0]", "['a', [], None, 3, True]"},
		{"an ellipsis is a value", "def f(): ...\nr = f(), ...", "(None, Ellipsis)"},
		{"115", "e = Config({'n': var(int, default=None)}, envs={'d': {}}).env('d')\nr = e.get('n', 4), 'name' in e, e['name'], 'n' in e, e.get('zz', 5)", "(None, False, 'd', True, 5)"},
		{"109", "e = Config(envs={'d': {'region': 'x'}}).env('d')\nwith Stack('a', config=e):\n    with Stack('b', region='r'):\n        r = current_config()", "None"},
		{"120", "c = Config(envs={'prod': {}, 'dev': {}})\nr = c, c.names(), [e.name for e in c.envs()]", "(Config(envs=['dev', 'prod']), ['dev', 'prod'], ['dev', 'prod'])"},
		{"text forms", "r = [var(int, default=5), var(str), Ref('a:b:c', 'd'), SecretRef('tok'), concat('a'), StackReference('s').output('k'), StackReference('s')['k']]", "[var(int, default=5), var(str), Ref(node_id='a:b:c', attr='d'), SecretRef(name='tok', provider=None), Transform(op='concat', args=('a',)), StackOutputRef(stack='s', name='k'), StackOutputRef(stack='s', name='k')]"},
		{"text of an environment", "class AppEnv(EnvSchema):\n    n: int = 1\nr = str(Config(AppEnv, envs={'dev': {}}).env('dev'))", `"AppEnv('dev', {'n': 1, 'name_prefix': None, 'region': None, 'tags': None})"`},
		{"environments do not share defaults", "c = Config({'l': var(list, default=[1])}, envs={'a': {}, 'b': {}})\nc.env('a').l.append(2)\nr = c.env('a').l, c.env('b').l", "([1, 2], [1])"},
		{"handles compare and hash by their fields", "a = Ref('x', 'y')\nr = a == Ref('x', 'y'), a != Ref('x', 'z'), len({a, Ref('x', 'y')}), concat(a) == concat(a), {concat(a): 1}[concat(a)], bool(a)", "(True, True, 1, True, 1, True)"},
		{"37 reading a resource", "b = B('b', bucket='x', tags={'a': '1'})\nb.tags['z'] = '2'\nr = b.tags, b.arn, b.count, b.node_id, b.logical_name, b.stack, b.type_name(), b.provider_name(), b.depends_on", "({'a': '1'}, Ref(node_id='default:test.B:b', attr='arn'), 0, 'default:test.B:b', 'b', 'default', 'test.B', 'test', ())"},
		{"106 stack tags first", "with Stack('s', region='r', tags={'b':'1','a':'2'}):\n    r = B('b', bucket='x', tags={'z':'1','b':'9'}).tags", "{'b': '9', 'a': '2', 'z': '1'}"},
		{"LX-17", "b=B('b',bucket='x')\nr = b.arn[0], b.arn['k'][1]", "(Transform(op='index', args=(Ref(node_id='default:test.B:b', attr='arn'), 0)), Transform(op='index', args=(Transform(op='index', args=(Ref(node_id='default:test.B:b', attr='arn'), 'k')), 1)))"},
		{"a structured value reads back by its fields", "g = Rule(port='80')\nr = g.port, g.protocol, g.cidr, g == Rule(port=80)", "(80, 'tcp', None, True)"},
		{"lifecycle", "l = Lifecycle(True, aliases=['a'])\nr = l, l.aliases, W('w', lifecycle=l).lifecycle.prevent_destroy", "(Lifecycle(prevent_destroy=True, create_before_destroy=False, ignore_changes=(), aliases=('a',)), ('a',), True)"},
		{"a lifecycle is equal by its fields", "a = Lifecycle(True, ignore_changes=['x'])\nr = a == Lifecycle(prevent_destroy=True, ignore_changes=('x',)), a == Lifecycle(True), Lifecycle(aliases=['x']) == Lifecycle(ignore_changes=['x']), {a: 1}[Lifecycle(True, ignore_changes={'x'})], a == 1", "(True, False, False, 1, False)"},
		{"a type names itself, on the class as well", "r = W.type_name(), W.provider_name(), W('w').type_name()", "('test.W', 'test', 'test.W')"},
		{"EnvSchema itself declares nothing", "r = str(Config(EnvSchema, envs={'d': {'region': 'r'}}).env('d'))", `"EnvSchema('d', {'name_prefix': None, 'region': 'r', 'tags': None})"`},
		{"policy levels are texts", "r = PolicyLevel.ADVISORY, REQUIRE_TAGS", "('advisory', 'require-tags')"},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, got, err := runNamed(t, c.text+"\nsee('r', r)\n", Options{})
			if err != nil {
				t.Fatalf("%s\n%v", c.text, err)
			}
			if got["r"] != c.want {
				t.Errorf("%s\n got %s\nwant %s", c.text, got["r"], c.want)
			}
		})
	}
}

// Configs that must fail, with the class, the place (0 = not compared) and words of
// the message.
func TestFailures(t *testing.T) {
	long := strings.Repeat("1, ", 300)
	for _, c := range []struct {
		why, text string
		kind      model.Kind
		line, col int
		words     string
	}{
		{"7", "from atlantide.core import Nope", "LanguageError", 1, 28, "'Nope' 'atlantide.core'"},
		{"9", "from atlantide import core", "LanguageError", 1, 1, "module"},
		{"10", "from atlantide.providers.local import LocalProvider", "LanguageError", 1, 1, "'LocalProvider'"},
		{"12", "x = 1\nfrom atlantide.components.acme import X", "RegistryError", 2, 1, "'acme'"},
		{"no such provider", "from atlantide.providers.aws import S3Bucket", "RegistryError", 1, 1, "'atlantide.providers.aws'"},
		{"an unsupported type imports, but makes nothing", "from atlantide.providers.local import SourceFile\nSourceFile('s', path='x')", "LanguageError", 2, 1, "local.SourceFile later"},
		{"34", "from atlantide.core import EnvSchema as E\nclass A(E):\n    x: str", "LanguageError", 2, 1, ""},
		{"41", "class A(EnvSchema):\n    x: int = 1\n    y: int = x", "LanguageError", 3, 14, "'x'"},
		{"42", "EnvSchema = W\nclass A(EnvSchema):\n    x: int", "LanguageError", 2, 1, "'A' EnvSchema"},
		{"56", "x=[]\nx.append(x)\nr=str(x)", "FuelExhaustedError", 0, 0, "--fuel"},
		{"57", "x=[]\nx.append(x)\nW('w', data=x)", "FuelExhaustedError", 0, 0, ""},
		{"57 through a combinator", "x=[]\nx.append(concat(x))\nW('w', data=x)", "IRError", 3, 1, "nested"},
		{"57 as a default of a class", "x=[]\nx.append(x)\nclass A(EnvSchema):\n    y: list = x", "FuelExhaustedError", 0, 0, ""},
		{"combinators that share operands", "x='a'\nfor i in range(60):\n    x = concat(x, x)\nW('w', label=x)", "FuelExhaustedError", 4, 1, ""},
		{"combinators nested without end", "x='a'\nfor i in range(100000):\n    x = concat(x)\nW('w', label=x)", "IRError", 4, 1, "nested"},
		{"outputs that double", "x = output('o0', [1] * 30)\nfor i in range(1, 40):\n    x = output('o' + str(i), [x, x])", "FuelExhaustedError", 0, 0, "outputs"},
		{"59", "d={'a':1}\nfor k in d:\n    d['b']=2", "LanguageError", 2, 1, "RuntimeError"},
		{"60", "for i in []:\n    pass\nr = i", "LanguageError", 3, 5, "'i'"},
		{"undefined through a local of another name", "def f(c):\n    if c:\n        x = 1\n    return x\nf(False)", "LanguageError", 4, 12, "'x'"},
		{"64", "a, b = 1, 2, 3", "LanguageError", 1, 1, "too many values to unpack (expected 2)"},
		{"75", "def f(a): return a\nf()", "LanguageError", 2, 1, "f() 'a'"},
		{"75", "def f(a): return a\nf(1,2)", "LanguageError", 2, 1, "f() 1 2"},
		{"75", "def f(a): return a\nf(1,z=2)", "LanguageError", 2, 1, "f() 'z'"},
		{"a function whose name may be an outer one", "def f(c):\n    if c:\n        def g(a): return a\n    return g()\nf(True)", "LanguageError", 4, 12, "g() 'a'"},
		{"76 LX-5", "def f():\n    return f()\nf()", "FuelExhaustedError", 0, 0, ""},
		{"79", "x: int\nr = x", "LanguageError", 2, 5, "'x'"},
		{"82", "r = '%s' % (1, 2)", "LanguageError", 1, 0, "TypeError"},
		{"83", "r = print", "LanguageError", 1, 5, "'print'"},
		{"84", "r = 1/0", "LanguageError", 1, 0, "evaluation error: ZeroDivisionError"},
		{"84", "r = {}['x']", "LanguageError", 1, 5, "KeyError"},
		{"84", "r = [][0]", "LanguageError", 1, 5, "IndexError"},
		{"84", "r = int('x')", "LanguageError", 1, 5, "ValueError"},
		{"84", "r = 'a'+1", "LanguageError", 1, 0, "TypeError"},
		{"84", "r = 1<'a'", "LanguageError", 1, 0, "TypeError"},
		{"86", "B('b', bucket=5)", "LanguageError", 1, 1, "invalid resource inputs test.B bucket 5 int"},
		{"86", "B('b', bucket='x', count=5.5)", "LanguageError", 1, 1, "invalid resource inputs count 5.5"},
		{"86", "B('b', bucket='x', names='abc')", "LanguageError", 1, 1, "invalid resource inputs names"},
		{"86", "B('b', bucket='x', versioning=2)", "LanguageError", 1, 1, "invalid resource inputs versioning"},
		{"86", "B('b', bucket='x', nope=1)", "LanguageError", 1, 1, "invalid resource inputs nope"},
		{"missing", "B('b')", "LanguageError", 1, 1, "invalid resource inputs bucket required"},
		{"computed", "B('b', bucket='x', arn='a')", "LanguageError", 1, 1, "arn computed"},
		{"88", "B('b b', bucket='x')", "RegistryError", 1, 1, "resource 'b b'"},
		{"89", "B(name='b', bucket='x')", "LanguageError", 1, 1, "name"},
		{"90", "B('b', bucket='x')\nB('b', bucket='x')", "RegistryError", 2, 1, "default:test.B:b"},
		{"92", "b=B('b',bucket='x')\nW('w', label='arn:' + b.arn)", "LanguageError", 2, 0, "TypeError"},
		{"92", "b=B('b',bucket='x')\nb.arn[0:1]", "LanguageError", 2, 1, "TypeError"},
		{"92", "b=B('b',bucket='x')\nb.nope", "LanguageError", 2, 1, "AttributeError"},
		{"94", "interpolate('{a}', 1)", "LanguageError", 1, 1, "{a}"},
		{"94", "interpolate('{0} {}', 1, 2)", "LanguageError", 1, 1, "{} {0}"},
		{"94", "interpolate('{0[0]}', 1)", "LanguageError", 1, 1, "0[0]"},
		{"too few arguments", "interpolate('{}{}', 1)", "LanguageError", 1, 1, "2 1"},
		{"95", "interpolate('}', 1)", "LanguageError", 1, 1, "ValueError"},
		{"96", "join(',', 'abc')", "IRError", 1, 1, "list"},
		{"97", "b=B('b',bucket='x')\nto_json({'a': b.arn})", "LanguageError", 2, 1, "TypeError"},
		{"97", "b=B('b',bucket='x')\nslugify(b.arn)", "LanguageError", 2, 1, "TypeError"},
		{"98", "W('w', data={1:'a','1':'b'})", "IRError", 1, 1, "<root>.data '1'"},
		{"99", "W('w', data=range(3))", "IRError", 1, 1, "<root>.data range"},
		{"99", "W('w', data=[{'k': lambda: 1}])", "IRError", 1, 1, "<root>.data[0].k function"},
		{"99", "W('w', data=float('nan'))", "IRError", 1, 1, "<root>.data nan"},
		{"an environment is no value", "e = Config(envs={'d': {}}).env('d')\noutput('x', e)", "IRError", 2, 1, "EnvView"},
		{"bytes", "W('w', data=b'x')", "IRError", 1, 1, "bytes"},
		{"53 bits", "W('w', data=[9007199254740992])", "IRError", 1, 1, "9007199254740992 <root>.data[0]"},
		{"102", "Stack('prod')", "RegistryError", 1, 1, "'prod' region"},
		{"102", "Stack('prod', region='')", "RegistryError", 1, 1, "region"},
		{"103", "Stack('9x', region='r')", "RegistryError", 1, 1, "stack '9x'"},
		{"104", "with region(''):\n    pass", "RegistryError", 1, 6, "region"},
		{"no manager", "with 5:\n    pass", "LanguageError", 1, 6, "AttributeError"},
		{"107", "b=B('b',bucket='x')\nwith Stack('s', region='r', tags={'a':'1'}):\n    B('c', bucket='y', tags=b.arn)", "IRError", 3, 5, "tags"},
		{"110", "Config(envs={'d': {'region': 5}})", "LanguageError", 1, 1, "'d' 'region' str int"},
		{"111", "e = Config({'region': var(int)}, envs={'d': {'region': 5}}).env('d')\nStack('s', config=e)", "LanguageError", 2, 1, "'d' 'region'"},
		{"112", "Config({'a': var(float)}, envs={'d':{'a':1},'e':{'a':True}})", "LanguageError", 1, 1, "'e' 'a' bool"},
		{"113", "Config(envs={'1d': {}})", "RegistryError", 1, 1, "environment '1d'"},
		{"114", "Config({'name': var(str)}, envs={'d': {}})", "LanguageError", 1, 1, "'name' reserved"},
		{"114", "Config({'a b': var(str)}, envs={'d': {}})", "LanguageError", 1, 1, "'a b'"},
		{"114", "Config({'a': int}, envs={'d': {}})", "LanguageError", 1, 1, "'a' type"},
		{"116", "e = Config({'domain': var(str)}, envs={'d': {'domain': 'x'}}).env('d')\nx = e.doman", "LanguageError", 2, 5, "'d' 'doman' domain, name_prefix, region, tags"},
		{"117", "Config(envs={'d': {}})\nConfig(envs={'d': {}})", "LanguageError", 2, 1, "Config()"},
		{"121", "x = 1\nConfig(\n    {'a': var(str)},\n    envs={'d': {}})", "LanguageError", 2, 1, "'d' 'a'"},
		{"no envs", "Config()", "LanguageError", 1, 1, "envs"},
		{"124", "output('x',1)\noutput('x',2)", "RegistryError", 2, 1, "default:x"},
		{"125", "atlantide.input('a')", "LanguageError", 1, 1, "'a' -var [inputs] default"},
		{"127", "Lifecycle(aliases='old')", "RegistryError", 1, 1, "aliases 'old'"},
		{"127", "W('w', depends_on='q')", "IRError", 1, 1, "depends_on"},
		{"127", "W('w', depends_on=[5])", "IRError", 1, 1, "depends_on int"},
		{"depends_on of a dict", "W('w', depends_on={'a': 1})", "IRError", 1, 1, "depends_on dict"},
		{"depends_on of None", "W('w', depends_on=None)", "IRError", 1, 1, "depends_on NoneType"},
		{"a list field takes no dict", "B('b', bucket='x', names={'a': 'b'})", "LanguageError", 1, 1, "names list dict"},
		{"nor what is walked to values of another type", "B('b', bucket='x', names=range(2))", "LanguageError", 1, 1, "names.0 str 0 int"},
		{"a reference that an iterator gives is found out too late", "w = W('w')\nB('b', bucket='x', names=map(lambda v: v.out, [w]))", "LanguageError", 2, 1, "names.0 str"},
		{"what walking a list field raises", "B('b', bucket='x', names=map(lambda v: v / 0, [1]))", "LanguageError", 1, 0, "ZeroDivisionError"},
		{"127", "w = W('w')\nW('v', depends_on=w)", "IRError", 2, 1, "depends_on W"},
		{"a lifecycle is no dict", "W('w', lifecycle={})", "LanguageError", 1, 1, "Lifecycle dict"},
		{"flags are bools", "Lifecycle(prevent_destroy=1)", "LanguageError", 1, 1, "prevent_destroy int"},
		{"129", "enforce('c', types=[])", "PolicyConfigError", 1, 1, "'c' types"},
		{"136", "a, *b, c = [1]", "LanguageError", 1, 1, "at least 2, got 1"},
		{"136", "a, b = range(10**8)", "LanguageError", 1, 1, "too many"},
		{"143", "x = W('a').json", "LanguageError", 1, 5, "'json'"},
		{"144", "def f(): return 1\nx = f.name", "LanguageError", 2, 5, ""},
		{"149", "set().pop()", "LanguageError", 1, 1, "KeyError"},
		{"150", "r = [i for i in {float('nan'), float('nan')}]", "LanguageError", 1, 0, "alike"},
		{"152", "def f(): return 1\nr = str(f)", "LanguageError", 2, 5, "function"},
		{"152", "r = f'{to_json}'", "LanguageError", 1, 0, "text"},
		{"a stack has no text", "r = [f'{Stack(\"s\", region=\"r\")}']", "LanguageError", 1, 0, "Stack"},
		{"154", "r = sum([[1], [2]], [])", "LanguageError", 1, 5, "sum()"},
		{"155", "r = 2**65536", "FuelExhaustedError", 1, 0, "65536"},
		{"156", "f'{1:>1000000000}'", "FuelExhaustedError", 0, 0, ""},
		{"156", "def f(): return 1\nf(*range(10**9))", "FuelExhaustedError", 0, 0, ""},
		{"157", "x = [1]\nfor i in range(60):\n    x = [x, x]\nto_json(x)", "FuelExhaustedError", 0, 0, ""},
		{"158", "b=B('b',bucket='x')\nB('c',bucket='y',tags={'k':b.arn,'n':7})", "LanguageError", 2, 1, "invalid resource inputs tags.n"},
		{"158", "b=B('b',bucket='x')\nB('c',bucket='y',names=[b.arn, 5])", "LanguageError", 2, 1, "names.1"},
		{"160", "with Stack('s',region='r',tags={'a':1}):\n    B('b',bucket='x')", "LanguageError", 2, 5, "tags.a"},
		{"162", "class A(EnvSchema):\n    x: int = 'a'", "LanguageError", 2, 14, "A.x 'a' str"},
		{"164", "Config({'class': var(str)},envs={'d':{'class':'a'}})", "LanguageError", 1, 1, "'class'"},
		{"166", "enforce(5)", "PolicyConfigError", 1, 1, "5"},
		{"166", "enforce('a',level='nope')", "PolicyConfigError", 1, 1, "'a' level 'nope'"},
		{"166", "enforce('a',types=[5])", "PolicyConfigError", 1, 1, "'a' types 5 int"},
		{"169", "W('w',label='\\ud800')", "IRError", 1, 1, "surrogate <root>.label"},
		{"170", "Stack('s\\n',region='r')", "RegistryError", 1, 1, ""},
		{"170", "W('a\\n')", "RegistryError", 1, 1, ""},
		{"a structured value's unknown key, beside a handle", "w = W('w')\nGate('g', rules=[{'port': w.out, 'prot': 'tcp'}])", "LanguageError", 2, 1, "rules.0.prot"},
		{"a closed set", "Rule(port=1, protocol='icmp')", "LanguageError", 1, 1, "protocol tcp, udp 'icmp'"},
		{"a secret is a handle", "Gate('g', token='abc')", "LanguageError", 1, 1, "token secret"},
		{"a literal is no handle", "w = W('w')\nGate('g', fixed=w.out)", "LanguageError", 2, 1, "fixed literal"},
		{"a call inside a call", "def f(x):\n    return int(x)\ndef g(x):\n    return f(x)\nr = [g(y) for y in ['1', 'z']]", "LanguageError", 2, 12, "ValueError"},
		{"a lambda run by sorted", "r = sorted([2, 1],\n  key=lambda v: v / 0)", "LanguageError", 2, 0, "ZeroDivisionError"},
		{"an f-string part", "r = f'ab{ 1/0 }'", "LanguageError", 1, 0, "ZeroDivisionError"},
		{"300 arguments", "def f(a): return a\nf(" + long + ")", "LanguageError", 2, 1, "f() 1 300"},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := compileNamed(t, c.text, Options{})
			var got *model.Error
			if !errors.As(err, &got) {
				t.Fatalf("%s\nerror %v, want %s", c.text, err, c.kind)
			}
			if got.Kind != c.kind {
				t.Errorf("%s\nkind %s, want %s: %v", c.text, got.Kind, c.kind, got)
			}
			if c.line != 0 && got.Line != c.line || c.col != 0 && got.Col != c.col {
				t.Errorf("%s\nat %d:%d, want %d:%d: %v", c.text, got.Line, got.Col, c.line, c.col, got)
			}
			for word := range strings.FieldsSeq(c.words) {
				if !strings.Contains(got.Error(), word) {
					t.Errorf("%s\nmessage %q lacks %q", c.text, got.Error(), word)
				}
			}
			if got.Line > 0 && got.Source != strings.Split(c.text, "\n")[got.Line-1] {
				t.Errorf("%s\nsource line %q", c.text, got.Source)
			}
			if got.Class != model.ClassUser {
				t.Errorf("%s\nclass %s", c.text, got.Class)
			}
		})
	}
}
