package lang

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// hintUnset is for a name that is bound somewhere, but had no value.
const hintUnset = "it is assigned elsewhere, but had no value yet when this line ran"

// absent are names that Python has and the language has not, and what to use.
var absent = map[string]string{
	"print":      "a config prints nothing: show a value with output(name, value)",
	"json":       "use to_json(value) and from_json(text)",
	"os":         "a config reads no environment: use atlantide.input(name)",
	"environ":    "a config reads no environment: use atlantide.input(name)",
	"hashlib":    "use sha256_hex(text)",
	"base64":     "use b64encode(text) and b64decode(text)",
	"uuid":       "use uuid5(namespace, name)",
	"Exception":  "there are no exceptions: guard with 'if'",
	"isinstance": "a config cannot ask for types: pass values of one type",
	"true":       "did you mean 'True'?",
	"false":      "did you mean 'False'?",
	"none":       "did you mean 'None'?",
	"null":       "did you mean 'None'?",
	"nil":        "did you mean 'None'?",
	"undefined":  "did you mean 'None'?",
}

// undefined is the error of a name that is bound nowhere, where it is read.
func (ev *evaluation) undefined(t *starlark.Thread, name string) error {
	err := undefined(name)
	visible, unset := ev.visible(t)
	near := model.Nearest(name, visible)
	homes := ev.modulesWith(name)
	switch {
	case unset[name]:
		err.Hint = hintUnset
	case len(homes) > 0:
		err.Hint = importHint(name, homes)
	case absent[name] != "":
		err.Hint = absent[name]
	case near != "":
		err.Hint = model.DidYouMean(name, visible)
	default:
		near = model.Nearest(name, ev.importableNames())
		if near != "" {
			err.Hint = fmt.Sprintf("did you mean '%s'? %s", near, importHint(near, ev.modulesWith(near)))
		}
	}
	return err
}

// handleTypes are the handles by the names that messages give them.
var handleTypes = map[string]bool{"Ref": true, "SecretRef": true, "StackOutputRef": true, "Transform": true}

// aboutHandle is the handle that the message of an error names as the type of a value,
// "" when it names none.
func aboutHandle(message string) string {
	for word := range strings.FieldsFuncSeq(message, func(r rune) bool { return r == ' ' || r == ',' || r == ';' }) {
		if name := strings.Trim(word, `'"()`); handleTypes[name] {
			return name
		}
	}
	return ""
}

// hintHandle says what a handle is and how texts are made of it, where an operation
// refused one.
func hintHandle(e *py.Error) string {
	if e.Name != "TypeError" && e.Name != "AttributeError" {
		return ""
	}
	if name := aboutHandle(e.Message); name != "" {
		return "a " + name + " is a handle, known at apply only: make texts of it with concat(), interpolate() or join(sep, parts)"
	}
	return ""
}

// maxListed bounds the attributes that one hint lists.
const maxListed = 30

// hintAttributes says what can be read of a value of the surface, when what was asked for
// is near none of it.
func hintAttributes(err error, of starlark.Value, name string) error {
	python, ok := err.(*py.Error) //nolint:errorlint // the access's own error, not one from inside of it
	if !ok || python.Name != "AttributeError" || python.Hint != "" || isHandle(of) {
		return err
	}
	var names []string
	switch of := of.(type) {
	case *resource:
		for i := range of.class.typ.Fields {
			names = append(names, of.class.typ.Fields[i].Name)
		}
	case *stackReference:
		python.Hint = "read an output of the stack with output(name)"
		return python
	case *api, *nested, *stack, *environment:
		names = of.(interface{ AttrNames() []string }).AttrNames()
	}
	if len(names) == 0 || len(names) > 10*maxListed {
		return err
	}
	slices.Sort(names)
	for _, known := range names {
		if strings.HasSuffix(known, "_"+name) {
			python.Hint = "did you mean '" + known + "'?"
			return python
		}
	}
	more := ""
	if len(names) > maxListed {
		names, more = names[:maxListed], " and more"
	}
	python.Hint = "it has " + strings.Join(names, ", ") + more
	return python
}

