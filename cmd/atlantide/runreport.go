package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

// ran is a run that took the lock, or would have.
type ran struct {
	*apply.Report // nil = it ended before its first step

	label string   // of the state
	shown *planned // the plan as it was shown; nil = it had no config
	took  time.Duration
	// destroys says that the run was to leave nothing of what it was shown for.
	destroys bool
}

// printRun tells what a run did; failed is its error, which is the command's.
func (a *app) printRun(ctx context.Context, r *ran, asJSON bool, failed error) error {
	if asJSON {
		return a.printRunDocument(ctx, r, failed)
	}
	if r.Report == nil {
		return failed
	}
	text := "\n" + r.done(a.out) + r.summary(failed) + r.trouble(a.out)
	if failed == nil {
		text += r.downgrades() + r.outputs()
	}
	if _, err := fmt.Fprint(a.out, text); err != nil {
		return err
	}
	return failed
}

// done lists what was done and stays, by stack.
func (r *ran) done(s screen) string {
	lines := map[string]string{}
	for _, list := range []struct {
		ids    []string
		sign   string
		part   plan.Part
		suffix string
	}{
		{r.Created, "+", plan.PartCreate, ""}, {r.Updated, "~", plan.PartUpdate, ""}, {r.Replaced, "±", plan.PartReplace, ""},
		{r.Deleted, "-", plan.PartDelete, ""}, {r.StateOnly, "~", plan.PartUpdate, "  (state only)"},
	} {
		for _, id := range r.kept(list.ids) {
			lines[id] = "  " + s.paint(list.part, list.sign+" done "+oneLine(model.ShortID(id))) + list.suffix + "\n"
		}
	}
	var text strings.Builder
	above := ""
	for i, id := range slices.Sorted(maps.Keys(lines)) {
		if stack := model.StackOf(id); i == 0 || stack != above {
			above = stack
			text.WriteString(s.paint(plan.PartStack, plan.StackRule(stack)) + "\n")
		}
		text.WriteString(lines[id])
	}
	return text.String()
}

// kept are the ids whose change was not undone, or not wholly.
func (r *ran) kept(ids []string) (kept []string) {
	for _, id := range ids {
		if _, failed := r.RollbackFailed[id]; failed || !slices.Contains(r.RolledBack, id) {
			kept = append(kept, id)
		}
	}
	return kept
}

