package check

import (
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/lang/syntax"
)

// name refuses names that reach beyond the config (lang.md 3.3).
func (c *checker) name(e *syntax.Name) {
	if hint, forbidden := forbiddenNames[e.Name]; forbidden {
		c.refuse(e.Pos, hint, "the name '%s' is not available", e.Name)
		return
	}
	if strings.HasPrefix(e.Name, "__") {
		c.refuse(e.Pos, "choose a name without leading underscores", "the dunder name '%s' is not available", e.Name)
	}
}

const (
	hintPublic        = "a config reads public attributes only"
	hintDynamicCode   = "there is no dynamic code"
	hintDynamicAttr   = "there is no dynamic attribute access: write value.attribute"
	hintIntrospection = "there is no introspection"
	hintClasses       = "there is no class machinery: only an EnvSchema may be declared"
)

var forbiddenNames = map[string]string{
	"eval":       hintDynamicCode,
	"exec":       hintDynamicCode,
	"compile":    hintDynamicCode,
	"__import__": "import at the top of the config",
	"open":       "there is no file or network access",
	"input":      "use atlantide.input(name)",
	"getattr":    hintDynamicAttr,
	"setattr":    hintDynamicAttr,
	"delattr":    hintDynamicAttr,
	"hasattr":    hintDynamicAttr,
	"vars":       hintIntrospection,
	"globals":    hintIntrospection,
	"locals":     hintIntrospection,
	"type":       "types that exist at run time belong to a provider",
	"super":      hintClasses,
	"object":     hintClasses,
	"memoryview": "there are no buffers",
	"breakpoint": "there is no debugger",
}

// attribute refuses attributes that reach behind a value (lang.md 3.3).
func (c *checker) attribute(e *syntax.Attribute) {
	switch name := e.Name; {
	case strings.HasPrefix(name, "__"):
		c.refuse(e.Pos, hintPublic, "the dunder attribute '%s' is not available", name)
	case strings.HasPrefix(name, "_") && c.onSelf(e):
	case strings.HasPrefix(name, "_"):
		c.refuse(e.Pos, hintPublic, "the private attribute '%s' is not available", name)
	case name == "format" || name == "format_map":
		c.refuse(e.Pos, "use an f-string, or interpolate(...) for values known at apply", "the method '%s' is not available", name)
	case modelAttributes[name]:
		c.refuse(e.Pos, "only declared fields can be read", "the attribute '%s' is not available", name)
	case internalAttributes[name]:
		c.refuse(e.Pos, hintPublic, "the attribute '%s' is internal to the interpreter", name)
	}
}

var modelAttributes = words("", `construct from_orm model_computed_fields model_config model_construct model_copy
	model_dump model_dump_json model_extra model_fields model_fields_set model_json_schema
	model_parametrized_name model_post_init model_rebuild model_validate model_validate_json
	model_validate_strings parse_file parse_obj parse_raw schema_json update_forward_refs`)

// internalAttributes are exactly these, so that an author's own co_owner is fine.
var internalAttributes = union(
	words("gi_", "code frame running suspended yieldfrom"),
	words("cr_", "await code frame origin running suspended"),
	words("ag_", "await code frame running suspended"),
	words("f_", "back builtins code globals lasti lineno locals trace trace_lines trace_opcodes"),
	words("tb_", "frame lasti lineno next"),
	words("co_", `argcount cellvars code consts exceptiontable filename firstlineno flags freevars
		kwonlyargcount lines linetable lnotab name names nlocals positions posonlyargcount qualname
		stacksize varnames`),
	words("", "cell_contents"),
)

func words(prefix, list string) map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(list) {
		set[prefix+word] = true
	}
	return set
}

func union(sets ...map[string]bool) map[string]bool {
	all := make(map[string]bool)
	for _, set := range sets {
		for word := range set {
			all[word] = true
		}
	}
	return all
}
