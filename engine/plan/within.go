package plan

import (
	"maps"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Within reports whether the stored body of a plan asks for nothing that another one does
// not ask for as well, under the same inputs, pins, policies and failure mode, and all else
// that a changeset may come to say: whether it is what is left of that other plan after a
// part of it was done (EX-37). A replace that was conditional there may have become certain.
// A body that cannot be read is within nothing.
func Within(rest, whole []byte) bool {
	r, ok := changesetOf(rest)
	if !ok {
		return false
	}
	w, ok := changesetOf(whole)
	if !ok {
		return false
	}
	return equalBut(r, w, "nodes", "external", "outputs") && nodesWithin(r["nodes"], w["nodes"]) && entriesWithin(r["external"], w["external"]) && outputsWithin(r["outputs"], w["outputs"])
}

// equalBut compares everything but the named parts.
func equalBut(a, b map[string]any, parts ...string) bool {
	a, b = maps.Clone(a), maps.Clone(b)
	for _, part := range parts {
		delete(a, part)
		delete(b, part)
	}
	return ir.Equal(a, b)
}

func changesetOf(body []byte) (map[string]any, bool) {
	v, err := model.DecodeJSON(body)
	if err != nil {
		return nil, false
	}
	document, _ := v.(map[string]any)
	if !ir.Equal(document["format"], int64(bodyFormat)) {
		return nil, false
	}
	changeset, ok := document["changeset"].(map[string]any)
	return changeset, ok
}

func nodesWithin(rest, whole any) bool {
	r, ok := rest.([]any)
	if !ok {
		return false
	}
	w, ok := whole.([]any)
	if !ok {
		return false
	}
	planned := make(map[string]map[string]any, len(w))
	for _, v := range w {
		node, _ := v.(map[string]any)
		if id, ok := node["id"].(string); ok {
			planned[id] = node
		}
	}
	for _, v := range r {
		node, _ := v.(map[string]any)
		id, ok := node["id"].(string)
		if !ok || !sameChange(node, planned[id]) {
			return false
		}
	}
	return true
}

func sameChange(node, planned map[string]any) bool {
	for part, v := range node {
		was, ok := planned[part]
		mayDiffer := part == "conditional" && was == true
		if !ok || !mayDiffer && !ir.Equal(v, was) {
			return false
		}
	}
	return len(node) == len(planned)
}

func entriesWithin(rest, whole any) bool {
	r, ok := rest.(map[string]any)
	if !ok {
		return false
	}
	w, ok := whole.(map[string]any)
	if !ok {
		return false
	}
	for key, v := range r {
		was, ok := w[key]
		if !ok || !ir.Equal(v, was) {
			return false
		}
	}
	return true
}

// outputsWithin compares what is committed at the end. What does not resolve yet must be
// the same: it says what stays as it is.
func outputsWithin(rest, whole any) bool {
	r, ok := rest.(map[string]any)
	if !ok {
		return false
	}
	w, ok := whole.(map[string]any)
	if !ok {
		return false
	}
	retired, ok := r["retired"].([]any)
	if !ok {
		return false
	}
	were, ok := w["retired"].([]any)
	if !ok {
		return false
	}
	for _, key := range retired {
		if !slices.ContainsFunc(were, func(was any) bool { return ir.Equal(key, was) }) {
			return false
		}
	}
	return equalBut(r, w, "set", "retired") && entriesWithin(r["set"], w["set"])
}
