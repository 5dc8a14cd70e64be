// Command atlantide is the engine without a cluster.
//
// It owns flags, what is printed and exit codes; one file per command. It must never
// know Kubernetes, and decides nothing that the engine's façade decides.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// Exit codes (cli.md 9).
const (
	exitOK          = 0
	exitError       = 1
	exitInterrupted = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the whole command with its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root, options := newRoot()
	root.SetArgs(twoDashes(args))
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var usage *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errReported):
		return exitError
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, &usage):
		printError(stderr, usage.err)
		_, _ = io.WriteString(stderr, usage.cmd.UsageString()) // nobody is left to tell
		return exitError
	default:
		printError(stderr, err)
		if options.debug {
			printTrace(stderr, err)
		}
		return exitError
	}
}

// twoDashes writes the documented short form "-var" as the long flag that it is.
func twoDashes(args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		if arg == "--" {
			copy(out[i:], args[i:])
			break
		}
		if arg == "-var" || strings.HasPrefix(arg, "-var=") {
			arg = "-" + arg
		}
		out[i] = arg
	}
	return out
}
