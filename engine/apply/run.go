package apply

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/resolve"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Run is one execution of a plan under a held lock. Every field is set by the caller;
// a Run is used once.
type Run struct {
	Provider    func(name string) (Provider, bool)
	Schemas     *model.Schemas
	Store       state.Writer
	Partition   string
	Lease       lease.Handle
	Owner       string // model.Request.Owner of every call
	Source      fs.FS  // model.Request.Source of every call; may be nil
	Parallelism int    // nodes at work at once
	// NodeTimeout bounds the work of one node (EX-3).
	NodeTimeout time.Duration
	// Backoff is how long to wait before a state write that found no store is tried again,
	// and whether it is; nil = it never is.
	Backoff func(attempt int) (time.Duration, bool)
	// DrainGrace is how long calls in flight may go on once the run stops, and again
	// how long a cancelled call may take to return before it is abandoned (GR-17,
	// EX-33).
	DrainGrace time.Duration
	Now        func() time.Time
	NewID      func() string
	Events     func(Event) // may be nil
	Gate       Gate        // may be nil
	Secrets    Secrets
}

// Gate is asked before the first work of a phase; its error ends the run there (AP-25).
type Gate func(ctx context.Context, phase Phase, p *plan.Plan) error

// ErrHandOver is the cause with which the context of a run ends when another process is to
// go on with it: nothing is undone then, whatever the plan says of failures (EX-37).
var ErrHandOver = errors.New("the run is handed over")

// Apply runs the plan. The report is returned beside an error as well (EX-34).
//
// A failure, a lost lock and the end of ctx stop the run: no further node starts, calls
// in flight may finish and are recorded. What phases 0 and 1 did is then undone, if the
// plan says so (EX-23), unless the lock is lost (EX-28) or ctx ended with ErrHandOver; the
// row of the node that failed stays as it was written ahead (EX-26). The end of ctx is an
// InterruptedRunError, a lost lock a LeaseLostError, or the FencedWriteError that showed
// it.
func (r *Run) Apply(ctx context.Context, p *plan.Plan) (*Report, error) {
	x := r.begin(ctx, p)
	defer x.end()
	actionable := 0
	for i := range p.Changes {
		if p.Changes[i].Actionable() {
			actionable++
		}
	}
	x.emit(Event{Phase: "run_start", Detail: map[string]any{"planned": len(p.Changes), "actionable": actionable}})
	err := x.Secrets.scrubbed(x.phases(ctx))
	x.scrubReport()
	x.emit(Event{Phase: "run_finish", Detail: map[string]any{
		"created": len(x.report.Created), "updated": len(x.report.Updated), "replaced": len(x.report.Replaced),
		"deleted": len(x.report.Deleted), "rolled_back": len(x.report.RolledBack),
	}})
	return x.report, err
}

// execution is the changing part of a run.
type execution struct {
	*Run
	plan    *plan.Plan
	changes map[string]*plan.Change
	scope   map[string]bool // ids that may be written
	before  resolve.Values  // what was recorded when the run started
	// recorded is before without secrets: what is idle does not need its own (PL-4).
	recorded resolve.Values

	stopped  context.Context // ends when no further node may start
	stop     context.CancelCauseFunc
	calls    context.Context // what provider calls run in
	cutCalls context.CancelCauseFunc
	writes   context.Context // what state writes run in: it ends with the lock alone
	cut      context.CancelCauseFunc
	ended    chan struct{}

	sink     sync.Mutex // one event at a time
	mu       sync.Mutex // guards all below
	live     map[string]map[string]any
	report   *Report
	gone     map[string]bool                  // deletes that are done, by change id
	early    map[string]*state.Row            // replaces whose old half went in phase 0, with the row that is written ahead
	old      map[string]*state.PendingDestroy // old halves that this run's replaces left to the clean-up
	cleaned  map[string]bool                  // of these, those that are gone
	told     map[string]bool                  // of these, those that the report names
	tried    map[string]bool                  // nodes whose create was called
	written  map[string]*state.Row            // rows that this run wrote, as they are now; nil = deleted
	undos    []undo                           // in order of completion
	restored map[string]map[string]any        // outputs of what undos created again
	remade   map[string]bool                  // of these, whether they have other outputs than were recorded
	owners   map[string]string                // type and address of an object → the node that keeps or made it
	failures []*model.Error
	lost     error
}

