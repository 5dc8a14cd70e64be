package e2e

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

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/postgres"
	"github.com/atlantide-org/atlantide-operator/hack/devenv"
	"github.com/atlantide-org/atlantide-operator/providers"
	"github.com/atlantide-org/atlantide-operator/providers/local"
)

// midway does something once, when so many creates were called, and counts them all.
type midway struct {
	providers.Provider
	at   int
	then func()

	mu      sync.Mutex
	creates map[string][]string // node → attempts
	deletes int
}

func (m *midway) Create(ctx context.Context, r *model.Request) (model.Outputs, error) {
	m.mu.Lock()
	m.creates[r.Node.ID] = append(m.creates[r.Node.ID], r.Attempt)
	reached := len(m.creates) == m.at && m.then != nil
	then := m.then
	if reached {
		m.then = nil
	}
	m.mu.Unlock()
	if reached {
		then()
	}
	return m.Provider.Create(ctx, r)
}

func (m *midway) Delete(ctx context.Context, r *model.Request) error {
	m.mu.Lock()
	m.deletes++
	m.mu.Unlock()
	return m.Provider.Delete(ctx, r)
}

// outage is an apply over a Postgres of its own that goes away in the middle.
type outage struct {
	*testing.T
	server    *devenv.Postgres
	store     *postgres.Store
	engine    *engine.Engine
	work      *midway
	partition string
	events    []apply.Event
}

const fleet = 300

