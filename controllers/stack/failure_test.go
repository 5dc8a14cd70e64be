package stack

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/controllers/internal/planview"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/providers"
)

// faultyProvider fails the calls that are named "op name", as in "create receipt".
type faultyProvider struct {
	providers.Provider
	faults *atomic.Pointer[[]string]
}

func (f faultyProvider) fault(op string, r *model.Request) error {
	if faults := f.faults.Load(); faults != nil && slices.Contains(*faults, op+" "+r.Node.Name) {
		return model.Errorf(model.ProviderError, model.ClassTransient, "the disk is away")
	}
	return nil
}

func (f faultyProvider) Create(ctx context.Context, r *model.Request) (model.Outputs, error) {
	if err := f.fault("create", r); err != nil {
		return nil, err
	}
	return f.Provider.Create(ctx, r)
}

func (f faultyProvider) Delete(ctx context.Context, r *model.Request) error {
	if err := f.fault("delete", r); err != nil {
		return err
	}
	return f.Provider.Delete(ctx, r)
}

// EX-23, operator.md 1.3: what a Stack says of a run that failed, by its failure mode and by
// what became of what the run had done; and that it goes on when it can.
func TestFailureModes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason  string
		faults  []string
		change  func(*v1alpha1.Stack)
		want    string
		message string
		files   int
	}{
		{"rolled back, which is the default", []string{"create receipt"}, func(*v1alpha1.Stack) {}, v1alpha1.ReasonApplyFailed, "; 1 change rolled back", 0},
		{"rolled back", []string{"create receipt"}, func(s *v1alpha1.Stack) { s.Spec.OnFailure = v1alpha1.FailureRollback }, v1alpha1.ReasonApplyFailed, "; 1 change rolled back", 0},
		{"halted", []string{"create receipt"}, halting, v1alpha1.ReasonApplyHalted, "the disk is away", 1},
		{"not rolled back", []string{"create receipt", "delete greeting"}, func(*v1alpha1.Stack) {}, v1alpha1.ReasonRollbackFailed, "; not rolled back: demo:local.File:greeting", 1},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			l := newLand(t)
			faults := &atomic.Pointer[[]string]{}
			faults.Store(&c.faults)
			l.operate(withProvider(func(p providers.Provider) providers.Provider { return faultyProvider{p, faults} }))
			s := l.settled(l.create(l.stackOf("greeting", variantA(), c.change)), metav1.ConditionFalse, c.want)
			if diff := cmp.Diff([]string{"Ready=False/" + c.want, "Reconciling=True/" + c.want}, brief(s.Status)); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(message(s), "the disk is away") || !strings.Contains(message(s), c.message) {
				t.Errorf("message %q", message(s))
			}
			if files := l.files(s); len(files) != c.files {
				t.Errorf("files %q", files)
			}
			l.eventually(func(g gomega.Gomega) { g.Expect(l.events(s, c.want)).NotTo(gomega.BeEmpty()) })
			faults.Store(nil)
			s = l.applied(s)
			if files := l.files(s); len(files) != 2 || s.Status.Failure != nil {
				t.Errorf("files %q, failure %+v", files, s.Status.Failure)
			}
		})
	}
}

// EX-1: what fails after phase 1 undoes nothing, whatever the failure mode.
func TestFailedDeleteUndoesNothing(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	faults := &atomic.Pointer[[]string]{}
	faults.Store(&[]string{"delete b"})
	l.operate(withProvider(func(p providers.Provider) providers.Provider { return faultyProvider{p, faults} }))
	s := l.applied(l.create(l.stackOf("pair", pair("a", true), require(v1alpha1.ApprovalNever))))
	s = l.settled(l.edit(s, setConfig(pair("changed", false))), metav1.ConditionFalse, v1alpha1.ReasonApplyHalted)
	if files := l.files(s); files["a.txt"] != "changed" || files["b.txt"] != "b" {
		t.Errorf("files %q", files)
	}
}

