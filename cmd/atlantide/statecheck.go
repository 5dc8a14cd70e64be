package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/secrets"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

func (a *app) newStateCheck() *cobra.Command {
	var probe bool
	cmd := &cobra.Command{
		Use:   "check [OPTIONS]",
		Short: "Check that the state and the secrets can be used",
		Long:  "Check that the state and the secrets can be used, everything whatever the rest says. Nothing is written but by a\nprobe. Exits with 1 when a check failed.",
		Args:  arguments(0),

		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return a.checkState(cmd.Context(), probe) },
	}
	cmd.Flags().SortFlags = false
	onOff(cmd, &probe, "probe", "also write a scratch object to the store, where one says more than a look", "write nothing; this is the default")
	return cmd
}

func (a *app) checkState(ctx context.Context, probe bool) error {
	d, err := a.openState(ctx, &stateFlags{}, false)
	if err != nil {
		return err
	}
	defer d.at.close()
	var further []state.Check
	if probe {
		further = append(further, state.Check{Name: "conditional writes", Status: state.CheckSkip, Detail: "not applicable: the lock is a row of the database"})
	}
	further = append(further, d.checkKey(ctx)...)
	checks, ok := engine.CheckState(ctx, d.at.store, append(further, d.checkSecrets(ctx))...)
	rows := make([][]string, len(checks))
	for i, c := range checks {
		rows[i] = []string{shownCheck(c.Status), c.Name, strings.Join(strings.Fields(c.Detail), " ")}
	}
	err = a.table([]string{"", "CHECK", "DETAIL"}, rows, func(i int, line string) string {
		word := rows[i][0]
		return a.out.in(checkStyle(checks[i].Status), word) + line[len(word):]
	})
	if err == nil && !ok {
		err = silentError(exitError)
	}
	return err
}

// checkKey is whether the install key is there that the state was written with. Of a state
// that needs none, or that cannot be read, nothing is said.
func (d *stateDesk) checkKey(ctx context.Context) []state.Check {
	snapshot, err := d.at.load(ctx)
	if err != nil || !keyed(snapshot) {
		return nil
	}
	known, err := session(d.project, d.at.given)
	if err != nil {
		return nil // the check of the secrets says it
	}
	c := state.Check{Name: "install key", Status: state.CheckOK, Detail: "the state holds what only it opens"}
	if err := fits(known, snapshot); err != nil {
		c.Status, c.Detail = state.CheckFail, "the state holds what only it opens: "+err.Error()
	}
	return []state.Check{c}
}

// fits refuses to go on without the install key that a state was written with: a run would
// make another one, and what the state holds of the first would open no more (cli.md 13).
func fits(s *secrets.Session, recorded *state.Snapshot) error {
	if !keyed(recorded) {
		return nil
	}
	_, err := s.Digest("", "")
	return err
}

// keyed reports whether a state has something sealed in it, or a digest that takes the key.
func keyed(s *state.Snapshot) bool {
	rows := slices.Collect(maps.Values(s.Rows))
	for _, entry := range s.Pending {
		rows = append(rows, entry.Row)
	}
	for _, row := range rows {
		if len(row.SecretDigests) > 0 || model.HoldsSealed(row.Outputs) {
			return true
		}
	}
	for _, out := range s.Outputs {
		if model.HoldsSealed(out.Value) {
			return true
		}
	}
	return false
}

// checkSecrets is how the provider is that answers for a handle which names none. Settings
// that cannot be read are a failure like any other (RF-27).
func (d *stateDesk) checkSecrets(ctx context.Context) state.Check {
	known, err := session(d.project, d.at.given)
	if err != nil {
		c := state.Check{Name: "secrets", Status: state.CheckFail, Detail: err.Error()}
		if settings, err := d.project.Secrets(d.at.given); err == nil && settings.Provider != "" {
			c.Name += ": " + settings.Provider
		}
		return c
	}
	c := known.Check(ctx)
	return state.Check{Name: c.Name, Status: c.Status, Detail: c.Detail}
}

func shownCheck(status string) string {
	if status == state.CheckSkip {
		return "--"
	}
	return status
}

func checkStyle(status string) style {
	switch status {
	case state.CheckOK:
		return good
	case state.CheckWarn:
		return note
	case state.CheckFail:
		return bad
	}
	return faint
}
