package secrets

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

// ownerOnly is the mode of every file that is made here.
const ownerOnly = 0o600

// readFile reads a regular file of at most limit bytes; a longer one is an error. One that
// is absent is fs.ErrNotExist, a link that leads nowhere is not: what it was meant to lead
// to may come back, so nothing must be made in its place.
func readFile(what, path string, limit int64) ([]byte, fs.FileMode, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|withoutWaiting, 0)
	if err != nil {
		if _, there := os.Lstat(path); errors.Is(err, fs.ErrNotExist) && there == nil {
			err = errDangling
		}
		return nil, 0, fileError("read", what, path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = regular(info)
	}
	if err != nil {
		return nil, 0, fileError("read", what, path, err)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%w %d bytes", errTooLong, limit)
	}
	if err != nil {
		return nil, 0, fileError("read", what, path, err)
	}
	return data, info.Mode(), nil
}

var (
	errDangling = errors.New("it is a link that leads nowhere; remove it, or bring back what it leads to")
	errTooLong  = errors.New("it is longer than")
)

func regular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errors.New("it is a folder")
	case !info.Mode().IsRegular():
		return errors.New("it is a pipe, a socket or a device, not a file")
	}
	return nil
}

// writeFile writes a temporary file beside path, makes it safe on the disk, and has
// publish (rename or link) give it its name. Whatever happens on the way, path is as it
// was or holds data whole.
func writeFile(what, path string, data []byte, publish func(from, to string) error) error {
	dir, prefix := beside(path)
	f, err := os.CreateTemp(dir, prefix+"*")
	if err != nil {
		return fileError("write", what, path, err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone already where it was renamed
	err = errors.Join(f.Chmod(ownerOnly), writeAll(f, data), f.Close())
	if err == nil {
		err = publish(f.Name(), path)
	}
	if err == nil {
		err = syncFolder(dir)
	}
	if err != nil {
		return fileError("write", what, path, err)
	}
	return nil
}

func writeAll(f *os.File, data []byte) error {
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Sync()
}

// syncFolder makes a new name last. A file system that cannot do it for folders does it
// in another way, or not at all.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// removeLeftovers deletes temporary files that writers of path were killed over. The
// caller sees to it that no writer is at work.
func removeLeftovers(path string) {
	dir, prefix := beside(path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // the write says what is wrong
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), prefix) && entry.Type().IsRegular() {
			_ = os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}

// beside is where the temporary files of path are, and how their names begin.
func beside(path string) (dir, prefix string) {
	return filepath.Dir(path), "." + filepath.Base(path) + ".tmp-"
}

// fileError keeps fs.ErrNotExist and fs.ErrExist in the chain of the error.
func fileError(verb, what, path string, err error) error {
	cause := err
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		cause = p.Err
	} else if l, ok := errors.AsType[*os.LinkError](err); ok {
		cause = l.Err
	}
	class := model.ClassUser
	if errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ENOSPC) {
		class = model.ClassUnknown
	}
	return model.Errorf(model.SecretsError, class, "cannot %s %s %s: %w", verb, what, sourcetree.Shown(path), cause)
}
