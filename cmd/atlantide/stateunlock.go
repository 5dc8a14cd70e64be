package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// stateUnlockCommand lists locks, and breaks those that are selected.
type stateUnlockCommand struct {
	place   stateFlags
	by      engine.HoldSelection
	confirm confirmFlags
}

func (a *app) newStateUnlock() *cobra.Command {
	c := &stateUnlockCommand{}
	cmd := &cobra.Command{
		Use:   "unlock [OPTIONS]",
		Short: "List the locks of the state, and break those of dead runs",
		Long: "List the locks of the state or, with a selector, break them. A run whose lock was broken writes nothing any more,\n" +
			"even if it lives; what it is doing at the moment is not undone.",
		Args: arguments(0),

		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return a.unlockState(cmd.Context(), c) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&c.by.Nodes, "node", nil, "break the lock that covers the node `NODE_ID`; repeatable")
	flags.StringVar(&c.by.Owner, "owner", "", "break the lock of the run `OWNER`")
	flags.BoolVar(&c.by.All, "all", false, "break every lock of this state")
	c.place.register(cmd)
	c.confirm.register(cmd)
	return cmd
}

func (a *app) unlockState(ctx context.Context, c *stateUnlockCommand) error {
	d, err := a.openState(ctx, &c.place, false)
	if err != nil {
		return err
	}
	defer d.at.close()
	holds, err := d.at.store.Holds(ctx, d.at.Partition)
	if err != nil {
		return err
	}
	selected, err := engine.SelectHolds(holds, c.by)
	if err != nil {
		return err
	}
	if selected == nil {
		return a.printHolds(d, &c.place, holds)
	}
	if err := a.holdTable(selected); err != nil {
		return err
	}
	fmt.Fprintln(a.out, a.out.wrapped("a run that still lives stops at its next write, and leaves what it did"))
	if err := a.confirm(ctx, &c.confirm, fmt.Sprintf("Break %d lock(s)?", len(selected))); err != nil {
		return err
	}
	broken, err := engine.BreakHolds(ctx, d.at.store, d.at.Partition, selected)
	if err != nil {
		return err
	}
	return a.out.verdict("broke", fmt.Sprintf("%d lock(s)", broken))
}

// printHolds lists every lock, and how each owner's are broken.
func (a *app) printHolds(d *stateDesk, place *stateFlags, holds []state.Hold) error {
	if len(holds) == 0 {
		_, err := fmt.Fprintln(a.out, a.out.in(faint, "no lock is held"))
		return err
	}
	if err := a.holdTable(holds); err != nil {
		return err
	}
	fmt.Fprintln(a.out, "when that run is dead, break its lock with")
	var owners []string
	for _, h := range holds {
		owners = append(owners, h.Holder)
	}
	for _, owner := range distinct(owners) {
		if _, err := fmt.Fprintln(a.out, "  "+unlockCommand(d.project.Profile, place.path, owner)); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) holdTable(holds []state.Hold) error {
	rows := make([][]string, len(holds))
	for i, h := range holds {
		node := h.Node
		if node == "" {
			node = "(whole state)"
		}
		rows[i] = []string{node, h.Holder, remaining(h)}
	}
	return a.table([]string{"NODE", "OWNER", "REMAINING"}, rows, func(_ int, line string) string { return line })
}

// remaining is how long a hold lasts unless it is renewed.
func remaining(h state.Hold) string {
	switch {
	case h.Expired():
		return "expired"
	case !h.Lapses:
		return "does not end by itself"
	}
	return fmt.Sprintf("%ds", int64(h.Remaining.Seconds()))
}

// unlockCommand is the command line that breaks the lock of an owner. One whose name a line
// cannot hold is broken with all others.
func unlockCommand(profile, path, owner string) string {
	words := []string{"atlantide"}
	if profile != "" {
		words = append(words, "-P", shellWord(profile))
	}
	words = append(words, "state", "unlock")
	if path != "" {
		words = append(words, "--state", shellWord(path))
	}
	if oneLine(owner) != owner {
		return strings.Join(append(words, "--all"), " ")
	}
	return strings.Join(append(words, "--owner", shellWord(owner)), " ")
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,][A-Za-z0-9_./:@%+,-]*$`)

// shellWord is a text as a shell takes it for one word.
func shellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(oneLine(text), "'", `'\''`) + "'"
}
