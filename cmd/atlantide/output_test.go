package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func TestOutput(t *testing.T) {
	both, text := []string{formatText, formatJSON}, []string{formatText}
	for _, c := range []struct {
		name, reason string
		before       func(t *testing.T)
		forms        []string
		code         int
		args         []string
	}{
		{"all", "everything, sorted, and nothing sensitive", nil, both, exitOK, nil},
		{"stack", "of one stack", nil, both, exitOK, []string{"--stack", "docs"}},
		{"no-such-stack", "a stack without outputs is no error", nil, both, exitOK, []string{"--stack", "doc"}},
		{"one", "the bare value, ready to be piped", nil, both, exitOK, []string{"docs:path"}},
		{"one-of-stack", "the name and its stack", nil, text, exitOK, []string{"path", "--stack", "web"}},
		{"list", "what is no text is JSON", nil, both, exitOK, []string{"ports"}},
		{"ambiguous", "a name of two stacks asks for one", nil, both, exitError, []string{"path"}},
		{"unknown", "an unknown name lists what exists", nil, both, exitError, []string{"pats"}},
		{"unknown-of-stack", "also within a stack", nil, text, exitError, []string{"ports", "--stack", "docs"}},
		{"sensitive", "what is sensitive is printed on demand only", nil, both, exitError, []string{"password"}},
		{"no-key", "what is sealed needs the key that sealed it", func(t *testing.T) { remove(t, "atlantide.key") }, both, exitError, []string{"password", "--reveal"}},
		{"no-key-needed", "and nothing else does", func(t *testing.T) { remove(t, "atlantide.key") }, text, exitOK, []string{"docs:path", "--reveal"}},
		{"empty", "an empty state says so", func(t *testing.T) { remove(t, "atlantide.db") }, both, exitOK, nil},
		{"none", "and has no output of a name", func(t *testing.T) { remove(t, "atlantide.db") }, text, exitError, []string{"path"}},
		{"empty-name", "an empty name is an accident", nil, text, exitError, []string{""}},
		{"broken", "only the state is read, whatever the config and its components are", breakConfig, both, exitOK, []string{"--stack", "docs"}},
		{"override", "a warning is not part of a value", func(t *testing.T) {
			write(t, "atlantide.toml", "[state]\nbackend = 'postgres'\ndsn = 'postgres://nowhere/x'\n")
		}, both, exitOK, []string{"docs:path", "--state", "atlantide.db"}},
		{"github", "a value ends at a line that it does not have", nil, text, exitOK, []string{"ports", "--format", "github"}},
		{"shell", "values are quoted", nil, text, exitOK, []string{"--stack", "docs", "--format", "shell"}},
		{"dotenv", "values are quoted", nil, text, exitOK, []string{"--stack", "docs", "--format", "dotenv"}},
		{"dotenv-refused", "what readers take for different things is not written", nil, text, exitError, []string{"ports", "--format", "dotenv"}},
		{"shell-sensitive", "a variable holds no word in place of a secret", nil, text, exitError, []string{"--format", "shell"}},
		{"github-error", "an error is for people where the result goes into a file", nil, text, exitError, []string{"--format", "github", "path"}},
		{"form", "the forms are named", nil, text, exitError, []string{"--format", "yaml"}},
	} {
		inEveryForm(t, "output", c.name, c.forms, func(t *testing.T) string {
			dir := inRecordedFolder(t)
			if c.before != nil {
				c.before(t)
			}
			return dir
		}, c.code, c.args)
	}
}

// breakConfig leaves neither a config that compiles nor components that are what is pinned.
func breakConfig(t *testing.T) {
	t.Helper()
	write(t, "infra.py", "while True:\n")
	write(t, ".atlantis/components/acme/__init__.py", "")
	if _, _, code := atlantide(t.Context(), "plan", "infra.py"); code != exitError {
		t.Fatal("the config is not broken")
	}
}

