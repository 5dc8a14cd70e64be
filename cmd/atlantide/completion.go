package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

// showCompletion prints the script that completes command lines in the user's shell.
func (a *app) showCompletion(root *cobra.Command) error {
	switch shell := filepath.Base(os.Getenv("SHELL")); shell {
	case "bash":
		return root.GenBashCompletionV2(a.out, true)
	case "zsh":
		return root.GenZshCompletion(a.out)
	case "fish":
		return root.GenFishCompletion(a.out, true)
	default:
		return model.Errorf(model.AtlantideError, model.ClassUser,
			"there is no completion for $SHELL '%s'; name a shell, as in 'atlantide completion bash'", sourcetree.Shown(shell))
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
