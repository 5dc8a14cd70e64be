package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// errReported ends a command whose error stands in its JSON document already.
var errReported = errors.New("reported")

// schemaVersion of every JSON document (cli.md 8).
const schemaVersion = 1

// typed is err as the engine's error; a plain one is an AtlantideError.
func typed(err error) *model.Error {
	if e, ok := errors.AsType[*model.Error](err); ok {
		return e
	}
	return &model.Error{Kind: model.AtlantideError, Message: err.Error()}
}

// printError writes an error as people read it: its place, its message, the offending
// line with a caret under the column, then what else failed (cli.md 10).
func printError(w io.Writer, err error) {
	e := typed(err)
	fmt.Fprintf(w, "error: %s%s\n", where(e), printable(e.Error()))
	if e.Line > 0 && e.Source != "" {
		fmt.Fprint(w, excerpt(e))
	}
	for _, also := range e.AlsoFailed {
		fmt.Fprintf(w, "  and: %s%s\n", where(also), printable(also.Error()))
	}
}

func where(e *model.Error) string {
	var parts []string
	if e.NodeID != "" {
		parts = append(parts, "node "+e.NodeID)
	}
	if e.Op != "" {
		parts = append(parts, "op="+e.Op)
	}
	if len(parts) == 0 {
		return ""
	}
	return "[" + printable(strings.Join(parts, " ")) + "] "
}

// excerptWidth is how much of a line is shown, in characters.
const excerptWidth = 160

// excerpt is the offending line in a gutter, and a caret under the column.
func excerpt(e *model.Error) string {
	line, before := e.Excerpt(excerptWidth)
	text := fmt.Sprintf("%4d | %s\n", e.Line, line)
	if e.Col < 1 {
		return text
	}
	return text + strings.Repeat(" ", len("   1 | ")+before) + "^\n"
}

// printable replaces control characters: a config may not steer the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || 0x80 <= r && r < 0xa0 {
			return '\uFFFD'
		}
		return r
	}, text)
}

// printTrace writes the chain of causes, the outermost first.
func printTrace(w io.Writer, err error) {
	for depth := 0; err != nil; depth, err = depth+1, errors.Unwrap(err) {
		fmt.Fprintf(w, "trace: %s%T: %s\n", strings.Repeat("  ", depth), err, printable(err.Error()))
	}
}

// failureDocument is what --json prints in place of a result.
type failureDocument struct {
	SchemaVersion int         `json:"schema_version"`
	OK            bool        `json:"ok"`
	Error         failureBody `json:"error"`
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

func failure(err error) failureDocument {
	e := typed(err)
	body := failureBody{
		Kind: e.Kind, Message: e.Error(), NodeID: e.NodeID, Op: e.Op, ResourceType: e.ResourceType, Line: e.Line, Col: e.Col,
	}
	for _, also := range e.AlsoFailed {
		body.AlsoFailed = append(body.AlsoFailed, alsoFailed{Kind: also.Kind, Message: also.Error()})
	}
	return failureDocument{SchemaVersion: schemaVersion, Error: body}
}

// printJSON writes one document, indented, non-ASCII as it is.
func printJSON(w io.Writer, document any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(document)
}
