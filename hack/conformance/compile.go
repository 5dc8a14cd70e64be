package main

import (
	"context"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// runCase gives the verdict on every facet of a case.
func runCase(c *testCase) []result {
	w, err := newWorld(c)
	if err != nil {
		return c.all("no working directory: " + err.Error())
	}
	defer w.close()
	ctx := context.Background()
	switch c.kind {
	case kindSequence:
		return w.runSequence(ctx)
	case kindPlan:
		return w.runPlan(ctx)
	default:
		return w.runCompile(ctx)
	}
}

func (w *world) compile(ctx context.Context, config string, inputs []byte, envs []string) (*ir.Compilation, error) {
	text, err := w.testCase.read(config)
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	if len(inputs) > 0 {
		decoded, err := model.DecodeJSON(inputs)
		if err != nil {
			return nil, err
		}
		values, _ = decoded.(map[string]any)
	}
	return w.engine.Compile(ctx, engine.Source{Filename: config, Text: text}, engine.CompileOptions{Inputs: values, Envs: envs, Source: w.tree})
}

func (w *world) runCompile(ctx context.Context) []result {
	c := w.testCase
	compilation, err := w.compile(ctx, "infra.py", c.in.Inputs, c.in.Envs)
	if c.want["ok"] == false {
		cmp := newComparison()
		cmp.failure(c.want, err, "the config compiles")
		return c.all(cmp.take())
	}
	if err != nil {
		return c.all(describe(err))
	}
	results := make([]result, 0, len(c.facets()))
	for _, facet := range c.facets() {
		cmp := newComparison()
		if err := w.compareFacet(cmp, facet, compilation); err != nil {
			cmp.diffs = append(cmp.diffs, describe(err))
		}
		results = append(results, result{Facet: facet, Diff: cmp.take()})
	}
	return results
}

// compareFacet compares one facet of a config that compiles.
func (w *world) compareFacet(cmp *comparison, facet string, got *ir.Compilation) error {
	c := w.testCase
	switch facet {
	case facetIR:
		return c.compareIR(cmp, got)
	case facetHashes:
		hashes := c.want["hashes"]
		if rfc8785, ok := c.want["rfc8785"].(map[string]any); ok {
			hashes = rfc8785["hashes"]
		}
		return cmp.value("hashes", hashes, textMap(got.Hashes))
	case facetOrder:
		g, err := graph.Build(got.Document.Edges())
		if err != nil {
			return err
		}
		cmp.equal("order", c.want["order"], texts(g.Order()), false)
		if reverse, ok := c.want["reverse_order"]; ok { // float/ leaves it out
			cmp.equal("reverse_order", reverse, texts(g.ReverseOrder()), false)
		}
		return nil
	case facetOutputs:
		outputs := map[string]any{}
		for _, o := range got.Outputs {
			outputs[o.Key] = o.Value
		}
		return cmp.value("outputs", c.want["outputs"], outputs)
	case facetPolicies:
		return cmp.value("policies", c.want["policies"], policies(got.Policies))
	case facetPins:
		return cmp.value("provider_pins", c.want["provider_pins"], textMap(got.Pins))
	case facetInputs:
		if err := cmp.value("inputs_consumed", c.want["inputs_consumed"], inputs(got)); err != nil {
			return err
		}
		return cmp.value("envs", c.want["envs"], envs(got))
	case facetGraph:
		return w.compareGraph(cmp, got)
	default:
		return w.compareArtifact(cmp, got)
	}
}

// compareIR holds the document, its bytes and its hash together.
func (c *testCase) compareIR(cmp *comparison, got *ir.Compilation) error {
	hash, bytesFile := c.want["ir_hash"], "ir.canonical.json"
	if rfc8785, ok := c.want["rfc8785"].(map[string]any); ok {
		hash, bytesFile = rfc8785["ir_hash"], "ir.canonical.rfc8785.json"
	} else if err := cmp.value("ir", c.want["ir"], got.Document.Stored()); err != nil {
		return err
	}
	cmp.equal("ir_hash", hash, got.Hash, false)
	want, err := c.read(bytesFile)
	if err != nil {
		return err
	}
	canonical, err := got.Document.Canonical()
	if err != nil {
		return err
	}
	cmp.equal(bytesFile, want, string(canonical), false)
	return nil
}

// value compares a value of the engine.
func (c *comparison) value(path string, want any, got model.Value) error {
	decoded, err := tree(got)
	if err != nil {
		return err
	}
	c.equal(path, want, decoded, false)
	return nil
}

func policies(bindings []ir.PolicyBinding) []any {
	list := make([]any, 0, len(bindings))
	for _, b := range bindings {
		var types any
		if b.Types != nil {
			types = texts(b.Types)
		}
		params := b.Params
		if params == nil {
			params = map[string]any{}
		}
		list = append(list, map[string]any{"name": b.Name, "level": b.Level, "types": types, "params": params})
	}
	return list
}

func inputs(c *ir.Compilation) map[string]any {
	if c.Inputs == nil {
		return map[string]any{}
	}
	return c.Inputs
}

func envs(c *ir.Compilation) map[string]any {
	return map[string]any{"declared": texts(c.EnvsDeclared), "selected": texts(c.EnvsSelected)}
}

func textMap(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}
