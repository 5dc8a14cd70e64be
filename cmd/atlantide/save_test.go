package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOutputFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "infra.py", greeting)
	mkdir(t, "folder.atlas")
	link(t, "nowhere", "dangling.atlas")
	link(t, "infra.py", "config.atlas")
	if err := syscall.Mkfifo("pipe.atlas", 0o600); err != nil {
		t.Fatal(err)
	}
	before := entries(t, ".")
	for _, c := range []struct{ reason, to, mentions string }{
		{"a folder is not overwritten", "folder.atlas", "cannot write the artifact folder.atlas: it is a folder"},
		{"neither is the config", "infra.py", "it is what the result is made from"},
		{"also by another name", "config.atlas", "it is what the result is made from"},
		{"a folder that is not there is not made", "no/such/out.atlas", "its folder does not exist"},
		{"a file is no folder", "infra.py/out.atlas", "not a directory"},
		{"a pipe cannot be replaced", "pipe.atlas", "it is a pipe, a socket or a device"},
		{"nor what the system lists as files", "/dev/stdout", "it is a pipe, a socket or a device"},
		{"a link that leads nowhere", "dangling.atlas", "it is a link that leads nowhere"},
		{"no name", "", "the name of the artifact is empty"},
		{"a name that cannot be one", "a\x00b", "invalid argument"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			stdout, stderr, code := atlantide(t.Context(), "build", "infra.py", "-o", c.to)
			if code != exitError || stdout != "" || !strings.Contains(stderr, c.mentions) {
				t.Errorf("exit code %d; stderr lacks %q: %s%s", code, c.mentions, stdout, stderr)
			}
			if diff := cmp.Diff(before, entries(t, ".")); diff != "" {
				t.Errorf("something was written (-before +after):\n%s", diff)
			}
		})
	}
}

// A file that is replaced keeps its mode and the links to it; a new one has that of any
// other file. No temporary file is left.
func TestOutputReplacesAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "infra.py", greeting)
	mkdir(t, "store")
	write(t, "store/kept.atlas", "old")
	chmod(t, "store/kept.atlas", 0o640)
	link(t, "store/kept.atlas", "link.atlas")
	for _, name := range []string{"link.atlas", "new.atlas"} {
		if _, stderr, code := atlantide(t.Context(), "build", "infra.py", "-o", name); code != exitOK {
			t.Fatal(stderr)
		}
	}
	kept, fresh := read(t, "store/kept.atlas"), read(t, "new.atlas")
	if kept != fresh || !strings.HasPrefix(kept, "{\n") {
		t.Errorf("kept %.20q, new %.20q", kept, fresh)
	}
	if info, err := os.Stat("store/kept.atlas"); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := os.Readlink("link.atlas"); err != nil {
		t.Error(err)
	}
	write(t, "as-any.txt", "")
	umask := syscall.Umask(0)
	syscall.Umask(umask)
	if info, err := os.Stat("new.atlas"); err != nil || info.Mode().Perm() != 0o666&^os.FileMode(umask) {
		t.Errorf("mode %v with umask %o, %v", info.Mode(), umask, err)
	}
	want := []string{"as-any.txt", "infra.py", "link.atlas", "new.atlas", "store", "store/kept.atlas"}
	if diff := cmp.Diff(want, entries(t, ".")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A folder that nothing can be written in leaves the file as it was.
func TestOutputKeepsWhatItCannotReplace(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "infra.py", greeting)
	write(t, "locked/out.atlas", "old")
	chmod(t, "infra.py", 0o644)
	chmod(t, "locked/out.atlas", 0o666)
	chmod(t, "locked", 0o555)
	chmod(t, "..", 0o755)
	t.Cleanup(func() { chmod(t, "locked", 0o755) })
	_, stderr, code := asNobody(func() (string, string, int) {
		return atlantide(t.Context(), "build", "infra.py", "-o", "locked/out.atlas")
	})
	if code != exitError || !strings.Contains(stderr, "cannot write the artifact locked/out.atlas: permission denied") || read(t, "locked/out.atlas") != "old" {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Clean(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// entries are the paths below a folder.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if path != dir {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
