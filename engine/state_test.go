package engine_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/memory"
	"github.com/atlantide-org/atlantide-operator/engine/state/snapshot"
	"github.com/atlantide-org/atlantide-operator/engine/state/sqlite"
)

// lockedStore is what a place is made of.
type lockedStore interface {
	state.Store
	state.Locks
}

// place is a state of a command line, its lock included.
type place struct {
	engine.StatePlace
	locks lockedStore
}

func newPlace(t *testing.T, label string, store lockedStore) place {
	t.Helper()
	times, err := lease.TimesOf(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return place{locks: store, StatePlace: engine.StatePlace{Label: label, Partition: state.CommandLinePartition, Store: store,
		Locker: &lease.Stored{Records: store, Partition: state.CommandLinePartition, Times: times}}}
}

func localPlace(t *testing.T) place {
	t.Helper()
	path := filepath.Join(t.TempDir(), "atlantide.db")
	store := sqlite.New(sqlite.Options{Path: path})
	t.Cleanup(func() { _ = store.Close() })
	return newPlace(t, path, store)
}

// write writes under a lock of its own.
func (p place) write(t *testing.T, batch state.Batch) {
	t.Helper()
	h, err := p.Locker.Acquire(t.Context())
	if err == nil {
		err = errors.Join(p.Store.Commit(t.Context(), p.Partition, h.Fence(), batch), h.Release(t.Context()))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (p place) load(t *testing.T) *state.Snapshot {
	t.Helper()
	s, err := p.Store.Load(t.Context(), p.Partition)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// free fails unless the lock is free: every command gives it back (T-198e, T-201e).
func (p place) free(t *testing.T) {
	t.Helper()
	holds, err := p.locks.Holds(t.Context(), p.Partition)
	if err != nil || len(holds) > 0 {
		t.Errorf("the lock is held: %+v, %v", holds, err)
	}
}

const (
	webID  = "s:local.File:web"
	dataID = "s:local.File:data"
	oldID  = "s:local.Null:old"
)

// populated is a state with everything that a state can hold.
func populated() state.Batch {
	row := func(id string) *state.Row {
		return &state.Row{ID: id, Type: model.TypeOf(id), Kind: model.KindResource, Provider: "local", InputHash: "ab", Status: state.StatusCreated, RowUID: "uid of " + id,
			Outputs: map[string]any{"n": int64(1), "f": 1.0}, Properties: map[string]any{"path": "x"}}
	}
	guarded, poisoned, old := row(dataID), row(webID), row(oldID)
	guarded.PreventDestroy = true
	poisoned.InputHash, poisoned.Dependencies = "", []string{dataID}
	return state.Batch{PutRows: []*state.Row{guarded, poisoned, old},
		PutPending: []*state.PendingDestroy{{NodeID: oldID, Row: row(oldID), Mode: state.DestroyBeforeCreate}},
		SetOutputs: map[string]state.Output{"s:url": {Value: "https://x", Sensitive: true, SourceNodes: []string{webID}}}}
}

func sameState(t *testing.T, reason string, want, got *state.Snapshot) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(state.Snapshot{}, "Serial"), cmpopts.IgnoreFields(state.Row{}, "Epoch", "UpdatedAt")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", reason, diff)
	}
}

// T-200a, T-200b.
func TestListAndShowState(t *testing.T) {
	p := localPlace(t)
	if list := engine.ListState(p.load(t)); len(list) != 0 {
		t.Errorf("an empty state lists %v", list)
	}
	p.write(t, populated())
	s := p.load(t)
	var lines []string
	for _, n := range engine.ListState(s) {
		lines = append(lines, fmt.Sprint(n.ID, " ", n.Type, " ", n.Status, " ", n.Drifted, " ", n.Dependencies))
	}
	if diff := cmp.Diff([]string{
		dataID + " local.File created false []",
		webID + " local.File created true [" + dataID + "]",
		oldID + " local.Null created false []",
		oldID + "~replaced local.Null created false []",
	}, lines); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	if row, err := engine.ShowState(s, dataID); err != nil || row.Outputs["n"] != int64(1) {
		t.Errorf("%+v, %v", row, err)
	}
	if _, err := engine.ShowState(s, "s:local.File:none"); !model.IsKind(err, model.StateError) || !strings.Contains(err.Error(), "atlantide state list") {
		t.Errorf("an unknown id: %v", err)
	}
}

// T-201a to T-201e.
func TestRemoveState(t *testing.T) {
	d := newDesk(t)
	for _, c := range []struct {
		reason string
		ids    []string
		force  bool
		left   []string // nil = refused
		says   string
	}{
		{"a row", []string{webID}, false, []string{dataID, oldID, oldID + "~replaced"}, ""},
		{"the old half of a replace, by the id that plans show", []string{oldID + "~replaced"}, false, []string{dataID, webID, oldID}, ""},
		{"unknown ids, all named", []string{webID, "x", "y"}, true, nil, `"x", "y"`},
		{"a guarded row", []string{webID, dataID}, false, nil, dataID},
		{"a guarded row by force", []string{dataID, dataID}, true, []string{webID, oldID, oldID + "~replaced"}, ""},
	} {
		p := localPlace(t)
		p.write(t, populated())
		before := p.load(t)
		var kept *state.Snapshot
		err := d.engine.RemoveState(t.Context(), p.StatePlace, before, c.ids, c.force, func(_ context.Context, s *state.Snapshot) error {
			kept = s
			return nil
		})
		if c.left == nil {
			if !model.IsKind(err, model.StateError) || !strings.Contains(err.Error(), c.says) || kept != nil {
				t.Errorf("%s: %v, kept %v", c.reason, err, kept != nil)
			}
			sameState(t, c.reason, before, p.load(t))
		} else {
			var left []string
			for _, n := range engine.ListState(p.load(t)) {
				left = append(left, n.ID)
			}
			slices.Sort(c.left)
			if !slices.Equal(left, c.left) || err != nil {
				t.Errorf("%s: left %v, %v", c.reason, left, err)
			}
			sameState(t, c.reason+": the snapshot", before, kept)
		}
		p.free(t)
	}
	if len(d.calls) > 0 {
		t.Errorf("a provider was called: %v", d.calls)
	}
}

// RF-22: what came while the lock was waited for is looked at again under it.
func TestRemoveStateThatMoved(t *testing.T) {
	d := newDesk(t)
	none := func(context.Context, *state.Snapshot) error { return nil }
	for _, c := range []struct {
		reason string
		moved  state.Batch
		keep   engine.KeepSnapshot
		ok     bool
	}{
		{"it gained a row, and a snapshot is due", state.Batch{PutRows: []*state.Row{{ID: "s:t:new", Status: state.StatusCreated}}}, none, false},
		{"it gained a row, and none is due", state.Batch{PutRows: []*state.Row{{ID: "s:t:new", Status: state.StatusCreated}}}, nil, true},
		{"the row is gone", state.Batch{DeleteRows: []string{webID}}, none, false},
		{"the row is guarded now", state.Batch{PutRows: []*state.Row{{ID: webID, PreventDestroy: true}}}, none, false},
		{"the snapshot fails", state.Batch{}, func(context.Context, *state.Snapshot) error { return errors.New("the disk is full") }, false},
	} {
		p := localPlace(t)
		p.write(t, populated())
		preview := p.load(t)
		p.write(t, c.moved)
		before := p.load(t)
		err := d.engine.RemoveState(t.Context(), p.StatePlace, preview, []string{webID}, false, c.keep)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.reason, err)
		}
		if !c.ok {
			sameState(t, c.reason, before, p.load(t))
		}
		p.free(t)
	}
}

