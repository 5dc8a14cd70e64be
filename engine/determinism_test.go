package engine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// surroundings are what a process may differ in, and a compilation may not.
func surroundings(t *testing.T) []child {
	t.Helper()
	return []child{
		{env: map[string]string{"TZ": "UTC", "LC_ALL": "C", "GOMAXPROCS": "1"}, dir: t.TempDir(), umask: "0"},
		{env: map[string]string{"TZ": "Asia/Kathmandu", "LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8", "GOMAXPROCS": "2", "GOGC": "10"}, dir: t.TempDir(), umask: "077"},
		{env: map[string]string{"TZ": "America/St_Johns", "LC_ALL": "ja_JP.eucJP", "GOMAXPROCS": "8", "GODEBUG": "asyncpreemptoff=1", "HOME": "/nonexistent"}, dir: "/", umask: "027"},
	}
}

const surface = `from atlantide.core import Config, EnvSchema, Lifecycle, Ref, Stack, StackReference, current_stack_tags, output, region, var
from atlantide.policy import enforce
from atlantide.providers.aws import IamRole, S3Bucket, S3BucketPolicy, SecureBucket, SecurityGroup, SgRule, SqsQueue, Vpc, allow, assume_role, deny
from atlantide.providers.local import File, Null
from atlantide.providers.random import Password
`

// determined are configs that use what order, hash seeds, locales or clocks could show in.
var determined = []job{
	{Text: surface + `
with Stack("net", region="eu-west-1", tags={"team": "a", "cost": "1"}, name_prefix="x"):
    vpc = Vpc("main", cidr_block="10.0.0.0/16")
    group = SecurityGroup("web", group_name="web", vpc_id=vpc.vpc_id, ingress=[SgRule(from_port=p, to_port=p, cidr_blocks=["10.0.0.0/8"]) for p in {443, 80, 22}])
    output("vpc", vpc.vpc_id)
with Stack("app", region="us-east-1"):
    role = IamRole("r", role_name="r", assumed_by=["lambda.amazonaws.com", "ec2.amazonaws.com"])
    for n in {"b", "a", "ü"}:
        SqsQueue("q-" + slugify(n), queue_name="q" + str(len(n)) + slugify(n))
    SecureBucket("logs", bucket="logs-" + sha256_hex("x")[:8])
    output("net", [StackReference("net").output("vpc"), {"k": {3, 1, 2}}])
enforce("tags-required", keys={"b", "a"}, limit=1.5)
`},
	{Text: surface + `
class Env(EnvSchema):
    size: int = 3
    names: list = ["b", "a"]
c = Config(Env, envs={"prod": {"size": 5, "region": "eu-west-1"}, "dev": {"region": "eu-north-1", "tags": {"z": "1", "a": "2"}}})
for e in c.envs():
    with Stack("s-" + e.name, config=e):
        for i in range(e.size):
            Null(f"n{i}", triggers={f"{e.name}-{k}": str({i, k, 2.5}) for k in e.names})
`, Envs: []string{"prod", "dev"}},
	{Text: surface + `
floats = [0.1 + 0.2, 1e22, 1e-7, -0.0, 2**0.5, sum([0.1] * 10), round(2.675, 2), 10**15 / 3, 7 % -3.5, float("1e400"), 1.1 ** 20.7]
output("floats", [str(f) for f in floats] + floats[:6])
output("texts", [f"{f:.3g}|{f:>12.4f}|{f!r}" for f in floats[:5]] + ["%e %g" % (f, f) for f in floats[:5]])
output("cases", ["İIıi".lower(), "ßŉǰ".upper(), "ǆ ΑΣ".title(), "Straße".casefold(), slugify("Ünïcödé-Ⅷ")])
output("sets", [list({"é", "z", "a", "Z"}), str({1, 2.5, "x", None, (1, 2)}), str(frozenset([frozenset([2, 1]), 3]))])
output("dicts", [to_json({"b": 1, "a": {"d": [], "c": None}}), str({"b": 1, "a": 2}), merge({"a": {"x": 1}}, {"a": {"y": 2}})])
output("ids", [uuid5("a", "b"), hmac_sha256_hex("k", "v"), b64encode("é")])
output("many", {str(i): {str(j): j for j in range(20)} for i in range(50)})
`},
	{Text: surface + `
from atlantide.components.site import Site
with Stack("web", region="eu-west-1"):
    for name in ["b", "a"]:
        s = Site(name, folders={"z", "y", "x"})
        output(name, s.paths)
`, Files: map[string]string{
		"components/site/__init__.py": `from atlantide.core import Component, child
from atlantide.providers.local import File
from ._names import path
class Site(Component):
    def __init__(self, name, *, folders):
        self.paths = [child(File, f, path=path(name, f)).path for f in folders]
`,
		"components/site/_names.py": "def path(name, folder):\n    return f'{name}/{folder}'\n",
	}},
	{Text: surface + "a = atlantide.input('a')\nb = atlantide.input('b', default={'z': 1, 'a': [2]})\noutput('o', [a, b])\nNull('n', triggers=a)\n",
		Inputs: map[string]any{"a": map[string]any{"y": "1", "x": "2", "é": "3"}, "c": "unread"}},
	{Text: surface + "r = Ref('a:b.C:d', 'e')\nfor i in range(3):\n    output(f'{r}-{i}', {r: i, 'x': f'{r}'})\n"},
	{Text: "import os\nwhile True: pass\nx = eval\nfrom time import time\n"},
	{Text: surface + "SecurityGroup('g', nope=1, other=2, ingress=[1], description={2, 1})\n"},
	{Text: surface + "x = {'a': 1}.nope\n"},
	{Text: surface + "x = {3, 1, 2} + {'b', 'a'}\n"},
	{Text: surface + "a = Null('a', depends_on=['default:local.Null:c', 'default:local.Null:b'])\n"},
	{Text: surface + "Null('a', depends_on=['default:local.Null:b'])\nNull('b', depends_on=['default:local.Null:a'])\n"},
	{Text: surface + "Config({'a': var(int), 'b': var(str)}, envs={'d': {'b': 1, 'z': 2, 'y': 3}})\n"},
	{Text: surface + "x = [i for i in {float('nan'), float('nan')}]\n"},
	{Text: surface + "for i in range(10**9):\n    x = {i, str(i)}\n", Fuel: 10_000},
	{Text: surface + "x = []\nfor i in range(10**9):\n    x.append([{i: lambda: i}])\n", Memory: 4 * mebibyte},
	{Text: "x = (1,\ny = 2\n"},
}

