// Package statetest owns the contract tests of a state store: every store passes the
// same suite. It must never know a particular store.
package statetest

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Subject is a store under test.
type Subject interface {
	state.Store
	// Claim makes fence the partition's, with whatever the store needs to know of the
	// partition before.
	Claim(ctx context.Context, partition string, fence model.Fence) error
}

// Partitions of the suite are UUIDs, as a Stack's are.
const (
	partitionA = "0b9f6c1e-0000-4000-8000-00000000000a"
	partitionB = "0b9f6c1e-0000-4000-8000-00000000000b"
)

// Run runs the suite. Every test gets a store of its own from newStore, in which none
// of the suite's partitions exists.
func Run(t *testing.T, newStore func(t *testing.T) Subject) {
	for name, test := range map[string]func(*testing.T, *fixture){
		"EmptyPartition":            emptyPartition,
		"RoundTrip":                 roundTrip,
		"NumbersKeepTheirKind":      numbersKeepTheirKind,
		"ContentSurvives":           contentSurvives,
		"PutReplacesEveryField":     putReplacesEveryField,
		"BatchIsOneCommit":          batchIsOneCommit,
		"AbsentDeletesAreHarmless":  absentDeletes,
		"OutputsRemovedBeforeSet":   outputsRemovedBeforeSet,
		"PendingDestroys":           pendingDestroys,
		"StaleFenceWritesNothing":   staleFenceWritesNothing,
		"UnclaimedPartition":        unclaimedPartition,
		"UnstorableWritesNothing":   unstorableWritesNothing,
		"LargeDocuments":            largeDocuments,
		"PartitionsAreApart":        partitionsAreApart,
		"SnapshotsAreCopies":        snapshotsAreCopies,
		"ConcurrentWritersOfOneRun": concurrentWriters,
	} {
		t.Run(name, func(t *testing.T) {
			f := &fixture{T: t, Subject: newStore(t), ctx: t.Context(), fence: model.Fence{Epoch: 1, Holder: "run-1"}}
			test(t, f)
		})
	}
}

type fixture struct {
	*testing.T
	Subject
	ctx   context.Context
	fence model.Fence
}

func (f *fixture) claim(partition string, fence model.Fence) {
	f.Helper()
	if err := f.Claim(f.ctx, partition, fence); err != nil {
		f.Fatalf("claim: %v", err)
	}
}

// commit writes to partition A under the fixture's fence.
func (f *fixture) commit(batch state.Batch) {
	f.Helper()
	if err := f.Commit(f.ctx, partitionA, f.fence, batch); err != nil {
		f.Fatalf("commit: %v", err)
	}
}

func (f *fixture) load(partition string) *state.Snapshot {
	f.Helper()
	s, err := f.Load(f.ctx, partition)
	if err != nil {
		f.Fatalf("load: %v", err)
	}
	serial, err := f.Serial(f.ctx, partition)
	if err != nil || serial != s.Serial {
		f.Fatalf("serial %d, %v; the snapshot has %d", serial, err, s.Serial)
	}
	return s
}

func (f *fixture) want(partition string, want *state.Snapshot) {
	f.Helper()
	if diff := cmp.Diff(want, f.load(partition), cmpopts.EquateEmpty()); diff != "" {
		f.Errorf("snapshot (-want +got):\n%s", diff)
	}
}

// row is a row in which every field has a value.
func row(id string) *state.Row {
	return &state.Row{
		ID:              id,
		Type:            model.TypeOf(id),
		Kind:            model.KindResource,
		Provider:        "local",
		ProviderVersion: "1.2.3",
		InputHash:       "a0de4c9548771eba8f0e405ce45cd5abeeee898994db49a334c208b831e9f9bd",
		Outputs:         map[string]any{"checksum": "abc", "nothing": nil, "list": []any{"a", true, map[string]any{"z": "1", "a": "2"}}},
		Properties: map[string]any{
			"content": model.Reference{NodeID: "s:local.File:up", Output: "checksum"}.Marker(),
			"path":    "out/ünï \"quoted\" \u2028 é.txt",
		},
		Dependencies:        []string{"s:local.File:up"},
		DependsOn:           []string{"s:local.Null:first", "s:local.Null:second"},
		PreventDestroy:      true,
		CreateBeforeDestroy: true,
		Status:              state.StatusCreating,
		SecretDigests:       map[string]string{"token": "5e"},
		RefDigests:          map[string]string{"content": "sha256:ff"},
		RefreshedOutputs:    []string{"checksum"},
		RowUID:              "6a1d0c1e-7c1f-4c7a-9d59-0f7f2a3a9a10",
		Attempt:             "7b2e1d2f-8d20-4d8b-8e6a-1f80304b0b21",
		UpdatedAt:           time.Date(2030, 1, 2, 3, 4, 5, 678901000, time.UTC),
		Epoch:               1,
	}
}

