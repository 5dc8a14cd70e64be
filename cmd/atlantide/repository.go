package main

import (
	"os"
	"path/filepath"
)

// repository is what code hosts name files relative to.
type repository struct {
	working string // what the names of diagnostics are relative to
	root    string // the folder of the repository; without one it is working
}

// here is the repository of the working directory: the nearest folder that git keeps its
// data in, by a folder or, in a work tree, by a file.
func here() repository {
	working, err := os.Getwd()
	if err != nil {
		return repository{}
	}
	for dir := working; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return repository{working: working, root: dir}
		}
		if dir == filepath.Dir(dir) {
			return repository{working: working, root: working}
		}
	}
}

// path names a file of a diagnostic with "/"; inside tells that it is relative to the
// repository. One elsewhere is absolute.
func (r repository) path(file string) (path string, inside bool) {
	absolute := file
	if !filepath.IsAbs(file) {
		absolute = filepath.Join(r.working, file)
	}
	rel, err := filepath.Rel(r.root, absolute)
	if err != nil || !filepath.IsLocal(rel) {
		return filepath.ToSlash(absolute), false
	}
	return filepath.ToSlash(rel), true
}
