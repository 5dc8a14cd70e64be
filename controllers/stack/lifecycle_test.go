package stack

import (
	"context"
	"encoding/json"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/controllers/internal/planview"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// greeting is the documents' walkthrough.
func greeting(path, content string) string {
	return `from atlantide.core import Stack, output
from atlantide.providers.local import File

with Stack("demo", region="eu-north-1"):
    greeting = File("greeting", path="` + path + `", content="` + content + `")
    File("receipt", path="out/receipt.txt", content=greeting.checksum)

output("greeting_checksum", greeting.checksum)
`
}

func variantA() string { return greeting("out/greeting.txt", "hello atlantide") }

func (l *land) view(s *v1alpha1.Stack) map[string]string {
	l.Helper()
	cm := &corev1.ConfigMap{}
	l.Expect(l.client.Get(l.Context(), client.ObjectKey{Namespace: s.Namespace, Name: planview.Name(s.Name)}, cm)).To(gomega.Succeed())
	return cm.Data
}

func TestStackBecomesReady(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	o := l.operate()
	before := o.spent()
	s := l.applied(l.create(l.stackOf("greeting", variantA())))

	files := l.files(s)
	if files["out/greeting.txt"] != "hello atlantide" || len(files["out/receipt.txt"]) != 64 || len(files) != 2 {
		t.Errorf("files %q", files)
	}
	status := s.Status
	if status.Artifact == nil || len(status.Artifact.Short) != 12 || !strings.HasPrefix(status.Artifact.IRDigest, digestPrefix+status.Artifact.Short) {
		t.Errorf("artifact %+v", status.Artifact)
	}
	if status.Plan == nil || status.Plan.Text != "+2 ~0 ±0 -0" || status.Plan.Decision != v1alpha1.PlanApplied || status.Plan.Destructive || len(status.Plan.Digest) != 71 {
		t.Errorf("plan %+v", status.Plan)
	}
	if status.State == nil || status.State.Resources != 2 || status.State.Serial == 0 || status.Outputs == nil || status.Outputs.Count != 1 {
		t.Errorf("state %+v, outputs %+v", status.State, status.Outputs)
	}
	if a := status.LastApplied; a == nil || a.PlanDigest != status.Plan.Digest || a.IRDigest != status.Artifact.IRDigest || a.StateSerial != status.State.Serial {
		t.Errorf("last applied %+v", a)
	}
	if len(status.Conditions) != 1 || status.Failure != nil {
		t.Errorf("conditions %v, failure %+v", brief(status), status.Failure)
	}
	if diff := cmp.Diff([]string{v1alpha1.Finalizer}, s.Finalizers); diff != "" {
		t.Error(diff)
	}
	l.eventually(func(g gomega.Gomega) {
		g.Expect(l.events(s, v1alpha1.ReasonApplied)).To(gomega.ConsistOf("applied +2 ~0 ±0 -0; 2 resources as declared"))
	})

	view := l.view(s)
	if !strings.Contains(view[planview.KeyText], "+ create  local.File:greeting") {
		t.Errorf("plan.txt:\n%s", view[planview.KeyText])
	}
	var run struct {
		OK    bool
		Nodes []struct{ NodeID, Action string }
	}
	if err := json.Unmarshal([]byte(view[planview.KeyRun]), &run); err != nil || !run.OK || len(run.Nodes) != 2 {
		t.Errorf("run.json %s (%v)", view[planview.KeyRun], err)
	}
	// operator.md 5: at most 12 requests, the finalizer and what is read from the cache apart.
	spent := o.spent().since(before)
	if requests := spent.APIReads + spent.APIWrites - 1; spent.Compiles != 1 || spent.ProviderCalls != 2 || requests > 12 {
		t.Errorf("spent %+v", spent)
	}
}

// A steady reconcile: nothing is compiled, called or written, one query is made.
func TestSteadyReconcileCostsNothing(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"inline", "configMap"} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			l := newLand(t)
			o := l.operate()
			stack := l.stackOf("greeting", variantA())
			if from == "configMap" {
				l.sourceMap("conf", variantA())
				stack.Spec.Source = v1alpha1.StackSource{ConfigMapRef: &v1alpha1.ConfigMapSource{Name: "conf", Entrypoint: "infra.py"}}
			}
			s := l.steady(o, l.create(stack))
			const rounds = 5
			before := o.spent()
			for range rounds {
				if after := o.reconcile(s).RequeueAfter; after <= 0 {
					t.Errorf("it is not looked at again: %s", after)
				}
			}
			if diff := cmp.Diff(cost{Queries: rounds}, o.spent().since(before)); diff != "" {
				t.Errorf("%d reconciles cost:\n%s", rounds, diff)
			}
			if now := l.read(s); now.ResourceVersion != s.ResourceVersion {
				t.Errorf("resourceVersion moved from %s to %s", s.ResourceVersion, now.ResourceVersion)
			}

			// One that was asked for adds the echo, and nothing else.
			before = o.spent()
			s = l.edit(s, annotate(v1alpha1.AnnotationReconcileRequestedAt, "now"))
			l.eventually(func(g gomega.Gomega) { g.Expect(l.read(s).Status.LastHandledReconcileAt).To(gomega.Equal("now")) })
			o.reconcile(l.steady(o, s))
			if diff := cmp.Diff(cost{APIWrites: 1, Queries: 2}, o.spent().since(before)); diff != "" {
				t.Errorf("a forced reconcile and a steady one cost:\n%s", diff)
			}

			// Another operator, without memory, compiles once, asks once, and writes nothing.
			o.stop()
			s = l.read(s)
			loads := &atomic.Int64{}
			next := l.operate(func(set *settings) { set.state = func(s State) State { return countingState{s, loads} } })
			l.steady(next, s)
			spent := next.spent().since(next.began)
			spent.APIReads = 0 // of the caches that fill
			if diff := cmp.Diff(cost{Compiles: 1, Queries: 1}, spent); diff != "" || loads.Load() != 0 || l.read(s).ResourceVersion != s.ResourceVersion {
				t.Errorf("a restart loaded state %d times and cost:\n%s", loads.Load(), diff)
			}
			next.reconcile(s)
			if now := next.spent().since(next.began); now.Compiles != 1 || now.Queries != 2 {
				t.Errorf("with the reconcile after that it cost %+v", now)
			}
		})
	}
}

