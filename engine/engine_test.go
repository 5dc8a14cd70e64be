package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/apply/applytest"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/lease/leasetest"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/memory"
	"github.com/atlantide-org/atlantide-operator/providers"
	"github.com/atlantide-org/atlantide-operator/providers/local"
)

var _ engine.Registry = (*providers.Registry)(nil)

const (
	partition = "5f0c1c2e-7c1f-4c7a-9d59-0f7f2a3a9a10"
	owner     = "team-a/" + partition
)

// desk is an engine over the local provider, with everything that a run needs.
type desk struct {
	*testing.T
	engine  *engine.Engine
	store   *memory.Store
	locker  lease.Locker
	dataDir string // where the owner's files are
	calls   map[string]int
	locks   *atomic.Int32
	kill    *applytest.Kill // nil = nobody
	policy  providers.Provider
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	root := t.TempDir()
	d := &desk{T: t, store: memory.New(), calls: map[string]int{}, locks: &atomic.Int32{},
		dataDir: filepath.Join(root, filepath.FromSlash(owner)), policy: local.NewTenants(root, local.Quota{})}
	d.build()
	d.locker = d.counted(leasetest.NewLocal(uuid.NewString, func(ctx context.Context, f model.Fence) error { return d.store.Claim(ctx, partition, f) }))
	return d
}

// killable lets a test put a Kill around a provider that the registry holds.
type killable struct {
	providers.Provider
	desk *desk
}

func (k killable) around() apply.Provider {
	if k.desk.kill == nil {
		return k.Provider
	}
	return k.desk.kill.Provider(k.Provider)
}

func (k killable) Create(ctx context.Context, r *model.Request) (model.Outputs, error) {
	return k.around().Create(ctx, r)
}

func (k killable) Update(ctx context.Context, r *model.Request) (model.Outputs, error) {
	return k.around().Update(ctx, r)
}

func (k killable) Delete(ctx context.Context, r *model.Request) error {
	return k.around().Delete(ctx, r)
}

// build makes the engine, with providers beside the one of the desk.
func (d *desk) build(beside ...providers.Provider) {
	d.Helper()
	counted := make([]providers.Provider, 0, len(beside)+1)
	for _, p := range append(beside, killable{d.policy, d}) {
		counted = append(counted, providers.Count(p, func(_, op string) { d.calls[op]++ }))
	}
	registry, err := providers.NewRegistry(counted...)
	if err != nil {
		d.Fatal(err)
	}
	d.engine = &engine.Engine{Registry: registry, Parallelism: 1, Now: time.Now, NewID: uuid.NewString}
}

type lockerFunc func(ctx context.Context) (lease.Handle, error)

func (f lockerFunc) Acquire(ctx context.Context) (lease.Handle, error) { return f(ctx) }

func (d *desk) counted(l lease.Locker) lease.Locker {
	return lockerFunc(func(ctx context.Context) (lease.Handle, error) {
		d.locks.Add(1)
		return l.Acquire(ctx)
	})
}

func (d *desk) compile(body string) *ir.Compilation {
	d.Helper()
	text := "from atlantide.core import Lifecycle, SecretRef, Stack, concat, output\nfrom atlantide.providers.local import File, Null\n" +
		"with Stack('s', region='r'):\n    " + strings.ReplaceAll(strings.TrimSpace(body), "\n", "\n    ") + "\n"
	c, err := d.engine.Compile(d.Context(), engine.Source{Filename: "infra.py", Text: text}, engine.CompileOptions{})
	if err != nil {
		d.Fatalf("%s\n%v", text, err)
	}
	return c
}

func (d *desk) request(body string) engine.ApplyRequest {
	d.Helper()
	return engine.ApplyRequest{Compilation: d.compile(body), Partition: partition, Store: d.store, Locker: d.locker,
		Owner: owner, OnFailure: plan.OnFailureHalt}
}

func (d *desk) mustApply(body string) *engine.Result {
	d.Helper()
	result, err := d.engine.Apply(d.Context(), d.request(body))
	if err != nil {
		d.Fatalf("apply: %v", err)
	}
	return result
}

