package engine_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/providers/aws"
	"github.com/atlantide-org/atlantide-operator/providers/random"
)

// documented is the walkthrough of the documents in the variant that they build (GR-4a).
const documented = `
from atlantide.core import Stack, output
from atlantide.providers.local import File

with Stack("demo", region="eu-north-1"):
    greeting = File("greeting", path="out/greeting.txt", content="hello world")
    receipt = File("receipt", path="out/receipt.txt", content=greeting.checksum)

output("greeting_checksum", greeting.checksum)
`

func (d *desk) compileText(text string, envs ...string) *ir.Compilation {
	d.Helper()
	c, err := d.engine.Compile(d.Context(), engine.Source{Filename: "infra.py", Text: text}, engine.CompileOptions{Envs: envs})
	if err != nil {
		d.Fatal(err)
	}
	return c
}

func (d *desk) mustBuild(c *ir.Compilation) []byte {
	d.Helper()
	data, err := d.engine.Build(c, engine.BuildOptions{})
	if err != nil {
		d.Fatal(err)
	}
	return data
}

func (d *desk) mustLoad(data []byte) *ir.Compilation {
	d.Helper()
	c, err := d.engine.LoadArtifact(data, engine.ArtifactOptions{})
	if err != nil {
		d.Fatal(err)
	}
	return c
}

func TestTheDocumentedArtifact(t *testing.T) {
	d := newDesk(t)
	c := d.compileText(documented)
	if want := "f9ecb89e5ade7a9fca7a0371997f06567fc3cf28e80ab5c03d39961f050c128a"; c.Hash != want {
		t.Errorf("IR hash %s, want %s", c.Hash, want)
	}
	sum := sha256.Sum256(d.mustBuild(c))
	if got, want := hex.EncodeToString(sum[:]), "6f10115bf10968dfda4081c19041a92183081875ee1f6370f2f8fbed9ba2292c"; got != want {
		t.Errorf("checksum of the file %s, want %s", got, want)
	}
}

// Every recorded file passes with the built-in providers, and what is loaded from it
// builds the same file.
func TestEveryRecordedArtifactIsTaken(t *testing.T) {
	d := newDesk(t)
	d.build(aws.New(), random.New(rand.Reader, time.Now))
	files, err := filepath.Glob("testdata/conformance/*/*/artifact.atlas")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c, err := d.engine.LoadArtifact(data, engine.ArtifactOptions{})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if again := d.mustBuild(c); !bytes.Equal(data, again) {
			t.Errorf("%s comes back as\n%s", file, again)
		}
	}
}

