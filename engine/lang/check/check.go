// Package check refuses what Atlas-lang leaves out of Python (lang.md §3): it walks
// the tree once, dead code included, and lists every violation with its place and,
// where there is one, what to write instead.
//
// It must never know a value, evaluate anything, or load a module: what only a run can
// tell (an unknown name, a missing export) is left to the run.
package check

import (
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/lang/syntax"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Check lists the violations in m in source order, at most maxViolations of them;
// none means that m may be run.
func Check(m *syntax.Module, o Options) []*model.Error {
	c := &checker{module: m, options: o}
	c.stmts(m.Body, place{module: true})
	slices.SortStableFunc(c.found, func(a, b *model.Error) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Col - b.Col
	})
	return c.found
}

// Options says what surrounds the config.
type Options struct {
	Filename string
	// Component admits the component dialect (lang.md 13.3a): what it has beyond the
	// language is in component.go. Its violations are ComponentErrors that name the file.
	Component bool
	// Modules reports whether an installed plugin declares this module; nil means
	// that there are none.
	Modules func(module string) bool
}

// maxViolations bounds the report on a hostile text; the walk is in source order, so
// what is left out comes later.
const maxViolations = 1000

type checker struct {
	module  *syntax.Module
	options Options
	found   []*model.Error
	method  method // that is being checked
}

// place is what surrounds a statement.
type place struct {
	module   bool // directly in the module, not in a block
	function bool // inside a def
	loop     bool // inside a loop's body, within the same def
}

func (p place) block() place { p.module = false; return p }

func (p place) inLoop() place { return place{function: p.function, loop: true} }

func (c *checker) full() bool { return len(c.found) >= maxViolations }

// refuse records a violation.
func (c *checker) refuse(at syntax.Pos, hint, format string, args ...any) {
	if c.full() {
		return
	}
	err := model.Errorf(model.LanguageError, model.ClassUser, format, args...)
	if c.options.Component {
		err.Kind, err.Message = model.ComponentError, c.options.Filename+": "+err.Message
	}
	err.File, err.Line, err.Col, err.Source = c.options.Filename, at.Line, at.Col, c.module.Line(at.Line)
	err.Hint = hint
	c.found = append(c.found, err)
}

// construct refuses a node by its Python name.
func (c *checker) construct(n syntax.Node) {
	c.refuse(n.Start(), constructHints[n.Kind()], "%s is not part of the language", n.Kind())
}

var constructHints = map[string]string{
	"While":            "a config must be sure to end: loop over something finite with 'for'",
	"Try":              "there are no exceptions to handle: test with 'if' before",
	"Raise":            "there are no exceptions: guard with 'if'",
	"AsyncFunctionDef": "a config is synchronous and pure: use 'def'",
	"Await":            "a config is synchronous and pure: call the function",
	"Yield":            "there are no generators: use a comprehension",
	"YieldFrom":        "there are no generators: use a comprehension",
	"Global":           "there is no mutable module state: pass arguments and return results",
	"Nonlocal":         "there is no mutable closure state: pass arguments and return results",
	"NamedExpr":        "assign in a statement of its own",
	"Assert":           "guard with 'if', or have a component raise an error",
	"Match":            "compare with 'if' and 'elif', or look the value up in a dict",
	"Delete":           "a name stays bound: leave it, or use another one",
	"TypeAlias":        "there are no static types: assign to a name",
}

func (c *checker) stmts(body []syntax.Stmt, in place) {
	for _, s := range body {
		if c.full() {
			return
		}
		c.stmt(s, in)
	}
}

