package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// recordedConfig leaves a state with something of everything: resources that are read in
// whole, in part and not at all, outputs of two stacks, plain and sealed.
const recordedConfig = `from atlantide.core import Stack, output
from atlantide.providers.local import File, Null
from atlantide.providers.random import Password

with Stack("web", region="r"):
    page = File("page", path="out/page.txt", content="one\n")
    File("copy", path="out/copy.txt", content=page.checksum)
    password = Password("admin")
    output("path", page.path)
    output("password", password.result)
    output("ports", [80, 1.0, None, {"it's": "line\x1b[2J\n"}])
with Stack("docs", region="r"):
    File("readme", path="out/readme.txt", content="read\n")
    Null("ready", triggers={"a": "b"})
    output("path", "out/readme.txt")
`

// inRecordedFolder is a project whose config was applied.
func inRecordedFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, "infra.py", recordedConfig)
	if _, stderr, code := atlantide(t.Context(), "apply", "infra.py", "-y"); code != exitOK {
		t.Fatal(stderr)
	}
	return dir
}

// recordedState is the state of the project of the working directory.
func recordedState(t *testing.T) *state.Snapshot {
	t.Helper()
	a := newApp(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	p, err := a.project()
	if err != nil {
		t.Fatal(err)
	}
	at, err := a.target(t.Context(), p, &stateFlags{}, a.err)
	if err != nil {
		t.Fatal(err)
	}
	defer at.close()
	snapshot, err := at.load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

func remove(t *testing.T, name string) {
	t.Helper()
	if err := os.RemoveAll(name); err != nil {
		t.Fatal(err)
	}
}

// change edits, removes and breaks what was applied.
func change(t *testing.T) {
	t.Helper()
	write(t, "out/page.txt", "two\x1b[2J\n")
	remove(t, "out/copy.txt")
}

func breakReadme(t *testing.T) {
	t.Helper()
	remove(t, "out/readme.txt")
	mkdir(t, "out/readme.txt")
}

func TestRefresh(t *testing.T) {
	both, text := []string{formatText, formatJSON}, []string{formatText}
	for _, c := range []struct {
		name, reason string
		before       func(t *testing.T)
		forms        []string
		code         int
		args         []string
	}{
		{"clean", "what is as recorded is no drift, whatever its read covers", nil, both, exitOK, []string{"--detailed-exitcode"}},
		{"drift", "drift alone does not fail", change, text, exitOK, []string{"-p", "1"}},
		{"drift-detailed", "drift is exit code 2 where it is asked for", change, both, exitPending, []string{"--detailed-exitcode", "--verbose"}},
		{"write", "what is found is recorded", change, both, exitPending, []string{"--write", "--detailed-exitcode", "-y"}},
		{"failed", "what cannot be read fails the command, and hides nothing of the rest", func(t *testing.T) { change(t); breakReadme(t) }, both, exitError, []string{"--detailed-exitcode"}},
		{"empty", "an empty state is no error", func(t *testing.T) { remove(t, "atlantide.db") }, both, exitOK, []string{"--write", "--detailed-exitcode"}},
		{"prune-alone", "what would write nothing is refused", nil, both, exitError, []string{"--prune"}},
		{"parallelism", "a number is asked for", nil, text, exitError, []string{"-p", "0"}},
		{"argument", "it takes none", nil, text, exitError, []string{"infra.py"}},
	} {
		inEveryForm(t, "refresh", c.name, c.forms, func(t *testing.T) string {
			dir := inRecordedFolder(t)
			if c.before != nil {
				c.before(t)
			}
			return dir
		}, c.code, c.args)
	}
}

// A refresh without --write records nothing. With it, what is gone is planned again or, with
// --prune, forgotten; an output that moved is recorded and plans nothing (RF-9).
func TestWhatARefreshRecords(t *testing.T) {
	const page, copied = "web:local.File:page", "web:local.File:copy"
	for _, c := range []struct {
		reason      string
		args        []string
		wrote, gone bool // something is written; the row of what is gone is forgotten
	}{
		{"it only looks", nil, false, false},
		{"a row whose resource is gone stays, to be planned again", []string{"--write"}, true, false},
		{"and is forgotten on demand", []string{"--write", "--prune"}, true, true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			inRecordedFolder(t)
			change(t)
			before := recordedState(t)
			if _, stderr, code := atlantide(t.Context(), append([]string{"refresh"}, c.args...)...); code != exitOK {
				t.Fatal(stderr)
			}
			after := recordedState(t)
			if (after.Serial != before.Serial) != c.wrote {
				t.Errorf("serial %d, then %d", before.Serial, after.Serial)
			}
			moved := after.Rows[page].Outputs["checksum"] != before.Rows[page].Outputs["checksum"]
			if moved != c.wrote {
				t.Errorf("the edited file's row: %+v", after.Rows[page])
			}
			if row := after.Rows[copied]; (row == nil) != c.gone || !c.gone && (row.InputHash == "") != c.wrote {
				t.Errorf("the removed file's row: %+v", row)
			}
			for id, row := range after.Rows {
				if id != copied && row.InputHash != before.Rows[id].InputHash {
					t.Errorf("the row of %s is marked", id)
				}
			}
			if !c.wrote {
				return
			}
			if _, stderr, code := atlantide(t.Context(), "apply", "infra.py", "-y", "--replace", page); code != exitOK {
				t.Fatal(stderr)
			}
			stdout, _, code := atlantide(t.Context(), "refresh", "--detailed-exitcode")
			if code != exitOK || !strings.Contains(stdout, "no drift") {
				t.Errorf("exit code %d after the repair:\n%s", code, stdout)
			}
			if text, err := os.ReadFile(filepath.Join("out", "page.txt")); string(text) != "one\n" {
				t.Errorf("the edited file holds %q: %v", text, err)
			}
		})
	}
}

// A refresh that writes waits for its lock like any run, and one that only looks does not.
func TestRefreshAndTheLock(t *testing.T) {
	inRecordedFolder(t)
	a := newApp(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	p, err := a.project()
	if err != nil {
		t.Fatal(err)
	}
	at, err := a.target(t.Context(), p, &stateFlags{}, a.err)
	if err != nil {
		t.Fatal(err)
	}
	defer at.close()
	lock, err := at.Locker.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := lock.Release(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	if _, stderr, code := atlantide(t.Context(), "refresh"); code != exitOK {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	stdout, _, code := atlantide(t.Context(), "refresh", "--write", "--json")
	failed, _ := oneDocument(t, stdout)["error"].(map[string]any)
	if code != exitError || failed["kind"] != string(model.LockError) {
		t.Errorf("exit code %d: %s", code, stdout)
	}
}

// contentsProvider is a provider whose reads also tell what stands in a file, as those of a cloud
// tell how something is configured.
type contentsProvider struct{ model.Provider }

func (p contentsProvider) Read(ctx context.Context, r *model.Request) (model.Observed, bool, error) {
	live, found, err := p.Provider.Read(ctx, r)
	if path, ok := r.Inputs["path"].(string); ok && found && err == nil {
		text, err := os.ReadFile(filepath.Clean(path))
		if err != nil {
			return nil, false, err
		}
		live["content"] = string(text)
	}
	return live, found, err
}

type contentsRegistry struct{ engine.Registry }

func (r contentsRegistry) Provider(name string) (model.Provider, bool) {
	p, ok := r.Registry.Provider(name)
	return contentsProvider{p}, ok
}

// withContents does the work of a command where reads tell what stands in files. An error
// that the command itself has not told fails the test.
func withContents(t *testing.T, work func(a *app, w *workspace) error) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	a := newApp(strings.NewReader(""), &out, &errs)
	w, err := a.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.engine.Registry = contentsRegistry{w.engine.Registry}
	if err := work(a, w); err != nil {
		exit, ok := errors.AsType[silentError](err)
		if !ok {
			t.Fatal(err)
		}
		code = int(exit)
	}
	return out.String(), errs.String(), code
}

// secretFile is a config whose file holds a secret.
const secretFile = `from atlantide.core import SecretRef
from atlantide.providers.local import File

File("key", path="out/key.txt", content=SecretRef("app/key"))
File("page", path="out/page.txt", content="one")
`

// An input that differs is told with both values, unless a secret stands or stood in it; with
// --write it is recorded, and the next plan puts it right.
func TestRefreshOfInputs(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, "infra.py", secretFile)
	for _, args := range [][]string{{"secret", "set", "app/key", "hunter2"}, {"apply", "infra.py", "-y"}} {
		if _, stderr, code := atlantide(t.Context(), args...); code != exitOK {
			t.Fatal(stderr)
		}
	}
	write(t, "out/key.txt", "do-not-tell")
	write(t, "out/page.txt", "line\x1b[2J\n"+strings.Repeat("x", 100))
	for _, form := range []string{formatText, formatJSON} {
		c := &refreshCommand{detailed: true, write: form == formatJSON, format: formatFlags{json: form == formatJSON}}
		stdout, stderr, code := withContents(t, func(a *app, w *workspace) error { return a.refreshIn(t.Context(), c, w) })
		if code != exitPending || strings.Contains(stdout+stderr, "do-not-tell") || strings.Contains(stdout+stderr, "hunter2") || strings.Contains(stdout+stderr, "\x1b") {
			t.Errorf("exit code %d, a secret or a control character is told", code)
		}
		golden(t, dir, filepath.Join("testdata", "refresh-inputs."+form+".txt"), told(dir, stdout, stderr))
	}
	rows := recordedState(t).Rows
	if row := rows["default:local.File:page"]; row.InputHash != "" || !strings.HasPrefix(row.Properties["content"].(string), "line") {
		t.Errorf("%+v", row)
	}
	if row := rows["default:local.File:key"]; row.InputHash != "" || strings.Contains(fmt.Sprint(row), "do-not-tell") {
		t.Errorf("%+v", row)
	}
	stdout, _, code := atlantide(t.Context(), "plan", "infra.py")
	if code != exitOK || !strings.Contains(stdout, "Plan: 2 to change\n") || strings.Contains(stdout, "do-not-tell") {
		t.Errorf("exit code %d:\n%s", code, stdout)
	}
}

// The end of the command interrupts a refresh; it says what may be recorded by then.
func TestRefreshInterrupted(t *testing.T) {
	inRecordedFolder(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"refresh"}, {"refresh", "--write"}} {
		if stdout, stderr, code := atlantide(ctx, args...); code != exitInterrupted || !strings.HasPrefix(stderr, "interrupted: no") {
			t.Errorf("%v: exit code %d: %s%s", args, code, stdout, stderr)
		}
	}
}
