package statetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// LockSubject is a store with its own lock, under test.
type LockSubject interface {
	state.Store
	state.Locks
	// Lapse lets as much time pass that every hold of now may be taken over.
	Lapse(ctx context.Context) error
}

const ttl = time.Hour

// RunLocks runs the suite of the store-backed lock. Every test gets a store of its own.
func RunLocks(t *testing.T, newStore func(t *testing.T) LockSubject) {
	for name, test := range map[string]func(*locks){
		"FirstTake": firstTake, "Conflict": conflict, "SameHolderAgain": sameHolderAgain, "Release": release,
		"TakeOver": takeOver, "RenewMovesTheEnd": renewMovesTheEnd, "Break": breakLock, "PartitionsAreApart": locksAreApart,
		"OneOfManyTakes": oneOfManyTakes, "Machine": lockMachine,
	} {
		t.Run(name, func(t *testing.T) { test(&locks{T: t, LockSubject: newStore(t), ctx: t.Context()}) })
	}
}

type locks struct {
	*testing.T
	LockSubject
	ctx context.Context
}

func (l *locks) take(holder string) model.Fence {
	l.Helper()
	fence, err := l.TakeLock(l.ctx, partitionA, holder, ttl)
	if err != nil {
		l.Fatalf("%s takes: %v", holder, err)
	}
	return fence
}

func (l *locks) must(reason string, err error) {
	l.Helper()
	if err != nil {
		l.Errorf("%s: %v", reason, err)
	}
}

func (l *locks) refused(reason string, err error, kind model.Kind, says string) {
	l.Helper()
	if !model.IsKind(err, kind) || !strings.Contains(err.Error(), says) {
		l.Errorf("%s: %v, want a %s that says %q", reason, err, kind, says)
	}
}

func (l *locks) write(fence model.Fence, id string) error {
	return l.Commit(l.ctx, partitionA, fence, state.Batch{PutRows: []*state.Row{row(id)}})
}

func (l *locks) holds() []state.Hold {
	l.Helper()
	holds, err := l.Holds(l.ctx, partitionA)
	if err != nil {
		l.Fatal(err)
	}
	return holds
}

func firstTake(l *locks) {
	if holds := l.holds(); len(holds) != 0 {
		l.Errorf("nobody took it, yet %v", holds)
	}
	fence := l.take("a")
	if fence.Epoch < 1 || fence.Holder != "a" {
		l.Errorf("the fence is %+v", fence)
	}
	l.must("a write", l.write(fence, "s:local.File:a"))
	l.must("the probe", l.CheckFence(l.ctx, partitionA, fence))
	holds := l.holds()
	if len(holds) != 1 || holds[0].Holder != "a" || holds[0].Epoch != fence.Epoch || !holds[0].Lapses || holds[0].Remaining > ttl || holds[0].Remaining < ttl-10*time.Minute {
		l.Errorf("holds %+v", holds)
	}
}

// T-144.
func conflict(l *locks) {
	first := l.take("a")
	_, err := l.TakeLock(l.ctx, partitionA, "b", ttl)
	l.refused("a held lock", err, model.LockError, "'a'")
	if !strings.Contains(err.Error(), "m0s") {
		l.Errorf("%v does not say how long", err)
	}
	l.must("the holder's write after a vain try", l.write(first, "s:local.File:a"))
}

// T-145, T-155: the newer fence of the same holder supersedes the older.
func sameHolderAgain(l *locks) {
	first := l.take("a")
	second := l.take("a")
	if second.Epoch <= first.Epoch {
		l.Errorf("epoch %d after %d", second.Epoch, first.Epoch)
	}
	l.refused("the older fence", l.write(first, "s:local.File:a"), model.FencedWriteError, "")
	l.must("the newer fence", l.write(second, "s:local.File:a"))
}

// T-148.
func release(l *locks) {
	first := l.take("a")
	l.must("release", l.ClearHolder(l.ctx, partitionA, first))
	l.refused("a write after it", l.write(first, "s:local.File:a"), model.FencedWriteError, "")
	l.refused("a renewal after it", l.RenewLock(l.ctx, partitionA, first, ttl), model.FencedWriteError, "")
	second := l.take("b")
	if second.Epoch <= first.Epoch {
		l.Errorf("epoch %d after %d", second.Epoch, first.Epoch)
	}
	l.must("a late release", l.ClearHolder(l.ctx, partitionA, first))
	l.must("the new holder's write", l.write(second, "s:local.File:a"))
}

