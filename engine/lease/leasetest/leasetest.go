// Package leasetest owns the contract tests of a lock that several processes contend for:
// every such lock passes the same suite. Beside them it has a lock for tests of what works
// under one. It must never know a particular lock of production.
package leasetest

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Subject is one lock as two processes see it.
type Subject struct {
	Ours, Theirs lease.Locker
	// Write writes under a fence; what the lock protects.
	Write func(ctx context.Context, fence model.Fence) error
	// Lapse lets so much time pass for who comes next that a lock of now may be taken
	// over; its holder does not notice.
	Lapse func(ctx context.Context) error
	// Break breaks the lock, as a person does.
	Break func(ctx context.Context) error
}

// Run runs the suite. Every test gets a lock of its own that nobody holds.
func Run(t *testing.T, newSubject func(t *testing.T) Subject) {
	for name, test := range map[string]func(*fixture){
		"Excludes": excludes, "Release": release, "Abandon": abandon, "TakeOver": takeOver, "Break": breakIt, "OneOfMany": oneOfMany,
	} {
		t.Run(name, func(t *testing.T) { test(&fixture{T: t, Subject: newSubject(t), ctx: t.Context()}) })
	}
}

type fixture struct {
	*testing.T
	Subject
	ctx context.Context
}

func (f *fixture) acquire(l lease.Locker) lease.Handle {
	f.Helper()
	h, err := l.Acquire(f.ctx)
	if err != nil {
		f.Fatalf("acquire: %v", err)
	}
	f.Cleanup(func() { _ = h.Release(context.Background()) }) // released or lost already, mostly
	return h
}

func (f *fixture) refused(reason string, err error, kind model.Kind) {
	f.Helper()
	if !model.IsKind(err, kind) {
		f.Errorf("%s: %v, want a %s", reason, err, kind)
	}
}

func (f *fixture) must(reason string, err error) {
	f.Helper()
	if err != nil {
		f.Errorf("%s: %v", reason, err)
	}
}

func excludes(f *fixture) {
	h := f.acquire(f.Ours)
	for reason, l := range map[string]lease.Locker{"the same process": f.Ours, "another process": f.Theirs} {
		_, err := l.Acquire(f.ctx)
		f.refused(reason, err, model.LockError)
		if !strings.Contains(err.Error(), h.Fence().Holder) {
			f.Errorf("%s: %v does not name the holder", reason, err)
		}
	}
	f.must("the guard after vain tries of others", h.Check())
	f.must("the holder's write", f.Write(f.ctx, h.Fence()))
}

// T-172: holders differ per acquisition, and epochs grow.
func release(f *fixture) {
	first := f.acquire(f.Ours)
	f.must("release", first.Release(f.ctx))
	f.refused("the guard afterwards", first.Check(), model.LeaseLostError)
	<-first.Lost()
	f.refused("a write afterwards", f.Write(f.ctx, first.Fence()), model.FencedWriteError)
	second := f.acquire(f.Theirs)
	if second.Fence().Epoch <= first.Fence().Epoch || second.Fence().Holder == first.Fence().Holder {
		f.Errorf("%+v after %+v", second.Fence(), first.Fence())
	}
	f.must("a second release", first.Release(f.ctx))
	f.must("the next holder's write", f.Write(f.ctx, second.Fence()))
}

// What is abandoned is not free until it ends: a call may still be in flight.
func abandon(f *fixture) {
	h := f.acquire(f.Ours)
	h.Abandon()
	f.refused("the guard afterwards", h.Check(), model.LeaseLostError)
	_, err := f.Theirs.Acquire(f.ctx)
	f.refused("an abandoned lock", err, model.LockError)
	f.must("time", f.Lapse(f.ctx))
	next := f.acquire(f.Theirs)
	f.must("release of what was abandoned", h.Release(f.ctx))
	f.must("the next holder's write", f.Write(f.ctx, next.Fence()))
}

func takeOver(f *fixture) {
	paused := f.acquire(f.Ours)
	f.must("time", f.Lapse(f.ctx))
	next := f.acquire(f.Theirs)
	f.refused("a write of the paused run", f.Write(f.ctx, paused.Fence()), model.FencedWriteError)
	f.must("its release", paused.Release(f.ctx))
	f.must("the next holder's write", f.Write(f.ctx, next.Fence()))
	f.must("the next holder's guard", next.Check())
}

func breakIt(f *fixture) {
	broken := f.acquire(f.Ours)
	f.must("break", f.Break(f.ctx))
	f.refused("a write of the broken run", f.Write(f.ctx, broken.Fence()), model.FencedWriteError)
	next := f.acquire(f.Theirs)
	f.must("release of the broken run", broken.Release(f.ctx))
	f.must("the next holder's write", f.Write(f.ctx, next.Fence()))
}

func oneOfMany(f *fixture) {
	const runs = 8
	held := make(chan lease.Handle, runs)
	var all sync.WaitGroup
	for i := range runs {
		l := f.Ours
		if i%2 == 1 {
			l = f.Theirs
		}
		all.Go(func() {
			h, err := l.Acquire(f.ctx)
			if err == nil {
				held <- h
			} else if !model.IsKind(err, model.LockError) {
				f.Error(err)
			}
		})
	}
	all.Wait()
	if len(held) != 1 {
		f.Fatalf("%d runs hold one lock", len(held))
	}
	f.must("release", (<-held).Release(f.ctx))
}