func emptyPartition(_ *testing.T, f *fixture) { f.want(partitionA, &state.Snapshot{}) }

func roundTrip(_ *testing.T, f *fixture) {
	f.claim(partitionA, f.fence)
	full := row("s:local.File:a")
	bare := &state.Row{ID: "s:local.Null:b", Type: "local.Null", Provider: "local", Status: state.StatusCreated,
		RowUID: "6a1d0c1e-7c1f-4c7a-9d59-0f7f2a3a9a11", UpdatedAt: full.UpdatedAt, Epoch: 1}
	outputs := map[string]state.Output{
		"s:plain":  {Value: "v", SourceNodes: []string{"s:local.File:a"}},
		"s:null":   {Value: nil},
		"s:secret": {Value: map[string]any{"deep": []any{int64(1), "x"}}, Sensitive: true},
	}
	f.commit(state.Batch{PutRows: []*state.Row{full, bare}, SetOutputs: outputs})
	f.want(partitionA, &state.Snapshot{
		Serial:  1,
		Rows:    map[string]*state.Row{full.ID: full, bare.ID: bare},
		Outputs: outputs,
	})
}

func numbersKeepTheirKind(_ *testing.T, f *fixture) {
	f.claim(partitionA, f.fence)
	r := row("s:local.File:a")
	r.Properties = map[string]any{"int": int64(1), "float": 1.0, "large": int64(9007199254740993), "small": 1e-7, "negative": int64(-5), "huge": 1e300}
	f.commit(state.Batch{PutRows: []*state.Row{r}, SetOutputs: map[string]state.Output{"s:f": {Value: 2.0}}})
	f.want(partitionA, &state.Snapshot{Serial: 1, Rows: map[string]*state.Row{r.ID: r}, Outputs: map[string]state.Output{"s:f": {Value: 2.0}}})
}

// T-138, T-196: everything that can be recorded comes back as it was, and what replaces it
// leaves nothing of it (RF-24).
func contentSurvives(t *testing.T, f *fixture) {
	f.claim(partitionA, f.fence)
	before := state.NewSnapshot()
	rapid.Check(t, func(rt *rapid.T) {
		want := DrawSnapshot(rt)
		if err := f.Commit(f.ctx, partitionA, f.fence, state.Replacement(before, want)); err != nil {
			rt.Fatal(err)
		}
		before = want
		got, err := f.Load(f.ctx, partitionA)
		if err != nil {
			rt.Fatal(err)
		}
		for id, row := range got.Rows { // what a write sets itself
			if row.Epoch != f.fence.Epoch {
				rt.Fatalf("%s was written by epoch %d", id, row.Epoch)
			}
			if r := want.Rows[id]; r != nil {
				row.Epoch = r.Epoch
				if r.UpdatedAt.IsZero() {
					row.UpdatedAt = time.Time{}
				}
			}
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(state.Snapshot{}, "Serial")); diff != "" {
			rt.Fatalf("snapshot (-want +got):\n%s", diff)
		}
	})
}

func putReplacesEveryField(_ *testing.T, f *fixture) {
	f.claim(partitionA, f.fence)
	first := row("s:local.File:a")
	f.commit(state.Batch{PutRows: []*state.Row{first}})
	second := &state.Row{ID: first.ID, Type: first.Type, Provider: "other", Status: state.StatusCreated,
		RowUID: first.RowUID, UpdatedAt: first.UpdatedAt.Add(time.Second), Epoch: 1}
	f.commit(state.Batch{PutRows: []*state.Row{second}})
	f.want(partitionA, &state.Snapshot{Serial: 2, Rows: map[string]*state.Row{first.ID: second}})
}

func batchIsOneCommit(_ *testing.T, f *fixture) {
	f.claim(partitionA, f.fence)
	a, b, c := row("s:local.File:a"), row("s:local.File:b"), row("s:local.File:c")
	f.commit(state.Batch{PutRows: []*state.Row{a, b}})
	f.commit(state.Batch{
		PutRows:    []*state.Row{c},
		DeleteRows: []string{a.ID},
		PutPending: []*state.PendingDestroy{{NodeID: c.ID, Row: a, Mode: state.DestroyBeforeCreate}},
		SetOutputs: map[string]state.Output{"s:x": {Value: "1"}},
	})
	f.want(partitionA, &state.Snapshot{
		Serial:  2,
		Rows:    map[string]*state.Row{b.ID: b, c.ID: c},
		Pending: map[string]*state.PendingDestroy{c.ID: {NodeID: c.ID, Row: a, Mode: state.DestroyBeforeCreate}},
		Outputs: map[string]state.Output{"s:x": {Value: "1"}},
	})
}

