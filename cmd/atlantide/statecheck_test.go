package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
)

// Item 111.
func TestStateCheck(t *testing.T) {
	onBothStores(t, func(d *desk) {
		d.run("check-empty-"+d.store, exitOK, "check")
		record(t, d.target, d.recorded())
		d.run("check-"+d.store, exitOK, "check", "--no-probe", "--probe")
		write(t, project.FileName, read(t, project.FileName)+"[secrets]\nprovider = 'env'\n")
		d.run("check-env-"+d.store, exitOK, "check", "--probe", "--no-probe")
		write(t, project.FileName, strings.Replace(read(t, project.FileName), "'env'", "'vault'", 1))
		d.run("check-vault-"+d.store, exitError, "check")
		d.free()
	})
}

func TestStateCheckOfABrokenDatabase(t *testing.T) {
	d := newDesk(t, project.BackendLocal, "")
	write(t, "atlantide.db", "this is no database, and long enough to be read as the head of one, or not")
	if err := os.Chmod("atlantide.db", 0o644); err != nil {
		t.Fatal(err)
	}
	d.run("check-broken", exitError, "check")
}

// A server that does not answer is one failure; the rest is told as well, and no password.
func TestStateCheckWithoutAServer(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, project.FileName, "[state]\nbackend = 'postgres'\ndsn = 'postgres://me:do-not-tell@127.0.0.1:1/x?connect_timeout=2'\n")
	stdout, stderr, code := atlantide(t.Context(), "state", "check")
	for _, word := range []string{"state: postgres://127.0.0.1:1/atlantide\n", "fail  connection", "--    tables", "--    write access", "ok    secrets: keyfile"} {
		if !strings.Contains(stdout, word) {
			t.Errorf("stdout lacks %q", word)
		}
	}
	if code != exitError || strings.Contains(stdout+stderr, "do-not-tell") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

// Item 168.
func TestStateWithoutAJournal(t *testing.T) {
	onBothStores(t, func(d *desk) {
		d.run("compact", exitError, "compact")
		d.run("fsck", exitError, "fsck", "--rebuild-heads", "-y")
	})
}

// Items 60 and 112: the local database that a command is told beats everything, which is
// a warning, and no part of a document.
func TestStateThatIsNamed(t *testing.T) {
	d := remoteDesk(t, "[profile.prod]\n")
	record(t, d.opened("other.db"), d.recorded())
	d.run("named", exitOK, "list", "--state", "other.db")
	stdout, stderr, code := atlantide(t.Context(), "state", "list", "--state", "other.db", "--json")
	if document := oneDocument(t, stdout); code != exitOK || document["state"] != "other.db" || len(document["nodes"].([]any)) != 4 {
		t.Errorf("exit code %d: %s", code, stdout)
	}
	if !strings.HasPrefix(stderr, "warning: --state other.db") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("%s", stderr)
	}
	stdout, _, _ = atlantide(t.Context(), "-P", "prod", "state", "list")
	if !strings.HasPrefix(stdout, "state: "+d.target.Label+" (profile prod)\n") {
		t.Errorf("%s", stdout)
	}
	stdout, _, _ = atlantide(t.Context(), "-P", "prod", "state", "list", "--json")
	if oneDocument(t, stdout)["state"] != d.target.Label+" (profile prod)" {
		t.Errorf("%s", stdout)
	}
}

// The command that a list of locks names is one that a shell takes as it is meant.
func TestUnlockCommands(t *testing.T) {
	for _, c := range []struct{ reason, profile, path, owner, want string }{
		{"plain words", "", "", "build-7-0123456789ab", "atlantide state unlock --owner build-7-0123456789ab"},
		{"where it was looked", "prod", "a/b.db", "x", "atlantide -P prod state unlock --state a/b.db --owner x"},
		{"a shell takes nothing else for it", "", "a b", "$(x)'`", `atlantide state unlock --state 'a b' --owner '$(x)'\''` + "`'"},
		{"no flag", "", "", "-y", "atlantide state unlock --owner '-y'"},
		{"no name", "", "", "", "atlantide state unlock --owner ''"},
		{"a name that a line cannot hold", "", "", "a\x1bb", "atlantide state unlock --all"},
	} {
		if got := unlockCommand(c.profile, c.path, c.owner); got != c.want {
			t.Errorf("%s: %s, want %s", c.reason, got, c.want)
		}
	}
}

// On a terminal tables have a head, and words that stand out do so.
func TestStateTablesOnATerminal(t *testing.T) {
	var out strings.Builder
	a := newApp(strings.NewReader(""), io.Discard, io.Discard)
	a.out = screen{Writer: &out, colour: true, width: 80}
	rows := [][]string{{"a", "one"}, {"longer", "two"}}
	if err := a.table([]string{"NODE", "TYPE"}, rows, func(i int, line string) string { return rows[i][0] + "|" + line }); err != nil {
		t.Fatal(err)
	}
	if want := "\x1b[2mNODE    TYPE\x1b[0m\na|a       one\nlonger|longer  two\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
