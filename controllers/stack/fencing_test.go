package stack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	locks "github.com/atlantide-org/atlantide-operator/controllers/internal/lease"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/postgres"
	"github.com/atlantide-org/atlantide-operator/hack/devenv"
	"github.com/atlantide-org/atlantide-operator/providers"
	"github.com/atlantide-org/atlantide-operator/providers/local"
)

// duel is one Stack that two processes work on: a database, a Lease on a real API server,
// and a world of files.
type duel struct {
	*land
	stack types.NamespacedName
	uid   types.UID
	root  string
}

func newDuel(l *land, t *testing.T) *duel {
	return &duel{land: l.under(t), stack: types.NamespacedName{Namespace: l.namespace, Name: "web"}, uid: types.UID(uuid.NewString()), root: t.TempDir()}
}

// process is one operator process as far as a run sees it, with a clock of its own.
type process struct {
	*duel
	engine *engine.Engine
	store  *postgres.Store
	seen   state.Store // the store as its runs see it
	clock  *clocktesting.FakeClock
	leases *locks.Leases
	events []apply.Event
}

type processOptions struct {
	store    func(state.Store) state.Store
	provider func(providers.Provider) providers.Provider
	leases   func(*locks.Options)
}

func (d *duel) process(identity string, o processOptions) *process {
	d.Helper()
	p := &process{duel: d, clock: clocktesting.NewFakeClock(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC))}
	var err error
	if p.store, err = postgres.Open(d.Context(), d.dsn, postgres.Options{Installation: d.install, MaxConns: 3}); err != nil {
		d.Fatal(err)
	}
	d.Cleanup(p.store.Close)
	if err := p.store.EnsurePartition(d.Context(), string(d.uid), d.stack.Namespace, d.stack.Name); err != nil {
		d.Fatal(err)
	}
	if p.seen = p.store; o.store != nil {
		p.seen = o.store(p.store)
	}
	files := providers.Provider(local.NewTenants(d.root, local.Quota{}))
	if o.provider != nil {
		files = o.provider(files)
	}
	registry, err := providers.NewRegistry(files)
	if err != nil {
		d.Fatal(err)
	}
	p.engine = &engine.Engine{
		Registry: registry, Parallelism: 1, Now: time.Now, NewID: uuid.NewString, DrainGrace: 5 * time.Second,
		Events: func(e apply.Event) { p.events = append(p.events, e) }, // one run at a time, one event at a time
	}
	client, err := locks.NewClient(devenv.Cluster(d.TB).RESTConfig)
	if err != nil {
		d.Fatal(err)
	}
	options := locks.Options{Client: client, Namespace: d.leases, Epochs: p.store, Identity: identity, Clock: p.clock,
		Jitter: func(interval time.Duration) time.Duration { return interval }}
	if o.leases != nil {
		o.leases(&options)
	}
	if p.leases, err = locks.New(options); err != nil {
		d.Fatal(err)
	}
	return p
}

func (p *process) compile(config string) *ir.Compilation {
	p.Helper()
	c, err := p.engine.Compile(p.Context(), engine.Source{Filename: "infra.py", Text: config}, engine.CompileOptions{})
	if err != nil {
		p.Fatalf("%v\n%s", err, config)
	}
	return c
}

func (p *process) apply(config, onFailure string) (*engine.Result, error) {
	p.Helper()
	return p.engine.Apply(p.Context(), engine.ApplyRequest{
		Compilation: p.compile(config), Partition: string(p.uid), Store: p.seen, Locker: p.leases.For(p.stack, p.uid),
		Owner: p.stack.Namespace + "/" + string(p.uid), OnFailure: onFailure,
	})
}

func (p *process) mustApply(config string) *engine.Result {
	p.Helper()
	result, err := p.apply(config, plan.OnFailureHalt)
	if err != nil {
		p.Fatal(err)
	}
	return result
}

func (p *process) snapshot() *state.Snapshot {
	p.Helper()
	s, err := p.store.Load(p.Context(), string(p.uid))
	if err != nil {
		p.Fatal(err)
	}
	return s
}

