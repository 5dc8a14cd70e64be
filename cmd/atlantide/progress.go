package main

import (
	"fmt"
	"sync"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

// progress is a line on a terminal that says how far a run is; elsewhere it is nothing. It is
// told from several goroutines.
type progress struct {
	screen
	planned int

	mu     sync.Mutex
	done   int
	atWork []string // the latest last
}

// newProgress shows on a screen how far a run of the plan is.
func newProgress(s screen, p *plan.Plan) *progress {
	b := &progress{screen: s}
	for i := range p.Changes {
		if p.Changes[i].Pending() {
			b.planned++
		}
	}
	return b
}

// tell takes an event of the run.
func (b *progress) tell(e apply.Event) {
	if b.width == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e.Phase {
	case "node_start":
		b.atWork = append(b.atWork, e.NodeID)
	case "node_finish", "node_fail", "rollback_node":
		b.done++
		for i, id := range b.atWork {
			if id == e.NodeID {
				b.atWork = append(b.atWork[:i], b.atWork[i+1:]...)
				break
			}
		}
	case "rollback_start":
		b.planned, b.done = 0, 0
	case "run_finish":
		fmt.Fprint(b, "\r\x1b[K")
		return
	default:
		return
	}
	line := fmt.Sprintf("%d/%d done", b.done, b.planned)
	if b.planned == 0 {
		line = fmt.Sprintf("%d rolled back", b.done)
	}
	if n := len(b.atWork); n > 0 {
		line += fmt.Sprintf(", %d at work: %s", n, oneLine(model.ShortID(b.atWork[n-1])))
	}
	if room := b.width - 1; len([]rune(line)) > room {
		line = string([]rune(line)[:max(room, 0)])
	}
	fmt.Fprint(b, "\r\x1b[K"+line)
}
