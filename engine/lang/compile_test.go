package lang

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func compile(t testing.TB, text string, o Options) (*Result, error) {
	t.Helper()
	o.Schemas = testSchemas(t)
	return Compile(context.Background(), Source{Filename: "infra.py", Text: text}, o)
}

// The published check values (GR-4a).
func TestPublishedHashes(t *testing.T) {
	const text = `from atlantide.core import Stack, output
from atlantide.providers.local import File

with Stack("demo", region="eu-north-1"):
    greeting = File("greeting", path="%s", content="%s")
    File("receipt", path="out/receipt.txt", content=greeting.checksum)
output("greeting_checksum", greeting.checksum)
`
	for _, c := range []struct{ variant, path, content, greeting, receipt, ir string }{
		{"A", "out/greeting.txt", "hello atlantide",
			"a0de4c9548771eba8f0e405ce45cd5abeeee898994db49a334c208b831e9f9bd",
			"d1c54122b306e5ee15c79032364658d9151835a7e7ace777b65ba7b36715862a", ""},
		{"B", "out/greeting.txt", "hello world",
			"6c1673dc289138d0a7ddb87bebc280c85492b5bca8cd936863c5010d775a40c2",
			"eae4a250263c2385c2c58f1301f12d2f27bf8fc65bd0293cd0e6f55e0908bbf8",
			"f9ecb89e5ade7a9fca7a0371997f06567fc3cf28e80ab5c03d39961f050c128a"},
		{"C", "out/hello.txt", "hello atlantide",
			"01d15e92cad556ebb9279d3c30c84dc5f4042157ea3bd4830ecebb251be4975b",
			"ab516e29d39b2760d74f40ec1972efd8602dab6d1b23ffdfa0888054cba5f84b", ""},
	} {
		t.Run(c.variant, func(t *testing.T) {
			res, err := compile(t, fmt.Sprintf(text, c.path, c.content), Options{})
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"demo:local.File:greeting": c.greeting, "demo:local.File:receipt": c.receipt}
			if !reflect.DeepEqual(res.Hashes, want) {
				t.Errorf("hashes %v, want %v", res.Hashes, want)
			}
			if c.ir != "" && res.Hash != c.ir {
				t.Errorf("IR hash %s, want %s", res.Hash, c.ir)
			}
			if len(res.Outputs) != 1 || res.Outputs[0].Key != "default:greeting_checksum" {
				t.Errorf("outputs %v", res.Outputs)
			}
		})
	}
}

