// Command testcount runs the tests and counts them:
//
//	testcount [-beside COMMAND]... [-and COMMAND]... -- GO-TEST-ARGUMENT...
//
// It prints each package as it ends and everything that a failed test said, and runs
// each COMMAND through the shell, at the same time or after, to add what its closing
// line "N passed, N failed" counts. It closes with one such line of its own and exits 1 when
// anything failed.
//
// It must never know which tests or commands there are.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

func main() {
	var also []string
	flag.Func("and", "a `command` whose closing line is added; repeatable", func(s string) error {
		also = append(also, s)
		return nil
	})
	var beside []string
	flag.Func("beside", "a `command` that runs at the same time as the tests and whose closing line is added; repeatable", func(s string) error {
		beside = append(beside, s)
		return nil
	})
	flag.Parse()
	if !run(flag.Args(), also, beside) {
		os.Exit(1)
	}
}

// run reports whether everything passed.
func run(goTest, also, beside []string) bool {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	out := newTicker(os.Stdout, 15*time.Second)
	defer out.stop()
	tallies := make([]*tally, len(beside))
	all := newTally(out)
	var running sync.WaitGroup
	for i, command := range beside {
		tallies[i] = newTally(out)
		running.Go(func() { feed(ctx, tallies[i].reader(readClosingLine), "sh", "-c", command) })
	}
	feed(ctx, all.reader(readEvents), "go", append([]string{"test", "-json"}, goTest...)...)
	for _, command := range also {
		if ctx.Err() == nil {
			feed(ctx, all.reader(readClosingLine), "sh", "-c", command)
		}
	}
	running.Wait()
	for _, other := range tallies {
		all.add(other)
	}
	if ctx.Err() != nil {
		fmt.Fprintln(out, "interrupted")
		return false
	}
	return all.close()
}

// feed runs a command and gives its output and then its exit error to read.
func feed(ctx context.Context, read func(io.Reader, func() error), name string, args ...string) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		read(new(emptyReader), func() error { return err })
		return
	}
	read(out, func() error {
		err := cmd.Wait()
		if _, exited := errors.AsType[*exec.ExitError](err); exited {
			return fmt.Errorf("%s: %w", name, err)
		}
		return err
	})
}

type emptyReader struct{}

func (emptyReader) Read([]byte) (int, error) { return 0, io.EOF }

// ticker is a writer that says so itself when nothing was written for a while.
type ticker struct {
	mu    sync.Mutex
	w     io.Writer
	every time.Duration
	start time.Time
	timer *time.Timer
}

func newTicker(w io.Writer, every time.Duration) *ticker {
	t := &ticker{w: w, every: every, start: time.Now()}
	t.timer = time.AfterFunc(every, func() {
		fmt.Fprintf(t, "… testing (%.0fs)\n", time.Since(t.start).Seconds())
	})
	return t
}

func (t *ticker) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer.Reset(t.every)
	return t.w.Write(p)
}

func (t *ticker) stop() { t.timer.Stop() }
