package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// applySecretly applies a config with the secrets of the install.
func (i *install) applySecretly(body string) (*engine.Result, error) {
	i.Helper()
	session := i.session()
	req := i.request(body)
	req.Secrets, req.Recorder = session, session.Recorder()
	return i.engine.Apply(i.Context(), req)
}

// TestCanary puts secrets wherever a config can put them, and looks for them in everything
// that a run leaves behind or says (SC-17, X-20, X-21, N-14).
func TestCanary(t *testing.T) {
	i := secretiveInstall(t)
	var said []string
	i.engine.Events = func(e apply.Event) { said = append(said, fmt.Sprint(e)) }
	result, err := i.applySecretly(secretive)
	if err != nil {
		t.Fatal(err)
	}
	i.wantFiles(map[string]string{"plain": "sentinel-1", "joined": "x-sentinel-3", "env": "sentinel-env"})
	said = append(said, i.everything(), result.Plan.Text(), fmt.Sprint(result.Report))
	p, err := i.plan(secretive, i.snapshot())
	if err != nil || p.HasPending() {
		t.Errorf("the second plan has something to do: %v", err)
	}
	i.set("token", "sentinel-4")
	if p, err = i.plan(secretive, i.snapshot()); err != nil || fmt.Sprint(pendingOf(p)) != "[update s:local.File:plain]" {
		t.Errorf("after a rotation: %v, %v", pendingOf(p), err)
	}
	blocked := secretive + "\nFile('deep', path='plain/deep', content=SecretRef('token'))" // plain is a file
	_, err = i.applySecretly(blocked)
	wantKind(t, err, model.ProviderError, "s:local.File:deep")
	said = append(said, err.Error(), i.everything())
	drift, err := i.engine.Refresh(t.Context(), engine.RefreshRequest{Snapshot: i.snapshot(), Owner: owner, Secrets: i.session()})
	if err != nil {
		t.Fatal(err)
	}
	said = append(said, fmt.Sprint(drift))
	for _, text := range said {
		if strings.Contains(text, "sentinel") {
			t.Errorf("a secret is in:\n%s", text)
		}
	}
}

// everything is what the store holds of the partition, as text.
func (i *install) everything() string {
	i.Helper()
	s := i.snapshot()
	var parts []string
	for _, row := range s.Rows {
		parts = append(parts, fmt.Sprint(*row))
	}
	for _, entry := range s.Pending {
		parts = append(parts, fmt.Sprint(*entry.Row))
	}
	return strings.Join(append(parts, fmt.Sprint(s.Outputs)), "\n")
}

func pendingOf(p *plan.Plan) []string {
	var left []string
	if p != nil {
		for k := range p.Changes {
			if c := &p.Changes[k]; c.Pending() {
				left = append(left, string(c.Action)+" "+c.NodeID)
			}
		}
	}
	return left
}

// TestSealedPassword: a generated secret is sealed in its row and in the output made of it,
// and with key material no run is refused for want of it (SC-9).
func TestSealedPassword(t *testing.T) {
	i := newInstall(t, map[string]string{"unused": "x"})
	i.withAll()
	c, err := i.compileWhole("from atlantide.core import Stack, output\nfrom atlantide.providers.random import Password\n" +
		"with Stack('s', region='r'):\n    p = Password('p')\n    output('o', p.result)\n")
	if err != nil {
		t.Fatal(err)
	}
	session := i.session()
	req := i.request("pass")
	req.Compilation, req.Secrets, req.Recorder = c, session, session.Recorder()
	result, err := i.engine.Apply(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := result.Report.Outputs["s:o"].(string)
	if password == "" || strings.Contains(i.everything(), password) {
		t.Errorf("the password %q stands in the state:\n%s", password, i.everything())
	}
	req.Secrets = i.session()
	if result, err = i.engine.Apply(t.Context(), req); err != nil || result.Report != nil {
		t.Errorf("the second run: %+v, %v", result, err)
	}
}

func (d *desk) remove(path string) {
	d.Helper()
	if err := os.Remove(filepath.Join(d.dataDir, path)); err != nil {
		d.Fatal(err)
	}
}

func (d *desk) write(path, text string) {
	d.Helper()
	file := filepath.Join(d.dataDir, path)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		d.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		d.Fatal(err)
	}
}

// interposed is a locker that lets something happen between the look and the lock.
func interposed(l lease.Locker, meanwhile func()) lease.Locker {
	return lockerFunc(func(ctx context.Context) (lease.Handle, error) {
		meanwhile()
		return l.Acquire(ctx)
	})
}