// T-147, T-152, T-153; X-32: who holds an ended lock is one question in every store.
func takeOver(l *locks) {
	first := l.take("paused")
	l.must("a write", l.write(first, "s:local.File:a"))
	l.must("time", l.Lapse(l.ctx))
	if holds := l.holds(); len(holds) != 1 || !holds[0].Expired() {
		l.Errorf("an ended hold is shown as %+v", holds)
	}
	// Ended, but nobody else's: the store is safe with it, the holder's own guard stops it.
	l.must("a write that nobody contests", l.write(first, "s:local.File:a"))
	second := l.take("successor")
	l.refused("a stale write", l.write(first, "s:local.File:b"), model.FencedWriteError, "successor")
	l.refused("a stale renewal", l.RenewLock(l.ctx, partitionA, first, ttl), model.FencedWriteError, "successor")
	snapshot, err := l.Load(l.ctx, partitionA)
	if err != nil || len(snapshot.Rows) != 1 {
		l.Errorf("%v, %v: the stale write left something", snapshot, err)
	}
	l.must("the successor's write", l.write(second, "s:local.File:b"))
}

// A renewal keeps the fence (LS-9).
func renewMovesTheEnd(l *locks) {
	fence := l.take("a")
	l.must("time", l.Lapse(l.ctx))
	l.must("renewal", l.RenewLock(l.ctx, partitionA, fence, ttl))
	_, err := l.TakeLock(l.ctx, partitionA, "b", ttl)
	l.refused("a renewed lock", err, model.LockError, "'a'")
	l.must("a write under the same fence", l.write(fence, "s:local.File:a"))
}

// LS-11, X-34: the broken run writes and renews no more, also while nobody else came.
func breakLock(l *locks) {
	if held, err := l.BreakLock(l.ctx, partitionA, "alive"); held || err != nil {
		l.Errorf("broke nothing: %v, %v", held, err)
	}
	fence := l.take("alive")
	for _, other := range []string{"dead", ""} {
		if held, err := l.BreakLock(l.ctx, partitionA, other); held || err != nil {
			l.Errorf("broke %q, which does not hold: %v, %v", other, held, err)
		}
	}
	l.must("a write of who was not meant", l.write(fence, "s:local.File:b"))
	if held, err := l.BreakLock(l.ctx, partitionA, "alive"); !held || err != nil {
		l.Errorf("broke: %v, %v", held, err)
	}
	l.refused("a write of the broken run", l.write(fence, "s:local.File:a"), model.FencedWriteError, "")
	l.refused("a renewal of the broken run", l.RenewLock(l.ctx, partitionA, fence, ttl), model.FencedWriteError, "")
	if holds := l.holds(); len(holds) != 0 {
		l.Errorf("still held: %+v", holds)
	}
	if next := l.take("b"); next.Epoch <= fence.Epoch+1 {
		l.Errorf("epoch %d after %d was broken: breaking takes an epoch", next.Epoch, fence.Epoch)
	}
}

func locksAreApart(l *locks) {
	l.take("a")
	other, err := l.TakeLock(l.ctx, partitionB, "b", ttl)
	l.must("another partition", err)
	l.refused("the fence of another partition", l.write(other, "s:local.File:a"), model.FencedWriteError, "")
}

func oneOfManyTakes(l *locks) {
	const takers = 8
	var all sync.WaitGroup
	won := make(chan model.Fence, takers)
	for i := range takers {
		all.Go(func() {
			fence, err := l.TakeLock(l.ctx, partitionA, fmt.Sprintf("run-%d", i), ttl)
			if err == nil {
				won <- fence
			} else if !model.IsKind(err, model.LockError) {
				l.Error(err)
			}
		})
	}
	all.Wait()
	if len(won) != 1 {
		l.Fatalf("%d runs hold one lock", len(won))
	}
	l.must("the winner writes", l.write(<-won, "s:local.File:a"))
}

