package components

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
	"github.com/atlantide-org/atlantide-operator/engine/model/tomltext"
)

// LockFile pins the components of a project; it lies at the project's root.
const LockFile = "atlantide.lock"

// maxLockBytes bounds a lock file.
const maxLockBytes = 256 << 10

// Lock is what each alias is pinned to.
type Lock map[string]Pin

// Pin is one component as it was locked.
type Pin struct {
	Git    string // where it was fetched from
	Commit string
	Hash   string // of the tree, with hashPrefix
	Subdir string // of the repository; "" = all of it
}

// hashPrefix names the scheme of a hash. Hashes of another one are outdated.
const hashPrefix = "sha256.v2:"

var hashForm = regexp.MustCompile(`^sha256\.v2:[0-9a-f]{64}$`)

// ReadLock reads the lock of a project; without a file it is empty.
func ReadLock(project fs.FS) (Lock, error) {
	info, err := fs.Lstat(project, LockFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Lock{}, nil
	case err != nil:
		return nil, unreadable(LockFile, err)
	case !info.Mode().IsRegular():
		return nil, errorf("%s is not a plain file; put the lock itself there", LockFile)
	}
	f, err := project.Open(LockFile)
	if err != nil {
		return nil, unreadable(LockFile, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxLockBytes+1))
	switch {
	case err != nil:
		return nil, unreadable(LockFile, err)
	case len(data) > maxLockBytes:
		return nil, errorf("%s is larger than the %d bytes allowed", LockFile, maxLockBytes)
	}
	return ParseLock(data)
}

// ParseLock reads the text of a lock. An entry that says too little or what cannot be
// is an error, never skipped: it would leave its tree unchecked.
func ParseLock(data []byte) (Lock, error) {
	table, err := tomltext.Parse(model.ComponentError, LockFile, data)
	if err != nil {
		return nil, err
	}
	entries, ok := table["components"].(map[string]any)
	if !ok && table["components"] != nil {
		return nil, lockErrorf("'components' is %s, not a table; lock the components again", tomltext.TypeName(table["components"]))
	}
	lock := make(Lock, len(entries))
	for _, alias := range slices.Sorted(maps.Keys(entries)) {
		if !model.ValidAlias(alias) {
			return nil, lockErrorf("'%s' cannot be the alias of a component; an alias is a letter, then letters, digits and '_', %d at most",
				sourcetree.Shown(alias), model.MaxName)
		}
		if lock[alias], err = pinOf(alias, entries[alias]); err != nil {
			return nil, err
		}
	}
	return lock, nil
}

func pinOf(alias string, entry any) (Pin, error) {
	fields, ok := entry.(map[string]any)
	if !ok {
		return Pin{}, lockErrorf("component '%s' is %s, not a table; lock it again", alias, tomltext.TypeName(entry))
	}
	var pin Pin
	for _, field := range []struct {
		name string
		at   *string
	}{{"git", &pin.Git}, {"commit", &pin.Commit}, {"hash", &pin.Hash}} {
		if *field.at, ok = fields[field.name].(string); !ok || *field.at == "" {
			return Pin{}, lockErrorf("component '%s' has no text '%s'; lock it again", alias, field.name)
		}
	}
	if subdir, found := fields["subdir"]; found {
		if pin.Subdir, ok = subdir.(string); !ok {
			return Pin{}, lockErrorf("'subdir' of component '%s' is %s, not a string; lock it again", alias, tomltext.TypeName(subdir))
		}
	}
	switch {
	case !model.ValidCommit(pin.Commit):
		return Pin{}, lockErrorf("the commit of component '%s' is '%s', not 40 or 64 hex digits; lock the component again", alias, sourcetree.Shown(pin.Commit))
	case !strings.HasPrefix(pin.Hash, hashPrefix):
		return Pin{}, lockErrorf("the hash of component '%s' is outdated: it starts with '%s', not with '%s'; lock the component again",
			alias, sourcetree.Shown(scheme(pin.Hash)), hashPrefix)
	case !hashForm.MatchString(pin.Hash):
		return Pin{}, lockErrorf("the hash of component '%s' is not '%s' and 64 hex digits; lock the component again", alias, hashPrefix)
	}
	return pin, nil
}

// scheme is what a hash of another scheme starts with.
func scheme(hash string) string {
	if name, _, ok := strings.Cut(hash, ":"); ok {
		return name + ":"
	}
	return hash[:min(8, len(hash))] + "…"
}

// lockErrorf is an error about what the lock says.
func lockErrorf(format string, args ...any) *model.Error {
	err := errorf(LockFile+": "+format, args...)
	err.File = LockFile
	return err
}
