package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Whether the write right before a call, with nothing in between, has proved the right to
// it.
const (
	writtenAhead    = true
	notWrittenAhead = false
)

// errNodeTimeout cuts the work of a node that takes too long.
var errNodeTimeout = errors.New("node timeout")

// mutate makes one changing call, with the guard right before it (EX-18). What comes
// back can be stored; outputs beside an error are partial.
func (x *execution) mutate(ctx context.Context, op string, row *state.Row, proved bool,
	call func(context.Context, Provider) (model.Outputs, error)) (model.Outputs, error) {
	provider, err := provider(x.Provider, row)
	if err != nil {
		return nil, failed(err, op, row)
	}
	if err := x.allowed(proved); err != nil {
		return nil, err
	}
	outputs, returned, err := within(ctx, x.DrainGrace, func(ctx context.Context) (model.Outputs, error) { return call(ctx, provider) })
	if !returned {
		x.note(func() { x.report.Abandoned = append(x.report.Abandoned, row.ID) })
	}
	if err != nil {
		err = x.cutShort(ctx, err, op, row)
	}
	clean, bad := storableOutputs(outputs)
	if bad != nil && err == nil {
		err = failed(model.Errorf(model.ProviderError, model.ClassUnknown,
			"%s %s of '%s' succeeded, but its outputs cannot be recorded: %w", row.Provider, op, row.Type, bad), op, row)
	}
	return clean, err
}

// allowed is the gate before a mutation: the fence, with all that the store looks at beside
// it, unless a write-ahead has just proved it, and last the guard of the lock, for the store
// may have taken its time (EX-18).
func (x *execution) allowed(proved bool) error {
	if !proved {
		if err := x.probe(); err != nil {
			return err
		}
	}
	if err := x.Lease.Check(); err != nil {
		return x.lose(x.leaseLost())
	}
	return nil
}

// probe asks the store whether a write would commit.
func (x *execution) probe() error {
	if err := x.Lease.Check(); err != nil {
		return x.lose(x.leaseLost())
	}
	ctx, cancel := context.WithTimeout(x.writes, x.NodeTimeout)
	defer cancel()
	err := x.persist(ctx, func() error { return x.Store.CheckFence(ctx, x.Partition, x.Lease.Fence()) })
	switch {
	case model.IsKind(err, model.FencedWriteError):
		return x.lose(err)
	case err != nil && x.writes.Err() != nil:
		return context.Cause(x.writes)
	}
	return stateError(err)
}

// cutShort says why a call failed: by itself, by its time, or because the run ended.
func (x *execution) cutShort(ctx context.Context, err error, op string, row *state.Row) error {
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return failed(err, op, row)
	case errors.Is(cause, errNodeTimeout):
		return failed(model.Errorf(model.ProviderError, model.ClassTransient,
			"%s %s of '%s' failed: it did not finish within %s, the time of one node: %w", row.Provider, op, row.Type, x.NodeTimeout, err), op, row)
	case errors.Is(cause, errDrained):
		return failed(model.Errorf(model.InterruptedRunError, model.ClassUnknown,
			"%s %s of '%s' was cut short %s after the run stopped; its outcome is not known: %w", row.Provider, op, row.Type, x.DrainGrace, err), op, row)
	default:
		return cause // the lock is lost
	}
}

// failed gives an error of a call its node, operation and type (EX-32).
func failed(err error, op string, row *state.Row) error {
	var typed *model.Error
	if !errors.As(err, &typed) {
		typed = model.Errorf(model.ProviderError, model.ClassUnknown, "%s %s of '%s' failed: %w", row.Provider, op, row.Type, err)
	}
	e := *typed
	if e.NodeID == "" {
		e.NodeID = row.ID
	}
	if e.Op == "" {
		e.Op = op
	}
	if e.ResourceType == "" {
		e.ResourceType = row.Type
	}
	return &e
}

func provider(find func(string) (Provider, bool), row *state.Row) (Provider, error) {
	p, ok := find(row.Provider)
	if !ok {
		return nil, model.Errorf(model.ProviderError, model.ClassUser, "no provider registered for '%s'", row.Provider)
	}
	return p, nil
}

// within makes a call that may neither hang nor panic: once ctx has ended, the call has
// the grace to return; after it, returned is false and the call is left to itself
// (EX-33).
func within[T any](ctx context.Context, grace time.Duration, call func(context.Context) (T, error)) (result T, returned bool, err error) {
	type answer struct {
		result T
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a.err = fmt.Errorf("the provider panicked: %v", p)
			}
			answers <- a
		}()
		a.result, a.err = call(ctx)
	}()
	select {
	case a := <-answers:
		return a.result, true, a.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case a := <-answers:
		return a.result, true, a.err
	case <-timer.C:
		return result, false, errors.New("the provider did not return after it was told to stop; the call may still be running")
	}
}

// storableOutputs are outputs in the form in which rows keep them; nil with the reason
// when they have none (ST-20).
func storableOutputs(outputs model.Outputs) (map[string]any, error) {
	clean := make(map[string]any, len(outputs))
	for name, v := range outputs {
		n, err := model.NormalizeJSON(v)
		if err != nil {
			return nil, fmt.Errorf("output %+.60q: %w", name, err)
		}
		if err := cmp.Or(state.CheckStorable(name), state.CheckStorable(n)); err != nil {
			return nil, fmt.Errorf("output %+.60q %w", name, err)
		}
		clean[name] = model.Clone(n)
	}
	if err := state.CheckDocument(clean); err != nil {
		return nil, fmt.Errorf("together they have too much: %w", err)
	}
	return clean, nil
}
