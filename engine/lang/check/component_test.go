package check_test

import (
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/lang/check"
	"github.com/atlantide-org/atlantide-operator/engine/lang/syntax"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

const componentFile = "components/acme/_site.py"

func checkComponent(t *testing.T, text string) []*model.Error {
	t.Helper()
	m, err := syntax.Parse(componentFile, text)
	if err != nil {
		t.Fatal(err)
	}
	return check.Check(m, check.Options{Filename: componentFile, Component: true})
}

func method(body string) string {
	return "class A(Component):\n    def __init__(self, name):\n        " + strings.ReplaceAll(body, "\n", "\n        ")
}

// The dialect, and that none of it is the language of a config (lang.md 13.3a).
func TestDialect(t *testing.T) {
	for _, c := range []struct {
		reason, text string
		inConfig     bool // a config may do it too
	}{
		{"a component", "class A(Component):\n    '''doc'''\n    pass", false},
		{"a component of a component", "class A(Component): pass\nclass B(A): pass", false},
		{"methods of each kind", "class A(Component):\n    def __init__(self, name): pass\n    @property\n    def p(self): return 1\n    @staticmethod\n    def s(): return 1\n    def m(me, *, a=1): return me.p", false},
		{"constants", "class A(Component):\n    X = 1\n    Y: list[str] = []\n    Z: int", false},
		{"attributes of self", method("self.a = 1\nself.b: int = 2\nself.a += 1\nself._c, (self.d, *self.e) = f()\nfor self.f in g:\n    pass\nwith h as self.i:\n    pass"), false},
		{"private attributes of self are read in closures too", method("self._a = 1\nx = [self._a for i in j]\nf = lambda: self._a"), false},
		{"raise", "def f(): raise RegistryError('x')", false},
		{"a raised f-string", "raise LanguageError(f'{x}')", false},
		{"super().__init__", method("super().__init__(name, *rest, a=1)"), false},
		{"keyword-only parameters", "def f(a, *, b, c=1): pass\ng = lambda *, a: a", false},
		{"annotations are not looked at", "def f(a: open, b: 'eval' = 1) -> type[object]: pass\nx: super = 1", false},
		{"relative imports, private names included", "from . import a\nfrom .._b.c import _d, e as _e\nfrom .handlers import h", false},
		{"annotations of __future__", "from __future__ import annotations", false},
		{"__all__", "__all__ = ['A', 'B']\n", false},
		{"an empty __all__", "__all__ = ()", false},
		{"a schema", "from atlantide.core import EnvSchema\nclass A(EnvSchema):\n    x: int", true},
		{"what a config imports", "from atlantide.core import Component, child\nfrom atlantide.providers.aws import S3Bucket", true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if found := checkComponent(t, c.text); len(found) > 0 {
				t.Errorf("refused: %v", found[0])
			}
			if got := checkText(t, c.text); (got == nil) != c.inConfig {
				t.Errorf("in a config: %v", got)
			}
		})
	}
}

