package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/lang/check"
	"github.com/atlantide-org/atlantide-operator/engine/lang/syntax"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// refusal is a text whose violations begin at the place at and say what says and, in
// the hint, hint ("" = not compared).
type refusal struct{ reason, text, at, says, hint string }

func (r refusal) run(t *testing.T) {
	t.Helper()
	t.Run(r.reason, func(t *testing.T) {
		t.Helper()
		got := checkText(t, r.text)
		if got == nil {
			t.Fatal("accepted")
		}
		r.compare(t, got)
	})
}

func (r refusal) compare(t *testing.T, got *model.Error) {
	t.Helper()
	if got.Kind != model.LanguageError || got.Class != model.ClassUser {
		t.Errorf("kind %s, class %s", got.Kind, got.Class)
	}
	if at := fmt.Sprintf("%d:%d", got.Line, got.Col); at != r.at {
		t.Errorf("at %s, want %s", at, r.at)
	}
	if !strings.Contains(got.Message, r.says) || !strings.Contains(got.Hint, r.hint) {
		t.Errorf("says %q, hint %q; want %q, hint %q", got.Message, got.Hint, r.says, r.hint)
	}
	if want := strings.Split(r.text, "\n")[got.Line-1]; got.Source != want {
		t.Errorf("shows %q, want %q", got.Source, want)
	}
}

func TestRefusedStatements(t *testing.T) {
	for _, r := range []refusal{
		{"halting must be certain", "while True:\n    pass", "1:1", "While", "'for'"},
		{"exceptions", "try: a\nexcept b: c", "1:1", "Try", "'if'"},
		{"exception groups have no hint", "try: a\nexcept* b: c", "1:1", "TryStar", ""},
		{"raise", "if a:\n    raise b", "2:5", "Raise", "'if'"},
		{"async def, by its own name", "async def f(): pass", "1:1", "AsyncFunctionDef", "synchronous"},
		{"async for", "async for a in b: pass", "1:1", "AsyncFor", ""},
		{"async with", "async with a: pass", "1:1", "AsyncWith", ""},
		{"global", "def f():\n  global a", "2:3", "Global", "arguments"},
		{"nonlocal", "def f():\n  nonlocal a", "2:3", "Nonlocal", "arguments"},
		{"del", "del a", "1:1", "Delete", "bound"},
		{"assert", "assert True", "1:1", "Assert", ""},
		{"match", "match 1:\n  case 1: pass", "1:1", "Match", ""},
		{"type alias", "type X = int", "1:1", "TypeAlias", "assign to a name"},
		{"type parameters", "def f[T](): pass", "1:1", "'f' has type parameters", "drop"},
		{"matrix product assignment", "a @= b", "1:1", "MatMult", ""},
		{"decorators, at the def", "@d\n@e\ndef f(): pass", "3:1", "'f' has a decorator", ""},
		{"return outside a def", "return 5", "1:1", "'return' outside function", ""},
		{"break outside a loop", "break", "1:1", "'break' outside loop", ""},
		{"continue outside a loop", "if a:\n  continue", "2:3", "'continue' not properly in loop", ""},
		{"break in a loop's else", "for i in [1]:\n    pass\nelse:\n    break", "4:5", "'break' outside loop", ""},
		{"break across a def", "for i in [1]:\n    def f():\n        break", "3:9", "'break' outside loop", ""},
		{"an attribute as a target", "x = 1\nx.y = 2", "2:1", "Attribute", ""},
		{"an attribute within a target", "for a, [b.c] in d: pass", "1:9", "Attribute", ""},
		{"an annotated attribute", "a.b: int", "1:1", "Attribute", ""},
		{"a starred target alone", "*a = [1]", "1:1", "Starred", ""},
		{"a starred loop target alone", "for *a in [[1]]: pass", "1:5", "Starred", ""},
		{"two starred targets", "a, *b, *c = [1]", "1:8", "syntax error: multiple starred expressions in assignment", ""},
		{"dead code is checked", "if False:\n  x = eval", "2:7", "'eval'", ""},
	} {
		r.run(t)
	}
}

