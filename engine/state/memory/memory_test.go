package memory_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state/memory"
	"github.com/atlantide-org/atlantide-operator/engine/state/statetest"
)

func TestContract(t *testing.T) {
	statetest.Run(t, func(*testing.T) statetest.Subject { return memory.New() })
}

func TestMarks(t *testing.T) { statetest.RunMarks(t, memory.New()) }

func TestClaim(t *testing.T) {
	s := memory.New()
	for _, c := range []struct {
		reason string
		fence  model.Fence
		ok     bool
	}{
		{"the first epoch", model.Fence{Epoch: 3, Holder: "a"}, true},
		{"a replay of a lost answer", model.Fence{Epoch: 3, Holder: "a"}, true},
		{"an equal epoch of somebody else", model.Fence{Epoch: 3, Holder: "b"}, false},
		{"an older epoch", model.Fence{Epoch: 2, Holder: "c"}, false},
		{"a newer epoch", model.Fence{Epoch: 4, Holder: "d"}, true},
	} {
		err := s.Claim(t.Context(), "p", c.fence)
		if c.ok && err != nil || !c.ok && !model.IsKind(err, model.LockError) {
			t.Errorf("%s: %v", c.reason, err)
		}
		held := s.CheckFence(t.Context(), "p", c.fence) == nil
		if held != c.ok {
			t.Errorf("%s: the fence stands: %v", c.reason, held)
		}
	}
}

func TestLocks(t *testing.T) {
	statetest.RunLocks(t, func(*testing.T) statetest.LockSubject {
		s := &later{Store: memory.New()}
		s.Now = func() time.Time { return time.Now().Add(time.Duration(s.passed.Load())) }
		return s
	})
}

// later is a store whose clock can be moved on.
type later struct {
	*memory.Store
	passed atomic.Int64
}

func (l *later) Lapse(context.Context) error {
	l.passed.Add(int64(24 * time.Hour))
	return nil
}