// What a config declared, as JSON of the named nodes' properties and of the outputs.
func TestDeclarations(t *testing.T) {
	for _, c := range []struct{ why, text, want string }{
		{"54, 55 sets in arguments are lists in repr order", `W("w", data=[{3, 10, 2}, {"é", "z"}, {"k": frozenset({2, 1})}])`,
			`{"default:test.W:w":{"data":[[10,2,3],["z","é"],{"k":[1,2]}],"label":"","size":0}}`},
		{"a set in an output is in the order of its elements' JSON", `output("o", {"a": {"é", "z"}, "b": {10, 9}, "c": {"😀", "z"}})`,
			`{"default:o":{"a":["é","z"],"b":[10,9],"c":["😀","z"]}}`},
		{"85", `W("w", size="5 ", data=True)`, `{"default:test.W:w":{"data":true,"label":"","size":5}}`},
		{"85", "W('a', size=True)\nW('b', size=1e3)\nW('c', size='60.0')\nW('d', size='+1_0')",
			`{"default:test.W:a":{"data":null,"label":"","size":1},"default:test.W:b":{"data":null,"label":"","size":1000},"default:test.W:c":{"data":null,"label":"","size":60},"default:test.W:d":{"data":null,"label":"","size":10}}`},
		{"87", `B("b", bucket="x", count="1_000", versioning="T", ratio=" 1.5 ", names={"z","a"})`,
			`{"default:test.B:b":{"bucket":"x","count":1000,"names":["a","z"],"ratio":1.5,"region":"eu-west-1","tags":{},"versioning":true}}`},
		{"93", "b=B('b',bucket='x')\nW('w', label=concat(b.arn,'/*'), size=concat('1'))",
			`{"default:test.B:b":{"bucket":"x","count":0,"names":[],"ratio":0,"region":"eu-west-1","tags":{},"versioning":false},"default:test.W:w":{"data":null,"label":{"$transform":{"args":[{"$ref":"default:test.B:b#arn"},"/*"],"op":"concat"}},"size":{"$transform":{"args":["1"],"op":"concat"}}}}`},
		{"100 names and regions of nested stacks", "with Stack('p', region='r', name_prefix='np'):\n    with region('r2'):\n        b = B('b')\n    c = B('c')\n    with Stack('q', region='rr'):\n        d = B('d')\noutput('o', [[x.bucket, x.region] for x in [b, c, d]])",
			`{"default:o":[["np-b-p","r2"],["np-c-p","r"],["np-d-q","rr"]],"p:test.B:b":{"bucket":"np-b-p","count":0,"names":[],"ratio":0,"region":"r2","tags":{},"versioning":false},"p:test.B:c":{"bucket":"np-c-p","count":0,"names":[],"ratio":0,"region":"r","tags":{},"versioning":false},"q:test.B:d":{"bucket":"np-d-q","count":0,"names":[],"ratio":0,"region":"rr","tags":{},"versioning":false}}`},
		{"101 an empty prefix counts", "with Stack('q', region='rr', name_prefix=''):\n    output('o', B('d').bucket)",
			`{"q:o":"-d-q","q:test.B:d":{"bucket":"-d-q","count":0,"names":[],"ratio":0,"region":"rr","tags":{},"versioning":false}}`},
		{"105 reentered, restored", "s=Stack('s',region='r')\nwith s, s:\n    W('a')\nW('b')",
			`{"default:test.W:b":{"data":null,"label":"","size":0},"s:test.W:a":{"data":null,"label":"","size":0}}`},
		{"108 an environment's tags under the stack's", "e = Config(envs={'d': {'region': 'x', 'tags': {'a': '1', 'b': '1'}}}).env('d')\nwith Stack('s', config=e, tags={'b':'2'}, name_prefix='x'):\n    output('o', [B('b').tags, current_stack_tags(), current_stack_name_prefix(), current_config().name])",
			`{"s:o":[{"a":"1","b":"2"},{"a":"1","b":"2"},"x","d"],"s:test.B:b":{"bucket":"x-b-s","count":0,"names":[],"ratio":0,"region":"x","tags":{"a":"1","b":"2"},"versioning":false}}`},
		{"122 a reference may precede the output", "with Stack('a', region='r'):\n    W('w', label=StackReference('b').output('y'))\nwith Stack('b', region='r'):\n    output('y', W('v').out)",
			`{"a:test.W:w":{"data":null,"label":{"$ref":"b:test.W:v#out"},"size":0},"b:test.W:v":{"data":null,"label":"","size":0},"b:y":{"$ref":"b:test.W:v#out"}}`},
		{"167 inside a combinator", "b=W('b')\noutput('o',b.out)\nW('w',label=concat(StackReference('default').output('o'),'/*'),data=StackReference('other').output('x'))",
			`{"default:o":{"$ref":"default:test.W:b#out"},"default:test.W:b":{"data":null,"label":"","size":0},"default:test.W:w":{"data":{"$stack_output":"other:x"},"label":{"$transform":{"args":[{"$ref":"default:test.W:b#out"},"/*"],"op":"concat"}},"size":0}}`},
		{"159 a list with a handle is kept as written", "b=W('b')\nB('c',bucket='y',names=(b.out,'z'))",
			`{"default:test.B:c":{"bucket":"y","count":0,"names":[{"$ref":"default:test.W:b#out"},"z"],"ratio":0,"region":"eu-west-1","tags":{},"versioning":false},"default:test.W:b":{"data":null,"label":"","size":0}}`},
		{"a list field takes what can be walked", "d={'b': 1, 'a': 2}\nB('b',bucket='x',names=d.keys())\nB('c',bucket='x',names=map(str, d.values()))\nB('d',bucket='x',names=reversed(['x', 'y']))",
			`{"default:test.B:b":{"bucket":"x","count":0,"names":["b","a"],"ratio":0,"region":"eu-west-1","tags":{},"versioning":false},"default:test.B:c":{"bucket":"x","count":0,"names":["1","2"],"ratio":0,"region":"eu-west-1","tags":{},"versioning":false},"default:test.B:d":{"bucket":"x","count":0,"names":["y","x"],"ratio":0,"region":"eu-west-1","tags":{},"versioning":false}}`},
		{"161 tags=None under stack tags", "with Stack('s',region='r',tags={'a':'1'}):\n    output('o', B('b',bucket='x',tags=None).tags)",
			`{"s:o":{"a":"1"},"s:test.B:b":{"bucket":"x","count":0,"names":[],"ratio":0,"region":"r","tags":{"a":"1"},"versioning":false}}`},
		{"structured values: defaults and coercion, unless a handle is inside of a raw map", "w=W('w')\nGate('g', rules=[Rule(port='80'), {'port': '81', 'cidr': None}], token=atlantide.secret('t'))\nGate('h', rules=[{'port': w.out}])",
			`{"default:test.Gate:g":{"fixed":null,"rules":[{"cidr":null,"port":80,"protocol":"tcp"},{"cidr":null,"port":81,"protocol":"tcp"}],"token":{"$secret_ref":{"name":"t","provider":null}}},"default:test.Gate:h":{"fixed":null,"rules":[{"port":{"$ref":"default:test.W:w#out"}}],"token":null},"default:test.W:w":{"data":null,"label":"","size":0}}`},
		{"a snapshot is taken at construction", "d={'k': [1]}\nw=W('w', data=d)\nd['k'].append(2)\nd['z']=3",
			`{"default:test.W:w":{"data":{"k":[1]},"label":"","size":0}}`},
		{"keys become texts", "W('w', data={1: 'a', None: 'b', True: 'c', 2.5: 'd', (1, 2): 'e'})",
			`{"default:test.W:w":{"data":{"(1, 2)":"e","1":"c","2.5":"d","None":"b"},"label":"","size":0}}`},
		{"130 a function declares into the open stack", "def f(name):\n    return W(name)\nwith Stack('a', region='r'):\n    f('x')\nwith Stack('b', region='r'):\n    f('x')",
			`{"a:test.W:x":{"data":null,"label":"","size":0},"b:test.W:x":{"data":null,"label":"","size":0}}`},
	} {
		t.Run(c.why, func(t *testing.T) {
			res, err := compileNamed(t, c.text, Options{})
			if err != nil {
				t.Fatal(err)
			}
			declared := map[string]any{}
			for _, n := range res.Document.Nodes {
				declared[n.ID] = n.Properties
			}
			for _, o := range res.Outputs {
				declared[o.Key] = o.Value
			}
			var want any
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if got := asJSON(t, declared); got != asJSON(t, want) {
				t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
			}
		})
	}
}