// T-159: whatever runs start, pause, come back, renew, finish, are broken and write, only
// the current fence writes, epochs and serials never fall, and the rows are the accepted
// writes.
func lockMachine(l *locks) {
	rapid.Check(l.T, func(rt *rapid.T) {
		m := &machine{locks: l, partition: uuid.NewString(), fences: map[string]model.Fence{}, rows: map[string]string{}}
		rt.Repeat(map[string]func(*rapid.T){
			"start":                   func(rt *rapid.T) { m.start(rt, drawRun(rt)) },
			"lapse and be taken over": func(rt *rapid.T) { m.lapse(rt); m.start(rt, drawRun(rt)) },
			"renew":                   func(rt *rapid.T) { m.renew(rt, drawRun(rt)) },
			"finish":                  func(rt *rapid.T) { m.finish(rt, drawRun(rt)) },
			"break":                   m.breakIt,
			"write":                   func(rt *rapid.T) { m.writeRow(rt, drawRun(rt), false) },
			"erase":                   func(rt *rapid.T) { m.writeRow(rt, drawRun(rt), true) },
			"":                        m.compare,
		})
	})
}

func drawRun(t *rapid.T) string {
	return rapid.SampledFrom([]string{"run-a", "run-b", "run-c"}).Draw(t, "run")
}

type machine struct {
	*locks
	partition string
	current   model.Fence // nobody's when its holder is ""
	lapsed    bool
	fences    map[string]model.Fence // of every run that ever held, by holder
	rows      map[string]string
	serial    int64
}

func (m *machine) start(rt *rapid.T, run string) {
	fence, err := m.TakeLock(m.ctx, m.partition, run, ttl)
	free := m.current.Holder == "" || m.current.Holder == run || m.lapsed
	switch {
	case free && err != nil, !free && !model.IsKind(err, model.LockError):
		rt.Fatalf("%s takes what %+v holds (lapsed %v): %v", run, m.current, m.lapsed, err)
	case free && fence.Epoch <= m.current.Epoch:
		rt.Fatalf("epoch %d after %d", fence.Epoch, m.current.Epoch)
	case free:
		m.current, m.lapsed, m.fences[run] = fence, false, fence
	}
}

func (m *machine) lapse(rt *rapid.T) {
	if err := m.Lapse(m.ctx); err != nil {
		rt.Fatal(err)
	}
	m.lapsed = true
}

func (m *machine) isCurrent(run string) bool {
	return m.current.Holder == run && m.fences[run] == m.current
}

func (m *machine) verdict(rt *rapid.T, run string, err error) bool {
	if current := m.isCurrent(run); current != (err == nil) || !current && !model.IsKind(err, model.FencedWriteError) {
		rt.Fatalf("%s with %+v while %+v holds: %v", run, m.fences[run], m.current, err)
	}
	return err == nil
}

func (m *machine) renew(rt *rapid.T, run string) {
	if m.verdict(rt, run, m.RenewLock(m.ctx, m.partition, m.fences[run], ttl)) {
		m.lapsed = false
	}
}

func (m *machine) finish(rt *rapid.T, run string) {
	if err := m.ClearHolder(m.ctx, m.partition, m.fences[run]); err != nil {
		rt.Fatal(err)
	}
	if m.isCurrent(run) {
		m.current.Holder = ""
	}
}

func (m *machine) breakIt(rt *rapid.T) {
	held, err := m.BreakLock(m.ctx, m.partition, m.current.Holder)
	if err != nil || held != (m.current.Holder != "") {
		rt.Fatalf("broke %+v: %v, %v", m.current, held, err)
	}
	m.current.Holder = ""
}

func (m *machine) writeRow(rt *rapid.T, run string, erase bool) {
	id := rapid.SampledFrom([]string{"s:t:a", "s:t:b"}).Draw(rt, "node")
	hash := rapid.StringMatching("[a-f]{4}").Draw(rt, "hash")
	batch := state.Batch{PutRows: []*state.Row{{ID: id, InputHash: hash}}}
	if erase {
		batch = state.Batch{DeleteRows: []string{id}}
	}
	if !m.verdict(rt, run, m.Commit(m.ctx, m.partition, m.fences[run], batch)) {
		return
	}
	if m.rows[id] = hash; erase {
		delete(m.rows, id)
	}
}

func (m *machine) compare(rt *rapid.T) {
	snapshot, err := m.Load(m.ctx, m.partition)
	if err != nil {
		rt.Fatal(err)
	}
	if snapshot.Serial < m.serial {
		rt.Fatalf("the serial fell from %d to %d", m.serial, snapshot.Serial)
	}
	m.serial = snapshot.Serial
	got := map[string]string{}
	for id, r := range snapshot.Rows {
		got[id] = r.InputHash
	}
	if !maps.Equal(got, m.rows) {
		rt.Fatalf("rows %v, accepted %v", slices.Sorted(maps.Keys(got)), m.rows)
	}
}
