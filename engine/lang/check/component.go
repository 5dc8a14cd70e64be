package check

import (
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/lang/syntax"
)

// What the component dialect has beyond the language (lang.md 13.3a): classes with
// methods, attributes of self, raise, keyword-only parameters, annotations that are
// never looked at, relative imports, __future__ and __all__.

// method is what surrounds an expression within a class.
type method struct {
	self    string // the first parameter; "" outside of a method
	init    bool   // __init__ itself
	closure bool   // in a function, lambda or comprehension of its own: self can be read alone
}

func (m method) nested() method { m.closure = true; return m }

// within makes m the surrounding until the returned function is called.
func (c *checker) within(m method) (leave func()) {
	outer := c.method
	c.method = m
	return func() { c.method = outer }
}

// onSelf reports whether e reads an attribute of the method's own object.
func (c *checker) onSelf(e *syntax.Attribute) bool {
	return c.method.self != "" && isName(e.Value, c.method.self)
}

// ownAttribute reports whether e may be assigned to: an attribute of self, in the
// method itself.
func (c *checker) ownAttribute(e *syntax.Attribute) bool {
	if !c.onSelf(e) || c.method.closure {
		return false
	}
	c.attribute(e)
	return true
}

// componentClass admits a class of a component. The header's first fault is reported; a
// class with a faulty header has no body worth checking.
func (c *checker) componentClass(s *syntax.ClassDef, in place) {
	before := len(c.found)
	switch {
	case !in.module:
		c.refuse(s.Pos, "move it out of the block", "ClassDef '%s' must be at module level", s.Name)
	case len(s.Decorators) > 0:
		c.refuse(s.Pos, "", "ClassDef '%s' has a decorator; a component has none", s.Name)
	case len(s.Keywords) > 0:
		c.refuse(s.Pos, "", "ClassDef '%s' takes no keywords (%s)", s.Name, shownKeyword(s.Keywords[0]))
	case s.TypeParams:
		c.typeParams(s.Pos, "class", s.Name)
	case len(s.Bases) != 1 || !isAnyName(s.Bases[0]):
		c.refuse(s.Pos, "", "ClassDef '%s' must have one base, Component or a component class of the same tree", s.Name)
	default:
		c.expr(s.Bases[0])
	}
	if len(c.found) > before {
		return
	}
	for i, member := range s.Body {
		if i > 0 || !isText(member) {
			c.member(s, member)
		}
	}
}

func isAnyName(e syntax.Expr) bool {
	_, ok := e.(*syntax.Name)
	return ok
}

// member admits a constant or a method.
func (c *checker) member(class *syntax.ClassDef, s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.Pass:
		return
	case *syntax.AnnAssign:
		if isAnyName(s.Target) && !s.Paren {
			c.target(s.Target)
			c.expr(s.Value)
			return
		}
	case *syntax.Assign:
		if len(s.Targets) == 1 && isAnyName(s.Targets[0]) {
			c.target(s.Targets[0])
			c.expr(s.Value)
			return
		}
	case *syntax.FunctionDef:
		c.methodDef(class, s)
		return
	}
	c.refuse(s.Start(), "", "%s in class '%s': a component has constants and methods", s.Kind(), class.Name)
}

