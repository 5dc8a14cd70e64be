package statetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// OlderSubject is a store over a database that an older release wrote (ST-3).
type OlderSubject interface {
	state.Store
	state.Locks
	// Exec runs SQL past the store.
	Exec(ctx context.Context, query string) error
	// Older reports whether the database still has the older form.
	Older(ctx context.Context) (bool, error)
	// Locked counts the rows of the older table of locks that an owner has.
	Locked(ctx context.Context, owner string) (int, error)
}

// Backups is what a store under test calls; the suite looks at what it was given.
type Backups struct {
	Taken    []*state.Snapshot
	Fail     error
	Imported int
}

// Keep is the store's Backup.
func (b *Backups) Keep(_ context.Context, s *state.Snapshot) error {
	if b.Fail == nil {
		b.Taken = append(b.Taken, s)
	}
	return b.Fail
}

// Import is the store's Imported.
func (b *Backups) Import(context.Context, *state.Snapshot) error {
	b.Imported++
	return nil
}

// OlderForm is the SQL that makes what release 0.4, or 0.3, leaves behind. types name the
// database's types for JSON and for a truth value.
func OlderForm(json, truth string, first bool) []string {
	columns, names, values := "", "", ""
	if !first {
		columns = fmt.Sprintf(", ref_digests_json %s not null default '{}', depends_on_json %s not null default '[]'", json, json)
		names, values = ", ref_digests_json, depends_on_json", `, '{"content":"sha256:00"}', '["s:local.Null:b"]'`
	}
	truthOf := map[string]string{"boolean": "true"}[truth]
	if truthOf == "" {
		truthOf = "1"
	}
	insert := func(id, status string) string {
		return fmt.Sprintf(`insert into nodes (id, type, provider, provider_version, input_hash, outputs_json, properties_json, deps_json, prevent_destroy, status, secret_digests_json%s)
			values ('%s', 'local.File', 'local', '0.4.0', 'ab', '{"sum":"x","n":1.0}', '{"content":{"$ref":"s:local.Null:b#id"}}', '["s:local.Null:b"]', %s, '%s', '{"token":"5e"}'%s)`,
			names, id, truthOf, status, values)
	}
	return []string{
		fmt.Sprintf("create table nodes (id text primary key, type text not null, provider text not null, provider_version text not null, input_hash text not null, outputs_json %[1]s not null, "+
			"properties_json %[1]s not null, deps_json %[1]s not null, prevent_destroy %[2]s not null, status text not null, secret_digests_json %[1]s not null%[3]s)", json, truth, columns),
		"create table meta (key text primary key, value text not null)",
		"create table locks (node_id text primary key, owner text not null, expires_at double precision not null, fence bigint not null)",
		insert("s:local.File:a", "created"), insert("s:local.Null:b", "creating"), insert("s:local.File:a~replaced", "created"),
		"insert into meta (key, value) values ('serial', '41'), ('fence', '7'), ('outputs', '{\"s:o\":[\"v\",1]}')",
	}
}

// olderContent is what OlderForm holds.
func olderContent(first bool) *state.Snapshot {
	row := func(id, status string) *state.Row {
		r := &state.Row{ID: id, Type: "local.File", Provider: "local", ProviderVersion: "0.4.0", InputHash: "ab", Status: status, PreventDestroy: true,
			Outputs: map[string]any{"sum": "x", "n": 1.0}, Properties: map[string]any{"content": map[string]any{"$ref": "s:local.Null:b#id"}},
			Dependencies: []string{"s:local.Null:b"}, SecretDigests: map[string]string{"token": "5e"}}
		if !first {
			r.RefDigests, r.DependsOn = map[string]string{"content": "sha256:00"}, []string{"s:local.Null:b"}
		}
		return r
	}
	s := state.NewSnapshot()
	s.Serial = 41
	s.AddRecorded(row("s:local.File:a", state.StatusCreated))
	s.AddRecorded(row("s:local.Null:b", state.StatusCreating))
	s.AddRecorded(row("s:local.File:a"+state.ReplacedSuffix, state.StatusCreated))
	s.Outputs["s:o"] = state.Output{Value: []any{"v", int64(1)}}
	return s
}

// RunOlder runs the suite of a store over the older form, each test on a database of its
// own that OlderForm made.
func RunOlder(t *testing.T, newStore func(t *testing.T, first bool, backups *Backups) OlderSubject) {
	for name, test := range map[string]func(*older){
		"ReadAsItIs": readAsItIs, "LockConvertsNothing": lockConvertsNothing, "HoldsOfOthers": holdsOfOthers, "FirstWriteConverts": firstWriteConverts,
		"BackupFails": backupFails, "StaleRun": staleRun, "BreakOne": breakOne,
	} {
		for _, first := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%s", name, map[bool]string{false: "0.4", true: "0.3"}[first]), func(t *testing.T) {
				o := &older{T: t, ctx: t.Context(), first: first}
				o.OlderSubject = newStore(t, first, &o.backups)
				test(o)
			})
		}
	}
}