// begin starts a run.
func (r *Run) begin(ctx context.Context, p *plan.Plan) *execution {
	x := newExecution(r, p)
	x.keepers()
	detached := context.WithoutCancel(ctx)
	x.stopped, x.stop = context.WithCancelCause(ctx)
	x.calls, x.cutCalls = context.WithCancelCause(detached)
	x.writes, x.cut = context.WithCancelCause(detached)
	go x.watch()
	return x
}

// listening is the run with secrets that remember what it is told.
func (r *Run) listening() *Run {
	out := *r
	out.Secrets = r.Secrets.listening()
	return &out
}

// newExecution is a run that has not begun.
func newExecution(r *Run, p *plan.Plan) *execution {
	r = r.listening()
	x := &execution{
		Run: r, plan: p, report: NewReport(),
		changes: make(map[string]*plan.Change, len(p.Changes)), scope: scope(p),
		live:    make(map[string]map[string]any, len(p.Snapshot.Rows)),
		written: map[string]*state.Row{}, restored: map[string]map[string]any{}, remade: map[string]bool{},
		early: map[string]*state.Row{}, old: map[string]*state.PendingDestroy{},
		gone: map[string]bool{}, cleaned: map[string]bool{}, told: map[string]bool{}, tried: map[string]bool{},
		owners: map[string]string{}, ended: make(chan struct{}),
	}
	maps.Copy(x.report.Orphaned, p.Leaks)
	for i := range p.Changes {
		x.changes[p.Changes[i].NodeID] = &p.Changes[i]
	}
	recorded := make(map[string]map[string]any, len(p.Snapshot.Rows))
	for id, row := range p.Snapshot.Rows {
		outputs, _ := r.Secrets.opened(row) // what does not open has no value
		recorded[id], x.live[id] = outputs, outputs
	}
	for id, entry := range p.Snapshot.Pending {
		// While the new half is not confirmed, what refers to the node was made from the old.
		if row := p.Snapshot.Rows[id]; row == nil || row.Status != state.StatusCreated {
			recorded[id], _ = r.Secrets.opened(entry.Row)
		}
	}
	x.recorded = resolve.Values{Output: resolve.Outputs(recorded), StackOutput: x.committed}
	x.before = x.withSecrets(x.recorded)
	return x
}

// watch cuts calls when the lock is lost, at once, and when the run has been stopped
// for the drain grace.
func (x *execution) watch() {
	select {
	case <-x.ended:
		return
	case <-x.Lease.Lost():
		_ = x.lose(x.leaseLost())
		return
	case <-x.stopped.Done():
	}
	grace := time.NewTimer(x.DrainGrace)
	defer grace.Stop()
	select {
	case <-x.ended:
		return
	case <-x.Lease.Lost():
		_ = x.lose(x.leaseLost())
		return
	case <-grace.C:
		x.cutCalls(errDrained)
	}
	select { // a rollback may still be at work
	case <-x.ended:
	case <-x.Lease.Lost():
		_ = x.lose(x.leaseLost())
	}
}

func (x *execution) end() {
	close(x.ended)
	x.stop(nil)
	x.cutCalls(nil)
	x.cut(nil)
}

// errDrained cuts a call because the run stopped.
var errDrained = errors.New("the run stopped and the call did not finish in time")

// phases runs one phase after the other, each only if all before it succeeded (EX-1).
// Only what the first two did can be undone.
func (x *execution) phases(ctx context.Context) error {
	for _, phase := range []func(context.Context) error{x.earlyPhase, x.changePhase} {
		if err := phase(ctx); err != nil {
			return x.orphaned(x.rollback(ctx, err))
		}
	}
	for _, phase := range []func(context.Context) error{x.cleanupPhase, x.deletePhase, x.outputPhase} {
		if err := phase(ctx); err != nil {
			return err
		}
	}
	return nil
}