func absentDeletes(_ *testing.T, f *fixture) {
	f.claim(partitionA, f.fence)
	a := row("s:local.File:a")
	f.commit(state.Batch{PutRows: []*state.Row{a}})
	f.commit(state.Batch{DeleteRows: []string{"s:local.File:z"}, DeletePending: []string{"s:local.File:z"}, RemoveOutputs: []string{"s:z"}})
	if got := f.load(partitionA); len(got.Rows) != 1 {
		f.Errorf("%d rows are left, want the one that nobody deleted", len(got.Rows))
	}
}

func outputsRemovedBeforeSet(_ *testing.T, f *fixture) {
	f.claim(partitionA, f.fence)
	f.commit(state.Batch{SetOutputs: map[string]state.Output{"s:old": {Value: "1"}, "s:both": {Value: "1"}, "s:kept": {Value: "1"}}})
	f.commit(state.Batch{
		RemoveOutputs: []string{"s:old", "s:both"},
		SetOutputs:    map[string]state.Output{"s:both": {Value: "2"}},
	})
	f.want(partitionA, &state.Snapshot{Serial: 2, Outputs: map[string]state.Output{"s:both": {Value: "2"}, "s:kept": {Value: "1"}}})
}

func pendingDestroys(_ *testing.T, f *fixture) {
	f.claim(partitionA, f.fence)
	id := "s:local.File:a"
	old, now := row(id), row(id)
	now.InputHash = "new"
	f.commit(state.Batch{PutRows: []*state.Row{now}, PutPending: []*state.PendingDestroy{{NodeID: id, Row: old, Mode: state.CreateBeforeDestroy}}})
	f.want(partitionA, &state.Snapshot{Serial: 1, Rows: map[string]*state.Row{id: now},
		Pending: map[string]*state.PendingDestroy{id: {NodeID: id, Row: old, Mode: state.CreateBeforeDestroy}}})
	// The entry lives apart from the row of its id.
	f.commit(state.Batch{DeleteRows: []string{id}})
	if got := f.load(partitionA); got.Pending[id] == nil || len(got.Rows) != 0 {
		f.Errorf("after the row's delete: %d rows, entry %v", len(got.Rows), got.Pending[id])
	}
	f.commit(state.Batch{DeletePending: []string{id}})
	f.want(partitionA, &state.Snapshot{Serial: 3})
}

// outputs are fenced like rows, and move the serial like them.
func staleFenceWritesNothing(_ *testing.T, f *fixture) {
	f.claim(partitionA, f.fence)
	a := row("s:local.File:a")
	f.commit(state.Batch{PutRows: []*state.Row{a}, SetOutputs: map[string]state.Output{"s:x": {Value: "1"}}})
	before := f.load(partitionA)
	if err := f.CheckFence(f.ctx, partitionA, f.fence); err != nil {
		f.Errorf("the fence that just wrote does not stand: %v", err)
	}
	f.claim(partitionA, model.Fence{Epoch: 2, Holder: "run-2"})
	for reason, fence := range map[string]model.Fence{
		"an older epoch":         f.fence,
		"the holder of an older": {Epoch: 2, Holder: "run-1"},
		"an epoch never claimed": {Epoch: 3, Holder: "run-2"},
		"no fence":               {},
	} {
		err := f.Commit(f.ctx, partitionA, fence, state.Batch{
			PutRows:       []*state.Row{row("s:local.File:b")},
			DeleteRows:    []string{a.ID},
			PutPending:    []*state.PendingDestroy{{NodeID: a.ID, Row: a, Mode: state.DestroyBeforeCreate}},
			RemoveOutputs: []string{"s:x"},
		})
		if !model.IsKind(err, model.FencedWriteError) {
			f.Errorf("%s: %v, want a FencedWriteError", reason, err)
		}
		if err := f.CheckFence(f.ctx, partitionA, fence); !model.IsKind(err, model.FencedWriteError) {
			f.Errorf("%s: the probe says %v, want what a write would be told (EX-18)", reason, err)
		}
	}
	f.want(partitionA, before)
	f.fence = model.Fence{Epoch: 2, Holder: "run-2"}
	b := row("s:local.File:b")
	b.Epoch = 2
	f.commit(state.Batch{PutRows: []*state.Row{b}})
	if got := f.load(partitionA); got.Serial != 2 || got.Rows[b.ID].Epoch != 2 {
		f.Errorf("the new holder's write: serial %d, row %+v", got.Serial, got.Rows[b.ID])
	}
}

