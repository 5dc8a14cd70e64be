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
	if len(name) > model.MaxName {
		return registryErrorf("%s name '%.40s…' is not valid; a name has at most %d characters", kind, name, model.MaxName)
	}
	return registryErrorf("%s name '%s' is not valid; a name starts with a letter and goes on with letters, digits, '_' and '-'", kind, name)
}

// failure makes the one error of a run out of what the interpreter returned, located
// at the innermost frame of the config (lang.md §14).
func (ev *evaluation) failure(err error) error {
	located := *ev.classify(err)
	if located.Line > 0 {
		if located.File == "" {
			located.File = ev.file
		}
	} else {
		ev.locate(&located, err)
	}
	if located.Source == "" {
		located.Source = ev.line(located.File, located.Line)
	}
	return &located
}

// locate puts an error at the innermost frame of the config. One that arose in a
// component has its own place as a note: it is the component's call that the author of
// the config can change.
func (ev *evaluation) locate(e *model.Error, err error) {
	eval, ok := errors.AsType[*starlark.EvalError](err)
	if !ok {
		return
	}
	for i := range eval.CallStack {
		pos := eval.CallStack.At(i).Pos
		switch {
		case pos.Line <= 0:
		case pos.Filename() == ev.file:
			e.File, e.Line, e.Col = ev.file, int(pos.Line), int(pos.Col)
			return
		case e.Note == "":
			e.Note = fmt.Sprintf("raised in %s, line %d, col %d", pos.Filename(), pos.Line, pos.Col)
		}
	}
}

// line is the text of a line of the config or of a component, "" when there is none.
func (ev *evaluation) line(file string, n int) string {
	lines := ev.lines
	if m := ev.code.byFile[file]; m != nil && file != ev.file {
		lines = m.lines
	}
	if n < 1 || n > len(lines) {
		return ""
	}
	return lines[n-1]
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
	message := err.Error()
	if eval, ok := errors.AsType[*starlark.EvalError](err); ok {
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

// here is the position that runs now, with its file when that is not the config.
func (ev *evaluation) here(t *starlark.Thread) string {
	for i := range t.CallStackDepth() {
		pos := t.CallFrame(i).Pos
		if pos.Line <= 0 {
			continue
		}
		place := fmt.Sprintf("line %d, col %d", pos.Line, pos.Col)
		if pos.Filename() != ev.file {
			place = pos.Filename() + ", " + place
		}
		return place
	}
	return "somewhere"
}

// warnHandle notes that a handle is about to be written into a text: the text will
// hold the handle's name, not its value (LX-14).
func (ev *evaluation) warnHandle(t *starlark.Thread, v starlark.Value) {
	if !isHandle(v) {
		return
	}
	ev.warn(fmt.Sprintf("%s: a %s is written into a text; its value is known at apply only, so use interpolate() or concat()", ev.here(t), py.TypeName(v)))
}

// maxWarnings bounds what a loop can say.
const maxWarnings = 100

func (ev *evaluation) warn(message string) {
	if !ev.warned[message] && len(ev.warnings) < maxWarnings {
		ev.warned[message] = true
		ev.warnings = append(ev.warnings, message)
	}
}
