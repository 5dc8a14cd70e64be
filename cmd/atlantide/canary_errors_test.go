package main

import (
	"strings"
	"testing"
)

const shortenedConfig = `from atlantide.core import SecretRef, Stack, concat, join
from atlantide.providers.local import File
from atlantide.providers.random import Password

with Stack("demo", region="r"):
`

// TestCanaryInShortenedErrors: an error that quotes a secret as a message does, cut short,
// with its control characters replaced, or a part of it, tells nothing of it (EX-41, SC-17).
func TestCanaryInShortenedErrors(t *testing.T) {
	for _, c := range []struct {
		reason, secret, config string
		says                   string // around what is taken out
	}{
		{"a path that is cut", "../../" + strings.Repeat(canary, 32), `    File("f", path=SecretRef("key"), content="x")`, "path '(redacted)…' is outside"},
		{"a path with controls", canary + "\x01\n\x1b[31m/" + canary + "\x00", `    File("f", path=SecretRef("key"), content="x")`, "path '(redacted)"},
		{"a secret within a path", canary + strings.Repeat("-and-more", 30), `    File("f", path=concat("../", SecretRef("key")), content="x")`, "path '../(redacted)…' is outside"},
		{"one part of a path", "made/" + canary + "/file", `    File("f", path=SecretRef("key"), content="x")`, "leads through '(redacted)'"},
		{"a password that was made", "unused", `    p = Password("p", length=400)
    kept = File("kept", path="made/kept", content=p.result)
    File("f", path=join("", ["../", p.result]), content="x", depends_on=[kept])`, "../(redacted)…' is outside"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Chdir(t.TempDir())
			write(t, "infra.py", shortenedConfig+c.config+"\n")
			if _, stderr, code := atlantideReading(t.Context(), c.secret, "secret", "set", "key"); code != exitOK {
				t.Fatal(stderr)
			}
			write(t, "made/"+canary, "a file where a folder would be")
			stdout, stderr, code := atlantide(t.Context(), "--debug", "--log-level", "debug", "apply", "infra.py", "-y", "--on-failure", "halt")
			if code != exitError || !strings.Contains(stderr, c.says) {
				t.Errorf("it ends with %d, and does not say %q:\n%s%s", code, c.says, stdout, stderr)
			}
			said := stdout + stderr
			clean(t, "apply tells", []byte(said), canary[:12])
			if !strings.Contains(c.config, "Password") {
				return
			}
			for kept := read(t, "made/kept"); len(kept) >= 12; kept = kept[1:] {
				if strings.Contains(said, kept[:12]) {
					t.Fatalf("it tells %q of the password", kept[:12])
				}
			}
		})
	}
}
