package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/providers"
)

// Two operators without a leader: every Stack is worked on, none twice (O-14).
func TestTwoReplicas(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	a, b := l.operate(), l.operate()
	const stacks = 6
	var all []*v1alpha1.Stack
	for i := range stacks {
		name := fmt.Sprintf("s%d", i)
		config := "from atlantide.core import Stack\nfrom atlantide.providers.local import File\n\nwith Stack(\"" + name + "\", region=\"eu-north-1\"):\n    File(\"f\", path=\"f.txt\", content=\"x\")\n"
		all = append(all, l.create(l.stackOf(name, config, destroyed)))
	}
	for _, s := range all {
		s = l.applied(s)
		if files := l.files(s); len(files) != 1 {
			t.Errorf("%s: files %q", s.Name, files)
		}
	}
	if calls := a.spent().ProviderCalls + b.spent().ProviderCalls; calls != stacks {
		t.Errorf("%d provider calls for %d files", calls, stacks)
	}
	for _, s := range all {
		l.remove(s)
	}
	for _, s := range all {
		l.gone(s)
	}
	l.noLease()
}

// slowProvider holds creates until it is let go on.
type slowProvider struct {
	providers.Provider
	entered chan string
	leave   chan struct{}
}

func newSlowProvider() *slowProvider {
	return &slowProvider{entered: make(chan string, 16), leave: make(chan struct{})}
}

func (p *slowProvider) around(inner providers.Provider) providers.Provider {
	p.Provider = inner
	return p
}