// Everything that an artifact has beside its nodes comes through (cli.md 21, 152).
func TestAnArtifactIsWhatItWasBuiltFrom(t *testing.T) {
	d := newDesk(t)
	c := d.compileText(`
from atlantide.core import Config, EnvSchema, Lifecycle, Stack, output
from atlantide.policy import enforce, PolicyLevel
from atlantide.providers.local import File
class S(EnvSchema):
    pass
enforce("require-tags", level=PolicyLevel.ADVISORY, types={"local.File", "aws.Vpc"}, keys=["a"])
for e in Config(S, envs={"dev": {"region": "r"}, "prod": {"region": "r"}, "qa": {"region": "r"}}).envs():
    with Stack(e.name, config=e):
        a = File("a", path=e.name, content="x", lifecycle=Lifecycle(aliases=["old"], prevent_destroy=True, ignore_changes=["path"]))
        b = File("b", path=e.name + "b", content="x", depends_on=[a])
        output("z", a.checksum)
        output("y", 1.0)
`, "prod", "dev")
	pins := map[string]string{"acme": strings.Repeat("0a", 20)}
	data, err := d.engine.Build(c, engine.BuildOptions{ComponentPins: pins})
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.engine.Verify(data, engine.ArtifactOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(pins, a.ComponentPins); diff != "" {
		t.Errorf("component pins (-built +read):\n%s", diff)
	}
	loaded := d.mustLoad(data)
	places := cmpopts.IgnoreFields(ir.PolicyBinding{}, "At") // a file says nothing of the source
	for what, pair := range map[string][2]any{
		"document": {c.Document.Stored(), loaded.Document.Stored()},
		"hash":     {c.Hash, loaded.Hash},
		"hashes":   {c.Hashes, loaded.Hashes},
		"policies": {c.Policies, loaded.Policies},
		"declared": {c.EnvsDeclared, loaded.EnvsDeclared},
		"selected": {c.EnvsSelected, loaded.EnvsSelected},
		"pins":     {c.Pins, loaded.Pins},
		"outputs":  {outputMap(c), outputMap(loaded)},
	} {
		if diff := cmp.Diff(pair[0], pair[1], places); diff != "" {
			t.Errorf("%s (-compiled +loaded):\n%s", what, diff)
		}
	}
	if all := d.compileText(documented); bytes.Contains(d.mustBuild(all), []byte(`"envs`)) {
		t.Error("environments in the file of a config without any")
	}
}

func outputMap(c *ir.Compilation) map[string]any {
	outputs := map[string]any{}
	for _, o := range c.Outputs {
		outputs[o.Key] = o.Value
	}
	return outputs
}

// Where and how a file is built leaves no trace in it.
func TestBuildIsTheSameEverywhere(t *testing.T) {
	j := job{Text: documented + `
with Stack("other", region="r"):
    for i in range(50):
        File(f"f{i}", path=f"{i}", content="é😀" * (i % 3), depends_on=[greeting, receipt])
output("all", {"b": 1, "a": [1.5, None, "ü"]})
`, Build: true}
	d := newDesk(t)
	here := d.mustBuild(d.compileText(j.Text))
	if again := d.mustBuild(d.compileText(j.Text)); !bytes.Equal(here, again) {
		t.Error("built twice, two files")
	}
	for reason, c := range map[string]child{
		"another time zone":        {env: map[string]string{"TZ": "Pacific/Chatham"}},
		"another locale":           {env: map[string]string{"LANG": "tr_TR.UTF-8", "LC_ALL": "tr_TR.UTF-8"}},
		"another umask":            {umask: "0777"},
		"another folder":           {dir: t.TempDir()},
		"one processor":            {env: map[string]string{"GOMAXPROCS": "1"}},
		"more than there are":      {env: map[string]string{"GOMAXPROCS": "16"}},
		"a collector that hurries": {env: map[string]string{"GOGC": "5"}},
	} {
		got := c.run(t, j)[0]
		if got.Error != "" || !bytes.Equal(here, got.Artifact) {
			t.Errorf("%s: %s, another file:\n%s", reason, got.Error, cmp.Diff(string(here), string(got.Artifact)))
		}
	}
}

// What is deployed is what was built: references resolve, and a second time there is
// nothing to do (T-129a). The plan of the artifact is the one of the config.
func TestDeploy(t *testing.T) {
	d := newDesk(t)
	data := d.mustBuild(d.compileText(documented))
	deploy := func() *engine.Result {
		t.Helper()
		res, err := d.engine.Apply(t.Context(), engine.ApplyRequest{
			Compilation: d.mustLoad(data), Partition: partition, Store: d.store, Locker: d.locker, Owner: owner, OnFailure: plan.OnFailureHalt,
		})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	digest := func(c *ir.Compilation) string {
		t.Helper()
		p, err := d.engine.Plan(t.Context(), engine.PlanRequest{Compilation: c, Snapshot: d.snapshot(), Owner: owner, OnFailure: plan.OnFailureHalt})
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.ChangesetDigest()
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if a, b := digest(d.compileText(documented)), digest(d.mustLoad(data)); a != b {
		t.Errorf("the config plans %s, its artifact %s", a, b)
	}
	deploy()
	sum := d.snapshot().Outputs["default:greeting_checksum"].Value.(string)
	d.wantFiles(map[string]string{"out/greeting.txt": "hello world", "out/receipt.txt": sum})
	if res := deploy(); res.Report != nil {
		t.Errorf("the second time it did %+v", res.Report)
	}
}

// edited builds the documented config, changes the file and, with rehash, makes its hash
// right again, as who wrote it by hand would.
func (d *desk) edited(rehash bool, edit func(file map[string]any)) []byte {
	d.Helper()
	var file map[string]any
	if err := json.Unmarshal(d.mustBuild(d.compileText(documented)), &file); err != nil {
		d.Fatal(err)
	}
	edit(file)
	if rehash {
		canonical, err := ir.CanonicalJSON(hashedIR(file))
		if err != nil {
			d.Fatal(err)
		}
		sum := sha256.Sum256(canonical)
		file["ir_hash"] = hex.EncodeToString(sum[:])
	}
	data, err := json.Marshal(file)
	if err != nil {
		d.Fatal(err)
	}
	return data
}

// hashedIR is the IR of a file without what is outside of its hash (GR-3).
func hashedIR(file map[string]any) any {
	stored := maps.Clone(file["ir"].(map[string]any))
	var nodes []any
	for _, n := range stored["nodes"].([]any) {
		n := maps.Clone(n.(map[string]any))
		delete(n, "aliases")
		delete(n, "depends_on")
		nodes = append(nodes, n)
	}
	stored["nodes"] = nodes
	return stored
}

func TestArtifactsThatNobodyBuilt(t *testing.T) {
	const greeting, receipt = "demo:local.File:greeting", "demo:local.File:receipt"
	node := func(file map[string]any, i int) map[string]any {
		return file["ir"].(map[string]any)["nodes"].([]any)[i].(map[string]any)
	}
	properties := func(file map[string]any, i int) map[string]any { return node(file, i)["properties"].(map[string]any) }
	for _, tc := range []struct {
		reason string
		rehash bool
		edit   func(file map[string]any)
		kind   model.Kind
		says   string
	}{
		{"tampered (T-129b)", false, func(f map[string]any) { properties(f, 0)["content"] = "x" }, model.ArtifactError, "changed after it was built"},
		{"order that is outside of the hash", false, func(f map[string]any) { node(f, 0)["depends_on"] = []any{receipt} }, model.ArtifactError, "dependency cycle"},
		{"a node that waits for itself", false, func(f map[string]any) { node(f, 0)["depends_on"] = []any{greeting} }, model.ArtifactError, "dependency cycle"},
		{"references in a circle", true, func(f map[string]any) {
			properties(f, 0)["content"] = map[string]any{"$ref": receipt + "#checksum"}
			node(f, 0)["dependencies"] = []any{receipt}
		}, model.ArtifactError, "dependency cycle"},
		{"an incompatible pin (T-129c)", true, func(f map[string]any) {
			f["provider_pins"] = map[string]any{"local": "1.5.0"}
			node(f, 0)["provider_version"], node(f, 1)["provider_version"] = "1.5.0", "1.5.0"
		}, model.ArtifactError, "not compatible"},
		{"a pin that says less than the nodes", true, func(f map[string]any) { node(f, 0)["provider_version"] = "9.0.0" }, model.ArtifactError, "compiled with"},
		{"a provider that is not here", false, func(f map[string]any) { f["provider_pins"] = map[string]any{"ghost": "1.0.0", "local": "1.0.0"} },
			model.RegistryError, "ghost"},
		{"a field that the type does not have", true, func(f map[string]any) { properties(f, 0)["mode"] = "4755" }, model.ArtifactError, `"mode"`},
		{"a value of another type", true, func(f map[string]any) { properties(f, 0)["content"] = []any{"x"} }, model.ArtifactError, `"content"`},
		{"an output of the provider as an input", true, func(f map[string]any) { properties(f, 0)["checksum"] = "x" }, model.ArtifactError, `"checksum"`},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			d := newDesk(t)
			data := d.edited(tc.rehash, tc.edit)
			a, err := d.engine.Verify(data, engine.ArtifactOptions{})
			wantKind(t, err, tc.kind, tc.says)
			c, again := d.engine.LoadArtifact(data, engine.ArtifactOptions{})
			if a != nil || c != nil || again == nil || again.Error() != err.Error() {
				t.Errorf("verified %v, loaded %v with %v", a, c, again)
			}
			if model.ClassOf(err) != model.ClassUser {
				t.Errorf("class %v; only the user can mend it", model.ClassOf(err))
			}
		})
	}
}

func TestBuildRefuses(t *testing.T) {
	d := newDesk(t)
	c := d.compileText(documented)
	_, err := d.engine.Build(c, engine.BuildOptions{MaxBytes: 500})
	wantKind(t, err, model.ArtifactError, "more than 500 bytes")
	_, err = d.engine.Build(c, engine.BuildOptions{ComponentPins: map[string]string{"acme": "main"}})
	wantKind(t, err, model.ArtifactError, "acme")
	_, err = d.engine.LoadArtifact(d.mustBuild(c), engine.ArtifactOptions{Limits: ir.ArtifactLimits{MaxBytes: 500}})
	wantKind(t, err, model.ArtifactError, "more than the 500")
}

// A rule of a type that trips over what nobody could have written does not end the
// process.
func TestARuleThatPanicsRefusesTheArtifact(t *testing.T) {
	d := newDesk(t)
	c := d.compileText(documented)
	data := d.mustBuild(c)
	file := *d.engine.Registry.Schemas().Type("local.File")
	file.Rules = []model.Rule{{Fields: []string{"path"}, Holds: func(map[string]model.Value) bool { panic("boom") }}}
	schemas, err := model.NewSchemas(&model.ProviderSchema{Name: "local", Version: "1.0.0", Types: []*model.ResourceType{&file}})
	if err != nil {
		t.Fatal(err)
	}
	d.engine.Registry = otherSchemas{d.engine.Registry, schemas}
	_, err = d.engine.Verify(data, engine.ArtifactOptions{})
	wantKind(t, err, model.ArtifactError, "boom")
}

type otherSchemas struct {
	engine.Registry
	schemas *model.Schemas
}

func (r otherSchemas) Schemas() *model.Schemas { return r.schemas }

// Secrets are handles in a file, at any depth (SC-17).
func TestAnArtifactHoldsHandles(t *testing.T) {
	d := newDesk(t)
	data := d.mustBuild(d.compileText(`
from atlantide.core import SecretRef, Stack, StackReference, concat, output
from atlantide.providers.local import File
with Stack("s", region="r"):
    File("a", path="a", content=concat("x", SecretRef("token", provider="vault")))
    output("o", [SecretRef("token"), StackReference("other").output("url")])
`))
	for _, want := range []string{`"provider": "vault"`, `"provider": null`, `"$stack_output": "other:url"`} {
		if !bytes.Contains(data, []byte(want)) {
			t.Errorf("no %s in\n%s", want, data)
		}
	}
	if diff := cmp.Diff(string(data), string(d.mustBuild(d.mustLoad(data)))); diff != "" {
		t.Errorf("built again (-want +got):\n%s", diff)
	}
}

func TestMarksOfAPlan(t *testing.T) {
	d := newDesk(t)
	d.mustApply(walkthrough)
	c := d.compile(strings.ReplaceAll(walkthrough, "out/greeting.txt", "elsewhere.txt") + "\nFile('new', path='new', content='')")
	d.mustApply(walkthrough + "\nFile('gone', path='gone', content='')")
	p, err := d.engine.Plan(t.Context(), engine.PlanRequest{Compilation: c, Snapshot: d.snapshot(), Owner: owner, OnFailure: plan.OnFailureHalt})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]graph.Mark{
		"s:local.File:greeting": graph.MarkReplace, "s:local.File:receipt": graph.MarkUpdate,
		"s:local.File:new": graph.MarkCreate, "s:local.File:gone": graph.MarkDelete,
	}
	if diff := cmp.Diff(want, engine.Marks(p)); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
	g, err := d.engine.Graph(c)
	if err != nil {
		t.Fatal(err)
	}
	if text := graph.Mermaid(g, engine.Marks(p)); !strings.Contains(text, "s:local.File:gone") {
		t.Errorf("what is to be deleted is not drawn:\n%s", text)
	}
}
