package state

import "context"

// Marks remember what somebody found out about all that a partition records. A mark is
// about one serial: the next committed write takes it away, whoever makes it.
type Marks interface {
	// Mark keeps a mark, which is not empty, in the place of any before it, if the
	// partition is at this serial; else it does nothing. It needs no fence: what a
	// partition records at a serial never changes.
	Mark(ctx context.Context, partition string, serial int64, mark string) error
	// Marked reports whether the partition has this mark, and then its serial. It is one
	// indexed query.
	Marked(ctx context.Context, partition, mark string) (serial int64, marked bool, err error)
}