func TestRefusedExpressions(t *testing.T) {
	for _, r := range []refusal{
		{"await", "x = [await f()]", "1:6", "Await", "synchronous"},
		{"yield", "def f():\n    yield 1", "2:5", "Yield", "comprehension"},
		{"yield from", "def f():\n    x = yield from a", "2:9", "YieldFrom", "comprehension"},
		{"walrus", "x = (y := 1)", "1:6", "NamedExpr", "statement of its own"},
		{"matrix product", "x = 3 @ 4", "1:5", "MatMult", ""},
		{"imaginary numbers", "x = 1j", "1:5", "imaginary", ""},
		{"** in a call", "f(**{})", "1:1", "**", "by name"},
		{"** in a dict", "x = {\n  **a}", "1:5", "**", "merge"},
		{"* in a list", "r = [*[1], 2]", "1:6", "Starred", ""},
		{"* in a returned tuple", "def f(): return 1, *a", "1:20", "Starred", ""},
		{"* in a loop's tuple", "for i in 1, *a: pass", "1:13", "Starred", ""},
		{"* in a subscript", "x = a[*b]", "1:7", "Starred", ""},
		{"a slice beside an index", "x = a[1:2, 3]", "1:7", "Slice", ""},
		{"async comprehension", "x = [a async for a in b]", "1:8", "async", "drop"},
		{"a keyword given twice", "f(a=1, a=2)", "1:8", "keyword argument repeated: 'a'", ""},
		{"*args", "def f(*a): pass", "1:1", "function 'f' takes *a", ""},
		{"*args of a lambda", "f = lambda *a: 1", "1:5", "a lambda takes *a", ""},
		{"**kw", "def f(**kw): pass", "1:1", "**kw", ""},
		{"keyword-only", "def f(a, *, b): pass", "1:1", "keyword-only", ""},
		{"positional-only", "def f(a, /): pass", "1:1", "positional-only", ""},
		{"*args is named before the others", "def f(a, /, *b, c, **d): pass", "1:1", "*b", ""},
		{"a parameter given twice", "def f(a, a): pass", "1:10", "two parameters 'a'", ""},
		{"a violation in an f-string points inside", `x = f"{eval}"`, "1:8", "'eval'", ""},
		{"also inside a spec", `x = f"{1:{open}}"`, "1:11", "'open'", ""},
		{"columns are code points", `x = "é"; eval("1")`, "1:10", "'eval'", ""},
	} {
		r.run(t)
	}
}

func TestRefusedNames(t *testing.T) {
	for _, r := range []refusal{
		{"an annotation is checked", "def f(a: open): pass", "1:10", "'open'", ""},
		{"a return annotation", "def f() -> type: pass", "1:12", "'type'", ""},
		{"a variable's annotation", "x: object = 1", "1:4", "'object'", ""},
		{"a target", "input = 5", "1:1", "'input'", "atlantide.input(name)"},
		{"a dunder name", "x = __name__", "1:5", "__name__", ""},
		{"without trailing underscores", "x = __a", "1:5", "__a", ""},
		{"a dunder attribute", "x = (1).__class__", "1:5", "__class__", ""},
		{"a private attribute", "x = atlantide._inputs", "1:5", "'_inputs'", "public"},
		{"str.format", `x = "{}".format(1)`, "1:5", "'format'", "interpolate"},
		{"format_map", "x = 'a'.format_map", "1:5", "'format_map'", "f-string"},
		{"model API", "x = W('a').model_dump", "1:5", "'model_dump'", "declared fields"},
		{"interpreter internals", "x = f.co_code", "1:5", "'co_code'", ""},
	} {
		r.run(t)
	}
	for name := range strings.FieldsSeq(`eval exec compile open __import__ globals locals vars getattr setattr delattr
		hasattr breakpoint input memoryview type super object`) {
		refusal{"forbidden " + name, "x = [" + name + "]", "1:6", "'" + name + "'", ""}.run(t)
	}
}

