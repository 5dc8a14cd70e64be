package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/secrets"
)

const canaryImports = `from atlantide.core import Lifecycle, SecretRef, Stack, StackReference, concat, interpolate, join, output
from atlantide.providers.local import File, Null, SourceFile
from atlantide.providers.random import Password
from atlantide.providers.aws import LambdaFunction
from atlantide.providers.bank import Account, Login
`

// network is a stack whose secrets another one reads.
const network = canaryImports + `with Stack("net", region="r"):
    n = Account("n", name="net", password=SecretRef("net"))
    output("token", n.token)
    output("echo", n.echo)
    output("open", "nothing to hide")
`

// site reads secrets in every way that a config has: bare, nested, in combinators, out of
// outputs of its own resources and of another stack, and gives them away as outputs. The
// notes and names are for the versions of it.
const site = canaryImports + `with Stack("s", region="r"):
    net = StackReference("net")
    a = Account("a", name="A-NAME", seed=SecretRef("seed"), password=SecretRef("password"), note=concat("dsn://", SecretRef("dsn"), "@NOTE"),
        login=Login(user="u", token=SecretRef("login")), hosts=[SecretRef("host")],
        settings={"deep": [{"er": SecretRef("deep")}], "joined": join(",", [SecretRef("one"), "x", SecretRef("two")])},
        labels=["plain", interpolate("{} and {}", SecretRef("label"), "x")], lifecycle=Lifecycle(create_before_destroy=True))
    b = Account("b", name="B-NAME", seed=SecretRef("other-seed"), note=a.echo, labels=[a.token, concat("pin ", a.pin), join("/", a.keys)],
        settings={"users": a.users, "of": {"net": [net.output("token"), concat("net-", net.output("echo"))]}})
    p = Password("p", length=24, keepers={"k": "NOTE"})
    File("file", path="file", content=SecretRef("content"))
    File("mixed", path="mixed", content=concat("NOTE", SecretRef("mixed"), a.token, p.result))
    source = SourceFile("source", path="open.txt")
    Null("null", triggers={"secret": SecretRef("trigger"), "token": a.token, "joined": join("", [p.result, "NOTE"]), "net": net.output("token")})
    LambdaFunction("f", function_name="F-NAME", role_arn="r", s3_bucket="b", s3_key="k", signing_secret=SecretRef("signing"),
        environment={"S": SecretRef("env"), "T": concat("t-", a.token), "P": p.result}, tags={"t": SecretRef("tag"), "v": "NOTE"})
    output("token", a.token)
    output("deep", {"keys": [a.keys], "users": a.users, "pin": a.pin})
    output("mixed", concat("NOTE", a.token, p.result))
    output("handle", SecretRef("handle"))
    output("secret", concat("x", SecretRef("joined")))
    output("echo", a.echo)
    output("audit", {"list": [b.audit]})
    output("net", [net.output("token"), net.output("echo")])
    output("open", concat("a-", a.id))
EXTRA`

// version is the site with another note, and with further lines.
func version(note string, extra ...string) string {
	text := strings.NewReplacer("NOTE", note, "EXTRA", "").Replace(strings.ReplaceAll(strings.ReplaceAll(site, "A-NAME", "a-1"), "B-NAME", "b-1"))
	text = strings.ReplaceAll(text, "F-NAME", "f-1")
	for _, line := range extra {
		text += "    " + line + "\n"
	}
	return text
}

// replaced is a version under which everything that has a name is replaced.
func replaced(note string, extra ...string) string {
	return strings.NewReplacer("a-1", "a-2", "b-1", "b-2", "f-1", "f-2").Replace(version(note, extra...))
}

// mutant takes one safeguard out.
type mutant struct {
	name   string
	open   bool                          // nothing is sealed
	bare   bool                          // digests are what they are of
	schema func(s *model.ProviderSchema) // what the types say; nil = what they do
	tells  []string                      // where that has to show, each a part of a statement's place
}

// censor is the session of a run, as far as the mutant lets it work.
type censor struct {
	*secrets.Session
	m mutant
}

func (c censor) Digest(text, scope string) (string, error) {
	if c.m.bare {
		return text, nil
	}
	return c.Session.Digest(text, scope)
}

func (c censor) Matches(recorded, text string, scopes ...string) (bool, error) {
	if c.m.bare {
		return recorded == text, nil
	}
	return c.Session.Matches(recorded, text, scopes...)
}

// censorRecorder is the writing half.
type censorRecorder struct {
	*secrets.Recorder
	m mutant
}

func (r censorRecorder) Seal(v any, owner, field string) (any, error) {
	if r.m.open {
		return v, nil
	}
	return r.Recorder.Seal(v, owner, field)
}

func (r censorRecorder) Digest(text, scope string) (string, error) {
	if r.m.bare {
		return text, nil
	}
	return r.Recorder.Digest(text, scope)
}

// narrowed are the nodes of the site: those of the network belong to another config.
var narrowed = []string{"s:*"}

const lastOne = `Account("z", name="z", password=SecretRef("last"), note=concat(a.token, b.echo, p.result), depends_on=[a, b])`

