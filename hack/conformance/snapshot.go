package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// snapshotVersion is the only version of a state snapshot that the vectors use (ST-4).
const snapshotVersion = 3

// readSnapshot reads a state snapshot as "state backup" writes it. The bookkeeping of
// the object store says nothing about a plan and is not looked at.
func readSnapshot(path string, schemas *model.Schemas) (*state.Snapshot, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Version int                        `json:"version"`
		Serial  int64                      `json:"serial"`
		Nodes   map[string]map[string]any  `json:"nodes"`
		Outputs map[string]json.RawMessage `json:"outputs"`
	}
	if err := decode(data, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if file.Version != snapshotVersion {
		return nil, fmt.Errorf("%s has version %d, not %d", path, file.Version, snapshotVersion)
	}
	s := &state.Snapshot{
		Serial: file.Serial, Rows: map[string]*state.Row{},
		Pending: map[string]*state.PendingDestroy{}, Outputs: map[string]state.Output{},
	}
	for id, columns := range file.Nodes {
		if s.Rows[id], err = row(id, columns, schemas); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, id, err)
		}
	}
	for key, raw := range file.Outputs {
		value, err := model.DecodeJSON(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: output %s: %w", path, key, err)
		}
		s.Outputs[key] = state.Output{Value: value}
	}
	return s, nil
}

// row reads the columns of ST-1. Columns that older releases do not write are empty;
// the kind, which the vectors leave out, is the type's.
func row(id string, columns map[string]any, schemas *model.Schemas) (*state.Row, error) {
	normal, err := model.NormalizeJSON(columns)
	if err != nil {
		return nil, err
	}
	c, _ := normal.(map[string]any)
	r := &state.Row{ID: id, Kind: model.KindResource, RowUID: id}
	r.Type, _ = c["type"].(string)
	r.Provider, _ = c["provider"].(string)
	r.ProviderVersion, _ = c["provider_version"].(string)
	r.InputHash, _ = c["input_hash"].(string)
	r.Status, _ = c["status"].(string)
	r.PreventDestroy, _ = c["prevent_destroy"].(bool)
	r.Outputs, _ = c["outputs"].(map[string]any)
	r.Properties, _ = c["properties"].(map[string]any)
	r.Dependencies = stringList(c["dependencies"])
	r.DependsOn = stringList(c["depends_on"])
	r.SecretDigests = stringMap(c["secret_digests"])
	r.RefDigests = stringMap(c["ref_digests"])
	r.RefreshedOutputs = stringList(c["refreshed_outputs"])
	if schema := schemas.Type(r.Type); schema != nil {
		r.Kind = schema.Kind
	}
	return r, nil
}

func stringList(v any) []string {
	items, _ := v.([]any)
	var out []string
	for _, item := range items {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func stringMap(v any) map[string]string {
	items, _ := v.(map[string]any)
	out := make(map[string]string, len(items))
	for key, item := range items {
		out[key], _ = item.(string)
	}
	return out
}
