package local

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Quota bounds what one owner may store; a zero takes the default.
type Quota struct {
	FileBytes  int64 // of one file; 1 MiB
	Files      int   // 100
	TotalBytes int64 // of all files together; 10 MiB
}

func (q Quota) orDefault() Quota {
	if q.FileBytes == 0 {
		q.FileBytes = 1 << 20
	}
	if q.Files == 0 {
		q.Files = 100
	}
	if q.TotalBytes == 0 {
		q.TotalBytes = 10 << 20
	}
	return q
}

// NewTenants serves the operator: every owner has the folder
// {data root}/{namespace}/{uid} and a quota (providers.md 6.3). Without a data root
// every File is refused.
func NewTenants(dataRoot string, quota Quota) *Provider {
	return newProvider(tenants{dataRoot: dataRoot, quota: quota.orDefault()})
}

type tenants struct {
	dataRoot string
	quota    Quota
}

// validate refuses literal paths that are malformed or in each other's way, and
// literal contents beyond the quota.
func (t tenants) validate(files []*model.Request) error {
	if len(files) == 0 {
		return nil
	}
	if t.dataRoot == "" {
		return invalid(files[0], errOff)
	}
	if len(files) > t.quota.Files {
		return invalid(files[t.quota.Files], refuse("the stack declares %d files, more than the %d allowed", len(files), t.quota.Files))
	}
	taken := map[string]*model.Request{}
	var total int64
	for _, r := range files {
		if content, ok := literal(r, fieldContent); ok {
			size := int64(len(content))
			total += size
			if size > t.quota.FileBytes {
				return invalid(r, refuse("its content has %d bytes, more than the %d allowed", size, t.quota.FileBytes))
			}
			if total > t.quota.TotalBytes {
				return invalid(r, refuse("the files together have more than the %d bytes allowed", t.quota.TotalBytes))
			}
		}
		p, ok := literal(r, fieldPath)
		if !ok {
			continue
		}
		if err := checkPath(p); err != nil {
			return invalid(r, err)
		}
		if other := taken[p]; other != nil {
			return invalid(r, refuse("path '%s' is also the path of %s", shown(p), other.Node.ID))
		}
		taken[p] = r
	}
	return prefixes(taken)
}

// prefixes refuses a file whose path is a folder on the way to another.
func prefixes(taken map[string]*model.Request) error {
	paths := make([]string, 0, len(taken))
	for p := range taken {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	for _, p := range paths {
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if other := taken[dir]; other != nil {
				return invalid(taken[p], refuse("path '%s' leads through '%s', the file of %s", shown(p), shown(dir), other.Node.ID))
			}
		}
	}
	return nil
}

func (t tenants) locate(r *model.Request, p string) (*place, error) {
	if t.dataRoot == "" {
		return nil, errOff
	}
	owner, err := ownerFolder(r.Owner)
	if err != nil {
		return nil, err
	}
	if err := checkPath(p); err != nil {
		return nil, err
	}
	return &place{root: filepath.Join(t.dataRoot, owner), path: p, shown: p, quota: &t.quota, prune: true, makeRoot: true}, nil
}

// address cleans also what no tenant may write, since a row may hold it.
func (t tenants) address(p string) string { return path.Clean(p) }

var errOff = refuse("local files are switched off in this installation: the operator runs without a local data root (--local-data-root)")

// ownerFolder takes "{namespace}/{uid}" apart and accepts nothing that could be a
// path of another meaning.
func ownerFolder(owner string) (string, error) {
	namespace, uid, ok := strings.Cut(owner, "/")
	if !ok || !plainName(namespace) || !plainName(uid) {
		return "", model.Errorf(model.ProviderError, model.ClassUnknown, "the owner '%s' is not a namespace and a uid", shown(owner))
	}
	return filepath.Join(namespace, uid), nil
}

// plainName accepts letters, digits and inner hyphens, at most 63 of them.
func plainName(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}

const (
	maxPath      = 1024
	maxComponent = 255
)

// checkPath accepts a relative POSIX path in its one plain spelling (6.3 rule 2).
func checkPath(p string) error {
	switch {
	case p == "":
		return refuse("the path is empty")
	case len(p) > maxPath:
		return refuse("path '%s' has %d bytes, more than the %d allowed", shown(p), len(p), maxPath)
	case !utf8.ValidString(p):
		return refuse("path '%s' is not UTF-8", shown(p))
	case strings.HasPrefix(p, "/"):
		return refuse("path '%s' is absolute; paths are relative to the stack's own folder", shown(p))
	case strings.Contains(p, `\`):
		return refuse("path '%s' holds a backslash; separate folders with /", shown(p))
	case strings.ContainsFunc(p, unicode.IsControl):
		return refuse("path '%s' holds a control character", shown(p))
	}
	for component := range strings.SplitSeq(p, "/") {
		if err := checkComponent(p, component); err != nil {
			return err
		}
	}
	return nil
}

func checkComponent(p, component string) error {
	switch {
	case component == "":
		return refuse("path '%s' has an empty part; write single slashes and none at the end", shown(p))
	case component == "." || component == "..":
		return refuse("path '%s' holds '%s' and may lead out of the stack's folder", shown(p), component)
	case len(component) > maxComponent:
		return refuse("path '%s' has a part of %d bytes, more than the %d allowed", shown(p), len(component), maxComponent)
	case deviceName(component):
		return refuse("path '%s' holds the device name '%s'", shown(p), component)
	case temporary(component):
		return refuse("path '%s' has the form of a temporary file", shown(p))
	}
	return nil
}

// deviceName reports whether Windows takes a name for a device, with any ending.
func deviceName(component string) bool {
	stem, _, _ := strings.Cut(strings.ToUpper(component), ".")
	stem = strings.TrimRight(stem, " ")
	switch stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	return len(stem) == 4 && (stem[:3] == "COM" || stem[:3] == "LPT") && '0' <= stem[3] && stem[3] <= '9'
}

// invalid is a refusal at plan, which names the node.
func invalid(r *model.Request, err error) error {
	e := model.Errorf(model.ProviderError, model.ClassUser, "%s: %w", r.Node.ID, err)
	e.NodeID, e.ResourceType = r.Node.ID, r.Node.Type
	return e
}

// shown is a text from a config in an error: one line, of bounded length.
func shown(s string) string {
	const limit = 120
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if runes := []rune(clean); len(runes) > limit {
		return string(runes[:limit]) + "…"
	}
	return clean
}
