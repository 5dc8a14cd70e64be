package local

import (
	"path/filepath"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// NewProject serves the command line: one folder for all owners. A path may be
// absolute or hold "..", as long as it stays inside; one outside is refused in the
// provider call, never at plan (providers.md 6.2, 6.3 rule 10).
func NewProject(dir string) (*Provider, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, model.Errorf(model.ProviderError, model.ClassUser, "the project folder %s has no absolute path: %w", dir, err)
	}
	roots := []string{absolute}
	if target, err := filepath.EvalSymlinks(absolute); err == nil && target != absolute {
		roots = append(roots, target)
	}
	return &Provider{policy: project{roots: roots}}, nil
}

// project holds the names under which the folder is known: as given, and with its own
// links followed.
type project struct{ roots []string }

func (p project) validate([]*model.Request) error { return nil }

func (p project) locate(_ *model.Request, path string) (*place, error) {
	if path == "" || strings.ContainsRune(path, 0) {
		return nil, refuse("path '%s' is empty or holds a NUL character", shown(path))
	}
	for _, root := range p.roots {
		full := path
		if !filepath.IsAbs(path) {
			full = filepath.Join(root, path)
		}
		rel, err := filepath.Rel(root, full)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if rel == "." {
			return nil, refuse("path '%s' is the project folder itself", shown(path))
		}
		return &place{root: p.roots[0], path: filepath.ToSlash(rel), shown: path, keepMode: true}, nil
	}
	return nil, refuse("path '%s' is outside the project folder", shown(path))
}
