package ir

import (
	"maps"
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Artifact is a compiled config as one file carries it, from where it was built to
// where it is deployed (cli.md §15). It holds handles and never a value of a secret.
type Artifact struct {
	Document *Document
	Hash     string            // hex SHA-256 of Document.Canonical
	Pins     map[string]string // provider → version, of every provider that a node names
	// ComponentPins are the commits of the components in the lock of where it was
	// built, by alias. They say what went in; nothing is fetched by them.
	ComponentPins map[string]string
	Policies      []PolicyBinding // in declaration order
	Outputs       []Output        // sorted by key
	EnvsDeclared  []string        // sorted; empty when the config declares none
	EnvsSelected  []string        // sorted; what the file covers
}

// ArtifactFormat is the version of the file's layout.
const ArtifactFormat = 1

// Bounds of an artifact, of the file that is written and of the one that is read.
const (
	// DefaultArtifactBytes is the size that a file may have unless told otherwise.
	DefaultArtifactBytes = 64 << 20
	// DefaultArtifactNodes is how many nodes it may hold unless told otherwise.
	DefaultArtifactNodes = 100_000

	// maxArtifactDepth bounds nesting, that of the file's own layout included. It is
	// what a state store takes of a value, and room for the layout.
	maxArtifactDepth = 1024
	// maxArtifactValues bounds the memory that a small file may ask for: "[]," is three
	// bytes there and some sixty here, and `{"a":1},` some four hundred. weigh counts them.
	maxArtifactValues = 3_000_000
	// maxArtifactKey is the length of a node id and of an output's key in bytes.
	maxArtifactKey = 1024
)

// Keys of the file.
const (
	keyFormat        = "format_version"
	keyIR            = "ir"
	keyHash          = "ir_hash"
	keyPins          = "provider_pins"
	keyComponentPins = "component_pins"
	keyPolicies      = "policies"
	keyOutputs       = "outputs"
	keyEnvs          = "envs"
	keyEnvsDeclared  = "envs_declared"
)

// NewArtifact takes from a compilation what an artifact carries. The inputs are not in
// it: what they made is.
func NewArtifact(c *Compilation, componentPins map[string]string) *Artifact {
	return &Artifact{
		Document:      c.Document,
		Hash:          c.Hash,
		Pins:          c.Pins,
		ComponentPins: componentPins,
		Policies:      c.Policies,
		Outputs:       slices.SortedFunc(slices.Values(c.Outputs), func(a, b Output) int { return strings.Compare(a.Key, b.Key) }),
		EnvsDeclared:  c.EnvsDeclared,
		EnvsSelected:  c.EnvsSelected,
	}
}

// Compilation is what a plan takes. order names every node after its dependencies.
func (a *Artifact) Compilation(order []string) (*Compilation, error) {
	hashes, err := Hashes(a.Document, order)
	if err != nil {
		return nil, malformed("%w", err)
	}
	return &Compilation{
		Document:     a.Document,
		Hash:         a.Hash,
		Hashes:       hashes,
		Outputs:      a.Outputs,
		Policies:     a.Policies,
		EnvsDeclared: a.EnvsDeclared,
		EnvsSelected: a.EnvsSelected,
		Pins:         a.Pins,
	}, nil
}

// Encode writes the file. The same artifact gives the same bytes everywhere. What
// would have more than maxBytes, 0 for the default, is refused.
func (a *Artifact) Encode(maxBytes int) ([]byte, error) {
	file := a.file()
	count := artifactWriter{limit: limit(maxBytes, DefaultArtifactBytes), counting: true}
	if err := count.value(file, 0); err != nil { // before there is a text of any size
		return nil, err
	}
	w := artifactWriter{limit: count.limit, out: make([]byte, 0, count.size())}
	if err := w.value(file, 0); err != nil {
		return nil, err
	}
	return w.out, nil
}

// file is the whole file as a value.
func (a *Artifact) file() map[string]any {
	outputs := make(map[string]any, len(a.Outputs))
	for _, o := range a.Outputs {
		outputs[o.Key] = o.Value
	}
	policies := make([]any, len(a.Policies))
	for i := range a.Policies {
		policies[i] = a.Policies[i].stored()
	}
	file := map[string]any{
		keyFormat:        int64(ArtifactFormat),
		keyIR:            a.Document.Stored(),
		keyHash:          a.Hash,
		keyPins:          a.Pins,
		keyComponentPins: a.ComponentPins,
		keyPolicies:      policies,
		keyOutputs:       outputs,
	}
	if len(a.EnvsDeclared) > 0 {
		file[keyEnvs] = a.EnvsSelected
		file[keyEnvsDeclared] = a.EnvsDeclared
	}
	return file
}

func (b *PolicyBinding) stored() map[string]any {
	var types any
	if b.Types != nil {
		types = slices.Sorted(slices.Values(b.Types))
	}
	params := b.Params
	if params == nil {
		params = map[string]any{}
	}
	return map[string]any{"name": b.Name, "level": b.Level, "types": types, "params": params}
}

// pinned are the provider versions that the nodes were compiled with.
func (d *Document) pinned() map[string]string {
	pins := map[string]string{}
	for i := range d.Nodes {
		pins[d.Nodes[i].Provider] = d.Nodes[i].ProviderVersion
	}
	return pins
}

// malformed is the refusal of a file.
func malformed(format string, args ...any) *model.Error {
	return model.Errorf(model.ArtifactError, model.ClassUser, format, args...)
}

func limit(given, otherwise int) int {
	if given == 0 {
		return otherwise
	}
	return given
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
