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
		{"every field", inlineSource + "  inputs: {a: {b: [x, 1.5, null, true]}}\n  interval: 1h30m\n  retryInterval: 5s\n  suspend: true\n  approval: {required: Always}\n  deletion: {policy: Destroy}\n" +
			"  timeout: 30s\n  onFailure: Halt\n  parallelism: 64\n  serviceAccountName: deployer\n" +
			"  secrets: {provider: Kubernetes, defaultSecret: app, refs: [{name: any/name/at all, secretKeyRef: {name: db.prod, key: pass_word.1}}]}\n", ""},
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
		{"a timeout too short", inlineSource + "  timeout: 29s\n", "spec.timeout must be from 30s to 24h"},
		{"an unknown failure mode", inlineSource + "  onFailure: Retry\n", `supported values: "Rollback", "Halt"`},
		{"no parallelism", inlineSource + "  parallelism: 0\n", "spec.parallelism"},
		{"too much parallelism", inlineSource + "  parallelism: 65\n", "spec.parallelism"},
		{"an account of another namespace", inlineSource + "  serviceAccountName: other:default\n", "spec.serviceAccountName"},
		{"the environment as a place of secrets", inlineSource + "  secrets: {provider: Env}\n", `supported values: "Kubernetes"`},
		{"a Secret of another namespace", inlineSource + "  secrets: {defaultSecret: other/app}\n", "spec.secrets.defaultSecret"},
		{"a reference into another namespace", inlineSource + "  secrets: {refs: [{name: a, secretKeyRef: {name: ../app, key: k}}]}\n", "spec.secrets.refs[0].secretKeyRef.name"},
		{"a key that is a path", inlineSource + "  secrets: {refs: [{name: a, secretKeyRef: {name: app, key: a/b}}]}\n", "spec.secrets.refs[0].secretKeyRef.key"},
		{"two references of one name", inlineSource + "  secrets: {refs: [{name: a, secretKeyRef: {name: x, key: k}}, {name: a, secretKeyRef: {name: y, key: k}}]}\n", "Duplicate value"},
		{"a field of secrets that does not exist", inlineSource + "  secrets: {prefix: /app}\n", `unknown field "spec.secrets.prefix"`},
		{"a field that does not exist", inlineSource + "  mode: PlanOnly\n", `unknown field "spec.mode"`},
		{"a field that does not exist, deeper", inlineSource + "  approval: {planDigest: x}\n", `unknown field "spec.approval.planDigest"`},
	}
	for _, tc := range cases {
		t.Run(tc.reason, func(t *testing.T) {
			var stack unstructured.Unstructured
			text, err := yaml.YAMLToJSON([]byte(head + tc.spec))
			if err != nil {
				t.Fatal(err)
			}
			if err := stack.UnmarshalJSON(text); err != nil {
				t.Fatal(err)
			}
			sent := stack.DeepCopy().Object["spec"]
			err = strict.Create(t.Context(), &stack)
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
