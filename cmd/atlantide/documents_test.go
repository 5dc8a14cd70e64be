package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The page on the command line shows what its config gives: who tries it gets the same
// bytes, or the promise of that is broken.
func TestThePageShowsWhatItsConfigGives(t *testing.T) {
	page := read(t, filepath.Join(packageFolder, "..", "..", "docs", "cli.md"))
	config := regexp.MustCompile("(?s)```python\n(.*?)```").FindStringSubmatch(page)
	if config == nil {
		t.Fatal("the page shows no config")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, "infra.py", config[1])
	for _, args := range [][]string{
		{"plan", "infra.py"}, {"build", "infra.py"}, {"graph", "infra.py"}, {"verify", "out.atlas"}, {"build", "infra.py", "--json"},
		{"apply", "infra.py", "--confirm"},
		{"refresh"}, {"output"}, {"output", "greeting_checksum"}, {"import", "demo:*", "-c", "infra.py", "--state", "new.db"},
	} {
		stdout, stderr, code := atlantide(t.Context(), args...)
		if code != exitOK || stderr != "" {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		stdout = strings.ReplaceAll(tookForm.ReplaceAllString(stdout, "(0.0s)"), dir, "/home/me/demo")
		if !strings.Contains(withoutSpace(page), withoutSpace(stdout)) {
			t.Errorf("%v prints, and the page does not:\n%s", args, stdout)
		}
	}
}

func withoutSpace(text string) string { return strings.Join(strings.Fields(text), "") }
