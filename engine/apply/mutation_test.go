package apply_test

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/apply/applytest"
	"github.com/atlantide-org/atlantide-operator/engine/model"
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
func (t *trial) Failed() bool          { return t.failed }
func (t *trial) Logf(string, ...any)   {}

// mutant is a store, a provider and a reader that take one safeguard out of every run.
type mutant struct {
	name    string
	drops   func(r *state.Row) bool // rows that are not written; nil = all are
	batch   func(b *state.Batch)    // what is written instead; nil = what was meant
	request func(r *model.Request)  // what the provider is told instead; nil = what was meant
	deaf    bool                    // nobody reads what plans name
	shows   applytest.History       // that goes wrong without the safeguard
}

type mutantStore struct {
	state.Writer
	m *mutant
}

func (s mutantStore) Commit(ctx context.Context, p string, f model.Fence, batch state.Batch) error {
	batch.PutRows = slices.Clone(batch.PutRows)
	if s.m.drops != nil {
		batch.PutRows = slices.DeleteFunc(batch.PutRows, s.m.drops)
	}
	if s.m.batch != nil {
		s.m.batch(&batch)
	}
	return s.Writer.Commit(ctx, p, f, batch)
}

type mutantProvider struct {
	apply.Provider
	m *mutant
}

func (p mutantProvider) Create(ctx context.Context, r *model.Request) (model.Outputs, error) {
	if p.m.request != nil {
		p.m.request(r)
	}
	return p.Provider.Create(ctx, r)
}

func writtenAhead(r *state.Row) bool { return r.Status == state.StatusCreating }
func poisoned(r *state.Row) bool     { return r.Status == state.StatusCreated && r.InputHash == "" }
func markedGone(r *state.Row) bool   { return r.Status == state.StatusCreating && r.InputHash == "" }
func noEntries(b *state.Batch)       { b.PutPending = nil }

// noAttempt lets no row that is being created keep its token.
func noAttempt(b *state.Batch) {
	for i, row := range b.PutRows {
		if row.Status == state.StatusCreating {
			forgetful := *row
			forgetful.Attempt = ""
			b.PutRows[i] = &forgetful
		}
	}
}

// nameless is a call that tells a provider neither attempt nor outputs.
func nameless(r *model.Request) { r.Attempt, r.Prior = "", nil }

// one is a config of a node a.
func one(kind, key, value string, createFirst bool) applytest.Config {
	return applytest.Config{{Name: "a", Type: kind, Key: applytest.Expr{Text: key}, Value: applytest.Expr{Text: value}, CreateFirst: createFirst}}
}

// breaking adds to a config a node that comes last and cannot be made.
func breaking(from, to applytest.Config) applytest.History {
	z := applytest.Decl{Name: "z", Type: applytest.Thing, Key: applytest.Expr{Text: "k"}, Value: applytest.Expr{Text: "1"}}
	for _, d := range to {
		z.After = append(z.After, d.Name)
	}
	to = append(slices.Clone(to), z)
	return applytest.History{From: from, To: to, Instead: to, Rollback: true, Fate: applytest.Fate{Ends: applytest.Fails, Node: "z"}}
}

// mutants are the safeguards of a run, each taken out.
func mutants() []mutant {
	a, nothing := func(key, value string) applytest.Config { return one(applytest.Thing, key, value, false) }, applytest.Config{}
	first := func(key string) applytest.Config { return one(applytest.Thing, key, "1", true) }
	ticket := one(applytest.Ticket, "k", "1", false)
	back := func(from, to applytest.Config) applytest.History {
		return applytest.History{From: from, To: to, Instead: from}
	}
	on := func(from, to applytest.Config) applytest.History {
		return applytest.History{From: from, To: to, Instead: to}
	}
	return []mutant{
		{name: "no write-ahead", drops: writtenAhead, shows: back(nothing, a("k", "1"))},
		{name: "no attempt token in the row", batch: noAttempt, shows: on(nothing, a("k", "1"))},
		{name: "no attempt token in the call", request: nameless, shows: on(nothing, a("k", "1"))},
		{name: "no poison before an update", drops: poisoned, shows: back(a("k", "1"), a("k", "2"))},
		{name: "no mark before a delete", drops: markedGone, shows: back(a("k", "1"), nothing)},
		{name: "no record of the old half", batch: noEntries, shows: on(a("k", "1"), a("k2", "1"))},
		{name: "no record of the old half beside the new one", batch: noEntries, shows: on(first("k"), first("k2"))},
		{name: "no poison before the undo of an update", drops: poisoned, shows: breaking(a("k", "1"), a("k", "2"))},
		{name: "no mark before the undo of a create", drops: markedGone, shows: breaking(nothing, a("k", "1"))},
		{name: "nobody reads what may be left", deaf: true, shows: on(nothing, ticket)},
	}
}

// fails reports whether a history fails somewhere.
func (m *mutant) fails(t *testing.T, h applytest.History) bool {
	tb := &trial{TB: t}
	func() {
		defer func() {
			if p := recover(); p != nil && p != (gaveUp{}) {
				panic(p)
			}
		}()
		everywhere(tb, h, m)
	}()
	return tb.failed
}

// TestMutants takes each safeguard out in turn and demands that killing the run somewhere
// shows it, in a history that was made to show it and in one that was not: a crash test that
// no missing safeguard fails proves nothing.
func TestMutants(t *testing.T) {
	const enough = 200 // histories, always the same ones
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			everywhere(t, m.shows, nil)
			if !m.fails(t, m.shows) {
				t.Error("no crash point shows that the safeguard is missing")
			}
			for seed := range enough {
				if h := rapid.Custom(drawHistory).Example(seed); m.fails(t, h) {
					t.Logf("generated history %d shows it", seed)
					return
				}
			}
			t.Errorf("none of %d generated histories shows that the safeguard is missing", enough)
		})
	}
}