func (d *desk) snapshot() *state.Snapshot {
	d.Helper()
	s, err := d.store.Load(d.Context(), partition)
	if err != nil {
		d.Fatal(err)
	}
	return s
}

func (d *desk) wantFiles(want map[string]string) {
	d.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(d.dataDir, func(p string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		rel, _ := filepath.Rel(d.dataDir, p)
		got[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		d.Errorf("files (-want +got):\n%s", diff)
	}
}

func (d *desk) wantCalls(want map[string]int) {
	d.Helper()
	if diff := cmp.Diff(want, d.calls); diff != "" {
		d.Errorf("provider calls (-want +got):\n%s", diff)
	}
	clear(d.calls)
}

func wantKind(t *testing.T, err error, kind model.Kind, says string) {
	t.Helper()
	if model.KindOf(err) != kind || err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("error %s %v, want %s with %q", model.KindOf(err), err, kind, says)
	}
}

const walkthrough = `
greeting = File("greeting", path="out/greeting.txt", content="hello atlantide")
File("receipt", path="out/receipt.txt", content=greeting.checksum)
output("sum", greeting.checksum)`

func TestApplyTwice(t *testing.T) {
	d := newDesk(t)
	result := d.mustApply(walkthrough)
	d.wantCalls(map[string]int{"create": 2})
	checksum := d.snapshot().Outputs["s:sum"].Value.(string)
	d.wantFiles(map[string]string{"out/greeting.txt": "hello atlantide", "out/receipt.txt": checksum})
	if len(result.Report.Created) != 2 || result.Report.Outputs["s:sum"] != checksum {
		t.Errorf("report %+v", result.Report)
	}
	locks, serial := d.locks.Load(), d.snapshot().Serial
	result = d.mustApply(walkthrough)
	if result.Report != nil || result.Plan.HasPending() {
		t.Errorf("a steady apply reported %+v", result.Report)
	}
	d.wantCalls(map[string]int{})
	if d.locks.Load() != locks || d.snapshot().Serial != serial {
		t.Error("a steady apply took the lock or wrote")
	}
}

func TestOutputAloneIsCommitted(t *testing.T) {
	d := newDesk(t)
	d.mustApply(walkthrough)
	clear(d.calls)
	result := d.mustApply(walkthrough + "\noutput('more', 'x')")
	d.wantCalls(map[string]int{})
	if result.Report == nil || d.snapshot().Outputs["s:more"].Value != "x" {
		t.Errorf("report %+v, outputs %v", result.Report, d.snapshot().Outputs)
	}
}

// TestKilledReplace kills a path replace before and after each of its steps. Whatever
// is applied next, no file is left behind.
func TestKilledReplace(t *testing.T) {
	from := `a = File("a", path="old/a", content="x")
File("b", path="b", content=a.checksum)`
	to := strings.Replace(from, "old/a", "new/a", 1)
	for name, next := range map[string]string{"again": to, "back": from, "onwards": strings.Replace(from, "old/a", "third", 1)} {
		for _, after := range []bool{false, true} {
			killed := true
			for step := 0; killed; step++ {
				t.Run(fmt.Sprintf("%s, step %d, after %v", name, step, after), func(t *testing.T) {
					d := newDesk(t)
					d.mustApply(from)
					checksum := d.snapshot().Rows["s:local.File:a"].Outputs["checksum"].(string)
					d.kill = &applytest.Kill{At: step, After: after}
					req := d.request(to)
					req.Store = d.kill.Store(d.store)
					_, err := d.engine.Apply(t.Context(), req)
					if killed = d.kill.Dead(); killed != (err != nil) {
						t.Fatalf("killed: %v, error %v", killed, err)
					}
					d.kill = nil
					d.mustApply(next)
					path := d.snapshot().Rows["s:local.File:a"].Properties["path"].(string)
					d.wantFiles(map[string]string{path: "x", "b": checksum})
					if s := d.snapshot(); len(s.Pending) != 0 || len(s.Rows) != 2 {
						t.Errorf("state is left: %d rows, %d pending destroys", len(s.Rows), len(s.Pending))
					}
					clear(d.calls)
					d.mustApply(next)
					d.wantCalls(map[string]int{})
				})
			}
		}
	}
}

func TestRefusedBeforeTheLock(t *testing.T) {
	for _, c := range []struct {
		reason, first, then string
		kind                model.Kind
		says                string
	}{
		{"a literal path outside the owner's root is refused by the provider", "", `File("x", path="../x")`,
			model.ProviderError, "s:local.File:x"},
		{"a rename that keeps the path would take the file along", "File('a', path='a')", "File('b', path='a')", model.AtlantideError, "s:local.File:b"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			d := newDesk(t)
			if c.first != "" {
				d.mustApply(c.first)
			}
			locks, serial := d.locks.Load(), d.snapshot().Serial
			_, err := d.engine.Apply(t.Context(), d.request(c.then))
			wantKind(t, err, c.kind, c.says)
			if model.ClassOf(err) != model.ClassUser {
				t.Errorf("class %v of %v, want a user error", model.ClassOf(err), err)
			}
			if d.locks.Load() != locks || d.snapshot().Serial != serial {
				t.Error("the lock was taken or something was written")
			}
		})
	}
}

