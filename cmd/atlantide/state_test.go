package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/hack/devenv"
)

// What the state of these tests records.
const (
	stateFile     = "demo:local.File:motd"
	statePassword = "demo:random.Password:db"
	stateNull     = "demo:local.Null:gone"
	sealedText    = "hunter2-hunter2"
)

// desk is a project folder whose state has one kind of store.
type desk struct {
	t      *testing.T
	dir    string
	store  string // local or postgres
	target *target
}

// onBothStores runs a test in an empty project, once for each store that a state can have.
func onBothStores(t *testing.T, test func(d *desk)) {
	t.Helper()
	for _, store := range []string{project.BackendLocal, project.BackendPostgres} {
		t.Run(store, func(t *testing.T) {
			settings := ""
			if store == project.BackendPostgres {
				settings = "[state]\nbackend = 'postgres'\ndsn = '" + devenv.Database(t) + "'\n"
			}
			test(newDesk(t, store, settings))
		})
	}
}

func newDesk(t *testing.T, store, settings string) *desk {
	t.Helper()
	d := &desk{t: t, store: store, dir: t.TempDir()}
	t.Chdir(d.dir)
	write(t, project.FileName, settings)
	write(t, ".atlantis/components/loose.py", "") // these commands look at no component
	d.target = d.opened("")
	return d
}

// opened is the state that a command opens which is told the local database path, "" = none.
func (d *desk) opened(path string) *target {
	d.t.Helper()
	a := newApp(strings.NewReader(""), io.Discard, io.Discard)
	p, err := a.project()
	if err != nil {
		d.t.Fatal(err)
	}
	at, err := a.target(d.t.Context(), p, &stateFlags{path: path}, a.err)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(at.close)
	return at
}

func (d *desk) load() *state.Snapshot { return loadState(d.t, d.target) }