// settled demands that the next plan of a config has nothing to do.
func (p *process) settled(config string) {
	p.Helper()
	next, err := p.engine.Plan(p.Context(), engine.PlanRequest{Compilation: p.compile(config), Snapshot: p.snapshot(), OnFailure: plan.OnFailureHalt})
	if err != nil {
		p.Fatal(err)
	}
	if next.HasPending() || !next.Outputs.Empty() {
		p.Errorf("the next plan has %+v to do", next.Summary())
	}
}

// holding counts what a run asks of the store under its fence, writes and probes, and holds
// one of them until it is let go on.
type holding struct {
	state.Store
	at      int // from 1; 0 = none
	reached chan string
	resume  chan struct{}

	mu    sync.Mutex
	asked int
}

func newHolding(at int) *holding {
	return &holding{at: at, reached: make(chan string, 1), resume: make(chan struct{})}
}

func (h *holding) around(s state.Store) state.Store {
	h.Store = s
	return h
}

func (h *holding) pass(what string) {
	h.mu.Lock()
	h.asked++
	held := h.asked == h.at
	h.mu.Unlock()
	if held {
		h.reached <- what
		<-h.resume
	}
}

func (h *holding) Commit(ctx context.Context, partition string, fence model.Fence, batch state.Batch) error {
	h.pass(written(batch))
	return h.Store.Commit(ctx, partition, fence, batch)
}

func (h *holding) CheckFence(ctx context.Context, partition string, fence model.Fence) error {
	h.pass("probe")
	return h.Store.CheckFence(ctx, partition, fence)
}

// written says in a few words what a batch is about.
func written(b state.Batch) string {
	var parts []string
	for _, r := range b.PutRows {
		parts = append(parts, model.LocalName(r.ID)+" "+r.Status)
	}
	for _, id := range b.DeleteRows {
		parts = append(parts, model.LocalName(id)+" gone")
	}
	for _, p := range b.PutPending {
		parts = append(parts, model.LocalName(p.NodeID)+" pending")
	}
	for _, id := range b.DeletePending {
		parts = append(parts, model.LocalName(id)+" not pending")
	}
	if len(b.SetOutputs)+len(b.RemoveOutputs) > 0 {
		parts = append(parts, "outputs")
	}
	return strings.Join(parts, ", ")
}

// scripted counts the changing calls of a run, and lets the create of one node fail.
type scripted struct {
	providers.Provider
	fails  string // name of the node
	calls  atomic.Int64
	before func(op string, r *model.Request)
}

func (s *scripted) around(p providers.Provider) providers.Provider {
	s.Provider = p
	return s
}

func (s *scripted) called(op string, r *model.Request) {
	s.calls.Add(1)
	if s.before != nil {
		s.before(op, r)
	}
}

func (s *scripted) Create(ctx context.Context, r *model.Request) (model.Outputs, error) {
	s.called("create", r)
	if r.Node.Name == s.fails {
		return nil, errors.New("it does not work")
	}
	return s.Provider.Create(ctx, r)
}

func (s *scripted) Update(ctx context.Context, r *model.Request) (model.Outputs, error) {
	s.called("update", r)
	return s.Provider.Update(ctx, r)
}

func (s *scripted) Delete(ctx context.Context, r *model.Request) error {
	s.called("delete", r)
	return s.Provider.Delete(ctx, r)
}

// The configs of the duels: between them lie an update, a replace of either kind, a create
// that depends on all of them, a delete and an output.
const (
	duelBefore = `from atlantide.core import Lifecycle, Stack, output
from atlantide.providers.local import File
with Stack("s", region="r"):
    edited = File("edited", path="edited.txt", content="1")
    moved = File("moved", path="moved.txt", content="1")
    swapped = File("swapped", path="swapped.txt", content="1", lifecycle=Lifecycle(create_before_destroy=True))
    File("dropped", path="dropped.txt", content="1")
output("sum", edited.checksum)
`
	duelAfter = `from atlantide.core import Lifecycle, Stack, concat, output
from atlantide.providers.local import File
with Stack("s", region="r"):
    edited = File("edited", path="edited.txt", content="2")
    moved = File("moved", path="elsewhere.txt", content="1")
    swapped = File("swapped", path="swapped-too.txt", content="1", lifecycle=Lifecycle(create_before_destroy=True))
    fresh = File("fresh", path="fresh.txt", content="1")
    File("last", path="last.txt", content=concat(edited.checksum, moved.checksum, swapped.checksum, fresh.checksum))
output("sum", edited.checksum)
`
)

