package lang

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/lang/check"
	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

// codeModule is a module in the component dialect (lang.md 13.3a): a file below a
// component's folder in the source tree, or a built-in component of a provider. It is
// evaluated once, when something imports it.
type codeModule struct {
	path  string // dotted
	tree  string // dotted path of the whole component, or of the provider's module
	pkg   string // what its relative imports start from
	file  string // in errors
	lines []string
	names starlark.StringDict // nil until it has been evaluated
}

// codeModules are those that were imported, and those that are being imported.
type codeModules struct {
	reader  *sourcetree.Reader // nil = there is no tree
	byPath  map[string]*codeModule
	byFile  map[string]*codeModule
	loading []string // paths, the innermost last
}

func newCodeModules(tree fs.FS) codeModules {
	return codeModules{reader: newModuleReader(tree), byPath: map[string]*codeModule{}, byFile: map[string]*codeModule{}}
}

const componentsPackage = "atlantide.components"

// componentFolders are where components lie in a source tree, what was vendored first.
var componentFolders = []string{".atlantis/components", "components"}

// importCode binds a name of a component's module.
func (ev *evaluation) importCode(t *starlark.Thread, in *codeModule, at, name string) (starlark.Value, error) {
	m, err := ev.load(t, at, name)
	if err != nil {
		return nil, err
	}
	v := m.names[name]
	if v == nil {
		if found, err := ev.find(at + "." + name); err == nil && found != nil && found.file != "" {
			return nil, languageErrorf("'%s' of '%s' is a module; import the names you need from '%s.%s'", name, at, at, name)
		}
		err := ev.noSuchName(at, name, m.public())
		if len(m.names) == 0 && err.Hint == "" {
			err.Hint = "what it shows is in its __init__.py: define '" + name + "' there, import it there, or import from the module that does, as '" + at + ".MODULE'"
		}
		return nil, err
	}
	if in != nil && in.tree == m.tree {
		return v, nil
	}
	return v, ev.exported(m, name, v)
}

// public lists what a config may take from a module.
func (m *codeModule) public() []string {
	return slices.DeleteFunc(m.names.Keys(), func(name string) bool { return strings.HasPrefix(name, "_") || strings.Contains(name, "%") })
}

// exported refuses, outside of a component, what the module does not define itself or
// below itself in a public module; plain data may come from anywhere (lang.md 3.4).
func (ev *evaluation) exported(m *codeModule, name string, v starlark.Value) error {
	defined := ""
	switch v := v.(type) {
	case *starlark.Function:
		defined = ev.definedIn(v)
	case *py.BoundFunction:
		defined = ev.definedIn(v.Func)
	case *componentClass:
		defined = v.module.path
	case *component:
		defined = v.class.module.path
	case starlark.Callable, *class, *errorClass, *schemaBase:
		return languageErrorf("cannot import '%s' from '%s', which only imports it; import it from where it is defined", name, m.path)
	default:
		return nil
	}
	if defined != m.path && !strings.HasPrefix(defined, m.path+".") {
		return languageErrorf("cannot import '%s' from '%s': it is defined in '%s'; import it from there", name, m.path, defined)
	}
	for segment := range strings.SplitSeq(defined, ".") {
		if strings.HasPrefix(segment, "_") || segment == "provider" || segment == "handlers" {
			return languageErrorf("cannot import '%s' from '%s': it is defined in '%s', which is private to the component", name, m.path, defined)
		}
	}
	return nil
}

func (ev *evaluation) definedIn(f *starlark.Function) string {
	pos := f.Position()
	if m := ev.code.byFile[pos.Filename()]; m != nil {
		return m.path
	}
	return ""
}

// load evaluates a module of a component unless it has been. name is what is wanted of
// it, for messages.
func (ev *evaluation) load(t *starlark.Thread, at, name string) (*codeModule, error) {
	if m := ev.code.byPath[at]; m != nil {
		if m.names == nil {
			return nil, componentErrorf("modules of a component import one another in a circle: %s -> %s; move what both need into a third module",
				strings.Join(ev.code.loading, " -> "), at)
		}
		return m, nil
	}
	m, err := ev.find(at)
	if err != nil {
		return nil, err
	}
	switch {
	case m == nil:
		alias, _, _ := strings.Cut(strings.TrimPrefix(at, componentsPackage+"."), ".")
		return nil, ev.noComponent(alias, name, at)
	case m.file == "":
		return nil, registryErrorf("component '%s' has no module '%s', so '%s' cannot be imported from it", strings.TrimPrefix(m.tree, componentsPackage+"."), at, name)
	case strings.HasSuffix(m.file, "/"): // a folder without an __init__.py is an empty package
		m.names = starlark.StringDict{}
		ev.code.byPath[at] = m
		return m, nil
	}
	content, err := moduleText(ev.meter, ev.code.reader, m.file)
	if err != nil {
		return nil, unlessTyped(err, "module '%s' cannot be read: %v", at, err)
	}
	ev.code.byPath[at] = m
	return m, ev.evaluateCode(t, m, content)
}

