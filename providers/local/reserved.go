package local

import (
	"os"
	"path"
	"path/filepath"
)

// Reserved is a file or a folder that the project keeps for itself: no config reads, writes
// or deletes it, nor anything below it. One outside the project folder needs no care.
type Reserved struct {
	Path   string   // absolute, or relative to the project folder; nothing need be there yet
	Beside []string // what the names of the files that come and go beside it have behind its own
}

// reserve notes everything under the names that it can be given: the way it was told, and
// where links lead from there, which is where what stands beside it is made.
func (p *project) reserve(all []Reserved) {
	p.reserved = map[string]bool{}
	for _, r := range all {
		full := r.Path
		if !filepath.IsAbs(full) {
			full = filepath.Join(p.roots[0], full)
		}
		for _, name := range []string{full, followed(full, maxLinks)} {
			p.reserveOne(name)
			for _, suffix := range r.Beside {
				p.reserveOne(name + suffix)
			}
		}
	}
}

func (p *project) reserveOne(full string) {
	if rel, inside := p.relative(full); inside && rel != "." {
		p.reserved[rel] = true
	}
}

// reservedFor finds what a path of the project is, or lies below.
func (p project) reservedFor(rel string) (own string, found bool) {
	for at := rel; at != "."; at = path.Dir(at) {
		if p.reserved[at] {
			return at, true
		}
	}
	return "", false
}

// maxLinks is how many links that lead to nothing yet are followed.
const maxLinks = 40

// followed is where an absolute path leads, also if nothing is there yet.
func followed(full string, links int) string {
	if target, err := filepath.EvalSymlinks(full); err == nil {
		return target
	}
	dir := filepath.Dir(full)
	if dir == full || links == 0 {
		return full
	}
	target, err := os.Readlink(full)
	switch {
	case err != nil:
		return filepath.Join(followed(dir, links), filepath.Base(full))
	case filepath.IsAbs(target):
		return followed(target, links-1)
	}
	if behind, err := filepath.EvalSymlinks(dir); err == nil {
		dir = behind
	}
	return followed(filepath.Join(dir, target), links-1)
}
