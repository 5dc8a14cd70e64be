package check

import (
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/lang/syntax"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// importModules refuses "import M": a module is never a value. A module that may not
// be imported at all is named first.
func (c *checker) importModules(s *syntax.Import) {
	for _, alias := range s.Names {
		if !c.importable(alias.Name) {
			c.refuseModule(s.Pos, alias.Name)
			return
		}
	}
	hint := "use 'from " + s.Names[0].Name + " import name'"
	if s.Names[0].Name == "atlantide" {
		hint = "'atlantide' needs no import: write atlantide.input(name); its modules are imported as in 'from atlantide.core import Stack'"
	}
	c.refuse(s.Pos, hint, "'import %s' would bind a module", s.Names[0].Name)
}

func (c *checker) importFrom(s *syntax.ImportFrom) {
	module := strings.Repeat(".", s.Level) + s.Module
	if c.options.Component && (s.Level > 0 || module == "__future__") {
		c.importWithin(s, module)
		return
	}
	if s.Level > 0 || !c.importable(module) {
		c.refuseModule(s.Pos, module)
		return
	}
	for _, alias := range s.Names {
		c.importedName(s.Pos, module, alias.Name)
	}
}

func (c *checker) refuseModule(at syntax.Pos, module string) {
	hint := standardHints[module]
	if hint == "" && ownComponent(module) {
		hint = "a component of your own lies in components/ALIAS/__init__.py: write 'from atlantide.components.ALIAS import name'"
		if alias, isAlias := strings.CutPrefix(module, "components."); isAlias {
			hint = "a component of your own: write 'from atlantide.components." + alias + " import name'"
		}
	}
	if near := misspelt(module); near != "" && c.importable(near) {
		hint = "did you mean '" + near + "'?"
	}
	if hint == "" {
		hint = "what a config computes depends on its declared inputs only: put code that needs more into a provider, " +
			"or use the built-in uuid5, sha256_hex, to_json, merge and slugify"
	}
	c.refuse(at, hint, "cannot import from '%s'; a config may import from %s", module, strings.Join(importablePackages, ", "))
}

// ownComponent reports whether a module is spelt as a file of the project would be in
// Python: relative, or from the folder of the components.
func ownComponent(module string) bool {
	return strings.HasPrefix(module, ".") || within(module, "components")
}

// misspelt is a module whose package is near one that can be imported, with that one's
// name; "" for any other.
func misspelt(module string) string {
	parts := strings.SplitN(module, ".", 3)
	if len(parts) < 2 {
		return ""
	}
	near := model.Nearest(parts[0]+"."+parts[1], importablePackages)
	if near == "" {
		return ""
	}
	return strings.Join(append([]string{near}, parts[2:]...), ".")
}

// standardHints say what to use in place of modules of Python's library.
var standardHints = map[string]string{
	"base64":  "use b64encode(text) and b64decode(text)",
	"hashlib": "use sha256_hex(text)",
	"json":    "use to_json(value) and from_json(text)",
	"os":      "a config reads no environment: use atlantide.input(name)",
	"uuid":    "use uuid5(namespace, name)",
}

func (c *checker) importedName(at syntax.Pos, module, name string) {
	switch {
	case name == "*":
		c.refuse(at, "name what is imported", "cannot import '*' from '%s'", module)
	case strings.HasPrefix(name, "_"):
		c.refuse(at, "a config imports public names only", "cannot import the private name '%s' from '%s'", name, module)
	case engineNames[name] && within(module, "atlantide"):
		c.refuse(at, "a config declares resources, the engine collects them",
			"cannot import '%s' from '%s': it is part of the engine", name, module)
	}
}

// importable applies the import rule to a module's dotted name (lang.md 3.4).
func (c *checker) importable(module string) bool {
	for _, refused := range refusedModules {
		if within(module, refused) {
			return false
		}
	}
	for segment := range strings.SplitSeq(module, ".") {
		if segment == "provider" || segment == "handlers" || strings.HasPrefix(segment, "_") {
			return false
		}
	}
	if module == "atlantide" || slices.ContainsFunc(importablePackages, func(p string) bool { return within(module, p) }) {
		return true
	}
	return c.options.Modules != nil && c.options.Modules(module)
}

// within reports whether module is pkg or below it, by whole segments.
func within(module, pkg string) bool {
	return module == pkg || strings.HasPrefix(module, pkg+".")
}

var importablePackages = []string{
	"atlantide.core", "atlantide.policy", "atlantide.providers", "atlantide.components",
}

var refusedModules = []string{
	"atlantide.components.fetch", "atlantide.components.lock", "atlantide.components.source",
	"atlantide.core.logging", "atlantide.core.plugin", "atlantide.core.tuning",
	"atlantide.providers.loader", "atlantide.providers.local.paths", "atlantide.providers.aws.config",
}

var engineNames = words("", `active_registry collecting ResourceRegistry inline_stack_outputs selecting
	current_selection EnvSelection ProviderRegistry check_compatible parse_semver Context Provider`)