type older struct {
	*testing.T
	OlderSubject
	ctx     context.Context
	first   bool
	backups Backups
}

const commandLine = state.CommandLinePartition

func (o *older) take(holder string) model.Fence {
	o.Helper()
	fence, err := o.TakeLock(o.ctx, commandLine, holder, ttl)
	if err != nil {
		o.Fatal(err)
	}
	return fence
}

func (o *older) content() *state.Snapshot {
	o.Helper()
	s, err := o.Load(o.ctx, commandLine)
	if err != nil {
		o.Fatal(err)
	}
	return s
}

func (o *older) wantOlder(reason string, want bool) {
	o.Helper()
	if is, err := o.Older(o.ctx); err != nil || is != want {
		o.Errorf("%s: the older form is there: %v, %v", reason, is, err)
	}
}

// same compares content but for what older rows have not.
func (o *older) same(want, got *state.Snapshot) {
	o.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(state.Snapshot{}, "Serial"), cmpopts.IgnoreFields(state.Row{}, "RowUID", "Epoch", "UpdatedAt")); diff != "" {
		o.Errorf("content (-want +got):\n%s", diff)
	}
}

func readAsItIs(o *older) {
	got := o.content()
	o.same(olderContent(o.first), got)
	if serial, err := o.Serial(o.ctx, commandLine); err != nil || serial != 41 || got.Serial != 41 {
		o.Errorf("serial %d and %d, %v", serial, got.Serial, err)
	}
	if again := o.content(); again.Rows["s:local.File:a"].RowUID != got.Rows["s:local.File:a"].RowUID || got.Rows["s:local.File:a"].RowUID == "" {
		o.Error("the uid of a row changes between two readings")
	}
	if other, err := o.Load(o.ctx, partitionA); err != nil || len(other.Rows) != 0 {
		o.Errorf("another partition has %v, %v", other, err)
	}
	if o.first != (o.backups.Imported > 0) {
		o.Errorf("imported %d times", o.backups.Imported)
	}
	o.wantOlder("after reads", true)
	if len(o.backups.Taken) > 0 {
		o.Error("a read took a backup")
	}
}

// A run that writes nothing leaves the store to the release that made it, and holds its
// lock in a way that it understands.
func lockConvertsNothing(o *older) {
	fence := o.take("ours")
	if fence.Epoch != 8 {
		o.Errorf("epoch %d, want one more than the fence of the store", fence.Epoch)
	}
	if n, err := o.Locked(o.ctx, "ours"); err != nil || n != 4 {
		o.Errorf("%d rows of the table of locks, %v; want one per node and one for the state", n, err)
	}
	if _, err := o.TakeLock(o.ctx, commandLine, "theirs", ttl); !model.IsKind(err, model.LockError) || !strings.Contains(err.Error(), "'ours'") {
		o.Errorf("a second run: %v", err)
	}
	if err := errors.Join(o.CheckFence(o.ctx, commandLine, fence), o.RenewLock(o.ctx, commandLine, fence, ttl)); err != nil {
		o.Error(err)
	}
	holds, err := o.Holds(o.ctx, commandLine)
	if err != nil || len(holds) != 1 || holds[0].Holder != "ours" || holds[0].Node != "" || holds[0].Expired() || holds[0].Remaining < ttl-10*time.Minute {
		o.Errorf("%+v, %v", holds, err)
	}
	if err := o.ClearHolder(o.ctx, commandLine, fence); err != nil {
		o.Error(err)
	}
	if err := o.CheckFence(o.ctx, commandLine, fence); !model.IsKind(err, model.FencedWriteError) {
		o.Errorf("after the release: %v", err)
	}
	if n, err := o.Locked(o.ctx, "ours"); err != nil || n != 0 {
		o.Errorf("%d rows are left, %v", n, err)
	}
	o.wantOlder("after a run that wrote nothing", true)
}

// A hold of the other release counts until it ends, and its fences are beyond ours.
func holdsOfOthers(o *older) {
	if err := o.Exec(o.ctx, "insert into locks values ('s:local.Null:b', 'python', 4e9, 7)"); err != nil {
		o.Fatal(err)
	}
	if _, err := o.TakeLock(o.ctx, commandLine, "ours", ttl); !model.IsKind(err, model.LockError) || !strings.Contains(err.Error(), "'python'") || !strings.Contains(err.Error(), "s:local.Null:b") {
		o.Errorf("a held node: %v", err)
	}
	holds, err := o.Holds(o.ctx, commandLine)
	if err != nil || len(holds) != 1 || holds[0].Node != "s:local.Null:b" {
		o.Errorf("%+v, %v", holds, err)
	}
	if err := o.Exec(o.ctx, "update locks set expires_at = 1000"); err != nil {
		o.Fatal(err)
	}
	o.take("ours")
}

