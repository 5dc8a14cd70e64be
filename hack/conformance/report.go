package main

import (
	"encoding/json"
	"sort"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
)

// report compares what a run did; its lists are sets.
func (c *comparison) report(want any, got *apply.Report, partial bool) {
	if got == nil {
		c.differ("report", want, absent{})
		return
	}
	decoded, err := document(got)
	if err != nil {
		c.diffs = append(c.diffs, describe(err))
		return
	}
	for key, value := range decoded {
		if value == nil && key != "rollback_skipped" { // an empty list or map
			if expected, ok := want.(map[string]any); ok {
				decoded[key] = emptyLike(expected[key])
			}
		}
	}
	c.equal("report", sets(want), sets(decoded), partial)
}

func emptyLike(v any) any {
	switch v.(type) {
	case []any:
		return []any{}
	case map[string]any:
		return map[string]any{}
	default:
		return nil
	}
}

// sets sorts the lists of a report.
func sets(report any) any {
	m, ok := report.(map[string]any)
	if !ok {
		return report
	}
	out := without(m)
	for key, value := range out {
		if list, ok := value.([]any); ok && key != "outputs" {
			list = append([]any{}, list...)
			sort.Slice(list, func(i, j int) bool { return show(list[i]) < show(list[j]) })
			out[key] = list
		}
	}
	return out
}

// imported compares what an import did; the wording of its details is free.
func (c *comparison) imported(want any, got *apply.ImportReport, partial bool) {
	decoded, err := document(got)
	if err != nil {
		c.diffs = append(c.diffs, describe(err))
		return
	}
	nodes, _ := decoded["nodes"].([]any)
	for i, node := range nodes {
		if m, ok := node.(map[string]any); ok {
			nodes[i] = without(m, "detail")
		}
	}
	c.equal("import", want, decoded, partial)
}

// document compares what the engine makes for a command's JSON.
func (c *comparison) document(path string, want, got any, partial bool) {
	decoded, err := document(got)
	if err != nil {
		c.diffs = append(c.diffs, describe(err))
		return
	}
	c.equal(path, want, decoded, partial)
}

func document(v any) (map[string]any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var decoded map[string]any
	err = decode(data, &decoded)
	return decoded, err
}