func TestEdgesAndFlags(t *testing.T) {
	res, err := compileNamed(t, `
w = W("w")
v = W("v", data={"k": [w.out, concat(w.out)]}, depends_on=["default:test.W:u", w, w],
      lifecycle=Lifecycle(prevent_destroy=True, create_before_destroy=True, ignore_changes=["label"], aliases=("old",)))
W("u")
g = Gate("g")
`, Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := res.Document.Node("default:test.W:v")
	if !reflect.DeepEqual(n.Dependencies, []string{"default:test.W:w"}) ||
		!reflect.DeepEqual(n.DependsOn, []string{"default:test.W:u", "default:test.W:w"}) {
		t.Errorf("edges %v and %v", n.Dependencies, n.DependsOn)
	}
	if !n.PreventDestroy || !n.CreateBeforeDestroy || !reflect.DeepEqual(n.IgnoreChanges, []string{"label"}) || !reflect.DeepEqual(n.Aliases, []string{"old"}) {
		t.Errorf("lifecycle of %+v", n)
	}
	if kind := res.Document.Node("default:test.Gate:g").Kind; kind != model.KindData {
		t.Errorf("kind %s", kind)
	}
	if want := map[string]string{"test": "2.0.0"}; !reflect.DeepEqual(res.Pins, want) {
		t.Errorf("pins %v", res.Pins)
	}
}

// What depends_on takes: resources and ids, in whatever can be walked.
func TestDependsOnForms(t *testing.T) {
	for _, form := range []string{
		"[a, b]", "(b, a)", "['default:test.W:b', a, 'default:test.W:a', b]",
		"{'k': a, 'l': b}.values()", "map(lambda w: w, [a, b])", "filter(None, [a, b])", "(w for w in [a, b])",
	} {
		res, err := compileNamed(t, "a, b = W('a'), W('b')\nW('c', depends_on="+form+")", Options{})
		if err != nil {
			t.Errorf("%s: %v", form, err)
			continue
		}
		if got := res.Document.Node("default:test.W:c").DependsOn; !reflect.DeepEqual(got, []string{"default:test.W:a", "default:test.W:b"}) {
			t.Errorf("%s: depends on %v", form, got)
		}
	}
}

func TestEnvironmentSelection(t *testing.T) {
	const two = "c = Config(envs={'prod': {}, 'dev': {}})\nfor e in c.envs():\n    W(e.name)\n"
	for _, c := range []struct {
		why, text      string
		envs, selected []string
		words          string
	}{
		{"nothing requested selects all", two, nil, []string{"dev", "prod"}, ""},
		{"120 duplicates collapse, sorted", two, []string{"prod", "dev", "prod"}, []string{"dev", "prod"}, ""},
		{"one", two, []string{"prod"}, []string{"prod"}, ""},
		{"an empty request selects none", two, []string{}, nil, ""},
		{"118 LX-11", two, []string{"zz"}, nil, "'zz' dev, prod"},
		{"119", "W('w')", []string{"prod"}, nil, "--env Config"},
		{"119 an empty request asks for a Config too", "W('w')", []string{}, nil, "--env Config"},
		{"165 env() counts as use", "c = Config(envs={'d': {}, 'e': {}})\nW(c.env('e').name)", []string{"d"}, []string{"d"}, ""},
	} {
		t.Run(c.why, func(t *testing.T) {
			res, err := compileNamed(t, c.text, Options{Envs: c.envs})
			if c.words != "" {
				if !model.IsKind(err, model.LanguageError) {
					t.Fatalf("error %v", err)
				}
				for w := range strings.FieldsSeq(c.words) {
					if !strings.Contains(err.Error(), w) {
						t.Errorf("%q lacks %q", err, w)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(res.EnvsSelected) != len(c.selected) || len(c.selected) > 0 && !reflect.DeepEqual(res.EnvsSelected, c.selected) {
				t.Errorf("selected %v, want %v", res.EnvsSelected, c.selected)
			}
		})
	}
}

func TestStackOutputCycle(t *testing.T) {
	for _, c := range []struct {
		why, text string
		chain     []string
	}{
		{"123", "with Stack('a', region='r'):\n    output('x', StackReference('b').output('y'))\nwith Stack('b', region='r'):\n    output('y', StackReference('a').output('x'))", []string{"a:x", "b:y", "a:x"}},
		{"168 through a combinator, onto itself", "output('a', concat('x', StackReference('default').output('a')))", []string{"default:a", "default:a"}},
		{"reached from outside of the cycle", "output('in', StackReference('default').output('a'))\noutput('a', [StackReference('default').output('b')])\noutput('b', {'k': StackReference('default').output('a')})", []string{"default:a", "default:b", "default:a"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := compileNamed(t, c.text, Options{})
			var got *model.Error
			if !errors.As(err, &got) || got.Kind != model.StackOutputCycleError || !reflect.DeepEqual(got.Chain, c.chain) {
				t.Fatalf("error %v, want the chain %v", err, c.chain)
			}
			if !strings.Contains(got.Message, strings.Join(c.chain, " -> ")) {
				t.Errorf("message %q", got.Message)
			}
		})
	}
}

func TestInputsConsumed(t *testing.T) {
	res, err := compileNamed(t, `
a = atlantide.input("a")
b = atlantide.input("b", default=[1, {"k": None}])
s = atlantide.secret("unused", provider="env")
a.append(5)
output("o", [a, b, atlantide.input("a"), s])
`, Options{Inputs: map[string]any{"a": []any{"x"}, "unread": "y", "unused": "z"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := asJSON(t, res.Inputs), `{"a":["x"],"b":[1,{"k":null}]}`; got != want {
		t.Errorf("consumed %s, want %s", got, want)
	}
	if got, want := asJSON(t, res.Outputs[0].Value), `[["x",5],[1,{"k":null}],["x"],{"$secret_ref":{"name":"unused","provider":"env"}}]`; got != want {
		t.Errorf("output %s, want %s", got, want)
	}
}

func TestHandleInTextWarns(t *testing.T) {
	res, err := compileNamed(t, "b=B('b',bucket='x')\nfor i in range(3):\n    W('w' + str(i), label=f'arn:{b.arn}')\nW('x', label=f'{b.bucket}')", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Document.Node("default:test.W:w0").Properties["label"]; got != "arn:Ref(node_id='default:test.B:b', attr='arn')" {
		t.Errorf("label %v", got)
	}
	if len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "line 3, col 3") {
		t.Errorf("warnings %q", res.Warnings)
	}
}

// A handle cannot tell what its value will be: whoever decides by one is warned, once a
// place.
func TestHandleDecidesWarns(t *testing.T) {
	const head = "b=B('b',bucket='x')\nc=B('c',bucket='x')\n"
	for _, c := range []struct {
		reason, text string
		places       []string // of the warnings
	}{
		{"a condition", "x = 1\nif b.arn:\n    x = 2", []string{"line 4, col 4"}},
		{"a name", "h = b.arn\nx = 1 if h else 2", []string{"line 4, col 10"}},
		{"not", "x = not b.arn", []string{"line 3, col 5"}},
		{"bool()", "x = bool(b.arn)", []string{"line 3, col 5"}},
		{"a combinator", "x = concat(b.arn, '/*') or 'y'", []string{"line 3, col 5"}},
		{"an output of a stack", "x = [1 for i in [0] if StackReference('s').output('o')]", []string{"line 3, col 24"}},
		{"a secret", "x = 1 if atlantide.secret('s') else 2", []string{"line 3, col 10"}},
		{"==", "x = b.arn == 'y'", []string{"line 3, col 5"}},
		{"!=, turned around", "x = 'y' != b.arn", []string{"line 3, col 5"}},
		{"in a list of known values", "x = b.arn in ['y']", []string{"line 3, col 5"}},
		{"a known value in a list of handles", "x = 'y' not in (b.arn,)", []string{"line 3, col 5"}},
		{"in a loop, once a place", "for i in range(200):\n    x = b.arn == str(i)\n    y = 1 if b.arn else 2", []string{"line 4, col 9", "line 5, col 14"}},
		{"whether it was given", "x = b.arn == None or b.arn != None or b.arn is None", nil},
		{"which of the handles", "x = b.arn == c.arn\ny = c.arn in [b.arn]\nz = c.arn in {b.arn: 1}", nil},
		{"known values", "x = b.bucket == 'x' and 'x' in [b.bucket]", nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			res, err := compileNamed(t, head+c.text, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(res.Warnings) != len(c.places) {
				t.Fatalf("warnings %q, want %d", res.Warnings, len(c.places))
			}
			for i, want := range c.places {
				if !strings.HasPrefix(res.Warnings[i], want+": ") || res.Diagnostics[i].Code != model.HandleDecides {
					t.Errorf("warning %q is not at %s", res.Warnings[i], want)
				}
			}
		})
	}
}

// What ignore_changes names and the type has not is ignored in silence by a plan.
func TestIgnoredFieldUnknownWarns(t *testing.T) {
	res, err := compileNamed(t, "from atlantide.core import Lifecycle\nB('b',bucket='x',\n  lifecycle=Lifecycle(ignore_changes=['bucket', 'buckte']))", Options{})
	if err != nil {
		t.Fatal(err)
	}
	const want = "line 2, col 1: ignore_changes names 'buckte', which is no field of test.B; did you mean 'bucket'?"
	if len(res.Warnings) != 1 || res.Warnings[0] != want || res.Diagnostics[0].Code != model.IgnoredFieldUnknown {
		t.Errorf("warnings %q, want %q", res.Warnings, want)
	}
}

func TestAllViolationsAreReported(t *testing.T) {
	_, err := compile(t, "x = eval\nwhile True:\n    pass\nimport os\n", Options{})
	var first *model.Error
	if !errors.As(err, &first) || first.Line != 1 || len(first.AlsoFailed) != 2 {
		t.Fatalf("error %+v", first)
	}
	for i, line := range []int{2, 4} {
		if first.AlsoFailed[i].Line != line {
			t.Errorf("violation %d is at line %d, want %d", i, first.AlsoFailed[i].Line, line)
		}
	}
}

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		why, text string
		o         Options
	}{
		{"77", "x=[i for i in range(100)]", Options{Fuel: 10}},
		{"78", "r = sum(range(10000))", Options{Fuel: 200}},
		{"78", "r = 'a'*10000", Options{Fuel: 200}},
		{"78", "r = 2**10000000", Options{Fuel: 200}},
		{"calls", "def f(n):\n    return 0 if n == 0 else f(n - 1)\nf(50)", Options{MaxCallDepth: 20}},
		{"keys that all collide", "d = {}\nfor i in range(100000):\n    d[lambda: i] = i", Options{}},
		{"one value", "x = 'a' * 3000", Options{MaxValueBytes: 2000}},
		{"all values", "l = []\nfor i in range(100):\n    l.append('a' * 1000 + str(i))", Options{MaxTotalBytes: 20_000}},
		{"managers", "from atlantide.core import region\ndef f(n):\n    with region('r'):\n        return n if n == 0 else f(n - 1)\nf(900)", Options{MaxCallDepth: 500}},
	} {
		t.Run(c.why, func(t *testing.T) {
			if _, err := compile(t, c.text, c.o); model.KindOf(err) != model.FuelExhaustedError {
				t.Fatalf("error %v", err)
			}
		})
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Compile(ctx, Source{Filename: "infra.py", Text: "for i in range(1000000):\n    x = i\n"}, Options{Schemas: testSchemas(t)})
	if !errors.Is(err, context.Canceled) || model.ClassOf(err) != model.ClassTransient {
		t.Fatalf("error %v of class %s", err, model.ClassOf(err))
	}
}

// Whatever the text, two evaluations agree on the result or on the error.
func TestEvaluationIsDeterministic(t *testing.T) {
	statements := []string{
		"x = x + [y]", "x = {y, 'a', (1, 2)}", "y = str(x)", "d[y] = x", "for i in x:\n    y = i",
		"x = [j for j in x if j]", "W(n, data=x)", "n = n + 'a'", "x = sorted(x)", "output(n, d)",
		"x = list({1, 2.5, 'é', None, y})", "def f(a):\n    return [a, x]\nx = f(y)", "y = f'{x}{d!r:>9}'",
		"x = W(n + 'z', label='q').out", "d = {'k': x}", "x = {w: {w} for w in 'zyx'}", "y = len(x)",
	}
	rapid.Check(t, func(rt *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom(statements), 1, 12).Draw(rt, "statements")
		text := "x = []\ny = 1\nd = {}\nn = 'n'\n" + strings.Join(lines, "\n")
		a, errA := compileNamed(t, text, Options{})
		b, errB := compileNamed(t, text, Options{})
		if fmt.Sprint(errA) != fmt.Sprint(errB) {
			rt.Fatalf("%s\n%v\n%v", text, errA, errB)
		}
		if errA == nil && !reflect.DeepEqual(a.Compilation, b.Compilation) {
			rt.Fatalf("%s: two evaluations differ", text)
		}
	})
}
