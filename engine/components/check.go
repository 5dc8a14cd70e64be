// Package components holds vendored components to the lock that pins them, so that what
// is evaluated is what was locked (cli.md 14).
//
// It owns the lock file, the hash of a tree, and what may lie where trees are vendored.
// It only reads, through an fs.FS rooted at the project, and follows no link. It must
// never know the language, a command line, or how a tree got there.
package components

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

// VendorDir is where vendored trees lie in a project, one folder per alias.
const VendorDir = ".atlantis/components"

// maxEntries bounds what may lie in VendorDir.
const maxEntries = 1000

// Check compares the vendored trees of a project with its lock. A tree without a pin,
// loose code beside the trees, a link, and a tree that does not hash to its pin are
// ComponentErrors; several are one with the others in AlsoFailed. A pin whose tree is
// not there is none: what imports it will say so.
//
// It returns the compiled caches in the trees that matched. The hash leaves them out, so
// whoever may write to the project removes them.
func Check(ctx context.Context, project fs.FS, limits Limits) (caches []string, err error) {
	lock, err := ReadLock(project)
	if err != nil {
		return nil, err
	}
	entries, err := vendored(project)
	if err != nil {
		return nil, err
	}
	h := &hasher{project: project, limits: limits.orDefault()}
	var wrong []*model.Error
	for _, entry := range entries {
		if err := h.entry(ctx, lock, entry); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			wrong = append(wrong, err)
		}
	}
	if len(wrong) > 0 {
		wrong[0].AlsoFailed = wrong[1:]
		return nil, wrong[0]
	}
	return h.caches, nil
}

// vendored lists VendorDir by name; nothing when there is none.
func vendored(project fs.FS) ([]fs.DirEntry, error) {
	for at := range prefixes(VendorDir) {
		info, err := fs.Lstat(project, at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err != nil:
			return nil, unreadable(at, err)
		case info.Mode()&fs.ModeSymlink != 0:
			return nil, errorf("'%s' is a link; components are read without following links, so put the folder itself there", at)
		case !info.IsDir():
			return nil, errorf("'%s' is not a folder; vendored components lie in it, so remove what is there", at)
		}
	}
	entries, err := readDir(project, VendorDir, maxEntries)
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// prefixes are the folders on the way to a path, and the path.
func prefixes(p string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i, r := range p + "/" {
			if r == '/' && !yield(p[:i]) {
				return
			}
		}
	}
}

// entry judges what lies in VendorDir under one name.
func (h *hasher) entry(ctx context.Context, lock Lock, entry fs.DirEntry) *model.Error {
	name, at := entry.Name(), path.Join(VendorDir, entry.Name())
	switch mode := entry.Type(); {
	case mode&fs.ModeSymlink != 0:
		return errorf("'%s' is a link; components are read without following links, so vendor the tree itself", sourcetree.Shown(at))
	case mode.IsDir() && name == cacheFolder:
		h.caches = append(h.caches, at)
		return nil
	case mode.IsDir():
		pin, ok := lock[name]
		if !ok {
			return errorf("component '%s' is vendored in '%s', but %s does not pin it; remove the folder, or move it to components/%s/, where components of your own lie", sourcetree.Shown(name), sourcetree.Shown(at), LockFile, sourcetree.Shown(name))
		}
		return h.matches(ctx, name, pin)
	case importable(name):
		return errorf("'%s' lies loose among the vendored components, where no pin covers it; remove it, or make it part of a component", sourcetree.Shown(at))
	}
	return nil
}

// importable reports whether Python, which reads the same folder, could import a file of
// that name.
func importable(name string) bool {
	return slices.Contains([]string{".py", ".pyc", ".so", ".pyd"}, strings.ToLower(path.Ext(name)))
}

// matches hashes a tree and compares.
func (h *hasher) matches(ctx context.Context, alias string, pin Pin) *model.Error {
	at := path.Join(VendorDir, alias)
	hash, err := h.hash(ctx, at)
	switch {
	case ctx.Err() != nil:
		return &model.Error{Kind: model.AtlantideError, Class: model.ClassTransient, Message: "the check of the components was stopped", Cause: context.Cause(ctx)}
	case err != nil:
		return errorf("component '%s' cannot be checked: %w", alias, err)
	case hash != pin.Hash:
		err := errorf("component '%s' was changed after it was locked: '%s' hashes to %s, %s pins %s; vendor it again, or lock it again to accept the change",
			alias, at, hash, LockFile, pin.Hash)
		err.File = LockFile
		return err
	}
	return nil
}

// readDir lists a folder by name; how much it holds is bounded before it is read.
func readDir(project fs.FS, dir string, limit int) ([]fs.DirEntry, error) {
	f, err := project.Open(dir)
	if err != nil {
		return nil, unreadable(dir, err)
	}
	defer f.Close()
	folder, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, errorf("'%s' changed while it was opened", sourcetree.Shown(dir))
	}
	entries, err := folder.ReadDir(limit + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, unreadable(dir, err)
	}
	if len(entries) > limit {
		return nil, errorf("'%s' holds more than the %d files and folders that are left of what is allowed", sourcetree.Shown(dir), limit)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

func errorf(format string, args ...any) *model.Error {
	return model.Errorf(model.ComponentError, model.ClassUser, format, args...)
}

// unreadable names the path in the project, and no folder of the machine.
func unreadable(at string, err error) *model.Error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return errorf("'%s' cannot be read: %w", sourcetree.Shown(at), err)
}