// life is what a state goes through: everything that an engine does with one, with calls
// that fail in each of the ways.
func (a *aviary) life(ways ...func(string) error) {
	a.Helper()
	a.must("the network", a.apply("the network", network, nil, plan.OnFailureHalt))
	a.plan("plan of all", version("v1"), narrowed)
	a.must("create", a.apply("create", version("v1"), narrowed, plan.OnFailureHalt))
	if p := a.plan("plan of nothing", version("v1"), narrowed); p.HasPending() && a.m.name == "" {
		a.Errorf("the second plan has something to do: %v", pendingOf(p))
	}
	a.refresh("refresh in sync", false, false)
	for i, way := range ways {
		where := fmt.Sprintf("failure %d", i)
		if i == 0 {
			a.world.failing(map[string]func(string) error{"create z": way, "update b": way})
			a.mustFail(where, a.apply(where+", at an update", version(where), narrowed, plan.OnFailureHalt))
			a.world.failing(map[string]func(string) error{"create z": way})
			a.mustFail(where, a.apply(where+", rolled back", version(where+" again", lastOne), narrowed, plan.OnFailureRollback))
		}
		a.world.failing(map[string]func(string) error{"create z": way, "delete a": way, "delete b": way, "update a": way})
		a.mustFail(where, a.apply(where+", in the rollback as well", replaced(where, lastOne), narrowed, plan.OnFailureRollback))
		a.refreshFailing(where, way)
		a.world.failing(nil)
		a.must(where, a.apply("repair", version("v1"), narrowed, plan.OnFailureHalt))
	}
	a.vault.rotate("net")
	a.plan("plan after a rotation", version("v1"), narrowed)
	a.must("rotation", a.apply("rotation", version("v1"), narrowed, plan.OnFailureHalt))
	a.vault.rotate()
	a.world.drift()
	a.refresh("refresh of drift", false, false)
	a.refresh("refresh --write of drift", true, false)
	a.plan("plan after the drift", version("v1"), narrowed)
	a.adopt("dry import", version("v1"), "s:bank.Account:a", "id of a", true, true)
	a.adopt("import of what differs", version("v1"), "s:bank.Account:a", "id of a", false, false)
	a.adopt("import", version("v1"), "s:bank.Account:a", "id of a", true, false)
	a.adopt("import from elsewhere", version("v1"), "s:aws.LambdaFunction:f", "", true, false)
	a.world.failing(map[string]func(string) error{"read b": chained})
	a.adopt("failing import", version("v1"), "s:bank.Account:b", "id of b", true, false)
	a.world.failing(map[string]func(string) error{"delete a": typed, "delete n": quoted, "delete f": joined})
	a.mustFail("destroy", a.destroy("failing destroy"))
	a.world.failing(nil)
	a.must("destroy", a.destroy("destroy"))
}

func (a *aviary) refreshFailing(where string, way func(string) error) {
	a.Helper()
	a.world.failing(map[string]func(string) error{"read a": way, "read f": way})
	a.refresh(where+", at a read", false, false)
	a.refresh(where+", at a read, --write", true, true)
}

// leaks are the places where a secret was published, each with one of them.
func (a *aviary) leaks() map[string]string {
	leaks := map[string]string{}
	for _, s := range a.said {
		if leaks[s.where] == "" {
			if found := a.canaries.found(s.text); len(found) > 0 {
				leaks[s.where] = strings.Join(found, "; ")
			}
		}
	}
	return leaks
}

// uncovered are the sensitive fields of all types through which no secret went.
func (a *aviary) uncovered() []string {
	var missing []string
	for _, p := range a.registry.Schemas().Providers() {
		for _, t := range p.Types {
			for _, f := range t.Fields {
				// What comes from the config's own files is as open as the config.
				if f.Sensitive && !f.FromSource && !a.world.seen[t.Name+"."+f.Name] {
					missing = append(missing, t.Name+"."+f.Name)
				}
			}
		}
	}
	return missing
}

// TestCanaryEverywhere puts a secret of its own into every sensitive field of every type
// and into all that a config can make of a handle, lets a state go through everything that
// the engine does with one, and looks for the secrets in all that is published on the way
// (SC-16, SC-17, EX-41, N-39; ).
func TestCanaryEverywhere(t *testing.T) {
	for name, c := range map[string]struct {
		open func(*testing.T) (place, func() string)
		ways []func(string) error
	}{
		"memory":   {inMemory, []func(string) error{plainly, quoted, chained, joined, typed, panicking}},
		"sqlite":   {inSQLite, []func(string) error{typed}},
		"postgres": {inPostgres, []func(string) error{chained}},
	} {
		t.Run(name, func(t *testing.T) {
			at, dump := c.open(t)
			a := newAviary(t, mutant{}, at, dump)
			a.life(c.ways...)
			leaks := a.leaks()
			for _, where := range slices.Sorted(maps.Keys(leaks)) {
				t.Errorf("%s tells %s", where, leaks[where])
			}
			if missing := a.uncovered(); len(missing) > 0 {
				t.Errorf("no secret went through %v", missing)
			}
		})
	}
}

// TestCanaryOfMutants takes the safeguards out in turn: a canary that none of them wakes
// proves nothing. Scrubbing is inside of a run, and has its mutants there.
func TestCanaryOfMutants(t *testing.T) {
	indifferent := func(s *model.ProviderSchema) {
		for _, typ := range s.Types {
			for i := range typ.Fields {
				typ.Fields[i].Sensitive = false
			}
		}
	}
	for _, m := range []mutant{
		{name: "nothing is sealed", open: true, tells: []string{"store", "backup file", "state show"}},
		{name: "digests without a key", bare: true, tells: []string{"store", "backup file"}},
		{name: "types that take nothing for a secret", schema: indifferent, tells: []string{"store", "drift", "report", "text", "payload", "import"}},
	} {
		t.Run(m.name, func(t *testing.T) {
			at, dump := inMemory(t)
			a := newAviary(t, m, at, dump)
			a.life(plainly)
			leaks := slices.Collect(maps.Keys(a.leaks()))
			for _, where := range m.tells {
				if !slices.ContainsFunc(leaks, func(leak string) bool { return strings.HasSuffix(leak, ": "+where) }) {
					t.Errorf("it does not show in any %s", where)
				}
			}
		})
	}
}
