package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
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
	write(t, project.FileName, "")
	write(t, "conf/motd.txt", "hello\n")
	write(t, "components/acme/__init__.py", motd)
	write(t, "components/bad/__init__.py", "x = 1\nimport os\n")
	t.Chdir("conf")
	write(t, "site.py", "from atlantide.components.acme import Motd\nMotd('m', path='conf/motd.txt')\n")
	write(t, "bad.py", "from atlantide.components.bad import x\n")
	write(t, "infra.py", greeting)
	write(t, "loop.py", "x = 1\nwhile True:\n    pass\n")
	write(t, "envs.py", "from atlantide.core import Config\nConfig(envs={'dev': {}, 'prod': {}})\n")
	write(t, "typed.py", "x = atlantide.input('on', False), atlantide.input('name', 'y'), atlantide.input('none', None)\n")
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
			mentions: []string{"error: components/bad/__init__.py: ", "'os'", "   2 | import os\n       ^\n"},
		},
		{name: "fuel", reason: "a budget of one step ends at once", args: []string{"validate", "infra.py", "--fuel", "1"}, code: 1, mentions: []string{"error: "}},
		{name: "fuel out of range", reason: "the limit is named", args: []string{"validate", "infra.py", "--fuel", "100000001"}, code: 1, mentions: []string{"--fuel", "100000000"}},
		{name: "a missing file", reason: "its path is named", args: []string{"validate", "nowhere.py"}, code: 1, mentions: []string{"nowhere.py"}},
		{name: "no config", reason: "the project file is named", args: []string{"validate"}, code: 1, mentions: []string{"atlantide.toml"}},
		{name: "fuel that is no number", reason: "it is quoted", args: []string{"validate", "infra.py", "--fuel", "x"}, code: 1, mentions: []string{"--fuel", "'x'"}},
		{name: "an empty name", reason: "it is not the project file's config", args: []string{"validate", ""}, code: 1, mentions: []string{"empty"}},
		{name: "another form", reason: "the forms are named", args: []string{"validate", "--format", "xml"}, code: 1, mentions: []string{"'xml'", "text, json, github, sarif"}},
		{name: "plugins", reason: "a script that wants none runs", args: []string{"--no-plugins", "validate", "infra.py"}, stdout: "ok infra.py — 2 resource(s), no cycles\n"},
		{name: "an unread input", reason: "warns with the nearest name", args: []string{"validate", "infra.py", "--var", "tex=1"}, stdout: "warning: --var 'tex' is not read by the config; did you mean 'text'?\nok infra.py — 2 resource(s), no cycles\n"},
		{name: "a bad log level", reason: "value and choice are named", args: []string{"--log-level", "loud", "validate", "infra.py"}, code: 1, mentions: []string{"--log-level 'loud'", "debug, info, warning, error"}},
		{name: "a bad log format", reason: "value and choice are named", args: []string{"--log-format", "xml", "validate", "infra.py"}, code: 1, mentions: []string{"--log-format 'xml'", "text, json"}},
		{name: "a log", reason: "level, name and message on stderr", args: []string{"--log-level", "DEBUG", "validate", "infra.py"}, stdout: "ok infra.py — 2 resource(s), no cycles\n", mentions: []string{"DEBUG   atlantide.project: opened {", "DEBUG   atlantide.config: evaluated {"}},
		{name: "a global option behind the command", reason: "where it stands is told", args: []string{"validate", "infra.py", "--debug"}, code: 1, mentions: []string{"--debug", "before the command", "Usage:"}},
		{name: "no command", reason: "usage follows", code: 1, mentions: []string{"Usage:"}},
		{name: "a profile that is not there", reason: "the file is named", args: []string{"-P", "prod", "validate", "infra.py"}, code: 1, mentions: []string{"'prod'", "atlantide.toml"}},
		{name: "version before all", reason: "what stands behind is not read", args: []string{"-P", "x", "--version", "--nope"}, stdout: "atlantide " + version + "\n"},
		{name: "a var without a value", reason: "it is quoted", args: []string{"validate", "infra.py", "--var", "text"}, code: 1, mentions: []string{"'text'"}},
		{name: "an unknown command", reason: "usage follows", args: []string{"vlidate"}, code: 1, mentions: []string{"'vlidate'", "did you mean 'validate'?", "Usage:"}},
		{name: "an unknown flag", reason: "usage follows", args: []string{"validate", "--nope"}, code: 1, mentions: []string{"--nope", "Usage:"}},
		{name: "a misspelled flag", reason: "the nearest one is named", args: []string{"validate", "--fromat", "json"}, code: 1, mentions: []string{"unknown flag: --fromat; did you mean '--format'?\nUsage: atlantide validate [OPTIONS] [CONFIG]\n'atlantide validate --help' tells more.\n"}},
		{name: "environments as a list", reason: "the option is repeated", args: []string{"validate", "envs.py", "-e", "dev,prod"}, code: 1, mentions: []string{"'dev,prod'", "-e dev -e prod"}},
		{name: "a var over another default", reason: "text is told apart, where the default is not text", args: []string{"validate", "typed.py", "--var", "on=false", "--var", "name=x"}, stdout: "warning: --var 'on' is text, and its default is a bool; a --var-file keeps types\nok typed.py — 0 resource(s), no cycles\n"},
		{name: "a shell without completion", reason: "the shells are named", args: []string{"completion", "foo"}, code: 1, mentions: []string{"'foo'", "bash, fish, powershell, zsh", "Usage: atlantide completion [OPTIONS] SHELL\n"}},
		{name: "no shell", reason: "it is missing", args: []string{"completion"}, code: 1, mentions: []string{"SHELL is missing"}},
		{name: "help for nothing", reason: "the nearest command is named", args: []string{"help", "pla"}, code: 1, mentions: []string{"'pla'", "did you mean 'plan'?"}},
		{name: "too many arguments", reason: "usage follows", args: []string{"validate", "a", "b"}, code: 1, mentions: []string{"Usage:"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			stdout, stderr, code := atlantide(t.Context(), test.args...)
			if code != test.code {
				t.Errorf("exit code %d, want %d: %s\n%s", code, test.code, test.reason, stderr)
			}
			if diff := cmp.Diff(test.stdout, stdout); diff != "" {
				t.Errorf("stdout (-want +got): %s\n%s", test.reason, diff)
			}
			for _, word := range test.mentions {
				if !strings.Contains(stderr, word) {
					t.Errorf("stderr lacks %q: %s\n%s", word, test.reason, stderr)
				}
			}
		})
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
			_, stderr, code := atlantide(t.Context(), "validate", "nowhere.py")
			if code != test.code {
				t.Errorf("exit code %d, want %d: %s", code, test.code, test.reason)
			}
			if traces := strings.Contains(stderr, "trace: "); traces != test.traces {
				t.Errorf("trace = %t, want %t: %s\n%s", traces, test.traces, test.reason, stderr)
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

// An environment variable stands for the option that is not given.
func TestEnvironment(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, project.FileName, "config = 'a.py'\n[profile.b]\nconfig = 'b.py'\n"+
		"[profile.vault.secrets]\nprovider = 'vault'\n[profile.gone]\nconfig = 'gone.py'\n[profile.typed]\nconfig = 3\n")
	write(t, "a.py", "")
	write(t, "b.py", "")
	tests := []struct {
		name, value string
		args        []string
		stdout      string
		mentions    string // in stderr; "" = it is empty
		code        int
	}{
		{envProfile, "b", []string{"validate"}, "ok b.py — 0 resource(s), no cycles\n", "", exitOK},
		{envProfile, "nope", []string{"-P", "b", "validate"}, "ok b.py — 0 resource(s), no cycles\n", "", exitOK},
		{envProfile, "nope", []string{"validate"}, "", "'nope'", exitError},
		{envProfile, "", []string{"validate"}, "ok a.py — 0 resource(s), no cycles\n", "", exitOK},
		{envLogLevel, "Debug", []string{"validate"}, "ok a.py — 0 resource(s), no cycles\n", "DEBUG", exitOK},
		{envLogLevel, "debug", []string{"--log-level", "error", "validate"}, "ok a.py — 0 resource(s), no cycles\n", "", exitOK},
		{envLogLevel, "loud", []string{"validate"}, "", envLogLevel + " 'loud'", exitError},
		{envProfile, "vault", []string{"validate"}, "", "there is no secret provider 'vault'; known: env, keyfile, ssm", exitError},
		{envProfile, "gone", []string{"validate"}, "", "the config that atlantide.toml names, gone.py: no such file", exitError},
		{envProfile, "typed", []string{"validate"}, "", "mend 'config' in atlantide.toml, which must be a text, not an integer", exitError},
		{envDebug, "yes", []string{"-P", "c", "validate"}, "", "trace: *model.Error, without a cause\n", exitError},
		{envDebug, "maybe", []string{"validate", "--json"}, "", "Usage:", exitError},
	}
	for _, test := range tests {
		t.Run(test.name+"="+test.value, func(t *testing.T) {
			t.Setenv(test.name, test.value)
			stdout, stderr, code := atlantide(t.Context(), test.args...)
			if code != test.code || test.stdout != "" && stdout != test.stdout {
				t.Errorf("exit code %d: %s", code, stdout)
			}
			if !strings.Contains(stderr, test.mentions) || test.mentions == "" && stderr != "" {
				t.Errorf("stderr lacks %q:\n%s", test.mentions, stderr)
			}
		})
	}
}

