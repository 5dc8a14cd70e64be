package lang

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func languageErrorf(format string, args ...any) *model.Error {
	return model.Errorf(model.LanguageError, model.ClassUser, format, args...)
}

func registryErrorf(format string, args ...any) *model.Error {
	return model.Errorf(model.RegistryError, model.ClassUser, format, args...)
}

func irErrorf(format string, args ...any) *model.Error {
	return model.Errorf(model.IRError, model.ClassUser, format, args...)
}

func undefined(name string) error {
	return languageErrorf("name '%s' is not defined", name)
}

// invalidName refuses what cannot name a resource, stack or environment.
func invalidName(kind, name string) error {
	return registryErrorf("%s name '%s' is not valid; a name starts with a letter and goes on with letters, digits, '_' and '-'", kind, name)
}

// failure makes the one error of a run out of what the interpreter returned, located
// at the innermost frame of the config (lang.md §14).
func (ev *evaluation) failure(err error) error {
	located := *ev.classify(err)
	if located.Line == 0 {
		located.Line, located.Col = innermost(err)
	}
	if located.Line > 0 {
		located.File = ev.file
		if located.Line <= len(ev.lines) {
			located.Source = ev.lines[located.Line-1]
		}
	}
	return &located
}

func (ev *evaluation) classify(err error) *model.Error {
	var known *model.Error
	if errors.As(err, &known) {
		return known
	}
	var python *py.Error
	if errors.As(err, &python) {
		return evaluationError(python.Name, python.Message)
	}
	if cause := ev.meter.Cause(); cause != nil {
		if errors.As(cause, &known) {
			return known
		}
		if errors.As(cause, &python) {
			return evaluationError(python.Name, python.Message)
		}
		if errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
			return model.Errorf(model.AtlantideError, model.ClassTransient, "the evaluation was interrupted: %w", cause)
		}
	}
	return native(err)
}

func evaluationError(name, message string) *model.Error {
	return languageErrorf("evaluation error: %s: %s", name, message)
}

// native maps the few errors that the interpreter itself can raise in a lowered file.
func native(err error) *model.Error {
	var eval *starlark.EvalError
	message := err.Error()
	if errors.As(err, &eval) {
		message = eval.Msg
	}
	if name, ok := strings.CutSuffix(message, " referenced before assignment"); ok {
		name = name[strings.LastIndexByte(name, ' ')+1:]
		name, _, _ = strings.Cut(name, "%") // lower gives some locals names of their own
		return languageErrorf("name '%s' is not defined", name)
	}
	if strings.Contains(message, "stack overflow") {
		return model.Errorf(model.FuelExhaustedError, model.ClassUser, "calls are nested too deeply; end the recursion earlier")
	}
	return evaluationError("RuntimeError", message)
}

// innermost is the position of the innermost frame that belongs to the config.
func innermost(err error) (line, col int) {
	var eval *starlark.EvalError
	if !errors.As(err, &eval) {
		return 0, 0
	}
	for i := range eval.CallStack {
		if pos := eval.CallStack.At(i).Pos; pos.Line > 0 {
			return int(pos.Line), int(pos.Col)
		}
	}
	return 0, 0
}

// here is the position in the config that runs now.
func here(t *starlark.Thread) (line, col int) {
	for i := range t.CallStackDepth() {
		if pos := t.CallFrame(i).Pos; pos.Line > 0 {
			return int(pos.Line), int(pos.Col)
		}
	}
	return 0, 0
}

// warnHandle notes that a handle is about to be written into a text: the text will
// hold the handle's name, not its value (LX-14).
func (ev *evaluation) warnHandle(t *starlark.Thread, v starlark.Value) {
	if !isHandle(v) {
		return
	}
	line, col := here(t)
	ev.warn(fmt.Sprintf("line %d, col %d: a %s is written into a text; its value is known at apply only, so use interpolate() or concat()", line, col, py.TypeName(v)))
}

// maxWarnings bounds what a loop can say.
const maxWarnings = 100

func (ev *evaluation) warn(message string) {
	if !ev.warned[message] && len(ev.warnings) < maxWarnings {
		ev.warned[message] = true
		ev.warnings = append(ev.warnings, message)
	}
}
