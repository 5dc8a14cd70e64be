package engine_test

import (
	"context"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// readings counts what is read of a store.
type readings struct {
	state.Store
	loads, serials int
}

func (r *readings) Load(ctx context.Context, partition string) (*state.Snapshot, error) {
	r.loads++
	return r.Store.Load(ctx, partition)
}

func (r *readings) Serial(ctx context.Context, partition string) (int64, error) {
	r.serials++
	return r.Store.Serial(ctx, partition)
}

// Under its lock a run asks whether anybody wrote since it read the state, and reads it
// again only then; with nothing to do it reads it once.
func TestStateIsReadOnce(t *testing.T) {
	const config, more = "Null('a')", "Null('a')\nNull('b')"
	for _, c := range []struct {
		reason         string
		body           string
		written        bool // by somebody else, before the run has its lock
		loads, serials int
	}{
		{"nothing to do, so no lock", config, false, 1, 0},
		{"nobody wrote", more, false, 1, 1},
		{"somebody wrote", more, true, 2, 1},
	} {
		d := newDesk(t)
		d.mustApply(config)
		store := &readings{Store: d.store}
		req := d.request(c.body)
		req.Store = store
		if c.written {
			req.Locker = lockerFunc(func(ctx context.Context) (lease.Handle, error) {
				if h, err := d.locker.Acquire(ctx); err != nil {
					t.Error(err)
				} else if err := d.store.Commit(ctx, partition, h.Fence(), state.Batch{SetOutputs: map[string]state.Output{"s:o": {Value: int64(1)}}}); err != nil {
					t.Error(err)
				} else if err := h.Release(ctx); err != nil {
					t.Error(err)
				}
				return d.locker.Acquire(ctx)
			})
		}
		if _, err := d.engine.Apply(t.Context(), req); err != nil {
			t.Fatalf("%s: %v", c.reason, err)
		}
		if store.loads != c.loads || store.serials != c.serials {
			t.Errorf("%s: read %d times, and the serial %d times; want %d and %d", c.reason, store.loads, store.serials, c.loads, c.serials)
		}
	}
}
