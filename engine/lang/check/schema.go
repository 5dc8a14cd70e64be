package check

import (
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/lang/syntax"
)

// class admits the one form a class may have: an EnvSchema at module level whose body
// is annotated fields (lang.md 3.5). The header's first fault is reported; a class with
// a faulty header has no body worth checking.
func (c *checker) class(s *syntax.ClassDef, in place) {
	if c.options.Component && (len(s.Bases) != 1 || !isName(s.Bases[0], "EnvSchema")) {
		c.componentClass(s, in)
		return
	}
	before := len(c.found)
	c.classHeader(s, in)
	for _, d := range s.Decorators {
		c.expr(d)
	}
	for _, k := range s.Keywords {
		c.expr(k.Value)
	}
	if len(c.found) > before {
		return
	}
	fields := make(map[string]bool)
	for i, stmt := range s.Body {
		c.classStmt(s, stmt, i == 0, fields)
	}
}

func (c *checker) classHeader(s *syntax.ClassDef, in place) {
	switch {
	case !in.module:
		c.refuse(s.Pos, "move it out of the block", "class '%s' must be declared at module level", s.Name)
	case len(s.Decorators) > 0:
		c.refuse(s.Pos, "", "class '%s' has a decorator; a config has none", s.Name)
	case len(s.Keywords) > 0:
		c.refuse(s.Pos, "", "class '%s' takes no keywords (%s)", s.Name, shownKeyword(s.Keywords[0]))
	case s.TypeParams:
		c.typeParams(s.Pos, "class", s.Name)
	case len(s.Bases) != 1 || !isName(s.Bases[0], "EnvSchema"):
		hint := "a config declares no other class: resource types live in providers"
		if slices.ContainsFunc(s.Bases, func(base syntax.Expr) bool { return isName(base, "Component") }) {
			hint = "a component lies in a folder of its own: move the class to components/ALIAS/__init__.py and write 'from atlantide.components.ALIAS import " + s.Name + "'"
		}
		c.refuse(s.Pos, hint,
			"class '%s' must have EnvSchema, under that name, as its one base", s.Name)
	}
}

func shownKeyword(k syntax.Keyword) string {
	if k.Name == "" {
		return "**"
	}
	return k.Name + "="
}

func isName(e syntax.Expr, name string) bool {
	n, ok := e.(*syntax.Name)
	return ok && n.Name == name
}

func (c *checker) classStmt(class *syntax.ClassDef, s syntax.Stmt, first bool, fields map[string]bool) {
	if first && isText(s) { // the docstring
		return
	}
	hint := ""
	switch s := s.(type) {
	case *syntax.Pass:
		return
	case *syntax.AnnAssign:
		c.field(class, s, fields)
		return
	case *syntax.Assign:
		hint = "give the field a type: name: type = default"
	case *syntax.FunctionDef:
		hint = "move behaviour to a provider or a component"
	case *syntax.ClassDef:
		hint = "declare it at module level"
	}
	c.refuse(s.Start(), hint, "%s in class '%s': an EnvSchema has annotated fields only, data and no behaviour", s.Kind(), class.Name)
}

func isText(s syntax.Stmt) bool {
	e, ok := s.(*syntax.ExprStmt)
	if !ok {
		return false
	}
	constant, ok := e.Value.(*syntax.Constant)
	if !ok {
		return false
	}
	_, text := constant.Value.(string)
	return text
}

var reservedFields = []string{"name", "get", "as_dict"}

func (c *checker) field(class *syntax.ClassDef, s *syntax.AnnAssign, fields map[string]bool) {
	readBack := "it is read back as env.<field>; '_' at the start and " + strings.Join(reservedFields, ", ") + " are reserved"
	target, ok := s.Target.(*syntax.Name)
	if !ok || s.Paren {
		c.refuse(s.Pos, "write name: type", "a field of class '%s' must be a bare name", class.Name)
		c.expr(s.Value)
		return
	}
	switch name := target.Name; {
	case strings.HasPrefix(name, "_"):
		c.refuse(s.Pos, readBack, "field '%s' of class '%s' starts with an underscore", name, class.Name)
	case slices.Contains(reservedFields, name):
		c.refuse(s.Pos, readBack, "field '%s' of class '%s' has a reserved name", name, class.Name)
	case fields[name]:
		c.refuse(s.Pos, "", "field '%s' of class '%s' is declared twice", name, class.Name)
	default:
		c.name(target)
	}
	fields[target.Name] = true
	c.fieldType(class, target.Name, s.Annotation)
	c.expr(s.Value)
}

var fieldTypes = []string{"bool", "dict", "float", "int", "list", "str"}

// fieldType admits one of fieldTypes, spelled as such, or that "| None".
func (c *checker) fieldType(class *syntax.ClassDef, field string, annotation syntax.Expr) {
	refuse := func(hint, why string) {
		c.refuse(annotation.Start(), hint, "field '%s' of class '%s': %s", field, class.Name, why)
	}
	oneOf := "the type must be one of " + strings.Join(fieldTypes, ", ")
	switch t := annotation.(type) {
	case *syntax.Name:
		if !slices.Contains(fieldTypes, t.Name) {
			refuse("", oneOf+", not '"+t.Name+"'")
		}
	case *syntax.Subscript:
		hint := ""
		if base, ok := t.Value.(*syntax.Name); ok && slices.Contains(fieldTypes, base.Name) {
			hint = "use " + base.Name
		}
		refuse(hint, "parameterised generics are not supported; "+oneOf)
	case *syntax.BinOp:
		if !isOptional(t) {
			refuse("", "only 'X | None' may be combined, with X one of "+strings.Join(fieldTypes, ", "))
		}
	default:
		refuse("", oneOf)
	}
}

func isOptional(t *syntax.BinOp) bool {
	base, named := t.Left.(*syntax.Name)
	none, constant := t.Right.(*syntax.Constant)
	return t.Op == "|" && named && slices.Contains(fieldTypes, base.Name) && constant && none.Value == nil
}
