package engine_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/secrets"
	"github.com/atlantide-org/atlantide-operator/engine/state/memory"
	"github.com/atlantide-org/atlantide-operator/engine/state/postgres"
	"github.com/atlantide-org/atlantide-operator/engine/state/snapshot"
	"github.com/atlantide-org/atlantide-operator/engine/state/sqlite"
	"github.com/atlantide-org/atlantide-operator/hack/devenv"
	"github.com/atlantide-org/atlantide-operator/providers"
	awsschema "github.com/atlantide-org/atlantide-operator/providers/aws/schema"
	"github.com/atlantide-org/atlantide-operator/providers/local"
	"github.com/atlantide-org/atlantide-operator/providers/random"
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
	loud   bool                          // nothing is scrubbed
	bare   bool                          // digests are what they are of
	schema func(s *model.ProviderSchema) // what the types say; nil = what they do
}

// censor is the session of a run, as far as the mutant lets it work.
type censor struct {
	*secrets.Session
	m mutant
}

func (c censor) Scrub(text string) string {
	if c.m.loud {
		return text
	}
	return c.Session.Scrub(text)
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

// Seal and Digest of what a run writes.
type censorRecorder struct {
	*secrets.Recorder
	c censor
}

func (r censorRecorder) Seal(v any, owner, field string) (any, error) {
	if r.c.m.open {
		return v, nil
	}
	return r.Recorder.Seal(v, owner, field)
}

func (r censorRecorder) Digest(text, scope string) (string, error) {
	if r.c.m.bare {
		return text, nil
	}
	return r.Recorder.Digest(text, scope)
}

// aviary is an engine, a place, and everything that they publish.
type aviary struct {
	*testing.T
	m        mutant
	canaries *canaries
	world    *blabbing
	vault    *vault
	engine   *engine.Engine
	registry *providers.Registry
	keys     secrets.KeyFile
	at       place
	dump     func() string // all that the place holds, as it lies there
	said     []statement
	files    int
}

// statement is something published.
type statement struct{ where, text string }

func newAviary(t *testing.T, m mutant, at place, dump func() string) *aviary {
	t.Helper()
	c := newCanaries()
	a := &aviary{T: t, m: m, canaries: c, world: newBlabbing(c), vault: &vault{canaries: c, values: map[string]string{}},
		keys: secrets.KeyFile{Path: filepath.Join(t.TempDir(), "atlantide.key")}, at: at, dump: dump}
	cloud, bank := awsschema.New(), indiscreet()
	for _, s := range []*model.ProviderSchema{cloud, bank} {
		if m.schema != nil {
			m.schema(s)
		}
	}
	var err error
	a.registry, err = providers.NewRegistry(
		watching{local.NewTenants(t.TempDir(), local.Quota{}), a.world}, watching{random.New(rand.Reader, time.Now), a.world},
		&blabber{cloud, a.world}, &blabber{bank, a.world})
	if err != nil {
		t.Fatal(err)
	}
	a.engine = &engine.Engine{Registry: a.registry, Parallelism: 2, Now: time.Now, NewID: uuid.NewString, Events: func(e apply.Event) {
		a.said = append(a.said, statement{"event " + e.Phase, fmt.Sprintf("%+v", e)})
	}}
	return a
}

func (a *aviary) say(where, text string) { a.said = append(a.said, statement{where, text}) }

func (a *aviary) sayJSON(where string, v any) {
	a.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		a.Fatal(err)
	}
	a.say(where, string(data))
}

// sayError says everything that an error holds and leads to.
func (a *aviary) sayError(where string, err error) {
	if err == nil {
		return
	}
	a.say(where+": error", fmt.Sprintf("%v %+v %#v %q", err, err, err, err))
	if e, ok := err.(*model.Error); ok { //nolint:errorlint // each link of the chain is looked at by itself
		a.say(where+": error", strings.Join([]string{e.Message, e.Hint, e.Note, e.Source, fmt.Sprint(e.Related)}, "\n"))
		for _, also := range e.AlsoFailed {
			a.sayError(where+": also failed", also)
		}
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // see above
		for _, one := range many.Unwrap() {
			a.sayError(where, one)
		}
		return
	}
	a.sayError(where, errors.Unwrap(err))
}

func (a *aviary) session() (engine.Secrets, apply.Recorder) {
	a.Helper()
	registry, err := secrets.NewRegistry("", a.vault)
	if err != nil {
		a.Fatal(err)
	}
	s := secrets.NewSession(secrets.Options{Registry: registry, Keys: a.keys, Partition: a.at.Partition})
	c := censor{s, a.m}
	return c, censorRecorder{s.Recorder(), c}
}

