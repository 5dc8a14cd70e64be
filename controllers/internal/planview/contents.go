package planview

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

// contents are the data of a view, each within its share. Text and payload name the
// digest, so that what was read ties to what is approved.
func contents(v View) (map[string]string, error) {
	document := v.Plan.PublicPayload()
	document["digest"] = v.Digest
	payload, err := fit(document, "changes", maxPayload)
	if err != nil {
		return nil, err
	}
	last := "\nDigest: " + v.Digest + "\n"
	data := map[string]string{KeyText: fitText(v.Plan.PublicText(), maxText-len(last)) + last, KeyPayload: payload}
	if v.Report != nil || v.Failed != "" {
		if data[KeyRun], err = fit(runDocument(v), "nodes", maxRun); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// fitText cuts a plan's text before the first change that does not fit, says how many
// were left out and keeps the line that counts them.
func fitText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const room = 512 // for the closing lines
	var starts []int // of changes
	at, closing := 0, ""
	for line := range strings.SplitAfterSeq(text, "\n") {
		if strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "      ") {
			starts = append(starts, at)
		}
		if strings.HasPrefix(line, "Plan: ") {
			closing = line
		}
		at += len(line)
	}
	kept := sort.Search(len(starts), func(i int) bool { return starts[i] > limit-room })
	kept = max(kept-1, 0) // the last that starts in time may end too late
	end := 0
	if kept < len(starts) {
		end = starts[kept]
	}
	return text[:end] + fmt.Sprintf("\n… %d more changes; the whole plan stands in the state store\n\n%s", len(starts)-kept, closing)
}

// fit encodes a document, with as many items of its list as there is room for and the
// number of those left out.
func fit(document map[string]any, list string, limit int) (string, error) {
	items, _ := document[list].([]any)
	encode := func(n int) (string, error) {
		d := maps.Clone(document)
		d[list] = items[:n]
		if n < len(items) {
			d["omitted"] = int64(len(items) - n)
		}
		text, err := model.EncodeJSON(d)
		return string(text), err
	}
	text, err := encode(len(items))
	if err != nil || len(text) <= limit {
		return text, err
	}
	n := sort.Search(len(items), func(n int) bool {
		text, e := encode(n + 1)
		return e != nil || len(text) > limit
	})
	if text, err = encode(n); err != nil || len(text) <= limit {
		return text, err
	}
	// Even without a single item it is too large: the summary is what is left.
	rest := map[string]any{"omitted": int64(len(items))}
	for _, key := range []string{"summary", "digest"} {
		if value, ok := document[key]; ok {
			rest[key] = value
		}
	}
	encoded, err := model.EncodeJSON(rest)
	return string(encoded), err
}

// runDocument is what a run did, node by node, in the order of ids.
func runDocument(v View) map[string]any {
	results := map[string]map[string]any{}
	if v.Report != nil {
		results = nodeResults(v.Report)
	}
	planned := map[string]plan.Action{}
	for i := range v.Plan.Changes {
		planned[v.Plan.Changes[i].NodeID] = v.Plan.Changes[i].Action
	}
	nodes := []any{}
	for _, id := range slices.Sorted(maps.Keys(results)) {
		result := results[id]
		if p := planned[id]; p != "" && string(p) != result["action"] {
			result["planned"] = string(p)
		}
		nodes = append(nodes, result)
	}
	document := map[string]any{"digest": v.Digest, "ok": v.Failed == "", "nodes": nodes}
	if v.Failed != "" {
		document["error"] = v.Failed
	}
	return document
}

func nodeResults(report *apply.Report) map[string]map[string]any {
	results := map[string]map[string]any{}
	for _, part := range []struct {
		ids    []string
		action plan.Action
	}{
		{report.Noop, plan.Noop}, {report.Created, plan.Create}, {report.Updated, plan.Update},
		{report.Replaced, plan.Replace}, {report.Deleted, plan.Delete},
	} {
		for _, id := range part.ids {
			results[id] = map[string]any{"node_id": id, "action": string(part.action)}
		}
	}
	for _, id := range report.StateOnly {
		if results[id] != nil {
			results[id]["state_only"] = true
		}
	}
	for id, taken := range report.Downgraded {
		if results[id] != nil {
			results[id]["downgraded"] = taken
		}
	}
	for id, reason := range report.PutOff {
		if results[id] != nil {
			results[id]["put_off"] = reason
		}
	}
	return results
}