// find looks a module up in the source tree: nil when there is no such component, a
// module without a file when the component has no such module.
func (ev *evaluation) find(at string) (*codeModule, error) {
	segments := strings.Split(strings.TrimPrefix(at, componentsPackage+"."), ".")
	m := &codeModule{path: at, tree: componentsPackage + "." + segments[0], pkg: at}
	folder, err := ev.componentFolder(segments[0])
	if folder == "" || err != nil {
		return nil, err
	}
	base := path.Join(folder, path.Join(segments[1:]...))
	candidates := []struct {
		file string
		kind sourcetree.Kind
	}{{base + "/__init__.py", sourcetree.KindFile}, {base + ".py", sourcetree.KindFile}, {base, sourcetree.KindFolder}}
	if len(segments) == 1 {
		candidates = append(candidates[:1], candidates[2]) // a file beside the folders is no component
	}
	for _, c := range candidates {
		kind, err := ev.code.reader.Look(c.file)
		switch {
		case err != nil:
			return nil, componentErrorf("module '%s' cannot be read: %v", at, err)
		case kind != c.kind:
			continue
		}
		m.file = c.file
		switch {
		case kind == sourcetree.KindFolder:
			m.file += "/"
		case c.file == base+".py":
			m.pkg = at[:strings.LastIndexByte(at, '.')]
		}
		break
	}
	return m, nil
}

// noComponent says where the folder of a component belongs, and what lies there instead.
func (ev *evaluation) noComponent(alias, name, at string) error {
	err := registryErrorf("component '%s' is not vendored, so '%s' cannot be imported from '%s'; put its folder at components/%s/, with an __init__.py", alias, name, at, alias)
	for _, folder := range componentFolders {
		own := path.Join(folder, alias)
		switch dashed := path.Join(folder, strings.ReplaceAll(alias, "_", "-")); {
		case ev.lies(own+".py", sourcetree.KindFile):
			err.Hint = "a component is a folder: move " + own + ".py to " + own + "/__init__.py"
			return err
		case dashed != own && ev.lies(dashed, sourcetree.KindFolder):
			err.Hint = "no import can name " + dashed + "/: rename it to " + own + "/"
			return err
		}
	}
	return err
}

// lies reports whether the source tree has a file or a folder at a path.
func (ev *evaluation) lies(at string, kind sourcetree.Kind) bool {
	if ev.code.reader == nil {
		return false
	}
	found, err := ev.code.reader.Look(at)
	return err == nil && found == kind
}

// componentFolder is where the component of that alias lies, "" when it lies nowhere.
func (ev *evaluation) componentFolder(alias string) (string, error) {
	if ev.code.reader == nil {
		return "", nil
	}
	for _, folder := range componentFolders {
		at := path.Join(folder, alias)
		kind, err := ev.code.reader.Look(at)
		if err != nil {
			return "", componentErrorf("component '%s' cannot be read: %v", alias, err)
		}
		if kind == sourcetree.KindFolder {
			return at, nil
		}
	}
	return "", nil
}

// absolute resolves a relative import; it may not leave the component.
func (m *codeModule) absolute(relative string) (string, error) {
	rest := strings.TrimLeft(relative, ".")
	at := m.pkg
	for range len(relative) - len(rest) - 1 {
		if at == m.tree {
			return "", componentErrorf("'%s' in module '%s' leads out of the component", relative, m.path)
		}
		at = at[:strings.LastIndexByte(at, '.')]
	}
	if rest != "" {
		at += "." + rest
	}
	return at, nil
}

// builtinComponent is a component that a provider's schema has as source.
func (ev *evaluation) builtinComponent(t *starlark.Thread, module string, c *model.Component) (starlark.Value, error) {
	m := ev.code.byFile[c.File]
	if m == nil {
		m = &codeModule{path: module, tree: module, pkg: module, file: c.File}
		if err := payModule(ev.meter, c.Source); err != nil {
			return nil, err
		}
		if err := ev.evaluateCode(t, m, c.Source); err != nil {
			return nil, err
		}
	}
	if v := m.names[c.Name]; v != nil {
		return v, nil
	}
	return nil, componentErrorf("%s declares no '%s'", c.File, c.Name)
}

// evaluateCode runs a module to its end, in the thread of what imports it.
func (ev *evaluation) evaluateCode(t *starlark.Thread, m *codeModule, content string) error {
	ev.code.byFile[m.file] = m
	if err := maySource(ev.meter, content); err != nil {
		return inDialect(m.file, err)
	}
	module, err := parse(Source{Filename: m.file, Text: content}, check.Options{Filename: m.file, Component: true})
	if err != nil {
		return inDialect(m.file, err)
	}
	m.lines = module.Lines
	predeclared := ev.predeclared(m)
	file, err := ev.lowered(module, m.file)
	if err != nil {
		return err
	}
	program, err := starlark.FileProgram(file, predeclared.Has)
	if err != nil {
		return componentErrorf("%s cannot be compiled: %v", m.file, err)
	}
	ev.code.loading = append(ev.code.loading, m.path)
	names, err := program.Init(t, predeclared)
	ev.code.loading = ev.code.loading[:len(ev.code.loading)-1]
	if err != nil {
		return err
	}
	m.names = names
	return nil
}

// inDialect makes a syntax error of a component's file one that names the file.
func inDialect(file string, err error) error {
	typed, ok := errors.AsType[*model.Error](err)
	if !ok || typed.Kind == model.ComponentError {
		return err
	}
	named := *typed
	named.Kind, named.Message, named.File = model.ComponentError, file+": "+typed.Message, file
	return &named
}

func componentErrorf(format string, args ...any) *model.Error {
	return model.Errorf(model.ComponentError, model.ClassUser, format, args...)
}

// unlessTyped is a ComponentError, unless err is of the engine's own.
func unlessTyped(err error, format string, args ...any) error {
	if _, ok := errors.AsType[*model.Error](err); ok {
		return err
	}
	return componentErrorf(format, args...)
}
