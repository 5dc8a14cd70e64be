package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

func (a *app) newState() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "state COMMAND",
		Short: "Look at what is recorded, keep it, move it, and mend it",
		Long: "Look at what the state records, keep it, move it, and mend it. None of these commands evaluates a config, calls\n" +
			"a provider or touches a resource.",
	}
	onlyGroups(cmd)
	cmd.AddCommand(a.newStateList(), a.newStateShow(), a.newStateCheck(), a.newStateBackup(), a.newStateRestore(), a.newStateRm(),
		a.newStateMigrate(), a.newStateUnlock(), a.newStateCompact(), a.newStateFsck())
	return cmd
}

// stateDesk is what a state command works with.
type stateDesk struct {
	project *project.Project
	at      *target
}

// openState opens the state that a command is about, and names it unless the result is
// JSON (cli.md 12).
func (a *app) openState(ctx context.Context, flags *stateFlags, asJSON bool) (*stateDesk, error) {
	p, err := a.project()
	if err != nil {
		return nil, err
	}
	at, err := a.target(ctx, p, flags, a.told(asJSON))
	if err != nil {
		return nil, err
	}
	if !asJSON {
		at.banner(a.out)
	}
	return &stateDesk{project: p, at: at}, nil
}

// engine is one for work on a state alone: no config is read with it.
func (d *stateDesk) engine(a *app) (*engine.Engine, error) {
	return a.stateEngine(d.project, d.at.settings)
}

func (a *app) stateEngine(p *project.Project, settings project.State) (*engine.Engine, error) {
	e, err := newEngine(p)
	if err != nil {
		return nil, err
	}
	a.writes = true
	return e, a.configure(e, p, settings, 0)
}

// negated is the flag that takes back what another one says; the last one counts.
type negated struct{ flag *bool }

func (n negated) String() string { return strconv.FormatBool(n.flag == nil || !*n.flag) }
func (n negated) Type() string   { return "bool" }
func (n negated) Set(text string) error {
	off, err := strconv.ParseBool(text)
	if err == nil {
		*n.flag = !off
	}
	return err
}

// onOff registers a flag and the one that takes it back.
func onOff(cmd *cobra.Command, flag *bool, name, on, off string) {
	flags := cmd.Flags()
	flags.BoolVar(flag, name, *flag, on)
	flags.Var(negated{flag}, "no-"+name, off)
	flags.Lookup("no-" + name).NoOptDefVal = "true"
}

// atLeastOne checks that an argument is there which may be repeated.
func atLeastOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return &usageError{cmd, fmt.Errorf("%s is missing", name)}
		}
		return nil
	}
}

// table is rows in columns, one line each. On a terminal a head stands above them; paint
// puts a line into its colours.
func (a *app) table(head []string, rows [][]string, paint func(i int, line string) string) error {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	headed := a.out.width > 0
	if headed {
		rows = append([][]string{head}, rows...)
	}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = oneLine(cell)
		}
		if _, err := fmt.Fprintln(w, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i, line := range strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n") {
		line = strings.TrimRight(line, " ")
		switch {
		case headed && i == 0:
			line = a.out.in(faint, line)
		case headed:
			line = paint(i-1, line)
		default:
			line = paint(i, line)
		}
		if _, err := fmt.Fprintln(a.out, line); err != nil {
			return err
		}
	}
	return nil
}

// counted says what a snapshot holds.
func counted(s *state.Snapshot) string { return countedAs(engine.CountState(s)) }

func countedAs(n engine.StateCount) string {
	return fmt.Sprintf("%d node(s) and %d output(s)", n.Nodes, n.Outputs)
}

// refuseNoJournal ends what only a state with a journal can do (RF-29, RF-30).
func refuseNoJournal(label, what string) error {
	return model.Errorf(model.StateError, model.ClassUser, "%s has no journal, so there is nothing to %s; only a state in s3 has one", label, what)
}

// newStateCompact and newStateFsck are for stores that have a journal.
func (a *app) newStateCompact() *cobra.Command {
	return &cobra.Command{
		Use:   "compact [OPTIONS]",
		Short: "Fold the journal of a state in s3; other states have none",
		Args:  arguments(0),

		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return a.withoutJournal(cmd.Context(), "compact") },
	}
}

func (a *app) newStateFsck() *cobra.Command {
	confirm := &confirmFlags{}
	cmd := &cobra.Command{
		Use:   "fsck [OPTIONS]",
		Short: "Check the journal of a state in s3; other states have none",
		Args:  arguments(0),

		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return a.withoutJournal(cmd.Context(), "check") },
	}
	cmd.Flags().Bool("rebuild-heads", false, "rebuild the heads that were lost")
	confirm.register(cmd)
	return cmd
}

func (a *app) withoutJournal(ctx context.Context, what string) error {
	d, err := a.openState(ctx, &stateFlags{}, false)
	if err != nil {
		return err
	}
	defer d.at.close()
	return refuseNoJournal(d.at.Label, what)
}

// isFile reports whether there is something that can be read as a file.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
