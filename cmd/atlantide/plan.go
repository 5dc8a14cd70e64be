package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/secrets"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

func (a *app) newPlan() *cobra.Command {
	config, place, options, view, format := &configFlags{}, &stateFlags{}, &planFlags{}, &planView{}, &formatFlags{}
	detailed := false
	cmd := &cobra.Command{
		Use:   "plan [OPTIONS] [CONFIG|FILE" + artifactSuffix + "]",
		Short: "Show what would be done; takes no lock, writes nothing",
		Long: "Show what would be done for a config, for the one that " + project.FileName + " names, or for an artifact. Policies are\n" +
			"evaluated and secrets looked up; no provider is called, no lock taken and nothing written.",
		Args: arguments(0, "CONFIG"),

		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := options.check(); err != nil {
				return err
			}
			if err := view.check(format.json); err != nil {
				return err
			}
			w, e, err := a.subject(cmd, config, args)
			if err != nil {
				return err
			}
			defer w.Close()
			at, err := a.target(cmd.Context(), w.Project, place, a.told(format.json))
			if err != nil {
				return err
			}
			defer at.close()
			at.banner(a.told(format.json))
			p, err := w.plan(cmd.Context(), e, options, at)
			if p == nil {
				return err
			}
			if err := a.printPlan(p, view, format.json); err != nil {
				return err
			}
			if err := p.Unsupported(); err != nil {
				a.told(format.json).message("warning:", note, "an apply of this plan is refused: "+err.Error())
			}
			return p.exit(detailed)
		},
	}
	config.register(cmd)
	place.register(cmd)
	options.register(cmd)
	view.register(cmd)
	format.registerJSON(cmd)
	cmd.Flags().BoolVar(&detailed, "detailed-exitcode", false, "exit with 2 when there is something to do")
	return cmd
}

// planFlags are those of every command that plans (cli.md 6).
type planFlags struct {
	targets, replace []string
	secrets          string
	onFailure        string // of a run of the plan
}

// What --secrets takes.
const (
	secretsCheck = "check"
	secretsSkip  = "skip"
)

func (o *planFlags) register(cmd *cobra.Command) {
	o.narrow(cmd)
	o.onFailure = plan.OnFailureRollback
	cmd.Flags().StringVar(&o.secrets, "secrets", secretsCheck, "look every secret up (`MODE` check), or none (skip): that needs no key and no credentials, and gives no digest")
	completeFrom(cmd, "secrets", func() []string { return []string{secretsCheck, secretsSkip} })
}

// narrow registers what selects of a config.
func (o *planFlags) narrow(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.targets, "target", "t", nil, "plan only what `PATTERN` matches, and all that it depends on; repeatable")
	flags.StringArrayVar(&o.replace, "replace", nil, "replace what `PATTERN` matches, whatever it looks like; repeatable")
}

func (o *planFlags) check() error {
	if o.secrets != secretsCheck && o.secrets != secretsSkip {
		return notOneOf("--secrets", o.secrets, []string{secretsCheck, secretsSkip})
	}
	return nil
}

// artifactSuffix is how the name of an argument that is an artifact ends.
const artifactSuffix = ".atlas"

// subject opens the workspace and evaluates what a command names. The caller closes the
// workspace.
func (a *app) subject(cmd *cobra.Command, config *configFlags, args []string) (*workspace, *evaluated, error) {
	given, err := argument(args)
	if err != nil {
		return nil, nil, err
	}
	w, err := a.open(cmd.Context())
	if err != nil {
		return nil, nil, err
	}
	e, err := w.subject(cmd.Context(), config, cmd.Flags(), given)
	if err != nil {
		w.Close()
		return nil, nil, err
	}
	return w, e, nil
}

// subject is what a command plans: a config, or an artifact, which was evaluated already.
func (w *workspace) subject(ctx context.Context, o *configFlags, flags *pflag.FlagSet, given string) (*evaluated, error) {
	if !strings.HasSuffix(strings.ToLower(given), artifactSuffix) {
		return w.evaluate(ctx, o, flags, given)
	}
	for _, name := range o.names() {
		if flags.Changed(name) {
			return nil, model.Errorf(model.AtlantideError, model.ClassUser, "--%s says how a config is evaluated, and an artifact was already; give it to the build", name)
		}
	}
	return w.artifact(given)
}

// artifact is what was built, verified.
func (w *workspace) artifact(name string) (*evaluated, error) {
	data, err := w.readArtifact(name)
	if err != nil {
		return nil, err
	}
	compilation, err := w.engine.LoadArtifact(data, engine.ArtifactOptions{})
	if err != nil {
		return nil, inArtifact(name, err)
	}
	compilation.Source = w.tree // an artifact holds no file of the config
	return &evaluated{Compilation: compilation, Config: name}, nil
}

// plan compares with what is recorded at a target. A plan that was refused says so; where
// none could be made there is an error.
func (w *workspace) plan(ctx context.Context, e *evaluated, o *planFlags, at *target) (*planned, error) {
	snapshot, err := at.load(ctx)
	if err != nil {
		return nil, err
	}
	request := engine.PlanRequest{
		Compilation: e.Compilation,
		Snapshot:    snapshot,
		OnFailure:   o.onFailure,
		Targets:     o.targets,
		Replace:     o.replace,
		SkipSecrets: o.secrets == secretsSkip,
	}
	result := &planned{evaluated: e, label: at.Label}
	if !request.SkipSecrets {
		if result.session, err = session(w.Project, at.given); err != nil {
			return nil, err
		}
		if err := fits(result.session, snapshot); err != nil {
			return nil, err
		}
		request.Secrets = result.session
	}
	result.Plan, err = w.engine.Plan(ctx, request)
	if err != nil {
		err = w.Renamed(err, e.Config)
	}
	if result.Plan == nil {
		return nil, err
	}
	if result.refused = err; err == nil {
		result.refused = denied(result.Plan)
	}
	return result, nil
}

