package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
)

func TestSecrets(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, project.FileName, "[secrets]\nprovider = 'env'\n")
	mkdir(t, "below")
	for _, c := range []struct {
		reason, stdin  string
		args           []string
		code           int
		stdout, stderr string // stderr: what it mentions
	}{
		{"nothing is there yet", "", []string{"list"}, exitOK, "", ""},
		{"reading makes no key", "", []string{"get", "-r", "a"}, exitError, "", "'a' is not in the secret store atlantide.secrets"},
		{"a value on the command line", "", []string{"set", "b/c", "one"}, exitOK, "set b/c in atlantide.secrets\n", ""},
		{"a value from a pipe, without the line end", "two\nlines\n", []string{"set", "a"}, exitOK, "set a in atlantide.secrets\n", ""},
		{"a line end of Windows", "x\r\n", []string{"set", "w"}, exitOK, "set w in atlantide.secrets\n", ""},
		{"names, sorted, one a line", "", []string{"list"}, exitOK, "a\nb/c\nw\n", ""},
		{"a value only when it is asked for", "", []string{"get", "a"}, exitError, "", "--reveal"},
		{"the bare value", "", []string{"get", "--reveal", "a"}, exitOK, "two\nlines\n", ""},
		{"as it was without the line end", "", []string{"get", "-r", "w"}, exitOK, "x\n", ""},
		{"another value", "", []string{"set", "a", "three"}, exitOK, "set a in atlantide.secrets\n", ""},
		{"replaces the old one", "", []string{"get", "-r", "a"}, exitOK, "three\n", ""},
		{"an empty pipe sets nothing", "", []string{"set", "a"}, exitError, "", "no value came from standard input"},
		{"an empty value that is written out", "", []string{"set", "empty", ""}, exitOK, "set empty in atlantide.secrets\n", ""},
		{"too much", strings.Repeat("x", maxSecretBytes+1), []string{"set", "a"}, exitError, "", "no secret"},
		{"more than a value may have", strings.Repeat("x", 65<<10), []string{"set", "a"}, exitError, "", "longer than"},
		{"bytes that are no text", "\xff", []string{"set", "a"}, exitError, "", "not UTF-8"},
		{"a name without a name", "", []string{"set", "", "x"}, exitError, "", "has no name"},
		{"a name of two lines", "", []string{"set", "a\nb", "x"}, exitError, "", "control character"},
		{"removed", "", []string{"rm", "b/c"}, exitOK, "removed b/c from atlantide.secrets\n", ""},
		{"gone", "", []string{"rm", "b/c"}, exitError, "", "there is no secret 'b/c'"},
		{"the rest stays", "", []string{"list"}, exitOK, "a\nempty\nw\n", ""},
		{"another database has another store", "", []string{"list", "--state", "below/x.db"}, exitOK, "", ""},
		{"beside it", "", []string{"set", "--state", "below/x.db", "a", "x"}, exitOK, "set a in below/atlantide.secrets\n", ""},
		{"no command", "", nil, exitError, "", "Usage: atlantide secret"},
		{"an unknown command", "", []string{"lst"}, exitError, "", "did you mean 'list'?"},
		{"no name", "", []string{"set"}, exitError, "", "Usage: atlantide secret set"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			stdout, stderr, code := atlantideReading(t.Context(), c.stdin, append([]string{"secret"}, c.args...)...)
			if code != c.code || stdout != c.stdout || !strings.Contains(stderr, c.stderr) || c.stderr == "" && stderr != "" {
				t.Errorf("exit code %d\nstdout %q, want %q\nstderr lacks %q: %s", code, stdout, c.stdout, c.stderr, stderr)
			}
		})
	}
	for _, name := range []string{"atlantide.key", "atlantide.secrets", "below/atlantide.key"} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		if text := read(t, name); strings.Contains(text, "three") || strings.Contains(text, "empty") {
			t.Errorf("%s is not encrypted", name)
		}
	}
}

// A store is never read with a key that others can read, nor written with a key that did
// not write it; the commands need no config and no components.
func TestSecretsAndTheirKey(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, project.FileName, "secrets_key = 'keys/k'\nsecrets_store = 'keys/s'\nconfig = 'nowhere.py'\n")
	write(t, ".atlantis/components/loose.py", "")
	mkdir(t, "keys")
	mkdir(t, "sub")
	t.Chdir("sub")
	set := func(mentions string) {
		t.Helper()
		_, stderr, code := atlantide(t.Context(), "secret", "set", "a", "do-not-tell")
		if (code == exitOK) != (mentions == "") || !strings.Contains(stderr, mentions) || strings.Contains(stderr, "do-not-tell") {
			t.Errorf("exit code %d; stderr lacks %q: %s", code, mentions, stderr)
		}
	}
	set("")
	if diff := cmp.Diff([]string{"../keys/k", "../keys/s", "../keys/s.lock"}, entries(t, "../keys")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	chmod(t, "../keys/k", 0o640)
	set("../keys/k can be reached by group or others")
	chmod(t, "../keys/k", 0o600)
	key := read(t, "../keys/k")
	write(t, "../keys/k", key[1:]+"x")
	set("another key wrote it")
	write(t, "../keys/k", key+"x")
	set("../keys/k")
	if err := os.Remove("../keys/k"); err != nil {
		t.Fatal(err)
	}
	set("there is no install key at ../keys/k")
	link(t, "nowhere", "../keys/k")
	set("it is a link that leads nowhere")
}

// T-217d, SC-6: the parameter store of AWS is there where it is chosen, and the stores of this
// machine always; to choose it asks it nothing.
func TestSecretProviders(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, value := range map[string]string{
		"APP_TOKEN": "from the environment", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_PROFILE": "", "AWS_REGION": "", "AWS_DEFAULT_REGION": "",
		"AWS_CONFIG_FILE": "none", "AWS_SHARED_CREDENTIALS_FILE": "none", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	for _, c := range []struct{ reason, settings, handle, mentions string }{
		{"the default is the keyfile", "", "SecretRef('x')", "'x' is not in the secret store"},
		{"without a choice there is no ssm", "", "SecretRef('x', provider='ssm')", "no secret provider 'ssm'; known: env, keyfile"},
		{"chosen, it is the default", "provider = 'ssm'", "SecretRef('x')", "no region is set for the secret provider 'ssm'"},
		{"and the environment is reached by name", "provider = 'ssm'\n[secrets.env]\nallow = ['APP_*']", "SecretRef('APP_TOKEN', provider='env')", ""},
		{"and so is the keyfile", "provider = 'ssm'", "SecretRef('x', provider='keyfile')", "'x' is not in the secret store"},
		{"its settings reach it", "provider = 'ssm'\nregion = 'eu-west-1'\nprofile = 'nope'", "SecretRef('x')", "nope"},
		{"settings that are none", "provider = 'ssm'\nendpoint = 'nope'", "SecretRef('APP_TOKEN', provider='env')", "'endpoint'"},
		{"an unknown one", "provider = 'vault'", "'no handle'", "no secret provider 'vault'; known: env, keyfile, ssm"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			write(t, project.FileName, "[secrets]\n"+c.settings+"\n")
			write(t, "infra.py", "from atlantide.core import SecretRef\nfrom atlantide.providers.local import File\nFile('f', path='f.txt', content="+c.handle+")\n")
			_, stderr, code := atlantide(t.Context(), "plan", "infra.py")
			if (code == exitOK) != (c.mentions == "") || !strings.Contains(stderr, c.mentions) {
				t.Errorf("exit code %d; stderr lacks %q: %s", code, c.mentions, stderr)
			}
		})
	}
}
