package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// caseTimeout is what one case may take; they take milliseconds.
const caseTimeout = 60 * time.Second

// answers is the descriptor on which a worker answers; its standard output and error
// are the engine's.
const answers = 3

// runAll runs cases in worker processes, so that a panic, a stack overflow or a hang
// (no answer within timeout) is the failure of one case, and reports them in order.
func runAll(ctx context.Context, cases []*testCase, timeout time.Duration, report func(*testCase, []result)) error {
	results := make([]chan []result, len(cases))
	for i := range results {
		results[i] = make(chan []result, 1)
	}
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.NumCPU(), len(cases)) {
		workers.Go(func() {
			w := &worker{timeout: timeout}
			defer w.stop()
			for i := range next {
				results[i] <- w.run(ctx, cases[i])
			}
		})
	}
	go func() {
		defer close(next)
		for i := range cases {
			next <- i
		}
	}()
	for i, c := range cases {
		got := <-results[i]
		if ctx.Err() == nil {
			report(c, got)
		}
	}
	workers.Wait()
	return context.Cause(ctx)
}

// worker is a process that runs cases; it is started when one is needed.
type worker struct {
	timeout time.Duration

	// Of the process; nil while there is none.
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *os.File
	lines  *bufio.Reader
	stderr *bytes.Buffer
}

// run gives the verdict on one case, whatever happens to the process.
func (w *worker) run(ctx context.Context, c *testCase) []result {
	if ctx.Err() != nil {
		return nil
	}
	if w.cmd == nil {
		if err := w.start(); err != nil {
			return c.all("no worker: " + err.Error())
		}
	}
	process := w.cmd.Process
	timer := time.AfterFunc(w.timeout, func() { _ = process.Kill() })
	defer timer.Stop()
	defer context.AfterFunc(ctx, func() { _ = process.Kill() })()

	var got []result
	_, err := fmt.Fprintln(w.in, c.dir)
	if err == nil {
		var line []byte
		if line, err = w.lines.ReadBytes('\n'); err == nil {
			err = json.Unmarshal(line, &got)
		}
	}
	if err == nil {
		return got
	}
	hung := !timer.Stop()
	stderr := w.stderr
	w.stop()
	if hung {
		return c.all(fmt.Sprintf("no answer within %s", w.timeout))
	}
	return c.all("the process died\n" + firstLines(stderr.String(), 30))
}

func (w *worker) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirs.Close()
	cmd := exec.Command(self, "-"+workerFlag)
	cmd.ExtraFiles = []*os.File{theirs}
	stderr := &bytes.Buffer{}
	cmd.Stderr = stderr
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		_ = out.Close()
		return err
	}
	*w = worker{timeout: w.timeout, cmd: cmd, in: in, out: out, lines: bufio.NewReader(out), stderr: stderr}
	return nil
}

// stop ends the process; a worker ends by itself when its input does.
func (w *worker) stop() {
	if w.cmd == nil {
		return
	}
	_ = w.in.Close()
	_ = w.cmd.Wait() // how it ended is told by what it answered
	_ = w.out.Close()
	*w = worker{timeout: w.timeout}
}

// serve is the worker's side: a case's folder a line in, its results a line out.
func serve(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	answer := json.NewEncoder(out)
	for lines.Scan() {
		c, err := readCase(lines.Text())
		if err != nil {
			return err
		}
		if err := answer.Encode(runCase(c)); err != nil {
			return err
		}
	}
	return lines.Err()
}

func firstLines(text string, n int) string {
	lines := strings.SplitAfterN(text, "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "")
}
