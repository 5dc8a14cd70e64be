package stack

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	operatorsecrets "github.com/atlantide-org/atlantide-operator/controllers/internal/secrets"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/secrets"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/providers"
)

// named is a file whose name follows from the content of another one.
func named(content string) string {
	return `from atlantide.core import Stack
from atlantide.providers.local import File

with Stack("demo", region="eu-north-1"):
    a = File("a", path="a.txt", content="` + content + `")
    File("b", path=a.checksum, content="b")
`
}

// A run may do all of its plan and leave something to the next one: a node that is marked
// for a look turns out to be another object only when what it refers to is made. The
// Stack is not steady before that is planned, and done.
func TestWhatARunPutsOffIsPlannedNext(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		required v1alpha1.ApprovalRequirement
		replaced bool
	}{{v1alpha1.ApprovalNever, true}, {v1alpha1.ApprovalDestructive, false}} {
		t.Run(string(c.required), func(t *testing.T) {
			t.Parallel()
			l := newLand(t)
			o := l.operate()
			s := l.steady(o, l.create(l.stackOf("named", named("1"), require(c.required))))
			before := slices.Sorted(maps.Keys(l.files(s)))
			o.stop()
			store := l.direct()
			snapshot, err := store.Load(t.Context(), string(s.UID))
			l.Expect(err).NotTo(gomega.HaveOccurred())
			marked := *snapshot.Rows["demo:local.File:b"]
			marked.InputHash = ""
			fence := l.take(store, s, "another run")
			l.Expect(store.Commit(t.Context(), string(s.UID), fence, state.Batch{PutRows: []*state.Row{&marked}})).To(gomega.Succeed())
			l.edit(s, setConfig(named("2")))
			o = l.operate()
			l.eventually(func(g gomega.Gomega) {
				g.Expect(l.events(s, v1alpha1.ReasonApplied)).To(gomega.ContainElement(gomega.HavePrefix(
					"applied +0 ~2 ±0 -0; left for the next plan: demo:local.File:b (")))
			})
			if !c.replaced {
				s = l.settled(s, metav1.ConditionFalse, v1alpha1.ReasonApprovalRequired)
				if after := slices.Sorted(maps.Keys(l.files(s))); !slices.Equal(after, before) || s.Status.Plan.Text != "+0 ~0 ±1 -0" {
					t.Errorf("files %q, and before %q; plan %+v", after, before, s.Status.Plan)
				}
				return
			}
			s = l.steady(o, s)
			after := slices.Sorted(maps.Keys(l.files(s)))
			if len(after) != 2 || slices.Equal(after, before) || s.Status.Plan.Text != "+0 ~0 ±1 -0" || s.Status.Failure != nil {
				t.Errorf("files %q, and before %q; plan %+v, failure %+v", after, before, s.Status.Plan, s.Status.Failure)
			}
			if message(s) != "2 resources as declared" {
				t.Errorf("message %q", message(s))
			}
			spent := o.spent()
			o.reconcile(s)
			if diff := cmp.Diff(cost{Queries: 1}, o.spent().since(spent)); diff != "" {
				t.Errorf("a steady reconcile costs:\n%s", diff)
			}
		})
	}
}

// What never comes to rest is run ever more seldom, and what rests has not failed.
func TestUnfinishedBacksOff(t *testing.T) {
	stack, status := stackAt(1), v1alpha1.StackStatus{}
	var delays []time.Duration
	for range 4 {
		o := unfinished("+0 ~1 ±0 -0", []string{"a"})
		status = settle(status, stack, findings{}, o, noon)
		delays = append(delays, delay(&stack.Spec, o.again, failures(&status)))
	}
	if diff := cmp.Diff([]time.Duration{nowDelay, firstRetry, 2 * firstRetry, 4 * firstRetry}, delays); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Ready=False/Progressing", "Reconciling=True/Progressing"}, brief(status)); diff != "" {
		t.Error(diff)
	}
	if status = settle(status, stack, findings{}, steady(1, nil), noon); status.Failure != nil {
		t.Errorf("failure %+v", status.Failure)
	}
}

// slowDelete holds the first delete until it is let go on.
type slowDelete struct {
	providers.Provider
	entered, leave chan struct{}
	deletes        *atomic.Int64
}

