package main

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// measurement is several compilations of one workload.
type measurement struct {
	workload
	times []time.Duration // ascending
	last  sample          // what is allocated hardly differs between them
}

// sample is one compilation.
type sample struct {
	time           time.Duration // of the processor
	bytes, objects uint64        // allocated, freed ones included
}

// measure compiles once to warm up and then count times.
func (c *compiler) measure(w *workload, count int) (*measurement, error) {
	if err := c.compile(w); err != nil {
		return nil, err
	}
	m := &measurement{workload: *w, times: make([]time.Duration, count)}
	for i := range m.times {
		var err error
		if m.last, err = c.sample(w); err != nil {
			return nil, err
		}
		m.times[i] = m.last.time
	}
	slices.Sort(m.times)
	return m, nil
}

// sample compiles once on a heap that has just been collected.
func (c *compiler) sample(w *workload) (sample, error) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := processorTime()
	err := c.compile(w)
	spent := processorTime() - start
	runtime.ReadMemStats(&after)
	return sample{spent, after.TotalAlloc - before.TotalAlloc, after.Mallocs - before.Mallocs}, err
}

// processorTime is what the process has used so far, in user mode and in the kernel.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // the arguments are constants
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// String is the row of the table.
func (m *measurement) String() string {
	n := len(m.times)
	median := (m.times[(n-1)/2] + m.times[n/2]) / 2
	return fmt.Sprintf("| %s | %s | %s to %s | %.1f µs | %.2f MB | %d B | %.1f k | %d |",
		m.name, short(median), short(m.times[0]), short(m.times[n-1]), float64(median.Nanoseconds())/float64(m.nodes)/1e3,
		float64(m.last.bytes)/1e6, m.last.bytes/uint64(m.nodes), float64(m.last.objects)/1e3, m.last.objects/uint64(m.nodes))
}

// short is a duration to three digits, about.
func short(d time.Duration) string {
	ms := float64(d.Microseconds()) / 1e3
	switch {
	case ms < 10:
		return fmt.Sprintf("%.2f ms", ms)
	case ms < 100:
		return fmt.Sprintf("%.1f ms", ms)
	default:
		return fmt.Sprintf("%.0f ms", ms)
	}
}
