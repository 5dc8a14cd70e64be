package snapshot

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// ownerOnly is the mode of a snapshot file: outputs may be sensitive.
const ownerOnly = 0o600

// Name is the name that a snapshot has unless its writer chooses another.
func Name(serial int64, at time.Time) string {
	return fmt.Sprintf("atlantide-state-%d-%s%s", serial, at.UTC().Format("20060102T150405Z"), Suffix)
}

// Write makes a file of the snapshot, whole or not at all, on the disk when it returns. A
// path that exists, as a link too, is refused with fs.ErrExist unless overwrite is given;
// then the name moves to the new file, and what a link led to stays as it is (RF-23).
func Write(path string, s *state.Snapshot, overwrite bool) error {
	data, err := Encode(s)
	if err != nil {
		return err
	}
	publish := os.Link // never onto what is there
	info, err := os.Lstat(path)
	switch {
	case overwrite && err == nil && !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0:
		return fileError("write", path, errors.New("it is no file")) // a device would be gone
	case overwrite:
		publish = os.Rename
	case err == nil:
		return fileError("write", path, fs.ErrExist)
	}
	return write(path, data, publish)
}

// Read reads and decodes a file.
func Read(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe is not waited for
	if err != nil {
		return nil, fileError("read", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no file")
	}
	if err != nil {
		return nil, fileError("read", path, err)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, fileError("read", path, err)
	}
	decoded, err := Decode(data)
	if err != nil {
		return nil, model.Errorf(model.StateError, model.ClassUser, "%s: %w", path, err)
	}
	return decoded, nil
}

// write fills a temporary file beside path and has publish give it its name.
func write(path string, data []byte, publish func(from, to string) error) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*") // made with mode 0600
	if err != nil {
		return fileError("write", path, err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone already where it was renamed
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(ownerOnly), f.Sync(), f.Close()); err == nil {
		err = publish(f.Name(), path)
	}
	if err == nil {
		err = syncFolder(dir)
	}
	if err != nil {
		return fileError("write", path, err)
	}
	return nil
}

// syncFolder makes a new name last, where the file system can.
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

func fileError(verb, path string, err error) error {
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		err = cause.Err
	}
	if cause, ok := errors.AsType[*os.LinkError](err); ok {
		err = cause.Err
	}
	e := model.Errorf(model.StateError, model.ClassUser, "the snapshot %s cannot be %s: %w", path, map[string]string{"write": "written", "read": "read"}[verb], err)
	if errors.Is(err, fs.ErrExist) {
		e.Hint = "choose another name, or overwrite it with --force"
	}
	return e
}
