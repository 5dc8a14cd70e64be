package py

import (
	"fmt"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/pytext"
)

// Error is a Python error. The evaluator makes a LanguageError of it, keeping the
// name in the text (lang.md §1).
type Error = pytext.Error

func errorf(name, format string, args []any) error {
	return &Error{Name: name, Message: fmt.Sprintf(format, args...)}
}

// TypeErrorf makes a TypeError.
func TypeErrorf(format string, args ...any) error { return errorf("TypeError", format, args) }

// ValueErrorf makes a ValueError.
func ValueErrorf(format string, args ...any) error { return errorf("ValueError", format, args) }

// KeyErrorf makes a KeyError.
func KeyErrorf(format string, args ...any) error { return errorf("KeyError", format, args) }

// IndexErrorf makes an IndexError.
func IndexErrorf(format string, args ...any) error { return errorf("IndexError", format, args) }

// AttributeErrorf makes an AttributeError.
func AttributeErrorf(format string, args ...any) error { return errorf("AttributeError", format, args) }

// ZeroDivisionErrorf makes a ZeroDivisionError.
func ZeroDivisionErrorf(format string, args ...any) error {
	return errorf("ZeroDivisionError", format, args)
}

// OverflowErrorf makes an OverflowError.
func OverflowErrorf(format string, args ...any) error { return errorf("OverflowError", format, args) }

// RuntimeErrorf makes a RuntimeError.
func RuntimeErrorf(format string, args ...any) error { return errorf("RuntimeError", format, args) }

// LanguageErrorf makes a LanguageError without a position.
func LanguageErrorf(format string, args ...any) error {
	return model.Errorf(model.LanguageError, model.ClassUser, format, args...)
}

func fuelErrorf(format string, args ...any) error {
	return model.Errorf(model.FuelExhaustedError, model.ClassUser, format, args...)
}
