package main

import (
	"context"
	"path/filepath"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Exit codes of the plan command (cli.md 9).
const (
	exitOK      = 0
	exitError   = 1
	exitPending = 2
)

func (w *world) runPlan(ctx context.Context) []result {
	c := w.testCase
	snapshot, err := readSnapshot(filepath.Join(c.dir, "state.json"), w.engine.Registry.Schemas())
	if err != nil {
		return c.all(describe(err))
	}
	cmp := newComparison()
	_, p, err := w.plan(ctx, step{
		Config: "infra.py", Inputs: c.in.Inputs, Envs: c.in.Envs, Targets: c.in.Targets, Replace: c.in.Replace,
	}, snapshot)
	switch {
	case c.want["ok"] == false:
		cmp.failure(c.want, err, "there is a plan")
		cmp.exitCodes(c.want["exit_codes"], exitError, exitError)
	case err != nil:
		return c.all(describe(err))
	default:
		cmp.plan(c.want["plan"], p, false)
		plain, detailed := exitOK, exitOK
		if p.HasPending() {
			detailed = exitPending
		}
		if p.Blocked {
			plain, detailed = exitError, exitError
		}
		cmp.exitCodes(c.want["exit_codes"], plain, detailed)
	}
	return c.all(cmp.take())
}

func (c *comparison) exitCodes(want any, plain, detailed int) {
	c.equal("exit_codes", want, map[string]any{"plan": number(plain), "plan_detailed": number(detailed)}, false)
}

// plan makes the plan of a step against a snapshot.
func (w *world) plan(ctx context.Context, s step, snapshot *state.Snapshot) (*ir.Compilation, *plan.Plan, error) {
	if err := w.supported(s); err != nil {
		return nil, nil, err
	}
	compilation, err := w.compiled(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	session, err := w.secrets.session(w.partition)
	if err != nil {
		return nil, nil, err
	}
	p, err := w.engine.Plan(ctx, engine.PlanRequest{
		Compilation: compilation, Snapshot: snapshot, OnFailure: s.onFailure(), Targets: s.Targets, Replace: s.Replace, Secrets: session,
	})
	return compilation, p, err
}

// plan compares a plan with the payload of "plan --json" in the vectors.
func (c *comparison) plan(want any, p *plan.Plan, partial bool) {
	payload, err := tree(p.Payload())
	if err != nil {
		c.diffs = append(c.diffs, describe(err))
		return
	}
	got, _ := payload.(map[string]any)
	expected, _ := want.(map[string]any)
	c.equal("plan", without(expected, "changes", "violations", "warnings_contain"), without(got, "changes", "violations", "warnings"), partial)
	// What has a rule of its own.
	if changes, ok := expected["changes"]; ok || !partial {
		c.changes(changes, got["changes"], partial)
	}
	if violations, ok := expected["violations"]; ok || !partial {
		c.violations(violations, got["violations"])
	}
	if warnings, ok := expected["warnings_contain"]; ok || !partial {
		c.warnings(warnings, got["warnings"])
	}
}

// changes are compared one by one, by node id, and as a sequence; in a partial case
// only those named, in any order.
func (c *comparison) changes(want, got any, partial bool) {
	const path = "plan › changes"
	c.equal(path, byNodeID(want), byNodeID(got), partial)
	if len(c.diffs) == 0 && !partial {
		c.equal(path, want, got, false)
	}
}

func byNodeID(list any) any {
	out := map[string]any{}
	items, _ := list.([]any)
	for _, item := range items {
		if change, ok := item.(map[string]any); ok {
			id, _ := change["node_id"].(string)
			out[id] = change
		}
	}
	return out
}

// violations have message_contains in place of their message.
func (c *comparison) violations(want, got any) {
	wanted, _ := want.([]any)
	given, _ := got.([]any)
	if len(wanted) != len(given) {
		c.differ("plan › violations", want, got)
		return
	}
	for i := range wanted {
		w, _ := wanted[i].(map[string]any)
		g, _ := given[i].(map[string]any)
		message, _ := g["message"].(string)
		path := "plan › violations › " + number(i).String()
		c.equal(path, without(w, "message_contains"), without(g, "message"), false)
		c.contains(path+" › message", w["message_contains"], message)
	}
}

// warnings are word lists, one a warning, in order.
func (c *comparison) warnings(want, got any) {
	wanted, _ := want.([]any)
	given, _ := got.([]any)
	if len(wanted) != len(given) {
		c.differ("plan › warnings", want, got)
		return
	}
	for i := range wanted {
		text, _ := given[i].(string)
		c.contains("plan › warnings › "+number(i).String(), wanted[i], text)
	}
}
