package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

// completionShells are those that a completion script can be written for.
var completionShells = []string{"bash", "fish", "powershell", "zsh"}

func (a *app) newCompletion() *cobra.Command {
	return &cobra.Command{
		Use:   "completion [OPTIONS] SHELL",
		Short: "Print the completion script of a shell",
		Long:  "Print the script that completes command lines in a shell: " + strings.Join(completionShells, ", ") + ".",
		Args:  arguments(1, "SHELL"),

		ValidArgs:             completionShells,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(completionShells, args[0]) {
				return &usageError{cmd, notOneOf("SHELL", args[0], completionShells)}
			}
			return a.writeCompletion(cmd.Root(), args[0])
		},
	}
}

// showCompletion prints the script of the user's shell.
func (a *app) showCompletion(root *cobra.Command) error {
	shell := filepath.Base(os.Getenv("SHELL"))
	if !slices.Contains(completionShells, shell) {
		return model.Errorf(model.AtlantideError, model.ClassUser,
			"there is no completion for $SHELL '%s'; name a shell, as in 'atlantide completion bash'", sourcetree.Shown(shell))
	}
	return a.writeCompletion(root, shell)
}

// writeCompletion prints the script that completes command lines in one of the shells.
func (a *app) writeCompletion(root *cobra.Command, shell string) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(a.out, true)
	case "fish":
		return root.GenFishCompletion(a.out, true)
	case "powershell":
		return root.GenPowerShellCompletionWithDesc(a.out)
	default:
		return root.GenZshCompletion(a.out)
	}
}

// completeFrom offers values for a flag of a command.
func completeFrom(cmd *cobra.Command, flag string, values func() []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values(), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // the flag is not declared: the command line itself is wrong
	}
}