func loadState(t *testing.T, at *target) *state.Snapshot {
	t.Helper()
	s, err := at.load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// record writes to a state under a lock of its own.
func record(t *testing.T, at *target, batch state.Batch) {
	t.Helper()
	h, err := at.Locker.Acquire(t.Context())
	if err == nil {
		err = errors.Join(at.Store.Commit(t.Context(), at.Partition, h.Fence(), batch), h.Release(t.Context()))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// recorded is a state with everything that these commands tell apart: a guarded row, one
// with a sealed output, one that is poisoned and half replaced, and two outputs.
func (d *desk) recorded() state.Batch {
	d.t.Helper()
	a := newApp(strings.NewReader(""), io.Discard, io.Discard)
	p, err := a.project()
	if err != nil {
		d.t.Fatal(err)
	}
	known, err := session(p, "")
	if err != nil {
		d.t.Fatal(err)
	}
	row := func(id, uid string) *state.Row {
		typ := model.TypeOf(id)
		return &state.Row{ID: id, Type: typ, Kind: model.KindResource, Provider: strings.Split(typ, ".")[0], ProviderVersion: "1.0.0", InputHash: "ab", Status: state.StatusCreated, RowUID: uid}
	}
	file, password := row(stateFile, "1e4c6d2a-0b5f-4a51-9d8e-000000000001"), row(statePassword, "1e4c6d2a-0b5f-4a51-9d8e-000000000002")
	file.PreventDestroy, file.Dependencies = true, []string{stateNull, statePassword}
	file.Properties = map[string]any{
		"path": "etc/\x1b[31mmotd", "content": model.Reference{NodeID: statePassword, Output: "length"}.Marker(), "size": int64(3),
		"handle": model.SecretRef{Name: "app/key"}.Marker(), "zone": map[string]any{model.KeyStackOutput: "base:zone"}, "list": []any{"a", nil, true},
	}
	file.Outputs = map[string]any{"checksum": "0f", "ratio": 1.0}
	password.Properties = map[string]any{"length": int64(20)}
	sealed, err := known.Recorder().Seal(sealedText, password.RowUID, "result")
	if err != nil {
		d.t.Fatal(err)
	}
	password.Outputs = map[string]any{"length": int64(20), "result": sealed}
	gone, old := row(stateNull, "1e4c6d2a-0b5f-4a51-9d8e-000000000003"), row(stateNull, "1e4c6d2a-0b5f-4a51-9d8e-000000000004")
	gone.InputHash, gone.Status = "", state.StatusCreating
	return state.Batch{
		PutRows:    []*state.Row{file, password, gone},
		PutPending: []*state.PendingDestroy{{NodeID: stateNull, Row: old, Mode: state.CreateBeforeDestroy}},
		SetOutputs: map[string]state.Output{"demo:sum": {Value: "0f", SourceNodes: []string{stateFile}}, "demo:n": {Value: int64(1)}},
	}
}

var (
	snapshotTime = regexp.MustCompile(`-\d{8}T\d{6}Z`)
	seconds      = regexp.MustCompile(`\b\d+s\b`)
)

// run runs a command and compares what it tells with a golden file, which is the same for
// every store.
func (d *desk) run(name string, code int, args ...string) (stdout string) {
	d.t.Helper()
	stdout, stderr, got := atlantide(d.t.Context(), append([]string{"state"}, args...)...)
	if got != code {
		d.t.Errorf("%s: exit code %d, want %d", name, got, code)
	}
	golden(d.t, d.dir, filepath.Join("testdata", "state-"+name+".txt"), d.neutral("stdout:\n"+stdout+"stderr:\n"+stderr))
	return stdout
}

// neutral is a text without what differs between two runs of a command.
func (d *desk) neutral(text string) string {
	text = strings.ReplaceAll(text, d.target.Label, "LABEL")
	text = strings.ReplaceAll(text, d.dir, "FOLDER")
	return seconds.ReplaceAllString(snapshotTime.ReplaceAllString(text, "-TIME"), "Ns")
}

// free fails unless the lock is free: every command gives it back.
func (d *desk) free() {
	d.t.Helper()
	holds, err := d.target.store.Holds(d.t.Context(), d.target.Partition)
	if err != nil || len(holds) > 0 {
		d.t.Errorf("the lock is held: %+v, %v", holds, err)
	}
}

// hold takes the lock as the run of another machine does.
func (d *desk) hold(owner string) lease.Handle {
	d.t.Helper()
	times, err := lease.TimesOf(nil, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	locker := &lease.Stored{Records: d.target.store, Partition: d.target.Partition, Times: times, Owner: func() string { return owner }}
	h, err := locker.Acquire(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	return h
}

// sameState compares all but what a store writes by itself.
func sameState(t *testing.T, reason string, want, got *state.Snapshot) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(state.Snapshot{}, "Serial"), cmpopts.IgnoreFields(state.Row{}, "Epoch", "UpdatedAt")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", reason, diff)
	}
}

// Items 98 and 99.
func TestStateIsListedAndShown(t *testing.T) {
	onBothStores(t, func(d *desk) {
		d.run("list-empty", exitOK, "list")
		oneDocument(t, d.run("list-empty-json", exitOK, "list", "--json"))
		d.run("show-empty", exitError, "show", stateFile)
		record(d.t, d.target, d.recorded())
		d.run("list", exitOK, "list")
		oneDocument(t, d.run("list-json", exitOK, "list", "--json"))
		d.run("show-file", exitOK, "show", stateFile)
		oneDocument(t, d.run("show-file-json", exitOK, "show", stateFile, "--json"))
		d.run("show-null", exitOK, "show", stateNull)
		d.run("show-old-half", exitOK, "show", stateNull+state.ReplacedSuffix)
		for _, hidden := range []string{
			d.run("show-password", exitOK, "show", statePassword),
			d.run("show-password-json", exitOK, "show", statePassword, "--json"),
		} {
			if strings.Contains(hidden, sealedText) || strings.Contains(hidden, model.KeySealed) {
				d.t.Errorf("it tells what is sealed: %s", hidden)
			}
		}
		d.run("show-password-reveal", exitOK, "show", statePassword, "-r")
		oneDocument(t, d.run("show-password-reveal-json", exitOK, "show", statePassword, "--reveal", "--json"))
		d.run("show-unknown", exitError, "show", "demo:local.File:nope\x1b[2J")
		oneDocument(t, d.run("show-unknown-json", exitError, "show", "demo:local.File:nope", "--json"))
		d.run("usage", exitError, "show")
		d.run("usage-no-command", exitError)
		d.run("usage-unknown", exitError, "lst")
		d.free()
	})
}

// What is sealed is not given out with another key, and nothing is without one.
func TestStateRevealsWithItsKeyAlone(t *testing.T) {
	onBothStores(t, func(d *desk) {
		record(t, d.target, d.recorded())
		if err := os.Remove("atlantide.key"); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, code := atlantide(t.Context(), "state", "show", statePassword, "--reveal")
		if code != exitError || !strings.Contains(stderr, "atlantide.key") || strings.Contains(stdout, "result") {
			t.Errorf("exit code %d: %s%s", code, stdout, stderr)
		}
		if _, _, code := atlantide(t.Context(), "state", "show", statePassword); code != exitOK {
			t.Errorf("exit code %d without --reveal, which needs no key", code)
		}
	})
}

// What the schema calls sensitive does not show, even where it was recorded as it is.
func TestStateHidesWhatWasNotSealed(t *testing.T) {
	onBothStores(t, func(d *desk) {
		batch := d.recorded()
		batch.PutRows[1].Outputs["result"] = sealedText
		record(t, d.target, batch)
		for _, args := range [][]string{{"show", statePassword}, {"show", statePassword, "--json"}} {
			stdout, _, code := atlantide(t.Context(), append([]string{"state"}, args...)...)
			if code != exitOK || strings.Contains(stdout, sealedText) || !strings.Contains(stdout, "(sensitive)") {
				t.Errorf("exit code %d: %s", code, stdout)
			}
		}
	})
}

// A row that anybody wrote steers no terminal and no CI service.
func TestStateOfHostileNames(t *testing.T) {
	onBothStores(t, func(d *desk) {
		id := "demo:local.Null:\x1b[2J\n::error::x\u202e"
		record(t, d.target, state.Batch{PutRows: []*state.Row{{ID: id, Type: "local.\rNull", Status: "\tcreated\n", InputHash: "ab", Properties: map[string]any{"\x1b": "\x1b\n"}}}})
		for _, args := range [][]string{{"list"}, {"show", id}, {"rm", id}, {"rm", id, "-y"}} {
			stdout, stderr, _ := atlantide(t.Context(), append([]string{"state"}, args...)...)
			if strings.ContainsAny(stdout+stderr, "\x1b\r\u202e") || strings.Contains(stdout+stderr, "\n::error::") {
				t.Errorf("%v: %q", args, stdout+stderr)
			}
		}
		if n := len(d.load().Rows); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

// Items 100 and 101.
func TestStateRm(t *testing.T) {
	onBothStores(t, func(d *desk) {
		record(t, d.target, d.recorded())
		before := d.load()
		d.run("rm-unknown", exitError, "rm", "demo:x:a", statePassword, "demo:x:b", "-y")
		d.run("rm-guarded", exitError, "rm", statePassword, stateFile, "-y")
		d.run("rm-unasked", exitError, "rm", statePassword)
		d.run("rm-usage", exitError, "rm", "-y")
		sameState(t, "refused", before, d.load())
		if kept := snapshots(t); len(kept) > 0 {
			t.Errorf("a snapshot was taken of nothing: %v", kept)
		}
		d.run("rm", exitOK, "rm", statePassword, stateNull+state.ReplacedSuffix, statePassword, "-y")
		d.free()
		if s := d.load(); s.Rows[statePassword] != nil || len(s.Rows) != 2 || len(s.Pending) != 0 {
			t.Errorf("left: %v, %v", s.Rows, s.Pending)
		}
		kept := snapshots(t)
		if len(kept) != 1 {
			t.Fatalf("snapshots: %v", kept)
		}
		d.run("rm-no-backup", exitOK, "rm", stateFile, "--force", "--no-backup", "-y")
		if again := snapshots(t); len(again) != 1 {
			t.Errorf("snapshots: %v", again)
		}
		if _, stderr, code := atlantide(t.Context(), "state", "restore", kept[0], "--force", "-y"); code != exitOK {
			t.Fatal(stderr)
		}
		sameState(t, "the snapshot is the state before", before, d.load())
		// The last one of a flag and its opposite counts.
		d.run("rm-backup-again", exitOK, "rm", stateFile, "--force", "--no-backup", "--backup", "-y")
		d.free()
	})
}

func snapshots(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("atlantide-state-*.atlas-state")
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Item 110, and the rows of item 111 that a lock has to do with.
func TestStateUnlock(t *testing.T) {
	const owner = "build-7-0123456789ab"
	onBothStores(t, func(d *desk) {
		record(t, d.target, d.recorded())
		d.run("unlock-none", exitOK, "unlock")
		d.run("unlock-none-all", exitError, "unlock", "--all", "-y")
		h := d.hold(owner)
		d.run("unlock-list", exitOK, "unlock")
		d.run("unlock-unknown", exitError, "unlock", "--owner", "nobody", "-y")
		d.run("unlock-unasked", exitError, "unlock", "--owner", owner)
		if err := h.Check(); err != nil {
			t.Errorf("a list broke the lock: %v", err)
		}
		d.run("unlock", exitOK, "unlock", "--owner", owner, "-y")
		err := d.target.Store.Commit(t.Context(), d.target.Partition, h.Fence(), state.Batch{DeleteRows: []string{stateFile}})
		if !model.IsKind(err, model.FencedWriteError) {
			t.Errorf("the run of a broken lock wrote: %v", err)
		}
		h.Abandon()
		d.free()
		d.hold(owner).Abandon()
		d.run("unlock-node", exitOK, "unlock", "--node", stateFile, "-y")
		d.free()
		d.hold("o'brien $(reboot)").Abandon()
		d.run("unlock-list-quoted", exitOK, "unlock")
		d.run("unlock-all", exitOK, "unlock", "--all", "-y")
		d.free()
		if _, err := d.target.store.TakeLock(t.Context(), d.target.Partition, owner, -time.Hour); err != nil {
			t.Fatal(err)
		}
		d.run("unlock-list-expired", exitOK, "unlock")
		d.run("unlock-expired", exitOK, "unlock", "--all", "-y")
		d.free()
	})
}

// Item 109: what writes, or has to see a state that stands still, waits for nobody.
func TestStateThatIsLocked(t *testing.T) {
	onBothStores(t, func(d *desk) {
		record(t, d.target, d.recorded())
		if _, stderr, code := atlantide(t.Context(), "state", "backup", "b.atlas-state"); code != exitOK {
			t.Fatal(stderr)
		}
		h := d.hold("build-7-0123456789ab")
		before := d.load()
		for _, args := range [][]string{
			{"backup"}, {"rm", statePassword, "-y"}, {"rm", statePassword, "-y", "--no-backup"}, {"restore", "b.atlas-state", "-y"},
		} {
			_, stderr, code := atlantide(t.Context(), append([]string{"state"}, args...)...)
			if code != exitError || !strings.Contains(stderr, "locked by 'build-7-0123456789ab'") || !strings.Contains(stderr, "atlantide state unlock") {
				t.Errorf("%v: exit code %d: %s", args, code, stderr)
			}
		}
		if stdout, stderr, code := atlantide(t.Context(), "state", "list"); code != exitOK {
			t.Errorf("a read is refused: %s%s", stdout, stderr)
		}
		if kept := snapshots(t); len(kept) > 0 {
			t.Errorf("a refused command left %v", kept)
		}
		if now := d.load(); now.Serial != before.Serial {
			t.Errorf("the serial went from %d to %d", before.Serial, now.Serial)
		}
		if err := errors.Join(h.Check(), h.Release(t.Context())); err != nil {
			t.Error(err)
		}
	})
}