// A run is cancelled by its epoch: it is undone, and not begun again, by another operator
// neither, until somebody asks.
func TestCancel(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	slow := newSlowProvider()
	o := l.operate(withProvider(slow.around))
	s := l.create(l.stackOf("greeting", variantA()))
	<-slow.entered
	var epoch int64
	l.eventually(func(g gomega.Gomega) {
		lock := l.read(s).Status.Lock
		g.Expect(lock).NotTo(gomega.BeNil())
		epoch = lock.Epoch
	})
	l.edit(s, annotate(v1alpha1.AnnotationCancel, strconv.FormatInt(epoch+1, 10))) // another run's
	l.edit(s, annotate(v1alpha1.AnnotationCancel, strconv.FormatInt(epoch, 10)))
	l.eventually(func(g gomega.Gomega) { g.Expect(o.told(s)).To(gomega.MatchError(errCancelled)) })
	close(slow.leave)
	s = l.settled(s, metav1.ConditionFalse, v1alpha1.ReasonCancelled)
	if diff := cmp.Diff([]string{"Ready=False/Cancelled", "Stalled=True/Cancelled"}, brief(s.Status)); diff != "" || s.Status.Failure != nil {
		t.Errorf("%s, failure %+v", diff, s.Status.Failure)
	}
	if m := message(s); !strings.Contains(m, "; 1 change rolled back") || len(l.files(s)) != 0 {
		t.Errorf("message %q, files %q", m, l.files(s))
	}
	o.stop()
	next := l.operate()
	l.eventually(func(g gomega.Gomega) {
		_, remembered := next.reconciler.memory.recall(keyOf(s))
		g.Expect(remembered).To(gomega.BeTrue())
	})
	if now := l.read(s); now.ResourceVersion != s.ResourceVersion || next.spent().ProviderCalls != 0 {
		t.Errorf("another operator spent %+v", next.spent())
	}
	l.edit(s, annotate(v1alpha1.AnnotationReconcileRequestedAt, "now"))
	if s = l.applied(s); len(l.files(s)) != 2 {
		t.Errorf("files %q", l.files(s))
	}
}

// changes counts the provider calls that change something.
func (o *operator) changes() int {
	calls := 0.0
	for _, op := range []string{"create", "update", "delete"} {
		calls += testutil.ToFloat64(o.metrics.ProviderCalls.WithLabelValues("local", op))
	}
	return int(calls)
}

// told is why the run of a Stack was told to end.
func (o *operator) told(s *v1alpha1.Stack) error {
	runs := o.reconciler.runs
	runs.mu.Lock()
	defer runs.mu.Unlock()
	return runs.under[keyOf(s)].run.ended()
}

// EX-37: what is left of an approved plan when its operator ends is done by the next one
// under the same approval, while that is there.
func TestHandoverContinuesUnderItsApproval(t *testing.T) {
	t.Parallel()
	for _, withdrawn := range []bool{false, true} {
		t.Run("withdrawn "+strconv.FormatBool(withdrawn), func(t *testing.T) {
			t.Parallel()
			l := newLand(t)
			slow := newSlowProvider()
			o := l.operate(withProvider(slow.around))
			s := l.settled(l.create(l.stackOf("greeting", variantA(), require(v1alpha1.ApprovalAlways))), metav1.ConditionFalse, v1alpha1.ReasonApprovalRequired)
			digest := s.Status.Plan.Digest
			l.edit(s, approve(digest))
			<-slow.entered
			o.cancel()
			close(slow.leave)
			o.stop()
			if s = l.read(s); readyReason(&s.Status) != v1alpha1.ReasonProgressing || s.Status.Failure != nil || len(l.files(s)) != 1 {
				t.Errorf("handed over, it says %v, %+v, files %q", brief(s.Status), s.Status.Failure, l.files(s))
			}
			if withdrawn {
				l.edit(s, func(s *v1alpha1.Stack) { delete(s.Annotations, v1alpha1.AnnotationApprove) })
			}
			l.operate()
			if withdrawn {
				s = l.settled(s, metav1.ConditionFalse, v1alpha1.ReasonApprovalRequired)
				if len(l.files(s)) != 1 {
					t.Errorf("files %q", l.files(s))
				}
				return
			}
			s = l.applied(s)
			if s.Status.Plan.Digest == digest || s.Status.LastHandledApproval != digest || len(l.files(s)) != 2 {
				t.Errorf("plan %+v, echo %q, files %q", s.Status.Plan, s.Status.LastHandledApproval, l.files(s))
			}
		})
	}
}

