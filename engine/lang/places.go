package lang

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	star "go.starlark.net/syntax"

	"github.com/atlantide-org/atlantide-operator/engine/lang/syntax"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// failure makes the one error of a run out of what the interpreter returned, located
// at the innermost frame of the config (lang.md §14).
func (ev *evaluation) failure(err error) error {
	located := *ev.classify(err)
	located.Related = nil
	eval, ok := errors.AsType[*starlark.EvalError](err)
	if ok {
		ev.locate(&located, eval.CallStack)
		located.Related = append(ev.argumentPlaces(err, eval.CallStack), located.Related...)
	}
	ev.atImported(&located, err)
	located.Related = append(ev.firstDeclared(err), located.Related...)
	located.Related = located.Related[:min(len(located.Related), model.MaxRelated)]
	if located.Line > 0 && located.File == "" {
		located.File = ev.file
	}
	if located.Source == "" {
		located.Source = ev.line(located.File, located.Line)
	}
	return &located
}

// locate puts an error at the innermost frame of the config. One that arose in a
// component has its own place as a note: it is the component's call that the author of
// the config can change. The other frames are related places, innermost first, one for
// neighbours on one line.
func (ev *evaluation) locate(e *model.Error, stack starlark.CallStack) {
	own := e.Line > 0 // a module that was refused as a whole, by its file
	last := model.Place{File: e.File, Line: e.Line}
	for i := range stack {
		at := ev.placeOf(stack.At(i).Pos)
		inConfig := at.File == ev.file
		switch {
		case at.Line <= 0:
			continue
		case e.Line == 0 && inConfig:
			e.File, e.Line, e.Col = at.File, at.Line, at.Col
		case at.File == last.File && at.Line == last.Line:
		case own:
			e.Related = append(e.Related, model.Related{Place: at, Message: "imported here"})
			own = false
		case e.Line == 0 && e.Note == "":
			e.Note = fmt.Sprintf("raised in %s, line %d, col %d", at.File, at.Line, at.Col)
			e.Related = append(e.Related, model.Related{Place: at, Message: "raised here"})
		case len(e.Related) < model.MaxRelated:
			e.Related = append(e.Related, model.Related{Place: at, Message: "called from here"})
		}
		last = at
	}
	for i := range e.Related {
		e.Related[i].Source = ev.line(e.Related[i].File, e.Related[i].Line)
	}
}

func (ev *evaluation) placeOf(pos star.Position) model.Place {
	return model.Place{File: pos.Filename(), Line: int(pos.Line), Col: int(pos.Col)}
}

// line is the text of a line of the config or of a component, "" when there is none.
func (ev *evaluation) line(file string, n int) string {
	lines := ev.linesOf(file)
	if n < 1 || n > len(lines) {
		return ""
	}
	return lines[n-1]
}

func (ev *evaluation) linesOf(file string) []string {
	if m := ev.code.byFile[file]; m != nil && file != ev.file {
		return m.lines
	}
	return ev.lines
}

// origin is where a resource or an output was declared: the innermost place in the
// config, in the form that costs least.
type origin struct {
	file      *string // nil = the config
	line, col int32
}

// origin is the place that runs now.
func (ev *evaluation) origin(t *starlark.Thread) origin {
	var at origin
	for i := range t.CallStackDepth() {
		pos := t.DebugFrame(i).Position()
		if pos.Line <= 0 {
			continue
		}
		file := pos.Filename()
		if file == ev.file {
			return origin{line: pos.Line, col: pos.Col}
		}
		if at.line == 0 {
			component := file
			at = origin{file: &component, line: pos.Line, col: pos.Col}
		}
	}
	return at
}

func (ev *evaluation) placeAt(o origin) model.Place {
	file := ev.file
	if o.file != nil {
		file = *o.file
	}
	return model.Place{File: file, Line: int(o.line), Col: int(o.col), Source: ev.line(file, int(o.line))}
}

// atOutputs puts a cycle of outputs where the first of them is declared.
func (ev *evaluation) atOutputs(err error) error {
	e, ok := errors.AsType[*model.Error](err)
	if !ok || len(e.Chain) == 0 {
		return err
	}
	located := *e
	for i, key := range e.Chain[:len(e.Chain)-1] {
		at := ev.placeAt(ev.registry.outputAt[ev.registry.output[key]])
		switch {
		case i == 0:
			located.File, located.Line, located.Col, located.Source = at.File, at.Line, at.Col, at.Source
		case len(located.Related) < model.MaxRelated:
			located.Related = append(located.Related, model.Related{Place: at, Message: "output " + key + " is declared here"})
		}
	}
	return &located
}

// firstDeclared is the place of the declaration that stands in the way of a second one.
func (ev *evaluation) firstDeclared(err error) []model.Related {
	taken, ok := errors.AsType[*duplicateError](err)
	if !ok || taken.first.line == 0 {
		return nil
	}
	return []model.Related{{Place: ev.placeAt(taken.first), Message: "first declared here"}}
}

// argumentPlaces are the keyword arguments that a refused constructor call is about. The
// text is parsed once more for them: a run keeps no tree.
func (ev *evaluation) argumentPlaces(err error, stack starlark.CallStack) []model.Related {
	refused, ok := errors.AsType[*fieldsError](err)
	if !ok {
		return nil
	}
	var call model.Place
	for i := range stack {
		if call = ev.placeOf(stack.At(i).Pos); call.Line > 0 {
			break
		}
	}
	tree, err := syntax.Parse(call.File, strings.Join(ev.linesOf(call.File), "\n"))
	if err != nil {
		return nil
	}
	var places []model.Related
	for _, k := range keywordsAt(tree, syntax.Pos{Line: call.Line, Col: call.Col}) {
		if !refused.names[k.Name] || len(places) == model.MaxRelated/2 {
			continue
		}
		at := model.Place{File: call.File, Line: k.Line, Col: k.Col, Source: ev.line(call.File, k.Line)}
		places = append(places, model.Related{Place: at.Extended(), Message: "the argument '" + k.Name + "'"})
	}
	return places
}

// atImported moves the error of an import to the name that it is about, where that stands
// on the line of the import. The text is parsed once more for it.
func (ev *evaluation) atImported(e *model.Error, err error) {
	imported, ok := errors.AsType[*importedError](err)
	if !ok || e.Line == 0 || len(e.Related) > 0 {
		return
	}
	tree, err := syntax.Parse(ev.file, strings.Join(ev.lines, "\n"))
	if err != nil {
		return
	}
	for _, s := range tree.Body {
		from, ok := s.(*syntax.ImportFrom)
		if !ok || from.Line != e.Line || from.Col != e.Col {
			continue
		}
		for _, alias := range from.Names {
			if alias.Name == imported.name && alias.Line == e.Line {
				e.Col = alias.Col
				return
			}
		}
	}
}

// keywordsAt are the keyword arguments of the call that begins at a place.
func keywordsAt(tree *syntax.Module, at syntax.Pos) []syntax.Keyword {
	var found []syntax.Keyword
	for _, s := range tree.Body {
		syntax.Inspect(s, func(n syntax.Node) bool {
			if call, ok := n.(*syntax.Call); ok && call.Pos == at && found == nil {
				found = call.Keywords
			}
			return found == nil
		})
	}
	return found
}