func (p slowDelete) Delete(ctx context.Context, r *model.Request) error {
	if p.deletes.Add(1) == 1 {
		close(p.entered)
		select {
		case <-p.leave:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return p.Provider.Delete(ctx, r)
}

// A destroy that was cancelled is not begun again by itself, by another operator neither,
// until somebody asks for it.
func TestCancelledDestroyStays(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	slow := slowDelete{entered: make(chan struct{}), leave: make(chan struct{}), deletes: &atomic.Int64{}}
	o := l.operate(withProvider(func(p providers.Provider) providers.Provider { slow.Provider = p; return slow }))
	s := l.applied(l.create(l.stackOf("greeting", variantA(), destroyed)))
	l.remove(s)
	<-slow.entered
	var epoch int64
	l.eventually(func(g gomega.Gomega) {
		lock := l.read(s).Status.Lock
		g.Expect(lock).NotTo(gomega.BeNil())
		epoch = lock.Epoch
	})
	l.edit(s, annotate(v1alpha1.AnnotationCancel, strconv.FormatInt(epoch, 10)))
	l.eventually(func(g gomega.Gomega) { g.Expect(o.told(s)).To(gomega.MatchError(errCancelled)) })
	close(slow.leave)
	s = l.settled(s, metav1.ConditionFalse, v1alpha1.ReasonCancelled)
	if m := message(s); !strings.HasSuffix(m, "; 1 resource left") || len(l.files(s)) != 1 {
		t.Errorf("message %q, files %q", m, l.files(s))
	}
	o.stop()
	next := l.operate()
	next.cached(s)
	next.reconcile(s)
	if now := l.read(s); now.ResourceVersion != s.ResourceVersion || next.changes() != 0 || len(l.files(s)) != 1 {
		t.Errorf("another operator spent %+v, and says %v", next.spent(), brief(now.Status))
	}
	l.edit(s, annotate(v1alpha1.AnnotationReconcileRequestedAt, "now"))
	l.gone(s)
	if files := l.files(s); len(files) != 0 {
		t.Errorf("files are left: %q", files)
	}
}

// deaf is an API server that does not answer.
type deaf struct{ client.Reader }

func (deaf) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("connection refused")
}

// A run that is told to end while the API server is away ends as one that was told to, and
// not as one that could not read its Stack: what is left of it is handed over (EX-37).
func TestToldToEndWhileTheAPIServerIsAway(t *testing.T) {
	for _, c := range []struct {
		reason string
		end    func(n *run, stop context.CancelFunc)
		handed bool
		want   string
	}{
		{"the operator ends", func(_ *run, stop context.CancelFunc) { stop() }, true, v1alpha1.ReasonProgressing},
		{"its time is over", func(n *run, _ context.CancelFunc) { n.interrupt(errTooLong) }, false, v1alpha1.ReasonTimeout},
		{"somebody cancels it", func(n *run, _ context.CancelFunc) { n.interrupt(errCancelled) }, false, v1alpha1.ReasonCancelled},
	} {
		t.Run(c.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				r := New(Reconciler{Live: deaf{}})
				n := &run{scope: &scope{stack: stackAt(1)}, lock: &runLock{handle: &notedHandle{}}}
				working, done := r.working(ctx, n)
				defer done()
				time.AfterFunc(3*headDelay/2, func() { c.end(n, stop) })
				err := n.gate(r)(working, apply.PhaseDelete, nil)
				if !model.IsKind(err, model.InterruptedRunError) || n.handedOver(err) != c.handed {
					t.Errorf("the gate says: %v", err)
				}
				if o := n.failed(err, stageRun, &engine.Result{}); o.reason != c.want {
					t.Errorf("outcome %+v", o)
				}
			})
		})
	}
}