// What only looks like the rest of an approved plan needs an approval of its own.
func TestRemainsOf(t *testing.T) {
	body := func(nodes string) []byte {
		return []byte(`{"changeset":{"envs":{},"external":{},"format":1,"inputs":"i","nodes":[` + nodes + `],"onFailure":"rollback","outputs":{"retired":[],"set":{}},"pins":{},"policies":[],"replace":[],"targets":[]},"format":1}`)
	}
	const a, b = `{"action":"delete","id":"a","prior":"1"}`, `{"action":"delete","id":"b","prior":"1"}`
	head := state.Head{UID: "u", Generation: 3}
	record := func(status state.PlanStatus, digest, nodes string, change func(*state.PlanRecord)) *state.PlanRecord {
		r := &state.PlanRecord{Status: status, ChangesetDigest: digest, Body: body(nodes), Head: head}
		r.Hash = state.PlanHash(r.Body)
		change(r)
		return r
	}
	same := func(*state.PlanRecord) {}
	handed := func(r *state.PlanRecord) { r.Reason = handedOver }
	for _, c := range []struct {
		reason        string
		current, next *state.PlanRecord
		given, want   string
	}{
		{"the rest of it", record(state.PlanApplyFailed, digestA, a+","+b, handed), record(state.PlanPlanned, digestB, b, same), digestA, digestA},
		{"the rest of the rest", record(state.PlanApplyFailed, digestB, a+","+b, func(r *state.PlanRecord) { r.Reason, r.CreatedBy = handedOver, continuationOf+digestA }),
			record(state.PlanPlanned, "sha256:c", b, same), digestA, digestA},
		{"recorded by one that ended before it began", record(state.PlanPlanned, digestB, b, func(r *state.PlanRecord) { r.CreatedBy = continuationOf + digestA }),
			record(state.PlanPlanned, digestB, b, same), digestA, digestA},
		{"no approval", record(state.PlanApplyFailed, digestA, a+","+b, handed), record(state.PlanPlanned, digestB, b, same), "", ""},
		{"another approval", record(state.PlanApplyFailed, digestA, a+","+b, handed), record(state.PlanPlanned, digestB, b, same), digestB, ""},
		{"it failed", record(state.PlanApplyFailed, digestA, a+","+b, func(r *state.PlanRecord) { r.Reason = "the disk is away" }), record(state.PlanPlanned, digestB, b, same), digestA, ""},
		{"it died", record(state.PlanApplying, digestA, a+","+b, same), record(state.PlanPlanned, digestB, b, same), digestA, ""},
		{"something more", record(state.PlanApplyFailed, digestA, a, handed), record(state.PlanPlanned, digestB, a+","+b, same), digestA, ""},
		{"something else", record(state.PlanApplyFailed, digestA, a, handed), record(state.PlanPlanned, digestB, strings.Replace(a, `"1"`, `"2"`, 1), same), digestA, ""},
		{"another head", record(state.PlanApplyFailed, digestA, a+","+b, handed), record(state.PlanPlanned, digestB, b, func(r *state.PlanRecord) { r.Head.Generation++ }), digestA, ""},
		{"a body that was altered", record(state.PlanApplyFailed, digestA, a, func(r *state.PlanRecord) { r.Reason, r.Body = handedOver, body(a+","+b) }), record(state.PlanPlanned, digestB, b, same), digestA, ""},
		{"a plan that was only waiting", record(state.PlanPlanned, digestA, a+","+b, same), record(state.PlanPlanned, digestB, b, same), digestA, ""},
		{"the first plan of all", nil, record(state.PlanPlanned, digestB, b, same), digestA, ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := remainsOf(c.current, c.next, c.given); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// EX-36, EX-37: why a run is told to end, and what its Stack says then.
func TestInterrupts(t *testing.T) {
	away := model.Errorf(model.ProviderError, model.ClassTransient, "the disk is away")
	lost := model.Errorf(model.LeaseLostError, model.ClassTransient, "the lock was lost")
	cancel := func(n *run, _ context.CancelFunc) { n.interrupt(errCancelled) }
	for _, c := range []struct {
		reason string
		end    func(n *run, stop context.CancelFunc)
		why    error
		fails  error // nil = it is interrupted
		want   string
		failed bool
	}{
		{"its time is over", func(*run, context.CancelFunc) {}, errTooLong, nil, v1alpha1.ReasonTimeout, true},
		{"the operator ends", func(_ *run, stop context.CancelFunc) { stop() }, apply.ErrHandOver, nil, v1alpha1.ReasonProgressing, false},
		{"a resource fails as the operator ends", func(_ *run, stop context.CancelFunc) { stop() }, apply.ErrHandOver, away, v1alpha1.ReasonApplyFailed, true},
		{"somebody cancels it", cancel, errCancelled, nil, v1alpha1.ReasonCancelled, false},
		{"a resource fails as somebody cancels it", cancel, errCancelled, away, v1alpha1.ReasonCancelled, false},
		{"the lock is lost as somebody cancels it", cancel, errCancelled, lost, v1alpha1.ReasonLeaseLost, true},
		{"the first that ends it counts", func(n *run, stop context.CancelFunc) { n.interrupt(errCancelled); stop() }, errCancelled, nil, v1alpha1.ReasonCancelled, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				s := stackAt(1)
				s.Spec.Timeout = &metav1.Duration{Duration: time.Minute}
				r, n := New(Reconciler{}), &run{scope: &scope{stack: s}}
				working, done := r.working(ctx, n)
				c.end(n, stop)
				<-working.Done()
				if why := context.Cause(working); !errors.Is(why, c.why) {
					t.Errorf("it ends because of %v", why)
				}
				err := c.fails
				if err == nil {
					err = model.Errorf(model.InterruptedRunError, model.ClassUnknown, "the run was interrupted")
				}
				o := n.failed(err, stageRun, &engine.Result{})
				handed := c.fails == nil && errors.Is(c.why, apply.ErrHandOver)
				if o.reason != c.want || (o.failed != nil) != c.failed || n.handedOver(err) != handed || !strings.Contains(o.message, err.Error()) {
					t.Errorf("outcome %+v", o)
				}
				done()
				stop()
			})
		})
	}
	t.Run("an operator that has ended begins nothing", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		working, done := New(Reconciler{}).working(ctx, &run{scope: &scope{stack: stackAt(1)}})
		defer done()
		if why := context.Cause(working); !errors.Is(why, apply.ErrHandOver) {
			t.Errorf("it ends because of %v", why)
		}
	})
}

