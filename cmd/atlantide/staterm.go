package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/atlantide-org/atlantide-operator/engine"
)

// stateRmCommand forgets nodes.
type stateRmCommand struct {
	place         stateFlags
	force, backup bool
	confirm       confirmFlags
}

func (a *app) newStateRm() *cobra.Command {
	c := &stateRmCommand{backup: true}
	cmd := &cobra.Command{
		Use:   "rm [OPTIONS] NODE_ID...",
		Short: "Forget nodes; what they stand for lives on",
		Long: "Forget nodes. What they stand for is not destroyed: nothing tracks it any more, and a config that declares it makes\n" +
			"it again. The whole state is kept in a snapshot first, in the working directory.",
		Args: atLeastOne("NODE_ID"),

		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, args []string) error { return a.removeState(cmd.Context(), c, args) },
	}
	cmd.Flags().SortFlags = false
	c.place.register(cmd)
	cmd.Flags().BoolVar(&c.force, "force", false, "forget also nodes that prevent_destroy guards")
	onOff(cmd, &c.backup, "backup", "keep the state in a snapshot first", "keep no snapshot")
	c.confirm.register(cmd)
	return cmd
}

func (a *app) removeState(ctx context.Context, c *stateRmCommand, ids []string) error {
	d, err := a.openState(ctx, &c.place, false)
	if err != nil {
		return err
	}
	defer d.at.close()
	e, err := d.engine(a)
	if err != nil {
		return err
	}
	current, err := d.at.load(ctx)
	if err != nil {
		return err
	}
	rows, err := engine.RemovableState(current, ids, c.force)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, id := range distinct(ids) {
		text.WriteString("  " + a.out.in(removed, "- forget "+oneLine(id)) + "\n")
	}
	text.WriteString(a.out.wrapped("what they stand for is not destroyed: nothing tracks it any more, and a config that declares it makes it again") + "\n")
	if _, err := fmt.Fprint(a.out, text.String()); err != nil {
		return err
	}
	if err := a.confirm(ctx, &c.confirm, fmt.Sprintf("Forget %d node(s)?", len(rows))); err != nil {
		return err
	}
	kept, keep := keeper{}, engine.KeepSnapshot(nil)
	if c.backup {
		keep = kept.keep
	}
	err = e.RemoveState(ctx, d.at.StatePlace, current, ids, c.force, keep)
	if kept.snapshot != nil { // it was kept, whatever became of the rest
		if told := a.out.verdict("kept", "the state in "+oneLine(kept.path)); told != nil && err == nil {
			err = told
		}
	}
	if err != nil {
		return err
	}
	return a.out.verdict("forgot", fmt.Sprintf("%d node(s); what they stand for lives on", len(rows)))
}

// distinct is texts without those that were there before, in their order.
func distinct(texts []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, text := range texts {
		if !seen[text] {
			seen[text] = true
			out = append(out, text)
		}
	}
	return out
}
