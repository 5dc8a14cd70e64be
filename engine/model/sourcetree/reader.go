// Package sourcetree reads the files that came with a config: it finds what a path of
// the config names, and gives the text, the package or the manifest that the path
// stands for (providers.md 5, 6.2, 6.3).
//
// A tree is an fs.FS. Nothing leaves it: neither an absolute path nor "..", and no link
// is followed, not even one that stays inside. The package must never know the
// language, a provider or who keeps the tree.
package sourcetree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"
)

// Reader reads one tree within limits that hold for all its calls together. It serves
// one goroutine. Its errors say what is wrong with which path, relative to the tree; one
// about a file that is not there is an fs.ErrNotExist.
type Reader struct {
	Tree   fs.FS
	Limits Limits // a zero field takes its default

	read  int64 // bytes so far
	files int   // files so far
}

// Limits bound what a Reader reads.
type Limits struct {
	TextBytes    int64 // of a text; 16 MiB
	PackageBytes int64 // of the files of a package; 50 MiB, the most that one upload takes
	Files        int   // of a package or a manifest; 10,000
	TotalBytes   int64 // of all calls; 1 GiB
	TotalFiles   int   // of all calls; 100,000
}

func (l Limits) orDefault() Limits {
	for _, d := range []struct {
		n        *int64
		fallback int64
	}{{&l.TextBytes, 16 << 20}, {&l.PackageBytes, 50 << 20}, {&l.TotalBytes, 1 << 30}} {
		if *d.n == 0 {
			*d.n = d.fallback
		}
	}
	if l.Files == 0 {
		l.Files = 10_000
	}
	if l.TotalFiles == 0 {
		l.TotalFiles = 100_000
	}
	return l
}

// Text is the content of a file, which must be UTF-8; line ends stay as they are.
func (r *Reader) Text(ctx context.Context, p string) (string, error) {
	at, info, err := r.find(p)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("'%s' is %s, not a file", Shown(p), kindOf(info))
	}
	var text bytes.Buffer
	if _, err := r.copyFile(ctx, &text, at, r.Limits.orDefault().TextBytes); err != nil {
		return "", err
	}
	if !utf8.Valid(text.Bytes()) {
		return "", fmt.Errorf("'%s' is not a text in UTF-8", Shown(p))
	}
	return text.String(), nil
}

// Kind is what a path names.
type Kind int

const (
	KindNone Kind = iota
	KindFile
	KindFolder
	KindOther // a device, a pipe or a socket
)

// Look tells what is at a path; a link on the way is an error.
func (r *Reader) Look(p string) (Kind, error) {
	_, info, err := r.find(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return KindNone, nil
	case err != nil:
		return KindNone, err
	case info.IsDir():
		return KindFolder, nil
	case info.Mode().IsRegular():
		return KindFile, nil
	}
	return KindOther, nil
}

// Rooted is a tree that has names outside of itself: a folder of a machine.
type Rooted interface {
	// Inside turns an absolute path into one relative to the tree; false when it leads
	// elsewhere.
	Inside(absolute string) (string, bool)
}

// maxPath bounds a path, in bytes.
const maxPath = 4096

// find is the plain spelling of a path and what is there. No part of it is a link.
func (r *Reader) find(p string) (string, fs.FileInfo, error) {
	at, err := r.locate(p)
	if err != nil {
		return "", nil, err
	}
	if at == "." {
		info, err := fs.Stat(r.Tree, ".")
		return at, info, bare(p, err)
	}
	for end := 0; ; {
		next := strings.IndexByte(at[end:], '/')
		part := at
		if next >= 0 {
			part = at[:end+next]
			end += next + 1
		}
		info, err := fs.Lstat(r.Tree, part)
		switch {
		case err != nil:
			return "", nil, bare(p, err)
		case info.Mode()&fs.ModeSymlink != 0:
			return "", nil, link(part)
		case next < 0:
			return at, info, nil
		case !info.IsDir():
			return "", nil, bare(p, fs.ErrNotExist)
		}
	}
}

// locate resolves "." and ".." within the tree.
func (r *Reader) locate(p string) (string, error) {
	switch {
	case p == "":
		return "", errors.New("the path is empty")
	case len(p) > maxPath:
		return "", fmt.Errorf("the path '%s' has %d bytes; at most %d are allowed", Shown(p), len(p), maxPath)
	case !utf8.ValidString(p) || strings.ContainsRune(p, 0):
		return "", fmt.Errorf("the path '%s' is not UTF-8 or holds a NUL character", Shown(p))
	}
	outside := fmt.Errorf("'%s' is outside of the source tree; a path may name only what is inside", Shown(p))
	if path.IsAbs(p) {
		rooted, ok := r.Tree.(Rooted)
		if !ok {
			return "", outside
		}
		inside, ok := rooted.Inside(p)
		if !ok {
			return "", outside
		}
		p = inside
	}
	clean := path.Clean(p)
	if !fs.ValidPath(clean) { // what is left of ".." leads out
		return "", outside
	}
	return clean, nil
}

func link(p string) error {
	return fmt.Errorf("'%s' is a link; a source tree is read without following links, so put the file itself there", Shown(p))
}

func kindOf(info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return "a folder"
	case mode.IsRegular():
		return "a file"
	default:
		return "a device, a pipe or a socket"
	}
}

// bare says what is wrong with the path as it was given, and names no folder of the
// machine.
func bare(p string, err error) error {
	var pathError *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("'%s' is not there: %w", Shown(p), fs.ErrNotExist)
	case errors.As(err, &pathError):
		err = pathError.Err
	}
	return fmt.Errorf("'%s' cannot be read: %w", Shown(p), err)
}

// copyFile writes a regular file of at most limit bytes to w. The file counts against
// the totals.
func (r *Reader) copyFile(ctx context.Context, w io.Writer, at string, limit int64) (int64, error) {
	limits := r.Limits.orDefault()
	r.files++
	if r.files > limits.TotalFiles {
		return 0, fmt.Errorf("'%s' is one file more than the %d that one evaluation may read", Shown(at), limits.TotalFiles)
	}
	f, err := r.Tree.Open(at)
	if err != nil {
		return 0, bare(at, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, bare(at, err)
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("'%s' changed while it was opened", Shown(at))
	}
	if g, ok := w.(interface{ Grow(n int) }); ok && info.Size() <= limit {
		g.Grow(int(info.Size()) + bytes.MinRead) // io.Copy asks for so much room once more
	}
	n, err := io.Copy(w, &contextReader{ctx, io.LimitReader(f, min(limit, limits.TotalBytes-r.read)+1)})
	r.read += n
	switch {
	case ctx.Err() != nil:
		return n, context.Cause(ctx)
	case err != nil:
		return n, bare(at, err)
	case n > limit:
		return n, fmt.Errorf("'%s' has more bytes than the %d that are left of what is allowed", Shown(at), limit)
	case r.read > limits.TotalBytes:
		return n, fmt.Errorf("with '%s' one evaluation reads more than the %d bytes allowed", Shown(at), limits.TotalBytes)
	}
	return n, nil
}

// contextReader ends with its context.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// Shown is a path in a message: one line, of bounded length.
func Shown(p string) string {
	const limit = 200
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || 0x80 <= r && r < 0xa0 {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(p, string(utf8.RuneError)))
	if runes := []rune(clean); len(runes) > limit {
		return string(runes[:limit]) + "…"
	}
	return clean
}
