// Package group owns group commit: writes of one run that wait for the store at the same
// time become one transaction. A write returns when the transaction that it is part of
// did, so that it is durable then, or has failed.
//
// It must never know what the store is.
package group

import (
	"context"
	"sync"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Bounds of one transaction; what is over waits for the next one. A batch that is larger
// by itself goes alone.
const (
	maxMembers = 512
	maxBytes   = 16 << 20
)

// Commit is the write of a store: fenced, and all or nothing.
type Commit func(ctx context.Context, partition string, fence model.Fence, batch state.Batch) error

// Writer lets writes share commits. It is safe for concurrent use.
//
// The first write goes at once; what comes while a commit is on its way goes with the
// next. A write never waits for others when nobody else writes.
type Writer struct {
	commit Commit

	mu     sync.Mutex
	queues map[owner]*queue
}

// owner is whose writes may share a transaction: they stand or fall by the same fence.
type owner struct {
	partition string
	fence     model.Fence
}

// queue is what one owner has under way.
type queue struct {
	waiting []*member
	full    chan struct{} // closed when as many wait as the last commit had
	want    int           // of the last commit; 0 = nobody lingers
	last    time.Duration // of the last commit
}

// member is one write. It ends when done is closed, or leads what lead gives it.
type member struct {
	batch state.Batch
	size  int
	lead  chan []*member
	done  chan struct{}
	err   error
}

// New is a Writer over a store's commit.
func New(commit Commit) *Writer {
	return &Writer{commit: commit, queues: map[owner]*queue{}}
}

// Commit writes the batch, in a transaction with others where they come together. What
// cannot be stored is refused by itself. A ctx that ends withdraws a write that no
// transaction has taken up yet; one that is on its way is waited for.
func (w *Writer) Commit(ctx context.Context, partition string, fence model.Fence, batch state.Batch) error {
	size, err := batch.Measure()
	if err != nil {
		return err
	}
	of := owner{partition, fence}
	m := &member{batch: batch, size: size, lead: make(chan []*member, 1), done: make(chan struct{})}
	if w.enter(of, m) {
		return w.run(ctx, of, m, []*member{m})
	}
	select {
	case <-m.done:
		return m.err
	case members := <-m.lead:
		return w.run(ctx, of, m, members)
	case <-ctx.Done():
	}
	if w.withdraw(of, m) {
		return &model.Error{Kind: model.StateError, Class: model.ClassTransient, Cause: state.ErrUnavailable,
			Message: "write partition " + partition + ": the operation was cancelled before it was sent"}
	}
	select {
	case <-m.done:
		return m.err
	case members := <-m.lead:
		return w.run(ctx, of, m, members)
	}
}

// enter reports whether m is the first and leads itself; else it waits.
func (w *Writer) enter(of owner, m *member) (first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.queues[of]
	if q == nil {
		w.queues[of] = &queue{}
		return true
	}
	q.waiting = append(q.waiting, m)
	if q.full != nil && len(q.waiting) >= q.want {
		close(q.full)
		q.full = nil
	}
	return false
}

// withdraw takes m out of the queue, unless somebody took it up.
func (w *Writer) withdraw(of owner, m *member) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.queues[of]
	if q == nil {
		return false
	}
	for i, other := range q.waiting {
		if other == m {
			q.waiting = append(q.waiting[:i:i], q.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// run commits for the members, of which m is one, and hands the queue to the next.
func (w *Writer) run(ctx context.Context, of owner, m *member, members []*member) error {
	// The others' writes do not end with this one's context; the store bounds them.
	shared := ctx
	if len(members) > 1 {
		shared = context.WithoutCancel(ctx)
	}
	began := time.Now()
	w.write(shared, of, members)
	for _, other := range members {
		if other != m {
			close(other.done)
		}
	}
	w.next(of, len(members), time.Since(began))
	return m.err
}

// write commits the members as one, or one by one where only their company was refused.
func (w *Writer) write(ctx context.Context, of owner, members []*member) {
	batches := make([]state.Batch, len(members))
	for i, m := range members {
		batches[i] = m.batch
	}
	err := w.commit(ctx, of.partition, of.fence, state.Merge(batches...))
	// Of one run all stand or fall by the fence, and a store that is away is so for all; what
	// is refused otherwise, also a plan that is stale, is the fault of some of them.
	alone := len(members) > 1 && err != nil && !model.IsKind(err, model.FencedWriteError) &&
		(model.ClassOf(err) != model.ClassTransient || model.IsKind(err, model.PlanDriftError))
	for _, m := range members {
		if m.err = err; alone {
			m.err = w.commit(ctx, of.partition, of.fence, m.batch)
		}
	}
}

// next makes the longest waiting member the leader of all that fit into one transaction.
// Those who were just answered are given a moment to come again, a fraction of what a
// commit costs, so that commits do not alternate between few and many.
func (w *Writer) next(of owner, members int, took time.Duration) {
	w.mu.Lock()
	q := w.queues[of]
	q.want, q.last = members, took
	if len(q.waiting) == 0 && members == 1 {
		delete(w.queues, of)
		w.mu.Unlock()
		return
	}
	if len(q.waiting) < q.want {
		full := make(chan struct{})
		q.full = full
		w.mu.Unlock()
		go w.linger(of, full, min(q.last/2, maxLinger))
		return
	}
	w.handOver(of, q)
	w.mu.Unlock()
}

// maxLinger bounds how long a free store is left waiting for company.
const maxLinger = 2 * time.Millisecond

func (w *Writer) linger(of owner, full <-chan struct{}, moment time.Duration) {
	timer := time.NewTimer(moment)
	defer timer.Stop()
	select {
	case <-full:
	case <-timer.C:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.queues[of]
	q.full = nil
	w.handOver(of, q)
}

// handOver ends the queue, or gives it to its first member. The caller holds mu.
func (w *Writer) handOver(of owner, q *queue) {
	if len(q.waiting) == 0 {
		delete(w.queues, of)
		return
	}
	n, size := 1, q.waiting[0].size
	for n < len(q.waiting) && n < maxMembers && size+q.waiting[n].size <= maxBytes {
		size += q.waiting[n].size
		n++
	}
	members := q.waiting[:n:n]
	q.waiting = append([]*member(nil), q.waiting[n:]...)
	members[0].lead <- members
}
