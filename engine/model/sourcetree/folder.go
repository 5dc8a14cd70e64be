package sourcetree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Manifest is the hex SHA-256 of every file below a folder, by its path relative to
// the folder.
func (r *Reader) Manifest(ctx context.Context, p string) (map[string]string, error) {
	at, info, err := r.find(p)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("'%s' is %s, not a folder", Shown(p), kindOf(info))
	}
	files, err := r.below(at)
	if err != nil {
		return nil, err
	}
	limits := r.Limits.orDefault()
	manifest := make(map[string]string, len(files))
	for _, f := range files {
		h := sha256.New()
		if _, err := r.copyFile(ctx, h, f.at, limits.TotalBytes); err != nil {
			return nil, err
		}
		manifest[f.name] = hex.EncodeToString(h.Sum(nil))
	}
	return manifest, nil
}

// file is a regular file below a folder.
type file struct {
	at         string // in the tree
	name       string // relative to the folder
	executable bool   // by its owner
}

// below lists the files of a folder in path order, compared part by part. Compiled
// caches are left out, hidden files are not; empty folders leave no trace.
func (r *Reader) below(dir string) ([]file, error) {
	w := &walk{reader: r, root: dir, limits: r.Limits.orDefault()}
	if err := w.folder(dir); err != nil {
		return nil, err
	}
	return w.files, nil
}

type walk struct {
	reader *Reader
	root   string
	limits Limits
	files  []file
	seen   int // entries, left-out ones included
}

// entriesPerFile is how many entries a walk looks at for each file that it may find.
const entriesPerFile = 10

func (w *walk) folder(dir string) error {
	entries, err := w.entries(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, at := e.Name(), path.Join(dir, e.Name())
		if name == "__pycache__" || strings.HasSuffix(name, ".pyc") && !e.IsDir() {
			continue
		}
		switch mode := e.Type(); {
		case len(at) > maxPath || !utf8.ValidString(name):
			return fmt.Errorf("'%s' is longer than %d bytes or not UTF-8", Shown(at), maxPath)
		case mode&fs.ModeSymlink != 0:
			return link(at)
		case mode.IsDir():
			if err := w.folder(at); err != nil {
				return err
			}
		case mode.IsRegular():
			if err := w.file(at); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *walk) file(at string) error {
	if len(w.files) == w.limits.Files {
		return fmt.Errorf("'%s' holds more files than the %d allowed", Shown(w.root), w.limits.Files)
	}
	info, err := fs.Lstat(w.reader.Tree, at)
	if err != nil {
		return bare(at, err)
	}
	name := at
	if w.root != "." {
		name = strings.TrimPrefix(at, w.root+"/")
	}
	w.files = append(w.files, file{at: at, name: name, executable: info.Mode()&0o100 != 0})
	return nil
}

// entries are those of one folder, sorted by name; their number is bounded before they
// are read.
func (w *walk) entries(dir string) ([]fs.DirEntry, error) {
	f, err := w.reader.Tree.Open(dir)
	if err != nil {
		return nil, bare(dir, err)
	}
	defer f.Close()
	folder, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, fmt.Errorf("'%s' changed while it was opened", Shown(dir))
	}
	left := entriesPerFile*w.limits.Files - w.seen
	entries, err := folder.ReadDir(left + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, bare(dir, err)
	}
	if len(entries) > left {
		return nil, fmt.Errorf("'%s' holds more than %d files and folders", Shown(w.root), entriesPerFile*w.limits.Files)
	}
	w.seen += len(entries)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}
