package state

import (
	"context"
	"fmt"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// What a command line uses is one partition of a store, the same in every store, so that
// what is sealed for it opens after a move to another one (ST-17, ST-19, SC-11).
const (
	CommandLinePartition    = "89b54df4-6e70-55f4-bf18-7fceb3008ef4"
	CommandLineInstallation = "command-line"
)

// Locks is the lock of a partition kept in the store itself, for whoever has no other. It
// ends by itself when it was not renewed; a fence never changes by a renewal.
type Locks interface {
	// TakeLock makes holder the partition's, under a new epoch that fences everybody
	// before it, for ttl from now on the store's clock. A lock that somebody else holds
	// and that has not lapsed is a LockError naming holder and remaining time; nothing
	// was changed then. The same holder may ask again: an answer may have been lost.
	TakeLock(ctx context.Context, partition, holder string, ttl time.Duration) (model.Fence, error)
	// RenewLock moves the end to ttl from now. A FencedWriteError says that the lock is
	// another's or nobody's; any other error leaves that open.
	RenewLock(ctx context.Context, partition string, fence model.Fence, ttl time.Duration) error
	// ClearHolder gives the lock back if it is still that of the fence (LS-10).
	ClearHolder(ctx context.Context, partition string, fence model.Fence) error
	// Holds lists who holds the partition, lapsed holds included (LS-21).
	Holds(ctx context.Context, partition string) ([]Hold, error)
	// BreakLock fences this holder by a new epoch and leaves the partition free (LS-11).
	// It reports whether the holder was there; another one is left alone.
	BreakLock(ctx context.Context, partition, holder string) (held bool, err error)
}

// Hold is a lock as it is recorded.
type Hold struct {
	Node   string // what is locked; "" = the whole partition
	Holder string
	Epoch  int64
	// Lapses says whether the store ends the hold by itself; one that stands for a lock
	// kept elsewhere it does not.
	Lapses    bool
	Remaining time.Duration // until the hold ends; not positive once it ended
}

// Expired reports whether the hold ended.
func (h Hold) Expired() bool { return h.Lapses && h.Remaining <= 0 }

// Held is the refusal of a lock that somebody else holds.
func (h Hold) Held() error {
	until := "it does not end by itself"
	switch {
	case h.Lapses && h.Remaining > 0:
		until = fmt.Sprintf("it ends in %s unless it is renewed", h.Remaining.Round(time.Second))
	case h.Lapses:
		until = "it has ended and may be taken in a moment"
	}
	what := "the state"
	if h.Node != "" {
		what = fmt.Sprintf("node %+.80q", h.Node)
	}
	return model.Errorf(model.LockError, model.ClassTransient, "%s is locked by '%.120s': %s; wait for it, or break it with `atlantide state unlock` when that run is dead", what, h.Holder, until)
}

// Statuses of a check (RF-27).
const (
	CheckOK   = "ok"
	CheckWarn = "warn"
	CheckFail = "fail"
	CheckSkip = "skip"
)

// Check is one thing that was looked at and how it is.
type Check struct {
	Name   string
	Status string
	Detail string
}
