package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/memory"
)

// migrate shows a migration and does it.
func (d *desk) migrate(t *testing.T, from, to place, force bool) (engine.StateCount, error) {
	t.Helper()
	shown, err := engine.PreviewMigration(from.load(t), to.load(t), to.StatePlace, force)
	if err != nil {
		return engine.StateCount{}, err
	}
	return d.engine.MigrateState(t.Context(), from.StatePlace, to.StatePlace, shown)
}

// T-202a to T-202d.
func TestMigrateState(t *testing.T) {
	d := newDesk(t)
	from, to := localPlace(t), newPlace(t, "postgres://host/atlantide", memory.New())
	from.write(t, populated())
	if n, err := d.migrate(t, from, to, false); err != nil || n != (engine.StateCount{Nodes: 4, Outputs: 1}) {
		t.Fatalf("copied %+v, %v", n, err)
	}
	sameState(t, "there", from.load(t), to.load(t))
	to.write(t, state.Batch{PutRows: []*state.Row{{ID: "s:t:there", Kind: model.KindResource, RowUID: "u"}}, SetOutputs: map[string]state.Output{"s:there": {}}})
	if _, err := d.migrate(t, from, to, false); !model.IsKind(err, model.StateError) || !strings.Contains(err.Error(), "--force") {
		t.Errorf("a destination with nodes: %v", err)
	}
	want := from.load(t)
	if _, err := d.migrate(t, from, to, true); err != nil {
		t.Fatal(err)
	}
	sameState(t, "by force", want, to.load(t))
	back := localPlace(t)
	if _, err := d.migrate(t, to, back, false); err != nil {
		t.Fatal(err)
	}
	sameState(t, "and back", want, back.load(t))
	if _, err := d.migrate(t, from, from, true); err == nil {
		t.Error("migrated to itself")
	}
	for _, p := range []place{from, to, back} {
		h, err := p.Locker.Acquire(t.Context())
		if err != nil {
			t.Fatalf("the lock of %s is held: %v", p.Label, err)
		}
		other := from
		if p.Label == from.Label {
			other = to
		}
		if _, err := d.migrate(t, p, other, true); !model.IsKind(err, model.LockError) {
			t.Errorf("a locked source: %v", err)
		}
		if _, err := d.migrate(t, other, p, true); !model.IsKind(err, model.LockError) {
			t.Errorf("a locked destination: %v", err)
		}
		if err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// lossy is a store that forgets one row of what is written, or whose source moves.
type lossy struct {
	lockedStore
	commit func()
}

func (l lossy) Commit(ctx context.Context, partition string, fence model.Fence, b state.Batch) error {
	if l.commit != nil {
		l.commit()
	} else if len(b.PutRows) > 0 {
		b.PutRows = b.PutRows[1:]
	}
	return l.lockedStore.Commit(ctx, partition, fence, b)
}

// RF-25: what arrived is compared, and a source that moved meanwhile is an error.
func TestMigrateStateChecks(t *testing.T) {
	d := newDesk(t)
	from := newPlace(t, "from", memory.New())
	from.write(t, populated())
	forgets := newPlace(t, "to", lossy{lockedStore: memory.New()})
	if _, err := d.migrate(t, from, forgets, false); !model.IsKind(err, model.StateError) || !strings.Contains(err.Error(), "go on using from") {
		t.Errorf("a row was lost: %v", err)
	}
	moves := newPlace(t, "to", lossy{lockedStore: memory.New(), commit: func() {
		h, err := from.locks.Holds(t.Context(), from.Partition)
		if err != nil || len(h) != 1 {
			t.Fatalf("the source is not locked: %v, %v", h, err)
		}
		if err := from.Store.Commit(t.Context(), from.Partition, model.Fence{Epoch: h[0].Epoch, Holder: h[0].Holder}, state.Batch{}); err != nil {
			t.Fatal(err)
		}
	}})
	if _, err := d.migrate(t, from, moves, false); !model.IsKind(err, model.StateError) || !strings.Contains(err.Error(), "written while") {
		t.Errorf("the source moved: %v", err)
	}
}

// RF-25: what is copied and what is replaced is what was shown, by force too.
func TestMigrateStateIsAsShown(t *testing.T) {
	other := state.Batch{PutRows: []*state.Row{{ID: "s:t:new", Kind: model.KindResource, RowUID: "u"}}}
	for _, c := range []struct {
		reason string
		writes func(from, to place)
		names  string // of the side that the refusal is about; "" = there is none
	}{
		{"nothing is written meanwhile", func(from, to place) {}, ""},
		{"the destination is", func(_, to place) { to.write(t, other) }, "to was written"},
		{"the source is", func(from, _ place) { from.write(t, other) }, "from was written"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			d := newDesk(t)
			from, to := newPlace(t, "from", memory.New()), newPlace(t, "to", memory.New())
			from.write(t, populated())
			to.write(t, state.Batch{PutRows: []*state.Row{{ID: "s:t:there", Kind: model.KindResource, RowUID: "u"}}})
			shown, err := engine.PreviewMigration(from.load(t), to.load(t), to.StatePlace, true)
			if err != nil || shown.Source != (engine.StateCount{Nodes: 4, Outputs: 1}) || shown.Destination != (engine.StateCount{Nodes: 1}) {
				t.Fatalf("%+v, %v", shown, err)
			}
			c.writes(from, to)
			want := to.load(t)
			_, err = d.engine.MigrateState(t.Context(), from.StatePlace, to.StatePlace, shown)
			if c.names == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if !model.IsKind(err, model.StateError) || !strings.Contains(err.Error(), c.names) {
				t.Errorf("got %v", err)
			}
			sameState(t, "the destination", want, to.load(t))
		})
	}
}

// forgetful is a store that cannot be read any more after it was written, or that another one
// was.
type forgetful struct {
	lockedStore
	gone *bool
}

func (f forgetful) Load(ctx context.Context, partition string) (*state.Snapshot, error) {
	if *f.gone {
		return nil, errGone
	}
	return f.lockedStore.Load(ctx, partition)
}

func (f forgetful) Serial(ctx context.Context, partition string) (int64, error) {
	if *f.gone {
		return 0, errGone
	}
	return f.lockedStore.Serial(ctx, partition)
}

var errGone = errors.New("the store is gone")

// RF-25: a copy that could not be looked at again is written and not verified, and that is what
// the error says.
func TestMigrateStateUnverified(t *testing.T) {
	for _, side := range []string{"from", "to"} {
		d, gone := newDesk(t), false
		written := lossy{lockedStore: memory.New(), commit: func() { gone = true }}
		stores := map[string]lockedStore{"from": memory.New(), "to": written}
		stores[side] = forgetful{stores[side], &gone}
		from, to := newPlace(t, "from", stores["from"]), newPlace(t, "to", stores["to"])
		from.write(t, populated())
		_, err := d.migrate(t, from, to, false)
		if !errors.Is(err, errGone) || !strings.Contains(err.Error(), "is written to to but was not verified, since "+side+" could not be read") {
			t.Errorf("%s: %v", side, err)
		}
		gone = false
		sameState(t, "it is written", from.load(t), to.load(t))
	}
}