// pass asks the lock and the gate whether a phase may begin.
func (x *execution) pass(ctx context.Context, phase Phase) error {
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	if err := x.Lease.Check(); err != nil {
		return x.lose(x.leaseLost())
	}
	if x.Gate == nil {
		return nil
	}
	return x.Gate(ctx, phase, x.plan)
}

// walk runs work over a graph and says what ended it.
func (x *execution) walk(g *graph.Graph, reverse bool, work func(id string) error) error {
	err := g.Walk(x.stopped, x.Parallelism, reverse, func(_ context.Context, id string) error {
		err := work(id)
		if err != nil {
			x.stop(err)
		}
		return err
	})
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.lost != nil:
		return grouped(asError(x.lost), x.failures)
	case len(x.failures) > 0:
		return grouped(x.failures[0], x.failures[1:])
	case err != nil && x.stopped.Err() != nil:
		return interrupted(x.stopped)
	}
	return err
}

// grouped is an error with those that happened beside it.
func grouped(first *model.Error, others []*model.Error) error {
	e := *first
	e.AlsoFailed = slices.Clone(first.AlsoFailed)
	for _, other := range others {
		if other != first && other.Kind != model.LeaseLostError && other.Kind != model.FencedWriteError {
			e.AlsoFailed = append(e.AlsoFailed, other)
		}
	}
	return &e
}

// asError is err as the engine's own type.
func asError(err error) *model.Error {
	if e, ok := errors.AsType[*model.Error](err); ok {
		return e
	}
	return model.Errorf(model.AtlantideError, model.ClassUnknown, "%w", err)
}

// interrupted is the error of a run that was told to end; a rollback says more.
func interrupted(ctx context.Context) *model.Error {
	e := model.Errorf(model.InterruptedRunError, model.ClassUnknown,
		"the run was interrupted; what was done is recorded and nothing was undone; plan again to see what is left")
	e.Cause = context.Cause(ctx)
	return e
}

// lose ends the run because it may not write any more (EX-28). It returns the error
// that showed it first.
func (x *execution) lose(err error) error {
	x.mu.Lock()
	first := x.lost == nil
	if first {
		x.lost = err
	}
	err = x.lost
	x.mu.Unlock()
	if first {
		x.emit(Event{Phase: lease.EventLost, Detail: map[string]any{"owner": x.Lease.Fence().Holder, "reason": err.Error()}})
	}
	x.stop(err)
	x.cutCalls(err)
	x.cut(err)
	return err
}

// leaseLost is the guard's error with what follows from it (EX-38).
func (x *execution) leaseLost() error {
	cause := x.Lease.Check()
	e := model.Errorf(model.LeaseLostError, model.ClassTransient,
		"the lock was lost in the middle of the run; nothing was rolled back, and what was not confirmed is recorded as being created; refresh and plan again")
	e.Cause = cause
	return e
}

// note changes what is shared between nodes.
func (x *execution) note(change func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	change()
}

// scrubReport takes the secrets of the run out of the reasons in its report.
func (x *execution) scrubReport() {
	for _, reasons := range []map[string]string{x.report.RollbackFailed, x.report.PoisonFailed, x.report.Orphaned} {
		for id, reason := range reasons {
			reasons[id] = x.Secrets.scrub(reason)
		}
	}
}

// emit hands an event to the sink, whose failure breaks nothing.
func (x *execution) emit(e Event) {
	if x.Events == nil {
		return
	}
	e.RunID, e.At, e.Detail = x.Lease.Fence().Holder, x.Now(), x.Secrets.scrubbedDetail(e.Detail)
	x.sink.Lock()
	defer x.sink.Unlock()
	defer func() { _ = recover() }()
	x.Events(e)
}
