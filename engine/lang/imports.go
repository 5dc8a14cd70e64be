package lang

import (
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// module is an importable module: a table of names, made when it is first imported.
// Every dotted path below it has the same table (lang.md §9).
type module struct {
	make       func() starlark.StringDict
	names      starlark.StringDict
	components []model.Component // evaluated when one is imported
	path       string            // of the provider that declares them
}

func (m *module) table() starlark.StringDict {
	if m.names == nil {
		m.names = m.make()
	}
	return m.names
}

// importable lists the modules of a run. Provider modules are tables of the schemas.
func (ev *evaluation) importable() map[string]*module {
	modules := map[string]*module{
		"atlantide.core":        {make: ev.coreNames},
		"atlantide.core.errors": {make: func() starlark.StringDict { return errorNames(coreErrors, moreErrors) }},
		"atlantide.policy":      {make: ev.policyNames},
	}
	for _, p := range ev.options.Schemas.Providers() {
		ev.addProvider(modules, p)
	}
	return modules
}

// coreNames is what atlantide.core exports.
func (ev *evaluation) coreNames() starlark.StringDict {
	core := starlark.StringDict{
		"Config":        newClass("Config", ev.newConfig),
		"EnvSchema":     ev.schema,
		"EnvView":       &class{name: "EnvView"},
		"Var":           &class{name: "Var"},
		"var":           py.NewNative("var", ev.newVar),
		"Lifecycle":     newClass("Lifecycle", newLifecycle),
		"PolicyLevel":   policyLevel(),
		"PolicyBinding": &class{name: "PolicyBinding"},
		// Importable for annotations; a config declares no types of its own.
		"Resource":   &class{name: "Resource"},
		"DataSource": &class{name: "DataSource"},
		"Nested":     &class{name: "Nested"},
		"Component":  componentBase,
		"child":      py.NewNative("child", ev.child),
	}
	for _, part := range []starlark.StringDict{ev.stackNames(), ev.handleNames(), errorNames(coreErrors)} {
		maps.Copy(core, part)
	}
	return core
}

// Error classes are inert in a config; a component may raise most of them.
var (
	coreErrors = []model.Kind{
		model.AtlantideError, model.ArtifactError, model.ComponentError, model.CycleError,
		model.FuelExhaustedError, model.IRError, model.LanguageError, model.LockError,
		model.PolicyConfigError, model.PolicyViolationError, model.PreventDestroyError,
		model.ProviderError, model.RegistryError, model.SecretsError, model.StackOutputCycleError,
		model.StateError,
	}
	moreErrors = []model.Kind{
		model.FencedWriteError, model.InterruptedRunError, model.LeaseLostError,
		model.PlanDriftError, model.RollbackError,
	}
)

func errorNames(lists ...[]model.Kind) starlark.StringDict {
	d := starlark.StringDict{}
	for _, kinds := range lists {
		for _, k := range kinds {
			d[string(k)] = &errorClass{class: class{name: string(k)}, kind: k}
		}
	}
	return d
}

// importName binds a name of a module that check has allowed; in is the module that
// imports, nil for the config.
func (ev *evaluation) importName(t *starlark.Thread, in *codeModule, path, name string) (starlark.Value, error) {
	if in != nil && strings.HasPrefix(path, ".") {
		var err error
		if path, err = in.absolute(path); err != nil {
			return nil, err
		}
	}
	if strings.HasPrefix(path, componentsPackage+".") {
		return ev.importCode(t, in, path, name)
	}
	m := ev.moduleAt(path)
	if m == nil {
		return nil, ev.noModule(path, name)
	}
	if v := m.table()[name]; v != nil {
		return v, nil
	}
	if i := slices.IndexFunc(m.components, func(c model.Component) bool { return c.Name == name }); i >= 0 {
		return ev.builtinComponent(t, m.path, &m.components[i])
	}
	switch {
	case ev.isPackage(path + "." + name):
		return nil, languageErrorf("'%s' of '%s' is a module; import the names you need from '%s.%s'", name, path, path, name)
	case strings.HasSuffix(name, "Provider") || name == "PLUGIN":
		return nil, languageErrorf("'%s' of '%s' is a provider; a config declares resources, it does not drive providers", name, path)
	}
	return nil, ev.noSuchName(path, name, m.exports())
}

// moduleAt is the table of a dotted path: that of the path or of the nearest module
// above it.
func (ev *evaluation) moduleAt(path string) *module {
	for {
		if m := ev.modules[path]; m != nil {
			return m
		}
		i := strings.LastIndexByte(path, '.')
		if i < 0 {
			return nil
		}
		path = path[:i]
	}
}

// noModule says why an allowed path has no table.
func (ev *evaluation) noModule(path, name string) error {
	if path == "atlantide" || path == "atlantide.providers" || path == "atlantide.components" {
		if ev.isPackage(path + "." + name) {
			return languageErrorf("'%s' of '%s' is a module; import the names you need from '%s.%s'", name, path, path, name)
		}
		return ev.noSuchName(path, name, nil)
	}
	var known []string
	for _, p := range ev.options.Schemas.Providers() {
		known = append(known, p.Module)
	}
	err := registryErrorf("cannot import '%s' from '%s': no provider has this module; provider modules are %s", name, path, strings.Join(known, ", "))
	err.Hint = model.DidYouMean(path, known)
	return err
}

// isPackage reports whether a path is a module or leads to one.
func (ev *evaluation) isPackage(path string) bool {
	if slices.Contains([]string{"atlantide.core", "atlantide.policy", "atlantide.providers", "atlantide.components"}, path) {
		return true
	}
	for known := range ev.modules {
		if known == path || strings.HasPrefix(known, path+".") {
			return true
		}
	}
	return false
}
