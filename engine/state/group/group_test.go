package group_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/group"
	"github.com/atlantide-org/atlantide-operator/engine/state/memory"
)

const partition = "p"

var fence = model.Fence{Epoch: 1, Holder: "run"}

// disk is a store whose commits take a while; it notes what each of them held.
type disk struct {
	took time.Duration
	fail func(ids []string) error

	mu      sync.Mutex
	commits [][]string
	busy    map[model.Fence]bool
}

func (d *disk) commit(ctx context.Context, _ string, fence model.Fence, b state.Batch) error {
	d.mu.Lock()
	if d.busy == nil {
		d.busy = map[model.Fence]bool{}
	}
	if d.busy[fence] {
		panic("two commits of one run at once")
	}
	d.busy[fence] = true
	d.mu.Unlock()
	if d.took > 0 {
		<-time.NewTimer(d.took).C
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.busy[fence] = false
	ids := make([]string, len(b.PutRows))
	for i, r := range b.PutRows {
		ids[i] = r.ID
	}
	d.commits = append(d.commits, ids)
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.fail != nil {
		return d.fail(ids)
	}
	return nil
}

// inBubble runs a test on a clock of its own, and lets the writer come to rest at its end.
func inBubble(t *testing.T, test func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		test(t)
		<-time.NewTimer(time.Second).C
	})
}

func put(id string) state.Batch { return state.Batch{PutRows: []*state.Row{{ID: id}}} }

// writeAll writes these ids at the same time, in this order, and returns the errors.
func writeAll(t *testing.T, w *group.Writer, ids ...string) map[string]error {
	t.Helper()
	errs := map[string]error{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, id := range ids {
		all.Go(func() {
			err := w.Commit(t.Context(), partition, fence, put(id))
			mu.Lock()
			defer mu.Unlock()
			errs[id] = err
		})
		synctest.Wait()
	}
	all.Wait()
	return errs
}

func TestWritesShareCommits(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := &disk{took: time.Millisecond}
		for id, err := range writeAll(t, group.New(d.commit), "a", "b", "c", "d") {
			if err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
		if want := [][]string{{"a"}, {"b", "c", "d"}}; !slices.EqualFunc(d.commits, want, slices.Equal) {
			t.Errorf("commits %v, want %v", d.commits, want)
		}
	})
}

// Who is alone never waits for company.
func TestLoneWriterNeverWaits(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := &disk{took: time.Millisecond}
		w := group.New(d.commit)
		began := time.Now()
		for range 10 {
			if err := w.Commit(t.Context(), partition, fence, put("a")); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != 10*time.Millisecond {
			t.Errorf("ten commits of a millisecond took %s", took)
		}
	})
}

