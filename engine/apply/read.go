package apply

import (
	"context"
	"errors"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/resolve"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// reader asks providers what exists.
type reader struct {
	find    func(name string) (Provider, bool)
	timeout time.Duration // of one read
	grace   time.Duration // for a read that was told to stop
}

// read is what a provider finds, as Values; false = there is nothing.
func (r reader) read(ctx context.Context, row *state.Row, request *model.Request) (model.Observed, bool, error) {
	p, err := provider(r.find, row)
	if err != nil {
		return nil, false, failed(err, "read", row)
	}
	type reading struct {
		live  model.Observed
		found bool
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.timeout, errNodeTimeout)
	defer cancel()
	got, _, err := within(ctx, r.grace, func(ctx context.Context) (reading, error) {
		live, found, err := p.Read(ctx, request)
		return reading{live, found}, err
	})
	if err != nil {
		if errors.Is(context.Cause(ctx), errNodeTimeout) {
			err = model.Errorf(model.ProviderError, model.ClassTransient,
				"%s read of '%s' failed: it did not finish within %s: %w", row.Provider, row.Type, r.timeout, err)
		}
		return nil, false, failed(err, "read", row)
	}
	if !got.found {
		return nil, false, nil
	}
	live := make(model.Observed, len(got.live))
	for key, v := range got.live {
		if live[key], err = model.NormalizeJSON(v); err != nil {
			return nil, false, failed(model.Errorf(model.ProviderError, model.ClassUnknown,
				"%s read of '%s' reported '%s' in a form that is not JSON: %w", row.Provider, row.Type, key, err), "read", row)
		}
	}
	return live, true, nil
}

// recorded are the values that a snapshot holds, opened, with secrets where they resolve.
func (s Secrets) recorded(ctx context.Context, snapshot *state.Snapshot) resolve.Values {
	outputs := make(map[string]map[string]any, len(snapshot.Rows))
	for id, row := range snapshot.Rows {
		outputs[id], _ = s.opened(row) // what does not open has no value
	}
	values := resolve.Values{
		Output: resolve.Outputs(outputs),
		StackOutput: func(key string) (any, bool) {
			out, ok := snapshot.Outputs[key]
			if !ok || !model.IsSealed(out.Value) {
				return out.Value, ok
			}
			v, err := s.unseal(out.Value, key, "")
			return v, err == nil
		},
	}
	if s.Resolve != nil {
		values.Secret = func(ref model.SecretRef) (string, error) { return s.Resolve(ctx, ref) }
	}
	return values
}
