package v1alpha1_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/atlantide-org/atlantide-operator/hack/devenv"
)

func TestMain(m *testing.M) { os.Exit(devenv.Main(m, devenv.WithControlPlane)) }

const head = "apiVersion: atlantide.io/v1alpha1\nkind: Stack\nmetadata: {generateName: s-, namespace: default}\nspec:\n"

const inlineSource = "  source: {inline: {entrypoint: a.py, files: {a.py: ''}}}\n"

// Every rule of the schema, by what a real API server answers to a strict apply.
func TestSchema(t *testing.T) {
	c, err := client.New(devenv.Cluster(t).RESTConfig, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	strict := client.WithFieldValidation(c, "Strict")
	files := func(n, size int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "f%d: %s, ", i, strings.Repeat("x", size))
		}
		return "  source: {inline: {entrypoint: f0, files: {" + b.String() + "}}}\n"
	}
	cases := []struct {
		reason, spec string
		want         string // "" = accepted
	}{
		{"the least", inlineSource, ""},
		{"every field", inlineSource + "  inputs: {a: {b: [x, 1.5, null, true]}}\n  interval: 1h30m\n  retryInterval: 5s\n  suspend: true\n  approval: {required: Always}\n  deletion: {policy: Destroy}\n", ""},
		{"a ConfigMap", "  source: {configMapRef: {name: c, entrypoint: a.py}}\n", ""},
		{"no source", "  suspend: true\n", "spec.source: Required value"},
		{"an empty source", "  source: {}\n", "spec.source must have exactly one of inline and configMapRef"},
		{"two sources", "  source: {inline: {entrypoint: a, files: {a: ''}}, configMapRef: {name: c, entrypoint: a}}\n", "spec.source must have exactly one of"},
		{"an entrypoint that is no file", "  source: {inline: {entrypoint: b, files: {a: ''}}}\n", "entrypoint must be one of the names"},
		{"a file name with a slash", "  source: {inline: {entrypoint: a/b, files: {a/b: ''}}}\n", "a name in spec.source.inline.files must consist of"},
		{"no files", "  source: {inline: {entrypoint: b, files: {}}}\n", "should have at least 1 properties"},
		{"64 files of 1 KiB", files(64, 1024), ""},
		{"65 files", files(65, 1), "must have at most 64 items"},
		{"a byte more than 64 KiB in all", files(2, 32769), "must hold at most 64 KiB in all"},
		{"bytes count, not characters", "  source: {inline: {entrypoint: a, files: {a: " + strings.Repeat("é", 32769) + "}}}\n", "must hold at most 64 KiB in all"},
		{"an interval too short", inlineSource + "  interval: 59s\n", "spec.interval must be from 1m to 24h"},
		{"an interval too long", inlineSource + "  interval: 25h\n", "spec.interval must be from 1m to 24h"},
		{"an interval that is no duration", inlineSource + "  interval: daily\n", "spec.interval"},
		{"a retry interval too short", inlineSource + "  retryInterval: 4s\n", "spec.retryInterval must be from 5s to 24h"},
		{"an unknown approval", inlineSource + "  approval: {required: Sometimes}\n", `supported values: "Always", "Destructive", "Never"`},
		{"an unknown deletion policy", inlineSource + "  deletion: {policy: Keep}\n", `supported values: "Orphan", "Destroy"`},
		{"inputs that are a list", inlineSource + "  inputs: [1]\n", "spec.inputs"},
		{"a field that does not exist", inlineSource + "  parallelism: 4\n", `unknown field "spec.parallelism"`},
		{"a field that does not exist, deeper", inlineSource + "  approval: {planDigest: x}\n", `unknown field "spec.approval.planDigest"`},
	}
	for _, tc := range cases {
		t.Run(tc.reason, func(t *testing.T) {
			var stack unstructured.Unstructured
			if err := yaml.Unmarshal([]byte(head+tc.spec), &stack.Object); err != nil {
				t.Fatal(err)
			}
			sent := stack.DeepCopy().Object["spec"]
			err := strict.Create(t.Context(), &stack)
			switch {
			case tc.want == "" && err != nil:
				t.Fatal(err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Fatalf("answer %v, want one with %q", err, tc.want)
			case tc.want == "":
				if diff := cmp.Diff(sent, stack.Object["spec"]); diff != "" {
					t.Errorf("the server changed the spec (no defaults, no pruning):\n%s", diff)
				}
			}
		})
	}
}
