package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
)

// appliedTexts are the configs of the tests of runs by their file's name.
var appliedTexts = map[string]string{
	"infra.py": `from atlantide.core import SecretRef, Stack, concat, output
from atlantide.providers.local import File
from atlantide.providers.random import Password

with Stack("demo", region="eu-north-1"):
    greeting = File("greeting", path="out/greeting.txt", content=atlantide.input("text", "hello"))
    File("receipt", path="out/receipt.txt", content=concat("sum ", greeting.checksum))
    password = Password("db", length=20)
    File("token", path=atlantide.input("token", "out/token"), content=SecretRef("app/key"))
output("sum", greeting.checksum)
output("password", password.result)
`,
	"guarded.py": `from atlantide.core import Lifecycle, Stack
from atlantide.providers.local import File

with Stack("web", region="r"):
    File("kept", path="kept", content="x", lifecycle=Lifecycle(prevent_destroy=True))
with Stack("demo", region="r"):
    File("other", path="other", content="x")
`,
	"unguarded.py": `from atlantide.core import Stack
from atlantide.providers.local import File

with Stack("web", region="r"):
    File("kept", path="kept", content="x")
with Stack("demo", region="r"):
    File("other", path="other", content="x")
`,
	"failing.py": `from atlantide.core import Stack
from atlantide.providers.local import File

with Stack("demo", region="r"):
    first = File("first", path="first", content="x")
    File("second", path="taken/below", content=first.checksum)
`,
	"none.py": "",
}

func inAppliedFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range appliedTexts {
		write(t, name, text)
	}
	write(t, "taken", "a file where a folder would be")
	if _, stderr, code := atlantide(t.Context(), "secret", "set", "app/key", "hunter2"); code != exitOK {
		t.Fatal(stderr)
	}
	return dir
}

// TestRuns goes through the life of a few stacks, and compares all that is told.
func TestRuns(t *testing.T) {
	dir := inAppliedFolder(t)
	for _, c := range []struct {
		name string
		code int
		args []string
	}{
		{"empty-destroy", exitOK, []string{"destroy", "-y"}},
		{"unasked", exitError, []string{"apply", "infra.py"}},
		{"unasked-json", exitError, []string{"apply", "infra.py", "--json"}},
		{"dry", exitOK, []string{"apply", "infra.py", "--dry-run"}},
		{"dry-json", exitOK, []string{"apply", "infra.py", "--dry-run", "--json"}},
		{"first", exitOK, []string{"apply", "infra.py", "-y"}},
		{"nothing", exitOK, []string{"apply", "infra.py"}},
		{"nothing-json", exitOK, []string{"apply", "infra.py", "--json"}},
		{"steady", exitOK, []string{"plan", "infra.py", "--detailed-exitcode"}},
		{"update-json", exitOK, []string{"apply", "infra.py", "-y", "-var", "text=bye", "--json"}},
		{"replace", exitOK, []string{"apply", "infra.py", "-y", "-var", "text=bye", "-var", "token=out/moved", "-p", "1"}},
		{"target", exitOK, []string{"apply", "infra.py", "-y", "-t", "demo:local.File:greeting"}},
		{"too-many", exitError, []string{"apply", "infra.py", "-p", "257"}},
		{"expect-short", exitError, []string{"apply", "infra.py", "-y", "--expect", "sha256:00"}},
		{"expect-other", exitError, []string{"apply", "infra.py", "-y", "--expect", "sha256:" + strings.Repeat("0", 64)}},
		{"failure-mode", exitError, []string{"apply", "infra.py", "--on-failure", "maybe"}},
		{"build", exitOK, []string{"build", "infra.py", "-o", "infra.atlas"}},
		{"deploy-dry", exitPending, []string{"deploy", "infra.atlas", "--dry-run", "--detailed-exitcode"}},
		{"deploy", exitOK, []string{"deploy", "infra.atlas", "-y"}},
		{"deploy-again-json", exitOK, []string{"deploy", "infra.atlas", "--json"}},
		{"deploy-config", exitError, []string{"deploy", "infra.py", "-y"}},
		{"preview", exitError, []string{"destroy", "-t", "demo:local.File:greeting"}},
		{"destroy-target", exitOK, []string{"destroy", "-y", "-t", "demo:local.File:greeting"}},
		{"destroy", exitOK, []string{"destroy", "-y"}},
		{"guarded", exitOK, []string{"apply", "guarded.py", "-y"}},
		{"guard-refuses", exitError, []string{"destroy", "-y"}},
		{"guard-refuses-apply", exitError, []string{"apply", "none.py", "-y"}},
		{"destroy-env", exitOK, []string{"destroy", "-y", "-e", "demo"}},
		{"unguard", exitOK, []string{"apply", "unguarded.py", "-y", "-t", "web:*"}},
		{"gone", exitOK, []string{"destroy", "-y"}},
		{"failing", exitError, []string{"apply", "failing.py", "-y"}},
		{"failing-halt-json", exitError, []string{"apply", "failing.py", "-y", "--on-failure", "halt", "--json"}},
	} {
		t.Run(c.name, func(t *testing.T) { planIs(t, dir, "run-"+c.name, c.code, c.args...) })
	}
}

