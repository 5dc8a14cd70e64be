package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// importedConfig declares what inImportFolder finds in part.
const importedConfig = `from atlantide.core import Stack
from atlantide.providers.aws import Vpc
from atlantide.providers.local import File, Null
from atlantide.providers.random import Password

with Stack("web", region="r"):
    page = File("page", path="out/page.txt", content="one\n")
    File("copy", path="out/copy.txt", content=page.checksum)
    File("absent", path="out/absent.txt", content="")
    Password("admin")
    Null("ready", triggers={"a": "b"})
with Stack("net", region="r"):
    Vpc("main", cidr_block="10.0.0.0/16")
`

// inImportFolder is a project with resources that nothing records.
func inImportFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, "infra.py", importedConfig)
	write(t, "atlantide.toml", "config = 'infra.py'\n")
	write(t, "out/page.txt", "one\n")
	write(t, "out/copy.txt", "2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806")
	return dir
}

func importPage(t *testing.T) {
	t.Helper()
	if _, stderr, code := atlantide(t.Context(), "import", "web:local.File:page"); code != exitOK {
		t.Fatal(stderr)
	}
}

func TestImport(t *testing.T) {
	both, text := []string{formatText, formatJSON}, []string{formatText}
	for _, c := range []struct {
		name, reason string
		before       func(t *testing.T)
		forms        []string
		code         int
		args         []string
	}{
		{"list", "without a resource, what could be imported", importPage, both, exitOK, nil},
		{"one", "a resource that is as the config says", nil, both, exitOK, []string{"web:local.File:page", "--verbose"}},
		{"glob", "dependencies first, and one refusal stops no other", nil, both, exitError, []string{"web:local.File:*"}},
		{"dry-run", "later requests see earlier ones as if recorded", nil, both, exitError, []string{"web:local.File:*", "--dry-run", "-c", "infra.py"}},
		{"absent", "what does not exist is not imported", nil, both, exitError, []string{"web:local.File:absent"}},
		{"dependency", "what it refers to comes first", nil, text, exitError, []string{"web:local.File:copy"}},
		{"tracked", "what is recorded already is no failure", importPage, both, exitOK, []string{"web:local.File:page"}},
		{"forced", "and is read again on demand", importPage, text, exitOK, []string{"web:local.File:page", "--force"}},
		{"undeclared", "the config has to declare it", nil, text, exitError, []string{"web:local.File:other"}},
		{"id-of-a-name", "an id for what is found by its name is refused", nil, text, exitError, []string{"web:local.File:page", "x"}},
		{"no-id", "what is found by an id needs one", nil, text, exitError, []string{"net:aws.Vpc:main"}},
		{"no-match", "a pattern that matches nothing is named", nil, both, exitError, []string{"web:local.Fiel:*"}},
		{"id-of-many", "an id belongs to one resource", nil, text, exitError, []string{"web:local.File:*", "x"}},
		{"empty-node", "an empty pattern is an accident", nil, text, exitError, []string{""}},
		{"id-field", "a field without an id says nothing", nil, text, exitError, []string{"web:local.File:page", "--id-field", "path"}},
		{"config", "the config that is named is read", nil, text, exitError, []string{"-c", "nowhere.py"}},
		{"input", "inputs are those of an evaluation", nil, both, exitOK, []string{"web:local.File:page", "-var", "taem=x"}},
	} {
		inEveryForm(t, "import", c.name, c.forms, func(t *testing.T) string {
			dir := inImportFolder(t)
			if c.before != nil {
				c.before(t)
			}
			return dir
		}, c.code, c.args)
	}
}

