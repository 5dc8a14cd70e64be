package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// refreshCommand reads what the state records and compares.
type refreshCommand struct {
	place  stateFlags
	run    runFlags
	format formatFlags

	write, prune, detailed, verbose bool
}

func (a *app) newRefresh() *cobra.Command {
	c := &refreshCommand{}
	cmd := &cobra.Command{
		Use:   "refresh [OPTIONS]",
		Short: "Read every recorded resource, and show what differs from the state",
		Long: "Read every resource that the state records, and show which differ from it or are gone. Nothing is written and no\n" +
			"lock taken, unless --write asks for it; resources themselves are never changed. No config is read.",
		Args: arguments(0),

		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return a.refresh(cmd.Context(), c) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	c.place.register(cmd)
	flags.BoolVar(&c.write, "write", false, "record what is found, under the lock: what differs is planned again")
	flags.BoolVar(&c.prune, "prune", false, "with --write, forget resources that are gone, rather than keep their rows to be planned again")
	c.run.registerParallelism(cmd)
	c.run.confirmFlags.register(cmd)
	flags.Lookup("confirm").Usage = "for scripts that give it to every command that writes: a refresh asks nothing"
	flags.BoolVarP(&c.verbose, "verbose", "v", false, "name the inputs that could not be checked")
	flags.BoolVar(&c.detailed, "detailed-exitcode", false, "exit with 2 when something differs or is gone")
	c.format.registerJSON(cmd)
	return cmd
}

func (c *refreshCommand) check() error {
	if c.prune && !c.write {
		return model.Errorf(model.AtlantideError, model.ClassUser, "--prune forgets rows, and without --write nothing is written; give --write as well")
	}
	return c.run.check()
}

func (a *app) refresh(ctx context.Context, c *refreshCommand) error {
	if err := c.check(); err != nil {
		return err
	}
	w, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	return a.refreshIn(ctx, c, w)
}

func (a *app) refreshIn(ctx context.Context, c *refreshCommand, w *workspace) error {
	at, err := a.target(ctx, w.Project, &c.place, a.told(c.format.json))
	if err != nil {
		return err
	}
	defer at.close()
	if err := a.configure(w.engine, w.Project, at.settings, c.run.most); err != nil {
		return err
	}
	at.banner(a.told(c.format.json))
	snapshot, err := at.load(ctx)
	if err != nil {
		return err
	}
	if len(snapshot.Rows) == 0 && !c.format.json {
		_, err := fmt.Fprintln(a.out, a.out.in(faint, "the state records no resource; there is nothing to refresh"))
		return err
	}
	a.writes = c.write
	drift, failed := c.read(ctx, w, at, snapshot)
	if drift == nil {
		return failed
	}
	r := &refreshed{Drift: drift, label: at.Label, wrote: c.write, verbose: c.verbose}
	if c.format.json {
		err = a.printDrift(ctx, r, failed)
	} else if _, err = fmt.Fprint(a.out, r.text(a.out, failed)); err == nil {
		err = failed
	}
	if err == nil && c.detailed && drift.Drift {
		return silentError(exitPending)
	}
	return err
}

// read is what the providers find. What could not be read is the error; the rest stands
// beside it.
func (c *refreshCommand) read(ctx context.Context, w *workspace, at *target, snapshot *state.Snapshot) (*apply.Drift, error) {
	if len(snapshot.Rows) == 0 {
		return &apply.Drift{Nodes: []apply.NodeDrift{}}, nil
	}
	known, err := session(w.Project, at.given)
	if err != nil {
		return nil, err
	}
	drift, err := w.engine.Refresh(ctx, engine.RefreshRequest{
		Snapshot: snapshot, Source: w.tree, Secrets: known, Recorder: known.Recorder(),
		Write: c.write, Prune: c.prune, Partition: at.Partition, Store: at.Store, Locker: at.Locker,
	})
	if drift == nil && c.write && ctx.Err() != nil && !model.IsKind(err, model.InterruptedRunError) {
		return nil, &model.Error{
			Kind: model.InterruptedRunError, Class: model.ClassUser, Cause: err,
			Message: "interrupted: no resource was changed, and what was read until then is recorded; refresh again for the rest",
		}
	}
	return drift, err
}

// refreshed is what a refresh found, and how it is told.
type refreshed struct {
	*apply.Drift

	label          string // of the state
	wrote, verbose bool
}

// verdicts are how the kinds of a refresh are told.
var verdicts = map[string]struct {
	sign, text string
	part       plan.Part
}{
	apply.InSync:  {"=", "in sync", plan.PartNoop},
	apply.Drifted: {"~", "drifted", plan.PartUpdate},
	apply.Missing: {"-", "missing", plan.PartDelete},
}

// text tells every resource by stack, and ends with how many differ (cli.md 7).
func (r *refreshed) text(s screen, failed error) string {
	var text strings.Builder
	above := ""
	for i, n := range r.Nodes {
		if stack := model.StackOf(n.NodeID); i == 0 || stack != above {
			above = stack
			text.WriteString(s.paint(plan.PartStack, plan.StackRule(stack)) + "\n")
		}
		v := verdicts[n.Kind]
		text.WriteString("  " + s.paint(v.part, v.sign+" "+v.text+"  "+oneLine(model.ShortID(n.NodeID))) +
			covered(len(n.Observed), len(n.Unobserved)) + "\n")
		for _, field := range slices.Sorted(maps.Keys(n.Changed)) {
			text.WriteString(differing(field, n.Changed[field].State, n.Changed[field].Live))
		}
		if r.verbose {
			text.WriteString(named("not checked", n.Unobserved))
		}
	}
	if len(r.Nodes) > 0 {
		text.WriteByte('\n')
	}
	return text.String() + r.summary(failed)
}

func (r *refreshed) summary(failed error) string {
	counts := map[string]int{}
	for _, n := range r.Nodes {
		counts[n.Kind]++
	}
	var parts []string
	for _, kind := range []string{apply.Drifted, apply.Missing} {
		if counts[kind] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[kind], verdicts[kind].text))
		}
	}
	if failed != nil {
		parts = append(parts, fmt.Sprintf("%d failed", 1+len(typed(failed).AlsoFailed)))
	}
	if len(parts) == 0 {
		return "Refresh: no drift found in the checked fields\n"
	}
	suffix := " (state unchanged)\n"
	if r.wrote {
		suffix = " (state updated)\n"
	}
	return "Refresh: " + strings.Join(parts, ", ") + suffix
}

