package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"
)

// asChild is the variable under which this program is a process that applies one config:
// its memory is that of nothing else.
const asChild = "ATLANTIDE_BENCH_APPLIES"

// job is what a child applies, and where.
type job struct {
	DSN    string
	Config string
	Nodes  int
	Dir    string // on the disk that is measured
	Repeat int    // how often nothing is to be done
}

// figures are what it measured.
type figures struct {
	Config  string
	Create  applied
	Commit  time.Duration // of a write that shares its commit with none
	Sync    time.Duration // of the disk
	Nothing []noop
}

// inChild runs a job in a process of its own.
func inChild(ctx context.Context, j job) (*figures, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	child := exec.CommandContext(ctx, program)
	child.Env = append(os.Environ(), asChild+"=1")
	child.Stderr = os.Stderr
	in, err := child.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := child.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := child.Start(); err != nil {
		return nil, err
	}
	f := &figures{}
	err = errors.Join(json.NewEncoder(in).Encode(j), json.NewDecoder(out).Decode(f), child.Wait())
	if err != nil {
		return nil, fmt.Errorf("apply %s in a process of its own: %w", j.Config, err)
	}
	return f, nil
}

// serve is the child.
func serve(ctx context.Context, in io.Reader, out io.Writer) error {
	var j job
	if err := json.NewDecoder(in).Decode(&j); err != nil {
		return err
	}
	f, err := j.measure(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(f)
}

func (j job) measure(ctx context.Context) (*figures, error) {
	c, err := newCompiler(j.Dir)
	if err != nil {
		return nil, err
	}
	s, err := newSite(ctx, c, j.DSN)
	if err != nil {
		return nil, err
	}
	defer s.store.Close()
	w := fromFile(j.Config, j.Nodes)
	compilation, err := c.compilation(&w)
	if err != nil {
		return nil, err
	}
	f := &figures{Config: w.name}
	if f.Sync, err = syncLatency(j.Dir); err != nil {
		return nil, err
	}
	if f.Commit, err = s.commitLatency(ctx); err != nil {
		return nil, err
	}
	if f.Create, err = s.apply(ctx, compilation); err != nil {
		return nil, err
	}
	for range j.Repeat {
		n, err := s.noop(ctx, compilation)
		if err != nil {
			return nil, err
		}
		f.Nothing = append(f.Nothing, n)
	}
	return f, nil
}

// nothing are the medians.
func (f *figures) nothing() noop {
	median := func(of func(noop) time.Duration) time.Duration {
		if len(f.Nothing) == 0 {
			return 0
		}
		times := make([]time.Duration, len(f.Nothing))
		for i, n := range f.Nothing {
			times[i] = of(n)
		}
		slices.Sort(times)
		return times[len(times)/2]
	}
	return noop{
		Load: median(func(n noop) time.Duration { return n.Load }), Plan: median(func(n noop) time.Duration { return n.Plan }),
		Digest: median(func(n noop) time.Duration { return n.Digest }), Whole: median(func(n noop) time.Duration { return n.Whole }),
		Remembered: median(func(n noop) time.Duration { return n.Remembered }),
	}
}

// String is the row of the table.
func (f *figures) String() string {
	least, n := floor(f.Sync, f.Commit), f.nothing()
	return fmt.Sprintf("| %s | %.0f | %.0f | %s | %s | %d | %.0f MB | %s | %s | %s | %s | %s |",
		f.Config, f.Create.NodesPerSecond(), least, short(f.Sync), short(f.Commit), f.Create.Writes, float64(f.Create.Peak)/1e6,
		short(n.Load), short(n.Plan), short(n.Digest), short(n.Whole), short(n.Remembered))
}
