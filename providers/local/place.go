package local

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
)

// place is one file's place under a root folder.
type place struct {
	root     string // absolute folder
	path     string // relative to root, slashes, clean
	shown    string // the path as the config gives it
	quota    *Quota // nil = none
	keepMode bool   // an existing file keeps its mode
	prune    bool   // a delete takes emptied folders along, the root included
	makeRoot bool   // the root is made when something is written
}

const (
	folderMode = 0o755
	fileMode   = 0o644
)

// write puts content at the place so that a reader sees the old or the new file and a
// crash leaves at most the place's own temporary, which the next write or delete
// removes (6.3 rule 4).
func (p *place) write(content []byte) error {
	if p.quota != nil {
		if err := p.withinQuota(int64(len(content))); err != nil {
			return err
		}
	}
	dir, err := p.folder(true)
	if err != nil {
		return err
	}
	defer dir.Close()
	name, temp := path.Base(p.path), p.temporary()
	mode := fs.FileMode(fileMode)
	switch old, err := p.lstat(dir, name); {
	case err == nil && p.keepMode:
		mode = old.Mode().Perm()
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := ignoreMissing(dir.Remove(temp)); err != nil {
		return err
	}
	if err := writeSynced(dir, temp, content, mode); err != nil {
		_ = dir.Remove(temp)
		return err
	}
	if err := dir.Rename(temp, name); err != nil {
		_ = dir.Remove(temp)
		return err
	}
	return syncFolder(dir)
}

func writeSynced(dir *os.Root, name string, content []byte, mode fs.FileMode) error {
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Chmod(mode), f.Close())
}

// checksum is the hex SHA-256 of the file; fs.ErrNotExist when there is none.
func (p *place) checksum() (string, error) {
	dir, err := p.folder(false)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	name := path.Base(p.path)
	before, err := p.lstat(dir, name)
	if err != nil {
		return "", err
	}
	// Not blocking: what was a file a moment ago may be a pipe now.
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !os.SameFile(before, now) {
		return "", p.inTheWay("changed while it was opened")
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// remove deletes the file and, where the policy says so, the folders that became
// empty. A file that is not there is a success.
func (p *place) remove() error {
	dir, err := p.folder(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	name := path.Base(p.path)
	if _, err := p.lstat(dir, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := errors.Join(ignoreMissing(dir.Remove(name)), ignoreMissing(dir.Remove(p.temporary())), syncFolder(dir)); err != nil {
		return err
	}
	if p.prune {
		return p.pruneFolders()
	}
	return nil
}

// pruneFolders removes empty folders from the file's upwards, the root last.
func (p *place) pruneFolders() error {
	root, err := os.OpenRoot(p.root)
	if err != nil {
		return ignoreMissing(err)
	}
	defer root.Close()
	for dir := path.Dir(p.path); dir != "."; dir = path.Dir(dir) {
		if err := root.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil // not empty, so nothing above it is
		}
	}
	_ = os.Remove(p.root)
	return nil
}

// folder opens the folder of the file one component at a time, so that none of them
// is a link, not even one put there between the look and the step. Without make, a
// folder that is missing, or a file where a folder should be, is fs.ErrNotExist.
func (p *place) folder(create bool) (*os.Root, error) {
	if create && p.makeRoot {
		if err := os.MkdirAll(p.root, folderMode); err != nil {
			return nil, err
		}
	}
	dir, err := os.OpenRoot(p.root)
	if err != nil {
		return nil, err
	}
	parent := path.Dir(p.path)
	if parent == "." {
		return dir, nil
	}
	for component := range strings.SplitSeq(parent, "/") {
		next, err := p.step(dir, component, create)
		_ = dir.Close()
		if err != nil {
			return nil, err
		}
		dir = next
	}
	return dir, nil
}

func (p *place) step(dir *os.Root, component string, create bool) (*os.Root, error) {
	seen, err := dir.Lstat(component)
	if create && errors.Is(err, fs.ErrNotExist) {
		if err := dir.Mkdir(component, folderMode); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if err := syncFolder(dir); err != nil {
			return nil, err
		}
		seen, err = dir.Lstat(component)
	}
	switch {
	case err != nil:
		return nil, err
	case seen.Mode()&fs.ModeSymlink != 0:
		return nil, p.inTheWay("leads through a link")
	case !seen.IsDir() && create:
		return nil, p.inTheWay("leads through '" + shown(component) + "', which is not a folder")
	case !seen.IsDir():
		return nil, fs.ErrNotExist
	}
	next, err := dir.OpenRoot(component)
	if err != nil {
		return nil, err
	}
	opened, err := next.Stat(".")
	if err == nil && !os.SameFile(seen, opened) {
		err = p.inTheWay("changed while it was opened")
	}
	if err != nil {
		_ = next.Close()
		return nil, err
	}
	return next, nil
}

// lstat looks at the file itself: only a regular file may be there.
func (p *place) lstat(dir *os.Root, name string) (fs.FileInfo, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return info, nil
	case mode&fs.ModeSymlink != 0:
		return nil, p.inTheWay("is a link")
	case mode.IsDir():
		return nil, p.inTheWay("is a folder")
	default:
		return nil, p.inTheWay("is a device, a pipe or a socket")
	}
}

// withinQuota counts what the root holds beside this file.
func (p *place) withinQuota(size int64) error {
	if size > p.quota.FileBytes {
		return refuse("'%s' has %d bytes, more than the %d allowed for a file", shown(p.shown), size, p.quota.FileBytes)
	}
	root, err := os.OpenRoot(p.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	files, total := 1, size
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || name == p.path || temporary(path.Base(name)) {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		files, total = files+1, total+info.Size()
		return nil
	})
	switch {
	case err != nil:
		return err
	case files > p.quota.Files:
		return refuse("'%s' would be one file more than the %d allowed", shown(p.shown), p.quota.Files)
	case total > p.quota.TotalBytes:
		return refuse("with '%s' the files together would have %d bytes, more than the %d allowed", shown(p.shown), total, p.quota.TotalBytes)
	}
	return nil
}

func (p *place) inTheWay(what string) error { return refuse("path '%s' %s", shown(p.shown), what) }

const (
	temporaryPrefix = ".atlantide-"
	temporarySuffix = ".tmp"
	temporaryDigits = 16
)

// temporary is the name that a write of this place uses first: always the same, so
// that what a crash left is found again.
func (p *place) temporary() string {
	sum := sha256.Sum256([]byte(p.path))
	return temporaryPrefix + hex.EncodeToString(sum[:])[:temporaryDigits] + temporarySuffix
}

// temporary reports whether a name has the form of a temporary file.
func temporary(name string) bool {
	digits, ok := strings.CutPrefix(name, temporaryPrefix)
	digits, okSuffix := strings.CutSuffix(digits, temporarySuffix)
	return ok && okSuffix && len(digits) == temporaryDigits
}

func syncFolder(dir *os.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func checksum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// stripes serialises the writes and deletes of one root, so that the quota is counted
// and emptied folders are removed while nobody else writes there.
type stripes [64]sync.Mutex

func (s *stripes) lock(root string) (unlock func()) {
	h := fnv.New32a()
	_, _ = io.WriteString(h, root)
	l := &s[h.Sum32()%uint32(len(s))]
	l.Lock()
	return l.Unlock
}