// T-196, T-197, T-198: through a file, from one kind of store to another.
func TestBackupAndRestore(t *testing.T) {
	d := newDesk(t)
	from, path := localPlace(t), filepath.Join(t.TempDir(), "s"+snapshot.Suffix)
	from.write(t, populated())
	keep := func(_ context.Context, s *state.Snapshot) error { return snapshot.Write(path, s, false) }
	if err := d.engine.BackupState(t.Context(), from.StatePlace, keep); err != nil {
		t.Fatal(err)
	}
	from.free(t)
	if err := d.engine.BackupState(t.Context(), from.StatePlace, keep); err == nil {
		t.Error("a backup wrote over another")
	}
	file, err := snapshot.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	for kind, to := range map[string]place{"local": localPlace(t), "memory": newPlace(t, "memory", memory.New())} {
		to.write(t, state.Batch{PutRows: []*state.Row{{ID: "s:t:forgotten"}}, SetOutputs: map[string]state.Output{"s:gone": {Value: "1"}}})
		to.write(t, state.Batch{})
		to.write(t, state.Batch{})
		if _, err := d.engine.PreviewRestore(to.load(t), file.Snapshot, false); !model.IsKind(err, model.StateError) || !strings.Contains(err.Error(), "--force") {
			t.Errorf("%s: another serial: %v", kind, err)
		}
		restore, err := d.engine.PreviewRestore(to.load(t), file.Snapshot, true)
		if err != nil {
			t.Fatal(err)
		}
		if len(restore.Restored) != 4 || !slices.Equal(restore.Forgotten, []string{"s:t:forgotten"}) {
			t.Errorf("%s: restored %v, forgotten %v", kind, restore.Restored, restore.Forgotten)
		}
		serial := to.load(t).Serial
		if err := d.engine.RestoreState(t.Context(), to.StatePlace, restore); err != nil {
			t.Fatal(err)
		}
		sameState(t, kind, from.load(t), to.load(t))
		if now := to.load(t).Serial; now <= serial {
			t.Errorf("%s: the serial went from %d to %d", kind, serial, now)
		}
		// the serial is looked at again under the lock, by force too.
		if err := d.engine.RestoreState(t.Context(), to.StatePlace, restore); !model.IsKind(err, model.StateError) {
			t.Errorf("%s: a state that moved since the preview: %v", kind, err)
		}
		to.free(t)
	}
	if len(d.calls) > 0 {
		t.Errorf("a provider was called: %v", d.calls)
	}
}

