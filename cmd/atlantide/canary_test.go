package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
)

// canary is a value that occurs nowhere else.
const canary = "c4nary-5e7f19d3a0b8"

// Where the canary is looked for as well: what hides a text from a search hides it from no
// reader.
func disguises() [][]byte {
	return [][]byte{
		[]byte(canary), []byte(hex.EncodeToString([]byte(canary))),
		[]byte(base64.StdEncoding.EncodeToString([]byte(canary)))[:20],
	}
}

const canaryConfig = `from atlantide.core import SecretRef, Stack, concat, output
from atlantide.providers.local import File
from atlantide.providers.random import Password

secret = SecretRef("app/key")
with Stack("demo", region="r"):
    token = File("token", path="made/token", content=secret)
    File("mixed", path="made/mixed", content=concat("user:", secret))
    File("env", path="made/env", content=SecretRef("CANARY", provider="env"))
    password = Password("db", length=atlantide.input("length", 20))
    File("uses", path="made/uses", content=password.result)
    File("extra", path=atlantide.input("extra", "made/extra"), content=concat("x", token.checksum))
output("key", secret)
output("password", password.result)
`

// TestCanary goes through every command with a secret in everything that takes one, and
// looks for it in all that is told and in all files, but in those that the secret was to be
// written to (N-39, SC-17).
func TestCanary(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("CANARY", canary+"-env")
	write(t, project.FileName, "[secrets.env]\nallow = ['CANARY']\n")
	write(t, "infra.py", canaryConfig)
	write(t, "blocked", "a file where a folder would be")
	write(t, "secret.txt", canary)
	if _, stderr, code := atlantideReading(t.Context(), canary, "secret", "set", "app/key"); code != exitOK {
		t.Fatal(stderr)
	}
	if err := os.Remove("secret.txt"); err != nil {
		t.Fatal(err)
	}
	tell := func(code int, args ...string) {
		t.Helper()
		all := append([]string{"--debug", "--log-level", "debug"}, args...)
		stdout, stderr, got := atlantide(t.Context(), all...)
		if got != code {
			t.Errorf("%v ends with %d, want %d:\n%s%s", args, got, code, stdout, stderr)
		}
		clean(t, strings.Join(args, " ")+" tells", []byte(stdout+stderr))
	}
	tell(exitOK, "plan", "infra.py", "--diff", "full")
	tell(exitOK, "plan", "infra.py", "--json", "--values")
	tell(exitError, "apply", "infra.py", "-y", "-var", "extra=blocked/x") // and rolls back
	tell(exitOK, "apply", "infra.py", "-y")
	tell(exitOK, "apply", "infra.py", "-y", "-var", "extra=made/other", "--json")
	password := passwordIn(t)
	if !strings.Contains(read(t, "made/mixed"), canary) || !strings.Contains(read(t, "made/env"), canary) {
		t.Error("the secret got nowhere, and looking for it shows nothing")
	}
	if _, stderr, code := atlantideReading(t.Context(), canary+"2", "secret", "set", "app/key"); code != exitOK {
		t.Fatal(stderr)
	}
	tell(exitOK, "plan", "infra.py", "--diff", "full") // a rotated secret
	tell(exitOK, "apply", "infra.py", "-y", "-var", "length=24", "--json")
	write(t, "made/token", "drifted")
	tell(exitOK, "refresh", "-v")
	tell(exitOK, "refresh", "--json", "--write")
	tell(exitOK, "graph", "infra.py", "--plan")
	tell(exitOK, "build", "infra.py", "-o", "infra.atlas")
	tell(exitOK, "deploy", "infra.atlas", "-y")
	tell(exitOK, "output")
	tell(exitOK, "output", "--json")
	tell(exitError, "output", "password")
	tell(exitOK, "state", "list", "--json")
	tell(exitOK, "state", "show", "demo:random.Password:db")
	tell(exitOK, "state", "show", "demo:local.File:mixed", "--json")
	tell(exitOK, "state", "backup", "kept.atlas-state")
	tell(exitOK, "state", "rm", "demo:local.File:token", "-y")
	tell(exitOK, "import", "demo:local.File:token", "-c", "infra.py", "--json")
	tell(exitOK, "state", "check")
	if err := os.Remove("atlantide.key"); err != nil {
		t.Fatal(err)
	}
	tell(exitError, "plan", "infra.py")
	tell(exitError, "state", "check") // the key is gone
	tell(exitError, "state", "show", "demo:random.Password:db", "--reveal")
	filesAre(t, dir, password)
}

// passwordIn is the password that was drawn, where it was written on purpose.
func passwordIn(t *testing.T) string {
	t.Helper()
	text := read(t, "made/uses")
	if len(text) != 20 {
		t.Fatalf("%q is no password of 20 characters", text)
	}
	return text
}

func clean(t *testing.T, where string, data []byte, further ...string) {
	t.Helper()
	needles := disguises()
	for _, text := range further {
		needles = append(needles, []byte(text))
	}
	for _, needle := range needles {
		if bytes.Contains(data, needle) {
			t.Errorf("%s the secret (%q)", where, needle)
		}
	}
}

// filesAre scans every file beside those that hold the secret on purpose.
func filesAre(t *testing.T, dir string, further ...string) {
	t.Helper()
	scanned := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.IsDir() && d.Name() == "made" {
				return fs.SkipDir
			}
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		scanned++
		if packed, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
			var plain bytes.Buffer
			if _, err := plain.ReadFrom(packed); err != nil {
				return err
			}
			data = append(data, plain.Bytes()...)
		}
		clean(t, filepath.Base(path)+" holds", data, further...)
		return nil
	})
	if err != nil || scanned < 5 {
		t.Errorf("%d files were looked at: %v", scanned, err)
	}
}
