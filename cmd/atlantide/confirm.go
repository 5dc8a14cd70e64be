package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// confirmFlags are those of every command that asks before it changes something.
type confirmFlags struct{ yes bool }

func (f *confirmFlags) register(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.yes, "confirm", "y", false, "do not ask")
}

// askable is nil where the question can be put, or need not be (cli.md 7).
func (a *app) askable(f *confirmFlags, asJSON bool) error {
	if f.yes {
		return nil
	}
	_, person := terminal(a.in)
	switch {
	case asJSON:
		return model.Errorf(model.AtlantideError, model.ClassUser, "--json leaves nobody to ask, and nothing was done; give --confirm/-y")
	case !person:
		return model.Errorf(model.AtlantideError, model.ClassUser, "standard input is no terminal to ask on, and nothing was done; give --confirm/-y")
	}
	return nil
}

// confirm asks a question; any other answer than yes is an error. An interrupt ends the
// wait.
func (a *app) confirm(ctx context.Context, f *confirmFlags, question string) error {
	if err := a.askable(f, false); err != nil || f.yes {
		return err
	}
	fmt.Fprintf(a.err, "%s [y/N]: ", question)
	answers := make(chan string, 1)
	go func() {
		const longest = 64
		line, _ := bufio.NewReader(io.LimitReader(a.in, longest)).ReadString('\n')
		answers <- line
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.err)
		return context.Cause(ctx)
	case line := <-answers:
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return nil
		}
		if !strings.HasSuffix(line, "\n") {
			fmt.Fprintln(a.err)
		}
		return errDeclined
	}
}

var errDeclined = errors.New("not confirmed; nothing was done")