// lines are what generated configs are made of. They keep to a few names, so that most
// of them have something to work on.
var lines = []string{
	"x = x + [y]", "x = {y, 'a', (1, 2)}", "y = str(x)", "d[y] = x", "for i in x:\n    y = i", "x = [j for j in x if j]", "Null(n, triggers=d)",
	"n = n + 'a'", "x = sorted(x, key=str)", "output(n, d)", "x = list({1, 2.5, 'é', None, y})", "def f(a):\n    return [a, x]\nx = f(y)",
	"y = f'{x}{d!r:>9}'", "x = File(n + 'z', path='q').checksum", "d = {'k': x}", "x = {w: {w} for w in 'zyx'}", "y = len(x)", "y = y / 7",
	"y = hmac_sha256_hex(str(x), str(d))", "x = [lambda: i for i in range(3)]", "d = merge(d, {'k': {n: y}})", "with Stack(n, region='r'):\n    Null(n)",
	"y = to_json(d)", "x = from_json(to_json(x))", "n = slugify(str(y))", "x = list(map(str, x))", "x = set(x) | {y}", "enforce(n, a=x, b=y)", "y = x < [y]",
	"d = {k: v for v, k in d.items()}", "y = y ** 2.5", "x = x * 2", "output('o' + n, [x, y, concat(n, 'b')])", "y = x[-1]", "x = frozenset([frozenset(x)])",
}

func generatedJobs(n int) []job {
	program := rapid.Custom(func(t *rapid.T) string {
		return surface + "x = []\ny = 1\nd = {}\nn = 'n'\n" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(lines), 3, 14).Draw(t, "lines"), "\n") + "\n"
	})
	jobs := make([]job, n)
	for i := range jobs {
		jobs[i] = job{Text: program.Example(i)}
	}
	return jobs
}

// Same config, same bytes, wherever it is compiled: IR, hashes, outputs, warnings and
// errors are those of every other process (lang.md §1).
func TestTwoProcesses(t *testing.T) {
	jobs := append(generatedJobs(200), determined...)
	var first []outcome
	compiled := 0
	for i, c := range surroundings(t) {
		got := c.run(t, jobs...)
		for j := range got {
			got[j].Grown = 0
			if i == 0 && got[j].Error == "" {
				compiled++
			}
		}
		if i == 0 {
			first = got
			continue
		}
		for j := range got {
			if diff := cmp.Diff(first[j], got[j]); diff != "" {
				t.Errorf("%v compiles\n%s\nto something else:\n%s", c.env, jobs[j].Text, diff)
			}
		}
	}
	if compiled < len(jobs)/4 {
		t.Errorf("only %d of %d configs compile; a comparison of errors alone says little", compiled, len(jobs))
	}
	for j := range determined[:6] {
		if at := len(jobs) - len(determined) + j; first[at].Error != "" {
			t.Errorf("%s\n%s", determined[j].Text, first[at].Error)
		}
	}
}
