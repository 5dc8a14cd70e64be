package model

// Fence is the right to write: an epoch minted by the state store and the holder it
// was claimed for. Every state write names it, and commits only while the partition
// still carries both (LS-13, LS-16).
type Fence struct {
	Epoch  int64
	Holder string
}
