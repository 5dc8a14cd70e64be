package model

import (
	"errors"
	"unicode"
)

// Severity of a Diagnostic.
type Severity string

const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// Place is a range of a text file: 1-based, columns in code points, the end behind the
// last character. Line 0 = the file as a whole; EndLine 0 = only the start is known.
type Place struct {
	File            string
	Line, Col       int
	EndLine, EndCol int
	Source          string // the first line of the range, without its line end
}

// Related is a further place that a diagnostic concerns, as the call of the component
// in which an error arose.
type Related struct {
	Place
	Message string
}

// Diagnostic is one finding about a config in the form that editors and CI services
// show: what, where, how bad, what to do (cli.md 22).
type Diagnostic struct {
	Place
	Code     Kind
	Severity Severity
	Message  string // without position and hint
	Hint     string
	Related  []Related
}

// MaxRelated bounds the further places of one error.
const MaxRelated = 8

// HandleInText is the code of the warning that a handle was written into a text, which
// then holds the handle's name and not its value (LX-14).
const HandleInText Kind = "HandleInText"

// HandleDecides is the code of the warning that a handle was asked whether it is true, or
// compared with something known: the answer says nothing about its value.
const HandleDecides Kind = "HandleDecides"

// IgnoredFieldUnknown is the code of the warning that ignore_changes names what is no
// field of the resource's type, so that nothing is ignored.
const IgnoredFieldUnknown Kind = "IgnoredFieldUnknown"

// PolicyWithoutEffect is the code of the warning that an enforce() judges nothing, or not
// by the parameters that were meant.
const PolicyWithoutEffect Kind = "PolicyWithoutEffect"

// Diagnostics lists what err says: the error itself, then what failed beside it, each
// with its place, hint and further places. An error that is not of the engine is one
// without a place; joined errors are listed in their order.
func Diagnostics(err error) []Diagnostic {
	switch e := err.(type) { //nolint:errorlint // each layer is looked at in turn
	case nil:
		return nil
	case *Error:
		list := []Diagnostic{e.diagnostic()}
		for _, also := range e.AlsoFailed {
			list = append(list, Diagnostics(also)...)
		}
		return list
	case interface{ Unwrap() []error }:
		var list []Diagnostic
		for _, each := range e.Unwrap() {
			list = append(list, Diagnostics(each)...)
		}
		return list
	}
	if inner := errors.Unwrap(err); inner != nil && holdsError(inner) {
		return Diagnostics(inner)
	}
	return []Diagnostic{{Code: AtlantideError, Severity: SeverityError, Message: err.Error()}}
}

func holdsError(err error) bool {
	_, ok := errors.AsType[*Error](err)
	return ok
}

func (e *Error) diagnostic() Diagnostic {
	place := Place{File: e.File, Line: e.Line, Col: e.Col, EndLine: e.EndLine, EndCol: e.EndCol, Source: e.Source}
	return Diagnostic{
		Place:    place.Extended(),
		Code:     e.Kind,
		Severity: SeverityError,
		Message:  e.Message,
		Hint:     e.Hint,
		Related:  e.Related,
	}
}

// Extended is a place whose end is known where its line tells it: a dotted name, a
// keyword or a number that stands there is marked whole.
func (p Place) Extended() Place {
	if p.EndLine > 0 || p.Line <= 0 || p.Col <= 0 {
		return p
	}
	col, inWord := 1, false
	for _, r := range p.Source {
		word := r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
		switch {
		case col < p.Col:
		case word, inWord && (r == '.' || unicode.Is(unicode.Mn, r)):
			inWord = true
		default:
			return p.upTo(col)
		}
		col++
	}
	return p.upTo(col)
}

func (p Place) upTo(col int) Place {
	if col > p.Col {
		p.EndLine, p.EndCol = p.Line, col
	}
	return p
}
