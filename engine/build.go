package engine

import (
	"io/fs"

	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// BuildOptions are what an artifact is made with beside the compilation.
type BuildOptions struct {
	ComponentPins map[string]string // alias → commit, of every entry in the lock
	MaxBytes      int               // of the file; 0 = ir.DefaultArtifactBytes
}

// ArtifactOptions bound an artifact that is read, and say what its apply reads.
type ArtifactOptions struct {
	Limits ir.ArtifactLimits
	// Source is the tree of files that the config came with, for providers that need
	// the files themselves; nil = none, and the digests that were recorded have to do.
	Source fs.FS
}

// Build writes a compilation as one file (cli.md §15). The same compilation gives the
// same bytes everywhere. It is pure, and a file that Verify would refuse is not made.
func (e *Engine) Build(c *ir.Compilation, options BuildOptions) ([]byte, error) {
	data, err := ir.NewArtifact(c, options.ComponentPins).Encode(options.MaxBytes)
	if err != nil {
		return nil, err
	}
	limits := ir.ArtifactLimits{MaxBytes: len(data), MaxNodes: len(c.Document.Nodes)}
	if _, err := e.Verify(data, ArtifactOptions{Limits: limits}); err != nil {
		return nil, model.Errorf(model.KindOf(err), model.ClassOf(err), "the config cannot be built: %w", err)
	}
	return data, nil
}

// Verify reads an artifact and checks all of it: its form, its hash, its graph, and
// that the providers here are compatible with what it pins. Nothing else of the
// outside is looked at.
func (e *Engine) Verify(data []byte, options ArtifactOptions) (*ir.Artifact, error) {
	a, _, err := e.readArtifact(data, options)
	return a, err
}

// LoadArtifact verifies an artifact and gives what it was built from, to be planned
// and applied. The inputs are not known any more, and no file is read: fingerprints are
// those of the build.
func (e *Engine) LoadArtifact(data []byte, options ArtifactOptions) (*ir.Compilation, error) {
	a, g, err := e.readArtifact(data, options)
	if err != nil {
		return nil, err
	}
	c, err := a.Compilation(g.Order())
	if err != nil {
		return nil, err
	}
	c.Source = options.Source
	return c, nil
}

// readArtifact never ends the process, whatever the file makes of a type's rules.
func (e *Engine) readArtifact(data []byte, options ArtifactOptions) (a *ir.Artifact, g *graph.Graph, err error) {
	defer func() {
		if r := recover(); r != nil {
			a, g, err = nil, nil, model.Errorf(model.ArtifactError, model.ClassUser,
				"reading the artifact failed inside: %v; this is a defect of Atlantide, please report it", r)
		}
	}()
	if a, err = ir.ReadArtifact(data, options.Limits); err != nil {
		return nil, nil, err
	}
	if g, err = graph.Build(a.Document.Edges()); err != nil {
		return nil, nil, model.Errorf(model.ArtifactError, model.ClassUser, "the artifact holds no graph: %w", err)
	}
	if err := a.Check(e.Registry.Schemas()); err != nil {
		return nil, nil, err
	}
	return a, g, nil
}
