package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

// applyCommand is apply, and deploy, which is the apply of an artifact.
type applyCommand struct {
	config  configFlags
	place   stateFlags
	options planFlags
	view    planView
	run     runFlags
	format  formatFlags

	dryRun, allowDrift, detailed bool
	deploys                      bool
}

func (a *app) newApply() *cobra.Command {
	c := &applyCommand{}
	cmd := &cobra.Command{
		Use:   "apply [OPTIONS] [CONFIG|FILE" + artifactSuffix + "]",
		Short: "Show what would be done, ask, and do it",
		Long: "Show what would be done for a config, or for the one that " + project.FileName + " names, ask, take the lock of the\n" +
			"state, plan again under it, and do it. Another plan than the one that was shown is refused.",
		Args: arguments(0, "CONFIG"),

		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, args []string) error { return a.apply(cmd, c, args) },
	}
	c.config.register(cmd)
	c.place.register(cmd)
	c.options.narrow(cmd)
	cmd.Flags().BoolVar(&c.allowDrift, "allow-plan-drift", false, "run also another plan than the one that was shown")
	c.register(cmd)
	return cmd
}

func (a *app) newDeploy() *cobra.Command {
	c := &applyCommand{deploys: true}
	cmd := &cobra.Command{
		Use:   "deploy [OPTIONS] ARTIFACT",
		Short: "Show what an artifact would do, ask, and do it",
		Long: "Verify an artifact, show what it would do, ask, take the lock of the state, plan again under it, and do it.\n" +
			"Nothing is evaluated: the artifact is what was built, its policies included.",
		Args: arguments(1, "ARTIFACT"),

		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, args []string) error { return a.apply(cmd, c, args) },
	}
	c.place.register(cmd)
	c.register(cmd)
	cmd.Flags().BoolVar(&c.detailed, "detailed-exitcode", false, "with --dry-run, exit with 2 when there is something to do")
	return cmd
}

// register adds what both commands take.
func (c *applyCommand) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&c.dryRun, "dry-run", false, "end after the plan")
	flags.StringVar(&c.options.onFailure, "on-failure", plan.OnFailureRollback, "when something fails, undo what was done (`MODE` rollback), or leave it (halt)")
	completeFrom(cmd, "on-failure", func() []string { return []string{plan.OnFailureRollback, plan.OnFailureHalt} })
	c.run.register(cmd)
	c.view.register(cmd)
	c.format.registerJSON(cmd)
}

func (c *applyCommand) check() error {
	c.options.secrets = secretsCheck
	if on := c.options.onFailure; on != plan.OnFailureRollback && on != plan.OnFailureHalt {
		return notOneOf("--on-failure", on, []string{plan.OnFailureRollback, plan.OnFailureHalt})
	}
	if c.detailed && !c.dryRun {
		return model.Errorf(model.AtlantideError, model.ClassUser, "--detailed-exitcode is about what a plan would do; give --dry-run as well")
	}
	if err := c.run.check(); err != nil {
		return err
	}
	return c.view.check(c.format.json)
}

// runFlags are those of every command that runs a plan.
type runFlags struct {
	confirmFlags

	expect      string
	parallelism string
	most        int // what parallelism says; 0 = not given
}

func (f *runFlags) register(cmd *cobra.Command) {
	f.confirmFlags.register(cmd)
	flags := cmd.Flags()
	flags.Var(needed{&f.expect}, "expect", "run only the plan of this `DIGEST`, as it is printed above the question, here or elsewhere")
	f.registerParallelism(cmd)
}

func (f *runFlags) registerParallelism(cmd *cobra.Command) {
	cmd.Flags().VarP(needed{&f.parallelism}, "parallelism", "p", "at most `N` provider operations at once (default parallelism of "+project.FileName+", else 4 a processor, at most 32)")
}

// moved explains a plan that became another one between the question and the lock, to
// somebody who expected none in particular.
func (f *runFlags) moved(err error) error {
	e, ok := errors.AsType[*model.Error](err)
	if !ok || e.Kind != model.PlanDriftError || f.expect != "" {
		return err
	}
	told := *e
	told.Hint = "the state was written since the plan was shown, perhaps by a run that is still at work: `atlantide state unlock` lists who holds the lock"
	return &told
}

func (f *runFlags) check() error {
	if f.parallelism == "" {
		return nil
	}
	n, err := strconv.Atoi(f.parallelism)
	if err != nil || n < 1 || n > project.MaxParallelism {
		return model.Errorf(model.AtlantideError, model.ClassUser, "--parallelism must be from 1 to %d, not '%s'", project.MaxParallelism, sourcetree.Shown(f.parallelism))
	}
	f.most = n
	return nil
}