func newOutage(t *testing.T, backoff func(int) (time.Duration, bool)) *outage {
	t.Helper()
	server, err := devenv.StartPostgres(t.Context(), devenv.PostgresOptions{Private: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	dsn, err := server.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	store, err := openStore(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	o := &outage{T: t, server: server, store: store, partition: uuid.NewString(),
		work: &midway{Provider: local.NewTenants(t.TempDir(), local.Quota{}), at: fleet / 3, creates: map[string][]string{}}}
	if err := store.EnsurePartition(t.Context(), o.partition, namespace, "fleet"); err != nil {
		t.Fatal(err)
	}
	registry, err := providers.NewRegistry(o.work)
	if err != nil {
		t.Fatal(err)
	}
	o.engine = &engine.Engine{Registry: registry, Parallelism: 8, Now: time.Now, NewID: uuid.NewString, Backoff: backoff,
		Events: func(e apply.Event) { o.events = append(o.events, e) }} // one run at a time, one event at a time
	return o
}

func (o *outage) compiled() *ir.Compilation {
	o.Helper()
	var b strings.Builder
	b.WriteString("from atlantide.core import Stack, output\nfrom atlantide.providers.local import Null\nwith Stack('fleet', region='r'):\n")
	for i := range fleet {
		fmt.Fprintf(&b, "    Null('n%d')\n", i)
	}
	b.WriteString("output('size', 'large')\n")
	c, err := o.engine.Compile(o.Context(), engine.Source{Filename: "infra.py", Text: b.String()}, engine.CompileOptions{})
	if err != nil {
		o.Fatal(err)
	}
	return c
}

// apply runs under the lock that the store itself keeps, which is renewed through the
// outage as well.
func (o *outage) apply() (*engine.Result, error) {
	o.Helper()
	return o.engine.Apply(o.Context(), engine.ApplyRequest{
		Compilation: o.compiled(), Partition: o.partition, Store: o.store, OnFailure: plan.OnFailureRollback,
		Locker: &lease.Stored{Records: o.store, Partition: o.partition, Times: lease.Times{TTL: time.Minute, Renew: 500 * time.Millisecond, Grace: 10 * time.Second}},
		Owner:  namespace + "/" + o.partition,
	})
}

// settled demands every node, made once or, of those that were in flight, again with the
// token of the first try, and a next plan with nothing to do.
func (o *outage) settled() {
	o.Helper()
	snapshot, err := o.store.Load(o.Context(), o.partition)
	if err != nil {
		o.Fatal(err)
	}
	statuses := map[string]int{}
	for _, row := range snapshot.Rows {
		statuses[row.Status]++
	}
	if diff := cmp.Diff(map[string]int{state.StatusCreated: fleet}, statuses); diff != "" {
		o.Errorf("rows (-want +got):\n%s", diff)
	}
	for id, attempts := range o.work.creates {
		for _, attempt := range attempts {
			if attempt == "" || attempt != attempts[0] {
				o.Errorf("%s was made as %q", id, attempts)
			}
		}
	}
	next, err := o.engine.Plan(o.Context(), engine.PlanRequest{Compilation: o.compiled(), Snapshot: snapshot, OnFailure: plan.OnFailureRollback})
	if err != nil || next.HasPending() || !next.Outputs.Empty() {
		o.Errorf("the next plan: %+v, %v", next, err)
	}
	if len(snapshot.Outputs) != 1 {
		o.Errorf("outputs %v", snapshot.Outputs)
	}
}

// A Postgres that is restarted in the middle of an apply costs it time and nothing else
// (LS-22): every call that was made is recorded, none is made twice.
func TestPostgresRestartedDuringAnApply(t *testing.T) {
	var waits atomic.Int64
	o := newOutage(t, func(attempt int) (time.Duration, bool) {
		waits.Add(1)
		return 50 * time.Millisecond, attempt < 600
	})
	restarted := make(chan error, 1)
	o.work.then = func() { restarted <- o.server.Restart(context.Background()) }
	result, err := o.apply()
	if err != nil {
		t.Fatal(err)
	}
	if err := <-restarted; err != nil {
		t.Fatal(err)
	}
	if waits.Load() == 0 {
		t.Error("no write waited for the store: the restart was not felt")
	}
	if n := len(result.Report.Created); n != fleet {
		t.Errorf("%d created", n)
	}
	for id, attempts := range o.work.creates {
		if len(attempts) != 1 {
			t.Errorf("%s was created %d times", id, len(attempts))
		}
	}
	o.settled()
}

// N-33: one that stays away for longer than writes are tried again stops the run. Nothing is
// undone, for what an undo does could not be recorded; no further node starts; what was in
// flight is recorded as such, and the next run goes on from there.
func TestPostgresAwayForLongerThanARunWaits(t *testing.T) {
	tries := 0
	var mu sync.Mutex
	o := newOutage(t, func(int) (time.Duration, bool) {
		mu.Lock()
		defer mu.Unlock()
		tries++
		return time.Millisecond, tries < 40
	})
	halted := make(chan error, 1)
	o.work.then = func() { halted <- o.server.Halt() }
	result, err := o.apply()
	if err := <-halted; err != nil {
		t.Fatal(err)
	}
	if !model.IsKind(err, model.StateError) || !errors.Is(err, state.ErrUnavailable) {
		t.Fatalf("the run ended with %v", err)
	}
	if result.Report.RollbackSkipped == nil || len(result.Report.RolledBack) > 0 || o.work.deletes > 0 {
		t.Errorf("it undid something: %+v, %d deletes", result.Report.RolledBack, o.work.deletes)
	}
	called := len(o.work.creates)
	if called < o.work.at || called > o.work.at+2*o.engine.Parallelism {
		t.Errorf("%d creates were called, the store went away after %d", called, o.work.at)
	}

	if err := o.server.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	snapshot, err := o.store.Load(t.Context(), o.partition)
	if err != nil {
		t.Fatal(err)
	}
	for id := range o.work.creates {
		if snapshot.Rows[id] == nil {
			t.Errorf("nothing is recorded of %s, whose create was called", id)
		}
	}
	if held, err := o.store.BreakLock(t.Context(), o.partition, holderOf(o)); err != nil || !held {
		t.Fatalf("the lock that nobody could give back: %v, %v", held, err)
	}
	if _, err := o.apply(); err != nil {
		t.Fatal(err)
	}
	o.settled()
}

// holderOf is who ran first.
func holderOf(o *outage) string {
	for _, e := range o.events {
		if e.Phase == lease.EventAcquire {
			return e.RunID
		}
	}
	o.Fatal("no run took the lock")
	return ""
}
