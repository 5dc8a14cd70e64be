package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
)

// ownTexts are configs of files at the path that they are given.
var ownTexts = map[string]string{
	"evil.py": `from atlantide.core import Stack
from atlantide.providers.local import File

with Stack("demo", region="r"):
    File("kept", path="kept.txt", content="kept")
    File("evil", path=atlantide.input("path"), content="evil")
`,
	"one.py": `from atlantide.core import Lifecycle, Stack
from atlantide.providers.local import File

with Stack("demo", region="r"):
    File(atlantide.input("name", "a"), path=atlantide.input("path"), content="x",
         lifecycle=Lifecycle(create_before_destroy=atlantide.input("first", "") == "yes"))
`,
}

// inOwnFolder is a project with a secret, a lock of components and a repository, in a folder
// that is worked in by another name than its own.
func inOwnFolder(t *testing.T, settings string) (name, target string) {
	t.Helper()
	dir := t.TempDir()
	name, target = filepath.Join(dir, "project"), filepath.Join(dir, "real")
	mkdir(t, target)
	link(t, "real", name)
	t.Chdir(name)
	for name, text := range ownTexts {
		write(t, name, text)
	}
	for name, text := range untouched(settings) {
		write(t, name, text)
	}
	for _, folder := range []string{"data", "k", "other"} { // where settings may place something
		mkdir(t, folder)
	}
	mustRun(t, "secret", "set", "app/key", "hunter2")
	return name, target
}

// untouched are files of a project with these settings that only people write.
func untouched(settings string) map[string]string {
	return map[string]string{project.FileName: settings, "atlantide.lock": "", ".git/config": "[core]\n"}
}

func mustRun(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	stdout, stderr, code := atlantide(t.Context(), args...)
	if code != exitOK {
		t.Fatalf("%v: exit code %d\n%s%s", args, code, stdout, stderr)
	}
	return stdout
}

// mustFail is a run that fails and says why.
func mustFail(t *testing.T, says string, args ...string) {
	t.Helper()
	stdout, stderr, code := atlantide(t.Context(), args...)
	if code != exitError || !strings.Contains(stdout+stderr, says) {
		t.Errorf("%v: exit code %d, want %d and %q\n%s%s", args, code, exitError, says, stdout, stderr)
	}
}

