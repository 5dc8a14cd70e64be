package graph

import (
	"container/heap"
	"context"
	"errors"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Walk runs work once per node, after it is done for everything that the node
// depends on (reversed: for everything that depends on the node), for at most
// parallelism nodes at a time. A node takes a slot only when nothing holds it back
// any more, so parallelism 1 never locks up (GR-12). Of the nodes that are ready the
// smallest id starts first.
//
// After work failed somewhere, or ctx ended, no further node starts; Walk returns
// when everything that started has returned (GR-14, GR-15). Work in flight is not
// cut short by either: it gets the values of ctx without its end (GR-17), and a
// caller that must be able to stop a call binds work to a context of its own.
//
// The errors of work are returned together, by node id; where ctx ended before
// every node had started, its cause comes last. A parallelism below 1 is refused
// before anything starts (GR-13).
func (g *Graph) Walk(ctx context.Context, parallelism int, reverse bool, work func(ctx context.Context, id string) error) error {
	if parallelism < 1 {
		return model.Errorf(model.AtlantideError, model.ClassUser, "parallelism must be at least 1, not %d", parallelism)
	}
	w := walk{before: g.deps, after: g.dependents, done: make(chan result)}
	if reverse {
		w.before, w.after = w.after, w.before
	}
	w.waiting, w.ready = g.start(w.before)
	call := context.WithoutCancel(ctx)
	started := 0
	for {
		for len(w.failed) == 0 && ctx.Err() == nil && w.running < parallelism && len(w.ready) > 0 {
			node := heap.Pop(&w.ready).(int)
			started++
			w.running++
			go func() { w.done <- result{node, work(call, g.ids[node])} }()
		}
		if w.running == 0 {
			break
		}
		w.finish(<-w.done)
	}
	return w.outcome(ctx, started == len(g.ids))
}

type result struct {
	node int
	err  error
}

// walk is what the caller's goroutine keeps; the others only report to done.
type walk struct {
	before, after [][]int
	waiting       []int
	ready         queue
	running       int
	done          chan result
	failed        []result
}

func (w *walk) finish(r result) {
	w.running--
	if r.err != nil {
		w.failed = append(w.failed, r)
		return
	}
	for _, next := range w.after[r.node] {
		if w.waiting[next]--; w.waiting[next] == 0 {
			heap.Push(&w.ready, next)
		}
	}
}

func (w *walk) outcome(ctx context.Context, complete bool) error {
	slices.SortFunc(w.failed, func(a, b result) int { return a.node - b.node })
	errs := make([]error, 0, len(w.failed)+1)
	for _, r := range w.failed {
		errs = append(errs, r.err)
	}
	if ctx.Err() != nil && !complete {
		errs = append(errs, context.Cause(ctx))
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}