// undone are the ids whose change is gone, sorted.
func (r *ran) undone() (ids []string) {
	for _, id := range r.RolledBack {
		if _, failed := r.RollbackFailed[id]; !failed {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// untouched are the ids that nothing was done for, not even in the state.
func (r *ran) untouched() (ids []string) {
	for _, id := range r.Noop {
		if _, waits := r.PutOff[id]; !waits && !slices.Contains(r.StateOnly, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// summary is the line of the whole run.
func (r *ran) summary(failed error) string {
	took := fmt.Sprintf("  (%.1fs)\n", r.took.Seconds())
	if r.destroys && failed == nil {
		return fmt.Sprintf("Destroyed: %d resource(s)", len(r.Deleted)) + took
	}
	verb := "Applied: "
	if failed != nil {
		verb = "Stopped: "
	}
	var parts []string
	for _, part := range []struct {
		ids  []string
		text string
	}{
		{r.Created, "added"}, {slices.Concat(r.Updated, r.Replaced), "changed"}, {r.Deleted, "destroyed"},
		{r.StateOnly, "state-only"}, {r.untouched(), "unchanged"},
	} {
		if n := len(r.kept(part.ids)); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, part.text))
		}
	}
	if len(parts) == 0 {
		parts = []string{"no changes"}
	}
	return verb + strings.Join(parts, ", ") + took
}

// downgrades are the replaces that turned out not to be needed.
func (r *ran) downgrades() string {
	var text strings.Builder
	for _, id := range slices.Sorted(maps.Keys(r.Downgraded)) {
		fmt.Fprintf(&text, "%s: %s instead of replace\n", oneLine(id), oneLine(r.Downgraded[id]))
	}
	return text.String()
}

func (r *ran) outputs() string {
	if len(r.Outputs) == 0 {
		return ""
	}
	var text strings.Builder
	text.WriteString("\nOutputs:\n")
	for _, key := range slices.Sorted(maps.Keys(r.Outputs)) {
		value := "(sensitive)"
		if !slices.Contains(r.SensitiveOutputs, key) {
			value = oneLine(model.Repr(r.Outputs[key]))
		}
		fmt.Fprintf(&text, "  %s = %s\n", oneLine(key), value)
	}
	return text.String()
}

// trouble is what a person has to know of a run that went wrong, worst last (cli.md 7).
func (r *ran) trouble(s screen) string {
	var text strings.Builder
	tell := func(word, what string) {
		text.WriteString(s.in(bad, word) + " " + continued(what) + "\n")
	}
	each := func(word string, reasons map[string]string, means string) {
		for _, id := range slices.Sorted(maps.Keys(reasons)) {
			tell(word, id+": "+reasons[id]+means)
		}
	}
	if undone := r.undone(); len(undone) > 0 {
		tell("rolled back:", fmt.Sprintf("%d resource(s): %s", len(undone), model.Listed(undone, ", ")))
	}
	if r.RollbackSkipped != nil {
		tell("rollback skipped:", *r.RollbackSkipped+"; what was done remains")
	}
	for _, id := range slices.Sorted(maps.Keys(r.RollbackFailed)) {
		means := "; it is still as the run left it"
		if _, unmarked := r.PoisonFailed[id]; slices.Contains(r.RolledBack, id) && !unmarked {
			means = "; its row is marked stale, and the next plan looks at it again"
		}
		tell("rollback incomplete:", id+": "+r.RollbackFailed[id]+means)
	}
	each("not marked stale:", r.PoisonFailed, "; the next plan takes it for unchanged, which may be wrong: run `atlantide refresh --write` first")
	each("put off:", r.PutOff, "")
	each("left behind:", r.Orphaned, "")
	for _, id := range r.Abandoned {
		tell("still in flight:", id+": its call did not return; its row says so, and the lock ends by itself")
	}
	return text.String()
}

// runDocument is what a run prints as JSON (cli.md 8).
type runDocument struct {
	SchemaVersion int  `json:"schema_version"`
	OK            bool `json:"ok"`
	Applied       bool `json:"applied"`
	runBody
	Warnings    []string         `json:"warnings,omitempty"` // of the plan
	Diagnostics []diagnosticBody `json:"diagnostics,omitempty"`
	State       string           `json:"state"`
}

// runBody is what a run did.
type runBody struct {
	*apply.Report

	Abandoned []string `json:"abandoned,omitempty"`
	Outputs   valueMap `json:"outputs"` // a sensitive one is null
}

// failedRunDocument is a failure, and what the run did before it.
type failedRunDocument struct {
	failureDocument

	Report *runBody `json:"report,omitempty"` // nil = it ended before its first step
	State  string   `json:"state"`
}

func (a *app) printRunDocument(ctx context.Context, r *ran, failed error) error {
	body := r.body()
	if failed == nil {
		document := runDocument{SchemaVersion: schemaVersion, OK: true, Applied: true, runBody: *body, State: r.label}
		if r.shown != nil {
			document.Warnings, document.Diagnostics = r.shown.Plan.Warnings, diagnosticBodies(r.shown.evaluated.Warnings)
		}
		return printJSON(a.out, document)
	}
	code := exitError
	if ctx.Err() != nil {
		code = exitInterrupted
		failed = a.interrupted(failed)
	}
	if err := printJSON(a.out, failedRunDocument{failureDocument: failure(failed), Report: body, State: r.label}); err != nil {
		return err
	}
	return silentError(code)
}

// body is what the run did; nil where it ended before its first step.
func (r *ran) body() *runBody {
	if r.Report == nil {
		return nil
	}
	outputs := make(valueMap, len(r.Outputs))
	for key, value := range r.Outputs {
		if slices.Contains(r.SensitiveOutputs, key) {
			value = nil
		}
		outputs[key] = value
	}
	return &runBody{Report: r.Report, Abandoned: r.Abandoned, Outputs: outputs}
}
