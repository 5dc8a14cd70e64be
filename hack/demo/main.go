// Command demo shows the operator at work: a real control plane, a real Postgres, the
// manager as its own service account, and a person with kubectl. It checks every
// claim that it makes and exits 1 at the first that does not hold.
//
//	make demo            show it and clean up
//	make demo KEEP=1     show it, then leave it up until Ctrl-C
//
// It must never know how the operator works inside: it sees what a user sees.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, newNarrator(os.Stdout), os.Getenv("KEEP") != "")
	stop()
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "interrupted; everything that was started is stopped")
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run tells the story. Whatever happens, what was started is stopped in the end.
func run(ctx context.Context, out *narrator, keep bool) (err error) {
	d := &demo{out: out}
	defer func() { err = errors.Join(err, d.stop()) }()
	for i, s := range story {
		out.title(i+1, s.title)
		if err := s.show(ctx, d); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			d.explain()
			return fmt.Errorf("step %d (%s): %w", i+1, s.title, err)
		}
	}
	out.say("\n%d steps held what they claim, in %.0f s.", len(story), out.elapsed().Seconds())
	if !keep {
		return nil
	}
	out.say("\nThe cluster stays up until Ctrl-C. In another terminal:\n\n    export KUBECONFIG=%s\n", d.cluster.KubeconfigFile)
	out.say("    files under %s, operator log %s", d.dataRoot, d.managerLog)
	<-ctx.Done()
	return nil
}
