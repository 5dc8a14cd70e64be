package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestGraph(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, "infra.py", walkthrough)
	write(t, "secret.py", "from atlantide.core import SecretRef\nfrom atlantide.providers.local import File\nFile('a', path='a', content=SecretRef('absent'))\n")
	write(t, "empty.py", "")
	write(t, "warned.py", "x = atlantide.input('text', '')\n")
	if _, stderr, code := atlantide(t.Context(), "build", "infra.py"); code != exitOK {
		t.Fatal(stderr)
	}
	for _, c := range []struct {
		name string
		code int
		args []string
	}{
		{"mermaid", exitOK, []string{"infra.py"}},
		{"mermaid-plan", exitOK, []string{"infra.py", "--plan"}},
		{"dot", exitOK, []string{"infra.py", "--format", "DOT"}},
		{"dot-plan", exitOK, []string{"out.atlas", "--plan", "--format", "dot"}},
		{"secret-plan", exitOK, []string{"secret.py", "--plan"}},
		{"empty", exitOK, []string{"empty.py", "--plan"}},
		{"warned", exitOK, []string{"warned.py", "-var", "txt=1"}},
		{"form", exitError, []string{"infra.py", "--format", "png"}},
		{"artifact-with-input", exitError, []string{"out.atlas", "--var", "a=1"}},
		{"file", exitOK, []string{"infra.py", "-o", "graph.mmd"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inForm(t, dir, "graph-"+c.name, c.code, append([]string{"graph"}, c.args...)...)
		})
	}
	if got, _, _ := atlantide(t.Context(), "graph", "infra.py"); got != read(t, "graph.mmd") {
		t.Error("the file holds something else than what is printed")
	}
}

func TestGraphAsPicture(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "infra.py", walkthrough)
	stdout, stderr, code := atlantide(t.Context(), "graph", "infra.py", "--plan", "--format", "svg")
	if code != exitOK || stderr != "" {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, mention := range []string{"demo:local.File:greeting", "demo:local.File:receipt", "#dcf5de"} {
		if !strings.Contains(stdout, mention) {
			t.Errorf("the picture lacks %q", mention)
		}
	}
	decoder := xml.NewDecoder(strings.NewReader(stdout))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if _, stderr, code = atlantide(t.Context(), "graph", "infra.py", "--plan", "--format", "svg", "-o", "g.svg"); code != exitOK || read(t, "g.svg") != stdout {
		t.Errorf("exit code %d; the file holds another picture: %s", code, stderr)
	}
}
