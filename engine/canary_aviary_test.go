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
	if many, ok := err.(interface{ Unwrap() []error }); ok {
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
	return censor{s, a.m}, censorRecorder{s.Recorder(), a.m}
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

// inPostgres dumps every table of the schema.
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
