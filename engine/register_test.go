package engine_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/lease/leasetest"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// at is a request for a place.
func (d *desk) at(p place, c *ir.Compilation) engine.ApplyRequest {
	return engine.ApplyRequest{Compilation: c, Partition: p.Partition, Store: p.Store, Locker: p.Locker, Owner: owner, OnFailure: plan.OnFailureRollback}
}

// TestPartitionsOfOneStore: of two Stacks in one store neither plans anything of the other,
// and a destroy of the one leaves the other (X-17, ST-17, N-10).
func TestPartitionsOfOneStore(t *testing.T) {
	d := newDesk(t)
	other := uuid.NewString()
	request := d.request("File('b', path='b', content='theirs')\noutput('o', 'theirs')")
	request.Partition, request.Owner = other, "team-b/"+other
	request.Locker = leasetest.NewLocal(uuid.NewString, func(ctx context.Context, f model.Fence) error { return d.store.Claim(ctx, other, f) })
	d.mustApply("File('a', path='a', content='ours')\noutput('o', 'ours')")
	result, err := d.engine.Apply(t.Context(), request)
	if err != nil || len(result.Plan.Changes) != 1 || len(result.Plan.Outputs.Retired) > 0 {
		t.Fatalf("%v: planned %+v", err, result.Plan)
	}
	if result := d.mustApply("File('a', path='a', content='ours')\noutput('o', 'ours')"); result.Report != nil {
		t.Errorf("the first one is not steady any more: %+v", result.Report)
	}
	if _, err := d.engine.Destroy(t.Context(), engine.DestroyRequest{Partition: other, Store: d.store, Locker: request.Locker, Owner: request.Owner}); err != nil {
		t.Fatal(err)
	}
	d.wantCalls(map[string]int{"create": 2, "delete": 1})
	if s := d.snapshot(); len(s.Rows) != 1 || s.Outputs["s:o"].Value != "ours" {
		t.Errorf("rows %v, outputs %v", s.Rows, s.Outputs)
	}
	d.wantFiles(map[string]string{"a": "ours"})
}

// TestOneLockForAState: runs with nothing in common exclude each other, since the lock is
// that of the state (X-6, ST-15, LS-1, T-128).
func TestOneLockForAState(t *testing.T) {
	d, p := newDesk(t), localPlace(t)
	if _, err := d.engine.Apply(t.Context(), d.at(p, d.compile("File('a', path='a')"))); err != nil {
		t.Fatal(err)
	}
	clear(d.calls)
	held, err := p.Locker.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	request := d.at(p, d.compile("File('a', path='a')\nFile('b', path='b')"))
	request.Targets = []string{"s:local.File:b"}
	_, err = d.engine.Apply(t.Context(), request)
	wantKind(t, err, model.LockError, held.Fence().Holder)
	d.wantCalls(map[string]int{})
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.engine.Apply(t.Context(), request); err != nil {
		t.Error(err)
	}
	p.free(t)
}

// TestBrokenLockFencesItsRun: who breaks the lock of a run that is alive stops it at once:
// it calls and writes nothing more, undoes nothing, and does not take the lock back (X-34,
// LS-11, N-31).
func TestBrokenLockFencesItsRun(t *testing.T) {
	d, p := newDesk(t), localPlace(t)
	if _, err := d.engine.Apply(t.Context(), d.at(p, d.compile("File('old', path='old')"))); err != nil {
		t.Fatal(err)
	}
	clear(d.calls)
	request := d.at(p, d.compile("File('a', path='a')"))
	var broken *state.Snapshot
	request.Gate = func(ctx context.Context, phase apply.Phase, _ *plan.Plan) error {
		if phase != apply.PhaseDelete {
			return nil
		}
		holds, err := p.locks.Holds(ctx, p.Partition)
		if err == nil {
			_, err = engine.BreakHolds(ctx, p.locks, p.Partition, holds)
		}
		broken = p.load(t)
		return err
	}
	result, err := d.engine.Apply(t.Context(), request)
	wantKind(t, err, model.FencedWriteError, "")
	d.wantCalls(map[string]int{"create": 1})
	if broken == nil || p.load(t).Serial != broken.Serial {
		t.Errorf("the broken run wrote: %+v", p.load(t))
	}
	if len(result.Report.RolledBack) > 0 || len(result.Report.Deleted) > 0 {
		t.Errorf("report %+v", result.Report)
	}
	p.free(t)
	request.Gate = nil
	if _, err := d.engine.Apply(t.Context(), request); err != nil {
		t.Errorf("the next run: %v", err)
	}
}