// covered says how many inputs a read reported, where that is not all of them.
func covered(observed, unobserved int) string {
	if unobserved == 0 {
		return ""
	}
	return fmt.Sprintf("  (%d of %d inputs checked)", observed, observed+unobserved)
}

// differing is a field with the value that is expected and the one that was found.
func differing(field string, want, live any) string {
	if want == sensitive && live == sensitive { // no field differs from itself
		return fmt.Sprintf("      %s: %s → %s\n", oneLine(field), sensitive, sensitive)
	}
	return fmt.Sprintf("      %s: %s → %s\n", oneLine(field), plan.Shown(want), plan.Shown(live))
}

// sensitive stands for what is not shown.
const sensitive = "(sensitive)"

// named is a line with names, none without any.
func named(what string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "      " + what + ": " + oneLine(strings.Join(names, ", ")) + "\n"
}

// driftDocument is what refresh prints as JSON (cli.md 8), also beside an error.
type driftDocument struct {
	SchemaVersion int               `json:"schema_version"`
	OK            bool              `json:"ok"`
	Error         *failureBody      `json:"error,omitempty"`
	Drift         bool              `json:"drift"`
	Nodes         []apply.NodeDrift `json:"nodes"`
	State         string            `json:"state"`
	Diagnostics   []diagnosticBody  `json:"diagnostics,omitempty"`
}

func (a *app) printDrift(ctx context.Context, r *refreshed, failed error) error {
	document := driftDocument{SchemaVersion: schemaVersion, OK: failed == nil, Drift: r.Drift.Drift, State: r.label, Nodes: []apply.NodeDrift{}}
	for _, n := range r.Nodes {
		changed := make(map[string]apply.FieldDrift, len(n.Changed))
		for field, values := range n.Changed {
			recorded, live, err := encodedPair(values.State, values.Live)
			if err != nil {
				return err
			}
			changed[field] = apply.FieldDrift{State: recorded, Live: live}
		}
		n.Changed = changed
		document.Nodes = append(document.Nodes, n)
	}
	if failed == nil {
		return printJSON(a.out, document)
	}
	body := failure(failed)
	document.Error, document.Diagnostics = &body.Error, body.Diagnostics
	if err := printJSON(a.out, document); err != nil {
		return err
	}
	return failing(ctx)
}

// failing ends a command whose document has told its error.
func failing(ctx context.Context) silentError {
	if ctx.Err() != nil {
		return exitInterrupted
	}
	return exitError
}

// encoded is a value as the engine writes JSON: 1.0 is not 1.
func encoded(v any) (json.RawMessage, error) { return model.EncodeJSON(v) }

func encodedPair(a, b any) (one, other json.RawMessage, err error) {
	if one, err = encoded(a); err != nil {
		return nil, nil, err
	}
	other, err = encoded(b)
	return one, other, err
}
