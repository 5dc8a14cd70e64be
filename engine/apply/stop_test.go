package apply_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

func TestLostLock(t *testing.T) {
	b := newBench(t)
	b.adjust = func(r *apply.Run) { r.Parallelism = 1 }
	b.world.before = func(ctx context.Context, _ string, r *model.Request) error {
		b.handle.lose()
		<-ctx.Done() // the call is cut at once
		return nil   // and succeeds all the same
	}
	serial := b.snapshot().Serial
	_, err := b.apply([]ir.Node{thing("a", "k", "1"), thing("b", "k", "1")})
	e := failureOf(t, err, model.LeaseLostError, "nothing was rolled back")
	if e.Class != model.ClassTransient {
		t.Errorf("class %v", e.Class)
	}
	b.wantCalls("create a")
	b.wantStatuses(map[string]string{"a": "creating"})
	if got := b.snapshot().Serial; got != serial+1 {
		t.Errorf("%d writes, want the write-ahead alone", got-serial)
	}
	b.world.before = nil
	b.mustApply([]ir.Node{thing("a", "k", "1"), thing("b", "k", "1")})
	b.wantThings(map[string]string{"a": "k=1", "b": "k=1"})
}

func TestLockLostBeforeThePhase(t *testing.T) {
	b := newBench(t)
	b.adjust = func(*apply.Run) { b.handle.lose() }
	_, err := b.apply([]ir.Node{thing("a", "k", "1")})
	wantError(t, err, model.LeaseLostError, "")
	b.wantCalls()
}

func TestFencedOut(t *testing.T) {
	for _, c := range []struct {
		reason string
		nodes  []ir.Node
		calls  []string
	}{
		{"a write-ahead is refused, so nothing is called", []ir.Node{thing("a", "k", "1"), thing("b", "k", "1")}, nil},
		{"so is the mark before an update", []ir.Node{thing("a", "k", "2")}, nil},
		{"and the one before a delete", nil, nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			b := newBench(t)
			b.mustApply([]ir.Node{thing("a", "k", "1")})
			b.world.calls = nil
			before := b.snapshot()
			b.adjust = func(*apply.Run) {
				if err := b.store.Claim(context.Background(), partition, model.Fence{Epoch: 99, Holder: "other"}); err != nil {
					t.Fatal(err)
				}
			}
			_, err := b.apply(c.nodes)
			wantError(t, err, model.FencedWriteError, "other")
			b.wantCalls(c.calls...)
			if diff := cmp.Diff(before, b.snapshot()); diff != "" {
				t.Errorf("state changed (-before +after):\n%s", diff)
			}
		})
	}
}

// A call that no write precedes is probed, whatever stands between the run and its
// store (EX-18).
func TestFenceIsProbedThroughAnyStore(t *testing.T) {
	b := newBench(t)
	a := []ir.Node{thing("a", "k", "1")}
	b.mustApply(a)
	left := &state.PendingDestroy{NodeID: idA, Row: b.snapshot().Rows[idA], Mode: state.CreateBeforeDestroy}
	if err := b.store.Commit(t.Context(), partition, b.handle.fence, state.Batch{PutPending: []*state.PendingDestroy{left}}); err != nil {
		t.Fatal(err)
	}
	b.world.calls = nil
	b.writer = struct{ state.Writer }{b.store}
	b.adjust = func(*apply.Run) {
		if err := b.store.Claim(context.Background(), partition, model.Fence{Epoch: 99, Holder: "other"}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := b.apply(a)
	wantError(t, err, model.FencedWriteError, "other")
	b.wantCalls()
}

func TestNodeTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.world.before = func(ctx context.Context, op string, r *model.Request) error {
			if r.Node.Name == "a" {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		report, err := b.apply([]ir.Node{thing("a", "k", "1"), thing("b", "k", "1")})
		e := failureOf(t, err, model.ProviderError, "did not finish within 1m0s")
		if e.NodeID != idA || e.Op != "create" {
			t.Errorf("error %+v", e)
		}
		if len(report.Abandoned) != 0 {
			t.Errorf("abandoned %v, but the call returned", report.Abandoned)
		}
		b.wantStatuses(map[string]string{"a": "creating", "b": "created"})
	})
}

func TestStuckDeleteTimesOutToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.mustApply([]ir.Node{thing("a", "k", "1")})
		b.world.before = func(ctx context.Context, _ string, _ *model.Request) error {
			<-ctx.Done()
			return ctx.Err()
		}
		_, err := b.apply(nil)
		if e := failureOf(t, err, model.ProviderError, "did not finish within 1m0s"); e.Op != "delete" {
			t.Errorf("error %+v", e)
		}
		b.wantStatuses(map[string]string{"a": "creating"}) // it may be gone
	})
}

func TestAbandonedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		release := make(chan struct{})
		b.world.before = func(context.Context, string, *model.Request) error {
			<-release // deaf to its context
			return nil
		}
		report, err := b.apply([]ir.Node{thing("a", "k", "1")})
		wantError(t, err, model.ProviderError, "did not finish within 1m0s")
		if diff := cmp.Diff([]string{idA}, report.Abandoned); diff != "" {
			t.Errorf("abandoned (-want +got):\n%s", diff)
		}
		b.wantStatuses(map[string]string{"a": "creating"})
		close(release)
	})
}

func TestInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.adjust = func(r *apply.Run) { r.Parallelism = 1 }
		ctx, cancel := context.WithCancel(context.Background())
		b.world.before = func(callCtx context.Context, _ string, _ *model.Request) error {
			cancel()
			<-time.After(5 * time.Second) // within the drain grace
			return callCtx.Err()
		}
		nodes := []ir.Node{thing("a", "k", "1"), thing("b", "k", ref("a", "sum"))}
		report, err := b.run(ctx, b.plan(compiled(t, nodes)))
		wantError(t, err, model.InterruptedRunError, "nothing was undone")
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v hides its cause", err)
		}
		if diff := cmp.Diff([]string{idA}, report.Created); diff != "" {
			t.Errorf("created (-want +got):\n%s", diff)
		}
		b.wantStatuses(map[string]string{"a": "created"}) // the call in flight finished and is recorded
	})
}

func TestInterruptCutsWhatDoesNotFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		ctx, cancel := context.WithCancel(context.Background())
		b.world.before = func(callCtx context.Context, _ string, _ *model.Request) error {
			cancel()
			<-callCtx.Done()
			return callCtx.Err()
		}
		start := time.Now()
		_, err := b.run(ctx, b.plan(compiled(t, []ir.Node{thing("a", "k", "1")})))
		wantError(t, err, model.InterruptedRunError, "its outcome is not known")
		if waited := time.Since(start); waited != 10*time.Second {
			t.Errorf("the call was cut after %s, want the drain grace of 10s", waited)
		}
		b.wantStatuses(map[string]string{"a": "creating"})
	})
}
