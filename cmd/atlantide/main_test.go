package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

const greeting = `from atlantide.core import Stack
from atlantide.providers.local import File

with Stack("demo", region="eu-north-1"):
    File("greeting", path="out/greeting.txt", content=atlantide.input("text", "hello"))
    File("other", path="out/other.txt", content="x")
`

const motd = `from atlantide.core import Component
from atlantide.providers.local import File, SourceFile

class Motd(Component):
    def __init__(self, name, *, path):
        self.source = SourceFile("source", path=path)
        self.file = File("file", path="etc/motd", content=self.source.content)
`

func TestRun(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv(envDebug, "")
	write(t, projectFile, "")
	write(t, "conf/motd.txt", "hello\n")
	write(t, ".atlantis/components/acme/__init__.py", motd)
	write(t, ".atlantis/components/bad/__init__.py", "x = 1\nimport os\n")
	t.Chdir("conf")
	write(t, "site.py", "from atlantide.components.acme import Motd\nMotd('m', path='conf/motd.txt')\n")
	write(t, "bad.py", "from atlantide.components.bad import x\n")
	write(t, "infra.py", greeting)
	write(t, "loop.py", "x = 1\nwhile True:\n    pass\n")
	tests := []struct {
		name, reason   string
		args           []string
		code           int
		stdout, stderr string   // exact stdout; "" = none
		mentions       []string // in stderr
	}{
		{name: "version", reason: "before anything else is read", args: []string{"--version"}, stdout: "atlantide " + version + "\n"},
		{name: "a good config", reason: "counts its resources", args: []string{"validate", "infra.py"}, stdout: "ok infra.py — 2 resource(s), no cycles\n"},
		{name: "an input with a dash", reason: "-var is --var", args: []string{"validate", "infra.py", "-var", "text=a=b"}, stdout: "ok infra.py — 2 resource(s), no cycles\n"},
		{
			name: "json", reason: "one document, indented by two", args: []string{"validate", "infra.py", "--json"},
			stdout: `{
  "schema_version": 1,
  "ok": true,
  "config": "infra.py",
  "resources": 2,
  "envs": {
    "declared": [],
    "selected": []
  }
}
`,
		},
		{
			name: "outside the subset", reason: "the line and a caret under the construct", args: []string{"validate", "loop.py"}, code: 1,
			mentions: []string{"error: ", "(line 2, col 1)\n", "   2 | while True:\n       ^\n"},
		},
		{name: "files and components", reason: "the project is the folder above that has the project file", args: []string{"validate", "site.py"}, stdout: "ok site.py — 2 resource(s), no cycles\n"},
		{
			name: "a component outside the dialect", reason: "its own file and line are shown", args: []string{"validate", "bad.py"}, code: 1,
			mentions: []string{"error: .atlantis/components/bad/__init__.py: ", "'os'", "   2 | import os\n       ^\n"},
		},
		{name: "fuel", reason: "a budget of one step ends at once", args: []string{"validate", "infra.py", "--fuel", "1"}, code: 1, mentions: []string{"error: "}},
		{name: "fuel out of range", reason: "the limit is named", args: []string{"validate", "infra.py", "--fuel", "100000001"}, code: 1, mentions: []string{"--fuel", "100000000"}},
		{name: "a missing file", reason: "its path is named", args: []string{"validate", "nowhere.py"}, code: 1, mentions: []string{"nowhere.py"}},
		{name: "no config", reason: "the project file is named", args: []string{"validate"}, code: 1, mentions: []string{"atlantide.toml"}},
		{name: "a var without a value", reason: "it is quoted", args: []string{"validate", "infra.py", "--var", "text"}, code: 1, mentions: []string{"'text'"}},
		{name: "an unknown command", reason: "usage follows", args: []string{"vlidate"}, code: 1, mentions: []string{"'vlidate'", "Usage:"}},
		{name: "an unknown flag", reason: "usage follows", args: []string{"validate", "--nope"}, code: 1, mentions: []string{"--nope", "Usage:"}},
		{name: "too many arguments", reason: "usage follows", args: []string{"validate", "a", "b"}, code: 1, mentions: []string{"Usage:"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), test.args, &stdout, &stderr)
			if code != test.code {
				t.Errorf("exit code %d, want %d: %s\n%s", code, test.code, test.reason, &stderr)
			}
			if diff := cmp.Diff(test.stdout, stdout.String()); diff != "" {
				t.Errorf("stdout (-want +got): %s\n%s", test.reason, diff)
			}
			for _, word := range test.mentions {
				if !strings.Contains(stderr.String(), word) {
					t.Errorf("stderr lacks %q: %s\n%s", word, test.reason, &stderr)
				}
			}
		})
	}
}