// A run that only brings rows in line takes the lock for it, once, and a destroy goes by
// what it wrote (PL-3).
func TestOrderAloneReachesTheRow(t *testing.T) {
	d := newDesk(t)
	const first, ordered = "a = File('a', path='a')\nFile('b', path='b')", "a = File('a', path='a')\nFile('b', path='b', depends_on=[a])"
	d.mustApply(first)
	clear(d.calls)
	serial, locks := d.snapshot().Serial, d.locks.Load()
	result := d.mustApply(ordered)
	d.wantCalls(map[string]int{})
	if result.Plan.HasPending() || len(result.Report.Noop) != 2 || d.locks.Load() != locks+1 || d.snapshot().Serial != serial+1 {
		t.Errorf("report %+v, %d locks, %d writes", result.Report, d.locks.Load()-locks, d.snapshot().Serial-serial)
	}
	if got := d.snapshot().Rows["s:local.File:b"].DependsOn; len(got) != 1 || got[0] != "s:local.File:a" {
		t.Errorf("the row depends on %v", got)
	}
	if again := d.mustApply(ordered); again.Report != nil || d.locks.Load() != locks+1 {
		t.Errorf("the next apply took the lock: %+v", again.Report)
	}
}

// What no store can keep and what nobody seals is refused before the lock, by an engine
// that is told nothing else.
func TestUnrecordableIsRefusedBeforeTheLock(t *testing.T) {
	for _, c := range []struct {
		reason, body string
		plain        bool
		kind         model.Kind
		says         string
	}{
		{"NUL in a field", `File("x", path="x", content="a\0b")`, false, model.StateError, "s:local.File:x.content"},
		{"NUL in an output", `output("o", ["a\0b"])`, false, model.StateError, "'s:o'"},
		{"a sealed literal in an output", `output("o", {"$sealed": "v2:x"})`, false, model.StateError, "'s:o'"},
		{"a password without a key", `Password("p")`, false, model.AtlantideError, "s:random.Password:p"},
		{"a password where plain text is agreed to", `Password("p")`, true, "", ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			d := newDesk(t).withAll()
			d.engine.PlainSecrets = c.plain
			compilation, err := d.compileWhole("from atlantide.core import Stack, output\nfrom atlantide.providers.local import File\n" +
				"from atlantide.providers.random import Password\nwith Stack('s', region='r'):\n    " + c.body + "\n")
			if err != nil {
				t.Fatal(err)
			}
			req := d.request("pass")
			req.Compilation = compilation
			_, err = d.engine.Apply(t.Context(), req)
			if c.kind == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantKind(t, err, c.kind, c.says)
			if model.ClassOf(err) != model.ClassUser || d.locks.Load() != 0 || d.snapshot().Serial != 0 {
				t.Errorf("class %v, %d locks, serial %d", model.ClassOf(err), d.locks.Load(), d.snapshot().Serial)
			}
		})
	}
}

