package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
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
	"renamed.py": `from atlantide.core import Stack
from atlantide.providers.local import File

with Stack("demo", region="eu-north-1"):
    File("hello", path="out/greeting.txt", content="hello")
`,
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
		{"update-json", exitOK, []string{"apply", "infra.py", "-y", "-var", "text=bye", "--json", "-p", "1"}},
		{"replace", exitOK, []string{"apply", "infra.py", "-y", "-var", "text=bye", "-var", "token=out/moved", "-p", "1"}},
		{"target", exitOK, []string{"apply", "infra.py", "-y", "-t", "demo:local.File:greeting"}},
		{"too-many", exitError, []string{"apply", "infra.py", "-p", "257"}},
		{"expect-empty", exitError, []string{"apply", "infra.py", "-y", "--expect", ""}},
		{"state-empty", exitError, []string{"destroy", "-y", "--state", ""}},
		{"destroy-env-pattern", exitError, []string{"destroy", "-y", "-e", "*"}},
		{"renamed", exitOK, []string{"plan", "renamed.py"}},
		{"renamed-apply", exitError, []string{"apply", "renamed.py", "-y"}},
		{"expect-short", exitError, []string{"apply", "infra.py", "-y", "--expect", "sha256:00"}},
		{"expect-other", exitError, []string{"apply", "infra.py", "-y", "--expect", "sha256:" + strings.Repeat("0", 64)}},
		{"failure-mode", exitError, []string{"apply", "infra.py", "--on-failure", "maybe"}},
		{"build", exitOK, []string{"build", "infra.py", "-o", "infra.atlas"}},
		{"deploy-dry", exitPending, []string{"deploy", "infra.atlas", "--dry-run", "--detailed-exitcode"}},
		{"deploy", exitOK, []string{"deploy", "infra.atlas", "-y"}},
		{"deploy-again-json", exitOK, []string{"deploy", "infra.atlas", "--json"}},
		{"warned-json", exitOK, []string{"apply", "infra.py", "-y", "-var", "text=warned", "-var", "txet=x", "-p", "1", "--json"}},
		{"deploy-config", exitError, []string{"deploy", "infra.py", "-y"}},
		{"preview-dry", exitOK, []string{"destroy", "--dry-run", "-t", "demo:local.File:greeting"}},
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
		{"after-failure", exitOK, []string{"plan", "failing.py"}},
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
	gone := digestOf("destroy", "--dry-run")
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

// What is told of an error after an interrupt is the error, unless the interrupt is all there
// is to it.
func TestToldAfterAnInterrupt(t *testing.T) {
	failed := model.Errorf(model.ProviderError, model.ClassUser, "the bucket is not empty")
	cut := model.Errorf(model.StateError, model.ClassTransient, "the state could not be read: %w", context.Canceled)
	run := model.Errorf(model.InterruptedRunError, model.ClassUser, "interrupted: rolled back")
	for _, c := range []struct {
		reason string
		err    error
		writes bool
		want   string
	}{
		{"a failure stays itself", failed, true, "the bucket is not empty"},
		{"also of a command that writes nothing", failed, false, "the bucket is not empty"},
		{"an interrupted read changed nothing", cut, false, "interrupted: nothing was changed"},
		{"an interrupted write may have", cut, true, "interrupted: the state could not be read: context canceled"},
		{"a run says itself what it did", run, true, "interrupted: rolled back"},
		{"a question that was left", context.Canceled, false, "interrupted: nothing was changed"},
	} {
		a := &app{writes: c.writes}
		if got := a.interrupted(c.err).Error(); got != c.want {
			t.Errorf("%q, want %q: %s", got, c.want, c.reason)
		}
	}
}

// On a terminal a run says how far it is, and leaves nothing of that behind.
func TestProgress(t *testing.T) {
	var told bytes.Buffer
	b := newProgress(screen{Writer: &told, width: 30}, &plan.Plan{Changes: []plan.Change{{NodeID: "s:t.T:a", Action: plan.Create}, {NodeID: "s:t.T:b", Action: plan.Noop}}})
	for _, e := range []apply.Event{
		{Phase: "run_start"}, {Phase: "node_start", NodeID: "s:t.T:a"}, {Phase: "node_finish", NodeID: "s:t.T:a"},
		{Phase: "node_start", NodeID: "s:t.T:" + strings.Repeat("long", 20)}, {Phase: "rollback_start"}, {Phase: "rollback_node", NodeID: "s:t.T:a"}, {Phase: "run_finish"},
	} {
		b.tell(e)
	}
	lines := strings.Split(told.String(), "\r\x1b[K")
	want := []string{"", "0/1 done, 1 at work: t.T:a", "1/1 done", "1/1 done, 1 at work: t.T:longl"[:29], "0 rolled back, 1 at work: t.T:l"[:29], "1 rolled back, 1 at work: t.T:l"[:29], ""}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	told.Reset()
	b = newProgress(screen{Writer: &told}, &plan.Plan{})
	b.tell(apply.Event{Phase: "node_start", NodeID: "s:t.T:a"})
	if told.Len() > 0 {
		t.Errorf("%q is written where nobody looks", told.String())
	}
}