func TestRefusedImports(t *testing.T) {
	for _, r := range []refusal{
		{"the standard library", "x = 1\nimport time", "2:1", "'time'", "declared inputs"},
		{"a module of it with a counterpart", "from json import dumps", "1:1", "'json'", "to_json(value)"},
		{"a misspelt package", "from atlantide.provider.local import File", "1:1", "'atlantide.provider.local'", "did you mean 'atlantide.providers.local'?"},
		{"a misspelt package alone", "from atlantide.polcy import enforce", "1:1", "'atlantide.polcy'", "did you mean 'atlantide.policy'?"},
		{"one that would lead to what is refused", "from atlantide.provider.loader import x", "1:1", "'atlantide.provider.loader'", "declared inputs"},
		{"relative", "from . import q", "1:1", "'.'", ""},
		{"relative with a module", "from ..a import q", "1:1", "'..a'", ""},
		{"__future__", "from __future__ import annotations", "1:1", "'__future__'", ""},
		{"an internal package", "from atlantide.ir import x", "1:1", "atlantide.core, atlantide.policy, atlantide.providers, atlantide.components", ""},
		{"a prefix that is no segment", "from atlantide.corex import y", "1:1", "'atlantide.corex'", ""},
		{"a private name", "from atlantide.core import (\n  Stack,\n  _x)", "1:1", "'_x'", ""},
		{"a star", "from atlantide.core import *", "1:1", "'*'", ""},
		{"an allowed module as a value", "import atlantide", "1:1", "'import atlantide' would bind a module", "needs no import: write atlantide.input(name)"},
		{"the first bad module is named", "import atlantide.core, os, sys", "1:1", "'os'", ""},
		{"handlers", "from atlantide.providers.aws.handlers.s3 import H", "1:1", "handlers", ""},
		{"a provider segment", "from atlantide.components.a.provider import H", "1:1", "provider", ""},
		{"a private segment", "from atlantide.core._tree import X", "1:1", "_tree", ""},
		{"tuning", "from atlantide.core.tuning import X", "1:1", "tuning", ""},
		{"below a refused module", "from atlantide.providers.aws.config.x import X", "1:1", "config", ""},
		{"testing", "from atlantide.testing import Compiled", "1:1", "testing", ""},
		{"engine machinery", "from atlantide.core import active_registry", "1:1", "'active_registry'", "collects"},
		{"whatever it is bound as", "from atlantide.core import Context as c", "1:1", "'Context'", ""},
		{"also in a function", "def f():\n  from atlantide import Provider", "2:3", "'Provider'", ""},
	} {
		r.run(t)
	}
}

func TestPluginModules(t *testing.T) {
	m, err := syntax.Parse("infra.py", "from acme.net import Router, Provider\nfrom acme.other import X\nfrom acme.handlers import Y\n")
	if err != nil {
		t.Fatal(err)
	}
	declared := func(module string) bool { return module == "acme.net" || module == "acme.handlers" }
	found := check.Check(m, check.Options{Filename: "infra.py", Modules: declared})
	if len(found) != 2 || found[0].Line != 2 || found[1].Line != 3 {
		t.Errorf("got %v, want line 2 (not declared) and line 3 (handlers), Provider being the plugin's own", found)
	}
}

func TestRefusedClasses(t *testing.T) {
	body := func(line string) string { return "class A(EnvSchema):\n  " + line }
	for _, r := range []refusal{
		{"no base", "class A: pass", "1:1", "EnvSchema", ""},
		{"an alias of the base", "from atlantide.core import EnvSchema as E\nclass A(E):\n  x: str", "2:1", "EnvSchema", "providers"},
		{"the base through its module", "class A(atlantide.EnvSchema): pass", "1:1", "EnvSchema", ""},
		{"two bases", "class A(EnvSchema, B): pass", "1:1", "one base", ""},
		{"not at module level", "if True:\n    class A(EnvSchema):\n        x: int", "2:5", "module level", ""},
		{"in a with", "with a:\n  class A(EnvSchema): pass", "2:3", "module level", ""},
		{"in a def", "def f():\n  class A(EnvSchema): pass", "2:3", "module level", ""},
		{"decorated", "@d\nclass A(EnvSchema): pass", "2:1", "decorator", ""},
		{"a keyword", "class A(EnvSchema, metaclass=M): pass", "1:1", "metaclass=", ""},
		{"type parameters", "class A[T](EnvSchema): pass", "1:1", "type parameters", ""},
		{"a plain assignment", body("x = 1"), "2:3", "Assign", "type"},
		{"a method", body("def f(self): return eval"), "2:3", "FunctionDef", "provider"},
		{"a nested class", body("class B(EnvSchema): pass"), "2:3", "ClassDef", "module level"},
		{"an ellipsis", body("..."), "2:3", "Expr", ""},
		{"an f-string is no docstring", body("f'a'"), "2:3", "Expr", ""},
		{"a later string", body("x: str\n  'later'"), "3:3", "Expr", ""},
		{"an if", body("if a: pass"), "2:3", "If", ""},
		{"a target in parentheses", body("(x): int"), "2:3", "bare name", ""},
		{"an attribute", body("a.b: int"), "2:3", "bare name", ""},
		{"a private field", body("_x: int"), "2:3", "'_x' of class 'A'", "as_dict"},
		{"a reserved field", body("name: str"), "2:3", "'name' of class 'A'", "env.<field>"},
		{"a field twice", body("x: int\n  x: str"), "3:3", "twice", ""},
		{"a forbidden field name", body("input: str"), "2:3", "'input'", ""},
		{"a generic", body("x: list[str]"), "2:6", "generics", "use list"},
		{"a generic of something else", body("x: Optional[str]"), "2:6", "generics", ""},
		{"an unknown type", body("x: bytes"), "2:6", "bool, dict, float, int, list, str", ""},
		{"a string as type", body("x: 'str'"), "2:6", "bool, dict, float, int, list, str", ""},
		{"None alone", body("x: None"), "2:6", "one of", ""},
		{"None on the left", body("x: None | str"), "2:6", "X | None", ""},
		{"two types", body("x: str | int"), "2:6", "X | None", ""},
		{"None twice", body("x: str | None | None"), "2:6", "X | None", ""},
		{"a default is checked", body("x: int = (n := 3)"), "2:13", "NamedExpr", ""},
	} {
		r.run(t)
	}
}

