package apply

import (
	"context"
	"errors"
	"io/fs"
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
	// DrainGrace is how long calls in flight may go on once the run stops, and again
	// how long a cancelled call may take to return before it is abandoned (GR-17,
	// EX-33).
	DrainGrace time.Duration
	Now        func() time.Time
	NewID      func() string
	Events     func(Event) // may be nil
	Gate       Gate        // may be nil
}

// Gate is asked before the first work of a phase; its error ends the run there (AP-25).
type Gate func(ctx context.Context, phase Phase, p *plan.Plan) error

// Apply runs the plan. The report is returned beside an error as well (EX-34).
//
// A failure, a lost lock and the end of ctx stop the run: no further node starts, calls
// in flight may finish and are recorded, nothing is undone, and the rows that were
// written ahead stay (EX-26). The end of ctx is an InterruptedRunError, a lost lock a
// LeaseLostError, or the FencedWriteError that showed it.
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
	err := x.phases(ctx)
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
	settled  map[string]bool   // pending destroys of an earlier run that are done, by change id
	owners   map[string]string // type and address of an object → the node that keeps or made it
	failures []*model.Error
	lost     error
}

func (r *Run) begin(ctx context.Context, p *plan.Plan) *execution {
	x := &execution{
		Run: r, plan: p, report: NewReport(),
		changes: make(map[string]*plan.Change, len(p.Changes)),
		live:    make(map[string]map[string]any, len(p.Snapshot.Rows)),
		settled: map[string]bool{}, owners: map[string]string{}, ended: make(chan struct{}),
	}
	for i := range p.Changes {
		x.changes[p.Changes[i].NodeID] = &p.Changes[i]
	}
	x.scope = scope(p)
	recorded := make(map[string]map[string]any, len(p.Snapshot.Rows))
	for id, row := range p.Snapshot.Rows {
		recorded[id], x.live[id] = row.Outputs, row.Outputs
	}
	x.before = resolve.Values{Output: resolve.Outputs(recorded), StackOutput: x.committed}
	x.keepers()
	detached := context.WithoutCancel(ctx)
	x.stopped, x.stop = context.WithCancelCause(ctx)
	x.calls, x.cutCalls = context.WithCancelCause(detached)
	x.writes, x.cut = context.WithCancelCause(detached)
	go x.watch()
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
	case <-x.Lease.Lost():
		_ = x.lose(x.leaseLost())
	case <-grace.C:
		x.cutCalls(errDrained)
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

// phases runs one phase after the other (EX-1).
func (x *execution) phases(ctx context.Context) error {
	for _, phase := range []func(context.Context) error{x.changePhase, x.deletePhase} {
		if err := phase(ctx); err != nil {
			return err
		}
	}
	return x.outputPhase(ctx)
}

// changePhase creates, updates and replaces, and rewrites the rows of state-only
// changes and of those that the plan brings in line silently.
func (x *execution) changePhase(ctx context.Context) error {
	var idle []string
	pending := false
	for i := range x.plan.Changes {
		switch c := &x.plan.Changes[i]; {
		case c.Action == plan.Delete:
		case c.Pending():
			pending = true
		default:
			idle = append(idle, c.NodeID)
		}
	}
	if pending || x.plan.Unsynced() {
		if err := x.pass(ctx, PhaseChange); err != nil {
			return err
		}
		if err := x.sync(); err != nil {
			return err
		}
	}
	if !pending {
		x.report.Noop = append(x.report.Noop, idle...)
		return nil
	}
	return x.walk(x.plan.Graph, false, x.change)
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
	if x.lost == nil {
		x.lost = err
	}
	err = x.lost
	x.mu.Unlock()
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

// committed is a stack output as it was committed before the run (EX-7).
func (x *execution) committed(key string) (any, bool) {
	out, ok := x.plan.Snapshot.Outputs[key]
	return out.Value, ok
}

// values are the outputs as they are now.
func (x *execution) values() resolve.Values {
	return resolve.Values{
		Output: func(ref model.Reference) (any, bool) {
			x.mu.Lock()
			defer x.mu.Unlock()
			v, ok := x.live[ref.NodeID][ref.Output]
			return v, ok
		},
		StackOutput: x.committed,
	}
}

// note changes what is shared between nodes.
func (x *execution) note(change func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	change()
}

// emit hands an event to the sink, whose failure breaks nothing.
func (x *execution) emit(e Event) {
	if x.Events == nil {
		return
	}
	e.RunID, e.At = x.Lease.Fence().Holder, x.Now()
	x.sink.Lock()
	defer x.sink.Unlock()
	defer func() { _ = recover() }()
	x.Events(e)
}
