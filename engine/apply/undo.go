package apply

import (
	"context"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/resolve"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// undo is one thing that a run did, and all that it takes to take it back (EX-25).
type undo struct {
	id     string
	kind   undoKind
	prior  *state.Row     // what was recorded before; nil for a create
	made   *state.Row     // what was made or changed, outputs in plaintext; nil where nothing was
	inputs map[string]any // that it was made with
}

type undoKind int

const (
	undoCreated       undoKind = iota // delete what was made, drop the row
	undoUpdated                       // update to the old inputs, write the old row back
	undoReplaced                      // delete the new half, create the old one again
	undoReplacedFirst                 // delete the new half; the old one is still there
	undoDestroyed                     // create the old half again, which went early
	undoRow                           // write the old row back
)

// undo takes one thing back. What is only read has nothing to take back but its row
//
func (x *execution) undo(ctx context.Context, u undo) error {
	proved, err := x.poison(u)
	if err != nil {
		return err
	}
	data := u.made != nil && u.made.Kind == model.KindData
	switch u.kind {
	case undoCreated:
		return x.undoCreate(ctx, u, proved)
	case undoUpdated:
		if !data {
			return x.undoUpdate(ctx, u, proved)
		}
	case undoReplaced:
		return x.undoReplace(ctx, u)
	case undoReplacedFirst:
		if err := x.unmake(ctx, u, proved); err != nil {
			return err
		}
		if err := x.commit(state.Batch{PutRows: []*state.Row{u.prior}, DeletePending: []string{u.id}}); err != nil {
			return err
		}
		x.note(func() { delete(x.old, u.id) })
		return nil
	case undoDestroyed:
		return x.undoDestroy(ctx, u)
	case undoRow:
	}
	return x.commit(state.Batch{PutRows: []*state.Row{u.prior}})
}

// undoCreate deletes what was made, by the outputs of its create (T-105). One that was not
// deleted, and not because the call was cut short, is there and known.
func (x *execution) undoCreate(ctx context.Context, u undo, proved bool) error {
	if err := x.unmake(ctx, u, proved); err != nil {
		if ctx.Err() != nil {
			return err
		}
		row := *u.made
		row.InputHash = ""
		return x.alongside(err, state.Batch{PutRows: []*state.Row{&row}})
	}
	return x.commit(state.Batch{DeleteRows: []string{u.id}})
}

// unmake deletes what this run made.
func (x *execution) unmake(ctx context.Context, u undo, proved bool) error {
	if u.made.Kind == model.KindData {
		return nil
	}
	request := x.madeRequest(u.made, u.inputs, u.inputs)
	_, err := x.mutate(ctx, "delete", u.made, proved, func(ctx context.Context, p Provider) (model.Outputs, error) {
		return nil, p.Delete(ctx, request)
	})
	return err
}

// undoUpdate updates to the old inputs, as the values before the run give them (T-107),
// and writes the old row back as it was.
func (x *execution) undoUpdate(ctx context.Context, u undo, proved bool) error {
	inputs, err := x.restoring().Concrete(u.prior.Properties)
	if err != nil {
		return err
	}
	request := x.madeRequest(u.made, inputs, u.inputs)
	if _, err := x.mutate(ctx, "update", u.made, proved, func(ctx context.Context, p Provider) (model.Outputs, error) {
		return p.Update(ctx, request)
	}); err != nil {
		return err
	}
	row := *u.prior
	if x.rotated(u.prior) {
		row.InputHash = ""
	}
	return x.commit(state.Batch{PutRows: []*state.Row{&row}})
}

// rotated reports whether a recorded half holds a secret that is another one by now. What an
// undo makes of it again has the new one, and is not as its row says.
func (x *execution) rotated(row *state.Row) bool {
	if x.Secrets.Digests == nil || x.Secrets.Resolve == nil {
		return false
	}
	for field, v := range row.Properties {
		recorded := row.SecretDigests[field]
		if recorded == "" || !model.HoldsSecret(v) {
			continue
		}
		text, err := plan.SecretText(v, x.secret)
		if err != nil {
			return true
		}
		if same, err := x.Secrets.Digests.Matches(recorded, text, row.RowUID+":"+field, row.ID+":"+field); err != nil || !same {
			return true
		}
	}
	return false
}

// undoReplace deletes the new half, recorded beside the row of the old one, and creates
// the old one again.
func (x *execution) undoReplace(ctx context.Context, u undo) error {
	inputs, row, err := x.revived(u)
	if err != nil {
		return err
	}
	entry := &state.PendingDestroy{NodeID: u.id, Row: u.made, Mode: state.DestroyBeforeCreate}
	if err := x.ahead(state.Batch{PutRows: []*state.Row{row}, PutPending: []*state.PendingDestroy{entry}}); err != nil {
		return err
	}
	if err := x.unmake(ctx, u, writtenAhead); err != nil {
		return err
	}
	if err := x.commit(state.Batch{DeletePending: []string{u.id}}); err != nil {
		return err
	}
	return goneAlready(x.revive(ctx, u, row, inputs, notWrittenAhead), u.prior)
}

// undoDestroy creates an old half again that went in phase 0. Where the create of the new
// half failed, that one may exist: its row stays (EX-26), and the old half stays away,
// since one row cannot stand for both.
func (x *execution) undoDestroy(ctx context.Context, u undo) error {
	if row := x.row(u.id); row != nil && x.tried[u.id] {
		return model.Errorf(model.ProviderError, model.ClassUnknown,
			"%s was destroyed before its replacement, which failed and may exist; apply again to finish the replace", u.id)
	}
	inputs, row, err := x.revived(u)
	if err != nil {
		return err
	}
	if err := x.ahead(state.Batch{PutRows: []*state.Row{row}}); err != nil {
		return err
	}
	return goneAlready(x.revive(ctx, u, row, inputs, writtenAhead), u.prior)
}

// revived is the row of an old half that is about to be created again, and the inputs for
// that, as what earlier undos created again gives them.
func (x *execution) revived(u undo) (inputs map[string]any, row *state.Row, err error) {
	if inputs, err = x.restoring().Concrete(u.prior.Properties); err != nil {
		return nil, nil, err
	}
	ahead := *u.prior
	ahead.Status, ahead.Attempt, ahead.Outputs, ahead.UpdatedAt = state.StatusCreating, x.NewID(), map[string]any{}, x.Now()
	return inputs, &ahead, nil
}

// revive creates an old half again and confirms its row: what was recorded, with the
// outputs of this create.
func (x *execution) revive(ctx context.Context, u undo, row *state.Row, inputs map[string]any, proved bool) error {
	if err := x.make(ctx, row, inputs, nil, proved); err != nil {
		return err
	}
	node := &ir.Node{ID: row.ID, Type: row.Type, Properties: row.Properties}
	digests, err := plan.RefDigests(node, x.Schemas, x.restoring(), x.sealer().covert, x.Secrets.salt())
	if err != nil {
		return err
	}
	row.Status, row.InputHash, row.RefDigests = state.StatusCreated, u.prior.InputHash, digests
	if x.rotated(u.prior) {
		row.InputHash = ""
	}
	x.note(func() { x.restored[u.id] = row.Outputs })
	batch := state.Batch{PutRows: []*state.Row{row}}
	same := x.sameOutputs(u.prior, row.Outputs)
	if !same {
		batch.PutRows = append(batch.PutRows, x.staleDependents(u.id)...)
	}
	if err := x.commit(batch); err != nil {
		return err
	}
	x.note(func() { x.remade[u.id] = !same })
	return nil
}

// restoring are the values that undos resolve with: what was recorded when the run
// started, as far as undos did not make it anew.
func (x *execution) restoring() resolve.Values {
	values := x.before
	values.Output = func(ref model.Reference) (any, bool) {
		x.mu.Lock()
		outputs, ok := x.restored[ref.NodeID]
		x.mu.Unlock()
		if ok {
			v, ok := outputs[ref.Output]
			return v, ok
		}
		return x.before.Output(ref)
	}
	return values
}
