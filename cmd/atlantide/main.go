// Command atlantide is the engine without a cluster.
//
// It owns flags, what is printed and exit codes; one file per command. It must never
// know Kubernetes, and decides nothing that the engine's façade decides.
//
// The map: root.go (the global options), workspace.go (the project, its engine and its
// secrets), config.go (what every command does that evaluates a config), save.go (how a
// file is written), report.go (how an error is told), text.go and screen.go (to people),
// document.go, github.go and sarif.go (to programs), log.go, completion.go.
package main

import (
	"context"
	"errors"
	"fmt"
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
	exitPending     = 2 // with --detailed-exitcode
	exitInterrupted = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the whole command with its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := newApp(stdin, stdout, stderr)
	args = twoDashes(args)
	root := a.newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if code, ok := errors.AsType[silentError](err); ok {
		return int(code)
	}
	return a.fail(ctx, cmd, args, err)
}

// silentError ends a command that has told all there is to tell with an exit code.
type silentError int

func (e silentError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// app is one run: what its commands share.
type app struct {
	in       io.Reader
	out, err screen
	globals  globalOptions
	log      *logger
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *app {
	return &app{in: stdin, out: newScreen(stdout, os.Getenv), err: newScreen(stderr, os.Getenv), log: newLogger(stderr)}
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