// countingState counts what is read whole.
type countingState struct {
	State
	loads *atomic.Int64
}

func (s countingState) Load(ctx context.Context, partition string) (*state.Snapshot, error) {
	s.loads.Add(1)
	return s.State.Load(ctx, partition)
}

// The price of a steady reconcile: all of it, and what is left without the query.
func BenchmarkSteadyReconcile(b *testing.B) {
	l := newLand(b)
	o := l.operate()
	request := reconcile.Request{NamespacedName: keyOf(l.steady(o, l.create(l.stackOf("greeting", variantA()))))}
	run := func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := o.reconciler.Reconcile(b.Context(), request); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("whole", run)
	still := stillStore{Store: o.reconciler.Store, serial: l.read(&v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: request.Name}}).Status.State.Serial}
	o.reconciler.Store = still
	b.Run("without the query", run)
}

// stillStore knows its serial.
type stillStore struct {
	Store
	serial int64
}

func (s stillStore) Serial(context.Context, string) (int64, error) { return s.serial, nil }

// steady waits until a Stack is applied and nothing about it is under way any more.
func (l *land) steady(o *operator, s *v1alpha1.Stack) *v1alpha1.Stack {
	l.Helper()
	s = l.applied(s)
	o.caughtUp(s)
	l.eventually(func(g gomega.Gomega) { g.Expect(l.events(s, v1alpha1.ReasonApplied)).NotTo(gomega.BeEmpty()) })
	return s
}

// caughtUp waits until the operator has remembered how a Stack ended and its cache shows
// the Stack as it is.
func (o *operator) caughtUp(s *v1alpha1.Stack) {
	o.Helper()
	o.cached(s)
	o.eventually(func(g gomega.Gomega) {
		_, remembered := o.reconciler.memory.recall(keyOf(s))
		g.Expect(remembered).To(gomega.BeTrue())
	})
}

// cached waits until the operator's cache shows a Stack as it is.
func (o *operator) cached(s *v1alpha1.Stack) {
	o.Helper()
	o.eventually(func(g gomega.Gomega) {
		cached := &v1alpha1.Stack{}
		g.Expect(o.reconciler.Client.Get(o.Context(), keyOf(s), cached)).To(gomega.Succeed())
		g.Expect(cached.ResourceVersion).To(gomega.Equal(s.ResourceVersion))
	})
}

func (l *land) sourceMap(name, config string) *corev1.ConfigMap {
	l.Helper()
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name},
		Data:       map[string]string{"infra.py": config},
	}
	l.Expect(l.client.Create(l.Context(), cm)).To(gomega.Succeed())
	return cm
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	l.operate()
	s := l.applied(l.create(l.stackOf("greeting", variantA())))
	receipt := l.files(s)["out/receipt.txt"]
	s = l.applied(l.edit(s, setConfig(greeting("out/greeting.txt", "hello world"))))
	files := l.files(s)
	if files["out/greeting.txt"] != "hello world" || files["out/receipt.txt"] == receipt || len(files) != 2 {
		t.Errorf("files %q", files)
	}
	if s.Status.Plan.Text != "+0 ~2 ±0 -0" {
		t.Errorf("plan %s", s.Status.Plan.Text)
	}
	if text := l.view(s)[planview.KeyText]; !strings.Contains(text, "~ update  local.File:greeting\n      content: ") || !strings.HasSuffix(text, "\nDigest: "+s.Status.Plan.Digest+"\n") {
		t.Errorf("plan.txt:\n%s", text)
	}
}

