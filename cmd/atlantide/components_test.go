package main

import (
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
)

// lockFile pins the component motd of main_test.go under the alias acme. The hash is what
// Python's hashlib gives for its one file.
const lockFile = `# pins

[components.acme]
git = "https://example.test/acme.git"
commit = "0000000000000000000000000000000000000000"
hash = "sha256.v2:5a0a7d586c8014d43b850c73872f0e46dd37513ba27c9ca38fceceadc1e1bd86"
`

func TestVendoredComponents(t *testing.T) {
	const module = ".atlantis/components/acme/__init__.py"
	t.Chdir(t.TempDir())
	write(t, project.FileName, "config = 'site.py'\n")
	write(t, "motd.txt", "hello\n")
	write(t, "site.py", "from atlantide.components.acme import Motd\nMotd('m', path='motd.txt')\n")
	t.Run("a locked alias that is not vendored is left to its import", func(t *testing.T) {
		write(t, "atlantide.lock", lockFile)
		refusedRun(t, "'acme' is not vendored")
	})
	t.Run("a tree that matches is evaluated, and its caches go", func(t *testing.T) {
		write(t, module, motd)
		write(t, ".atlantis/components/acme/__pycache__/x.pyc", "")
		stdout, stderr, code := atlantide(t.Context(), "validate")
		if code != exitOK || stderr != "" || !strings.HasPrefix(stdout, "ok site.py — 2 resource(s)") {
			t.Errorf("%d: %s%s", code, stdout, stderr)
		}
		if _, err := os.Lstat(".atlantis/components/acme/__pycache__"); !os.IsNotExist(err) {
			t.Errorf("the cache is still there: %v", err)
		}
	})
	t.Run("a changed file ends every evaluation", func(t *testing.T) {
		write(t, module, motd+"\n")
		refusedRun(t, "component 'acme' was changed")
		stdout, stderr, code := atlantide(t.Context(), "validate", "--json")
		if code != exitError || stderr != "" || !strings.Contains(stdout, `"kind": "ComponentError"`) {
			t.Errorf("%d: %s%s", code, stdout, stderr)
		}
		write(t, module, motd)
	})
	t.Run("a folder that nothing pins", func(t *testing.T) {
		write(t, ".atlantis/components/other/x.py", "")
		refusedRun(t, "component 'other' is vendored")
		if err := os.RemoveAll(".atlantis/components/other"); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a lock that is no TOML", func(t *testing.T) {
		write(t, "atlantide.lock", "[components\n")
		refusedRun(t, "atlantide.lock is not valid TOML")
	})
}

func refusedRun(t *testing.T, mentions string) {
	t.Helper()
	stdout, stderr, code := atlantide(t.Context(), "validate")
	if code != exitError || stdout != "" || !strings.Contains(stderr, mentions) {
		t.Errorf("exit code %d; stderr lacks %q: %s%s", code, mentions, stdout, stderr)
	}
}

func TestConfigsThatAreNoFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "locked/infra.py", greeting)
	chmod(t, "..", 0o755) // nobody gets as far as here
	chmod(t, "locked", 0)
	t.Cleanup(func() { chmod(t, "locked", 0o755) })
	if err := syscall.Mkfifo("pipe.py", 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ reason, config, mentions string }{
		{"a folder", ".", "cannot read the config .: it is a folder"},
		{"a pipe that nobody writes to", "pipe.py", "cannot read the config pipe.py: it is a pipe"},
		{"a folder without permission", "locked/infra.py", "cannot read the config locked/infra.py: permission denied"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			stdout, stderr, code := asNobody(func() (string, string, int) { return atlantide(t.Context(), "validate", c.config) })
			if code != exitError || stdout != "" || !strings.Contains(stderr, c.mentions) {
				t.Errorf("exit code %d; stderr lacks %q: %s%s", code, c.mentions, stdout, stderr)
			}
		})
	}
}

func chmod(t *testing.T, name string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

// asNobody calls a function with the file rights of no user in particular, in a thread
// that ends with it.
func asNobody(call func() (stdout, stderr string, code int)) (stdout, stderr string, code int) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if os.Geteuid() == 0 {
			const nobody = 65534
			if err := syscall.Setfsuid(nobody); err != nil {
				stderr, code = err.Error(), -1
				return
			}
		}
		stdout, stderr, code = call()
	}()
	<-done
	return stdout, stderr, code
}
