package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/snapshot"
)

// stateBackupCommand keeps the state in a file.
type stateBackupCommand struct {
	place stateFlags
	force bool
}

func (a *app) newStateBackup() *cobra.Command {
	c := &stateBackupCommand{}
	cmd := &cobra.Command{
		Use:   "backup [OPTIONS] [PATH]",
		Short: "Keep the state in a file",
		Long: "Keep the state in a file for its owner alone, by default atlantide-state-SERIAL-TIME" + snapshot.Suffix + " in the\n" +
			"working directory. The state is locked meanwhile. Sealed values stay sealed.",
		Args: arguments(0, "PATH"),

		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, args []string) error { return a.backupState(cmd.Context(), c, args) },
	}
	cmd.Flags().SortFlags = false
	c.place.register(cmd)
	cmd.Flags().BoolVar(&c.force, "force", false, "replace a file that is there")
	return cmd
}

func (a *app) backupState(ctx context.Context, c *stateBackupCommand, args []string) error {
	given, err := snapshotPath(args)
	if err != nil {
		return err
	}
	d, err := a.openState(ctx, &c.place, false)
	if err != nil {
		return err
	}
	defer d.at.close()
	if given != "" {
		if err := d.refuseOwn(given); err != nil {
			return err
		}
	}
	e, err := d.engine(a)
	if err != nil {
		return err
	}
	kept := keeper{path: given, force: c.force}
	if err := e.BackupState(ctx, d.at.StatePlace, kept.keep); err != nil {
		return err
	}
	return a.out.verdict("kept", fmt.Sprintf("%s of serial %d in %s", counted(kept.snapshot), kept.snapshot.Serial, oneLine(kept.path)))
}

// snapshotPath is the file that was named; "" = none was.
func snapshotPath(args []string) (string, error) {
	switch {
	case len(args) == 0:
		return "", nil
	case args[0] == "":
		return "", errors.New("the name of the snapshot is empty")
	case strings.ContainsRune(args[0], 0):
		return "", fmt.Errorf("the name of the snapshot, '%s', holds a NUL", sourcetree.Shown(args[0]))
	}
	return args[0], nil
}

// refuseOwn refuses a file that the project cannot do without: --force is about snapshots.
func (d *stateDesk) refuseOwn(path string) error {
	own := []string{d.project.File}
	if database := d.at.settings.Path; database != "" {
		own = append(own, database, database+"-wal", database+"-shm", database+"-journal") // as SQLite names what it keeps beside it
	}
	if settings, err := d.project.Secrets(d.at.given); err == nil {
		own = append(own, settings.Key, settings.Store, settings.Store+".lock")
	}
	info, missing := os.Stat(path)
	for _, name := range own {
		if name == "" {
			continue
		}
		other, err := os.Stat(name)
		// What is not there yet may be made by the next command, over what lies there then.
		if d.project.Resolved(name) == d.project.Resolved(path) || missing == nil && err == nil && os.SameFile(info, other) {
			return model.Errorf(model.StateError, model.ClassUser, "%s is a file of the project itself, which a snapshot must not replace; choose another name", sourcetree.Shown(path))
		}
	}
	return nil
}

// keeper writes the one snapshot of a command.
type keeper struct {
	path     string // "" = a name by serial and time in the working directory; afterwards the file's
	force    bool
	snapshot *state.Snapshot // what was kept; nil = nothing
}

// keep implements engine.KeepSnapshot.
func (k *keeper) keep(_ context.Context, s *state.Snapshot) (err error) {
	path := k.path
	if path == "" {
		path, err = writeNamed(s, filepath.Clean, k.force)
	} else {
		err = snapshot.Write(path, s, k.force)
	}
	if err == nil {
		k.path, k.snapshot = path, s
	}
	return err
}

// writeNamed writes the snapshot under a name of its own; place says where a name lies. Two
// of one second and one serial would have the same: the later one takes that of the next
// second.
func writeNamed(s *state.Snapshot, place func(name string) string, force bool) (path string, err error) {
	const tries = 60
	at := time.Now()
	for i := range tries {
		path = place(snapshot.Name(s.Serial, at.Add(time.Duration(i)*time.Second)))
		if err = snapshot.Write(path, s, force); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return path, err
}

// stateRestoreCommand brings a snapshot back.
type stateRestoreCommand struct {
	place   stateFlags
	force   bool
	confirm confirmFlags
}

func (a *app) newStateRestore() *cobra.Command {
	c := &stateRestoreCommand{}
	cmd := &cobra.Command{
		Use:   "restore [OPTIONS] PATH",
		Short: "Make the state what a snapshot says",
		Long: "Make the state what a snapshot says, nodes and outputs, in one write. No resource is touched: what the snapshot\n" +
			"does not have is forgotten, not destroyed. A state that was written since the snapshot is refused without --force.",
		Args: arguments(1, "PATH"),

		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, args []string) error { return a.restoreState(cmd.Context(), c, args) },
	}
	cmd.Flags().SortFlags = false
	c.place.register(cmd)
	cmd.Flags().BoolVar(&c.force, "force", false, "restore also over a state that was written since")
	c.confirm.register(cmd)
	return cmd
}

func (a *app) restoreState(ctx context.Context, c *stateRestoreCommand, args []string) error {
	path, err := snapshotPath(args)
	if err != nil {
		return err
	}
	d, err := a.openState(ctx, &c.place, false)
	if err != nil {
		return err
	}
	defer d.at.close()
	file, err := snapshot.Read(path)
	if err != nil {
		return err
	}
	e, err := d.engine(a)
	if err != nil {
		return err
	}
	current, err := d.at.load(ctx)
	if err != nil {
		return err
	}
	if err := d.adopt(ctx, file); err != nil {
		return err
	}
	restore, err := e.PreviewRestore(current, file.Snapshot, c.force)
	if err != nil {
		return err
	}
	if err := a.printRestore(restore, current, file); err != nil {
		return err
	}
	if err := a.confirm(ctx, &c.confirm, "Restore this snapshot?"); err != nil {
		return err
	}
	if err := e.RestoreState(ctx, d.at.StatePlace, restore); err != nil {
		return err
	}
	return a.out.verdict("restored", counted(file.Snapshot)+" of "+oneLine(path)+"; no resource was touched")
}

// adopt makes a snapshot of release 0.3 ours as far as secrets go (ST-22).
func (d *stateDesk) adopt(ctx context.Context, file *snapshot.File) error {
	if file.Version != 1 {
		return nil
	}
	return adopting(d.project, d.at.given)(ctx, file.Snapshot)
}

func (a *app) printRestore(restore *engine.StateRestore, current *state.Snapshot, file *snapshot.File) error {
	var text strings.Builder
	for _, id := range restore.Restored {
		text.WriteString("  " + a.out.in(added, "+ restored "+oneLine(id)) + "\n")
	}
	for _, id := range restore.Forgotten {
		text.WriteString("  " + a.out.in(removed, "- forgotten "+oneLine(id)) + "\n")
	}
	fmt.Fprintf(&text, "the state has %s, serial %d\nthe snapshot has %s, serial %d\n", counted(current), current.Serial, counted(file.Snapshot), file.Serial)
	if n := len(restore.Forgotten); n > 0 {
		fmt.Fprintf(&text, "%d node(s) will be forgotten: what they stand for is not destroyed, and nothing tracks it any more\n", n)
	}
	_, err := fmt.Fprint(a.out, text.String())
	return err
}