func (c *checker) stmt(s syntax.Stmt, in place) {
	switch s := s.(type) {
	case *syntax.Assign:
		if c.options.Component && in.module && isAll(s) {
			return
		}
		for _, target := range s.Targets {
			c.target(target)
		}
		c.expr(s.Value)
	case *syntax.AnnAssign:
		c.target(s.Target)
		c.annotation(s.Annotation)
		c.expr(s.Value)
	case *syntax.AugAssign:
		if s.Op == "@" {
			c.matMult(s.Pos)
		}
		c.target(s.Target)
		c.expr(s.Value)
	case *syntax.For:
		c.forStmt(s, in)
	case *syntax.While:
		c.construct(s)
		c.expr(s.Test)
		c.stmts(s.Body, in.inLoop())
		c.stmts(s.Orelse, in.block())
	case *syntax.If:
		c.expr(s.Test)
		c.stmts(s.Body, in.block())
		c.stmts(s.Orelse, in.block())
	case *syntax.With:
		c.with(s, in)
	case *syntax.FunctionDef:
		c.function(s)
	case *syntax.ClassDef:
		c.class(s, in)
	case *syntax.Import:
		c.importModules(s)
	case *syntax.ImportFrom:
		c.importFrom(s)
	case *syntax.Break:
		c.inside(in.loop, s.Pos, "syntax error: 'break' outside loop")
	case *syntax.Continue:
		c.inside(in.loop, s.Pos, "syntax error: 'continue' not properly in loop")
	case *syntax.Return:
		c.inside(in.function, s.Pos, "syntax error: 'return' outside function")
		c.expr(s.Value)
	case *syntax.Try:
		c.construct(s)
		for _, body := range [][]syntax.Stmt{s.Body, s.Handlers, s.Orelse, s.Final} {
			c.stmts(body, in.block())
		}
	case *syntax.Raise:
		c.raise(s)
	case *syntax.ExprStmt:
		if call := c.superInit(s.Value); call != nil {
			c.arguments(call)
			return
		}
		c.expr(s.Value)
	case *syntax.Pass:
	default: // Assert, Global, Nonlocal, Delete, Match, TypeAlias
		c.construct(s)
		c.below(s)
	}
}

func (c *checker) inside(ok bool, at syntax.Pos, message string) {
	if !ok {
		c.refuse(at, "", "%s", message)
	}
}

func (c *checker) forStmt(s *syntax.For, in place) {
	if s.Async {
		c.construct(s)
	}
	c.target(s.Target)
	c.expr(s.Iter)
	c.stmts(s.Body, in.inLoop())
	c.stmts(s.Orelse, in.block()) // a break there belongs to the loop around
}

func (c *checker) with(s *syntax.With, in place) {
	if s.Async {
		c.construct(s)
	}
	for _, item := range s.Items {
		c.expr(item.Context)
		if item.Target != nil {
			c.target(item.Target)
		}
	}
	c.stmts(s.Body, in.block())
}

func (c *checker) function(s *syntax.FunctionDef) {
	if s.Async {
		c.construct(s)
	}
	if s.TypeParams {
		c.typeParams(s.Pos, "function", s.Name)
	}
	if len(s.Decorators) > 0 {
		c.refuse(s.Pos, "call the function where its result is needed", "function '%s' has a decorator; a config has none", s.Name)
	}
	for _, d := range s.Decorators {
		c.expr(d)
	}
	defer c.within(c.method.nested())()
	c.signatureAndBody(s)
}

func (c *checker) signatureAndBody(s *syntax.FunctionDef) {
	c.params(s.Pos, "function '"+s.Name+"'", s.Params)
	c.annotation(s.Returns)
	c.stmts(s.Body, place{function: true})
}

// annotation is checked as an expression, except in a component: it is never evaluated.
func (c *checker) annotation(e syntax.Expr) {
	if !c.options.Component {
		c.expr(e)
	}
}

func (c *checker) typeParams(at syntax.Pos, what, name string) {
	c.refuse(at, "drop them: there are no static types", "%s '%s' has type parameters", what, name)
}

// params refuses every kind of parameter but the plain one, at the def or lambda, and
// checks annotations and defaults.
func (c *checker) params(at syntax.Pos, of string, params []syntax.Param) {
	const hint = "declare plain parameters, with defaults where they may be left out"
	for _, kind := range []struct {
		kind   syntax.ParamKind
		format string
		named  bool
	}{
		{syntax.ParamVarArgs, "%s takes *%s; only plain parameters are supported", true},
		{syntax.ParamVarKwargs, "%s takes **%s; only plain parameters are supported", true},
		{syntax.ParamKeyword, "%s has keyword-only parameters; only plain parameters are supported", false},
		{syntax.ParamPositional, "%s has positional-only parameters; only plain parameters are supported", false},
	} {
		i := slices.IndexFunc(params, func(p syntax.Param) bool { return p.Kind == kind.kind })
		switch {
		case i < 0, kind.kind == syntax.ParamKeyword && c.options.Component:
		case kind.named:
			c.refuse(at, hint, kind.format, of, params[i].Name)
		default:
			c.refuse(at, hint, kind.format, of)
		}
	}
	seen := make(map[string]bool, len(params))
	for _, p := range params {
		if seen[p.Name] {
			c.refuse(p.Pos, "", "syntax error: %s has two parameters '%s'", of, p.Name)
		}
		seen[p.Name] = true
		c.annotation(p.Annotation)
		c.expr(p.Default)
	}
}
