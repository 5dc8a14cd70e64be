package main

import (
	"context"

	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state/memory"
)

// locker is the lock of a world that has one run at a time: nobody else can hold or
// take it, so that it only mints epochs.
type locker struct {
	store     *memory.Store
	partition string
	epoch     int64
}

func (l *locker) Acquire(ctx context.Context) (lease.Handle, error) {
	l.epoch++
	fence := model.Fence{Epoch: l.epoch, Holder: "conformance"}
	return held{fence}, l.store.Claim(ctx, l.partition, fence)
}

type held struct{ fence model.Fence }

func (h held) Fence() model.Fence          { return h.fence }
func (held) Check() error                  { return nil }
func (held) Lost() <-chan struct{}         { return nil }
func (held) Release(context.Context) error { return nil }
func (held) Abandon()                      {}
