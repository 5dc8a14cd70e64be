package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/hack/devenv"
)

// walkthrough is the config of the documents in the variant that they build (GR-4a).
const walkthrough = `from atlantide.core import Stack, output
from atlantide.providers.local import File

with Stack("demo", region="eu-north-1"):
    greeting = File("greeting", path="out/greeting.txt", content="hello world")
    receipt = File("receipt", path="out/receipt.txt", content=greeting.checksum)

output("greeting_checksum", greeting.checksum)
`

// The checksum that the documents publish for the walkthrough's artifact.
const publishedChecksum = "6f10115bf10968dfda4081c19041a92183081875ee1f6370f2f8fbed9ba2292c"

const twoEnvs = `from atlantide.core import Config, EnvSchema, Stack
from atlantide.providers.local import File

class Env(EnvSchema):
    pass

for e in Config(Env, envs={"dev": {"region": "r"}, "prod": {"region": "r"}}).envs():
    with Stack(e.name, config=e):
        File("a", path=e.name + ".txt", content=atlantide.input("text", "é"))
`

// asCommand is the variable under which the test binary is the command.
const asCommand = "ATLANTIDE_TEST_IS_THE_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(devenv.Main(m, devenv.WithPostgres))
}

// sharedCache lets a process find what the layout engine compiled before.
func sharedCache(t *testing.T) string {
	t.Helper()
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return "XDG_CACHE_HOME=" + dir
}

func sha256Of(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestBuildTheWalkthrough(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "infra.py", walkthrough)
	stdout, stderr, code := atlantide(t.Context(), "build", "infra.py")
	if want := "built out.atlas — 2 nodes, hash f9ecb89e5ade…, pins {'local': '1.0.0'}\n"; code != exitOK || stdout != want || stderr != "" {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	if got := sha256Of(read(t, "out.atlas")); got != publishedChecksum {
		t.Errorf("checksum %s, want %s", got, publishedChecksum)
	}
}

// TestArtifactsInEveryForm tells what build and verify say of good and of bad.
func TestArtifactsInEveryForm(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, "infra.py", twoEnvs)
	write(t, "broken.py", "while True:\n    pass\n")
	write(t, ".atlantis/components/acme/__init__.py", motd)
	write(t, "atlantide.lock", lockFile)
	if _, stderr, code := atlantide(t.Context(), "build", "infra.py", "-o", "good.atlas"); code != exitOK {
		t.Fatal(stderr)
	}
	good := read(t, "good.atlas")
	write(t, "tampered.atlas", strings.Replace(good, "dev.txt", "Dev.txt", 1))
	write(t, "truncated.atlas", good[:len(good)/2])
	write(t, "newer.atlas", strings.Replace(good, `"local": "1.0.0"`, `"local": "2.0.0"`, 1))
	write(t, "deep.atlas", strings.Repeat("[", 100_000))
	write(t, "twice.atlas", strings.Replace(good, `"format_version": 1,`, `"format_version": 1, "format_version": 1,`, 1))
	for _, c := range []struct {
		name string
		code int
		args []string
	}{
		{"build", exitOK, []string{"build", "infra.py", "-o", "again.atlas"}},
		{"build-one-env", exitOK, []string{"build", "infra.py", "-e", "prod", "-o", "prod.atlas", "-var", "txt=1"}},
		{"build-broken", exitError, []string{"build", "broken.py", "-o", "broken.atlas"}},
		{"verify", exitOK, []string{"verify", "good.atlas"}},
		{"verify-tampered", exitError, []string{"verify", "tampered.atlas"}},
		{"verify-truncated", exitError, []string{"verify", "truncated.atlas"}},
		{"verify-newer", exitError, []string{"verify", "newer.atlas"}},
		{"verify-deep", exitError, []string{"verify", "deep.atlas"}},
		{"verify-twice", exitError, []string{"verify", "twice.atlas"}},
		{"verify-missing", exitError, []string{"verify", "nowhere.atlas"}},
		{"verify-usage", exitError, []string{"verify"}},
	} {
		for _, form := range []string{formatText, formatJSON} {
			t.Run(c.name+" as "+form, func(t *testing.T) {
				args := c.args
				if form == formatJSON {
					args = append(args, "--json")
				}
				inForm(t, dir, c.name+"."+form, c.code, args...)
			})
		}
	}
	if _, err := os.Lstat("broken.atlas"); !os.IsNotExist(err) {
		t.Errorf("a config that does not compile left a file: %v", err)
	}
}

// inForm compares all that a command line tells with a golden file. With --json, stdout is
// one document.
func inForm(t *testing.T, dir, name string, code int, args ...string) {
	t.Helper()
	stdout, stderr, got := atlantide(t.Context(), args...)
	if got != code {
		t.Errorf("exit code %d, want %d", got, code)
	}
	if strings.Contains(name, "."+formatJSON) {
		oneDocument(t, stdout)
	}
	golden(t, dir, filepath.Join("testdata", name+".txt"), fmt.Sprintf("stdout:\n%sstderr:\n%s", stdout, stderr))
}

// The same config gives the same bytes in another process, folder, time zone, locale and
// umask, on one processor, and in the presence of other files and variables.
func TestBuildsAreReproducible(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	build := func(text string, umask int, env ...string) string {
		t.Helper()
		dir := filepath.Join(t.TempDir(), fmt.Sprintf("folder %o", umask))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Chdir(dir)
		write(t, "infra.py", text)
		cmd := exec.CommandContext(t.Context(), self, "build", "infra.py")
		cmd.Env = slices.Concat(env, []string{asCommand + "=1", "PATH=/nowhere", sharedCache(t)})
		before := syscall.Umask(umask)
		out, err := cmd.CombinedOutput()
		syscall.Umask(before)
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return read(t, "out.atlas")
	}
	for _, text := range []string{walkthrough, twoEnvs} {
		here := build(text, 0o022, "TZ=UTC", "LANG=C", "HOME="+t.TempDir())
		there := build(text, 0o077, "TZ=Asia/Tokyo", "LANG=tr_TR.UTF-8", "LC_ALL=tr_TR.UTF-8", "GOMAXPROCS=1", "GOGC=1", "HOME="+t.TempDir(), "USER=other")
		if diff := cmp.Diff(here, there); diff != "" {
			t.Errorf("(-here +there):\n%s", diff)
		}
	}
	if got := sha256Of(build(walkthrough, 0o027, "HOME="+t.TempDir())); got != publishedChecksum {
		t.Errorf("checksum %s, want %s", got, publishedChecksum)
	}
}
