package secrets

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

// Keys is where the install key comes from.
type Keys interface {
	// Load reads the keys. Without any it is a SecretsError that names the place, with
	// fs.ErrNotExist in its chain.
	Load() (*Keyring, error)
	// Make is Load, and makes a key if there is none. It is for `secret set` and for a run
	// that holds its lock and has something to write with the key (SC-7).
	Make() (*Keyring, error)
}

// KeyFile is the file with the install key: 32 raw bytes that nobody but its owner can
// reach. It needs a file system with POSIX modes.
type KeyFile struct {
	Path string
	Rand io.Reader // nil = crypto/rand
}

// Load refuses a key that others can read, and whatever is not a whole key.
func (f KeyFile) Load() (*Keyring, error) {
	data, mode, err := readFile("the install key", f.Path, KeySize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, userErrorf("there is no install key at %s; provide the one that wrote this state or store: %w", sourcetree.Shown(f.Path), fs.ErrNotExist)
	case errors.Is(err, errTooLong):
		return nil, userErrorf("%w; a key is %d raw bytes, and this is perhaps one as hex or base64, or with a line end behind it: decode it, or bring back the file as it was made",
			err, KeySize)
	case err != nil:
		return nil, err
	case mode.Perm()&0o077 != 0:
		return nil, userErrorf("the install key %s can be reached by group or others (mode %04o); take that from them, as chmod 600 does, and think of it as known",
			sourcetree.Shown(f.Path), mode.Perm())
	}
	key, err := NewKey(data)
	if err != nil {
		return nil, userErrorf("%s: %w", sourcetree.Shown(f.Path), err)
	}
	return NewKeyring("the key file "+sourcetree.Shown(f.Path), key), nil
}

// lockWait bounds how long Make waits for another process that makes the key.
const lockWait = 30 * time.Second

// Make appears at once with the whole key or not at all; who loses a race takes the key
// of who won it. What a process that was killed over it left, which holds a raw key, is
// taken away.
func (f KeyFile) Make() (*Keyring, error) {
	ring, err := f.Load()
	if errors.Is(err, fs.ErrNotExist) {
		if err := f.create(); err != nil {
			return nil, err
		}
		ring, err = f.Load()
	}
	if err != nil {
		return nil, err
	}
	removeLeftovers(f.Path) // nobody can make use of one any more
	return ring, nil
}

// create makes the key as the only one that does, unless somebody else just did. The file
// of the lock goes once there is a key: who still comes for it finds the key first.
func (f KeyFile) create() error {
	raw := make([]byte, KeySize)
	if _, err := io.ReadFull(randomOr(f.Rand), raw); err != nil {
		return userErrorf("there is no randomness to make an install key from: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	lock := f.Path + ".lock"
	release, err := lockFile(ctx, "the install key", lock)
	if err != nil {
		return err
	}
	defer release()
	if _, err := f.Load(); errors.Is(err, fs.ErrNotExist) {
		removeLeftovers(f.Path)
		if err := writeFile("the install key", f.Path, raw, os.Link); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	_ = os.Remove(lock)
	return nil
}

func randomOr(r io.Reader) io.Reader {
	if r == nil {
		return rand.Reader
	}
	return r
}