func unclaimedPartition(_ *testing.T, f *fixture) {
	for _, fence := range []model.Fence{{}, f.fence} {
		if err := f.CheckFence(f.ctx, partitionA, fence); !model.IsKind(err, model.FencedWriteError) {
			f.Errorf("the probe of fence %+v says %v, want a FencedWriteError", fence, err)
		}
		err := f.Commit(f.ctx, partitionA, fence, state.Batch{PutRows: []*state.Row{row("s:local.File:a")}})
		if !model.IsKind(err, model.FencedWriteError) {
			f.Errorf("fence %+v of a partition that nobody claimed: %v, want a FencedWriteError", fence, err)
		}
	}
	f.want(partitionA, &state.Snapshot{})
}

// Every place of a batch that a text or a value can be in, with what no store takes
// there (ST-20): all stores are equally strict.
func unstorableWritesNothing(_ *testing.T, f *fixture) {
	f.claim(partitionA, f.fence)
	deep := any("x")
	for range state.MaxNesting + 1 {
		deep = []any{deep}
	}
	nul, broken := "nul \x00 here", "broken \xff here"
	values := map[string]any{
		"NUL": nul, "not UTF-8": broken, "NUL in a list": []any{"a", []any{nul}}, "a key with NUL": map[string]any{"a": map[string]any{nul: "b"}},
		"a key that is not UTF-8": map[string]any{broken: "b"}, "not a number": math.NaN(), "infinite": []any{math.Inf(-1)},
		"no Value": []any{1}, "too deep": deep, "too large": strings.Repeat("x", state.MaxDocument),
	}
	batches := map[string]state.Batch{}
	withRow := func(reason string, change func(r *state.Row)) {
		r := row("s:local.File:b")
		change(r)
		batches[reason] = state.Batch{PutRows: []*state.Row{r}}
		batches[reason+" of an old half"] = state.Batch{PutPending: []*state.PendingDestroy{{NodeID: "s:local.File:b", Row: r, Mode: state.DestroyBeforeCreate}}}
	}
	for what, v := range values {
		withRow(what+" in outputs", func(r *state.Row) { r.Outputs = map[string]any{"v": v} })
		withRow(what+" in properties", func(r *state.Row) { r.Properties = map[string]any{"v": v} })
		batches[what+" in an output"] = state.Batch{SetOutputs: map[string]state.Output{"s:y": {Value: v}}}
	}
	for _, text := range []string{nul, broken} {
		for field, change := range map[string]func(r *state.Row){
			"id": func(r *state.Row) { r.ID = text }, "type": func(r *state.Row) { r.Type = text }, "kind": func(r *state.Row) { r.Kind = text },
			"provider": func(r *state.Row) { r.Provider = text }, "version": func(r *state.Row) { r.ProviderVersion = text },
			"hash": func(r *state.Row) { r.InputHash = text }, "status": func(r *state.Row) { r.Status = text },
			"uid": func(r *state.Row) { r.RowUID = text }, "attempt": func(r *state.Row) { r.Attempt = text },
			"name of a property": func(r *state.Row) { r.Properties = map[string]any{text: "v"} },
			"name of an output":  func(r *state.Row) { r.Outputs = map[string]any{text: "v"} },
			"dependency":         func(r *state.Row) { r.Dependencies = []string{text} }, "ordering": func(r *state.Row) { r.DependsOn = []string{text} },
			"refreshed output": func(r *state.Row) { r.RefreshedOutputs = []string{text} },
			"secret's name":    func(r *state.Row) { r.SecretDigests = map[string]string{text: "d"} }, "secret's digest": func(r *state.Row) { r.SecretDigests = map[string]string{"d": text} },
			"reference's name": func(r *state.Row) { r.RefDigests = map[string]string{text: "d"} }, "reference's digest": func(r *state.Row) { r.RefDigests = map[string]string{"d": text} },
		} {
			withRow(fmt.Sprintf("%s %q", field, text), change)
		}
		batches[fmt.Sprintf("key of an output %q", text)] = state.Batch{SetOutputs: map[string]state.Output{text: {Value: "v"}}}
		batches[fmt.Sprintf("source of an output %q", text)] = state.Batch{SetOutputs: map[string]state.Output{"s:y": {SourceNodes: []string{text}}}}
		batches[fmt.Sprintf("node of an old half %q", text)] = state.Batch{PutPending: []*state.PendingDestroy{{NodeID: text, Row: row("s:local.File:b")}}}
	}
	for reason, batch := range batches {
		batch.PutRows = append([]*state.Row{row("s:local.File:a")}, batch.PutRows...)
		err := f.Commit(f.ctx, partitionA, f.fence, batch)
		if !model.IsKind(err, model.StateError) || model.ClassOf(err) != model.ClassUser {
			f.Errorf("%s gave %v, want a user's StateError", reason, err)
		}
	}
	f.want(partitionA, &state.Snapshot{})
}