// TestRefreshUnderItsLock: rows that vanished before the lock are not brought back, those
// that appeared are left alone (RF-6).
func TestRefreshUnderItsLock(t *testing.T) {
	d := newDesk(t)
	d.mustApply("File('a', path='a')\nFile('b', path='b')")
	before := d.snapshot()
	d.remove("a")
	d.remove("b")
	meanwhile := interposed(d.locker, func() { d.mustApply("File('b', path='b')\nFile('c', path='c')"); d.remove("c") })
	drift, err := d.engine.Refresh(t.Context(), engine.RefreshRequest{
		Snapshot: before, Owner: owner, Write: true, Prune: true, Partition: partition, Store: d.store, Locker: meanwhile,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(drift.Nodes) != 1 || drift.Nodes[0].NodeID != "s:local.File:b" {
		t.Errorf("drift %+v", drift)
	}
	rows := d.snapshot().Rows
	if len(rows) != 1 || rows["s:local.File:c"] == nil || rows["s:local.File:c"].InputHash == "" {
		t.Errorf("rows %v", rows)
	}
}

// TestImport: a pattern stands for what it matches, an external id for one node, and a dry
// run asks for no lock (RF-11, RF-15, RF-16).
func TestImport(t *testing.T) {
	d := newDesk(t)
	d.mustApply("File('a', path='a', content='x')\nFile('b', path='b', content='y')")
	if _, err := d.engine.Destroy(t.Context(), engine.DestroyRequest{Partition: partition, Store: d.store, Locker: d.locker, Owner: owner}); err != nil {
		t.Fatal(err)
	}
	d.write("a", "x")
	body := "File('a', path='a', content='x')\nFile('b', path='b', content='y')"
	req := engine.ImportRequest{
		Compilation: d.compile(body), Partition: partition, Store: d.store, Locker: d.locker, Owner: owner, Node: "s:local.File:*", DryRun: true,
	}
	locks := d.locks.Load()
	report, err := d.engine.Import(t.Context(), req)
	if err != nil || report.Refused != 1 || len(report.Nodes) != 2 || report.Nodes[0].Status != apply.WouldImport || d.locks.Load() != locks {
		t.Fatalf("%+v, %v", report, err)
	}
	req.DryRun = false
	if report, err = d.engine.Import(t.Context(), req); err != nil || report.Imported != 1 || report.Nodes[1].Status != apply.NotFound {
		t.Fatalf("%+v, %v", report, err)
	}
	clear(d.calls)
	result := d.mustApply(body)
	if diff := cmp.Diff([]string{"s:local.File:b"}, result.Report.Created); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	req.ExternalID = "i-1"
	_, err = d.engine.Import(t.Context(), req)
	wantKind(t, err, model.TargetError, "matches 2")
	req.Node = "s:local.File:none"
	if report, err = d.engine.Import(t.Context(), req); err != nil || report.Nodes[0].Status != apply.Blocked {
		t.Errorf("%+v, %v", report, err)
	}
	req.Node, req.ExternalID = "none*", ""
	_, err = d.engine.Import(t.Context(), req)
	wantKind(t, err, model.TargetError, "none*")
	if listed := d.engine.Importable(req, &state.Snapshot{}); len(listed) != 2 {
		t.Errorf("importable %+v", listed)
	}
}

// restarting is a store that is away for a number of writes.
type restarting struct {
	state.Store
	away, loads int
}

func (s *restarting) Commit(ctx context.Context, p string, f model.Fence, b state.Batch) error {
	if s.away > 0 {
		s.away--
		return model.Errorf(model.StateError, model.ClassTransient, "away: %w", state.ErrUnavailable)
	}
	return s.Store.Commit(ctx, p, f, b)
}

func (s *restarting) Load(ctx context.Context, p string) (*state.Snapshot, error) {
	s.loads++
	return s.Store.Load(ctx, p)
}

// TestStoreRestartsInARun: writes wait for the store as long as the backoff says, and a
// store that stays away ends the run with nothing undone, which could not be recorded
// (LS-22).
func TestStoreRestartsInARun(t *testing.T) {
	for _, c := range []struct {
		away int
		fits bool
	}{{3, true}, {4, false}} {
		d := newDesk(t)
		d.engine.Backoff = func(attempt int) (time.Duration, bool) { return 0, attempt < 3 }
		store := &restarting{Store: d.store, away: c.away}
		req := d.request("File('a', path='a')")
		req.Store, req.OnFailure = store, plan.OnFailureRollback
		result, err := d.engine.Apply(t.Context(), req)
		if store.loads != 1 {
			t.Errorf("the state was read %d times; nobody wrote between the look and the lock", store.loads)
		}
		if c.fits {
			if err != nil {
				t.Errorf("away for %d writes: %v", c.away, err)
			}
			continue
		}
		if !errors.Is(err, state.ErrUnavailable) || result.Report.RollbackSkipped == nil || !strings.Contains(*result.Report.RollbackSkipped, "unavailable") {
			t.Errorf("away for %d writes: %v, %+v", c.away, err, result.Report)
		}
	}
}

// TestReportOfNothing: a deploy with nothing to do still says what stands (PL-17).
func TestReportOfNothing(t *testing.T) {
	d := newDesk(t)
	const body = "a = File('a', path='a')\noutput('sum', a.checksum)"
	d.mustApply(body)
	locks := d.locks.Load()
	req := d.request(body)
	req.Report = true
	result, err := d.engine.Apply(t.Context(), req)
	if err != nil || result.Report == nil || d.locks.Load() != locks {
		t.Fatalf("%+v, %v", result, err)
	}
	if len(result.Report.Noop) != 1 || len(result.Report.Outputs) != 1 {
		t.Errorf("report %+v", result.Report)
	}
}