// TestFencing pauses a run past its lease before every write and every probe in turn, while
// another run takes over and finishes. Nothing that the loser writes afterwards commits, it
// calls no provider any more and undoes nothing, and the world is the winner's (N-29, N-31,
// EX-18, EX-28).
func TestFencing(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	for _, family := range []struct {
		reason, fails, onFailure string
		least                    int // steps, so that the test pauses what it says
		hows                     []string
	}{
		{"a run", "", plan.OnFailureHalt, 16, []string{clockStands, clockGoesOn, lockBroken}},
		{"a run that rolls back", "last", plan.OnFailureRollback, 20, []string{clockStands, clockGoesOn}},
	} {
		whole := duelists(newDuel(l, t), newHolding(0), family.fails)
		whole.winner.mustApply(duelBefore)
		_, err := whole.loser.apply(duelAfter, family.onFailure)
		if (err != nil) != (family.fails != "") {
			t.Fatal(err)
		}
		steps := whole.hold.asked
		if steps < family.least {
			t.Errorf("%s has %d steps, want at least %d", family.reason, steps, family.least)
		}
		for _, how := range family.hows {
			for at := 1; at <= steps; at++ {
				t.Run(fmt.Sprintf("%s, %s, step %d", family.reason, how, at), func(t *testing.T) {
					t.Parallel()
					for _, fault := range fight(duelists(newDuel(l, t), newHolding(at), family.fails), family.onFailure, how) {
						t.Error(fault)
					}
				})
			}
		}
	}
}

// Ways in which a paused run loses its lock.
const (
	clockStands = "its clock stands still"
	clockGoesOn = "its clock goes on"
	lockBroken  = "a person breaks the lock"
)

// TestFencingIsJudged takes the fence away and demands that the judgement of the test above
// objects: to what the loser writes, to what it calls, and to a rollback.
func TestFencingIsJudged(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	for _, c := range []struct{ reason, fails, onFailure, objection string }{
		{"a run", "", plan.OnFailureHalt, "more calls"},
		{"a run that rolls back", "last", plan.OnFailureRollback, "rollback"},
	} {
		hold := newHolding(3)
		p := duelists(newDuel(l, t), hold, c.fails)
		hold.Store = unfenced{p.loser.store}
		faults := strings.Join(fight(p, c.onFailure, clockStands), "\n")
		for _, objection := range []string{"the loser wrote", c.objection} {
			if !strings.Contains(faults, objection) {
				t.Errorf("%s: the judgement does not speak of %q:\n%s", c.reason, objection, faults)
			}
		}
	}
}

// unfenced is a store that writes under whatever fence it takes to.
type unfenced struct{ *postgres.Store }

func (u unfenced) Commit(ctx context.Context, partition string, _ model.Fence, batch state.Batch) error {
	epoch, err := u.Mint(ctx, partition)
	if err != nil {
		return err
	}
	forged := model.Fence{Epoch: epoch, Holder: "forger"}
	if err := u.Claim(ctx, partition, forged, "no lease", int32(epoch)); err != nil {
		return err
	}
	return u.Store.Commit(ctx, partition, forged, batch)
}

func (u unfenced) CheckFence(context.Context, string, model.Fence) error { return nil }

// pairOf is a loser that is held somewhere, and a winner.
type pairOf struct {
	loser, winner *process
	hold          *holding
	script        *scripted
}

func duelists(d *duel, hold *holding, fails string) pairOf {
	script := &scripted{fails: fails}
	return pairOf{
		loser: d.process("loser", processOptions{store: hold.around, provider: script.around}), winner: d.process("winner", processOptions{}),
		hold: hold, script: script,
	}
}

