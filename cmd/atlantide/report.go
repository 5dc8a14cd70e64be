package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// The forms in which a command tells what it found.
const (
	formatText   = "text"
	formatJSON   = "json"
	formatGitHub = "github"
	formatSARIF  = "sarif"
)

// formatFlags are --format and its short form --json. Their names are fixed: an error is
// told in the form that was asked for even where no command got to run.
type formatFlags struct {
	json    bool
	format  string
	allowed []string
}

func (f *formatFlags) register(cmd *cobra.Command, allowed ...string) {
	f.allowed = allowed
	cmd.Flags().StringVar(&f.format, "format", formatText, "print as `FORMAT`: "+strings.Join(allowed, ", "))
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON document, as --format json does")
	completeFrom(cmd, "format", func() []string { return allowed })
}

// registerJSON is for a command that has two forms, text and JSON.
func (f *formatFlags) registerJSON(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON document")
}

// chosen is the form of the result.
func (f *formatFlags) chosen(flags *pflag.FlagSet) (string, error) {
	format := strings.ToLower(f.format)
	switch {
	case !slices.Contains(f.allowed, format):
		return "", notOneOf("--format", f.format, f.allowed)
	case !f.json:
		return format, nil
	case flags.Changed("format") && format != formatJSON:
		return "", model.Errorf(model.AtlantideError, model.ClassUser, "--json and --format %s ask for two forms; give one of them", format)
	}
	return formatJSON, nil
}

// requestedFormat is the form of an error: what the command's flags say or, where the
// command line could not be read to its end, what stands on it.
func requestedFormat(cmd *cobra.Command, args []string, err error) string {
	flags := cmd.Flags()
	if on, err := flags.GetBool("json"); err == nil && on {
		return formatJSON
	}
	format := ""
	if flags.Changed("format") {
		format = flags.Lookup("format").Value.String()
	} else if _, unread := errors.AsType[*usageError](err); unread {
		format = formatIn(args)
	}
	format = strings.ToLower(format)
	if slices.Contains([]string{formatJSON, formatGitHub, formatSARIF}, format) {
		return format
	}
	return formatText
}

// formatIn looks a form up in arguments that no flag set could read.
func formatIn(args []string) string {
	for i, arg := range args {
		switch {
		case arg == "--":
			return ""
		case arg == "--json":
			return formatJSON
		case arg == "--format" && i+1 < len(args):
			return args[i+1]
		case strings.HasPrefix(arg, "--format="):
			return strings.TrimPrefix(arg, "--format=")
		}
	}
	return ""
}

// fail tells an error in the form that was asked for and is the exit code.
func (a *app) fail(ctx context.Context, cmd *cobra.Command, args []string, err error) int {
	if errors.Is(err, errVersion) {
		_, err := a.out.Write([]byte("atlantide " + version + "\n"))
		if err == nil {
			return exitOK
		}
	}
	code := exitError
	if ctx.Err() != nil {
		code = exitInterrupted
		err = a.interrupted(err)
	}
	if told := a.tell(requestedFormat(cmd, args, err), err); told != nil {
		printError(a.err, told)
	}
	if usage, ok := errors.AsType[*usageError](err); ok {
		_, _ = a.err.Write([]byte(shortUsage(usage.cmd))) // nobody is left to tell
	}
	if a.globals.debug {
		printTrace(a.err, err)
	}
	return code
}

// interrupted is how an interrupt is told that ended a command in the middle. A run says
// itself what it undid, and a failure of its own stays what it is.
func (a *app) interrupted(err error) error {
	if model.IsKind(err, model.InterruptedRunError) || !errors.Is(err, context.Canceled) {
		return err
	}
	message := "interrupted: nothing was changed"
	if a.writes {
		message = "interrupted: " + err.Error()
	}
	return &model.Error{Kind: model.InterruptedRunError, Class: model.ClassUser, Message: message, Cause: err}
}

// tell writes an error. Its own error is that it could not be written.
func (a *app) tell(format string, err error) error {
	switch format {
	case formatJSON:
		return printJSON(a.out, failure(err))
	case formatGitHub:
		return printGitHub(a.out, here(), model.Diagnostics(typed(err)))
	case formatSARIF:
		return printSARIF(a.out, here(), model.Diagnostics(typed(err)), false)
	}
	if typed(err).Kind == model.InterruptedRunError {
		a.err.message("interrupted:", bad, strings.TrimPrefix(typed(err).Message, "interrupted: "))
		return nil
	}
	printError(a.err, err)
	return nil
}
