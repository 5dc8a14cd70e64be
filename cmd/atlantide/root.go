package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

const version = "0.1.0"

// envDebug is the environment's form of --debug.
const envDebug = "ATLANTIDE_DEBUG"

// globalOptions stand before the command.
type globalOptions struct {
	debug bool
}

func newRoot() (*cobra.Command, *globalOptions) {
	options := &globalOptions{}
	root := &cobra.Command{
		Use:               "atlantide",
		Short:             "Infrastructure in Atlas-lang: check it, without a cluster",
		Version:           version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		TraverseChildren:  true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{cmd, fmt.Errorf("unknown command '%s'", args[0])}
			}
			return &usageError{cmd, errors.New("name a command")}
		},
		Args: cobra.ArbitraryArgs,
	}
	root.SetVersionTemplate("atlantide {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &usageError{cmd, err} })
	root.Flags().BoolVar(&options.debug, "debug", false, "after an error, print its chain of causes (environment: "+envDebug+")")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if root.Flags().Changed("debug") {
			return nil
		}
		on, err := truth(os.Getenv(envDebug))
		if err != nil {
			return &usageError{cmd, fmt.Errorf("%s: %w", envDebug, err)}
		}
		options.debug = on
		return nil
	}
	root.AddCommand(newValidate())
	return root, options
}

// truth reads a flag of the environment.
func truth(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "1", "t", "true", "y", "yes", "on":
		return true, nil
	case "", "0", "f", "false", "n", "no", "off":
		return false, nil
	default:
		return false, fmt.Errorf("'%s' is neither on nor off", text)
	}
}

// usageError is a command line that cannot be read; the usage text follows it.
type usageError struct {
	cmd *cobra.Command
	err error
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// usage marks what a positional-argument check refuses.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return &usageError{cmd, err}
		}
		return nil
	}
}