// compile says what a config becomes: its graph, its hashes and its artifact.
func (a *aviary) compile(text string) *ir.Compilation {
	a.Helper()
	source := os.DirFS(a.sourceTree())
	c, err := a.engine.Compile(a.Context(), engine.Source{Filename: "infra.py", Text: text}, engine.CompileOptions{Source: source})
	if err != nil {
		a.Fatal(err)
	}
	artifact, err := a.engine.Build(c, engine.BuildOptions{})
	if err != nil {
		a.Fatal(err)
	}
	canonical, err := c.Document.Canonical()
	if err != nil {
		a.Fatal(err)
	}
	a.say("artifact", string(artifact))
	a.say("graph", string(canonical)+fmt.Sprint(c.Hashes, c.Outputs, c.Warnings))
	return c
}

func (a *aviary) sourceTree() string {
	a.Helper()
	dir := a.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "open.txt"), []byte("as open as the config"), 0o600); err != nil {
		a.Fatal(err)
	}
	return dir
}

// sayPlan says a plan in every form in which it is shown or kept.
func (a *aviary) sayPlan(where string, p *plan.Plan) {
	a.Helper()
	if p == nil {
		return
	}
	for _, detail := range []plan.Detail{plan.DetailShort, plan.DetailFull} {
		a.say(where+": text", p.TextWith(plan.TextOptions{Detail: detail, ShowUnchanged: true}))
	}
	a.say(where+": public text", p.PublicText())
	a.sayJSON(where+": payload", p.PayloadWithValues())
	a.sayJSON(where+": public payload", p.PublicPayload())
	body, err := p.Body()
	if err != nil {
		a.Fatal(err)
	}
	a.say(where+": record", string(body))
	digest, err := p.ChangesetDigest()
	if err != nil {
		a.Fatal(err)
	}
	a.say(where+": digest", digest)
}

// look says what the place holds.
func (a *aviary) look(where string) {
	a.Helper()
	a.say(where+": store", a.dump())
	s := a.at.load(a.T)
	a.say(where+": state list", fmt.Sprintf("%+v", engine.ListState(s)))
	for _, n := range engine.ListState(s) {
		row, err := engine.ShowState(s, n.ID)
		if err != nil {
			a.Fatal(err)
		}
		a.sayJSON(where+": state show", row)
	}
	a.files++
	path := filepath.Join(a.TempDir(), fmt.Sprint(a.files, snapshot.Suffix))
	if err := snapshot.Write(path, s, false); err != nil {
		a.Fatal(err)
	}
	file, err := snapshot.Read(path)
	if err != nil {
		a.Fatal(err)
	}
	a.sayJSON(where+": backup", file)
	data, err := os.ReadFile(path)
	if err != nil {
		a.Fatal(err)
	}
	a.say(where+": backup file", string(data))
}

// narrowed are the nodes of the site: those of the network belong to another config.
var narrowed = []string{"s:*"}

// plan plans without running.
func (a *aviary) plan(where, text string, targets []string) *plan.Plan {
	a.Helper()
	s, _ := a.session()
	p, err := a.engine.Plan(a.Context(), engine.PlanRequest{Compilation: a.compile(text), Snapshot: a.at.load(a.T), OnFailure: plan.OnFailureRollback, Owner: owner, Targets: targets, Secrets: s})
	a.sayError(where, err)
	if err != nil {
		a.Fatal(err)
	}
	a.sayPlan(where, p)
	return p
}

// apply applies and says all that comes of it.
func (a *aviary) apply(where, text string, targets []string, onFailure string) error {
	a.Helper()
	s, r := a.session()
	result, err := a.engine.Apply(a.Context(), engine.ApplyRequest{Compilation: a.compile(text), Partition: a.at.Partition, Store: a.at.Store,
		Locker: a.at.Locker, Owner: owner, OnFailure: onFailure, Targets: targets, Secrets: s, Recorder: r, Report: true})
	a.sayResult(where, result, err)
	return err
}

func (a *aviary) sayResult(where string, result *engine.Result, err error) {
	a.Helper()
	a.sayError(where, err)
	a.sayPlan(where, result.Plan)
	if result.Report != nil {
		shown := *result.Report
		shown.Outputs = maps.Clone(shown.Outputs)
		for _, key := range shown.SensitiveOutputs {
			delete(shown.Outputs, key) // who shows a report hides these (EX-19)
		}
		a.sayJSON(where+": report", shown)
	}
	a.look(where)
}

// must stops the test where a step of it did not do what it is for.
func (a *aviary) must(where string, err error) {
	a.Helper()
	if err != nil {
		a.Fatalf("%s: %v", where, err)
	}
}

func (a *aviary) mustFail(where string, err error) {
	a.Helper()
	if err == nil {
		a.Fatalf("%s did not fail", where)
	}
}

func (a *aviary) refresh(where string, write, prune bool) {
	a.Helper()
	s, r := a.session()
	drift, err := a.engine.Refresh(a.Context(), engine.RefreshRequest{Snapshot: a.at.load(a.T), Owner: owner, Secrets: s, Write: write, Prune: prune,
		Partition: a.at.Partition, Store: a.at.Store, Locker: a.at.Locker, Recorder: r})
	a.sayError(where, err)
	a.sayJSON(where+": drift", drift)
	a.look(where)
}