// What is as large and as deep as it may be comes back.
func largeDocuments(_ *testing.T, f *fixture) {
	f.claim(partitionA, f.fence)
	text := strings.Repeat("x", state.MaxDocument-64)
	deep := any("x")
	for range state.MaxNesting - 1 {
		deep = []any{deep}
	}
	r := row("s:local.File:a")
	r.Outputs, r.Properties = map[string]any{"v": text}, map[string]any{"v": text}
	f.commit(state.Batch{PutRows: []*state.Row{r}, SetOutputs: map[string]state.Output{"s:large": {Value: text}, "s:deep": {Value: deep}}})
	got := f.load(partitionA) // not compared by cmp, whose time doubles with every level
	if got.Rows[r.ID].Outputs["v"] != text || got.Rows[r.ID].Properties["v"] != text || got.Outputs["s:large"].Value != text {
		f.Error("a large text did not come back")
	}
	if !reflect.DeepEqual(got.Outputs["s:deep"].Value, deep) {
		f.Error("a deep value did not come back")
	}
}

// X-17, ST-17: what another partition records is not seen, let alone deleted.
func partitionsAreApart(_ *testing.T, f *fixture) {
	f.claim(partitionA, f.fence)
	f.claim(partitionB, model.Fence{Epoch: 7, Holder: "other"})
	a := row("s:local.File:a")
	f.commit(state.Batch{PutRows: []*state.Row{a}, SetOutputs: map[string]state.Output{"s:x": {Value: "1"}},
		PutPending: []*state.PendingDestroy{{NodeID: a.ID, Row: a, Mode: state.DestroyBeforeCreate}}})
	f.want(partitionB, &state.Snapshot{})
	if err := f.Commit(f.ctx, partitionB, f.fence, state.Batch{DeleteRows: []string{a.ID}}); !model.IsKind(err, model.FencedWriteError) {
		f.Errorf("the fence of another partition: %v, want a FencedWriteError", err)
	}
	before := f.load(partitionA)
	if err := f.Commit(f.ctx, partitionB, model.Fence{Epoch: 7, Holder: "other"}, state.Batch{DeleteRows: []string{a.ID}, DeletePending: []string{a.ID}, RemoveOutputs: []string{"s:x"}}); err != nil {
		f.Fatal(err)
	}
	f.want(partitionA, before)
}

func snapshotsAreCopies(_ *testing.T, f *fixture) {
	f.claim(partitionA, f.fence)
	given := row("s:local.File:a")
	f.commit(state.Batch{PutRows: []*state.Row{given}, SetOutputs: map[string]state.Output{"s:x": {Value: []any{"1"}}}})
	given.Outputs["checksum"] = "changed after the commit"
	got := f.load(partitionA)
	got.Rows[given.ID].Properties["path"] = "changed after the load"
	got.Outputs["s:x"].Value.([]any)[0] = "changed"
	delete(got.Rows, "s:local.File:a")
	f.want(partitionA, &state.Snapshot{Serial: 1, Rows: map[string]*state.Row{given.ID: row(given.ID)}, Outputs: map[string]state.Output{"s:x": {Value: []any{"1"}}}})
}

func concurrentWriters(t *testing.T, f *fixture) {
	f.claim(partitionA, f.fence)
	const writers = 16
	var done sync.WaitGroup
	errs := make(chan error, writers)
	for i := range writers {
		done.Go(func() {
			errs <- f.Commit(f.ctx, partitionA, f.fence, state.Batch{PutRows: []*state.Row{row(fmt.Sprintf("s:local.File:n%d", i))}})
		})
	}
	done.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	// Writes that come together may share a transaction, which moves the serial once.
	if got := f.load(partitionA); got.Serial < 1 || got.Serial > writers || len(got.Rows) != writers {
		t.Errorf("serial %d and %d rows after %d commits", got.Serial, len(got.Rows), writers)
	}
}
