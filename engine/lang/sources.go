package lang

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

// sources works out what paths of the config stand for. What a path was once in an
// evaluation it stays, so that a loop reads nothing twice.
type sources struct {
	reader *sourcetree.Reader // nil = there is no tree
	known  map[fillKey]filling
}

type fillKey struct {
	kind model.FillKind
	path string
}

// filling is a digest, or the digests of a folder's files.
type filling struct {
	digest   string
	manifest map[string]string
}

func newSources(tree fs.FS) *sources {
	s := &sources{known: map[fillKey]filling{}}
	if tree != nil {
		s.reader = &sourcetree.Reader{Tree: tree}
	}
	return s
}

var errNoTree = errors.New("the config came without a source tree")

// filling is the value of a field that is worked out from a path.
func (s *sources) filling(m *py.Meter, kind model.FillKind, path string) (starlark.Value, error) {
	if s.reader == nil {
		return nil, errNoTree
	}
	key := fillKey{kind, path}
	f, ok := s.known[key]
	if !ok {
		var err error
		if f, err = s.read(m.Context(), kind, path); err != nil {
			return nil, unlessInterrupted(m.Context(), err)
		}
		s.known[key] = f
	}
	if kind != model.FillManifest {
		return starlark.String(f.digest), m.Alloc(int64(len(f.digest)))
	}
	return manifestValue(m, f.manifest)
}

func (s *sources) read(ctx context.Context, kind model.FillKind, path string) (filling, error) {
	h := sha256.New()
	switch kind {
	case model.FillManifest:
		manifest, err := s.reader.Manifest(ctx, path)
		return filling{manifest: manifest}, err
	case model.FillText:
		content, err := s.reader.Text(ctx, path)
		h.Write([]byte(content))
		return digestOf(h.Sum(nil)), err
	default:
		err := s.reader.Package(ctx, h, path)
		return digestOf(h.Sum(nil)), err
	}
}

func digestOf(sum []byte) filling { return filling{digest: hex.EncodeToString(sum)} }

// manifestValue is a manifest as the dict of a field.
func manifestValue(m *py.Meter, manifest map[string]string) (starlark.Value, error) {
	if err := m.Alloc(int64(len(manifest)) * (2*valueBytes + sha256.Size*2)); err != nil {
		return nil, err
	}
	d := starlark.NewDict(len(manifest))
	for _, name := range slices.Sorted(maps.Keys(manifest)) {
		_ = d.SetKey(starlark.String(name), starlark.String(manifest[name])) // a new dict takes any text as key
	}
	return d, nil
}

// unlessInterrupted tells the end of the evaluation from an error of the tree.
func unlessInterrupted(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return model.Errorf(model.AtlantideError, model.ClassTransient, "the evaluation was interrupted: %w", context.Cause(ctx))
}

// maxModule bounds the text of one module of a component.
const maxModule = 1 << 20

// newModuleReader reads the modules of components: at most 1,000 of them, 4 MiB in all.
func newModuleReader(tree fs.FS) *sourcetree.Reader {
	if tree == nil {
		return nil
	}
	return &sourcetree.Reader{Tree: tree, Limits: sourcetree.Limits{TextBytes: maxModule, TotalBytes: 4 << 20, TotalFiles: 1000}}
}

// moduleText pays for a module's text and its parsing, and reads it.
func moduleText(m *py.Meter, r *sourcetree.Reader, path string) (string, error) {
	content, err := r.Text(m.Context(), path)
	if err != nil {
		return "", unlessInterrupted(m.Context(), err)
	}
	return content, payModule(m, content)
}

func payModule(m *py.Meter, content string) error {
	if err := m.Charge(int64(len(content)) / bytesPerStep); err != nil {
		return err
	}
	return m.Alloc(int64(len(content)))
}

// bytesPerStep is how much of a module is parsed for one step of fuel.
const bytesPerStep = 16
