package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

func (s step) onFailure() string {
	if s.OnFailure == "" {
		return plan.OnFailureRollback
	}
	return s.OnFailure
}

// supported refuses what the engine has no way to be asked.
func (w *world) supported(s step) error {
	if s.Approved != "" || s.KeepPlan != "" {
		return errors.New("unsupported: kept plans")
	}
	return nil
}

// runSequence runs the steps one after another in one world. After a step that is
// not as it should be the world is another one, so that the rest proves nothing.
func (w *world) runSequence(ctx context.Context) []result {
	c := w.testCase
	steps := c.want["steps"].([]any)
	partial := c.want["partial"] == true
	cmp := newComparison()
	var results []result
	broken := ""
	for i, s := range c.in.Steps {
		diff := broken
		if diff == "" {
			want, _ := steps[i].(map[string]any)
			w.runStep(ctx, cmp, s, want, partial)
			if diff = cmp.take(); diff != "" {
				broken = fmt.Sprintf("not reached: step %d failed", i+1)
			}
		}
		results = append(results, result{Facet: facetStep(i), Diff: diff})
	}
	return results
}

// outcome is what a step did; what stayed nil does not exist.
type outcome struct {
	plan     func(cmp *comparison, want any, partial bool)
	report   *apply.Report
	drift    *apply.Drift
	imported *apply.ImportReport
	nothing  bool // the apply ended after its plan
}

func (w *world) runStep(ctx context.Context, cmp *comparison, s step, want map[string]any, partial bool) {
	got, err := w.do(ctx, s)
	if want["ok"] == false {
		cmp.failure(want, err, "the step succeeds")
	} else if err != nil {
		cmp.diffs = append(cmp.diffs, describe(err))
		return
	}
	if expected, ok := want["plan"]; ok && (want["ok"] != false || got.plan != nil) {
		if got.plan == nil {
			cmp.diffs = append(cmp.diffs, "there is no plan")
		} else {
			got.plan(cmp, expected, partial)
		}
	}
	if expected, ok := want["report"]; ok {
		cmp.report(expected, got.report, partial)
	}
	if nothing := want["nothing_to_apply"] == true; s.Op == "apply" && err == nil && nothing != got.nothing && !partial {
		cmp.diffs = append(cmp.diffs, fmt.Sprintf("nothing_to_apply\n- %t\n+ %t", nothing, got.nothing))
	}
	if expected, ok := want["drift"]; ok {
		cmp.document("drift", expected, got.drift, partial)
	}
	if expected, ok := want["import"]; ok {
		cmp.imported(expected, got.imported, partial)
	}
	if err := w.compareWorld(ctx, cmp, want, partial); err != nil {
		cmp.diffs = append(cmp.diffs, describe(err))
	}
}

func (w *world) do(ctx context.Context, s step) (outcome, error) {
	switch s.Op {
	case "files":
		return outcome{}, w.changeFiles(s)
	case "secrets":
		return outcome{}, w.secrets.fill(ctx, s.Values)
	case "plan":
		return w.doPlan(ctx, s)
	case "apply", opDeploy:
		return w.doApply(ctx, s)
	case "destroy":
		return w.doDestroy(ctx, s)
	case "refresh":
		return w.doRefresh(ctx, s)
	case "import":
		return w.doImport(ctx, s)
	default:
		return outcome{}, fmt.Errorf("unsupported: the step %s", s.Op)
	}
}

func (w *world) doPlan(ctx context.Context, s step) (outcome, error) {
	snapshot, err := w.store.Load(ctx, w.partition)
	if err != nil {
		return outcome{}, err
	}
	_, p, err := w.plan(ctx, s, snapshot)
	if err != nil {
		return outcome{}, err
	}
	return outcome{plan: func(cmp *comparison, want any, partial bool) { cmp.plan(want, p, partial) }}, nil
}

// doApply plans and then applies what was planned: the apply must come to the same
// digest under the lock.
func (w *world) doApply(ctx context.Context, s step) (outcome, error) {
	snapshot, err := w.store.Load(ctx, w.partition)
	if err != nil {
		return outcome{}, err
	}
	compilation, p, err := w.plan(ctx, s, snapshot)
	if err != nil {
		return outcome{}, err
	}
	got := outcome{plan: func(cmp *comparison, want any, partial bool) { cmp.plan(want, p, partial) }}
	if got.nothing = !p.HasPending() && p.Outputs.Empty(); got.nothing && s.Op != opDeploy {
		return got, nil
	}
	session, err := w.secrets.session(w.partition)
	if err != nil {
		return got, err
	}
	res, err := w.engine.Apply(ctx, engine.ApplyRequest{
		Compilation: compilation, Partition: w.partition, Store: w.store, Locker: w.locker, OnFailure: s.onFailure(),
		Targets: s.Targets, Replace: s.Replace, Secrets: session, Recorder: session.Recorder(), Report: s.Op == opDeploy,
	})
	if res != nil {
		got.report = res.Report
	}
	return got, err
}

func (w *world) doDestroy(ctx context.Context, s step) (outcome, error) {
	if err := w.supported(s); err != nil {
		return outcome{}, err
	}
	res, err := w.engine.Destroy(ctx, engine.DestroyRequest{Partition: w.partition, Store: w.store, Locker: w.locker, Targets: s.Targets})
	var got outcome
	if res != nil {
		got.report = res.Report
	}
	return got, err
}

func (w *world) doRefresh(ctx context.Context, s step) (outcome, error) {
	session, err := w.secrets.session(w.partition)
	if err != nil {
		return outcome{}, err
	}
	snapshot, err := w.store.Load(ctx, w.partition)
	if err != nil {
		return outcome{}, err
	}
	drift, err := w.engine.Refresh(ctx, engine.RefreshRequest{
		Snapshot: snapshot, Source: w.tree, Secrets: session, Recorder: session.Recorder(),
		Write: string(s.Write) == "true", Prune: s.Prune, Partition: w.partition, Store: w.store, Locker: w.locker,
	})
	return outcome{drift: drift}, err
}

func (w *world) doImport(ctx context.Context, s step) (outcome, error) {
	compilation, err := w.compiled(ctx, s)
	if err != nil {
		return outcome{}, err
	}
	session, err := w.secrets.session(w.partition)
	if err != nil {
		return outcome{}, err
	}
	report, err := w.engine.Import(ctx, engine.ImportRequest{
		Compilation: compilation, Partition: w.partition, Store: w.store, Locker: w.locker, Secrets: session, Recorder: session.Recorder(),
		Node: s.Node, ExternalID: s.ExternalID, DryRun: s.DryRun, Force: s.Force, AllowDrift: s.AllowDrift,
	})
	return outcome{imported: report}, err
}

// changeFiles changes the working directory from outside; it deletes first, since a
// folder may take a file's place.
func (w *world) changeFiles(s step) error {
	var write map[string]string
	if len(s.Write) > 0 {
		if err := json.Unmarshal(s.Write, &write); err != nil {
			return err
		}
	}
	for _, path := range slices.Concat(s.Delete, s.Rmdir) {
		if err := os.Remove(filepath.Join(w.dir, path)); err != nil {
			return err
		}
	}
	for path, text := range write {
		file := filepath.Join(w.dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