func firstWriteConverts(o *older) {
	before := o.content()
	fence := o.take("ours")
	added := &state.Row{ID: "s:local.Null:new", Type: "local.Null", Status: state.StatusCreated}
	for range 2 {
		if err := o.Commit(o.ctx, commandLine, fence, state.Batch{PutRows: []*state.Row{added}}); err != nil {
			o.Fatal(err)
		}
		o.wantOlder("after a write", false)
	}
	if len(o.backups.Taken) != 1 {
		o.Fatalf("%d backups, want one", len(o.backups.Taken))
	}
	if diff := cmp.Diff(before, o.backups.Taken[0]); diff != "" {
		o.Errorf("the backup (-before +kept):\n%s", diff)
	}
	after := o.content()
	if after.Serial <= before.Serial {
		o.Errorf("the serial went from %d to %d", before.Serial, after.Serial)
	}
	if after.Rows["s:local.File:a"].RowUID != before.Rows["s:local.File:a"].RowUID {
		o.Error("the conversion gave a row another uid")
	}
	want := olderContent(o.first)
	want.Rows[added.ID] = added
	o.same(want, after)
	holds, err := o.Holds(o.ctx, commandLine)
	if err != nil || len(holds) != 1 || holds[0].Epoch != fence.Epoch || holds[0].Remaining < ttl-10*time.Minute {
		o.Errorf("the lock after the conversion: %+v, %v", holds, err)
	}
	if err := errors.Join(o.RenewLock(o.ctx, commandLine, fence, ttl), o.ClearHolder(o.ctx, commandLine, fence)); err != nil {
		o.Error(err)
	}
	if next := o.take("next"); next.Epoch <= fence.Epoch {
		o.Errorf("epoch %d after %d", next.Epoch, fence.Epoch)
	}
}

func backupFails(o *older) {
	fence := o.take("ours")
	o.backups.Fail = errors.New("the disk is full")
	write := func() error {
		return o.Commit(o.ctx, commandLine, fence, state.Batch{DeleteRows: []string{"s:local.File:a"}})
	}
	if err := write(); !model.IsKind(err, model.StateError) || !strings.Contains(err.Error(), "the disk is full") {
		o.Errorf("without a backup: %v", err)
	}
	o.wantOlder("after a backup that failed", true)
	o.same(olderContent(o.first), o.content())
	o.backups.Fail = nil
	if err := write(); err != nil {
		o.Error(err)
	}
}

func staleRun(o *older) {
	fence := o.take("paused")
	if err := o.Exec(o.ctx, "update locks set expires_at = 1000"); err != nil {
		o.Fatal(err)
	}
	next := o.take("next")
	batch := state.Batch{DeleteRows: []string{"s:local.File:a"}}
	if err := o.Commit(o.ctx, commandLine, fence, batch); !model.IsKind(err, model.FencedWriteError) {
		o.Errorf("a stale write: %v", err)
	}
	if err := o.RenewLock(o.ctx, commandLine, fence, ttl); !model.IsKind(err, model.FencedWriteError) {
		o.Errorf("a stale renewal: %v", err)
	}
	o.wantOlder("after a stale write", true)
	if len(o.backups.Taken) > 0 {
		o.Error("a stale write took a backup")
	}
	if err := o.Commit(o.ctx, commandLine, next, batch); err != nil {
		o.Error(err)
	}
	if err := o.Commit(o.ctx, commandLine, fence, batch); !model.IsKind(err, model.FencedWriteError) {
		o.Errorf("a stale write after the conversion: %v", err)
	}
}

// A dead run of the other release is broken without the one that is alive.
func breakOne(o *older) {
	if err := o.Exec(o.ctx, "insert into locks values ('s:local.Null:b', 'dead', 4e9, 7), ('s:local.File:a', 'alive', 4e9, 6)"); err != nil {
		o.Fatal(err)
	}
	if held, err := o.BreakLock(o.ctx, commandLine, "dead"); !held || err != nil {
		o.Errorf("%v, %v", held, err)
	}
	holds, err := o.Holds(o.ctx, commandLine)
	if err != nil || len(holds) != 1 || holds[0].Holder != "alive" {
		o.Errorf("%+v, %v", holds, err)
	}
	o.wantOlder("after a lock was broken", true)
	if ids := slices.Sorted(maps.Keys(o.content().Rows)); len(ids) != 2 {
		o.Errorf("rows %v", ids)
	}
}