func TestExpectedDigest(t *testing.T) {
	d := newDesk(t)
	req := d.request(walkthrough)
	p, err := d.engine.Plan(t.Context(), engine.PlanRequest{Compilation: req.Compilation, Snapshot: d.snapshot(), Owner: owner, OnFailure: req.OnFailure})
	if err != nil {
		t.Fatal(err)
	}
	digest, err := p.ChangesetDigest()
	if err != nil {
		t.Fatal(err)
	}
	req.Expect = strings.Replace(digest, digest[len(digest)-4:], "0000", 1)
	_, err = d.engine.Apply(t.Context(), req)
	wantKind(t, err, model.PlanDriftError, digest)
	req.Expect = digest[:20]
	_, err = d.engine.Apply(t.Context(), req)
	wantKind(t, err, model.PlanDriftError, "approve the new digest")
	d.wantCalls(map[string]int{})
	if d.locks.Load() != 0 {
		t.Error("a plan that is not the approved one took the lock")
	}

	// Between the plan that was shown and the lock, somebody changes what is recorded.
	req.Expect = digest
	inner := req.Locker
	req.Locker = lockerFunc(func(ctx context.Context) (lease.Handle, error) {
		h, err := inner.Acquire(ctx)
		if err == nil {
			row := &state.Row{ID: "s:local.File:greeting", Type: "local.File", Provider: "local", Status: state.StatusCreating}
			err = d.store.Commit(ctx, partition, h.Fence(), state.Batch{PutRows: []*state.Row{row}})
		}
		return h, err
	})
	_, err = d.engine.Apply(t.Context(), req)
	wantKind(t, err, model.PlanDriftError, "")
	d.wantCalls(map[string]int{})

	req.Locker = inner
	req.Expect = ""
	if _, err := d.engine.Apply(t.Context(), req); err != nil {
		t.Errorf("the lock was not released after the refusal: %v", err)
	}
}

func TestRowsThatAppearWhileWaiting(t *testing.T) {
	d := newDesk(t)
	d.mustApply(walkthrough)
	clear(d.calls)
	inner := d.locker
	intruder := lockerFunc(func(ctx context.Context) (lease.Handle, error) {
		h, err := inner.Acquire(ctx)
		if err == nil {
			row := &state.Row{ID: "s:local.File:new", Type: "local.File", Provider: "local", Status: state.StatusCreated}
			err = d.store.Commit(ctx, partition, h.Fence(), state.Batch{PutRows: []*state.Row{row}})
		}
		return h, err
	})
	_, err := d.engine.Destroy(t.Context(), engine.DestroyRequest{Partition: partition, Store: d.store, Locker: intruder, Owner: owner})
	wantKind(t, err, model.StateError, "s:local.File:new")
	d.wantCalls(map[string]int{})
}

func TestHeldLock(t *testing.T) {
	d := newDesk(t)
	h, err := d.locker.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.engine.Apply(t.Context(), d.request(walkthrough))
	wantKind(t, err, model.LockError, h.Fence().Holder)
	d.wantCalls(map[string]int{})
	if err := h.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.mustApply(walkthrough)
}

func TestGateSeesThePlanUnderTheLock(t *testing.T) {
	d := newDesk(t)
	req := d.request(walkthrough)
	withdrawn := model.Errorf(model.PlanDriftError, model.ClassUser, "the approval was withdrawn")
	req.Gate = func(_ context.Context, phase apply.Phase, p *plan.Plan) error {
		if phase != apply.PhaseChange || len(p.Changes) != 2 {
			t.Errorf("the gate was asked for phase %s of %d changes", phase, len(p.Changes))
		}
		return withdrawn
	}
	if _, err := d.engine.Apply(t.Context(), req); !errors.Is(err, withdrawn) {
		t.Errorf("error %v", err)
	}
	d.wantCalls(map[string]int{})
}

