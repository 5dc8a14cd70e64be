package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// planTexts are the configs of the plan tests by their file's name.
var planTexts = map[string]string{
	"infra.py": walkthrough,
	"envs.py":  twoEnvs,
	"empty.py": "",
	"many.py": `from atlantide.core import SecretRef, Stack, output
from atlantide.providers.local import File
from atlantide.providers.aws import S3Bucket

team = atlantide.input("team", "blue")
with Stack("web", region="r"):
    bucket = S3Bucket("assets", bucket="acme-assets", tags={"team": team, "note": "line\x1b[2J"})
    File("token", path="token", content=SecretRef("app/key"))
with Stack("docs", region="r"):
    File("readme", path="readme", content=bucket.arn)
output("arn", bucket.arn)
output("key", SecretRef("app/key"))
output("list", [team, 1, 1.0, None])
`,
	"policies.py": `from atlantide.policy import PolicyLevel, enforce
from atlantide.core import Stack
from atlantide.providers.aws import S3Bucket

enforce("require-tags", keys=["team", "owner"], level=PolicyLevel.MANDATORY if atlantide.input("strict", True) else PolicyLevel.ADVISORY)
with Stack("web", region="r"):
    S3Bucket("assets", bucket="acme-assets", tags={"team": "blue"})
    S3Bucket("logs", bucket="acme-logs", tags={"team": "blue", "owner": "me"})
`,
	"unknown.py": "from atlantide.policy import enforce\nfrom atlantide.providers.local import File\nenforce('require-tag')\nFile('a', path='a', content='')\n",
	"cycle.py":   "from atlantide.providers.local import File\na = File('a', path='a', content='')\nFile('b', path='b', content=a.nothing)\n",
}

func inPlanFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range planTexts {
		write(t, name, text)
	}
	write(t, "lax.toml", "strict = false\n")
	if _, stderr, code := atlantide(t.Context(), "secret", "set", "app/key", "hunter2"); code != exitOK {
		t.Fatal(stderr)
	}
	for _, name := range []string{"infra", "policies"} {
		if _, stderr, code := atlantide(t.Context(), "build", name+".py", "-o", name+".atlas"); code != exitOK {
			t.Fatal(stderr)
		}
	}
	return dir
}

var digestForm = regexp.MustCompile(`sha256:[0-9a-f]{64}`)

func TestPlan(t *testing.T) {
	dir := inPlanFolder(t)
	both, text := []string{formatText, formatJSON}, []string{formatText}
	for _, c := range []struct {
		name  string
		forms []string
		code  int
		args  []string
	}{
		{"first", both, exitOK, []string{"infra.py"}},
		{"artifact", text, exitPending, []string{"infra.atlas", "--detailed-exitcode"}},
		{"many", both, exitPending, []string{"many.py", "--detailed-exitcode", "-var", "team=red", "-var", "taem=x"}},
		{"many-skip", both, exitOK, []string{"many.py", "--secrets", "skip"}},
		{"narrowed", both, exitOK, []string{"envs.py", "-e", "prod"}},
		{"target", text, exitOK, []string{"many.py", "-t", "docs:*", "--replace", "web:aws.S3Bucket:assets"}},
		{"empty", both, exitOK, []string{"empty.py", "--detailed-exitcode"}},
		{"denied", both, exitError, []string{"policies.py", "--detailed-exitcode"}},
		{"denied-artifact", text, exitError, []string{"policies.atlas"}},
		{"warned", both, exitPending, []string{"policies.py", "--var-file", "lax.toml", "--detailed-exitcode"}},
		{"unknown-policy", both, exitError, []string{"unknown.py"}},
		{"no-such-target", both, exitError, []string{"infra.py", "-t", "demo:local.Fiel:*", "--detailed-exitcode"}},
		{"broken", text, exitError, []string{"cycle.py"}},
		{"mode", text, exitError, []string{"infra.py", "--secrets", "maybe"}},
		{"detail", text, exitError, []string{"infra.py", "--diff", "long"}},
		{"artifact-env", text, exitError, []string{"infra.atlas", "-e", "prod"}},
		{"fuel", text, exitError, []string{"infra.py", "--fuel", "0"}},
		{"state", text, exitOK, []string{"infra.py", "--state", "x.db"}},
	} {
		for _, form := range c.forms {
			t.Run(c.name+" as "+form, func(t *testing.T) {
				args := append([]string{"plan"}, c.args...)
				if form == formatJSON {
					args = append(args, "--json")
				}
				stdout := planIs(t, dir, "plan-"+c.name+"."+form, c.code, args...)
				if form == formatJSON {
					oneDocument(t, stdout)
				}
			})
		}
	}
	t.Run("values", func(t *testing.T) {
		oneDocument(t, planIs(t, dir, "plan-many-values."+formatJSON, exitOK, "plan", "many.py", "--json", "--values"))
		planIs(t, dir, "plan-values-alone."+formatText, exitError, "plan", "many.py", "--values")
	})
	if got, want := entries(t, "."), len(planTexts)+len([]string{"lax.toml", "infra.atlas", "policies.atlas", "atlantide.key", "atlantide.secrets", "atlantide.secrets.lock"}); len(got) != want {
		t.Errorf("a plan wrote something: %v", got)
	}
}