func TestLogAsJSON(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "a.py", "x = atlantide.input('token')\n")
	_, stderr, code := atlantide(t.Context(), "--log-level", "debug", "--log-format", "json", "validate", "a.py", "-var", "token=do-not-tell")
	if code != exitOK || strings.Contains(stderr, "do-not-tell") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	for line := range strings.Lines(stderr) {
		entry := oneDocument(t, line)
		name, _ := entry["logger"].(string)
		if entry["level"] != "debug" || entry["ts"] == nil || entry["message"] == nil || !strings.HasPrefix(name, "atlantide.") {
			t.Errorf("%s", line)
		}
	}
}

func TestInterrupt(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "a.py", "x = [a * b for a in range(1000) for b in range(1000)]\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stdout, stderr, code := atlantide(ctx, "validate", "a.py")
	if code != exitInterrupted || stdout != "" || stderr != "interrupted: nothing was changed\n" {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	stdout, stderr, code = atlantide(ctx, "validate", "a.py", "--json")
	if code != exitInterrupted || stderr != "" || !strings.Contains(stdout, `"kind": "InterruptedRunError"`) {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

func TestShowCompletion(t *testing.T) {
	for shell, mentions := range map[string]string{"/bin/bash": "bash completion", "/usr/bin/zsh": "#compdef atlantide", "/bin/fish": "fish completion"} {
		t.Setenv("SHELL", shell)
		stdout, stderr, code := atlantide(t.Context(), "--show-completion")
		if code != exitOK || stderr != "" || !strings.Contains(stdout, mentions) {
			t.Errorf("%s: exit code %d: %.100s%s", shell, code, stdout, stderr)
		}
	}
	for shell, mentions := range map[string]string{"bash": "bash completion", "powershell": "powershell completion"} {
		stdout, stderr, code := atlantide(t.Context(), "completion", shell)
		if code != exitOK || stderr != "" || !strings.Contains(stdout, mentions) {
			t.Errorf("%s: exit code %d: %.100s%s", shell, code, stdout, stderr)
		}
	}
	if stdout, stderr, code := atlantide(t.Context(), "help", "secret", "set"); code != exitOK || stderr != "" || !strings.Contains(stdout, "Usage: atlantide secret set") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	t.Setenv("SHELL", "/bin/other")
	if _, stderr, code := atlantide(t.Context(), "--show-completion"); code != exitError || !strings.Contains(stderr, "'other'") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	t.Chdir(t.TempDir())
	write(t, project.FileName, "[profile.dev]\n[profile.prod]\n")
	stdout, _, _ := atlantide(t.Context(), "__complete", "--profile", "")
	if !strings.HasPrefix(stdout, "dev\nprod\n") {
		t.Errorf("profiles complete to %q", stdout)
	}
}

// mkdir is a new folder in the working directory.
func mkdir(t *testing.T, name string) string {
	t.Helper()
	if err := os.Mkdir(name, 0o755); err != nil {
		t.Fatal(err)
	}
	return name
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
