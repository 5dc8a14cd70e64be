package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/secrets"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/postgres"
	"github.com/atlantide-org/atlantide-operator/engine/state/sqlite"
)

// target is the state that a command works on: the one partition of a store, and its lock.
type target struct {
	engine.StatePlace

	given    string // the local database that the command was told, "" = none
	settings project.State
	store    stateStore
	close    func()
}

// stateStore is what the command line asks of a store.
type stateStore interface {
	state.Store
	state.Locks
	engine.StateChecker
}

// stateFlags are those of every command that opens the state.
type stateFlags struct{ path string }

func (f *stateFlags) register(cmd *cobra.Command) {
	cmd.Flags().Var(needed{&f.path}, "state", "use the local database `PATH`, whatever "+project.FileName+" says")
}

// needed is the text of a flag that means something else by its absence: an empty one,
// as an unset variable of a script gives it, is refused.
type needed struct{ text *string }

func (n needed) Type() string { return "string" }

func (n needed) String() string {
	if n.text == nil {
		return ""
	}
	return *n.text
}

func (n needed) Set(text string) error {
	if text == "" {
		return errors.New("it is empty; leave the option out, or give it a value")
	}
	*n.text = text
	return nil
}

// target opens the state of the project. Nothing is read or made yet. warned is where a
// warning goes.
func (a *app) target(ctx context.Context, p *project.Project, flags *stateFlags, warned screen) (*target, error) {
	settings, err := p.State(flags.path, os.Getenv)
	if err != nil {
		return nil, err
	}
	if settings.Overridden != "" {
		warned.message("warning:", note, fmt.Sprintf("--state %s is used; the %s backend that %s configures is not", oneLine(flags.path), oneLine(settings.Overridden), project.FileName))
	}
	return a.targetOf(ctx, p, flags.path, settings, warned)
}

// targetOf opens the state that lies where settings say; given is the local database that
// the command was told, "" = none.
func (a *app) targetOf(ctx context.Context, p *project.Project, given string, settings project.State, warned screen) (*target, error) {
	times, err := lease.TimesOf(settings.LockTTL, settings.LockRenew)
	if err != nil {
		return nil, err
	}
	t := &target{given: given, settings: settings, StatePlace: engine.StatePlace{Label: settings.Shown, Partition: state.CommandLinePartition}}
	if err := a.openStore(ctx, p, t, warned); err != nil {
		return nil, err
	}
	if p.Profile != "" {
		t.Label += " (profile " + p.Profile + ")"
	}
	t.Store = t.store
	t.Locker = &lease.Stored{Records: t.store, Partition: t.Partition, Times: times}
	return t, nil
}

func (a *app) openStore(ctx context.Context, p *project.Project, t *target, warned screen) error {
	keep := keepOlder(p, warned)
	if t.settings.Backend == project.BackendPostgres {
		margin := postgres.DefaultLockSkewMargin
		if given := t.settings.LockSkewMargin; given != nil {
			margin = *given
		}
		store, err := postgres.Open(ctx, t.settings.DSN, postgres.Options{
			Schema: t.settings.Schema, Installation: state.CommandLineInstallation, LockSkewMargin: margin, Backup: keep, Imported: adopting(p, t.given),
		})
		if err != nil {
			return err
		}
		t.Label, t.store, t.close = postgres.Label(t.settings.DSN, t.settings.Schema), store, store.Close
		return nil
	}
	store := sqlite.New(sqlite.Options{Path: t.settings.Path, Backup: keep, Imported: adopting(p, t.given)})
	t.store, t.close = store, func() {
		if err := store.Close(); err != nil {
			a.log.Named("state").Warn("the local database could not be closed", zap.Error(err))
		}
	}
	return nil
}

// keepOlder keeps what a state of an older release holds before it is converted (ST-23).
func keepOlder(p *project.Project, told screen) func(context.Context, *state.Snapshot) error {
	return func(_ context.Context, s *state.Snapshot) error {
		path, err := writeNamed(s, p.Beside, false)
		if err != nil {
			return err
		}
		told.message("note:", note, "the state is of an older release and is converted; what it held is kept in "+filepath.Base(path))
		return nil
	}
}

// adopting makes ours what release 0.3 recorded of secrets (ST-22). Their settings are read
// where there is such a state.
func adopting(p *project.Project, given string) func(context.Context, *state.Snapshot) error {
	return func(ctx context.Context, s *state.Snapshot) error {
		known, err := session(p, given)
		if err != nil {
			return err
		}
		return engine.Imported(known, uuid.NewString)(ctx, s)
	}
}

// banner names the target before anything else is told (cli.md 5).
func (t *target) banner(s screen) {
	fmt.Fprintln(s, s.in(faint, "state: "+oneLine(t.Label)))
}

// load is the state as it is.
func (t *target) load(ctx context.Context) (*state.Snapshot, error) {
	return t.Store.Load(ctx, t.Partition)
}

// configure gives an engine what a project says of its runs. parallelism beats the project's,
// unless it is 0.
func (a *app) configure(e *engine.Engine, p *project.Project, settings project.State, parallelism int) error {
	of, err := p.Parallelism()
	if err != nil {
		return err
	}
	if parallelism == 0 {
		parallelism = of
	}
	if settings.Path != "" && settings.Path != p.LocalState() {
		if e.Registry, err = newRegistry(p, settings.Path); err != nil {
			return err
		}
	}
	e.Parallelism, e.NodeTimeout = parallelism, settings.NodeTimeout
	e.Now, e.NewID = time.Now, uuid.NewString
	e.Events = a.runEvent
	return nil
}

// watch shows how far the runs of an engine are, beside what is logged of them.
func (a *app) watch(e *engine.Engine, p *plan.Plan) {
	b := newProgress(a.err, p)
	e.Events = func(event apply.Event) {
		b.tell(event)
		a.runEvent(event)
	}
}

// runEvent logs what happens in a run (cli.md 18).
func (a *app) runEvent(e apply.Event) {
	fields := []zap.Field{zap.String("run_id", e.RunID)}
	if e.NodeID != "" {
		fields = append(fields, zap.String("node_id", e.NodeID))
	}
	if e.Action != "" {
		fields = append(fields, zap.String("action", e.Action))
	}
	for _, key := range slices.Sorted(maps.Keys(e.Detail)) {
		fields = append(fields, zap.Any(key, secrets.Redact(e.Detail[key])))
	}
	a.log.Named("run").Info(e.Phase, fields...)
}