func TestConfigMapEditIsPlannedAtOnce(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	l.operate()
	stack := l.stackOf("greeting", "")
	stack.Spec.Source = v1alpha1.StackSource{ConfigMapRef: &v1alpha1.ConfigMapSource{Name: "conf", Entrypoint: "infra.py"}}
	s := l.settled(l.create(stack), metav1.ConditionFalse, v1alpha1.ReasonInputInvalid)
	if !strings.Contains(message(s), "ConfigMap 'conf'") {
		t.Errorf("message %q", message(s))
	}
	cm := l.sourceMap("conf", variantA())
	s = l.applied(s)
	cm.Data["infra.py"] = greeting("out/greeting.txt", "hello world")
	l.Expect(l.client.Update(l.Context(), cm)).To(gomega.Succeed())
	l.eventually(func(g gomega.Gomega) {
		g.Expect(l.files(s)["out/greeting.txt"]).To(gomega.Equal("hello world"))
	})
	l.applied(s)
}

func TestSuspend(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	l.operate()
	s := l.applied(l.create(l.stackOf("greeting", variantA())))
	s = l.edit(s, func(s *v1alpha1.Stack) {
		s.Spec.Suspend = true
		setConfig(greeting("out/greeting.txt", "hello world"))(s)
	})
	l.eventually(func(g gomega.Gomega) { g.Expect(l.events(s, v1alpha1.EventSuspended)).To(gomega.HaveLen(1)) })
	if now := l.read(s); now.Status.ObservedGeneration == now.Generation || l.files(s)["out/greeting.txt"] != "hello atlantide" {
		t.Errorf("a suspended Stack was worked on: %+v", now.Status)
	}
	l.toldOnce(s, v1alpha1.EventSuspended)
	s = l.applied(l.edit(s, func(s *v1alpha1.Stack) { s.Spec.Suspend = false }))
	if got := l.files(s)["out/greeting.txt"]; got != "hello world" {
		t.Errorf("after it was resumed the file holds %q", got)
	}
}

func TestInputs(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	l.operate()
	config := `from atlantide.core import Stack
from atlantide.providers.local import File

with Stack("demo", region="eu-north-1"):
    File("greeting", path="greeting.txt", content=atlantide.input("greeting", default="nothing"))
`
	s := l.applied(l.create(l.stackOf("greeting", config, withInputs(`{"greeting": "from the spec"}`))))
	if got := l.files(s)["greeting.txt"]; got != "from the spec" || strings.Contains(message(s), "warning") {
		t.Errorf("the file holds %q, message %q", got, message(s))
	}
	// A name that nothing asks for is a typing error more often than not.
	const warning = "the configuration never reads what spec.inputs gives as 'greetnig'"
	s = l.applied(l.edit(s, withInputs(`{"greetnig": "from the spec"}`)))
	if got := l.files(s)["greeting.txt"]; got != "nothing" || !strings.Contains(message(s), warning) || !strings.Contains(l.view(s)[planview.KeyText], warning) {
		t.Errorf("the file holds %q, message %q, plan.txt:\n%s", got, message(s), l.view(s)[planview.KeyText])
	}
	s = l.settled(l.edit(s, withInputs(`{"greeting": {"$secret_ref": {"name": "x", "provider": null}}}`)), metav1.ConditionFalse, v1alpha1.ReasonInputInvalid)
	if !strings.Contains(message(s), "spec.inputs.greeting") {
		t.Errorf("message %q", message(s))
	}
}

// A run that fails is recorded and tried again.
func TestFailedRunIsTriedAgain(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	broken := &atomic.Bool{}
	broken.Store(true)
	l.operate(breakable(broken))
	s := l.settled(l.create(l.stackOf("greeting", variantA())), metav1.ConditionFalse, v1alpha1.ReasonApplyFailed)
	f := s.Status.Failure
	if f == nil || f.Class != "Transient" || f.Node != "demo:local.File:greeting" || f.NextRetryTime == nil {
		t.Errorf("failure %+v", f)
	}
	if !strings.Contains(message(s), "the disk is away") {
		t.Errorf("message %q", message(s))
	}
	if run := l.view(s)[planview.KeyRun]; !strings.Contains(run, `"ok":false`) {
		t.Errorf("run.json %s", run)
	}
	l.eventually(func(g gomega.Gomega) { g.Expect(l.read(s).Status.Failure.Count).To(gomega.BeNumerically(">", 1)) })
	broken.Store(false)
	s = l.applied(s)
	if s.Status.Failure != nil || len(l.files(s)) != 2 {
		t.Errorf("failure %+v, files %q", s.Status.Failure, l.files(s))
	}
}

