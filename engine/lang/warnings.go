package lang

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	star "go.starlark.net/syntax"

	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// maxWarnings bounds what a loop can say.
const maxWarnings = 100

func (ev *evaluation) warn(d model.Diagnostic) {
	place := fmt.Sprintf("line %d, col %d", d.Line, d.Col)
	if d.File != ev.file {
		place = d.File + ", " + place
	}
	text := place + ": " + d.Message + "; " + d.Hint
	if ev.warned[text] || len(ev.warnings) >= maxWarnings {
		return
	}
	ev.warned[text] = true
	ev.warnings = append(ev.warnings, text)
	ev.diagnostics = append(ev.diagnostics, d)
}

// warnHandle notes that a handle is about to be written into a text: the text will
// hold the handle's name, not its value (LX-14).
func (ev *evaluation) warnHandle(t *starlark.Thread, v starlark.Value) {
	if isHandle(v) {
		ev.warnAt(runningAt(t), model.HandleInText,
			"a "+py.TypeName(v)+" is written into a text; its value is known at apply only", "use interpolate() or concat()")
	}
}

// warnIgnored notes what ignore_changes names and the type has not: it ignores nothing,
// and the author believes that it does.
func (c *resourceClass) warnIgnored(t *starlark.Thread, l *lifecycle) {
	for _, name := range l.ignoreChanges {
		if len(c.ev.warnings) >= maxWarnings {
			return
		}
		if c.typ.Field(name) == nil {
			hint := model.DidYouMean(name, sortedNames(c.typ.Fields))
			if hint == "" {
				hint = "its fields are " + strings.Join(sortedNames(c.typ.Fields), ", ")
			}
			c.ev.warnAt(runningAt(t), model.IgnoredFieldUnknown, "ignore_changes names "+py.Show(t, starlark.String(name))+", which is no field of "+c.typ.Name, hint)
		}
	}
}

// hintDecide is what to decide by instead of a handle.
const hintDecide = "decide by an input or an environment's variable; whether it was given at all, '== None' tells"

// warnTruth answers for a handle whether it is true, and notes that this was asked.
func warnTruth(h handle) starlark.Bool {
	ev := h.of()
	if ev == nil || ev.thread == nil || len(ev.warnings) >= maxWarnings {
		return true
	}
	ev.warnDecides(ev.thread, "a "+py.TypeName(h)+" always counts as true; its value is known at apply only")
	return true
}

// compared is the outcome of ==, != or a membership test. A handle that was compared with
// something known differs from it whatever its value will be; that it is not None is
// right.
func compared(t *starlark.Thread, op string, x, y, outcome starlark.Value) starlark.Value {
	if ev := deciding(op, x, y); ev != nil && len(ev.warnings) < maxWarnings && outcome == starlark.Bool(op == "!=" || op == "not in") {
		ev.warnDecides(t, "a handle compared by '"+op+"' differs from every known value; its own is known at apply only")
	}
	return outcome
}

// maxSearched bounds the elements among which handles are looked for.
const maxSearched = 16

// deciding is the run of the handle, when one is compared with a value that is known.
func deciding(op string, x, y starlark.Value) *evaluation {
	if op == "in" || op == "not in" {
		return decidingMember(x, y)
	}
	one, other := anyHandle(x), anyHandle(y)
	switch {
	case one == other || isKnownAbsent(x) || isKnownAbsent(y):
		return nil
	case one:
		return x.(handle).of()
	default:
		return y.(handle).of()
	}
}

// decidingMember is for a handle that is looked for in a list of known values, and for a
// known value in a list of handles. A handle among handles is a question of which.
func decidingMember(x, y starlark.Value) *evaluation {
	items := listed(y)
	if items == nil || isKnownAbsent(x) {
		return nil
	}
	looked := anyHandle(x)
	for i := range min(items.Len(), maxSearched) {
		switch item := items.Index(i); {
		case !anyHandle(item):
		case looked:
			return nil
		default:
			return item.(handle).of()
		}
	}
	if looked {
		return x.(handle).of()
	}
	return nil
}

func listed(v starlark.Value) starlark.Indexable {
	switch v := v.(type) {
	case *starlark.List:
		return v
	case starlark.Tuple:
		return v
	}
	return nil
}

// isKnownAbsent is for the values that no handle ever becomes.
func isKnownAbsent(v starlark.Value) bool {
	_, isUnset := v.(unsetField)
	return v == starlark.None || isUnset
}

// anyHandle is isHandle at the price of a switch: every comparison asks.
func anyHandle(v starlark.Value) bool {
	switch v.(type) {
	case ref, secretRef, stackOutputRef, *transform:
		return true
	}
	return false
}

// warnDecides warns once a place.
func (ev *evaluation) warnDecides(t *starlark.Thread, message string) {
	pos := runningAt(t)
	if ev.decided[pos] {
		return
	}
	ev.decided[pos] = true
	ev.warnAt(pos, model.HandleDecides, message, hintDecide)
}

func (ev *evaluation) warnAt(pos star.Position, code model.Kind, message, hint string) {
	at := ev.placeOf(pos)
	at.Source = ev.line(at.File, at.Line)
	ev.warn(model.Diagnostic{Place: at.Extended(), Code: code, Severity: model.SeverityWarning, Message: message, Hint: hint})
}

// runningAt is the innermost place of the text that runs.
func runningAt(t *starlark.Thread) star.Position {
	var pos star.Position
	for i := range t.CallStackDepth() {
		if pos = t.DebugFrame(i).Position(); pos.Line > 0 {
			break
		}
	}
	return pos
}
