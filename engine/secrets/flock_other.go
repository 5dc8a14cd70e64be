//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package secrets

import (
	"context"
	"errors"
)

// withoutWaiting needs no flag where opening a file never waits.
const withoutWaiting = 0

// lockFile refuses: without a lock that a dead process gives up, two writers could lose
// each other's secrets.
func lockFile(_ context.Context, what, path string) (release func(), err error) {
	return nil, fileError("lock", what+" with", path, errors.ErrUnsupported)
}
