package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// typed is err as the engine's error; a plain one is an AtlantideError.
func typed(err error) *model.Error {
	if e, ok := errors.AsType[*model.Error](err); ok {
		return e
	}
	return &model.Error{Kind: model.AtlantideError, Message: err.Error()}
}

// printError writes an error as people read it: its place, its message, the offending
// line with a caret under the column, the further places, then what else failed
// (cli.md 10).
func printError(s screen, err error) {
	e := typed(err)
	s.message("error:", bad, where(e)+e.Error())
	s.excerpt(model.Place{Line: e.Line, Col: e.Col, Source: e.Source}, bad)
	s.related(e.Related)
	for _, also := range e.AlsoFailed {
		s.message("  and:", bad, where(also)+also.Error())
	}
}

// printWarning writes a diagnostic that is no error.
func printWarning(s screen, d model.Diagnostic) {
	e := model.Error{Message: d.Message, Hint: d.Hint, Line: d.Line, Col: d.Col}
	s.message("warning:", note, e.Error())
	s.excerpt(d.Place, note)
	s.related(d.Related)
}

// message writes prose behind a word in a style.
func (s screen) message(word string, as style, text string) {
	lines := s.wrapped(word + " " + continued(text))
	fmt.Fprintln(s, s.in(as, word)+strings.TrimPrefix(lines, word))
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
	return "[" + strings.Join(parts, " ") + "] "
}

func (s screen) related(places []model.Related) {
	for _, r := range places {
		at := oneLine(r.File)
		if r.Line > 0 {
			at += fmt.Sprintf(", line %d, col %d", r.Line, r.Col)
		}
		fmt.Fprintln(s, s.wrapped("  "+oneLine(r.Message)+": "+at))
		s.excerpt(r.Place, faint)
	}
}

// excerptWidth is how much of a line is shown at most, in characters.
const excerptWidth = 160

// excerpt is the line of a place in a gutter, and a caret under the column.
func (s screen) excerpt(at model.Place, as style) {
	if at.Line <= 0 || at.Source == "" {
		return
	}
	gutter := fmt.Sprintf("%4d | ", at.Line)
	width := excerptWidth
	if s.width > 0 {
		const cuts = 2 // one sign for each end that is left out
		width = min(width, max(s.width-len(gutter)-cuts, 20))
	}
	e := model.Error{Source: at.Source, Col: at.Col}
	line, before := e.Excerpt(width)
	fmt.Fprintf(s, "%s%s\n", s.in(faint, gutter), line)
	if at.Col >= 1 {
		fmt.Fprintln(s, strings.Repeat(" ", len(gutter)+before)+s.in(as, "^"))
	}
}

// printTrace writes the chain of causes, the outermost first. What was told already is not
// told again where it is the whole chain.
func printTrace(s screen, err error) {
	if errors.Unwrap(err) == nil {
		fmt.Fprintf(s, "trace: %T, without a cause\n", err)
		return
	}
	for depth := 0; err != nil; depth, err = depth+1, errors.Unwrap(err) {
		fmt.Fprintf(s, "trace: %s%T: %s\n", strings.Repeat("  ", depth), err, continued(err.Error()))
	}
}
