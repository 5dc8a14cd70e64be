package apply_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/apply/applytest"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// trial is a test that may fail without failing the test that runs it.
type trial struct {
	rapid.TB
	failed bool
}

type gaveUp struct{}

func (t *trial) Error(...any)          { t.failed = true }
func (t *trial) Errorf(string, ...any) { t.failed = true }
func (t *trial) Fatal(...any)          { t.failed = true; panic(gaveUp{}) }
func (t *trial) Fatalf(string, ...any) { t.failed = true; panic(gaveUp{}) }

// mutant is a store and a provider that take one safeguard out of every run.
type mutant struct {
	name     string
	batch    func(b *state.Batch)    // what is written instead; nil = what was meant
	request  func(r *model.Request)  // what the provider is told instead; nil = what was meant
	from, to []ir.Node               // of the run that is killed
	instead  []ir.Node               // what the next run is to make
	broken   bool                    // the run fails at its end, and rolls back
	drops    func(r *state.Row) bool // rows that are not written; nil = all are
}

type mutantStore struct {
	state.Writer
	m mutant
}

func (s mutantStore) Commit(ctx context.Context, p string, f model.Fence, batch state.Batch) error {
	if s.m.drops != nil {
		batch.PutRows = slices.DeleteFunc(slices.Clone(batch.PutRows), s.m.drops)
	}
	if s.m.batch != nil {
		s.m.batch(&batch)
	}
	return s.Writer.Commit(ctx, p, f, batch)
}

type mutantProvider struct {
	apply.Provider
	m mutant
}

func (p mutantProvider) Create(ctx context.Context, r *model.Request) (model.Outputs, error) {
	if p.m.request != nil {
		p.m.request(r)
	}
	return p.Provider.Create(ctx, r)
}

func writtenAhead(r *state.Row) bool  { return r.Status == state.StatusCreating }
func poisoned(r *state.Row) bool      { return r.Status == state.StatusCreated && r.InputHash == "" }
func markedGone(r *state.Row) bool    { return r.Status == state.StatusCreating && r.InputHash == "" }
func noEntries(b *state.Batch)        { b.PutPending = nil }
func noAttempt(r *model.Request)      { r.Attempt = "" }
func withoutOutputs(r *model.Request) { r.Prior = nil }

// TestMutants takes each safeguard out in turn and demands that killing the run somewhere
// shows it: a crash test that no missing safeguard fails proves nothing.
func TestMutants(t *testing.T) {
	a := func(key, value string) []ir.Node { return []ir.Node{thing("a", key, value)} }
	for _, m := range []mutant{
		{name: "no write-ahead", drops: writtenAhead, to: a("k", "1"), instead: []ir.Node{}},
		{name: "no attempt token", request: func(r *model.Request) { noAttempt(r); withoutOutputs(r) }, to: a("k", "1"), instead: a("k", "1")},
		{name: "no poison before an update", drops: poisoned, from: a("k", "1"), to: a("k", "2"), instead: a("k", "1")},
		{name: "no mark before a delete", drops: markedGone, from: a("k", "1"), instead: a("k", "1")},
		{name: "no record of the old half", batch: noEntries, from: a("k", "1"), to: a("k2", "1"), instead: a("k2", "1")},
		{name: "no record of the old half beside the new one", batch: noEntries,
			from: []ir.Node{first(thing("a", "k", "1"))}, to: []ir.Node{first(thing("a", "k2", "1"))}, instead: []ir.Node{first(thing("a", "k2", "1"))}},
		{name: "no poison before the undo of an update", broken: true, drops: poisoned, from: a("k", "1"), to: a("k", "2"), instead: failing(a("k", "2"))},
		{name: "no mark before the undo of a create", broken: true, drops: markedGone, to: a("k", "1"), instead: failing(a("k", "1"))},
	} {
		t.Run(m.name, func(t *testing.T) {
			whole := m
			whole.batch, whole.request, whole.drops = nil, nil, nil
			if where := whole.killed(t); where != "" {
				t.Fatalf("with all safeguards the run killed at %s does not converge", where)
			}
			if m.killed(t) == "" {
				t.Error("no crash point shows that the safeguard is missing")
			}
		})
	}
}

// killed kills the run at each of its steps and says where the next one did not put
// everything right; "" if it always did.
func (m mutant) killed(t *testing.T) string {
	for _, after := range []bool{false, true} {
		killed := true
		for step := 0; killed; step++ {
			var failed bool
			if killed, failed = m.trial(t, &applytest.Kill{At: step, After: after}); failed {
				return fmt.Sprintf("step %d, after %v", step, after)
			}
		}
	}
	return ""
}

func (m mutant) trial(t *testing.T, kill *applytest.Kill) (killed, failed bool) {
	tb := &trial{TB: t}
	defer func() {
		if p := recover(); p != nil && p != (gaveUp{}) {
			panic(p)
		}
		failed = tb.failed
	}()
	b := newBench(tb)
	b.adjust = func(r *apply.Run) {
		r.Parallelism = 1
		b := *r
		r.Store = mutantStore{b.Store, m}
		r.Provider = func(name string) (apply.Provider, bool) {
			p, ok := b.Provider(name)
			return mutantProvider{p, m}, ok
		}
	}
	b.mustApply(m.from)
	to := m.to
	if m.broken {
		to = failing(to)
		b.breaking("z")
		b.onFailure = plan.OnFailureRollback
	}
	killed = b.crashing(kill, to)
	b.world.before, b.onFailure = nil, plan.OnFailureHalt
	b.converge(m.instead)
	return killed, false
}
