package stack

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
)

// file is a config with one file.
func file(path, content string) string {
	return `from atlantide.core import Stack
from atlantide.providers.local import File

with Stack("demo", region="eu-north-1"):
    File("f", path=` + path + `, content=` + content + `)
`
}

// What a config may not do stalls its Stack with a message that points at it; nothing
// is retried and nothing is recorded.
func TestBadConfigs(t *testing.T) {
	l := newLand(t)
	o := l.operate()
	cases := []struct {
		reason, config, condition string
		message                   []string
	}{
		{"syntax", "x = = 1\n", "CompileFailed", []string{"infra.py: ", "(line 1, col 5)", "\n  x = = 1\n      ^"}},
		{"loops", "n = 0\nwhile True:\n    n = n + 1\n", "CompileFailed", []string{"line 2", "\n  while True:\n  ^"}},
		{"recursion", "def f(n):\n    return f(n)\n\nf(1)\n", "FuelExhausted", []string{"1000", "line 2", "\n      return f(n)\n             ^"}},
		{"an import of the system", "import os\n", "CompileFailed", []string{"line 1", "\n  import os\n  ^"}},
		{"an unknown name", "x = y\n", "CompileFailed", []string{"(line 1, col 5)", "\n  x = y\n      ^"}},
		{"reading a file", "open(\"/etc/passwd\")\n", "CompileFailed", []string{"line 1", "open"}},
		{"fuel", "n = 0\nfor i in range(100000):\n    for j in range(100000):\n        n = i\n", "FuelExhausted", []string{"line 3", "\n      for j in range(100000):\n"}},
		{"memory", "x = \"a\" * 1000000000\n", "FuelExhausted", []string{"line 1", "\n  x = \"a\" * 1000000000\n          ^"}},
		{"a secret", file(`"f.txt"`, `atlantide.secret("token")`), "SecretsUnavailable", []string{"demo:local.File:f.content", "'token' has no slash", "spec.secrets.refs"}},
		{"a secret of the operator's environment", file(`"f.txt"`, `atlantide.secret("HOME", provider="env")`), "SecretsUnavailable", []string{"'env' is for the command line"}},
		{"a secret of the operator's files", file(`"f.txt"`, `atlantide.secret("token", provider="keyfile")`), "SecretsUnavailable", []string{"'keyfile' is for the command line"}},
		{"a secret of a provider that is not there", file(`"f.txt"`, `atlantide.secret("token", provider="vault")`), "SecretsUnavailable", []string{"no secret provider 'vault'"}},
		{"a text that cannot be recorded", file(`"f.txt"`, `"a\x00b"`), "InputInvalid", []string{"demo:local.File:f"}},
		{"a missing field", "from atlantide.providers.local import File\nFile(\"f\", content=\"a\")\n", "CompileFailed", []string{"line 2"}},
		{"a path to the root", file(`"/etc/passwd"`, `"x"`), "InputInvalid", []string{"demo:local.File:f", "absolute"}},
		{"a path out", file(`"../../secret"`, `"x"`), "InputInvalid", []string{"demo:local.File:f", "'..'"}},
		{"a path with a detour", file(`"a/../b"`, `"x"`), "InputInvalid", []string{"'..'"}},
		{"a path that is empty", file(`""`, `"x"`), "InputInvalid", []string{"empty"}},
		{"a path with a control character", file(`"a\x00b"`, `"x"`), "InputInvalid", []string{"control character"}},
	}
	for i, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			l := l.under(t)
			before := o.spent()
			s := l.create(l.stackOf("bad-"+string(rune('a'+i)), c.config))
			s = l.settled(s, metav1.ConditionFalse, c.condition)
			if !meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionStalled) || len(s.Status.Conditions) != 2 {
				t.Errorf("conditions %v", brief(s.Status))
			}
			for _, want := range c.message {
				if !strings.Contains(message(s), want) {
					t.Errorf("message %q, want one with %q", message(s), want)
				}
			}
			if n := len(message(s)); n > maxMessage {
				t.Errorf("the message has %d bytes", n)
			}
			if f := s.Status.Failure; f == nil || f.Class != "User" || f.NextRetryTime != nil {
				t.Errorf("failure %+v", f)
			}
			o.caughtUp(s)
			if after := o.reconcile(s).RequeueAfter; after != 0 {
				t.Errorf("it is tried again after %s", after)
			}
			spent := o.spent().since(before)
			if spent.Compiles != 1 || spent.ProviderCalls != 0 || spent.Writes != 0 {
				t.Errorf("spent %+v", spent)
			}
		})
	}
}

// A mended config goes on by itself.
func TestStalledStackIsMendedByAnEdit(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	l.operate()
	s := l.settled(l.create(l.stackOf("greeting", "x = (\n")), metav1.ConditionFalse, v1alpha1.ReasonCompileFailed)
	s = l.applied(l.edit(s, setConfig(variantA())))
	if diff := cmp.Diff([]string{"Ready=True/Applied"}, brief(s.Status)); diff != "" || s.Status.Failure != nil {
		t.Errorf("%s, failure %+v", diff, s.Status.Failure)
	}
}

// A path that only a reference gives is refused by the provider call.
func TestHostilePathFromAReference(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	l.operate()
	config := `from atlantide.core import Stack
from atlantide.providers.local import File

with Stack("demo", region="eu-north-1"):
    a = File("a", path="a.txt", content="x")
    File("b", path=concat("../../", a.checksum), content="y")
`
	s := l.settled(l.create(l.stackOf("hostile", config, halting)), metav1.ConditionFalse, v1alpha1.ReasonApplyHalted)
	if !meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionStalled) || s.Status.Failure.Node != "demo:local.File:b" {
		t.Errorf("conditions %v, failure %+v", brief(s.Status), s.Status.Failure)
	}
	if files := l.files(s); len(files) != 1 || files["a.txt"] != "x" {
		t.Errorf("files %q", files)
	}
}
