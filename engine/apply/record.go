package apply

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Record is where a refresh or an import writes what it found, under a held lock.
type Record struct {
	Store     state.Writer
	Partition string
	Lease     lease.Handle
	Timeout   time.Duration // of one write
	Now       func() time.Time
	Events    func(Event) // may be nil
}

// commit writes a batch, what is sensitive sealed, and tells of it; nothing for an empty
// one. The rows of the batch are then those that were written. The guard is asked before every write. A write that began is finished, whatever
// becomes of ctx.
func (r *Record) commit(ctx context.Context, action string, seal sealer, batch state.Batch) error {
	if len(batch.PutRows) == 0 && len(batch.DeleteRows) == 0 {
		return nil
	}
	if err := r.Lease.Check(); err != nil {
		return err
	}
	fence := r.Lease.Fence()
	for i, row := range batch.PutRows {
		sealed, err := seal.row(row)
		if err != nil {
			return err
		}
		batch.PutRows[i] = sealed.Clone()
		batch.PutRows[i].Epoch, batch.PutRows[i].UpdatedAt = fence.Epoch, r.Now()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.Timeout)
	defer cancel()
	if err := r.Store.Commit(ctx, r.Partition, fence, batch); err != nil {
		return stateError(err)
	}
	for _, row := range batch.PutRows {
		r.emit(row.ID, action)
	}
	for _, id := range batch.DeleteRows {
		r.emit(id, action)
	}
	return nil
}

// Actions of events about rows that no run wrote (EX-41).
const (
	actionRefresh = "refresh"
	actionImport  = "import"
)

// emit tells of a written row; a sink that fails breaks nothing.
func (r *Record) emit(id, action string) {
	if r.Events == nil {
		return
	}
	defer func() { _ = recover() }()
	r.Events(Event{RunID: r.Lease.Fence().Holder, At: r.Now(), Phase: "node_finish", NodeID: id, Action: action, Detail: map[string]any{}})
}

// batch is what a refresh writes of one row: nothing unless the read changes it (RF-7,
// RF-8).
func (r *Refresh) batch(seal sealer, row *state.Row, outputs map[string]any, exists bool, changed map[string]any) state.Batch {
	switch {
	case !exists && row.Status != state.StatusCreated:
		return state.Batch{} // it may still be on its way
	case !exists && r.Prune:
		return state.Batch{DeleteRows: []string{row.ID}}
	case !exists && row.InputHash == "", exists && len(changed) == 0:
		return state.Batch{}
	}
	next := *row
	if !exists {
		next.InputHash = ""
		return state.Batch{PutRows: []*state.Row{&next}}
	}
	next.Outputs, next.Properties = maps.Clone(row.Outputs), maps.Clone(row.Properties)
	if next.Outputs == nil {
		next.Outputs = map[string]any{}
	}
	var moved []string
	for key, now := range changed {
		property, input := row.Properties[key]
		// What is being made is planned anew as it is, and without its hash it would be taken
		// for what a delete may have got to.
		if input && row.Status == state.StatusCreated {
			next.InputHash = ""
			if !symbolic(property) && !seal.tells(now) && !repeats(now, formsOfAll(seal.consumed(row.Properties))) {
				next.Properties[key] = now
			}
		}
		if _, output := outputs[key]; output || !input {
			next.Outputs[key] = now
			moved = append(moved, key)
		}
	}
	if len(moved) == 0 && row.Status != state.StatusCreated {
		return state.Batch{}
	}
	next.RefreshedOutputs = slices.Compact(slices.Sorted(slices.Values(slices.Concat(row.RefreshedOutputs, moved))))
	return state.Batch{PutRows: []*state.Row{&next}}
}

// symbolic reports whether v holds a handle or a combinator, at any depth: such a property
// is what the config says, and never overwritten by what was read.
func symbolic(v any) bool {
	found := false
	model.Walk(v, func(v model.Value) bool {
		found = found || model.IsHandle(v)
		return !found
	})
	return found
}
