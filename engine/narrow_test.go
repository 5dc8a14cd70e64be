package engine_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/apply/applytest"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

const (
	greetingID = "s:local.File:greeting"
	receiptID  = "s:local.File:receipt"
	helloID    = "s:local.File:hello"
)

// renamed is the walkthrough with its first file under another name.
var renamed = strings.NewReplacer(`File("greeting", `, `File("hello", lifecycle=Lifecycle(aliases=["greeting"]), `).Replace(walkthrough)

func (d *desk) rows() []string { return slices.Sorted(maps.Keys(d.snapshot().Rows)) }

// T-058: a rename is recorded by the next run that has something to do, in a write of its
// own, and by nothing else.
func TestRename(t *testing.T) {
	d := newDesk(t)
	d.mustApply(walkthrough)
	clear(d.calls)
	if result := d.mustApply(renamed); result.Report != nil || !slices.Equal(d.rows(), []string{greetingID, receiptID}) {
		t.Errorf("a pure rename reported %+v and left the rows %v", result.Report, d.rows())
	}
	d.wantCalls(map[string]int{})

	edited := strings.Replace(renamed, "hello atlantide", "hello world", 1)
	uid := d.snapshot().Rows[greetingID].RowUID
	result := d.mustApply(edited)
	if !slices.Equal(d.rows(), []string{helloID, receiptID}) || d.snapshot().Rows[helloID].RowUID != uid {
		t.Errorf("rows %v, uid %s; want the row moved", d.rows(), d.snapshot().Rows[helloID].RowUID)
	}
	if len(result.Report.Deleted) > 0 || len(result.Report.Updated) != 2 {
		t.Errorf("report %+v; want two updates", result.Report)
	}
	d.wantCalls(map[string]int{"update": 2})
	if result := d.mustApply(edited); result.Report != nil || result.Plan.Moves != nil {
		t.Errorf("the second apply reported %+v", result.Report)
	}
}

// DF-23: a run that dies at any write leaves the row under one of its ids, and the next
// one finishes.
func TestRenameSurvivesACrash(t *testing.T) {
	edited := strings.Replace(renamed, "hello atlantide", "hello world", 1)
	for step := 0; ; step++ {
		d := newDesk(t)
		d.mustApply(walkthrough)
		kill := &applytest.Kill{At: step / 2, After: step%2 == 1}
		req := d.request(edited)
		req.Store = kill.Store(d.store)
		d.kill = kill
		_, err := d.engine.Apply(t.Context(), req)
		if !kill.Dead() {
			if err != nil || step < 6 {
				t.Fatalf("after %d steps: %v", step, err)
			}
			break
		}
		d.kill = nil
		rows := d.snapshot().Rows
		if (rows[greetingID] == nil) == (rows[helloID] == nil) {
			t.Fatalf("killed at step %d, the state has the rows %v", step, d.rows())
		}
		d.mustApply(edited)
		d.wantFiles(map[string]string{"out/greeting.txt": "hello world", "out/receipt.txt": d.snapshot().Rows[helloID].Outputs["checksum"].(string)})
	}
}

// T-089 and T-093, through the façade.
func TestTargetedApply(t *testing.T) {
	d := newDesk(t)
	d.mustApply(walkthrough)
	before := d.snapshot().Rows[receiptID]
	req := d.request(strings.Replace(walkthrough, "hello atlantide", "hello world", 1))
	req.Targets = []string{"*:greeting"}
	result, err := d.engine.Apply(t.Context(), req)
	if err != nil || !slices.Equal(result.Report.Updated, []string{greetingID}) {
		t.Fatalf("%+v, %v; want one update", result.Report, err)
	}
	if diff := cmp.Diff(before, d.snapshot().Rows[receiptID]); diff != "" {
		t.Errorf("the row that was left out (-before +after):\n%s", diff)
	}
	req.Targets, req.Replace = nil, []string{greetingID}
	result, err = d.engine.Apply(t.Context(), req)
	if err != nil || !slices.Equal(result.Report.Replaced, []string{greetingID}) || !slices.Equal(result.Report.Updated, []string{receiptID}) {
		t.Errorf("%+v, %v; want a replace and what it left behind", result.Report, err)
	}
	again, err := d.engine.Apply(t.Context(), d.request(strings.Replace(walkthrough, "hello atlantide", "hello world", 1)))
	if err != nil || again.Report != nil {
		t.Errorf("%+v, %v; want nothing left to do", again, err)
	}
}

