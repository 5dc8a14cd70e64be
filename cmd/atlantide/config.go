package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

// configFlags are those of every command that evaluates a config (cli.md 6).
type configFlags struct {
	vars, varFiles, envs []string
	strictInputs         bool
	fuel                 string
}

func (o *configFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&o.vars, "var", nil, "an input as `NAME=VALUE`, always text; repeatable, also -var")
	flags.StringArrayVar(&o.varFiles, "var-file", nil, "inputs from a TOML `FILE`; repeatable, a later one wins, and --var over all")
	flags.BoolVar(&o.strictInputs, "strict-inputs", false, "fail when a --var, or a key of a --var-file, is not read")
	flags.StringArrayVarP(&o.envs, "env", "e", nil, "evaluate only the environment `NAME`; repeatable")
	flags.StringVar(&o.fuel, "fuel", "", "evaluate at most `N` steps, 1 to 100000000 (default [lang] fuel, else 5000000)")
}

// names are the flags.
func (o *configFlags) names() []string {
	return []string{"var", "var-file", "strict-inputs", "env", "fuel"}
}

// steps is the budget: the flag, the project file, or 0 for the default. What the file
// says must be right even where the flag beats it.
func (o *configFlags) steps(p *project.Project, flags *pflag.FlagSet) (int64, error) {
	fuel, err := p.Fuel()
	if err != nil || !flags.Changed("fuel") {
		return fuel, err
	}
	fuel, err = strconv.ParseInt(o.fuel, 10, 64)
	if err != nil || fuel < 1 || fuel > project.MaxFuel {
		return 0, model.Errorf(model.AtlantideError, model.ClassUser, "--fuel must be from 1 to %d, not '%s'", project.MaxFuel, sourcetree.Shown(o.fuel))
	}
	return fuel, nil
}

// evaluated is a config, or what was built from one, with what came out of it.
type evaluated struct {
	*ir.Compilation

	Config   string             // as it is shown
	Warnings []model.Diagnostic // of the evaluation, then of the inputs
}

// evaluate reads and compiles the config of a command; given is its argument, "" for the
// project file's. Files in errors and warnings are named from the working directory.
func (w *workspace) evaluate(ctx context.Context, o *configFlags, flags *pflag.FlagSet, given string) (*evaluated, error) {
	fuel, err := o.steps(w.Project, flags)
	if err != nil {
		return nil, err
	}
	config, err := w.Config(given)
	if err != nil {
		return nil, err
	}
	inputs, err := w.Inputs(o.varFiles, o.vars)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	compilation, err := w.engine.Compile(ctx, engine.Source{Filename: config.Name, Text: config.Text}, engine.CompileOptions{
		Inputs: inputs.Values, Envs: o.envs, Fuel: fuel, Source: w.tree,
	})
	if err != nil {
		return nil, listedEnv(w.Renamed(err, config.Name), o.envs)
	}
	w.log.Named("config").Debug("evaluated",
		zap.String("config", config.Name), zap.Int("resources", len(compilation.Document.Nodes)), zap.String("hash", compilation.Hash), zap.Duration("took", time.Since(start)))
	unread := inputs.Unread(compilation.Inputs, o.strictInputs)
	if o.strictInputs && len(unread) > 0 {
		return nil, oneError(unread)
	}
	warnings := w.RenamedAll(compilation.Diagnostics, config.Name)
	return &evaluated{Compilation: compilation, Config: config.Name, Warnings: slices.Concat(warnings, unread, inputs.Mistyped(compilation.Inputs, compilation.InputTypes))}, nil
}

// listedEnv says how several environments are given, to somebody who gave them as one.
func listedEnv(err error, envs []string) error {
	e, ok := errors.AsType[*model.Error](err)
	if !ok {
		return err
	}
	for _, env := range envs {
		if strings.Contains(env, ",") && strings.Contains(e.Message, "environment '"+env+"'") {
			e.Hint = "repeat the option for each of them: -e " + strings.Join(strings.Split(env, ","), " -e ")
		}
	}
	return e
}

// oneError is the first diagnostic as an error, with the others as what failed beside it.
func oneError(list []model.Diagnostic) error {
	var all []*model.Error
	for _, d := range list {
		all = append(all, &model.Error{Kind: model.AtlantideError, Class: model.ClassUser, Message: d.Message, Hint: d.Hint, File: d.File})
	}
	all[0].AlsoFailed = all[1:]
	return all[0]
}

// argument is the one of a command, "" without one; an empty one is none that names a
// file.
func argument(args []string) (string, error) {
	switch {
	case len(args) == 0:
		return "", nil
	case args[0] == "":
		return "", errors.New("the name of the config is empty")
	}
	return args[0], nil
}
