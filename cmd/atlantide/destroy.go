package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

// destroyCommand deletes from state alone.
type destroyCommand struct {
	place         stateFlags
	run           runFlags
	targets, envs []string
	dryRun        bool
}

func (a *app) newDestroy() *cobra.Command {
	c := &destroyCommand{}
	cmd := &cobra.Command{
		Use:   "destroy [OPTIONS]",
		Short: "Show everything that is recorded, ask, and delete it",
		Long: "Show everything that the state records, ask, and delete it, dependents first. No config is read, and no policy\n" +
			"of one is asked; what is guarded by prevent_destroy refuses. A failure stops the run and undoes nothing.",
		Args: arguments(0),

		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return a.destroy(cmd.Context(), c) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringArrayVarP(&c.targets, "target", "t", nil, "delete only what `PATTERN` matches, and all that depends on it; repeatable")
	flags.StringArrayVarP(&c.envs, "env", "e", nil, "delete only the stack of the environment `NAME`, and all that depends on it; repeatable")
	c.place.register(cmd)
	flags.BoolVar(&c.dryRun, "dry-run", false, "end after showing it")
	c.run.register(cmd)
	return cmd
}

func (a *app) destroy(ctx context.Context, c *destroyCommand) error {
	if err := c.run.check(); err != nil {
		return err
	}
	for _, env := range c.envs {
		if env == "" || strings.ContainsAny(env, "*?[") {
			return model.Errorf(model.AtlantideError, model.ClassUser, "--env takes the name of an environment, not '%s'; --target takes a pattern", sourcetree.Shown(env))
		}
		c.targets = append(c.targets, env+":*")
	}
	w, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	at, err := a.target(ctx, w.Project, &c.place, a.out)
	if err != nil {
		return err
	}
	defer at.close()
	if err := a.configure(w.engine, w.Project, at.settings, c.run.most); err != nil {
		return err
	}
	at.banner(a.out)
	p, err := a.destruction(ctx, c, w, at)
	if err != nil || p == nil {
		return err
	}
	if c.dryRun {
		_, err := fmt.Fprintln(a.out, "(dry run — no changes made)")
		return err
	}
	if err := a.confirm(ctx, &c.run.confirmFlags, "Destroy these resources?"); err != nil {
		return err
	}
	return a.runDestruction(ctx, c, w, at, p)
}

// destruction shows what would be deleted; nil where that is nothing.
func (a *app) destruction(ctx context.Context, c *destroyCommand, w *workspace, at *target) (*planned, error) {
	snapshot, err := at.load(ctx)
	if err != nil {
		return nil, err
	}
	if len(snapshot.Rows) == 0 && len(snapshot.Pending) == 0 && len(snapshot.Outputs) == 0 {
		_, err := fmt.Fprintln(a.out, a.out.in(faint, "the state is empty; there is nothing to destroy"))
		return nil, err
	}
	known, err := session(w.Project, at.given)
	if err != nil {
		return nil, err
	}
	found, refused := w.engine.PlanDestroyTargets(ctx, snapshot, c.targets, known)
	if found == nil {
		return nil, refused
	}
	p := &planned{Plan: found, session: known, label: at.Label, refused: refused}
	text := found.TextWith(plan.TextOptions{Paint: a.out.paint})
	if len(c.targets) > 0 {
		text = fmt.Sprintf("%d of %d recorded resource(s)\n", found.Summary().Delete, len(found.Changes)) + text
	}
	digest, err := p.digest()
	if err != nil {
		return nil, err
	}
	if digest != "" {
		text += "\ndigest: " + digest + "\n"
	}
	if _, err := fmt.Fprint(a.out, text); err != nil {
		return nil, err
	}
	if refused != nil {
		return nil, refused
	}
	err = p.expected(c.run.expect, "atlantide destroy --dry-run")
	return p, err
}

func (a *app) runDestruction(ctx context.Context, c *destroyCommand, w *workspace, at *target, p *planned) error {
	digest, err := p.digest()
	if err != nil {
		return err
	}
	a.writes = true
	a.watch(w.engine, p.Plan)
	started := time.Now()
	result, err := w.engine.Destroy(ctx, engine.DestroyRequest{
		Partition: at.Partition, Store: at.Store, Locker: at.Locker, Targets: c.targets, Secrets: p.session, Expect: digest,
	})
	if err != nil {
		err = c.run.moved(err)
	}
	r := &ran{label: p.label, took: time.Since(started), destroys: true}
	if result != nil {
		r.Report = result.Report
	}
	return a.printRun(ctx, r, false, err)
}