// Workers that write, work and write again end up in step: commits do not alternate
// between one and all the others.
func TestCommitsStayFull(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const workers, writes = 64, 50
		d := &disk{took: time.Millisecond}
		w := group.New(d.commit)
		var all sync.WaitGroup
		for i := range workers {
			all.Go(func() {
				for range writes {
					if err := w.Commit(t.Context(), partition, fence, put(fmt.Sprint(i))); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if len(d.commits) > writes+5 {
			t.Errorf("%d commits for %d writes of %d workers", len(d.commits), writes, workers)
		}
	})
}

// A write that is refused for what it holds does not take others along; one that is
// refused for its fence, or not answered, does.
func TestFailures(t *testing.T) {
	for reason, c := range map[string]struct {
		err     error
		commits int
		failed  []string
	}{
		"what one holds":   {model.Errorf(model.StateError, model.ClassUnknown, "refused"), 1 + 1 + 3, []string{"bad"}},
		"a stale plan":     {model.Errorf(model.PlanDriftError, model.ClassTransient, "another plan"), 1 + 1 + 3, []string{"bad"}},
		"the fence":        {model.Errorf(model.FencedWriteError, model.ClassUnknown, "superseded"), 2, []string{"b", "bad", "c"}},
		"the store is off": {model.Errorf(model.StateError, model.ClassTransient, "%w", state.ErrUnavailable), 2, []string{"b", "bad", "c"}},
	} {
		inBubble(t, func(t *testing.T) {
			d := &disk{took: time.Millisecond, fail: func(ids []string) error {
				if slices.Contains(ids, "bad") {
					return c.err
				}
				return nil
			}}
			errs := writeAll(t, group.New(d.commit), "a", "b", "bad", "c")
			for id, err := range errs {
				if slices.Contains(c.failed, id) != errors.Is(err, c.err) || !slices.Contains(c.failed, id) && err != nil {
					t.Errorf("%s: %s: %v", reason, id, err)
				}
			}
			if len(d.commits) != c.commits {
				t.Errorf("%s: commits %v, want %d", reason, d.commits, c.commits)
			}
		})
	}
}

// A run whose fence is another's has transactions of its own, at the same time.
func TestOwnersAreApart(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := &disk{took: time.Second}
		w := group.New(d.commit)
		began := time.Now()
		var all sync.WaitGroup
		for epoch := range int64(3) {
			all.Go(func() {
				if err := w.Commit(t.Context(), partition, model.Fence{Epoch: epoch, Holder: "run"}, put("a")); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took != time.Second || len(d.commits) != 3 {
			t.Errorf("%s, commits %v", took, d.commits)
		}
	})
}

// EX-44: a write that waits can be called off, one that is on its way is waited for.
func TestCancellation(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := &disk{took: time.Second}
		w := group.New(d.commit)
		ctx, cancel := context.WithCancel(t.Context())
		first, waiting, kept := make(chan error, 1), make(chan error, 1), make(chan error, 1)
		go func() { first <- w.Commit(t.Context(), partition, fence, put("first")) }()
		synctest.Wait()
		go func() { waiting <- w.Commit(ctx, partition, fence, put("waiting")) }()
		go func() { kept <- w.Commit(t.Context(), partition, fence, put("kept")) }()
		synctest.Wait()
		cancel()
		if err := <-waiting; !errors.Is(err, state.ErrUnavailable) {
			t.Errorf("called off: %v", err)
		}
		if err := errors.Join(<-first, <-kept); err != nil {
			t.Error(err)
		}
		if want := [][]string{{"first"}, {"kept"}}; !slices.EqualFunc(d.commits, want, slices.Equal) {
			t.Errorf("commits %v, want %v", d.commits, want)
		}

		// The leader of a shared commit is called off: the others' writes go on.
		ctx, cancel = context.WithCancel(t.Context())
		go func() { first <- w.Commit(t.Context(), partition, fence, put("first")) }()
		synctest.Wait()
		go func() { waiting <- w.Commit(ctx, partition, fence, put("leads")) }()
		synctest.Wait()
		go func() { kept <- w.Commit(t.Context(), partition, fence, put("follows")) }()
		synctest.Wait()
		if err := <-first; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		cancel()
		if err := errors.Join(<-waiting, <-kept); err != nil {
			t.Errorf("called off on its way: %v", err)
		}
	})
}

func TestBounds(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := &disk{took: time.Millisecond}
		w := group.New(d.commit)
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				if err := w.Commit(t.Context(), partition, fence, state.Batch{PutRows: []*state.Row{{ID: fmt.Sprint(i), Outputs: map[string]any{"v": strings.Repeat("x", 3<<20)}}}}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for _, ids := range d.commits {
			if len(ids) > 5 {
				t.Errorf("a commit of %d MiB", 3*len(ids))
			}
		}
		if err := w.Commit(t.Context(), partition, fence, put("nul \x00")); !model.IsKind(err, model.StateError) {
			t.Errorf("what no store takes: %v", err)
		}
	})
}

// When a write returns it is there, whatever went on beside it.
func TestWrittenWhenReturned(t *testing.T) {
	store := memory.New()
	if err := store.Claim(t.Context(), partition, fence); err != nil {
		t.Fatal(err)
	}
	w := group.New(store.Commit)
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			for n := range 20 {
				id := fmt.Sprintf("w%d-%d", i, n)
				if err := w.Commit(t.Context(), partition, fence, put(id)); err != nil {
					t.Error(err)
				}
				if s, err := store.Load(t.Context(), partition); err != nil || s.Rows[id] == nil {
					t.Errorf("%s is not there, %v", id, err)
				}
			}
		})
	}
	all.Wait()
}