// releasing is a handle that records how it was given back.
type releasing struct {
	lease.Handle
	how *string
	err error
}

func (r releasing) Release(ctx context.Context) error {
	*r.how += "released"
	return errors.Join(r.Handle.Release(ctx), r.err, ctx.Err())
}

func (r releasing) Abandon() { *r.how += "abandoned" }

func TestLockIsGivenBack(t *testing.T) {
	failing := errors.New("api server gone")
	for _, c := range []struct {
		reason  string
		release error
		config  string
		cancel  bool
		want    model.Kind
	}{
		{"after a success", nil, walkthrough, false, ""},
		{"a failing release replaces no result", failing, walkthrough, false, ""},
		{"after a failure, which it does not replace", failing, `File("d", path="blocked")`, false, model.ProviderError},
		{"after an interrupt, on a context that is alive", nil, walkthrough, true, model.InterruptedRunError},
	} {
		t.Run(c.reason, func(t *testing.T) {
			d := newDesk(t)
			if err := os.MkdirAll(filepath.Join(d.dataDir, "blocked"), 0o755); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			how := ""
			req := d.request(c.config)
			inner := req.Locker
			req.Locker = lockerFunc(func(ctx context.Context) (lease.Handle, error) {
				h, err := inner.Acquire(ctx)
				if c.cancel {
					cancel()
				}
				return releasing{h, &how, c.release}, err
			})
			_, err := d.engine.Apply(ctx, req)
			if c.want == "" && err != nil || c.want != "" && model.KindOf(err) != c.want {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if how != "released" {
				t.Errorf("the lock was %q", how)
			}
			var typed *model.Error
			if c.want == model.ProviderError && (!errors.As(err, &typed) || len(typed.AlsoFailed) != 1) {
				t.Errorf("the failed release is not with the error: %+v", typed)
			}
		})
	}
}

func TestDestroyAndRefresh(t *testing.T) {
	d := newDesk(t)
	d.mustApply(walkthrough)
	drift, err := d.engine.Refresh(t.Context(), engine.RefreshRequest{Snapshot: d.snapshot(), Owner: owner})
	if err != nil || drift.Drift || len(drift.Nodes) != 2 {
		t.Errorf("drift %+v, %v", drift, err)
	}
	if err := os.WriteFile(filepath.Join(d.dataDir, "out/greeting.txt"), []byte("tampered"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(d.dataDir, "out/receipt.txt")); err != nil {
		t.Fatal(err)
	}
	drift, err = d.engine.Refresh(t.Context(), engine.RefreshRequest{Snapshot: d.snapshot(), Owner: owner})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, n := range drift.Nodes {
		got[model.LocalName(n.NodeID)] = n.Kind + strings.Join(n.Observed, ",") + "/" + strings.Join(n.Unobserved, ",") + fmt.Sprint(len(n.Changed))
	}
	want := map[string]string{"greeting": apply.Drifted + "path/content1", "receipt": apply.Missing + "/0"}
	if !maps.Equal(got, want) || !drift.Drift {
		t.Errorf("verdicts %v, want %v", got, want)
	}
	clear(d.calls)
	request := engine.DestroyRequest{Partition: partition, Store: d.store, Locker: d.locker, Owner: owner}
	result, err := d.engine.Destroy(t.Context(), request)
	if err != nil || len(result.Report.Deleted) != 2 {
		t.Errorf("destroy: %+v, %v", result, err)
	}
	d.wantCalls(map[string]int{"delete": 2})
	d.wantFiles(map[string]string{})
	if s := d.snapshot(); len(s.Rows)+len(s.Outputs) != 0 {
		t.Errorf("state is left: %+v", s)
	}
	locks := d.locks.Load()
	result, err = d.engine.Destroy(t.Context(), request)
	if err != nil || result.Report == nil || len(result.Report.Deleted) != 0 || d.locks.Load() != locks {
		t.Errorf("destroy of nothing: %+v, %v", result, err)
	}
}