// A snapshot of an older release says neither kind nor uid; the same serial needs no force.
func TestRestoreOlderSnapshot(t *testing.T) {
	d := newDesk(t)
	p := localPlace(t)
	file, err := snapshot.Decode([]byte(`{"nodes":{"s:local.File:a":{"dependencies":[],"id":"s:local.File:a","input_hash":"ab","outputs":{},"prevent_destroy":false,` +
		`"properties":{},"provider":"local","provider_version":"1","secret_digests":{},"status":"created","type":"local.File"}},"outputs":{},"serial":0,"version":1}`))
	if err != nil {
		t.Fatal(err)
	}
	restore, err := d.engine.PreviewRestore(p.load(t), file.Snapshot, false)
	if err == nil {
		err = d.engine.RestoreState(t.Context(), p.StatePlace, restore)
	}
	if row := p.load(t).Rows["s:local.File:a"]; err != nil || row == nil || row.Kind != model.KindResource || row.RowUID == "" {
		t.Errorf("%+v, %v", row, err)
	}
	if file.Rows["s:local.File:a"].RowUID != "" {
		t.Error("the snapshot was changed")
	}
}

// T-198c, T-198d, T-198f.
func TestBackupRefusals(t *testing.T) {
	d := newDesk(t)
	p := localPlace(t)
	var kept []*state.Snapshot
	keep := func(_ context.Context, s *state.Snapshot) error { kept = append(kept, s); return nil }
	if err := d.engine.BackupState(t.Context(), p.StatePlace, keep); err != nil || len(kept) != 1 {
		t.Errorf("an empty state: %v", err)
	}
	gaining := p.StatePlace
	gaining.Locker = lockerFunc(func(ctx context.Context) (lease.Handle, error) {
		p.write(t, state.Batch{PutRows: []*state.Row{{ID: "s:t:new"}}})
		return p.Locker.Acquire(ctx)
	})
	if err := d.engine.BackupState(t.Context(), gaining, keep); !model.IsKind(err, model.StateError) || !strings.Contains(err.Error(), "s:t:new") {
		t.Errorf("it gained a row while it was waited for: %v", err)
	}
	h, err := p.Locker.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.engine.BackupState(t.Context(), p.StatePlace, keep); !model.IsKind(err, model.LockError) {
		t.Errorf("while a run holds the lock: %v", err)
	}
	if err := h.Release(t.Context()); err != nil {
		t.Error(err)
	}
	p.free(t)
	if len(kept) != 1 {
		t.Errorf("%d snapshots", len(kept))
	}
}