// Two Stacks of a namespace may not declare the same in-config stack.
func TestStackNamesBelongToOneStack(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	o := l.operate()
	first := l.applied(l.create(l.stackOf("first", variantA(), destroyed)))
	second := l.settled(l.create(l.stackOf("second", variantA())), metav1.ConditionFalse, v1alpha1.ReasonStateKeyConflict)
	if !strings.Contains(message(second), "'first'") || len(l.files(second)) != 0 {
		t.Errorf("message %q, files %v", message(second), l.files(second))
	}
	// It looks again by itself, and writes nothing while nothing changed.
	if after := o.reconcile(second).RequeueAfter; after == 0 || l.read(second).ResourceVersion != second.ResourceVersion {
		t.Errorf("after %s, resourceVersion from %s to %s", after, second.ResourceVersion, l.read(second).ResourceVersion)
	}
	l.Expect(l.client.Delete(l.Context(), first)).To(gomega.Succeed())
	l.gone(first)
	l.applied(second)
}

// treeEngine shows the file "hello.txt" of the trees that configs are compiled with.
type treeEngine struct {
	Engine
	texts chan<- string
}

func (e treeEngine) Compile(ctx context.Context, s engine.Source, o engine.CompileOptions) (*ir.Compilation, error) {
	text, err := fs.ReadFile(o.Source, "hello.txt")
	if err != nil {
		text = []byte(err.Error())
	}
	e.texts <- string(text)
	return e.Engine.Compile(ctx, s, o)
}

// Further files of the source are the tree that a config reads from.
func TestSourceTree(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	texts := make(chan string, 16)
	l.operate(func(set *settings) { set.engine = func(e Engine) Engine { return treeEngine{e, texts} } })
	stack := l.stackOf("greeting", variantA())
	stack.Spec.Source.Inline.Files["hello.txt"] = "hello from the tree"
	s := l.applied(l.create(stack))
	if got := <-texts; got != "hello from the tree" {
		t.Errorf("it is read as %q", got)
	}
	l.applied(l.edit(s, func(s *v1alpha1.Stack) { s.Spec.Source.Inline.Files["hello.txt"] = "changed" }))
	if got := <-texts; got != "changed" {
		t.Errorf("after an edit it is read as %q", got)
	}
}

// A file of the source becomes a file of the Stack, and follows its edits.
func TestSourceFile(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	l.operate()
	stack := l.stackOf("copy", `from atlantide.core import Stack
from atlantide.providers.local import File, SourceFile

with Stack("copy", region="r"):
    text = SourceFile("text", path="hello.txt")
    File("copy", path="copy.txt", content=text.content)
`)
	stack.Spec.Source.Inline.Files["hello.txt"] = "hello from the tree"
	s := l.applied(l.create(stack))
	if got := l.files(s)["copy.txt"]; got != "hello from the tree" {
		t.Errorf("the file says %q", got)
	}
	s = l.applied(l.edit(s, func(s *v1alpha1.Stack) { s.Spec.Source.Inline.Files["hello.txt"] = "changed" }))
	if got := l.files(s)["copy.txt"]; got != "changed" {
		t.Errorf("after an edit the file says %q", got)
	}
}

// Somebody else's ConfigMap of the view's name is left alone, which is told once, and
// costs no further look.
func TestForeignPlanView(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	o := l.operate()
	mine := l.sourceMap(planview.Name("greeting"), "x = 1\n")
	s := l.steady(o, l.create(l.stackOf("greeting", variantA())))
	s = l.steady(o, l.edit(s, setConfig(greeting("out/greeting.txt", "hello world"))))
	before := o.spent()
	o.reconcile(s)
	if spent := o.spent().since(before); spent.Compiles != 0 || spent.APIWrites != 0 {
		t.Errorf("a further reconcile cost %+v", spent)
	}
	l.toldOnce(s, v1alpha1.EventPlanViewNotOwned)
	if now := l.view(s); !cmp.Equal(now, mine.Data) {
		t.Errorf("the user's ConfigMap became %v", now)
	}
}

// A status that somebody else wrote is mended at the next look.
func TestForeignStatusIsMended(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	o := l.operate()
	s := l.steady(o, l.create(l.stackOf("greeting", variantA())))
	s = l.rewriteStatus(s, func(status *v1alpha1.StackStatus) {
		status.Conditions[0].Status, status.Conditions[0].Reason = metav1.ConditionFalse, "Broken"
		status.Failure = &v1alpha1.StackFailure{Count: 7, Class: "User", LastTime: metav1.Now()}
	})
	o.cached(s)
	o.reconcile(s)
	if s = l.applied(s); s.Status.Failure != nil {
		t.Errorf("failure %+v", s.Status.Failure)
	}
}
