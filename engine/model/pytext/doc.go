// Package pytext owns Python's text of numbers and texts over Go values: the format
// mini-language, the decimal text of integers, the code points of a str. The language
// formats with it while it evaluates a config, and resolve while it fills a template
// with outputs, so that one specification gives one text wherever it is applied.
//
// It must never know an interpreter's values, nor charge for what it makes: a caller
// bounds the width and precision of a Spec before it formats.
package pytext

import "fmt"

// Error is a Python error: its class and its text.
type Error struct {
	Name, Message string
	Hint          string // what to write instead; no part of Python's text
}

func (e *Error) Error() string { return e.Name + ": " + e.Message }

func valueErrorf(format string, args ...any) error {
	return &Error{Name: "ValueError", Message: fmt.Sprintf(format, args...)}
}

func overflowErrorf(format string, args ...any) error {
	return &Error{Name: "OverflowError", Message: fmt.Sprintf(format, args...)}
}