// fight pauses the loser, lets the winner have the Stack, lets the loser go on, and says
// what is wrong afterwards.
func fight(p pairOf, onFailure, how string) (faults []string) {
	loser, winner := p.loser, p.winner
	winner.mustApply(duelBefore)
	type end struct {
		result *engine.Result
		err    error
	}
	ended := make(chan end, 1)
	go func() {
		result, err := loser.apply(duelAfter, onFailure)
		ended <- end{result, err}
	}()
	at := <-p.hold.reached
	object := func(format string, args ...any) {
		faults = append(faults, "paused at '"+at+"', "+fmt.Sprintf(format, args...))
	}
	calls := p.script.calls.Load()

	if how == lockBroken {
		winner.breakLock()
	} else {
		if _, err := winner.apply(duelAfter, onFailure); !model.IsKind(err, model.LockError) {
			winner.Fatalf("at '%s' the lock was not held: %v", at, err)
		}
		winner.clock.Step(locks.DefaultTTL)
		winner.mustApply(duelAfter)
	}
	won := winner.snapshot()
	if how == clockGoesOn {
		loser.clock.Step(locks.DefaultTTL)
	}
	close(p.hold.resume)
	lost := <-ended

	if !saysLost(lost.err) {
		object("the loser ended with %v", lost.err)
	}
	if further := p.script.calls.Load() - calls; further != 0 {
		object("the loser made %d more calls", further)
	}
	if diff := cmp.Diff(won, winner.snapshot()); diff != "" {
		object("the loser wrote (-before +after):\n%s", diff)
	}
	if fault := sagaOf(lost.result.Report, onFailure); fault != "" {
		object("%s", fault)
	}
	if len(faults) > 0 {
		return faults
	}
	if how == lockBroken {
		winner.mustApply(duelAfter)
	}
	winner.settled(duelAfter)
	winner.wantFiles("edited.txt", "elsewhere.txt", "swapped-too.txt", "fresh.txt", "last.txt")
	return nil
}

// breakLock breaks the lock as a person does (LS-11).
func (p *process) breakLock() {
	p.Helper()
	holds, err := p.store.Holds(p.Context(), string(p.uid))
	if err != nil {
		p.Fatal(err)
	}
	if n, err := engine.BreakHolds(p.Context(), p.store, string(p.uid), holds); n != 1 || err != nil {
		p.Fatalf("%d locks broken, %v", n, err)
	}
}

// saysLost reports whether a run ended because it lost its lock; a rollback that did names
// the failure that it was for first (EX-31).
func saysLost(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		e, ok := errors.AsType[*model.Error](err)
		switch {
		case !ok:
			return false
		case e.Kind == model.FencedWriteError, e.Kind == model.LeaseLostError:
			return true
		}
		for _, also := range e.AlsoFailed {
			if also.Kind == model.RollbackError && saysLost(also) {
				return true
			}
		}
	}
	return false
}

// sagaOf is what is wrong with how a run that lost its lock left its rollback: it must not
// have begun, or have gone no further, with what it did not undo named.
func sagaOf(report *apply.Report, onFailure string) string {
	switch undone := len(report.RolledBack); {
	case onFailure == plan.OnFailureHalt && undone > 0:
		return "a run that halts began a rollback"
	case onFailure == plan.OnFailureHalt:
		return ""
	case report.RollbackSkipped != nil && undone > 0:
		return "a rollback that was skipped undid something"
	case report.RollbackSkipped == nil && len(report.RollbackFailed) == 0:
		return "nothing says that the rollback did not go through"
	}
	return ""
}

// wantFiles demands exactly these files of the Stack.
func (d *duel) wantFiles(names ...string) {
	d.Helper()
	want := map[string]bool{}
	for _, name := range names {
		want[name] = true
	}
	got := map[string]bool{}
	for name := range filesBelow(d.TB, d.root, d.stack.Namespace, string(d.uid)) {
		got[name] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		d.Errorf("files (-want +got):\n%s", diff)
	}
}
