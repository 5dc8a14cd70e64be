package engine

import (
	"sync"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/lease"
)

// narrator tells the engine's sink of one run, one event at a time: a lock is renewed
// beside the work (EX-39). A sink that fails breaks nothing.
type narrator struct {
	engine *Engine
	mu     sync.Mutex
	lost   bool // the loss of the lock was told
}

func (e *Engine) narrator() *narrator { return &narrator{engine: e} }

// events is the sink of a run, nil when nobody listens.
func (n *narrator) events() func(apply.Event) {
	if n.engine.Events == nil {
		return nil
	}
	return n.tell
}

func (n *narrator) tell(event apply.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if event.Phase == lease.EventLost {
		if n.lost {
			return
		}
		n.lost = true
	}
	defer func() { _ = recover() }()
	n.engine.Events(event)
}

// ofLock tells of a lock.
func (n *narrator) ofLock(handle lease.Handle, phase string, detail map[string]any) {
	if n.engine.Events == nil {
		return
	}
	n.tell(apply.Event{RunID: handle.Fence().Holder, At: n.engine.Now(), Phase: phase, Detail: detail})
}

// ofLoss tells of a lock that was lost, unless the work under it did; in the middle of
// a run that is told when it shows.
func (n *narrator) ofLoss(h *held) {
	if err := h.loss(); err != nil {
		n.ofLock(h, lease.EventLost, map[string]any{"owner": h.Fence().Holder, "reason": err.Error()})
	}
}

// ofRenewals tells of every renewal of a lock that tells of them itself.
func (n *narrator) ofRenewals(handle lease.Handle) {
	observed, ok := handle.(lease.Observed)
	if !ok || n.engine.Events == nil {
		return
	}
	owner := handle.Fence().Holder
	observed.Observe(func(r lease.Renewal) {
		detail := map[string]any{"owner": owner}
		if r.Err != nil {
			detail["error"] = r.Err.Error()
		}
		n.ofLock(handle, lease.EventRenew, detail)
	})
}