func TestAccepted(t *testing.T) {
	for _, c := range []struct{ reason, text string }{
		{"a dunder as text", `x = {"__class__": 1}["__class__"]`},
		{"keyword arguments are no names", "dict(type=1, eval=2)"},
		{"nor are functions, parameters and aliases", "def input(open): pass\nfrom atlantide.core import Stack as object"},
		{"an attribute called like a forbidden name", "x = a.type"},
		{"an attribute that only looks internal", "x = env.co_owner"},
		{"break in an inner loop's else", "for a in b:\n  for c in d: pass\n  else: break"},
		{"return in a loop in a with in a def", "def f():\n  with a:\n    for b in c: return d"},
		{"starred targets", "a, *b = c\n(d, [*e, f]), g = h\nfor *i, j in k: pass\nx = [l for l, *m in n]\nwith o as (p, *q): pass\n*r[0], s = t"},
		{"* in a call", "f(*a, b, *c, d=1)"},
		{"subscript targets", "a[0] = 1\na[1:2] = b\na['k'] += 1\na[0]: int = 2\nfor a['k'] in b: pass"},
		{"bytes", "x = b'a'"},
		{"lambdas and defaults", "f = lambda a, b=1: a"},
		{"a bare annotation", "x: int"},
		{"imports in a function", "def f():\n  from atlantide.core import output"},
		{"a component", "from atlantide.components.acme import X"},
		{"the package itself", "from atlantide import core"},
		{"a deeper module", "from atlantide.core.config import Config"},
		{"a schema", "class A(EnvSchema):\n  'doc'\n  x: str\n  y: int | None\n  z: list = [1]\n  pass"},
		{"an empty schema", "class A(EnvSchema): pass"},
		{"a schema after its types were rebound", "str = 5\nclass A(EnvSchema):\n  x: str = 'a'"},
		{"an empty file", ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := checkText(t, c.text); got != nil {
				t.Errorf("refused: %v", got)
			}
		})
	}
}

func TestAllViolationsInSourceOrder(t *testing.T) {
	found := checkAll(t, `@d(eval)
def f(a=open) -> type:
    while exec:
        yield {**vars, 'k': x.__class__}
class C: pass
import os, sys
from atlantide.core import _a, Context
x = [*a] if b.format else (c := super)
`)
	var got []string
	for _, e := range found {
		got = append(got, fmt.Sprintf("%d:%d", e.Line, e.Col))
	}
	want := strings.Fields("1:4 2:1 2:9 2:18 3:5 3:11 4:9 4:15 4:18 4:29 5:1 6:1 7:1 7:1 8:6 8:13 8:28 8:33")
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestViolationsAreBounded(t *testing.T) {
	found := checkAll(t, strings.Repeat("eval\n", 5000))
	if len(found) != 1000 || found[0].Line != 1 || found[999].Line != 1000 {
		t.Errorf("got %d violations, want the first 1000", len(found))
	}
}
