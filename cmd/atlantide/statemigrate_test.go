package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/hack/devenv"
)

func remoteDesk(t *testing.T, settings string) *desk {
	t.Helper()
	return newDesk(t, project.BackendPostgres, settings+"[state]\nbackend = 'postgres'\ndsn = '"+devenv.Database(t)+"'\n")
}

// Item 107.
func TestStateMigrates(t *testing.T) {
	d := remoteDesk(t, "")
	mkdir(t, "data")
	local := d.opened("data/local.db")
	record(t, local, d.recorded())
	before := loadState(t, local)
	d.run("migrate-unasked", exitError, "migrate", "--from", "data/local.db")
	d.run("migrate", exitOK, "migrate", "--from", "data/local.db", "-y")
	sameState(t, "there", before, d.load())
	sameState(t, "the source stays", before, loadState(t, local))
	if s := loadState(t, local); s.Serial != before.Serial {
		t.Errorf("the serial of the source went from %d to %d", before.Serial, s.Serial)
	}
	d.free()

	record(t, d.target, state.Batch{PutRows: []*state.Row{{ID: "demo:local.Null:there", Kind: "resource", RowUID: "1e4c6d2a-0b5f-4a51-9d8e-000000000009"}}, SetOutputs: map[string]state.Output{"demo:there": {Value: "x"}}})
	d.run("migrate-populated", exitError, "migrate", "--from", "data/local.db", "-y")
	if d.load().Rows["demo:local.Null:there"] == nil {
		t.Error("a destination that was refused is written")
	}
	d.run("migrate-force", exitOK, "migrate", "--from", "data/local.db", "--force", "-y")
	sameState(t, "by force, which replaces", before, d.load())

	t.Chdir("data") // paths of the command line start at the working directory
	d.run("migrate-to-local", exitOK, "migrate", "--to-local", "back.db", "-y")
	info, err := os.Stat("back.db")
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	sameState(t, "and back", before, loadState(t, d.opened("back.db")))
	if _, stderr, code := atlantide(t.Context(), "state", "migrate", "--to-local", "back.db", "-y"); code != exitError || !strings.Contains(stderr, "--force") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	d.free()
}

// Items 108 and 109.
func TestStateMigrationsThatAreRefused(t *testing.T) {
	d := remoteDesk(t, "")
	link(t, filepath.Join(d.dir, "elsewhere.db"), "dangling.db")
	d.run("migrate-missing", exitError, "migrate", "-y")
	d.run("migrate-missing-from", exitError, "migrate", "--from", "nowhere.db", "-y")
	d.run("migrate-two-ways", exitError, "migrate", "--from", "a", "--to-local", "b")
	d.run("migrate-empty-name", exitError, "migrate", "--from", "", "-y")
	d.run("migrate-link", exitError, "migrate", "--to-local", "dangling.db", "-y")
	if isFile("elsewhere.db") {
		t.Error("a database was made through a link")
	}
	record(t, d.opened("atlantide.db"), d.recorded())
	for _, path := range []string{"", "atlantide.db"} {
		held := &desk{t: t, target: d.opened(path)}
		h := held.hold("build-7-0123456789ab")
		_, stderr, code := atlantide(t.Context(), "state", "migrate", "-y")
		if code != exitError || !strings.Contains(stderr, "locked by 'build-7-0123456789ab'") {
			t.Errorf("exit code %d: %s", code, stderr)
		}
		if err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if n := len(d.load().Rows); n != 0 {
		t.Errorf("%d rows arrived", n)
	}
	newDesk(t, project.BackendLocal, "").run("migrate-no-remote", exitError, "migrate", "-y")
}

// What is sealed opens with the same key alone: one that is looked for elsewhere is told.
func TestStateMigrationTellsOfTheKey(t *testing.T) {
	d := remoteDesk(t, "")
	mkdir(t, "data")
	record(t, d.opened("data/local.db"), d.recorded())
	if err := os.Rename("atlantide.key", "data/atlantide.key"); err != nil {
		t.Fatal(err)
	}
	d.run("migrate-key", exitOK, "migrate", "--from", "data/local.db", "-y")
	if _, _, code := atlantide(t.Context(), "state", "show", statePassword, "-r"); code != exitError {
		t.Error("it was opened without its key")
	}
	write(t, "atlantide.key", read(t, "data/atlantide.key"))
	if stdout, stderr, code := atlantide(t.Context(), "state", "show", statePassword, "-r"); code != exitOK || !strings.Contains(stdout, sealedText) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	d.run("migrate-two-keys", exitOK, "migrate", "--from", "data/local.db", "--force", "-y")
}
