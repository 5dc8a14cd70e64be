package source

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func inline(entrypoint string, files map[string]v1alpha1.FileText) *v1alpha1.Stack {
	return &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "s"},
		Spec: v1alpha1.StackSpec{Source: v1alpha1.StackSource{
			Inline: &v1alpha1.InlineSource{Files: files, Entrypoint: entrypoint},
		}},
	}
}

func fromMap(name, entrypoint string) *v1alpha1.Stack {
	return &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "s"},
		Spec: v1alpha1.StackSpec{Source: v1alpha1.StackSource{
			ConfigMapRef: &v1alpha1.ConfigMapSource{Name: name, Entrypoint: entrypoint},
		}},
	}
}

func configMap(namespace, name string, data map[string]string) client.Object {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

func TestResolveRefuses(t *testing.T) {
	many := map[string]v1alpha1.FileText{}
	for i := range MaxInlineFiles + 1 {
		many[strings.Repeat("f", i+1)] = ""
	}
	big := v1alpha1.FileText(strings.Repeat("é", MaxInlineBytes/2+1))
	cases := []struct {
		reason string
		stack  *v1alpha1.Stack
		want   string
	}{
		{"neither member", &v1alpha1.Stack{}, "exactly one of"},
		{"both members", func() *v1alpha1.Stack {
			s := inline("a", map[string]v1alpha1.FileText{"a": ""})
			s.Spec.Source.ConfigMapRef = &v1alpha1.ConfigMapSource{Name: "x", Entrypoint: "a"}
			return s
		}(), "exactly one of"},
		{"too many files", inline("f", many), "holds 65 files"},
		{"bytes count, not characters", inline("a", map[string]v1alpha1.FileText{"a": big}), "at most 65536"},
		{"entrypoint is no file", inline("b", map[string]v1alpha1.FileText{"a": ""}), "no file 'b'"},
		{"text is not UTF-8", inline("a", map[string]v1alpha1.FileText{"a": "\xff"}), "not valid UTF-8"},
		{"ConfigMap is missing", fromMap("none", "a"), "does not exist in namespace 'team'"},
		{"ConfigMap of another namespace", fromMap("foreign", "a"), "does not exist in namespace 'team'"},
		{"key is missing", fromMap("conf", "b"), "ConfigMap 'conf' has no file 'b'"},
	}
	reader := fake.NewClientBuilder().WithObjects(
		configMap("team", "conf", map[string]string{"a": "x"}),
		configMap("other", "foreign", map[string]string{"a": "x"}),
	).Build()
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			_, err := Resolve(t.Context(), reader, c.stack)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
			var wrong InvalidError
			if !errors.As(err, &wrong) || model.ClassOf(err) != model.ClassUser {
				t.Errorf("%v is not a user's to mend", err)
			}
		})
	}
}

func TestResolveUnreadable(t *testing.T) {
	reader := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("connection refused")
		},
	}).Build()
	_, err := Resolve(t.Context(), reader, fromMap("conf", "a"))
	if model.ClassOf(err) != model.ClassTransient {
		t.Errorf("an API server that is away gives %v, want a transient error", err)
	}
}

func TestDigestNamesTheFolderWhereverItIsKept(t *testing.T) {
	reader := fake.NewClientBuilder().WithObjects(configMap("team", "conf", map[string]string{"a": "x", "b": "y"})).Build()
	here, err := Resolve(t.Context(), reader, inline("a", map[string]v1alpha1.FileText{"a": "x", "b": "y"}))
	if err != nil {
		t.Fatal(err)
	}
	there, err := Resolve(t.Context(), reader, fromMap("conf", "a"))
	if err != nil {
		t.Fatal(err)
	}
	if here.Digest != there.Digest || here.Text() != "x" {
		t.Errorf("inline %s %q, ConfigMap %s", here.Digest, here.Text(), there.Digest)
	}
}

// Law: folders that differ in a name, a text or the entrypoint have different digests.
func TestDigestLaw(t *testing.T) {
	folder := rapid.MapOfN(rapid.StringMatching(`[ab]{1,3}`), rapid.StringMatching(`[ab]{0,3}`), 1, 3)
	rapid.Check(t, func(t *rapid.T) {
		one, two := folder.Draw(t, "one"), folder.Draw(t, "two")
		same := len(one) == len(two)
		for name, text := range one {
			other, ok := two[name]
			same = same && ok && other == text
		}
		if (digest(one, "a") == digest(two, "a")) != same {
			t.Fatalf("%v and %v: same=%v", one, two, same)
		}
		if digest(one, "a") == digest(one, "b") {
			t.Fatal("the entrypoint is not part of the digest")
		}
	})
}

func TestInputs(t *testing.T) {
	cases := []struct {
		reason, raw, want string
	}{
		{"not an object", `[1]`, "must be an object"},
		{"a secret handle", `{"a":{"$secret_ref":{"name":"x","provider":null}}}`, "spec.inputs.a"},
		{"a nested reference", `{"a":[{"$ref":"s:t:n#o"}]}`, "spec.inputs.a"},
		{"an integer beyond 64 bits", `{"a":92233720368547758080}`, "spec.inputs is not usable"},
		{"too big", `{"a":"` + strings.Repeat("x", MaxInputsBytes) + `"}`, "at most 65536"},
		{"plain values", `{"a":1,"b":{"c":[true,null,1.5]}}`, ""},
		{"none", `{}`, ""},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			stack := &v1alpha1.Stack{}
			stack.Spec.Inputs = &apiextensionsv1.JSON{Raw: []byte(c.raw)}
			_, err := Inputs(stack)
			switch {
			case c.want == "" && err != nil:
				t.Fatal(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
		})
	}
	if inputs, err := Inputs(&v1alpha1.Stack{}); inputs != nil || err != nil {
		t.Errorf("absent inputs read as %v, %v", inputs, err)
	}
}
