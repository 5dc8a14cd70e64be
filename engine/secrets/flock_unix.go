//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package secrets

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// withoutWaiting opens a pipe that nobody writes to at once, so that it can be refused.
const withoutWaiting = syscall.O_NONBLOCK

// Between two looks at a lock that somebody else holds.
const (
	firstWait   = time.Millisecond
	longestWait = 100 * time.Millisecond
)

// lockFile waits until nobody else holds the lock that goes with path, in this process or
// in another one; what is locked stands in the error. Where the file of the lock is removed,
// two may get in: a store keeps it. The system
// releases the lock of a process that dies.
func lockFile(ctx context.Context, what, path string) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|withoutWaiting, ownerOnly)
	if err != nil {
		return nil, fileError("lock", what+" with", path, err)
	}
	info, err := f.Stat()
	if err == nil {
		err = regular(info)
	}
	if err == nil {
		err = flock(ctx, f)
	}
	if err != nil {
		_ = f.Close()
		if ctx.Err() != nil {
			return nil, interrupted(ctx)
		}
		return nil, fileError("lock", what+" with", path, err)
	}
	return func() { _ = f.Close() }, nil
}

func flock(ctx context.Context, f *os.File) error {
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
		}
	}
}
