package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
)

// testCase is one folder of the vectors.
type testCase struct {
	name string // folder/NNN-name
	dir  string
	kind kind
	in   caseFile
	want map[string]any // expected.json, numbers as json.Number
}

// kind is how a case is run; it shows in what the case's folder holds, so that a
// folder of cases may have any name.
type kind int

const (
	kindCompile  kind = iota // a config and what it compiles to, or the error
	kindFloat                // the same, with hashes in two encodings
	kindPlan                 // a config against a recorded state
	kindSequence             // steps, one after another
)

// caseFile is case.json.
type caseFile struct {
	Inputs  json.RawMessage   `json:"inputs"`
	Envs    []string          `json:"envs"`
	Targets []string          `json:"targets"`
	Replace []string          `json:"replace"`
	Secrets map[string]string `json:"secrets"`
	KeyHex  string            `json:"install_key_hex"`
	Steps   []step            `json:"steps"`
}

// step is one step of a sequence.
type step struct {
	Op        string            `json:"op"`
	Config    string            `json:"config"`
	Inputs    json.RawMessage   `json:"inputs"`
	Envs      []string          `json:"envs"`
	Targets   []string          `json:"targets"`
	Replace   []string          `json:"replace"`
	OnFailure string            `json:"on_failure"`
	Approved  string            `json:"approved"`
	KeepPlan  string            `json:"keep_plan"`
	Write     json.RawMessage   `json:"write"` // path → text, or a flag of refresh
	Tamper    map[string]any    `json:"tamper"`
	Delete    []string          `json:"delete"`
	Rmdir     []string          `json:"rmdir"`
	Prune     bool              `json:"prune"`
	Values    map[string]string `json:"values"`

	// Of an import.
	Node       string `json:"node"` // a pattern
	ExternalID string `json:"external_id"`
	DryRun     bool   `json:"dry_run"`
	Force      bool   `json:"force"`
	AllowDrift bool   `json:"allow_drift"`
}

// opDeploy is the step that applies an artifact of its config.
const opDeploy = "deploy"

// Facets of a case that compiles. Others have plan, error, or a facet a step.
const (
	facetIR       = "ir"
	facetHashes   = "hashes"
	facetOrder    = "order"
	facetGraph    = "graph"
	facetOutputs  = "outputs"
	facetPolicies = "policies"
	facetPins     = "pins"
	facetInputs   = "inputs"
	facetArtifact = "artifact"
	facetPlan     = "plan"
	facetError    = "error"
)

func facetStep(i int) string { return "step " + strconv.Itoa(i+1) }

// facets lists what the case says, in the order in which it is shown.
func (c *testCase) facets() []string {
	switch {
	case c.kind == kindSequence:
		facets := make([]string, len(c.in.Steps))
		for i := range facets {
			facets[i] = facetStep(i)
		}
		return facets
	case c.want["ok"] == false:
		return []string{facetError}
	case c.kind == kindPlan:
		return []string{facetPlan}
	case c.kind == kindFloat:
		return []string{facetIR, facetHashes, facetOrder}
	default:
		return []string{facetIR, facetHashes, facetOrder, facetGraph, facetOutputs, facetPolicies, facetPins, facetInputs, facetArtifact}
	}
}

// all is the same verdict on every facet: "" = passed.
func (c *testCase) all(diff string) []result {
	var results []result
	for _, facet := range c.facets() {
		results = append(results, result{Facet: facet, Diff: diff})
	}
	return results
}

// result is the verdict on one facet; it crosses a pipe as JSON.
type result struct {
	Facet string
	Diff  string // "" = passed
}

// findCases lists every case in or below dirs, sorted by path; a case's own files are
// not looked at.
func findCases(dirs []string) ([]*testCase, error) {
	var cases []*testCase
	for _, dir := range dirs {
		before := len(cases)
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			if !exists(filepath.Join(path, "case.json")) {
				return nil
			}
			c, err := readCase(path)
			if err != nil {
				return err
			}
			cases = append(cases, c)
			return fs.SkipDir
		})
		if err != nil {
			return nil, err
		}
		if len(cases) == before {
			return nil, fmt.Errorf("%s holds no case (a folder with case.json)", dir)
		}
	}
	sort.SliceStable(cases, func(i, j int) bool { return cases[i].dir < cases[j].dir })
	return cases, nil
}

func readCase(dir string) (*testCase, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	c := &testCase{dir: dir, name: filepath.Base(filepath.Dir(dir)) + "/" + filepath.Base(dir)}
	if err := readJSON(filepath.Join(dir, "case.json"), &c.in); err != nil {
		return nil, err
	}
	if err := readJSON(filepath.Join(dir, "expected.json"), &c.want); err != nil {
		return nil, err
	}
	switch {
	case len(c.in.Steps) > 0:
		c.kind = kindSequence
		if steps, _ := c.want["steps"].([]any); len(steps) != len(c.in.Steps) {
			return nil, fmt.Errorf("%s: expected.json has %d steps, case.json %d", c.name, len(steps), len(c.in.Steps))
		}
	case exists(filepath.Join(dir, "state.json")):
		c.kind = kindPlan
	case c.want["rfc8785"] != nil:
		c.kind = kindFloat
	}
	return c, nil
}

func (c *testCase) read(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(c.dir, name))
	return string(text), err
}

func readJSON(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := decode(data, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// decode keeps numbers as they are written: 1 and 1.0 differ in the vectors.
func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(into)
}