// T-203.
func TestUnlockState(t *testing.T) {
	p := localPlace(t)
	h, err := p.Locker.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	holds, err := p.locks.Holds(t.Context(), p.Partition)
	if err != nil || len(holds) != 1 {
		t.Fatalf("%v, %v", holds, err)
	}
	for _, c := range []struct {
		reason string
		by     engine.HoldSelection
		want   int // -1 = refused
	}{
		{"nothing is meant: only a listing", engine.HoldSelection{}, 0},
		{"an owner that holds nothing", engine.HoldSelection{Owner: "nobody"}, -1},
		{"a node, which the lock of the whole state covers", engine.HoldSelection{Nodes: []string{webID}}, 1},
		{"the owner", engine.HoldSelection{Owner: h.Fence().Holder}, 1},
		{"all", engine.HoldSelection{All: true}, 1},
	} {
		selected, err := engine.SelectHolds(holds, c.by)
		if len(selected) != max(c.want, 0) || (err != nil) != (c.want < 0) {
			t.Errorf("%s: %v, %v", c.reason, selected, err)
		}
	}
	if _, err := engine.SelectHolds([]state.Hold{{Node: webID, Holder: "python"}}, engine.HoldSelection{Nodes: []string{dataID}}); err == nil {
		t.Error("a lock of another node was selected")
	}
	for _, want := range []int{1, 0} { // the second time it is gone already
		if n, err := engine.BreakHolds(t.Context(), p.locks, p.Partition, holds); err != nil || n != want {
			t.Errorf("broke %d, %v", n, err)
		}
	}
	if err := p.Store.Commit(t.Context(), p.Partition, h.Fence(), state.Batch{}); !model.IsKind(err, model.FencedWriteError) {
		t.Errorf("a broken run writes: %v", err)
	}
	if err := h.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// T-204.
func TestCheckState(t *testing.T) {
	p := localPlace(t)
	store := p.locks.(engine.StateChecker)
	checks, ok := engine.CheckState(t.Context(), store, state.Check{Name: "secrets: keyfile", Status: state.CheckOK})
	if !ok || len(checks) != 3 || checks[2].Name != "secrets: keyfile" {
		t.Errorf("%v, %v", checks, ok)
	}
	if _, ok := engine.CheckState(t.Context(), store, state.Check{Name: "secrets: keyfile", Status: state.CheckFail}); ok {
		t.Error("a failed check passes")
	}
	p.write(t, populated())
	if checks, ok := engine.CheckState(t.Context(), store); !ok || len(checks) != 2 {
		t.Errorf("%v", checks)
	}
}

// A lost lock writes nothing, whatever the store would take.
func TestStateUnderALostLock(t *testing.T) {
	d := newDesk(t)
	p := localPlace(t)
	p.write(t, populated())
	before := p.load(t)
	lost := p.StatePlace
	lost.Locker = lockerFunc(func(ctx context.Context) (lease.Handle, error) {
		h, err := p.Locker.Acquire(ctx)
		return lostHandle{h}, err
	})
	if err := d.engine.RemoveState(t.Context(), lost, before, []string{webID}, false, nil); !model.IsKind(err, model.LeaseLostError) {
		t.Errorf("got %v", err)
	}
	sameState(t, "after it", before, p.load(t))
}

type lostHandle struct{ lease.Handle }

func (lostHandle) Check() error {
	return model.Errorf(model.LeaseLostError, model.ClassTransient, "lost at %s", time.Time{})
}