func TestOutsideTheDialect(t *testing.T) {
	for _, r := range []refusal{
		{"a plain class", "class A: pass", "1:1", "ClassDef 'A'", ""},
		{"two bases", "class A(Component, B): pass", "1:1", "ClassDef 'A'", ""},
		{"a base that is no name", "class A(x.Component): pass", "1:1", "ClassDef 'A'", ""},
		{"a forbidden base", "class A(object): pass", "1:9", "'object'", ""},
		{"a metaclass", "class A(Component, metaclass=M): pass", "1:1", "metaclass=", ""},
		{"type parameters of a class", "class A[T](Component): pass", "1:1", "type parameters", ""},
		{"a decorated class", "@d\nclass A(Component): pass", "2:1", "decorator", ""},
		{"a class in a block", "if x:\n    class A(Component): pass", "2:5", "module level", ""},
		{"a class in a function", "def f():\n    class A(Component): pass", "2:5", "module level", ""},
		{"a class in a class", "class A(Component):\n    class B(A): pass", "2:5", "ClassDef in class 'A'", ""},
		{"a statement in a class", "class A(Component):\n    if x: y = 1", "2:5", "If in class 'A'", ""},
		{"a call in a class", "class A(Component):\n    f()", "2:5", "Expr in class 'A'", ""},
		{"an unpacked constant", "class A(Component):\n    a, b = 1, 2", "2:5", "Assign in class 'A'", ""},
		{"slots", "class A(Component):\n    __slots__ = ()", "2:5", "'__slots__'", ""},
		{"a special method", "class A(Component):\n    def __getattr__(self, n): pass", "2:5", "'__getattr__'", ""},
		{"a class method", "class A(Component):\n    @classmethod\n    def f(cls): pass", "3:5", "decorator", ""},
		{"a setter", "class A(Component):\n    @p.setter\n    def p(self, v): pass", "3:5", "decorator", ""},
		{"a decorated __init__", "class A(Component):\n    @staticmethod\n    def __init__(name): pass", "3:5", "decorator", ""},
		{"a method without self", "class A(Component):\n    def f(): pass", "2:5", "must take self", ""},
		{"self by keyword", "class A(Component):\n    def f(*, self): pass", "2:5", "must take self", ""},
		{"a property with parameters", "class A(Component):\n    @property\n    def f(self, x): pass", "3:5", "self alone", ""},
		{"an async method", "class A(Component):\n    async def f(self): pass", "2:5", "AsyncFunctionDef", ""},
		{"a decorated function", "@d\ndef f(): pass", "2:1", "decorator", ""},
		{"*args", method("pass") + "\n    def f(self, *a): pass", "4:5", "*a", ""},
		{"**kw", "def f(**kw): pass", "1:1", "**kw", ""},
		{"positional-only", "def f(a, /): pass", "1:1", "positional-only", ""},
		{"an attribute of something else", method("name.x = 1"), "3:9", "Attribute", ""},
		{"self outside of a class", "def f(self):\n    self.x = 1", "2:5", "Attribute", ""},
		{"self in a static method", "class A(Component):\n    @staticmethod\n    def f(self): self.x = 1", "3:18", "Attribute", ""},
		{"self in a closure", method("def f():\n    self.x = 1"), "4:13", "Attribute", ""},
		{"self in a comprehension", method("x = [1 for self.x in y]"), "3:20", "Attribute", ""},
		{"a deeper attribute", method("self.a.b = 1"), "3:9", "Attribute", ""},
		{"a dunder attribute of self", method("self.__class__ = name"), "3:9", "__class__", ""},
		{"reading one", method("x = self.__dict__"), "3:13", "__dict__", ""},
		{"a private attribute of something else", method("x = name._y"), "3:13", "'_y'", ""},
		{"super for anything else", method("x = super()"), "3:13", "'super'", ""},
		{"super with arguments", method("super(A, self).__init__(name)"), "3:9", "__init__", ""},
		{"super of another method", method("super().other()"), "3:9", "'super'", ""},
		{"super outside of __init__", "class A(Component):\n    def f(self): super().__init__('x')", "2:18", "__init__", ""},
		{"super in a closure", method("f = lambda: super().__init__(name)"), "3:21", "__init__", ""},
		{"raise alone", "raise", "1:1", "Raise", "raise ERROR(text)"},
		{"raise of a class", "raise RegistryError", "1:1", "Raise", ""},
		{"raise with a cause", "raise RegistryError('x') from None", "1:1", "Raise", ""},
		{"raise of what an attribute is", "raise core.RegistryError('x')", "1:1", "Raise", ""},
		{"raise with two arguments", "raise RegistryError('x', 1)", "1:1", "Raise", ""},
		{"try", "try: x\nexcept A: y", "1:1", "Try", ""},
		{"while", "while x: pass", "1:1", "While", ""},
		{"a star import", "from .a import *", "1:1", "'*'", ""},
		{"a dunder import", "from .a import __b", "1:1", "'__b'", ""},
		{"__init__ as a module", "from .__init__ import b", "1:1", "'.__init__'", ""},
		{"another feature", "from __future__ import division", "1:1", "'__future__'", ""},
		{"the standard library", "from typing import Any", "1:1", "'typing'", ""},
		{"the test kit", "from atlantide.testing import Compiled", "1:1", "'atlantide.testing'", ""},
		{"a module", "import os", "1:1", "'os'", ""},
		{"__all__ that is computed", "__all__ = names()", "1:1", "'__all__'", ""},
		{"__all__ in a block", "if x:\n    __all__ = []", "2:5", "'__all__'", ""},
		{"names that reach beyond", "x = open", "1:5", "'open'", ""},
	} {
		t.Run(r.reason, func(t *testing.T) {
			found := checkComponent(t, r.text)
			if len(found) == 0 {
				t.Fatal("accepted")
			}
			got := *found[0]
			if got.Kind != model.ComponentError || got.File != componentFile || !strings.HasPrefix(got.Message, componentFile+": ") {
				t.Errorf("%s in %q: %v; want a ComponentError that names the file", got.Kind, got.File, &got)
			}
			got.Kind = model.LanguageError
			r.compare(t, &got)
		})
	}
}