// PL-13: what a mandatory policy objects to is shown, and neither run nor asked about; one
// that only advises stands in no one's way.
func TestPolicyViolation(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	o := l.operate()
	s := l.applied(l.create(l.stackOf("pair", pair("a", true), require(v1alpha1.ApprovalNever))))
	before := o.spent()
	denied := func(level string) string {
		return "from atlantide.policy import enforce\nenforce('deny-destroy-in-protected', stacks='demo', level='" + level + "')\n" + pair("a", false)
	}
	s = l.settled(l.edit(s, setConfig(denied("mandatory"))), metav1.ConditionFalse, v1alpha1.ReasonPolicyViolation)
	want := []string{"PolicyViolated=True/PolicyViolation", "Ready=False/PolicyViolation", "Stalled=True/PolicyViolation"}
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(brief(s.Status)))); diff != "" {
		t.Error(diff)
	}
	if m := message(s); !strings.Contains(m, "deny-destroy-in-protected on demo:local.File:b") {
		t.Errorf("message %q", m)
	}
	if text := l.view(s)[planview.KeyText]; !strings.Contains(text, "local.File:b") || s.Status.Plan.Text != "+0 ~0 ±0 -1" {
		t.Errorf("plan %+v, plan.txt:\n%s", s.Status.Plan, text)
	}
	s = l.edit(s, approve(s.Status.Plan.Digest))
	o.caughtUp(s)
	o.reconcile(s)
	if spent := o.spent().since(before); spent.ProviderCalls != 0 || l.files(s)["b.txt"] != "b" {
		t.Errorf("spent %+v, files %q", spent, l.files(s))
	}
	s = l.applied(l.edit(s, setConfig(denied("advisory"))))
	if diff := cmp.Diff([]string{"Ready=True/Applied"}, brief(s.Status)); diff != "" || len(l.files(s)) != 1 {
		t.Errorf("%s, files %q", diff, l.files(s))
	}
}
