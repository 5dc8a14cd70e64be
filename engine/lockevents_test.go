package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/memory"
	"github.com/atlantide-org/atlantide-operator/providers"
	"github.com/atlantide-org/atlantide-operator/providers/local"
)

// restless lets every create last a while.
type restless struct {
	providers.Provider
	takes time.Duration
}

func (p restless) Create(ctx context.Context, r *model.Request) (model.Outputs, error) {
	<-time.NewTimer(p.takes).C
	return p.Provider.Create(ctx, r)
}

// flaky is a lock whose second renewal gets no answer.
type flaky struct {
	*memory.Store
	renewals *int
}

func (f flaky) RenewLock(ctx context.Context, partition string, fence model.Fence, ttl time.Duration) error {
	if *f.renewals++; *f.renewals == 2 {
		return errors.New("unreachable")
	}
	return f.Store.RenewLock(ctx, partition, fence, ttl)
}

// EX-39: the renewals of a run's lock are events of the run, among its others, one at a
// time; a sink that fails breaks neither run nor renewal.
func TestRenewalsAreEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry, err := providers.NewRegistry(restless{local.NewTenants(t.TempDir(), local.Quota{}), 50 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		var told []string
		e := &engine.Engine{Registry: registry, Parallelism: 1, Now: time.Now, NewID: uuid.NewString, Events: func(e apply.Event) {
			text := e.Phase
			if reason, failed := e.Detail["error"]; failed {
				text += " " + reason.(string)
			}
			told = append(told, text)
			if e.Phase == lease.EventRenew && e.Detail["owner"] != e.RunID {
				t.Errorf("%+v names no owner", e)
			}
			panic("a sink that fails")
		}}
		store := memory.New()
		compilation, err := e.Compile(t.Context(), engine.Source{Filename: "infra.py",
			Text: "from atlantide.core import Stack\nfrom atlantide.providers.local import Null\nwith Stack('s', region='r'):\n    Null('a')\n"}, engine.CompileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		result, err := e.Apply(t.Context(), engine.ApplyRequest{
			Compilation: compilation, Partition: partition, Store: store, Owner: owner, OnFailure: plan.OnFailureHalt,
			Locker: &lease.Stored{Records: flaky{store, new(int)}, Partition: partition,
				Times: lease.Times{TTL: time.Minute, Renew: 20 * time.Second, Grace: 10 * time.Second}},
		})
		if err != nil || !slices.Equal(result.Report.Created, []string{"s:local.Null:a"}) {
			t.Fatalf("%+v, %v", result.Report, err)
		}
		want := []string{"lease_acquire", "run_start", "node_start", "lease_renew", "lease_renew unreachable", "lease_renew", "node_finish", "run_finish"}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

// troubled is a store whose lock is broken right before a write, or cannot be given back.
type troubled struct {
	lockedStore
	t              *testing.T
	breaks, sticks bool
}

func (s *troubled) Commit(ctx context.Context, partition string, fence model.Fence, b state.Batch) error {
	if s.breaks {
		if was, err := s.BreakLock(ctx, partition, fence.Holder); err != nil || !was {
			s.t.Errorf("the lock is not broken: %v", err)
		}
	}
	return s.lockedStore.Commit(ctx, partition, fence, b)
}

func (s *troubled) ClearHolder(ctx context.Context, partition string, fence model.Fence) error {
	if s.sticks {
		return errGone
	}
	return s.lockedStore.ClearHolder(ctx, partition, fence)
}

// EX-39: whatever works under a lock tells that it was taken, that it was lost, once and with
// the reason, and that it could not be given back; a release that fails goes with an error and
// takes nothing away from a result.
func TestLocksAreEvents(t *testing.T) {
	works := map[string]func(d *desk, at place, c *ir.Compilation) error{
		"a run": func(d *desk, at place, _ *ir.Compilation) error {
			_, err := d.engine.Apply(d.Context(), engine.ApplyRequest{Compilation: d.compile("File('b', path='b')"),
				Partition: at.Partition, Store: at.Store, Locker: at.Locker, Owner: owner, OnFailure: plan.OnFailureHalt})
			return err
		},
		"a refresh": func(d *desk, at place, _ *ir.Compilation) error {
			d.remove("a")
			_, err := d.engine.Refresh(d.Context(), engine.RefreshRequest{
				Snapshot: at.load(d.T), Owner: owner, Write: true, Partition: at.Partition, Store: at.Store, Locker: at.Locker})
			return err
		},
		"an import": func(d *desk, at place, c *ir.Compilation) error {
			_, err := d.engine.Import(d.Context(), engine.ImportRequest{Compilation: c, Node: "s:local.File:a", Force: true,
				Partition: at.Partition, Store: at.Store, Locker: at.Locker, Owner: owner})
			return err
		},
		"a state command": func(d *desk, at place, _ *ir.Compilation) error {
			return d.engine.RemoveState(d.Context(), at.StatePlace, at.load(d.T), []string{"s:local.File:a"}, false, nil)
		},
		"a migration": func(d *desk, at place, _ *ir.Compilation) error {
			_, err := d.migrate(d.T, newPlace(d.T, "a place to come from", memory.New()), at, true)
			return err
		},
	}
	for name, work := range works {
		for _, c := range []struct {
			reason         string
			breaks, sticks bool
			kind           model.Kind // "" = it succeeds
			want           []string
		}{
			{"all is well", false, false, "", []string{"lease_acquire"}},
			{"the lock is broken", true, false, model.FencedWriteError, []string{"lease_acquire", "lease_lost"}},
			{"it cannot be given back", false, true, "", []string{"lease_acquire", "lease_release"}},
		} {
			t.Run(name+", "+c.reason, func(t *testing.T) {
				d := newDesk(t)
				store := &troubled{lockedStore: memory.New(), t: t}
				at := newPlace(t, "the place", store)
				compilation := d.compile("File('a', path='a')")
				if _, err := d.engine.Apply(t.Context(), engine.ApplyRequest{Compilation: compilation, Partition: at.Partition, Store: at.Store, Locker: at.Locker,
					Owner: owner, OnFailure: plan.OnFailureHalt}); err != nil {
					t.Fatal(err)
				}
				var told []string
				d.engine.Events = func(e apply.Event) {
					if !strings.HasPrefix(e.Phase, "lease_") {
						return
					}
					told = append(told, e.Phase)
					reason, _ := e.Detail["reason"].(string)
					if lost := e.Phase == lease.EventLost; lost != (reason != "") || lost && e.Detail["owner"] != e.RunID {
						t.Errorf("%+v", e)
					}
				}
				store.breaks, store.sticks = c.breaks, c.sticks
				if err := work(d, at, compilation); (err == nil) != (c.kind == "") || err != nil && !model.IsKind(err, c.kind) {
					t.Errorf("got %v", err)
				}
				want := c.want
				if name == "a migration" {
					want = append([]string{"lease_acquire"}, want...) // of the other place
				}
				if diff := cmp.Diff(want, told); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// A lock that work which panics had is not renewed for ever: it lapses, for nobody knows what
// is in flight (LS-10).
func TestLockOfWorkThatPanics(t *testing.T) {
	d := newDesk(t)
	at := newPlace(t, "the place", memory.New())
	func() {
		defer func() {
			if recover() == nil {
				t.Error("it did not panic")
			}
		}()
		_ = d.engine.BackupState(t.Context(), watched(t, at), func(context.Context, *state.Snapshot) error { panic("a bug") })
	}()
}

// watched is a place whose lock must be left to lapse.
func watched(t *testing.T, at place) engine.StatePlace {
	t.Helper()
	h := &lapsing{}
	t.Cleanup(func() {
		if !h.abandoned || h.released {
			t.Errorf("abandoned %v, released %v", h.abandoned, h.released)
		}
	})
	inner := at.Locker
	at.Locker = lockerFunc(func(ctx context.Context) (lease.Handle, error) {
		var err error
		h.Handle, err = inner.Acquire(ctx)
		return h, err
	})
	return at.StatePlace
}

type lapsing struct {
	lease.Handle
	abandoned, released bool
}

func (h *lapsing) Abandon() {
	h.abandoned = true
	h.Handle.Abandon()
}

func (h *lapsing) Release(ctx context.Context) error {
	h.released = true
	return h.Handle.Release(ctx)
}
