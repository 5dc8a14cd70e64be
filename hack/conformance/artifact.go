package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
)

// compareGraph compares the texts of the graph.
func (w *world) compareGraph(cmp *comparison, got *ir.Compilation) error {
	g, err := w.engine.Graph(got)
	if err != nil {
		return err
	}
	cmp.equal("mermaid", w.testCase.want["mermaid"], graph.Mermaid(g, nil), false)
	cmp.equal("dot", w.testCase.want["dot"], graph.DOT(g, nil), false)
	return nil
}

// compareArtifact compares the file that a build writes, and what is loaded from it with
// what it was built from. No file is recorded of an output that holds a handle which the
// recording implementation could not carry.
func (w *world) compareArtifact(cmp *comparison, got *ir.Compilation) error {
	data, err := w.engine.Build(got, engine.BuildOptions{})
	if err != nil {
		return err
	}
	if checksum := w.testCase.want["artifact_sha256"]; checksum != nil {
		want, err := w.testCase.read("artifact.atlas")
		if err != nil {
			return err
		}
		cmp.equal("artifact.atlas", want, string(data), false)
		sum := sha256.Sum256(data)
		cmp.equal("artifact_sha256", checksum, hex.EncodeToString(sum[:]), false)
	}
	loaded, err := w.engine.LoadArtifact(data, engine.ArtifactOptions{})
	if err != nil {
		return err
	}
	return cmp.value("hashes of what is loaded", textMap(got.Hashes), textMap(loaded.Hashes))
}

// compiled is what a step plans: its config, or, for a deploy, what is loaded from an
// artifact of it that was tampered with.
func (w *world) compiled(ctx context.Context, s step) (*ir.Compilation, error) {
	compilation, err := w.compile(ctx, s.Config, s.Inputs, s.Envs)
	if err != nil || s.Op != opDeploy {
		return compilation, err
	}
	data, err := w.engine.Build(compilation, engine.BuildOptions{})
	if err != nil {
		return nil, err
	}
	if data, err = tampered(data, s.Tamper); err != nil {
		return nil, err
	}
	return w.engine.LoadArtifact(data, engine.ArtifactOptions{Source: w.tree})
}

// tampered sets dotted paths in a file.
func tampered(data []byte, values map[string]any) ([]byte, error) {
	if len(values) == 0 {
		return data, nil
	}
	var file map[string]any
	if err := decode(data, &file); err != nil {
		return nil, err
	}
	for path, value := range values {
		at, keys := file, strings.Split(path, ".")
		for _, key := range keys[:len(keys)-1] {
			at, _ = at[key].(map[string]any)
		}
		at[keys[len(keys)-1]] = value
	}
	return json.Marshal(file)
}
