package ir

import (
	"fmt"
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// ArtifactLimits bound what ReadArtifact takes; 0 stands for the default.
type ArtifactLimits struct {
	MaxBytes int
	MaxNodes int
}

// ReadArtifact reads a file that Encode wrote, here or elsewhere: how the JSON is laid
// out and how its texts are escaped is free, everything else is not. The hash is
// computed again. A file that is not whole and right in every part is an ArtifactError
// and gives nothing, save for a lone surrogate, which is an IRError (cli.md §15).
//
// Whether the nodes form a graph without cycles, and whether there are providers for
// them, is not known here.
func ReadArtifact(data []byte, limits ArtifactLimits) (*Artifact, error) {
	if most := limit(limits.MaxBytes, DefaultArtifactBytes); len(data) > most {
		return nil, malformed("the artifact has %d bytes, more than the %d that are read", len(data), most)
	}
	value, err := decodeJSON(data)
	if err != nil {
		return nil, err
	}
	a, err := artifactOf(value, limits)
	if err != nil {
		return nil, err
	}
	hash, err := a.Document.Hash()
	if err != nil {
		return nil, malformed("the artifact holds what no config compiles to: %w", err)
	}
	if hash != a.Hash {
		return nil, malformed("the artifact was changed after it was built: its IR has the hash %s, and it says %.80q; build it again", hash, a.Hash)
	}
	return a, nil
}

func artifactOf(value model.Value, limits ArtifactLimits) (*Artifact, error) {
	file, ok := value.(map[string]any)
	if !ok {
		return nil, malformed("the artifact is not a JSON object")
	}
	if err := formatIs(file, keyFormat, ArtifactFormat, "the artifact"); err != nil {
		return nil, err
	}
	r := &artifactReader{}
	r.keys("the artifact", file,
		[]string{keyFormat, keyIR, keyHash, keyPins, keyComponentPins, keyPolicies, keyOutputs}, []string{keyEnvs, keyEnvsDeclared})
	a := &Artifact{
		Hash:          r.text(file, keyHash, "the artifact"),
		Pins:          r.textMap(file, keyPins),
		ComponentPins: r.textMap(file, keyComponentPins),
		Policies:      r.policies(file),
		Outputs:       r.outputs(file),
		EnvsSelected:  r.texts(file, keyEnvs, "the artifact"),
		EnvsDeclared:  r.texts(file, keyEnvsDeclared, "the artifact"),
	}
	r.componentPins(a.ComponentPins)
	r.environments(a)
	a.Document = r.document(file, limit(limits.MaxNodes, DefaultArtifactNodes))
	r.outputReferences(a)
	if r.err != nil {
		return nil, r.err
	}
	return a, nil
}

func formatIs(m map[string]any, key string, version int64, what string) error {
	switch got, given := m[key]; {
	case !given:
		return malformed("%s has no %s", what, key)
	case got != version:
		return malformed("%s has the %s %.40s, and this release reads %d; build it again", what, key, model.Repr(got), version)
	}
	return nil
}

// artifactReader takes values apart and keeps the first thing that is wrong; after it
// what is read means nothing.
type artifactReader struct{ err *model.Error }

func (r *artifactReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = malformed(format, args...)
	}
}

// keys wants every key of required, and no other than those and the optional ones: a
// key that this release does not know may mean something to the one that wrote it.
func (r *artifactReader) keys(what string, m map[string]any, required, optional []string) {
	for _, key := range required {
		if _, ok := m[key]; !ok {
			r.fail("%s has no %s", what, key)
		}
	}
	for _, key := range sortedKeys(m) {
		if !slices.Contains(required, key) && !slices.Contains(optional, key) {
			r.fail("%s has the key %+.80q, which this release does not know", what, key)
		}
	}
}

func (r *artifactReader) object(v any, what string) map[string]any {
	m, ok := v.(map[string]any)
	if !ok {
		r.fail("%s is not an object", what)
	}
	return m
}

func (r *artifactReader) list(v any, what string) []any {
	items, ok := v.([]any)
	if !ok {
		r.fail("%s is not a list", what)
	}
	return items
}

func (r *artifactReader) text(m map[string]any, key, what string) string {
	s, ok := m[key].(string)
	if !ok {
		r.fail("%s: %s is not a text", what, key)
	}
	return s
}

// flag is false for a key that is absent.
func (r *artifactReader) flag(m map[string]any, key, what string) bool {
	v, given := m[key]
	b, ok := v.(bool)
	if given && !ok {
		r.fail("%s: %s is not true or false", what, key)
	}
	return b
}

// texts is empty for a key that is absent.
func (r *artifactReader) texts(m map[string]any, key, what string) []string {
	v, given := m[key]
	if !given {
		return nil
	}
	items := r.list(v, what+": "+key)
	texts := make([]string, len(items))
	for i, item := range items {
		var ok bool
		if texts[i], ok = item.(string); !ok {
			r.fail("%s: %s holds something that is not a text", what, key)
		}
	}
	return texts
}