// methodDef admits __init__, a plain method, a @property or a @staticmethod.
func (c *checker) methodDef(class *syntax.ClassDef, s *syntax.FunctionDef) {
	init := s.Name == "__init__"
	static, property := decorated(s, "staticmethod"), decorated(s, "property")
	plain := len(s.Params) > 0 && s.Params[0].Kind == syntax.ParamPlain && s.Params[0].Default == nil
	switch {
	case s.Async:
		c.construct(s)
	case s.TypeParams:
		c.typeParams(s.Pos, "method", s.Name)
	case len(s.Decorators) > 0 && (init || !static && !property):
		c.refuse(s.Pos, "", "FunctionDef '%s' of class '%s' has a decorator; a method may be a @property or a @staticmethod", s.Name, class.Name)
	case !init && strings.HasPrefix(s.Name, "__"):
		c.refuse(s.Pos, "", "FunctionDef '%s' of class '%s': __init__ is the only special method", s.Name, class.Name)
	case !static && !plain:
		c.refuse(s.Pos, "", "FunctionDef '%s' of class '%s' must take self", s.Name, class.Name)
	case property && len(s.Params) > 1:
		c.refuse(s.Pos, "", "FunctionDef '%s' of class '%s' is a property and takes self alone", s.Name, class.Name)
	}
	m := method{init: init}
	if !static && plain {
		m.self = s.Params[0].Name
	}
	defer c.within(m)()
	c.signatureAndBody(s)
}

func decorated(s *syntax.FunctionDef, by string) bool {
	return len(s.Decorators) == 1 && isName(s.Decorators[0], by)
}

// superInit is the call in the statement "super().__init__(…)" of an __init__, nil for
// anything else.
func (c *checker) superInit(e syntax.Expr) *syntax.Call {
	call, ok := e.(*syntax.Call)
	if !ok || c.method.self == "" || !c.method.init || c.method.closure || !syntax.IsSuperInit(call) {
		return nil
	}
	return call
}

// arguments checks a call without its function.
func (c *checker) arguments(e *syntax.Call) {
	c.keywords(e)
	for _, a := range e.Args {
		if star, ok := a.(*syntax.Starred); ok {
			a = star.Value
		}
		c.expr(a)
	}
	for _, k := range e.Keywords {
		c.expr(k.Value)
	}
}

// raise admits "raise ERROR(text)" in a component; a config has no exceptions.
func (c *checker) raise(s *syntax.Raise) {
	if !c.options.Component {
		c.construct(s)
		c.below(s)
		return
	}
	call, ok := s.Exc.(*syntax.Call)
	if !ok || s.Cause != nil || !isAnyName(call.Func) || len(call.Args) != 1 || len(call.Keywords) > 0 || isStarred(call.Args[0]) {
		c.refuse(s.Pos, "write raise ERROR(text) with an error class of atlantide.core", "this form of Raise is not part of the component dialect")
		return
	}
	c.expr(call)
}

func isStarred(e syntax.Expr) bool {
	_, ok := e.(*syntax.Starred)
	return ok
}

// importWithin admits relative imports, private names included, and the one feature of
// __future__ that changes nothing here. Where they lead is known at run time.
func (c *checker) importWithin(s *syntax.ImportFrom, module string) {
	for segment := range strings.SplitSeq(s.Module, ".") {
		if s.Level > 0 && strings.HasPrefix(segment, "__") {
			c.refuseModule(s.Pos, module)
			return
		}
	}
	for _, alias := range s.Names {
		switch {
		case s.Level == 0 && alias.Name != "annotations":
			c.refuseModule(s.Pos, module)
			return
		case alias.Name == "*":
			c.refuse(s.Pos, "name what is imported", "cannot import '*' from '%s'", module)
		case strings.HasPrefix(alias.Name, "__"):
			c.refuse(s.Pos, "", "cannot import the dunder name '%s' from '%s'", alias.Name, module)
		}
	}
}

// isAll reports whether s is "__all__ = […]" of texts.
func isAll(s *syntax.Assign) bool {
	if len(s.Targets) != 1 || !isName(s.Targets[0], "__all__") {
		return false
	}
	var elts []syntax.Expr
	switch v := s.Value.(type) {
	case *syntax.List:
		elts = v.Elts
	case *syntax.Tuple:
		elts = v.Elts
	default:
		return false
	}
	for _, e := range elts {
		constant, ok := e.(*syntax.Constant)
		if !ok {
			return false
		}
		if _, text := constant.Value.(string); !text {
			return false
		}
	}
	return true
}