// What a gate found, and a lock that is lost, stay what they are, whether the run is told to
// end or not.
func TestOrInterrupted(t *testing.T) {
	ended, end := context.WithCancelCause(t.Context())
	end(apply.ErrHandOver)
	away := model.Errorf(model.StateError, model.ClassTransient, "it does not answer")
	for _, c := range []struct {
		reason string
		ctx    context.Context
		err    error
		want   model.Kind
	}{
		{"it was told to end", ended, away, model.InterruptedRunError},
		{"it was not", t.Context(), away, model.StateError},
		{"the head moved", ended, staleHead("the Stack was changed"), model.PlanDriftError},
		{"the lock is lost", ended, model.Errorf(model.LeaseLostError, model.ClassTransient, "it is"), model.LeaseLostError},
		{"somebody else writes", ended, model.Errorf(model.FencedWriteError, model.ClassTransient, "it is"), model.FencedWriteError},
		{"a person mends it", ended, model.Errorf(model.StateError, model.ClassUser, "a newer schema"), model.StateError},
	} {
		if err := orInterrupted(c.ctx, c.err); !model.IsKind(err, c.want) || (c.want == model.InterruptedRunError) != errors.Is(err, apply.ErrHandOver) {
			t.Errorf("%s: %v", c.reason, err)
		}
	}
}

// What a run may have left behind is named, bounded: after a failure in the message, else in
// an event.
func TestLeftBehindByARun(t *testing.T) {
	report := apply.NewReport()
	const fine = "demo:local.File:a: its old half is left; it is recorded, and the next plan deletes it"
	report.Orphaned["demo:local.File:a"] = strings.TrimPrefix(fine, "demo:local.File:a: ")
	if got := aftermath(report); got != "; may be left behind: "+fine {
		t.Errorf("%q", got)
	}
	recorder := events.NewFakeRecorder(2)
	r := New(Reconciler{Events: recorder})
	r.tellLeftBehind(&scope{stack: stackAt(1)}, &engine.Result{Report: apply.NewReport()})
	r.tellLeftBehind(&scope{stack: stackAt(1)}, &engine.Result{Plan: &plan.Plan{}})
	r.tellLeftBehind(&scope{stack: stackAt(1)}, &engine.Result{Report: report})
	if got := <-recorder.Events; got != "Warning LeftBehind may be left behind: "+fine || len(recorder.Events) != 0 {
		t.Errorf("told %q and %d more", got, len(recorder.Events))
	}
	for i := range 100 {
		report.Orphaned["demo:local.File:"+strings.Repeat("x", 1000)+strconv.Itoa(i)] = strings.Repeat("y", 1000)
	}
	r.tellLeftBehind(&scope{stack: stackAt(1)}, &engine.Result{Report: report})
	if got := <-recorder.Events; len(got) > maxMessage+64 || len(aftermath(report)) > maxMessage/3 {
		t.Errorf("%d and %d bytes", len(got), len(aftermath(report)))
	}
}

// only knows one secret.
type only string

func (only) Name() string { return "only" }

func (s only) Resolve(context.Context, string) (secrets.Text, error) {
	return secrets.NewText(string(s)), nil
}

// EX-41: whatever a message quotes of a provider, it holds no secret that was read; that a
// person ended the run changes nothing.
func TestQuotedTextIsScrubbed(t *testing.T) {
	registry, err := secrets.NewRegistry("only", only("sentinel"))
	if err != nil {
		t.Fatal(err)
	}
	session := &operatorsecrets.Session{Session: secrets.NewSession(secrets.Options{Registry: registry})}
	if _, err := session.Resolve(t.Context(), model.SecretRef{Name: "it"}); err != nil {
		t.Fatal(err)
	}
	sc := &scope{stack: stackAt(1), session: session}
	told := model.Errorf(model.ProviderError, model.ClassTransient, "was called with sentinel")
	cut := model.Errorf(model.InterruptedRunError, model.ClassUnknown, "was called with sentinel")
	n := &run{scope: sc}
	for reason, o := range map[string]outcome{
		"it failed": n.failed(told, stageRun, nil), "it was cancelled": n.cancelled(told, apply.NewReport()),
		"it took too long": n.tooLong(cut, apply.NewReport()), "it was handed over": n.failed(cut, stageRun, nil),
	} {
		if !strings.Contains(o.message, "sentinel") {
			t.Errorf("%s: %q quotes nothing", reason, o.message)
		}
		o = sc.scrubbed(o)
		if strings.Contains(o.message, "sentinel") || o.event != nil && strings.Contains(o.event.note, "sentinel") {
			t.Errorf("%s: it says %q, %+v", reason, o.message, o.event)
		}
	}
}