// TestWhatAnotherRunMade: what a run planned to create and another one created meanwhile is
// not created twice (T-173).
func TestWhatAnotherRunMade(t *testing.T) {
	d, p := newDesk(t), localPlace(t)
	first := d.at(p, d.compile(walkthrough))
	second := first
	second.Locker = interposed(first.Locker, func() {
		if _, err := d.engine.Apply(t.Context(), first); err != nil {
			t.Fatal(err)
		}
	})
	result, err := d.engine.Apply(t.Context(), second)
	if err != nil {
		t.Fatal(err)
	}
	d.wantCalls(map[string]int{"create": 2})
	if len(result.Report.Created) > 0 || len(result.Report.Noop) != 2 {
		t.Errorf("report %+v", result.Report)
	}
	p.free(t)
}

// TestCreateFirstUnderALock: the whole way with a lock of the store's own, after which
// nothing is left of the old half (X-8, N-01).
func TestCreateFirstUnderALock(t *testing.T) {
	d, p := newDesk(t), localPlace(t)
	body := func(path string) *ir.Compilation {
		return d.compile("File('a', path='" + path + "', lifecycle=Lifecycle(create_before_destroy=True))")
	}
	for _, path := range []string{"one", "two"} {
		if _, err := d.engine.Apply(t.Context(), d.at(p, body(path))); err != nil {
			t.Fatal(err)
		}
	}
	d.wantCalls(map[string]int{"create": 2, "delete": 1})
	d.wantFiles(map[string]string{"two": ""})
	if s := p.load(t); len(s.Pending) > 0 || len(s.Rows) != 1 {
		t.Errorf("%d rows and %d old halves", len(s.Rows), len(s.Pending))
	}
	if result, err := d.engine.Apply(t.Context(), d.at(p, body("two"))); err != nil || result.Report != nil {
		t.Errorf("%+v, %v", result, err)
	}
	p.free(t)
}

const environments = `from atlantide.core import Config, EnvSchema, Stack, output
from atlantide.providers.local import File
class Env(EnvSchema):
    text: str = "NOTE"
c = Config(Env, envs={"dev": {"region": "r"}, "prod": {"region": "r"}})
for e in c.envs():
    with Stack(e.name, config=e):
        File("f", path=e.name, content=e.text)
        output("text", e.text)
`

// TestNarrowedRunLeavesTheOtherEnvironment: what was applied of it stays, outputs included,
// by a config and by an artifact (X-15, X-16, N-08, N-09).
func TestNarrowedRunLeavesTheOtherEnvironment(t *testing.T) {
	for name, narrowed := range map[string]func(d *desk) *ir.Compilation{
		"config": func(d *desk) *ir.Compilation { return d.compileText(changedEnvironments, "dev") },
		"artifact": func(d *desk) *ir.Compilation {
			return d.mustLoad(d.mustBuild(d.compileText(changedEnvironments, "dev")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			request := d.request("pass")
			request.Compilation = d.compileText(environments)
			if _, err := d.engine.Apply(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			before := d.snapshot()
			request.Compilation = narrowed(d)
			result, err := d.engine.Apply(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			if len(result.Report.Updated) != 1 || len(result.Report.Deleted) > 0 {
				t.Errorf("report %+v", result.Report)
			}
			now := d.snapshot()
			const prod = "prod:local.File:f"
			if now.Rows[prod] == nil || now.Rows[prod].InputHash != before.Rows[prod].InputHash || now.Outputs["prod:text"].Value != "NOTE" || now.Outputs["dev:text"].Value != "other" {
				t.Errorf("rows %v, outputs %v", slices.Collect(maps.Keys(now.Rows)), now.Outputs)
			}
			d.wantFiles(map[string]string{"dev": "other", "prod": "NOTE"})
		})
	}
}

var changedEnvironments = strings.Replace(environments, "NOTE", "other", 1)

// TestErrorsOfAGateAreTheGates: what a gate says comes out as the very error, also where a
// run listens for secrets.
func TestErrorsOfAGateAreTheGates(t *testing.T) {
	i := secretiveInstall(t)
	session := i.session()
	request := i.request(secretive)
	request.Secrets, request.Recorder = session, session.Recorder()
	withdrawn := model.Errorf(model.PlanDriftError, model.ClassUser, "the approval was withdrawn")
	request.Gate = func(context.Context, apply.Phase, *plan.Plan) error { return withdrawn }
	if _, err := i.engine.Apply(t.Context(), request); !errors.Is(err, withdrawn) {
		t.Errorf("error %v", err)
	}
}
