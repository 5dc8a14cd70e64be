package components

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

// Limits bound what one check reads, over all trees together.
type Limits struct {
	Bytes int64 // 256 MiB
	Files int   // files, folders and links; 20,000
}

func (l Limits) orDefault() Limits {
	if l.Bytes == 0 {
		l.Bytes = 256 << 20
	}
	if l.Files == 0 {
		l.Files = 20_000
	}
	return l
}

const (
	// cacheFolder and cacheSuffix name what Python leaves beside a source. It is no part
	// of a tree.
	cacheFolder = "__pycache__"
	cacheSuffix = ".pyc"

	// linkMark stands in a hash where the length of a file's path would: no path is so
	// long, hence a link and a file never give the same bytes.
	linkMark = math.MaxUint64

	// maxPath bounds a path in a project, in bytes, and maxDepth its parts: to open a
	// file costs a step for each.
	maxPath, maxDepth = 4096, 100
)

// hasher hashes trees of one project within limits that hold for all of them.
type hasher struct {
	project fs.FS
	limits  Limits // what is left

	caches []string // found on the way
}

// hash is the hash of the tree below a folder: its files and links in path order,
// compared part by part, each with the length of what follows, so that no byte can move
// from a name into a content. Empty folders and modes leave no trace.
func (h *hasher) hash(ctx context.Context, dir string) (string, error) {
	sum := sha256.New()
	if err := h.folder(ctx, sum, dir, dir+"/"); err != nil {
		return "", err
	}
	return hashPrefix + hex.EncodeToString(sum.Sum(nil)), nil
}

func (h *hasher) folder(ctx context.Context, sum hash.Hash, dir, root string) error {
	entries, err := readDir(h.project, dir, h.limits.Files)
	if err != nil {
		return err
	}
	h.limits.Files -= len(entries)
	for _, entry := range entries {
		at, mode := path.Join(dir, entry.Name()), entry.Type()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case len(at) > maxPath || strings.Count(at, "/") >= maxDepth || !utf8.ValidString(at):
			return fmt.Errorf("'%s' is longer than %d bytes, deeper than %d folders, or not UTF-8", sourcetree.Shown(at), maxPath, maxDepth)
		case mode.IsDir() && entry.Name() == cacheFolder, !mode.IsDir() && strings.HasSuffix(entry.Name(), cacheSuffix):
			h.caches = append(h.caches, at)
			continue
		case mode.IsDir():
			err = h.folder(ctx, sum, at, root)
		case mode&fs.ModeSymlink != 0:
			err = h.link(sum, at, root)
		case mode.IsRegular():
			err = h.file(ctx, sum, at, root)
		default:
			err = fmt.Errorf("'%s' is a device, a pipe or a socket; a component holds files, folders and links", sourcetree.Shown(at))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (h *hasher) link(sum hash.Hash, at, root string) error {
	target, err := fs.ReadLink(h.project, at)
	if err != nil {
		return unreadable(at, err)
	}
	writeLength(sum, linkMark)
	writeText(sum, strings.TrimPrefix(at, root))
	writeText(sum, target)
	return nil
}

func (h *hasher) file(ctx context.Context, sum hash.Hash, at, root string) error {
	f, err := h.project.Open(at)
	if err != nil {
		return unreadable(at, err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return unreadable(at, err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("'%s' changed while it was opened", sourcetree.Shown(at))
	case info.Size() > h.limits.Bytes:
		return fmt.Errorf("'%s' has %d bytes, more than the %d that are left of what is allowed", sourcetree.Shown(at), info.Size(), h.limits.Bytes)
	}
	h.limits.Bytes -= info.Size()
	writeText(sum, strings.TrimPrefix(at, root))
	writeLength(sum, uint64(info.Size()))
	if err := copyAll(ctx, sum, f, info.Size()); err != nil {
		return unreadable(at, err)
	}
	return nil
}

var errChanged = errors.New("its size changed while it was read")

// copyAll writes a file of that size, and ends with its context.
func copyAll(ctx context.Context, w io.Writer, r io.Reader, size int64) error {
	const step = 1 << 20
	for left := size; left > 0; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := io.CopyN(w, r, min(left, step))
		left -= n
		switch {
		case errors.Is(err, io.EOF):
			return errChanged
		case err != nil:
			return err
		}
	}
	if n, _ := r.Read(make([]byte, 1)); n > 0 {
		return errChanged
	}
	return nil
}

func writeText(sum hash.Hash, text string) {
	writeLength(sum, uint64(len(text)))
	_, _ = io.WriteString(sum, text) // a hash takes all
}

func writeLength(sum hash.Hash, n uint64) {
	_, _ = sum.Write(binary.BigEndian.AppendUint64(nil, n))
}