func (r *artifactReader) textMap(m map[string]any, key string) map[string]string {
	members := r.object(m[key], key)
	texts := make(map[string]string, len(members))
	for name, item := range members {
		var ok bool
		if texts[name], ok = item.(string); !ok {
			r.fail("%s: the value of %+.80q is not a text", key, name)
		}
	}
	return texts
}

func (r *artifactReader) policies(file map[string]any) []PolicyBinding {
	items := r.list(file[keyPolicies], keyPolicies)
	bindings := make([]PolicyBinding, len(items))
	for i, item := range items {
		what := fmt.Sprintf("%s[%d]", keyPolicies, i)
		m := r.object(item, what)
		r.keys(what, m, []string{"name", "level", "params", "types"}, nil)
		bindings[i] = PolicyBinding{
			Name:   r.text(m, "name", what),
			Level:  r.text(m, "level", what),
			Params: r.object(m["params"], what+": params"),
		}
		if level := bindings[i].Level; level != "mandatory" && level != "advisory" {
			r.fail("%s: level is %+.80q, not mandatory or advisory", what, level)
		}
		if m["types"] != nil {
			bindings[i].Types = r.sorted(m, "types", what)
			if len(bindings[i].Types) == 0 {
				r.fail("%s: types is empty, and the policy would judge nothing", what)
			}
		}
		r.canonical(bindings[i].Params, what+": params")
	}
	return bindings
}

func (r *artifactReader) outputs(file map[string]any) []Output {
	members := r.object(file[keyOutputs], keyOutputs)
	outputs := make([]Output, 0, len(members))
	for _, key := range sortedKeys(members) {
		stack, _, ok := strings.Cut(key, ":")
		if !ok || !model.ValidName(stack) || len(key) > maxArtifactKey {
			r.fail("%s: %+.80q is not the name of a stack, a colon and a name", keyOutputs, key)
		}
		r.canonical(members[key], fmt.Sprintf("%s: %+.80q", keyOutputs, key))
		outputs = append(outputs, Output{Key: key, Value: members[key]})
	}
	return outputs
}

// outputReferences wants every reference of an output to lead to a node: the hash does not
// cover outputs, and one that never resolves would keep what is committed (EX-19) without
// a word.
func (r *artifactReader) outputReferences(a *Artifact) {
	if r.err != nil {
		return
	}
	for _, o := range a.Outputs {
		for _, ref := range model.References(o.Value) {
			if a.Document.Node(ref.NodeID) == nil {
				r.fail("%s: %+.80q refers to %+.80q, which the artifact does not hold", keyOutputs, o.Key, ref.NodeID)
			}
		}
	}
}

// canonical wants a value that digests can be made of.
func (r *artifactReader) canonical(v any, what string) {
	if _, err := CanonicalJSON(v); err != nil {
		r.fail("%s: %w", what, err)
	}
}

// sorted wants texts in order, none twice.
func (r *artifactReader) sorted(m map[string]any, key, what string) []string {
	texts := r.texts(m, key, what)
	for i := 1; i < len(texts); i++ {
		if texts[i-1] >= texts[i] {
			r.fail("%s: %s is not sorted, or holds a text twice", what, key)
		}
	}
	return texts
}

// componentPins are what a lock file pins.
func (r *artifactReader) componentPins(pins map[string]string) {
	for _, alias := range sortedKeys(pins) {
		if !model.ValidAlias(alias) || !model.ValidCommit(pins[alias]) {
			r.fail("%s: %+.80q with %+.80q is not the alias of a component with a commit", keyComponentPins, alias, pins[alias])
		}
	}
}

// environments are both there or both empty. A file of an older release that covers some
// environments does not say which there are beside them, and a deploy of it would
// delete what the others own.
func (r *artifactReader) environments(a *Artifact) {
	if len(a.EnvsSelected) > 0 && len(a.EnvsDeclared) == 0 {
		r.fail("the artifact was built for the environments %+.200q and does not say which the config declares, so that a deploy would delete the others; "+
			"build it again, with the same --env", strings.Join(a.EnvsSelected, ", "))
	}
	if len(a.EnvsSelected) == 0 && len(a.EnvsDeclared) > 0 {
		r.fail("the artifact covers none of the environments that its config declares; build it again")
	}
	for _, list := range [][]string{a.EnvsSelected, a.EnvsDeclared} {
		for i, env := range list {
			if !model.ValidName(env) || i > 0 && list[i-1] >= env {
				r.fail("the artifact names the environments %+.200q, which are not distinct names in order", strings.Join(list, ", "))
			}
		}
	}
	for _, env := range a.EnvsSelected {
		if !slices.Contains(a.EnvsDeclared, env) {
			r.fail("the artifact covers the environment %+.80q, which its config does not declare", env)
		}
	}
}
