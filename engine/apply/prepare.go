package apply

import (
	"context"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/resolve"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// prepare resolves a node's inputs, makes its next row and takes its address (EX-15).
func (x *execution) prepare(c *plan.Change) (inputs map[string]any, row *state.Row, err error) {
	if inputs, row, err = x.resolved(c); err == nil {
		err = x.claim(c, inputs)
	}
	return inputs, row, err
}

// resolved are a node's inputs and its next row.
func (x *execution) resolved(c *plan.Change) (inputs map[string]any, row *state.Row, err error) {
	n := c.Desired
	values := x.values()
	inputs, err = values.Concrete(n.Properties)
	if err != nil {
		if sealed := x.Secrets.legible(n.Properties, x.plan.Snapshot); sealed != nil {
			err = sealed // rather than that there is no value
		}
		return nil, nil, model.Errorf(model.KindOf(err), model.ClassOf(err), "%s: %w", n.ID, err)
	}
	row = rowOf(c, x.NewID)
	row.UpdatedAt = x.Now()
	if row.SecretDigests, err = x.Secrets.secretDigests(c, row.RowUID, x.plan.Snapshot.Outputs, x.secret); err != nil {
		return nil, nil, err
	}
	if row.RefDigests, err = plan.RefDigests(n, x.Schemas, values, x.sealer().covert, x.Secrets.salt()); err != nil {
		return nil, nil, err
	}
	return inputs, row, nil
}

// claim takes the address that a node has with these inputs, unless another one has it.
func (x *execution) claim(c *plan.Change, inputs map[string]any) error {
	n, other := c.Desired, ""
	x.note(func() { other = x.own(n.ID, n.Type, inputs) })
	if other == "" {
		return nil
	}
	e := model.Errorf(model.ProviderError, model.ClassUser,
		"%s is the same object as %s, and each would overwrite the other; give one of them another address", n.ID, other)
	e.NodeID, e.Op, e.ResourceType = n.ID, string(c.Action), n.Type
	return e
}

// rowOf is the next row of a node, as far as it needs no value of another.
func rowOf(c *plan.Change, newID func() string) *state.Row {
	n := c.Desired
	row := &state.Row{
		ID:                  n.ID,
		Type:                n.Type,
		Kind:                n.Kind,
		Provider:            n.Provider,
		ProviderVersion:     n.ProviderVersion,
		InputHash:           c.DesiredHash,
		Outputs:             map[string]any{},
		Properties:          n.Properties,
		Dependencies:        n.Dependencies,
		DependsOn:           plan.RecordedOrder(n),
		PreventDestroy:      n.PreventDestroy,
		CreateBeforeDestroy: n.CreateBeforeDestroy,
		Status:              state.StatusCreated,
	}
	switch {
	case c.Prior != nil && c.Prior.RowUID != "":
		row.RowUID = c.Prior.RowUID
	case c.PendingDestroy != nil && c.PendingDestroy.Row.RowUID != "":
		row.RowUID = c.PendingDestroy.Row.RowUID
	default:
		row.RowUID = newID()
	}
	return row
}

// movedAway reports whether what a row being created stands for cannot become what the next
// row does. It may have another identity: an immutable field of it is known to differ, and
// creating over it would leave it behind with nobody who knows of it. Or a delete may have
// got to it before anybody knew it by its outputs, so that its attempt must not be repeated.
func (x *execution) movedAway(left, row *state.Row, inputs map[string]any) bool {
	if left.Kind == model.KindData {
		return false
	}
	if left.InputHash == "" && left.Attempt != "" {
		return true
	}
	same, known := x.identities(left, row, inputs)
	return known && !same
}

// identities compares a recorded half with the next row by their immutable fields. known
// is false where one of them is not known and none differs.
func (x *execution) identities(left, row *state.Row, inputs map[string]any) (same, known bool) {
	schema := x.Schemas.Type(left.Type)
	if schema == nil {
		return false, false
	}
	was, known := x.inputsOf(left), true
	for i := range schema.Fields {
		f := &schema.Fields[i]
		if f.Mutability != model.Immutable {
			continue
		}
		same, sure := plan.SameField(left, row, f.Name, was, inputs, x.Secrets.Digests)
		if sure && !same {
			return false, true
		}
		known = known && sure
	}
	return known, known
}

// inputsOf are the inputs that a recorded half was made with, as far as they are known.
func (x *execution) inputsOf(row *state.Row) map[string]any {
	return plan.RecordedInputs(row, x.before, x.Secrets.Digests)
}

// request is the argument of a call; recorded is nil for a node without a row. Recorded
// outputs that do not open are absent: what the call cannot do without was looked at before.
func (x *execution) request(row *state.Row, inputs map[string]any, recorded *state.Row) *model.Request {
	r := &model.Request{Node: model.NodeOf(row.ID), Owner: x.Owner, Attempt: row.Attempt, Inputs: inputs, Source: x.Source}
	if recorded != nil {
		outputs, _ := x.Secrets.opened(recorded)
		r.Attempt = recorded.Attempt
		r.Prior = &model.Prior{Outputs: model.Clone(outputs).(map[string]any), Inputs: x.inputsOf(recorded)}
	}
	return r
}

// madeRequest is a request about what this run made or changed.
func (x *execution) madeRequest(row *state.Row, made, inputs map[string]any) *model.Request {
	return &model.Request{
		Node: model.NodeOf(row.ID), Owner: x.Owner, Attempt: row.Attempt, Inputs: made, Source: x.Source,
		Prior: &model.Prior{Outputs: model.Clone(outputsOf(row)).(map[string]any), Inputs: model.Clone(inputs).(map[string]any)},
	}
}

func outputsOf(row *state.Row) map[string]any {
	if row.Outputs == nil {
		return map[string]any{}
	}
	return row.Outputs
}

// secret is the value of a secret, as the run's session gives it.
func (x *execution) secret(ref model.SecretRef) (string, error) {
	ctx, cancel := context.WithTimeout(x.writes, x.NodeTimeout)
	defer cancel()
	return x.Secrets.Resolve(ctx, ref)
}

// withSecrets lets values resolve secret handles, where the run can.
func (x *execution) withSecrets(values resolve.Values) resolve.Values {
	if x.Secrets.Resolve != nil {
		values.Secret = x.secret
	}
	return values
}

// values are the outputs as they are now.
func (x *execution) values() resolve.Values {
	return x.withSecrets(resolve.Values{
		Output: func(ref model.Reference) (any, bool) {
			x.mu.Lock()
			defer x.mu.Unlock()
			v, ok := x.live[ref.NodeID][ref.Output]
			return v, ok
		},
		StackOutput: x.committed,
	})
}

// committed is a stack output as it was committed before the run (EX-7).
func (x *execution) committed(key string) (any, bool) {
	out, ok := x.plan.Snapshot.Outputs[key]
	if !ok || !model.IsSealed(out.Value) {
		return out.Value, ok
	}
	v, err := x.Secrets.unseal(out.Value, key, "")
	return v, err == nil
}
