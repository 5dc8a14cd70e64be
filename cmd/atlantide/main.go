// Command atlantide is the engine without a cluster.
//
// It owns flags, what is printed and exit codes; one file per command. It must never
// know Kubernetes, and decides nothing that the engine's façade decides.
//
// The map: root.go (the global options), workspace.go (the project, its engine and its
// secrets), target.go (the state that a command works on), config.go (what every command
// does that evaluates a config), confirm.go (how is asked), runreport.go (what a run did),
// state*.go (the state commands), save.go (how a file is written), report.go (how an error is
// told), text.go and screen.go (to people), document.go, github.go and sarif.go (to programs),
// log.go, completion.go.
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
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(signals, syscall.SIGHUP)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go interrupts(signals, cancel, os.Stderr, os.Exit)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	signal.Stop(signals)
	os.Exit(code)
}

// interrupts ends the command on the first signal, which may take a while: what a run did
// is undone and recorded. The second one ends the process at once (EX-36).
func interrupts(signals <-chan os.Signal, cancel context.CancelFunc, told io.Writer, exit func(int)) {
	<-signals
	fmt.Fprintln(told, "interrupted: stopping; a second interrupt leaves at once")
	cancel()
	<-signals
	fmt.Fprintln(told, "interrupted again: leaving at once; the state says what a run had in flight, and its lock ends by itself")
	exit(exitInterrupted)
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
	// writes: the command got so far that it may have changed something.
	writes bool
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *app {
	return &app{in: stdin, out: newScreen(stdout, os.Getenv), err: newScreen(stderr, os.Getenv), log: newLogger(stderr)}
}

// told is where everything goes that is not the result: beside a JSON document nothing
// stands on stdout (cli.md 8).
func (a *app) told(asJSON bool) screen {
	if asJSON {
		return a.err
	}
	return a.out
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
