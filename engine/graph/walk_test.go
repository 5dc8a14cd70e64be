package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// journal records starts and ends in the order in which they happen.
type journal struct {
	mu     sync.Mutex
	events []string
}

func (j *journal) add(event string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, event)
}

func (j *journal) at(event string) int { return slices.Index(j.events, event) }

func TestWalkLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		edges := dag(t)
		g := build(t, edges)
		reverse := rapid.Bool().Draw(t, "reverse")
		parallelism := rapid.IntRange(1, 5).Draw(t, "parallelism")
		var j journal
		var running, most atomic.Int64
		err := g.Walk(context.Background(), parallelism, reverse, func(_ context.Context, id string) error {
			now := running.Add(1)
			for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
			}
			j.add("start " + id)
			j.add("end " + id)
			running.Add(-1)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if most.Load() > int64(parallelism) {
			t.Fatalf("T-023: %d at once, %d allowed", most.Load(), parallelism)
		}
		if len(j.events) != 2*len(edges) {
			t.Fatalf("T-020: %d starts and ends for %d nodes", len(j.events), len(edges))
		}
		for id, deps := range edges {
			for _, dep := range deps {
				before, after := dep, id
				if reverse {
					before, after = id, dep
				}
				if j.at("end "+before) > j.at("start "+after) {
					t.Fatalf("T-021, T-024: %s started before %s ended (reverse: %t): %v", after, before, reverse, j.events)
				}
			}
		}
	})
}

func TestWalkOverlaps(t *testing.T) {
	g := build(t, map[string][]string{"a": nil, "b": nil, "c": nil})
	var barrier sync.WaitGroup
	barrier.Add(3)
	done := make(chan error, 1)
	go func() {
		done <- g.Walk(context.Background(), 3, false, func(context.Context, string) error {
			barrier.Done()
			barrier.Wait() // T-022: returns only when all three run at once
			return nil
		})
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestWalkStopsAfterAFailure(t *testing.T) {
	g := build(t, map[string][]string{"a": nil, "b": {"a"}, "c": nil, "d": {"c"}, "e": nil})
	broken := errors.New("broken")
	failed := make(chan struct{})
	var j journal
	err := g.Walk(context.Background(), 2, false, func(ctx context.Context, id string) error {
		j.add(id)
		switch id {
		case "a":
			close(failed)
			return fmt.Errorf("a: %w", broken)
		case "c":
			<-failed
			if ctx.Err() != nil {
				t.Error("GR-17: the failure of a sibling cut work in flight short")
			}
			return errors.New("c: broken as well")
		}
		return nil
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "c: broken as well") {
		t.Errorf("T-025: error %v; want both failures", err)
	}
	if strings.Index(err.Error(), "a:") > strings.Index(err.Error(), "c:") {
		t.Errorf("errors are not in node order: %v", err)
	}
	for _, id := range []string{"b", "d", "e"} {
		if slices.Contains(j.events, id) {
			t.Errorf("T-025: %s started after the failure", id)
		}
	}
}

func TestWalkKeepsALoneError(t *testing.T) {
	g := build(t, map[string][]string{"a": nil})
	want := errors.New("as it was")
	if err := g.Walk(context.Background(), 1, false, func(context.Context, string) error { return want }); fmt.Sprintf("%T", err) != fmt.Sprintf("%T", want) || !errors.Is(err, want) {
		t.Errorf("error %v; want the very error of the node", err)
	}
}

func TestWalkRefusesNoParallelism(t *testing.T) {
	g := build(t, map[string][]string{"a": nil})
	err := g.Walk(context.Background(), 0, false, func(context.Context, string) error {
		t.Error("T-026: work started")
		return nil
	})
	if model.ClassOf(err) != model.ClassUser {
		t.Errorf("T-026: error %v; want a user error", err)
	}
}

func TestWalkEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := build(t, map[string][]string{"a": nil, "b": {"a"}})
		handedOver := errors.New("handed over")
		ctx, cancel := context.WithCancelCause(context.WithValue(context.Background(), ctxKey{}, "kept"))
		started, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			done <- g.Walk(ctx, 1, false, func(call context.Context, id string) error {
				if id != "a" {
					t.Errorf("GR-15: %s started after the end", id)
				}
				close(started)
				<-release
				if call.Err() != nil || call.Value(ctxKey{}) != "kept" {
					t.Error("GR-17: work in flight was cut short or lost its values")
				}
				return nil
			})
		}()
		<-started
		cancel(handedOver)
		synctest.Wait()
		if len(done) != 0 {
			t.Error("GR-14: the walk returned while work was in flight")
		}
		close(release)
		if err := <-done; !errors.Is(err, handedOver) {
			t.Errorf("error %v; want the cause", err)
		}
	})
}

type ctxKey struct{}

func TestWalkThatCompletedIsNotCancelled(t *testing.T) {
	g := build(t, map[string][]string{"a": nil})
	ctx, cancel := context.WithCancel(context.Background())
	err := g.Walk(ctx, 1, false, func(context.Context, string) error {
		cancel()
		return nil
	})
	if err != nil {
		t.Errorf("error %v; everything was done", err)
	}
}
