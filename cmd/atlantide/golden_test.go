package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const needsText = `from atlantide.core import Component
from atlantide.core.errors import RegistryError
from atlantide.providers.local import File

class Motd(Component):
    def __init__(self, name, *, text=None):
        if text is None:
            raise RegistryError("a motd needs a text: give one,\r\n::error::50%")
        self.file = File("file", path="etc/motd", content=text)
`

const callsMotd = `from atlantide.components.acme import Motd

def make(name):
    Motd(name, text=atlantide.input("text", None))

make("m")
`

// TestForms tells the same findings in every form. The project lies in a repository,
// and its names hold what URIs and workflow commands give a meaning to.
func TestForms(t *testing.T) {
	repository := t.TempDir()
	t.Chdir(repository)
	write(t, ".git", "gitdir: elsewhere\n")
	t.Chdir(mkdir(t, "a 50%,b:c"))
	write(t, project.FileName, "config = 'conf/infra.py'\n[profile.x]\n")
	write(t, "conf/infra.py", callsMotd)
	write(t, "conf/v.toml", "text = \"x\"\nmore = 1\n")
	write(t, "conf/bad.toml", "text = \"é\", 1\n")
	write(t, "components/acme/__init__.py", needsText)
	t.Chdir("conf")
	for _, c := range []struct {
		name string
		code int
		args []string
	}{
		{"raised", exitError, []string{"validate"}},
		{"unread", exitOK, []string{"validate", "--var-file", "v.toml", "-var", "txt=1"}},
		{"strict", exitError, []string{"validate", "infra.py", "--var-file", "v.toml", "-var", "txt=1", "--strict-inputs"}},
		{"toml", exitError, []string{"validate", "--var-file", "bad.toml"}},
		{"profile", exitError, []string{"-P", "y", "validate"}},
		{"usage", exitError, []string{"validate", "--nope"}},
	} {
		for _, form := range []string{formatText, formatJSON, formatGitHub, formatSARIF} {
			t.Run(c.name+" as "+form, func(t *testing.T) {
				stdout, stderr, code := atlantide(t.Context(), append(c.args, "--format", form)...)
				if code != c.code {
					t.Errorf("exit code %d, want %d", code, c.code)
				}
				if form == formatJSON || form == formatSARIF {
					oneDocument(t, stdout)
				}
				golden(t, repository, filepath.Join("testdata", c.name+"."+form+".txt"), fmt.Sprintf("stdout:\n%sstderr:\n%s", stdout, stderr))
			})
		}
	}
}

// golden compares a text with a file of the package.
func golden(t *testing.T, repository, name, got string) {
	t.Helper()
	at := filepath.Join(packageFolder, name)
	if *update {
		if err := os.WriteFile(at, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
	if strings.Contains(got, repository) {
		t.Error("the output names a folder of this machine")
	}
}

// packageFolder is where the tests start.
var packageFolder, _ = os.Getwd()

func oneDocument(t *testing.T, text string) map[string]any {
	t.Helper()
	var document map[string]any
	decoder := json.NewDecoder(strings.NewReader(text))
	if err := decoder.Decode(&document); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if decoder.More() {
		t.Error("more than one document")
	}
	return document
}

// atlantide runs the command line in this process, with nothing to read.
func atlantide(ctx context.Context, args ...string) (stdout, stderr string, code int) {
	return atlantideReading(ctx, "", args...)
}

func atlantideReading(ctx context.Context, stdin string, args ...string) (stdout, stderr string, code int) {
	var out, err bytes.Buffer
	code = run(ctx, args, strings.NewReader(stdin), &out, &err)
	return out.String(), err.String(), code
}

// Every object of a SARIF log has the members that its schema requires, and a run says
// how its columns count.
func TestSARIFMembers(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "infra.py", callsMotd)
	write(t, "components/acme/__init__.py", needsText)
	stdout, _, _ := atlantide(t.Context(), "validate", "infra.py", "--format", "sarif")
	log := oneDocument(t, stdout)
	need := func(what string, v any, members ...string) map[string]any {
		t.Helper()
		object, ok := v.(map[string]any)
		for _, member := range members {
			if object[member] == nil {
				ok = false
			}
		}
		if !ok {
			t.Fatalf("%s lacks one of %v: %v", what, members, v)
		}
		return object
	}
	need("log", log, "version", "runs", "$schema")
	run := need("run", log["runs"].([]any)[0], "tool", "results", "columnKind")
	driver := need("driver", need("tool", run["tool"], "driver")["driver"], "name", "rules")
	result := need("result", run["results"].([]any)[0], "message", "ruleId", "level", "locations", "relatedLocations")
	need("message", result["message"], "text")
	rule := need("rule", driver["rules"].([]any)[int(result["ruleIndex"].(float64))], "id", "shortDescription")
	if rule["id"] != result["ruleId"] || run["columnKind"] != "unicodeCodePoints" || log["version"] != "2.1.0" {
		t.Errorf("rule %v of %v, columns %v, version %v", rule["id"], result["ruleId"], run["columnKind"], log["version"])
	}
	for _, list := range []string{"locations", "relatedLocations"} {
		for _, each := range result[list].([]any) {
			place := need(list, need(list, each, "physicalLocation")["physicalLocation"], "artifactLocation", "region")
			need("artifact", place["artifactLocation"], "uri")
			need("region", place["region"], "startLine")
		}
	}
	need("invocation", run["invocations"].([]any)[0], "executionSuccessful")
}