// apply plans, shows the plan, asks, and runs it (cli.md 11).
func (a *app) apply(cmd *cobra.Command, c *applyCommand, args []string) error {
	if err := c.check(); err != nil {
		return err
	}
	w, e, err := a.applied(cmd, c, args)
	if err != nil {
		return err
	}
	defer w.Close()
	at, err := a.target(cmd.Context(), w.Project, &c.place, a.told(c.format.json))
	if err != nil {
		return err
	}
	defer at.close()
	if err := a.configure(w.engine, w.Project, at.settings, c.run.most); err != nil {
		return err
	}
	at.banner(a.told(c.format.json))
	p, err := w.plan(cmd.Context(), e, &c.options, at)
	if err != nil {
		return err
	}
	if p.refused == nil {
		p.refused = p.Unsupported()
	}
	if done, err := a.beforeRun(cmd.Context(), c, p); done || err != nil {
		return err
	}
	return a.execute(cmd.Context(), c, w, at, p)
}

// applied is what the command runs; of a deploy it is an artifact, whatever its name.
func (a *app) applied(cmd *cobra.Command, c *applyCommand, args []string) (*workspace, *evaluated, error) {
	if !c.deploys {
		return a.subject(cmd, &c.config, args)
	}
	w, err := a.open(cmd.Context())
	if err != nil {
		return nil, nil, err
	}
	e, err := w.artifact(args[0])
	if err != nil {
		w.Close()
		return nil, nil, err
	}
	return w, e, nil
}

// beforeRun shows the plan and reports whether that is all there is to do.
func (a *app) beforeRun(ctx context.Context, c *applyCommand, p *planned) (done bool, err error) {
	nothing := p.refused == nil && !p.Runs()
	var drifted error
	if p.refused == nil {
		drifted = p.expected(c.run.expect, "atlantide plan")
	}
	if c.format.json {
		if drifted != nil {
			return false, drifted
		}
		// A deploy reports also that there was nothing to do.
		if p.refused != nil || c.dryRun || nothing && !c.deploys {
			applied := false
			if err := a.printPlanDocument(p, c.view.values, planDocument{DryRun: &c.dryRun, Applied: &applied}); err != nil {
				return false, err
			}
			return true, p.exit(c.detailed)
		}
		if nothing {
			return false, nil
		}
		for _, warning := range p.evaluated.Warnings {
			printWarning(a.err, warning)
		}
		return false, a.askable(&c.run.confirmFlags, true)
	}
	if err := a.printPlanText(p, &c.view); err != nil {
		return false, err
	}
	switch {
	case p.refused != nil:
		return false, p.refused
	case drifted != nil:
		return false, drifted
	case c.dryRun:
		if _, err := fmt.Fprintln(a.out, "(dry run — no changes made)"); err != nil {
			return false, err
		}
		return true, p.exit(c.detailed)
	case nothing && !c.deploys:
		_, err := fmt.Fprintln(a.out, "nothing to apply")
		return true, err
	case nothing:
		return false, nil
	}
	question := "Apply these changes?"
	if !p.HasPending() {
		question = "Record these outputs?"
	}
	return false, a.confirm(ctx, &c.run.confirmFlags, question)
}

// Runs reports whether an apply of the plan takes the lock.
func (p *planned) Runs() bool { return p.HasPending() || !p.Outputs.Empty() || p.Unsynced() }

var wholeDigest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// expected refuses another plan than the one of a digest before anybody is asked; it is
// compared again under the lock. look is the command that shows the plan.
func (p *planned) expected(digest, look string) error {
	if digest == "" {
		return nil
	}
	if !wholeDigest.MatchString(digest) {
		return model.Errorf(model.AtlantideError, model.ClassUser, "--expect takes a whole digest, 'sha256:' and 64 hex digits as plan prints it, not '%s'", sourcetree.Shown(digest))
	}
	now, err := p.ChangesetDigest()
	if err != nil {
		return err
	}
	if now == digest {
		return nil
	}
	return model.Errorf(model.PlanDriftError, model.ClassUser, "the plan is not the expected one: its digest is %s; nothing was done, look at it with `%s`", now, look)
}

// nothingLeft is what is told when somebody else did meanwhile what was planned.
func (a *app) nothingLeft(c *applyCommand, p *planned) error {
	if c.format.json {
		applied := false
		return a.printPlanDocument(p, c.view.values, planDocument{DryRun: &c.dryRun, Applied: &applied})
	}
	_, err := fmt.Fprintln(a.out, "nothing to apply")
	return err
}

// execute runs the plan that was shown.
func (a *app) execute(ctx context.Context, c *applyCommand, w *workspace, at *target, p *planned) error {
	request := engine.ApplyRequest{
		Compilation: p.evaluated.Compilation, Partition: at.Partition, Store: at.Store, Locker: at.Locker,
		OnFailure: c.options.onFailure, Targets: c.options.targets, Replace: c.options.replace,
		Secrets: p.session, Recorder: p.session.Recorder(), Report: c.deploys, Expect: c.run.expect,
	}
	if request.Expect == "" && !c.allowDrift {
		digest, err := p.digest()
		if err != nil {
			return err
		}
		request.Expect = digest
	}
	a.writes = true
	a.watch(w.engine, p.Plan)
	started := time.Now()
	result, err := w.engine.Apply(ctx, request)
	if err != nil {
		err = w.Renamed(c.run.moved(err), p.Config)
	}
	if err == nil && result.Report == nil {
		return a.nothingLeft(c, p)
	}
	return a.printRun(ctx, &ran{Report: result.Report, label: p.label, shown: p, took: time.Since(started)}, c.format.json, err)
}