// What the project keeps of itself is no file of a config or an artifact, wherever its
// settings put it and however its path is spelled; after the attempt all works as before.
func TestNoConfigTouchesWhatIsTheProjectsOwn(t *testing.T) {
	for _, c := range []struct {
		name, settings string
		state          []string
		paths          []string
	}{
		{"always", "", nil, []string{
			"atlantide.toml", "atlantide.lock", ".git", ".git/config", ".git/hooks/pre-commit", ".atlantis/components/acme/__init__.py",
			"./atlantide.toml", "x/../.git/config", "$NAME/.git/config", "$REAL/.git/config", "../project/.git/config",
		}},
		{"by default", "", nil, []string{
			"atlantide.db", "atlantide.db-wal", "atlantide.db-shm", "atlantide.db-journal", "./atlantide.db", "$NAME/atlantide.db", "$REAL/atlantide.db",
			"atlantide.key", "atlantide.key.lock", "atlantide.secrets", "atlantide.secrets.lock", "$REAL/atlantide.key",
		}},
		{
			"placed by the project file", "state = 'data/s.db'\nsecrets_key = 'k/key'\nsecrets_store = 'k/store'\n", nil,
			[]string{"data/s.db", "data/s.db-wal", "k/key", "k/store", "k/store.lock", "$NAME/k/key"},
		},
		{
			"of another profile", "[profile.dev]\nstate = 'data/dev.db'\n[profile.prod]\nstate = 'k/prod.db'\nsecrets_store = 'k/store'\n[profile.far.state]\nbackend = 'postgres'\n", nil,
			[]string{"data/dev.db", "data/atlantide.key", "data/atlantide.secrets", "k/prod.db-wal", "k/atlantide.key", "k/store", "atlantide.db", "atlantide.key"},
		},
		{
			"a database that the command is given", "", []string{"--state", "other/s.db"},
			[]string{"other/s.db", "other/s.db-journal", "$REAL/other/s.db", "other/atlantide.key", "other/atlantide.secrets", "atlantide.db", "atlantide.key"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			name, target := inOwnFolder(t, c.settings)
			in := func(args ...string) []string { return append(args, c.state...) }
			mustRun(t, in("apply", "evil.py", "-y", "-var", "path=good.txt")...)
			had := mustRun(t, in("state", "list")...)
			for _, path := range c.paths {
				path = strings.NewReplacer("$NAME", name, "$REAL", target).Replace(path)
				mustRun(t, "build", "evil.py", "-o", "evil.atlas", "-var", "path="+path)
				mustFail(t, "reserved", in("apply", "evil.py", "-y", "-var", "path="+path)...)
				mustFail(t, "reserved", in("deploy", "evil.atlas", "-y")...)
				mustRun(t, in("apply", "evil.py", "-y", "-var", "path=good.txt")...)
			}
			for name, text := range untouched(c.settings) {
				if got := read(t, name); got != text {
					t.Errorf("%s is now %q", name, got)
				}
			}
			if diff := cmp.Diff([]string{".git/config"}, entries(t, ".git")); diff != "" {
				t.Errorf("the repository (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(had, mustRun(t, in("state", "list")...)); diff != "" {
				t.Errorf("the state (-want +got):\n%s", diff)
			}
			if secrets := mustRun(t, "secret", "list"); !strings.Contains(secrets, "app/key") {
				t.Errorf("the secrets are %q", secrets)
			}
		})
	}
}

// A row may name a file that only became the project's own.
func TestNoStateDeletesWhatIsTheProjectsOwn(t *testing.T) {
	inOwnFolder(t, "")
	mustRun(t, "apply", "one.py", "-y", "-var", "path=taken.db")
	write(t, "taken.db", read(t, "atlantide.db"))
	mustFail(t, "reserved", "destroy", "-y", "--state", "taken.db")
	mustFail(t, "reserved", "refresh", "--state", "taken.db")
	mustFail(t, "reserved", "apply", "one.py", "-y", "-var", "path=free.txt", "--state", "taken.db")
	mustRun(t, "state", "rm", "demo:local.File:a", "-y", "--state", "taken.db")
	mustRun(t, "state", "rm", "demo:local.File:a~replaced", "-y", "--state", "taken.db")
	mustRun(t, "destroy", "-y", "--state", "taken.db")
}

// However its path is spelled, a file is one object: what goes does not take along what comes.
func TestAFileIsOneObjectInEverySpelling(t *testing.T) {
	for _, spelling := range []string{"./f.txt", "x/../f.txt", "$NAME/f.txt", "$REAL/f.txt", "$NAME/x/../f.txt", "../project/f.txt"} {
		for _, c := range []struct {
			reason, says string
			args         []string
		}{
			{"renamed", "same object", []string{"-var", "name=b"}},
			{"made before the old one goes", "same object", []string{"-var", "first=yes"}},
			{"gone before the new one comes", "", nil},
		} {
			t.Run(c.reason+" "+spelling, func(t *testing.T) {
				name, target := inOwnFolder(t, "")
				path := strings.NewReplacer("$NAME", name, "$REAL", target).Replace(spelling)
				mustRun(t, "apply", "one.py", "-y", "-var", "path=f.txt")
				args := append([]string{"apply", "one.py", "-y", "-var", "path=" + path}, c.args...)
				if c.says == "" {
					mustRun(t, args...)
				} else {
					mustFail(t, c.says, args...)
				}
				if got := read(t, "f.txt"); got != "x" {
					t.Errorf("the file holds %q", got)
				}
			})
		}
	}
}
