package lang

import (
	"context"
	"errors"
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

func undefined(name string) *model.Error {
	return languageErrorf("name '%s' is not defined", name)
}

// invalidName refuses what cannot name a resource, stack or environment.
func invalidName(kind, name string) error {
	if len(name) > model.MaxName {
		return registryErrorf("%s name '%.40s…' is not valid; a name has at most %d characters", kind, name, model.MaxName)
	}
	return registryErrorf("%s name '%s' is not valid; a name starts with a letter and goes on with letters, digits, '_' and '-'", kind, name)
}

func (ev *evaluation) classify(err error) *model.Error {
	var known *model.Error
	if errors.As(err, &known) {
		return known
	}
	var python *py.Error
	if errors.As(err, &python) {
		return evaluationError(python)
	}
	if cause := ev.meter.Cause(); cause != nil {
		if errors.As(cause, &known) {
			return known
		}
		if errors.As(cause, &python) {
			return evaluationError(python)
		}
		if errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
			return model.Errorf(model.AtlantideError, model.ClassTransient, "the evaluation was interrupted: %w", cause)
		}
	}
	return native(err)
}

func evaluationError(e *py.Error) *model.Error {
	err := languageErrorf("evaluation error: %s: %s", e.Name, e.Message)
	if err.Hint = e.Hint; err.Hint == "" {
		err.Hint = hintHandle(e)
	}
	return err
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
		unset := undefined(name)
		unset.Hint = hintUnset
		return unset
	}
	if strings.Contains(message, "stack overflow") {
		return model.Errorf(model.FuelExhaustedError, model.ClassUser, "calls are nested too deeply; end the recursion earlier")
	}
	return evaluationError(&py.Error{Name: "RuntimeError", Message: message})
}