// planView is how much of a plan is told.
type planView struct {
	diff          string
	showUnchanged bool
	values        bool
}

var details = []string{string(plan.DetailShort), string(plan.DetailFull), string(plan.DetailNone)}

func (v *planView) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&v.showUnchanged, "show-unchanged", false, "list every unchanged resource, also where a stack has many")
	flags.StringVar(&v.diff, "diff", "", "tell changed values in `DETAIL`: short, full (a line for each place in a value), none (default full on a terminal, else short)")
	flags.BoolVar(&v.values, "values", false, "with --json, give old and new value of every changed place")
	completeFrom(cmd, "diff", func() []string { return details })
}

func (v *planView) check(asJSON bool) error {
	switch {
	case v.diff != "" && !slices.Contains(details, v.diff):
		return notOneOf("--diff", v.diff, details)
	case v.values && !asJSON:
		return model.Errorf(model.AtlantideError, model.ClassUser, "--values is about the JSON document; give --json as well, or see --diff")
	}
	return nil
}

// detail is what was asked for, or what the screen has room for.
func (v *planView) detail(s screen) plan.Detail {
	switch {
	case v.diff != "":
		return plan.Detail(v.diff)
	case s.width > 0:
		return plan.DetailFull
	}
	return plan.DetailShort
}

// planned is a plan and what it was made from.
type planned struct {
	*evaluated
	*plan.Plan

	label   string           // of the state
	session *secrets.Session // nil = no secret was looked up
	refused error            // nil = it may be run
}

// exit is how a plan that was shown, and not refused, ends the command (cli.md 9).
func (p *planned) exit(detailed bool) error {
	if detailed && p.HasPending() {
		return silentError(exitPending)
	}
	return nil
}

// denied is the error of a plan that a mandatory policy objects to, nil for any other; a
// denial beats pending changes (cli.md 9). The plan says what each of them objects to.
func denied(p *plan.Plan) error {
	if !p.Blocked {
		return nil
	}
	var policies, nodes []string
	for _, v := range p.Violations {
		if v.Level == plan.LevelMandatory {
			policies, nodes = append(policies, v.Policy), append(nodes, v.NodeID)
		}
	}
	slices.Sort(policies)
	err := model.Errorf(model.PolicyViolationError, model.ClassUser, "the plan is denied by %s (%d violation(s)); mend what the plan lists, and plan again",
		strings.Join(slices.Compact(policies), ", "), len(nodes))
	err.Nodes = nodes
	return err
}

// printPlan shows a plan; the error of one that is refused is the command's.
func (a *app) printPlan(p *planned, view *planView, asJSON bool) error {
	if asJSON {
		return a.printPlanDocument(p, view.values, planDocument{})
	}
	if err := a.printPlanText(p, view); err != nil {
		return err
	}
	return p.refused
}

// printPlanText shows a plan to people.
func (a *app) printPlanText(p *planned, view *planView) error {
	digest, err := p.digest()
	if err != nil {
		return err
	}
	for _, warning := range p.evaluated.Warnings {
		printWarning(a.out, warning)
	}
	text := p.TextWith(plan.TextOptions{Detail: view.detail(a.out), ShowUnchanged: view.showUnchanged, Paint: a.out.paint})
	if digest != "" {
		text += "\ndigest: " + digest + "\n"
	}
	if _, err = fmt.Fprint(a.out, text); err != nil {
		return err
	}
	if ids := p.unconfirmed(); len(ids) > 0 {
		a.out.message("note:", note, fmt.Sprintf("an earlier run ended before it confirmed %d resource(s), which may exist: %s", len(ids), model.Listed(ids, ", ")))
	}
	return nil
}

// unconfirmed are the nodes with something to do whose create was begun and not confirmed.
func (p *planned) unconfirmed() (ids []string) {
	for i := range p.Changes {
		c := &p.Changes[i]
		if row := p.Snapshot.Rows[c.NodeID]; row != nil && row.Status == state.StatusCreating && c.Pending() {
			ids = append(ids, oneLine(c.NodeID))
		}
	}
	return ids
}

// digest is what an approval of the plan names; "" for one that is not whole. One that a
// policy denies is.
func (p *planned) digest() (string, error) {
	if p.SecretsSkipped || p.refused != nil && !model.IsKind(p.refused, model.PolicyViolationError) {
		return "", nil
	}
	return p.ChangesetDigest()
}

// paint puts a part of a plan into its colour.
func (s screen) paint(part plan.Part, text string) string {
	switch part {
	case plan.PartCreate:
		return s.in(added, text)
	case plan.PartUpdate:
		return s.in(changed, text)
	case plan.PartReplace, plan.PartDelete:
		return s.in(removed, text)
	case plan.PartDenied:
		return s.in(bad, text)
	case plan.PartWarning:
		return s.in(note, text)
	case plan.PartStack:
		return s.in(strong, text)
	case plan.PartNoop:
		return s.in(faint, text)
	}
	return text
}