func (p *slowProvider) Create(ctx context.Context, r *model.Request) (model.Outputs, error) {
	p.entered <- r.Node.ID
	select {
	case <-p.leave:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return p.Provider.Create(ctx, r)
}

// A stopping operator hands over: what is in flight is finished and recorded, nothing
// more is started, the lock is given back, and the next one goes on.
func TestHandover(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	slow := newSlowProvider()
	o := l.operate(withProvider(slow.around))
	s := l.create(l.stackOf("greeting", variantA()))
	if node := <-slow.entered; node != "demo:local.File:greeting" {
		t.Fatalf("%s is created first", node)
	}
	// While it runs, status shows the lock.
	l.eventually(func(g gomega.Gomega) {
		lock := l.read(s).Status.Lock
		g.Expect(lock).NotTo(gomega.BeNil())
		g.Expect(lock.Operation).To(gomega.Equal(operationApply))
		g.Expect(lock.Epoch).To(gomega.BeNumerically(">", 0))
	})
	// The context ends with a call in flight: it finishes, and nothing more starts.
	o.cancel()
	close(slow.leave)
	o.stop()
	select {
	case node := <-slow.entered:
		t.Fatalf("%s was started", node)
	default:
	}
	if files := l.files(s); files["out/greeting.txt"] != "hello atlantide" || len(files) != 1 {
		t.Errorf("files %q", files)
	}
	if now := l.read(s); now.Status.Lock != nil {
		t.Errorf("lock %+v", now.Status.Lock)
	}
	var leases coordinationv1.LeaseList
	l.Expect(l.client.List(l.Context(), &leases, client.InNamespace(l.leases))).To(gomega.Succeed())
	if len(leases.Items) != 1 || leases.Items[0].Spec.HolderIdentity != nil && *leases.Items[0].Spec.HolderIdentity != "" {
		t.Errorf("leases %+v", leases.Items)
	}
	next := l.operate()
	l.applied(s)
	if calls := next.spent().ProviderCalls; calls != 1 || len(l.files(s)) != 2 {
		t.Errorf("%d provider calls, files %q", calls, l.files(s))
	}
}

// A run whose operator died leaves its plan as being applied; the next one takes over.
func TestTakeOverFromTheDead(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	o := l.operate()
	s := l.steady(o, l.create(l.stackOf("greeting", variantA())))
	o.stop()
	store := l.direct()
	plans, partition := store.Plans(), string(s.UID)
	current, err := plans.Current(l.Context(), partition)
	l.Expect(err).NotTo(gomega.HaveOccurred())
	dying := &state.PlanRecord{Generation: current.Generation, Head: current.Head, Status: state.PlanPlanned, ChangesetDigest: digestA, Body: []byte("{}")}
	dying, err = plans.Propose(l.Context(), partition, dying)
	l.Expect(err).NotTo(gomega.HaveOccurred())
	fence := l.take(store, s, "the dead")
	moved, err := plans.Advance(l.Context(), partition, dying.ID, []state.PlanStatus{state.PlanPlanned}, state.PlanApplying, "", &fence)
	l.Expect(err).NotTo(gomega.HaveOccurred())
	l.Expect(moved).To(gomega.BeTrue())

	// What the dead left is looked at, and told of, before anything is changed (LS-17).
	receipt := filepath.Join(l.dataRoot, s.Namespace, string(s.UID), "out", "receipt.txt")
	l.Expect(os.WriteFile(receipt, []byte("half of i"), 0o600)).To(gomega.Succeed())

	l.operate()
	s = l.applied(l.edit(s, setConfig(greeting("out/greeting.txt", "hello world"))))
	if got := l.files(s)["out/greeting.txt"]; got != "hello world" {
		t.Errorf("the file holds %q", got)
	}
	l.toldOnce(s, v1alpha1.EventTakenOver)
	if told := l.events(s, v1alpha1.EventTakenOver)[0]; !strings.Contains(told, "ended without a word") ||
		!strings.Contains(told, "1 resource is not as recorded: demo:local.File:receipt") {
		t.Errorf("told %q", told)
	}
}

func TestLeftBehind(t *testing.T) {
	row := func(id, status string) *state.Row { return &state.Row{ID: id, Status: status} }
	recorded := &state.Snapshot{
		Rows: map[string]*state.Row{
			"a": row("a", state.StatusCreated), "b": row("b", state.StatusCreating), "c": row("c", state.StatusCreating), "d": row("d", state.StatusCreated),
		},
		Pending: map[string]*state.PendingDestroy{"c": {NodeID: "c"}},
	}
	settled := &state.Snapshot{Rows: map[string]*state.Row{"a": row("a", state.StatusCreated)}}
	node := func(id, kind string) apply.NodeDrift { return apply.NodeDrift{NodeID: id, Kind: kind} }
	for _, c := range []struct {
		reason   string
		snapshot *state.Snapshot
		found    *apply.Drift
		err      error
		want     string
	}{
		{"nothing was lost", settled, &apply.Drift{Nodes: []apply.NodeDrift{node("a", apply.InSync)}}, nil, "all that is recorded is as it was recorded"},
		{"what is in flight is no drift", recorded,
			&apply.Drift{Nodes: []apply.NodeDrift{node("a", apply.Drifted), node("b", apply.Missing), node("c", apply.Drifted), node("d", apply.Missing)}}, nil,
			"2 resources are in flight: b, c; 1 resource is not as recorded: a; 1 resource is missing: d"},
		{"a read that fails", settled, &apply.Drift{}, errors.New("throttled"), "not all could be read: throttled"},
		{"no read at all", recorded, nil, errors.New("cancelled"), "2 resources are in flight: b, c; not all could be read: cancelled"},
	} {
		if got := leftBehind(c.snapshot, c.found, c.err); got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}

// What changes between plan and run is seen by the live reads; the old plan never runs.
func TestHeadThatMovesBeforeTheRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason string
		move   func(*land, *v1alpha1.Stack)
		then   func(*land, *v1alpha1.Stack)
	}{
		{"an edit", func(l *land, s *v1alpha1.Stack) {
			l.edit(s, setConfig(greeting("out/greeting.txt", "the newer")))
		}, func(l *land, s *v1alpha1.Stack) {
			l.eventually(func(g gomega.Gomega) { g.Expect(l.files(s)["out/greeting.txt"]).To(gomega.Equal("the newer")) })
			l.applied(s)
		}},
		{"suspend", func(l *land, s *v1alpha1.Stack) {
			l.edit(s, func(s *v1alpha1.Stack) { s.Spec.Suspend = true })
		}, func(l *land, s *v1alpha1.Stack) {
			l.eventually(func(g gomega.Gomega) { g.Expect(l.events(s, v1alpha1.EventSuspended)).NotTo(gomega.BeEmpty()) })
		}},
		{"deletion", (*land).remove, (*land).gone},
		{"an edit of its ConfigMap", func(l *land, s *v1alpha1.Stack) {
			cm := &corev1.ConfigMap{}
			l.Expect(l.client.Get(l.Context(), client.ObjectKey{Namespace: s.Namespace, Name: "conf"}, cm)).To(gomega.Succeed())
			cm.Data["infra.py"] = greeting("out/greeting.txt", "the newer")
			l.Expect(l.client.Update(l.Context(), cm)).To(gomega.Succeed())
		}, func(l *land, s *v1alpha1.Stack) {
			l.eventually(func(g gomega.Gomega) { g.Expect(l.files(s)["out/greeting.txt"]).To(gomega.Equal("the newer")) })
			l.applied(s)
		}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			l := newLand(t)
			older := &atomic.Int64{}
			s := l.stackOf("greeting", greeting("out/greeting.txt", "the older"), destroyed)
			if strings.Contains(c.reason, "ConfigMap") {
				l.sourceMap("conf", greeting("out/greeting.txt", "the older"))
				s.Spec.Source = v1alpha1.StackSource{ConfigMapRef: &v1alpha1.ConfigMapSource{Name: "conf", Entrypoint: "infra.py"}}
			}
			once := sync.OnceFunc(func() { c.move(l, s) })
			l.operate(func(set *settings) {
				set.provider = func(p providers.Provider) providers.Provider { return noting{p, older} }
				set.engine = func(e Engine) Engine { return interrupted{e, once} }
			})
			l.create(s)
			c.then(l, s)
			if n := older.Load(); n != 0 {
				t.Errorf("the old plan made %d files", n)
			}
		})
	}
}

// interrupted does something between the decision to run a plan and its run.
type interrupted struct {
	Engine
	before func()
}

func (i interrupted) Apply(ctx context.Context, r engine.ApplyRequest) (*engine.Result, error) {
	i.before()
	return i.Engine.Apply(ctx, r)
}

// noting counts the files of the older config.
type noting struct {
	providers.Provider
	older *atomic.Int64
}

func (n noting) Create(ctx context.Context, r *model.Request) (model.Outputs, error) {
	if r.Inputs["content"] == "the older" {
		n.older.Add(1)
	}
	return n.Provider.Create(ctx, r)
}
