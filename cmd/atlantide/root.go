package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

const version = "0.1.0"

// Environment variables of global options; the option beats its variable.
const (
	envDebug    = "ATLANTIDE_DEBUG"
	envProfile  = "ATLANTIDE_PROFILE"
	envLogLevel = "ATLANTIDE_LOG_LEVEL"
)

// globalOptions stand before the command (cli.md 1).
type globalOptions struct {
	debug               bool
	profile             string
	logLevel, logFormat string
	showCompletion      bool
}

func (a *app) newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:              "atlantide [OPTIONS] COMMAND [ARGUMENTS]",
		Short:            "Infrastructure in Atlas-lang: plan it and apply it, without a cluster",
		SilenceErrors:    true,
		SilenceUsage:     true,
		TraverseChildren: true,
		Args:             cobra.ArbitraryArgs,

		DisableFlagsInUseLine: true,
	}
	root.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > 0:
			return &usageError{cmd, unknownCommand(cmd, args[0])}
		case a.globals.showCompletion:
			return a.showCompletion(cmd)
		}
		return &usageError{cmd, errors.New("name a command")}
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if errors.Is(err, errVersion) {
			return errVersion
		}
		return &usageError{cmd, misplaced(root, cmd, err)}
	})
	root.SetUsageTemplate(usageTemplate)
	a.globals.register(root)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return a.begin(cmd, root.Flags()) }
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(newHelp())
	root.AddCommand(a.newRefresh(), a.newImport(), a.newOutput())
	root.AddCommand(a.newValidate(), a.newPlan(), a.newApply(), a.newDestroy(), a.newGraph(), a.newBuild(), a.newVerify(), a.newDeploy(), a.newState(), a.newSecret(), a.newCompletion())
	return root
}

func (g *globalOptions) register(root *cobra.Command) {
	flags := root.Flags()
	flags.SortFlags = false
	flags.SetInterspersed(false) // what stands behind a word is the command's, even where the word is none
	flags.StringVarP(&g.profile, "profile", "P", "", "overlay [profile.`NAME`] of "+project.FileName+" (environment: "+envProfile+")")
	flags.BoolVar(&g.debug, "debug", false, "after an error, print its chain of causes (environment: "+envDebug+")")
	flags.StringVar(&g.logLevel, "log-level", "", "log to stderr from `LEVEL` on: debug, info, warning, error (default warning; environment: "+envLogLevel+")")
	flags.StringVar(&g.logFormat, "log-format", "text", "log as `FORMAT`: text, json")
	flags.Bool("no-plugins", false, "use the built-in providers only; there are no others yet")
	flags.BoolVar(&g.showCompletion, "show-completion", false, "print the completion script of the shell named by $SHELL")
	flags.Var(versionFlag{}, "version", "print the version")
	flags.Lookup("version").NoOptDefVal = "true"
	completeFrom(root, "profile", func() []string { return project.Profiles(".") })
	completeFrom(root, "log-level", func() []string { return logLevels })
	completeFrom(root, "log-format", func() []string { return logFormats })
}

// usageTemplate is the help behind what a command is.
const usageTemplate = `Usage: {{.UseLine}}
{{- if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}
{{- if .HasAvailableLocalFlags}}

Options:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}
{{- if .HasAvailableSubCommands}}

"{{.CommandPath}} COMMAND --help" tells more about a command.{{end}}
`

// shortUsage is what follows a command line that cannot be read: the error before it must
// not scroll away.
func shortUsage(cmd *cobra.Command) string {
	text := "Usage: " + cmd.UseLine() + "\n"
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if len(names) > 0 {
		text += "Commands: " + strings.Join(names, ", ") + "\n"
	}
	return text + "'" + cmd.CommandPath() + " --help' tells more.\n"
}

// onlyGroups makes a command that does nothing but name others.
func onlyGroups(cmd *cobra.Command) {
	cmd.Args, cmd.DisableFlagsInUseLine = cobra.ArbitraryArgs, true
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return &usageError{cmd, unknownCommand(cmd, args[0])}
		}
		return &usageError{cmd, errors.New("name a command")}
	}
}

// newHelp prints the help of the command that is named.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print what a command does and takes",

		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			at := cmd.Root()
			for _, name := range args {
				next := slices.IndexFunc(at.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
				if next < 0 {
					return &usageError{at, unknownCommand(at, name)}
				}
				at = at.Commands()[next]
			}
			at.InitDefaultHelpFlag()
			return at.Help()
		},
	}
}

// begin takes the global options before a command runs.
func (a *app) begin(cmd *cobra.Command, flags *pflag.FlagSet) error {
	g := &a.globals
	if !flags.Changed("debug") {
		on, err := truth(os.Getenv(envDebug))
		if err != nil {
			return &usageError{cmd, fmt.Errorf("%s: %w", envDebug, err)}
		}
		g.debug = on
	}
	if !flags.Changed("profile") {
		g.profile = os.Getenv(envProfile)
	}
	level, source := g.logLevel, "--log-level"
	if !flags.Changed("log-level") {
		level, source = os.Getenv(envLogLevel), envLogLevel
	}
	if err := a.log.configure(level, source, g.logFormat); err != nil {
		return err
	}
	return nil
}

// versionFlag ends the reading of the command line: what stands behind it is not read.
type versionFlag struct{}

// errVersion asks for the version.
var errVersion = errors.New("version")

func (versionFlag) String() string   { return "" }
func (versionFlag) Type() string     { return "bool" }
func (versionFlag) Set(string) error { return errVersion }

// truth reads a flag of the environment.
func truth(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "1", "t", "true", "y", "yes", "on":
		return true, nil
	case "", "0", "f", "false", "n", "no", "off":
		return false, nil
	default:
		return false, fmt.Errorf("'%s' is neither on nor off", sourcetree.Shown(text))
	}
}

// usageError is a command line that cannot be read; a short usage text follows it.
type usageError struct {
	cmd *cobra.Command
	err error
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// arguments checks how many there are: the first ones of those named have to be given.
func arguments(required int, names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < required:
			return &usageError{cmd, fmt.Errorf("%s is missing", names[len(args)])}
		case len(args) > len(names):
			return &usageError{cmd, fmt.Errorf("'%s' is one argument too many", sourcetree.Shown(args[len(names)]))}
		}
		return nil
	}
}

func unknownCommand(root *cobra.Command, name string) error {
	var known []string
	for _, c := range root.Commands() {
		known = append(known, c.Name())
	}
	err := model.Errorf(model.AtlantideError, model.ClassUser, "unknown command '%s'", sourcetree.Shown(name))
	err.Hint = model.DidYouMean(name, known)
	return err
}

// misplaced says so when a flag that a command does not know is a global option, and
// otherwise which of its own is near.
func misplaced(root, cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	name := unknown.GetSpecifiedName()
	if root.Flags().Lookup(name) == nil && (len(name) != 1 || root.Flags().ShorthandLookup(name) == nil) {
		return suggested(cmd, name, err)
	}
	return fmt.Errorf("%w; it is a global option, which stands before the command", err)
}

func suggested(cmd *cobra.Command, name string, err error) error {
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	near := model.Nearest(name, known)
	if near == "" {
		return err
	}
	return fmt.Errorf("%w; did you mean '--%s'?", err, near)
}