// The revealed password is the one value everywhere, and stands in no other output.
func TestRevealedOutput(t *testing.T) {
	inRecordedFolder(t)
	bare, stderr, code := atlantide(t.Context(), "output", "password", "--reveal")
	password := strings.TrimSuffix(bare, "\n")
	if code != exitOK || len(password) < 8 || strings.Contains(password, "\n") {
		t.Fatalf("exit code %d: %q%s", code, bare, stderr)
	}
	stdout, _, _ := atlantide(t.Context(), "output", "password", "--reveal", "--json")
	if oneDocument(t, stdout)["value"] != password {
		t.Errorf("in JSON: %s", stdout)
	}
	stdout, _, _ = atlantide(t.Context(), "output", "-r", "--json")
	if all := oneDocument(t, stdout)["outputs"].(map[string]any); all["web:password"] != password {
		t.Errorf("among all: %s", stdout)
	}
	if stdout, _, _ = atlantide(t.Context(), "output", "-r"); !strings.Contains(stdout, "web:password = "+model.Repr(password)+"\n") {
		t.Errorf("among all, as text: %s", stdout)
	}
	for _, args := range [][]string{{"output"}, {"output", "--json"}, {"output", "password"}, {"output", "password", "--json"}, {"output", "--format", "shell"}} {
		if stdout, stderr, _ := atlantide(t.Context(), args...); strings.Contains(stdout+stderr, password) {
			t.Errorf("%v tells the password", args)
		}
	}
	raw, err := os.ReadFile("atlantide.db")
	if err != nil || strings.Contains(string(raw), password) {
		t.Errorf("the password stands in the database, or that cannot be read: %v", err)
	}
}

// What a shell reads of any value is that value.
func TestShellQuoting(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "vars")
	rapid.Check(t, func(r *rapid.T) {
		value := strings.ReplaceAll(rapid.StringOf(rapid.RuneFrom([]rune("ab'\"\\$`\n\r\t!*~ é;&|<>(){}#=%\x1b"))).Draw(r, "value"), "\x00", "")
		text, err := assignments(formatShell, []recordedOutput{{key: "s:n", value: value}})
		if err != nil {
			r.Fatal(err)
		}
		if err := os.WriteFile(script, []byte(text+`printf '%s.' "$s_n"`), 0o600); err != nil {
			r.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), shell, script).Output()
		if err != nil || string(out) != value+"." {
			r.Fatalf("%q came out as %q: %v", value, out, err)
		}
	})
}

func TestVariables(t *testing.T) {
	for _, c := range []struct {
		reason, format string
		recorded       []recordedOutput
		want           string // "" = refused
		mentions       string
	}{
		{"a key is made a name", formatShell, []recordedOutput{{key: "my-stack:a.b", value: "x"}}, "my_stack_a_b='x'\n", ""},
		{"a name begins with no digit", formatDotenv, []recordedOutput{{key: "1:a", value: true}}, "_1_a='true'\n", ""},
		{"two keys are one name", formatShell, []recordedOutput{{key: "a-b:c", value: "x"}, {key: "a_b:c", value: "y"}}, "", "one variable, a_b_c"},
		{"a NUL ends a variable", formatShell, []recordedOutput{{key: "a:b", value: "x\x00y"}}, "", "NUL"},
		{"a quote in double quotes", formatDotenv, []recordedOutput{{key: "a:b", value: "it's"}}, "a_b=\"it's\"\n", ""},
		{"an expansion in single quotes", formatDotenv, []recordedOutput{{key: "a:b", value: "$HOME `x` \"y\"\nz"}}, "a_b='$HOME `x` \"y\"\nz'\n", ""},
		{"no quotes are safe", formatDotenv, []recordedOutput{{key: "a:b", value: "it's $HOME"}}, "", "--format shell or json"},
		{"a backslash", formatDotenv, []recordedOutput{{key: "a:b", value: `a\nb`}}, "", "--format shell or json"},
		{"nothing", formatGitHub, nil, "", ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got, err := assignments(c.format, c.recorded)
			if got != c.want || (err != nil) != (c.mentions != "") {
				t.Fatalf("%q, %v", got, err)
			}
			if err != nil && !strings.Contains(err.Error(), c.mentions) {
				t.Errorf("%v lacks %q", err, c.mentions)
			}
		})
	}
	for _, value := range []string{"", "x", heredoc("x"), "a\n" + heredoc("a\n")} {
		if mark := heredoc(value); strings.Contains(value, mark) {
			t.Errorf("%q holds its own end", value)
		}
	}
}
