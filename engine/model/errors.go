package model

import (
	"errors"
	"fmt"
)

// Kind is the documented name of an error; users and tests match on it (engine.md 4.10).
type Kind string

const (
	AtlantideError        Kind = "AtlantideError"
	LanguageError         Kind = "LanguageError"
	FuelExhaustedError    Kind = "FuelExhaustedError"
	IRError               Kind = "IRError"
	ArtifactError         Kind = "ArtifactError"
	CycleError            Kind = "CycleError"
	StackOutputCycleError Kind = "StackOutputCycleError"
	RegistryError         Kind = "RegistryError"
	ComponentError        Kind = "ComponentError"
	ProviderError         Kind = "ProviderError"
	RollbackError         Kind = "RollbackError"
	StateError            Kind = "StateError"
	FencedWriteError      Kind = "FencedWriteError"
	SecretsError          Kind = "SecretsError"
	LockError             Kind = "LockError"
	LeaseLostError        Kind = "LeaseLostError"
	InterruptedRunError   Kind = "InterruptedRunError"
	PlanDriftError        Kind = "PlanDriftError"
	PreventDestroyError   Kind = "PreventDestroyError"
	PolicyConfigError     Kind = "PolicyConfigError"
	PolicyViolationError  Kind = "PolicyViolationError"
	TargetError           Kind = "TargetError"
)

// parents holds the documented subclass relation.
var parents = map[Kind]Kind{FencedWriteError: StateError, LeaseLostError: LockError}

// Class says who can mend an error, and so whether a retry makes sense.
type Class int

const (
	ClassUnknown   Class = iota // retried like a transient one
	ClassUser                   // stalls until the user changes something
	ClassTransient              // retried with backoff
)

func (c Class) String() string {
	switch c {
	case ClassUser:
		return "User"
	case ClassTransient:
		return "Transient"
	default:
		return "Unknown"
	}
}

// Error is the error of the whole engine. Message is lower-case, names the object
// and the next step, and holds no secret and no address.
type Error struct {
	Kind    Kind
	Class   Class
	Message string

	// Position in a config: 1-based, columns in code points; 0 = none. The end is behind
	// the last character; EndLine 0 = Diagnostics works it out from Source.
	File            string
	Line, Col       int
	EndLine, EndCol int
	Source          string // the offending line, without its line end
	Hint            string // what to write instead; never part of Message
	// Note names a further place in the text of the error: where in a component, when
	// the position is the component's call. Related has it, and others, with their lines.
	Note    string
	Related []Related // at most MaxRelated

	// The node, operation (create, read, update, delete, rollback) and type of a
	// failed provider call.
	NodeID, Op, ResourceType string

	// Nodes are those whose declarations an error found after evaluation concerns, the
	// one to be mended first.
	Nodes []string

	Cycles [][]string // CycleError: members of each cycle
	Chain  []string   // StackOutputCycleError: walked keys, the first repeated last

	AlsoFailed []*Error // further failures of the same run
	Cause      error
}

// Errorf makes an Error whose message is formatted; %w keeps the cause.
func Errorf(kind Kind, class Class, format string, args ...any) *Error {
	wrapped := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Class: class, Message: wrapped.Error(), Cause: errors.Unwrap(wrapped)}
}

// Error is the message, its hint, its note, and the position suffix " (line L, col C)".
func (e *Error) Error() string {
	text := e.Message
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	if e.Note != "" {
		text += "; " + e.Note
	}
	if e.Line > 0 {
		text += fmt.Sprintf(" (line %d, col %d)", e.Line, e.Col)
	}
	return text
}

func (e *Error) Unwrap() error { return e.Cause }

// KindOf is the kind of the first Error in err's chain, AtlantideError without one.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return AtlantideError
}

// IsKind reports whether the first Error in err's chain is of this kind or of a
// documented subclass of it.
func IsKind(err error, kind Kind) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	for k := e.Kind; k != ""; k = parents[k] {
		if k == kind {
			return true
		}
	}
	return false
}

// ClassOf is the class of the first Error in err's chain; ClassUnknown without one.
func ClassOf(err error) Class {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return ClassUnknown
}
