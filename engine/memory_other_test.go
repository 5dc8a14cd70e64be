//go:build !linux

package engine_test

import (
	"runtime/metrics"
	"sync"
	"time"
)

// watchMemory measures by how many bytes the heap of this process grows at its peak,
// until the returned function is called: what the runtime says, every millisecond.
func watchMemory() func() int64 {
	settle()
	before := heap()
	stop := make(chan struct{})
	peak := before
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			peak = max(peak, heap())
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	})
	return func() int64 {
		close(stop)
		done.Wait()
		return peak - before
	}
}

func heap() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64() + sample[1].Value.Uint64())
}
