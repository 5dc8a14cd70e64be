package ir

import (
	"strconv"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Check holds an artifact against the providers that are here: the versions that it
// pins must be compatible with theirs, and each node one that a config could declare
// today. A provider or a type that is not here is a RegistryError, anything else an
// ArtifactError.
func (a *Artifact) Check(schemas *model.Schemas) error {
	for _, name := range sortedKeys(a.Pins) {
		provider := schemas.Provider(name)
		if provider == nil {
			return unregistered("the artifact needs the provider %+.80q, which is not registered here; install it", name)
		}
		if !compatible(a.Pins[name], provider.Version) {
			return malformed("the artifact was built with version %.40q of the provider %s, and %s is here, which is not compatible; "+
				"install a compatible one or build it again", a.Pins[name], name, provider.Version)
		}
	}
	if err := a.checkPins(); err != nil {
		return err
	}
	for i := range a.Document.Nodes {
		n := &a.Document.Nodes[i]
		t := schemas.Type(n.Type)
		switch {
		case t == nil:
			return unregistered("the artifact holds %s, whose type %s is not registered here", n.ID, n.Type)
		case t.Unsupported != "":
			return unregistered("the artifact holds %s, and %s cannot be declared: %s", n.ID, n.Type, t.Unsupported)
		case t.Kind != n.Kind:
			return malformed("the artifact holds %s as a %s, and its type is a %s", n.ID, n.Kind, t.Kind)
		}
		if err := conforms(n, t); err != nil {
			return err
		}
	}
	return a.checkReferences(schemas)
}

// checkReferences wants every reference, of nodes and of outputs, to read what the type of
// its node has. Types of all nodes are known by now.
func (a *Artifact) checkReferences(schemas *model.Schemas) error {
	for i := range a.Document.Nodes {
		n := &a.Document.Nodes[i]
		for _, field := range sortedKeys(n.Properties) {
			if ref, ok := a.dangling(n.Properties[field], schemas); ok {
				return malformed("the artifact holds %s, whose %+.80q refers to %+.80q of %+.80q, which has none", n.ID, field, ref.Output, ref.NodeID)
			}
		}
	}
	for _, o := range a.Outputs {
		if ref, ok := a.dangling(o.Value, schemas); ok {
			return malformed("the artifact has the output %+.80q, which refers to %+.80q of %+.80q, which has none", o.Key, ref.Output, ref.NodeID)
		}
	}
	return nil
}

// dangling is the first reference in v to what no node has.
func (a *Artifact) dangling(v model.Value, schemas *model.Schemas) (model.Reference, bool) {
	for _, ref := range model.References(v) {
		if n := a.Document.Node(ref.NodeID); n == nil || schemas.Type(n.Type).Field(ref.Output) == nil {
			return ref, true
		}
	}
	return model.Reference{}, false
}

// checkPins wants the pins to be of the providers that the nodes name: pins are outside
// of the hash, what the nodes say is not.
func (a *Artifact) checkPins() error {
	named := a.Document.pinned()
	for i := range a.Document.Nodes {
		n := &a.Document.Nodes[i]
		if pin, given := a.Pins[n.Provider]; !given || pin != n.ProviderVersion {
			return malformed("the artifact pins version %.40q of the provider %s, and %s was compiled with %.40q; build it again",
				pin, n.Provider, n.ID, n.ProviderVersion)
		}
	}
	for _, name := range sortedKeys(a.Pins) {
		if _, used := named[name]; !used {
			return malformed("the artifact pins the provider %s, which no node of it needs; build it again", name)
		}
	}
	return nil
}

func unregistered(format string, args ...any) *model.Error {
	return model.Errorf(model.RegistryError, model.ClassUser, format, args...)
}

// compatible reports whether what was compiled with one version of a provider runs with
// another (DF-25): the same major and not older; before 1.0 only the same.
func compatible(pinned, running string) bool {
	p, okPinned := version(pinned)
	r, okRunning := version(running)
	switch {
	case !okPinned || !okRunning:
		return false
	case p[0] == 0 || r[0] == 0:
		return p == r
	case p[0] != r[0]:
		return false
	case p[1] != r[1]:
		return p[1] < r[1]
	default:
		return p[2] <= r[2]
	}
}

// version takes a three-part version apart (providers.md 1.1).
func version(text string) (v [3]uint64, ok bool) {
	parts := strings.Split(text, ".")
	if len(text) > 64 || len(parts) != len(v) {
		return v, false
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 32)
		if err != nil || strconv.FormatUint(n, 10) != part {
			return v, false
		}
		v[i] = n
	}
	return v, true
}