func TestFailureAsJSON(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "loop.py", "while True:\n    pass\n")
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"validate", "loop.py", "--json"}, &stdout, &stderr); code != exitError {
		t.Errorf("exit code %d", code)
	}
	for _, word := range []string{`"ok": false`, `"kind": "LanguageError"`, `"line": 1`, `"col": 1`} {
		if !strings.Contains(stdout.String(), word) {
			t.Errorf("the document lacks %s:\n%s", word, &stdout)
		}
	}
	if stderr.Len() > 0 {
		t.Errorf("stderr repeats the error:\n%s", &stderr)
	}
}

func TestDebugEnvironment(t *testing.T) {
	tests := []struct {
		value, reason string
		code          int
		traces        bool
	}{
		{"", "off", exitError, false},
		{"YES", "any case", exitError, true},
		{"off", "off", exitError, false},
		{"maybe", "a usage error", exitError, false},
	}
	for _, test := range tests {
		t.Run(test.value, func(t *testing.T) {
			t.Setenv(envDebug, test.value)
			var stdout, stderr bytes.Buffer
			if code := run(t.Context(), []string{"validate", "nowhere.py"}, &stdout, &stderr); code != test.code {
				t.Errorf("exit code %d, want %d: %s", code, test.code, test.reason)
			}
			if traces := strings.Contains(stderr.String(), "trace: "); traces != test.traces {
				t.Errorf("trace = %t, want %t: %s\n%s", traces, test.traces, test.reason, &stderr)
			}
		})
	}
}

func TestPrintError(t *testing.T) {
	tests := []struct {
		name, reason string
		err          *model.Error
		want         string
	}{
		{
			name: "a node", reason: "the bracket names node and operation; further failures follow",
			err: &model.Error{
				Message: "the disk is full", NodeID: "s:local.File:a", Op: "create",
				AlsoFailed: []*model.Error{{Message: "the other one too", NodeID: "s:local.File:b", Op: "create"}},
			},
			want: "error: [node s:local.File:a op=create] the disk is full\n  and: [node s:local.File:b op=create] the other one too\n",
		},
		{
			name: "columns", reason: "they are code points",
			err:  &model.Error{Message: "no", Line: 12, Col: 6, Source: "å = “x” + 1"},
			want: "error: no (line 12, col 6)\n  12 | å = “x” + 1\n            ^\n",
		},
		{
			name: "tabs", reason: "the caret stands where the terminal puts the column",
			err:  &model.Error{Message: "no", Line: 3, Col: 2, Source: "\treturn"},
			want: "error: no (line 3, col 2)\n   3 |  return\n        ^\n",
		},
		{
			name: "control characters", reason: "a config may not steer the terminal",
			err:  &model.Error{Message: "no \x1b[2J"},
			want: "error: no \uFFFD[2J\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			printError(&out, test.err)
			if diff := cmp.Diff(test.want, out.String()); diff != "" {
				t.Errorf("(-want +got): %s\n%s", test.reason, diff)
			}
		})
	}
}

func TestTwoDashes(t *testing.T) {
	got := twoDashes([]string{"validate", "-var", "a=1", "-var=b=2", "-e", "dev", "--", "-var"})
	want := []string{"validate", "--var", "a=1", "--var=b=2", "-e", "dev", "--", "-var"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Clean(name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