func TestTargetedDestroy(t *testing.T) {
	d := newDesk(t)
	d.mustApply(walkthrough)
	p, err := d.engine.PlanDestroyTargets(t.Context(), d.snapshot(), []string{"*:receipt"}, nil)
	if err != nil || p.Summary() != (plan.Summary{Delete: 1, Noop: 1}) {
		t.Fatalf("%+v, %v", p, err)
	}
	result, err := d.engine.Destroy(t.Context(), engine.DestroyRequest{
		Partition: partition, Store: d.store, Locker: d.locker, Owner: owner, Targets: []string{"*:receipt"},
	})
	if err != nil || !slices.Equal(result.Report.Deleted, []string{receiptID}) || len(result.Report.Noop) > 0 {
		t.Fatalf("%+v, %v", result.Report, err)
	}
	if !slices.Equal(d.rows(), []string{greetingID}) || d.snapshot().Outputs["s:sum"].Value == nil {
		t.Errorf("rows %v, outputs %v; want the other node and its output", d.rows(), d.snapshot().Outputs)
	}
}

// PL-1: what was refused is there to be shown.
func TestRefusedPlanIsReturned(t *testing.T) {
	d := newDesk(t)
	d.mustApply(strings.Replace(walkthrough, "content=greeting.checksum", "content=greeting.checksum, lifecycle=Lifecycle(prevent_destroy=True)", 1))
	result, err := d.engine.Apply(t.Context(), d.request(`File("greeting", path="out/greeting.txt", content="hello atlantide")`))
	wantKind(t, err, model.PreventDestroyError, receiptID)
	if result == nil || result.Plan == nil || result.Plan.Summary().Delete != 1 || d.locks.Load() != 1 {
		t.Errorf("result %+v after %d locks", result, d.locks.Load())
	}
}

// noSecrets is a store without any, and without a key.
type noSecrets struct{ asked int }

func (s *noSecrets) Resolve(context.Context, model.SecretRef) (string, error) {
	s.asked++
	return "", model.Errorf(model.SecretsError, model.ClassUser, "not defined")
}

func (*noSecrets) Digest(string, string) (string, error) { return "", errors.New("no key") }

func (*noSecrets) Matches(string, string, ...string) (bool, error) {
	return false, errors.New("no key")
}

func (*noSecrets) Unseal(any, string, string) (any, error) { return nil, errors.New("no key") }

func (*noSecrets) Seals() bool { return false }

func (*noSecrets) Scrub(text string) string { return text }

func TestSecretsReachThePlan(t *testing.T) {
	d := newDesk(t)
	secrets := &noSecrets{}
	req := engine.PlanRequest{
		Compilation: d.compile(`File("f", path="f", content=SecretRef("token"))`), Snapshot: d.snapshot(), Owner: owner, Secrets: secrets,
	}
	_, err := d.engine.Plan(t.Context(), req)
	wantKind(t, err, model.SecretsError, "s:local.File:f.content -> 'token' (not defined)")
	asked := secrets.asked
	req.SkipSecrets = true
	p, err := d.engine.Plan(t.Context(), req)
	if err != nil || !p.SecretsSkipped || secrets.asked != asked || asked == 0 {
		t.Errorf("skipped: %v, asked %d times, then %d", err, asked, secrets.asked)
	}
}
