package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

// stateMigrateCommand copies a state to or from the remote backend.
type stateMigrateCommand struct {
	from, toLocal string
	force         bool
	confirm       confirmFlags
}

func (a *app) newStateMigrate() *cobra.Command {
	c := &stateMigrateCommand{}
	cmd := &cobra.Command{
		Use:   "migrate [OPTIONS]",
		Short: "Copy the state from the local database to the remote backend, or back",
		Long: "Copy the state, nodes and outputs, from a local database to the remote backend of " + project.FileName + " or, with\n" +
			"--to-local, back. Both are locked meanwhile. The source stays as it is.",
		Args: arguments(0),

		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for name, value := range map[string]string{"from": c.from, "to-local": c.toLocal} {
				if cmd.Flags().Changed(name) && value == "" {
					return &usageError{cmd, fmt.Errorf("the path of --%s is empty", name)}
				}
			}
			if c.from != "" && c.toLocal != "" {
				return &usageError{cmd, errors.New("--from and --to-local are the two directions; give one of them")}
			}
			return a.migrateState(cmd.Context(), c)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&c.from, "from", "", "copy from the local database `PATH` (default that of "+project.FileName+")")
	cmd.Flags().StringVar(&c.toLocal, "to-local", "", "copy from the remote backend to the local database `PATH`")
	cmd.Flags().BoolVar(&c.force, "force", false, "replace what the destination has")
	c.confirm.register(cmd)
	return cmd
}

// migration is a state on its way.
type migration struct {
	project   *project.Project
	from, to  *target
	localPath string // of the side that is local, as it was given
	toLocal   bool
}

func (a *app) migrateState(ctx context.Context, c *stateMigrateCommand) error {
	m, err := a.openMigration(ctx, c)
	if err != nil {
		return err
	}
	defer m.from.close()
	defer m.to.close()
	m.from.banner(a.out)
	fmt.Fprintln(a.out, a.out.in(faint, "   to: "+oneLine(m.to.Label)))
	source, err := m.from.load(ctx)
	if err != nil {
		return err
	}
	destination, err := m.to.load(ctx)
	if err != nil {
		return err
	}
	shown, err := engine.PreviewMigration(source, destination, m.to.StatePlace, c.force)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.out, countedAs(shown.Source)+" to copy")
	if shown.Destination.Nodes > 0 {
		fmt.Fprintln(a.out, countedAs(shown.Destination)+" of the destination to be replaced; what they stand for is not destroyed")
	}
	if err := a.confirm(ctx, &c.confirm, "Copy the state?"); err != nil {
		return err
	}
	e, err := a.stateEngine(m.project, m.to.settings)
	if err != nil {
		return err
	}
	copied, err := e.MigrateState(ctx, m.from.StatePlace, m.to.StatePlace, shown)
	if err != nil {
		return err
	}
	if err := a.out.verdict("migrated", countedAs(copied)); err != nil {
		return err
	}
	a.printStale(m)
	return nil
}

// openMigration opens both sides. A side that is to be read has to be there (cli.md 12).
func (a *app) openMigration(ctx context.Context, c *stateMigrateCommand) (*migration, error) {
	p, err := a.project()
	if err != nil {
		return nil, err
	}
	remote, err := p.State("", os.Getenv)
	if err != nil {
		return nil, err
	}
	if remote.Backend == project.BackendLocal {
		return nil, model.Errorf(model.StateError, model.ClassUser, "there is no remote backend to migrate to or from: set 'backend' of [state] in %s", project.FileName)
	}
	m := &migration{project: p, toLocal: c.toLocal != "", localPath: c.from}
	switch {
	case m.toLocal:
		m.localPath = c.toLocal
	case m.localPath == "":
		m.localPath = p.LocalState()
	}
	settings, err := p.State(m.localPath, os.Getenv)
	if err != nil {
		return nil, err
	}
	if !m.toLocal && !isFile(settings.Path) {
		return nil, model.Errorf(model.StateError, model.ClassUser, "there is no local database %s to migrate; name it with --from", sourcetree.Shown(m.localPath))
	}
	local, err := a.targetOf(ctx, p, m.localPath, settings, a.out)
	if err != nil {
		return nil, err
	}
	other, err := a.targetOf(ctx, p, "", remote, a.out)
	if err != nil {
		local.close()
		return nil, err
	}
	m.from, m.to = local, other
	if m.toLocal {
		m.from, m.to = other, local
	}
	return m, nil
}

// printStale says which side is stale, and what to do with it.
func (a *app) printStale(m *migration) {
	text := oneLine(m.from.Label) + " is stale now: what runs on " + oneLine(m.to.Label) + " does not change it. "
	if m.toLocal {
		text += fmt.Sprintf("%s still names it: put state = %s there in place of [state], or commands go on using it.", oneLine(m.project.File), m.inFile(m.localPath))
	} else {
		text += "Keep it until a plan shows no changes, then delete it."
	}
	fmt.Fprintln(a.out, a.out.wrapped(text))
	for _, moved := range m.movedSecrets() {
		a.out.message("note:", note, moved)
	}
}

// inFile is a path as the project file has it: from the root where it lies below it.
func (m *migration) inFile(path string) string {
	path = m.project.Resolved(path)
	if rel, err := filepath.Rel(m.project.Root, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	return strconv.Quote(path)
}

// movedSecrets tells of the files that are looked for elsewhere beside the other side: what
// is sealed opens with the same key alone.
func (m *migration) movedSecrets() []string {
	before, err := m.project.Secrets(m.from.given)
	if err != nil {
		return nil
	}
	after, err := m.project.Secrets(m.to.given)
	if err != nil {
		return nil
	}
	var told []string
	for _, f := range []struct{ what, before, after string }{{"install key", before.Key, after.Key}, {"secret store", before.Store, after.Store}} {
		switch {
		case f.before == f.after || !isFile(f.before):
		case isFile(f.after):
			told = append(told, fmt.Sprintf("the %s %s is used from now on, no more %s; they must be the same", f.what, f.after, f.before))
		default:
			told = append(told, fmt.Sprintf("the %s %s is looked for at %s from now on; copy it there", f.what, f.before, f.after))
		}
	}
	return told
}
