package local

import (
	"path/filepath"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// NewProject serves the command line: one folder for all owners. A path may be
// absolute or hold "..", as long as it stays inside; one outside is refused in the
// provider call, never at plan (providers.md 6.2, 6.3 rule 10). So is one of what is
// reserved.
func NewProject(dir string, reserved ...Reserved) (*Provider, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, model.Errorf(model.ProviderError, model.ClassUser, "the project folder %s has no absolute path: %w", dir, err)
	}
	p := project{roots: []string{absolute}}
	if target, err := filepath.EvalSymlinks(absolute); err == nil && target != absolute {
		p.roots = append(p.roots, target)
	}
	p.reserve(reserved)
	return newProvider(p), nil
}

// project holds the names under which the folder is known: as given, and with its own
// links followed.
type project struct {
	roots    []string
	reserved map[string]bool // relative to the root, slashes, clean
}

func (p project) validate([]*model.Request) error { return nil }

func (p project) locate(_ *model.Request, path string) (*place, error) {
	if path == "" || strings.ContainsRune(path, 0) {
		return nil, refuse("path '%s' is empty or holds a NUL character", shown(path))
	}
	rel, inside := p.relative(path)
	switch {
	case !inside:
		return nil, refuse("path '%s' is outside the project folder", shown(path))
	case rel == ".":
		return nil, refuse("path '%s' is the project folder itself", shown(path))
	}
	if own, found := p.reservedFor(rel); found {
		return nil, refuse("path '%s' is reserved, since the project keeps '%s' for itself; "+
			"give the file another path, or take its node off the state if one is recorded there", shown(path), shown(own))
	}
	return &place{root: p.roots[0], path: rel, shown: path, keepMode: true}, nil
}

// address is the path from the root, whichever of the root's names leads there.
func (p project) address(path string) string {
	if rel, inside := p.relative(path); inside {
		return rel
	}
	return filepath.ToSlash(filepath.Clean(path))
}

// relative is a path from the root, with slashes and clean; false where it leads out.
func (p project) relative(path string) (rel string, inside bool) {
	for _, root := range p.roots {
		full := path
		if !filepath.IsAbs(path) {
			full = filepath.Join(root, path)
		}
		rel, err := filepath.Rel(root, full)
		if err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}