// What one plan prints, an apply, a deploy and a destroy can demand.
func TestExpect(t *testing.T) {
	inAppliedFolder(t)
	digestOf := func(args ...string) string {
		t.Helper()
		stdout, stderr, _ := atlantide(t.Context(), args...)
		found := digestForm.FindString(stdout)
		if found == "" {
			t.Fatal(stdout, stderr)
		}
		return found
	}
	demand := func(reason string, code int, args ...string) {
		t.Helper()
		if stdout, stderr, got := atlantide(t.Context(), args...); got != code {
			t.Errorf("exit code %d, want %d: %s\n%s%s", got, code, reason, stdout, stderr)
		}
	}
	first := digestOf("plan", "infra.py")
	demand("another config's plan is refused", exitError, "apply", "unguarded.py", "-y", "--expect", first)
	if len(entries(t, ".")) != len(appliedTexts)+4 {
		t.Errorf("a refused apply wrote something: %v", entries(t, "."))
	}
	demand("the failure mode is part of what is expected", exitError, "apply", "infra.py", "-y", "--on-failure", "halt", "--expect", first)
	demand("the plan that was shown runs", exitOK, "apply", "infra.py", "-y", "--expect", first)
	demand("and is another one once it did", exitError, "apply", "infra.py", "-y", "--expect", first)
	demand("an artifact is built", exitOK, "build", "infra.py", "-var", "text=x", "-o", "x.atlas")
	deploy := digestOf("deploy", "x.atlas", "--dry-run")
	if got := digestOf("plan", "x.atlas"); got != deploy {
		t.Errorf("the plan of the artifact is %s, that of its deploy %s", got, deploy)
	}
	demand("and deployed as expected", exitOK, "deploy", "x.atlas", "-y", "--expect", deploy)
	gone := digestOf("destroy")
	demand("a narrower destroy is another", exitError, "destroy", "-y", "-t", "*:db", "--expect", gone)
	demand("a destroy is expected alike", exitOK, "destroy", "-y", "--expect", gone)
}

// Two databases are two worlds, and what lies beside them goes with each.
func TestStateOfAnotherPlace(t *testing.T) {
	dir := inAppliedFolder(t)
	for _, args := range [][]string{
		{"secret", "set", "app/key", "other", "--state", "sub/x.db"},
		{"apply", "infra.py", "-y", "--state", "sub/x.db"},
	} {
		write(t, "sub/.keep", "")
		if _, stderr, code := atlantide(t.Context(), args...); code != exitOK {
			t.Fatal(stderr)
		}
	}
	if got, err := os.ReadFile("out/token"); err != nil || string(got) != "other" {
		t.Errorf("the secret beside the database is not the one that is used: %q, %v", got, err)
	}
	write(t, project.FileName, "[state]\nbackend = 'postgres'\ndsn = 'postgres://me:hunter3@127.0.0.1:1/x?connect_timeout=2'\n[profile.p]\n")
	planIs(t, dir, "run-override", exitOK, "-P", "p", "plan", "infra.py", "--state", "sub/x.db")
	stdout, stderr, code := atlantide(t.Context(), "plan", "infra.py")
	if code != exitError || !strings.Contains(stdout, "state: postgres://127.0.0.1:1/atlantide\n") || strings.Contains(stdout+stderr, "hunter3") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

// cancelling ends a context once a text was written.
type cancelling struct {
	bytes.Buffer
	on     string
	cancel context.CancelFunc
}

func (c *cancelling) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(c.on)) {
		c.cancel()
	}
	return c.Buffer.Write(p)
}

// An interrupt in a run ends with what was undone, and with its own exit code.
func TestInterruptedRun(t *testing.T) {
	for _, form := range []string{formatText, formatJSON} {
		t.Run(form, func(t *testing.T) {
			inAppliedFolder(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			errs := &cancelling{on: "run_start", cancel: cancel}
			args := []string{"--log-level", "info", "apply", "infra.py", "-y"}
			if form == formatJSON {
				args = append(args, "--json")
			}
			var out bytes.Buffer
			if code := run(ctx, args, strings.NewReader(""), &out, errs); code != exitInterrupted {
				t.Errorf("exit code %d, want %d", code, exitInterrupted)
			}
			told := errs.String()
			if form == formatJSON {
				failed, _ := oneDocument(t, out.String())["error"].(map[string]any)
				told = fmt.Sprint(failed["kind"], failed["message"])
				if failed["kind"] != "InterruptedRunError" {
					t.Errorf("the error is %v", failed)
				}
			} else if !strings.Contains(told, "\ninterrupted: ") || strings.Contains(told, "error: ") {
				t.Errorf("it is not told as an interrupt:\n%s", told)
			}
			for _, word := range []string{"rolled back", "plan"} {
				if !strings.Contains(told, word) {
					t.Errorf("%q lacks %q", told, word)
				}
			}
			if _, err := os.Stat(filepath.Join("out", "greeting.txt")); err == nil {
				t.Error("what the run made is still there")
			}
			if stdout, stderr, code := atlantide(t.Context(), "apply", "infra.py", "-y"); code != exitOK {
				t.Errorf("the lock is not free: %s%s", stdout, stderr)
			}
		})
	}
}

// The first signal ends the command, the second one the process.
func TestSignals(t *testing.T) {
	signals, left := make(chan os.Signal, 2), make(chan int, 1)
	ctx, cancel := context.WithCancel(t.Context())
	var told bytes.Buffer
	go interrupts(signals, cancel, &told, func(code int) { left <- code })
	signals <- os.Interrupt
	<-ctx.Done()
	select {
	case code := <-left:
		t.Errorf("the first signal ends the process with %d", code)
	default:
	}
	signals <- os.Interrupt
	if code := <-left; code != exitInterrupted {
		t.Errorf("the second signal ends the process with %d, want %d", code, exitInterrupted)
	}
	if lines := strings.Count(told.String(), "\n"); lines != 2 {
		t.Errorf("%d notices, want one a signal: %s", lines, told.String())
	}
}
