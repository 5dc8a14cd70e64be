package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// failure compares an error with the failure keys of expected.json; otherwise says
// what happened in its place. A null line or column, and an absent key, are not
// compared.
func (c *comparison) failure(want map[string]any, err error, otherwise string) {
	if err == nil {
		c.diffs = append(c.diffs, fmt.Sprintf("error\n- %v\n+ none: %s", want["error"], otherwise))
		return
	}
	var e *model.Error
	if !errors.As(err, &e) {
		e = &model.Error{Kind: model.AtlantideError, Message: err.Error()}
	}
	got := map[string]any{
		"error":         string(e.Kind),
		"line":          number(e.Line),
		"col":           number(e.Col),
		"node_id":       e.NodeID,
		"provider_op":   e.Op,
		"resource_type": e.ResourceType,
		"also_failed":   alsoFailed(e),
	}
	for _, key := range unionOfKeys(want, nil, true) {
		g, compared := got[key]
		if w := want[key]; compared && w != nil {
			c.equal(key, w, g, false)
		}
	}
	c.contains("message", want["message_contains"], err.Error())
	if len(c.diffs) > 0 {
		c.diffs = append(c.diffs, "the error was\n+ "+describe(err))
	}
}

func alsoFailed(e *model.Error) []any {
	list := make([]any, len(e.AlsoFailed))
	for i, also := range e.AlsoFailed {
		list[i] = map[string]any{"kind": string(also.Kind), "message": also.Error()}
	}
	return list
}

func describe(err error) string { return fmt.Sprintf("%s: %s", model.KindOf(err), err) }

func number(n int) json.Number { return json.Number(fmt.Sprint(n)) }