// planIs compares all that one plan tells, its digest apart, with a golden file.
func planIs(t *testing.T, dir, name string, code int, args ...string) (stdout string) {
	t.Helper()
	stdout, stderr, got := atlantide(t.Context(), args...)
	if got != code {
		t.Errorf("exit code %d, want %d", got, code)
	}
	if strings.Contains(stdout+stderr, "hunter2") || strings.Contains(stdout+stderr, "\x1b") {
		t.Error("a secret or a control character is told")
	}
	golden(t, dir, filepath.Join("testdata", name+".txt"), told(dir, stdout, stderr))
	return stdout
}

// inEveryForm runs one case of a command in each form, in a folder that is prepared anew, and
// compares what is told with its golden file.
func inEveryForm(t *testing.T, command, name string, forms []string, prepare func(*testing.T) (dir string), code int, args []string) {
	t.Helper()
	for _, form := range forms {
		t.Run(name+" as "+form, func(t *testing.T) {
			dir := prepare(t)
			all := append([]string{command}, args...)
			if form == formatJSON {
				all = append(all, "--json")
			}
			stdout := planIs(t, dir, command+"-"+name+"."+form, code, all...)
			if form == formatJSON {
				oneDocument(t, stdout)
			}
		})
	}
}

var tookForm = regexp.MustCompile(`\(\d+\.\ds\)`)

// told is all that a command wrote, but for what is another in every run: a digest, the
// time it took, and the folder of the project.
func told(dir, stdout, stderr string) string {
	text := fmt.Sprintf("stdout:\n%sstderr:\n%s", stdout, stderr)
	text = digestForm.ReplaceAllString(text, "sha256:…")
	text = tookForm.ReplaceAllString(text, "(0.0s)")
	return strings.ReplaceAll(text, dir+string(filepath.Separator), "PROJECT/")
}