func importHint(name string, modules []string) string {
	return "write 'from " + strings.Join(modules[:min(len(modules), 2)], " import "+name+"' or 'from ") + " import " + name + "' at the top"
}

// visible lists the names that have a value where t stands, and those of the function
// there that have none.
func (ev *evaluation) visible(t *starlark.Thread) (names []string, unassigned map[string]bool) {
	names = slices.Collect(maps.Keys(ev.builtins))
	unassigned = map[string]bool{}
	if t.CallStackDepth() < 2 {
		return names, unassigned
	}
	frame := t.DebugFrame(1) // below the function that reports
	fn, ok := frame.Callable().(*starlark.Function)
	if !ok {
		return names, unassigned
	}
	for i := range frame.NumLocals() {
		binding, v := frame.Local(i)
		name := inConfig(binding.Name)
		switch {
		case name == "":
		case v == nil || v == unset:
			unassigned[name] = true
		default:
			names = append(names, name)
		}
	}
	for i := range fn.NumFreeVars() {
		binding, _ := fn.FreeVar(i)
		if name := inConfig(binding.Name); name != "" {
			names = append(names, name)
		}
	}
	for name := range fn.Globals() {
		if name = inConfig(name); name != "" {
			names = append(names, name)
		}
	}
	return names, unassigned
}

// inConfig is a lowered name as the config spells it, "" for one of lower's own.
func inConfig(lowered string) string {
	name, _, _ := strings.Cut(lowered, "%")
	return name
}

// modulesWith lists the modules that define a name, sorted, without those below one that
// does.
func (ev *evaluation) modulesWith(name string) []string {
	var found []string
	for _, path := range slices.Sorted(maps.Keys(ev.modules)) {
		above := slices.ContainsFunc(found, func(p string) bool { return strings.HasPrefix(path, p+".") })
		if !above && ev.modules[path].has(name) {
			found = append(found, path)
		}
	}
	return found
}

func (ev *evaluation) importableNames() []string {
	var names []string
	for _, m := range ev.modules {
		names = append(names, m.exports()...)
	}
	return names
}

func (m *module) has(name string) bool {
	return m.table().Has(name) || slices.ContainsFunc(m.components, func(c model.Component) bool { return c.Name == name })
}

// exports lists what can be imported from a module.
func (m *module) exports() []string {
	names := m.table().Keys()
	for i := range m.components {
		names = append(names, m.components[i].Name)
	}
	return names
}

// noSuchName is the error of a name that a module does not define: where it is defined,
// or what the module has that is near.
func (ev *evaluation) noSuchName(path, name string, exports []string) *model.Error {
	err := languageErrorf("cannot import name '%s' from '%s'; it defines no such name", name, path)
	err.Cause = &importedError{name}
	err.Hint = model.DidYouMean(name, exports)
	switch homes := ev.modulesWith(name); {
	case path == "atlantide" && ev.builtins["atlantide"].(*api).attrs.Has(name):
		err.Hint = "'atlantide' needs no import: write atlantide." + name + "(…)"
	case len(homes) > 0:
		err.Hint = "write 'from " + homes[0] + " import " + name + "'"
	case err.Hint == "":
		err.Hint = eitherOf(holding(name, exports))
	}
	return err
}

// importedError is the cause of the error of an import: the name that is not there.
type importedError struct{ name string }

func (*importedError) Error() string { return "the module has no such name" }

// maxEither bounds the names of one suggestion.
const maxEither = 4

// holding are the names of which one that was given is a part, as Role is of IamRole.
func holding(part string, names []string) []string {
	if len(part) < 3 || !unicode.IsUpper(rune(part[0])) {
		return nil
	}
	var found []string
	for _, name := range slices.Sorted(slices.Values(names)) {
		if strings.Contains(name, part) && len(found) < maxEither {
			found = append(found, name)
		}
	}
	return found
}

func eitherOf(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "did you mean '" + strings.Join(names, "' or '") + "'?"
}
