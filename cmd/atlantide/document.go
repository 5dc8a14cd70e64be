package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// schemaVersion of every JSON document (cli.md 8).
const schemaVersion = 1

// failureDocument is what --json prints in place of a result.
type failureDocument struct {
	SchemaVersion int              `json:"schema_version"`
	OK            bool             `json:"ok"`
	Error         failureBody      `json:"error"`
	Diagnostics   []diagnosticBody `json:"diagnostics"`
}

type failureBody struct {
	Kind         model.Kind   `json:"kind"`
	Message      string       `json:"message"`
	NodeID       string       `json:"node_id,omitempty"`
	Op           string       `json:"op,omitempty"`
	ResourceType string       `json:"resource_type,omitempty"`
	Line         int          `json:"line,omitempty"`
	Col          int          `json:"col,omitempty"`
	AlsoFailed   []alsoFailed `json:"also_failed,omitempty"`
}

type alsoFailed struct {
	Kind    model.Kind `json:"kind"`
	Message string     `json:"message"`
}

// diagnosticBody is a diagnostic (cli.md 22). A key is there only when it says something.
type diagnosticBody struct {
	File     string         `json:"file,omitempty"`
	Range    *rangeBody     `json:"range,omitempty"`
	Code     model.Kind     `json:"code"`
	Severity model.Severity `json:"severity"`
	Message  string         `json:"message"`
	Hint     string         `json:"hint,omitempty"`
	Related  []relatedBody  `json:"related,omitempty"`
}

type relatedBody struct {
	File    string     `json:"file,omitempty"`
	Range   *rangeBody `json:"range,omitempty"`
	Message string     `json:"message"`
}

// rangeBody counts lines and columns from 1, columns in code points; the end is behind
// the last character, and the start where it is not known.
type rangeBody struct {
	Start positionBody `json:"start"`
	End   positionBody `json:"end"`
}

type positionBody struct {
	Line int `json:"line"`
	Col  int `json:"col"`
}

func failure(err error) failureDocument {
	e := typed(err)
	body := failureBody{
		Kind: e.Kind, Message: e.Error(), NodeID: e.NodeID, Op: e.Op, ResourceType: e.ResourceType, Line: e.Line, Col: e.Col,
	}
	for _, also := range e.AlsoFailed {
		body.AlsoFailed = append(body.AlsoFailed, alsoFailed{Kind: also.Kind, Message: also.Error()})
	}
	return failureDocument{SchemaVersion: schemaVersion, Error: body, Diagnostics: diagnosticBodies(model.Diagnostics(e))}
}

func diagnosticBodies(list []model.Diagnostic) []diagnosticBody {
	var bodies []diagnosticBody
	for _, d := range list {
		body := diagnosticBody{File: d.File, Range: rangeOf(d.Place), Code: d.Code, Severity: d.Severity, Message: d.Message, Hint: d.Hint}
		for _, r := range d.Related {
			body.Related = append(body.Related, relatedBody{File: r.File, Range: rangeOf(r.Place), Message: r.Message})
		}
		bodies = append(bodies, body)
	}
	return bodies
}

// rangeOf is nil for a file as a whole.
func rangeOf(p model.Place) *rangeBody {
	if p.Line <= 0 {
		return nil
	}
	start := positionBody{Line: p.Line, Col: max(p.Col, 1)}
	end := start
	if p.EndLine > 0 {
		end = positionBody{Line: p.EndLine, Col: p.EndCol}
	}
	return &rangeBody{Start: start, End: end}
}

// printJSON writes one document, indented, non-ASCII as it is, but for what a terminal would
// act on: that is escaped, which says the same.
func printJSON(w io.Writer, document any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(document); err != nil {
		return err
	}
	_, err := io.WriteString(w, inert(text.String()))
	return err
}

// inert escapes the control characters of a JSON text that JSON itself lets through.
func inert(text string) string {
	acts := func(r rune) bool {
		return r > unicode.MaxASCII && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) || r == '\x7f'
	}
	if !strings.ContainsFunc(text, acts) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if acts(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// valueMap is values as they were recorded: a float stays one.
type valueMap map[string]any

// MarshalJSON implements json.Marshaler.
func (m valueMap) MarshalJSON() ([]byte, error) { return model.EncodeJSON(map[string]any(m)) }
