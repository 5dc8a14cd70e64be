package main

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

// outputFile is a file that a command makes or replaces.
type outputFile struct {
	what  string // as errors call it
	shown string // as it was given
	path  string // absolute, links followed
	mode  fs.FileMode
}

// newFileMode is what the umask takes from.
const newFileMode fs.FileMode = 0o666

// output is the file that was named for a result. It is looked at before the work is done:
// its folder must be there, and what it replaces must be a plain file, and not one of
// those that the result is made from.
func output(p *project.Project, what, given string, inputs ...string) (*outputFile, error) {
	o := &outputFile{what: what, shown: given, path: p.Resolved(given), mode: newFileMode}
	if given == "" {
		return nil, model.Errorf(model.AtlantideError, model.ClassUser, "the name of %s is empty", what)
	}
	if strings.ContainsRune(given, 0) {
		return nil, o.cannotWrite(syscall.EINVAL)
	}
	if strings.HasPrefix(o.path, "/dev/") || strings.HasPrefix(o.path, "/proc/") {
		return nil, o.cannotWrite(errNoFile) // /dev/stdout may be a link to a file that somebody else writes
	}
	info, err := os.Lstat(o.path)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if o.path, err = filepath.EvalSymlinks(o.path); err != nil {
			return nil, o.cannotWrite(errors.New("it is a link that leads nowhere"))
		}
		info, err = os.Stat(o.path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := o.folder(); err != nil {
			return nil, err
		}
		return o, nil
	case err != nil:
		return nil, o.cannotWrite(err)
	case info.IsDir():
		return nil, o.cannotWrite(errors.New("it is a folder; name a file in it"))
	case !info.Mode().IsRegular():
		return nil, o.cannotWrite(errNoFile)
	}
	o.mode = info.Mode().Perm()
	for _, input := range inputs {
		if used, err := os.Stat(p.Resolved(input)); err == nil && os.SameFile(used, info) {
			return nil, o.cannotWrite(errors.New("it is what the result is made from; name another file"))
		}
	}
	return o, nil
}

var errNoFile = errors.New("it is a pipe, a socket or a device, and only a file can be replaced at once")

func (o *outputFile) folder() error {
	info, err := os.Stat(filepath.Dir(o.path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return o.cannotWrite(errors.New("its folder does not exist; make it first"))
	case err != nil:
		return o.cannotWrite(err)
	case !info.IsDir():
		return o.cannotWrite(errors.New("its folder is a file"))
	}
	return nil
}

// save gives the file its content at once: whatever happens on the way, it is as it was or
// holds data whole.
func (o *outputFile) save(data []byte) error {
	temporary := filepath.Join(filepath.Dir(o.path), "."+filepath.Base(o.path)+".tmp-"+rand.Text())
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, o.mode)
	if err != nil {
		return o.cannotWrite(err)
	}
	defer func() { _ = os.Remove(temporary) }() // gone already where it was renamed
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(temporary, o.path)
	}
	if err != nil {
		return o.cannotWrite(err)
	}
	return nil
}

// cannotWrite names the file as it was given, and no other path of this machine.
func (o *outputFile) cannotWrite(err error) *model.Error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	} else if l, ok := errors.AsType[*os.LinkError](err); ok {
		err = l.Err
	}
	return model.Errorf(model.AtlantideError, model.ClassUser, "cannot write %s %s: %w", o.what, sourcetree.Shown(o.shown), err)
}