// The digest is one and the same in text, in JSON, in another process and folder, and
// another one whenever another thing would be done.
func TestThePlannedDigest(t *testing.T) {
	inPlanFolder(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	digest := func(args ...string) string {
		t.Helper()
		stdout, stderr, code := atlantide(t.Context(), append([]string{"plan"}, args...)...)
		found := digestForm.FindAllString(stdout, -1)
		if code != exitOK || len(found) != 1 {
			t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
		}
		return found[0]
	}
	first := digest("many.py")
	if got := digest("many.py", "--json"); got != first {
		t.Errorf("in JSON %s, in text %s", got, first)
	}
	for _, other := range [][]string{{"many.py", "-var", "team=red"}, {"many.py", "-t", "web:*"}, {"many.py", "--replace", "web:*"}, {"infra.py"}} {
		if digest(other...) == first {
			t.Errorf("%v has the digest of another plan", other)
		}
	}
	t.Chdir(t.TempDir())
	write(t, "elsewhere.py", planTexts["many.py"]+"# a comment\n")
	// Another install has another key and another secret; a create tells neither.
	if _, stderr, code := atlantide(t.Context(), "secret", "set", "app/key", "other"); code != exitOK {
		t.Fatal(stderr)
	}
	cmd := exec.CommandContext(t.Context(), self, "plan", "elsewhere.py", "--json")
	cmd.Env = []string{asCommand + "=1", "TZ=Asia/Tokyo", "GOMAXPROCS=1", sharedCache(t)}
	out, err := cmd.Output()
	if got := digestForm.FindString(string(out)); err != nil || got != first {
		t.Errorf("%v; elsewhere %s, here %s", err, got, first)
	}
}

// TestPlanOfWhatIsRecorded shows what only a recorded state brings about: updates, value by
// value, a refused plan, and unchanged resources.
func TestPlanOfWhatIsRecorded(t *testing.T) {
	const before = `from atlantide.core import Lifecycle, Stack
from atlantide.providers.local import File
from atlantide.providers.aws import S3Bucket, S3BucketPolicy, allow
with Stack("web", region="r"):
    S3Bucket("assets", bucket="acme-assets", tags={"team": "blue", "old": "x"})
    S3BucketPolicy("read", bucket="acme-assets", statements=[allow("s3:GetObject", on="*")])
    File("page", path="page.txt", content="one\ntwo\nthree\n")
    File("kept", path="kept.txt", content="")
    File("guarded", path="guarded.txt", content="", lifecycle=Lifecycle(prevent_destroy=True))
`
	after := strings.NewReplacer(`"blue", "old": "x"`, `"red"`, `s3:GetObject"`, `s3:GetObject", "s3:PutObject"`, `two\n`, `2\n`).Replace(before)
	refused := strings.Replace(after, "guarded.txt", "moved.txt", 1)
	dir := t.TempDir()
	t.Chdir(dir)
	both, text := []string{formatText, formatJSON}, []string{formatText}
	for _, c := range []struct {
		name, config string
		forms        []string
		view         planView
		detailed     bool
		code         int
	}{
		{"changed-short", after, text, planView{}, false, exitOK},
		{"changed-full", after, both, planView{diff: "full"}, true, exitPending},
		{"changed-none", after, text, planView{diff: "none"}, true, exitPending},
		{"idle", before, both, planView{}, true, exitOK},
		{"refused", refused, both, planView{diff: "none"}, true, exitError},
	} {
		for _, form := range c.forms {
			t.Run(c.name+" as "+form, func(t *testing.T) {
				stdout, stderr, code := planAgainst(t, before, c.config, c.view, form == formatJSON, c.detailed)
				if code != c.code {
					t.Errorf("exit code %d, want %d", code, c.code)
				}
				if form == formatJSON {
					oneDocument(t, stdout)
				}
				told := digestForm.ReplaceAllString(fmt.Sprintf("stdout:\n%sstderr:\n%s", stdout, stderr), "sha256:…")
				golden(t, dir, filepath.Join("testdata", "plan-"+c.name+"."+form+".txt"), told)
			})
		}
	}
}

// planAgainst prints the plan of a config against the state that another one left.
func planAgainst(t *testing.T, was, is string, view planView, asJSON, detailed bool) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	a := newApp(strings.NewReader(""), &out, &errs)
	w, err := a.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	compile := func(text string) *evaluated {
		c, err := w.engine.Compile(t.Context(), engine.Source{Filename: "infra.py", Text: text}, engine.CompileOptions{Source: w.tree})
		if err != nil {
			t.Fatal(err)
		}
		return &evaluated{Compilation: c, Config: "infra.py"}
	}
	snapshot := &state.Snapshot{Rows: map[string]*state.Row{}}
	old := compile(was)
	for i := range old.Document.Nodes {
		n := &old.Document.Nodes[i]
		snapshot.Rows[n.ID] = &state.Row{
			ID: n.ID, Type: n.Type, Kind: n.Kind, Provider: n.Provider, ProviderVersion: n.ProviderVersion, InputHash: old.Hashes[n.ID],
			Properties: n.Properties, Dependencies: n.Dependencies, PreventDestroy: n.PreventDestroy, Status: state.StatusCreated,
		}
	}
	e := compile(is)
	p, refused := w.engine.Plan(t.Context(), engine.PlanRequest{Compilation: e.Compilation, Snapshot: snapshot, OnFailure: plan.OnFailureRollback})
	if p == nil {
		t.Fatal(refused)
	}
	view.values = asJSON
	shown := &planned{evaluated: e, Plan: p, label: "atlantide.db", refused: refused}
	if err = a.printPlan(shown, &view, asJSON); err == nil {
		err = shown.exit(detailed)
	}
	var exit silentError
	switch {
	case err == nil:
		code = exitOK
	case errors.As(err, &exit):
		code = int(exit)
	default:
		code = a.fail(t.Context(), a.newPlan(), nil, err)
	}
	return out.String(), errs.String(), code
}

// What a plan shows is coloured on a terminal, and its changes are told place by place.
func TestPlanOnATerminal(t *testing.T) {
	s := screen{Writer: io.Discard, colour: true, width: 80}
	if got := s.paint(plan.PartDelete, "- delete x"); got != "\x1b[31m- delete x\x1b[0m" {
		t.Errorf("%q", got)
	}
	for _, c := range []struct {
		view planView
		on   screen
		want plan.Detail
	}{
		{planView{}, s, plan.DetailFull},
		{planView{}, screen{}, plan.DetailShort},
		{planView{diff: "none"}, s, plan.DetailNone},
		{planView{diff: "full"}, screen{}, plan.DetailFull},
	} {
		if got := c.view.detail(c.on); got != c.want {
			t.Errorf("%+v: %s, want %s", c.view, got, c.want)
		}
	}
}
