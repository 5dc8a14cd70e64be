package sourcetree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Folder is the tree of a folder of this machine. Links in it are seen, never followed
// out of it: every access goes through os.Root.
type Folder struct {
	root *os.Root
	fsys fs.ReadLinkFS
	// Names under which the folder is known: as given, and with its own links followed.
	names []string
}

// OpenFolder opens the tree of a folder; Close ends it.
func OpenFolder(dir string) (*Folder, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("the folder %s has no absolute path: %w", dir, err)
	}
	root, err := os.OpenRoot(absolute)
	if err != nil {
		return nil, err
	}
	fsys, ok := root.FS().(fs.ReadLinkFS)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the folder %s cannot be read without following links", dir), root.Close())
	}
	f := &Folder{root: root, fsys: fsys, names: []string{absolute}}
	if target, err := filepath.EvalSymlinks(absolute); err == nil && target != absolute {
		f.names = append(f.names, target)
	}
	return f, nil
}

// Close releases the folder; what was read of it stays.
func (f *Folder) Close() error { return f.root.Close() }

// Open implements fs.FS.
func (f *Folder) Open(name string) (fs.File, error) { return f.fsys.Open(name) }

// Lstat implements fs.ReadLinkFS.
func (f *Folder) Lstat(name string) (fs.FileInfo, error) { return f.fsys.Lstat(name) }

// ReadLink implements fs.ReadLinkFS.
func (f *Folder) ReadLink(name string) (string, error) { return f.fsys.ReadLink(name) }

// Inside implements Rooted.
func (f *Folder) Inside(absolute string) (string, bool) {
	for _, name := range f.names {
		rel, err := filepath.Rel(name, absolute)
		if err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}