// What is imported is recorded as if an apply had made it: the next plan leaves it alone. A
// dry run and a refusal record nothing.
func TestWhatAnImportRecords(t *testing.T) {
	for _, c := range []struct {
		reason   string
		args     []string
		code     int
		recorded []string // rows
	}{
		{"it is as declared", []string{"web:local.File:page"}, exitOK, []string{"web:local.File:page"}},
		{"a dry run", []string{"web:local.File:page", "--dry-run"}, exitOK, nil},
		{"it does not exist", []string{"web:local.File:absent"}, exitError, nil},
		{"what can be, is", []string{"web:*"}, exitError, []string{"web:local.File:copy", "web:local.File:page", "web:local.Null:ready"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			inImportFolder(t)
			if _, stderr, code := atlantide(t.Context(), append([]string{"import"}, c.args...)...); code != c.code {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			var rows []string
			for id, row := range recordedState(t).Rows {
				if rows = append(rows, id); row.Status != state.StatusCreated {
					t.Errorf("%s is %s", id, row.Status)
				}
			}
			slices.Sort(rows)
			if diff := cmp.Diff(c.recorded, rows); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			stdout, stderr, code := atlantide(t.Context(), "plan", "--json")
			if code != exitOK {
				t.Fatal(stderr)
			}
			for _, change := range oneDocument(t, stdout)["changes"].([]any) {
				change := change.(map[string]any)
				if id := change["node_id"].(string); slices.Contains(rows, id) == (change["action"] != "noop") {
					t.Errorf("the next plan has %v", change)
				}
			}
		})
	}
}

// Once everything is recorded, nothing is left to list.
func TestNothingLeftToImport(t *testing.T) {
	dir := inRecordedFolder(t)
	for _, form := range []string{formatText, formatJSON} {
		args := []string{"import", "-c", "infra.py"}
		if form == formatJSON {
			args = append(args, "--json")
		}
		stdout := planIs(t, dir, "import-nothing."+form, exitOK, args...)
		if form == formatJSON && len(oneDocument(t, stdout)["importable"].([]any)) != 0 {
			t.Errorf("%s", stdout)
		}
	}
}

// What is not as declared is told with both values, unless one is of a secret. It is refused or,
// on demand, imported for the next plan to update.
func TestImportOfWhatDiffers(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, "infra.py", secretFile)
	write(t, "out/key.txt", "do-not-tell")
	write(t, "out/page.txt", "line\x1b[2J\n")
	if _, stderr, code := atlantide(t.Context(), "secret", "set", "app/key", "hunter2"); code != exitOK {
		t.Fatal(stderr)
	}
	for _, step := range []struct {
		name    string
		command importCommand
		code    int
		rows    int
	}{
		{"refused", importCommand{}, exitError, 0},
		{"would-drift", importCommand{allowDrift: true, dryRun: true}, exitOK, 0},
		{"drifted", importCommand{allowDrift: true, verbose: true}, exitOK, 2},
	} {
		for _, form := range []string{formatText, formatJSON} {
			c := step.command
			c.node, c.force, c.format.json = "local.File:*", true, form == formatJSON
			stdout, stderr, code := withContents(t, func(a *app, w *workspace) error {
				e, err := w.evaluate(t.Context(), &configFlags{}, a.newImport().Flags(), "infra.py")
				if err != nil {
					return err
				}
				return a.importInto(t.Context(), &c, w, e)
			})
			if code != step.code || strings.Contains(stdout+stderr, "do-not-tell") || strings.Contains(stdout+stderr, "hunter2") || strings.Contains(stdout+stderr, "\x1b") {
				t.Errorf("exit code %d, or a secret or a control character is told", code)
			}
			golden(t, dir, filepath.Join("testdata", "import-"+step.name+"."+form+".txt"), told(dir, stdout, stderr))
			if rows := recordedState(t).Rows; len(rows) != step.rows {
				t.Errorf("%s: %d rows are recorded", step.name, len(rows))
			}
		}
	}
	stdout, _, code := atlantide(t.Context(), "plan", "infra.py")
	if code != exitOK || !strings.Contains(stdout, "Plan: 2 to change\n") {
		t.Errorf("exit code %d:\n%s", code, stdout)
	}
}
