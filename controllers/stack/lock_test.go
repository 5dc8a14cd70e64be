package stack

import (
	"context"
	"slices"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// notedHandle notes what is done to a held lock.
type notedHandle struct {
	lease.Handle
	done []string
	from string
	sink func(lease.Renewal)
}

func (h *notedHandle) Fence() model.Fence { return model.Fence{Epoch: 1, Holder: "a"} }

func (h *notedHandle) Lost() <-chan struct{} { return nil } // never

func (h *notedHandle) Release(context.Context) error {
	h.done = append(h.done, "released")
	return nil
}

func (h *notedHandle) Abandon() { h.done = append(h.done, "abandoned") }

func (h *notedHandle) Observe(sink func(lease.Renewal)) { h.sink = sink }

func (h *notedHandle) TookOver() string { return h.from }

func (h *notedHandle) Acquire(context.Context) (lease.Handle, error) { return h, nil }

// The lock of a run outlives the engine's part of it, unless a call may still be in flight:
// then nobody gives it back, and it lapses (EX-33, LS-10).
func TestRunLock(t *testing.T) {
	for _, c := range []struct {
		reason string
		engine func(lease.Handle) error
		want   []string
	}{
		{"the engine gives it back", func(h lease.Handle) error { return h.Release(t.Context()) }, []string{"released"}},
		{"the engine abandons it", func(h lease.Handle) error { h.Abandon(); return nil }, []string{"abandoned"}},
		{"the engine failed", func(lease.Handle) error { return nil }, []string{"released"}},
	} {
		inner := &notedHandle{from: "the dead"}
		var took string
		l := &runLock{inner: inner, taken: func(_ context.Context, h lease.Handle) { took = tookOver(h) }}
		h, err := l.Acquire(t.Context())
		if err != nil || took != "the dead" || *l.fence() != inner.Fence() {
			t.Errorf("%s: took over from %q, fence %+v, %v", c.reason, took, l.fence(), err)
		}
		renewals := 0
		h.(lease.Observed).Observe(func(lease.Renewal) { renewals++ })
		if inner.sink(lease.Renewal{}); renewals != 1 {
			t.Errorf("%s: %d renewals reach the engine", c.reason, renewals)
		}
		if err := c.engine(h); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := l.close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if !slices.Equal(inner.done, c.want) {
			t.Errorf("%s: %v, want %v", c.reason, inner.done, c.want)
		}
	}
}