func (a *aviary) adopt(where, text, node, id string, allowDrift, dry bool) {
	a.Helper()
	s, r := a.session()
	request := engine.ImportRequest{Compilation: a.compile(text), Partition: a.at.Partition, Store: a.at.Store, Locker: a.at.Locker,
		Owner: owner, Secrets: s, Recorder: r, Node: node, ExternalID: id, AllowDrift: allowDrift, DryRun: dry, Force: true}
	report, err := a.engine.Import(a.Context(), request)
	a.sayError(where, err)
	a.sayJSON(where+": import", report)
	a.look(where)
}

func (a *aviary) destroy(where string) error {
	a.Helper()
	s, _ := a.session()
	result, err := a.engine.Destroy(a.Context(), engine.DestroyRequest{Partition: a.at.Partition, Store: a.at.Store, Locker: a.at.Locker, Owner: owner, Secrets: s})
	a.sayResult(where, result, err)
	return err
}

const lastOne = `Account("z", name="z", password=SecretRef("last"), note=concat(a.token, b.echo, p.result), depends_on=[a, b])`

// life is what a state goes through: everything that an engine does with one.
func (a *aviary) life() {
	a.Helper()
	a.must("the network", a.apply("the network", network, nil, plan.OnFailureHalt))
	a.plan("plan of all", version("v1"), narrowed)
	a.must("create", a.apply("create", version("v1"), narrowed, plan.OnFailureHalt))
	if p := a.plan("plan of nothing", version("v1"), narrowed); p.HasPending() && a.m.name == "" {
		a.Errorf("the second plan has something to do: %v", pendingOf(p))
	}
	a.refresh("refresh in sync", false, false)
	for i, way := range []func(string) error{plainly, quoted, chained, joined, typed, panicking} {
		where := fmt.Sprintf("failure %d", i)
		a.world.failing(map[string]func(string) error{"create z": way, "update b": way})
		a.mustFail(where, a.apply(where+", at an update", version(where), narrowed, plan.OnFailureHalt))
		a.world.failing(map[string]func(string) error{"create z": way})
		a.mustFail(where, a.apply(where+", rolled back", version(where+" again", lastOne), narrowed, plan.OnFailureRollback))
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

func inMemory(t *testing.T) (place, func() string) {
	t.Helper()
	at := newPlace(t, "memory", memory.New())
	return at, func() string {
		s := at.load(t)
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
}

// inSQLite dumps the file and what lies beside it, the write-ahead log among them.
func inSQLite(t *testing.T) (place, func() string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "atlantide.db")
	store := sqlite.New(sqlite.Options{Path: path})
	t.Cleanup(func() { _ = store.Close() })
	return newPlace(t, path, store), func() string {
		files, err := os.ReadDir(dir)
		if err != nil || len(files) == 0 {
			t.Fatalf("%d files, %v", len(files), err)
		}
		var all strings.Builder
		for _, f := range files {
			data, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			all.Write(data)
		}
		return all.String()
	}
}

// inPostgres dumps every table of the schema, and what the server logged.
func inPostgres(t *testing.T) (place, func() string) {
	t.Helper()
	server, err := devenv.StartPostgres(t.Context(), devenv.PostgresOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	dsn, err := server.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	store, err := postgres.Open(t.Context(), dsn, postgres.Options{Installation: "canary"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return newPlace(t, "postgres", store), func() string { return dumped(t, dsn) }
}

func dumped(t *testing.T, dsn string) string {
	t.Helper()
	db, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(context.WithoutCancel(t.Context())) }()
	column := func(sql string, args ...any) []string {
		rows, err := db.Query(t.Context(), sql, args...)
		if err != nil {
			t.Fatal(err)
		}
		texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		return texts
	}
	tables := column("select table_name::text from information_schema.tables where table_schema = $1", postgres.DefaultSchema)
	if !slices.Contains(tables, "nodes") || !slices.Contains(tables, "outputs") {
		t.Fatalf("tables %v", tables)
	}
	var all []string
	for _, table := range tables {
		all = append(all, column("select to_jsonb(t)::text from "+pgx.Identifier{postgres.DefaultSchema, table}.Sanitize()+" t")...)
	}
	return strings.Join(all, "\n")
}

// TestCanaryEverywhere puts a secret of its own into every sensitive field of every type
// and into all that a config can make of a handle, lets a state go through everything that
// the engine does with one, and looks for the secrets in all that is published on the way
// (SC-16, SC-17, EX-41, N-39; ).
func TestCanaryEverywhere(t *testing.T) {
	for name, open := range map[string]func(*testing.T) (place, func() string){"memory": inMemory, "sqlite": inSQLite, "postgres": inPostgres} {
		t.Run(name, func(t *testing.T) {
			at, dump := open(t)
			a := newAviary(t, mutant{}, at, dump)
			a.life()
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
