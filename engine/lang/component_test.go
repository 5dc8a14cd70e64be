package lang

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

// acme is a component's tree with these modules, by path below its folder.
type acme map[string]string

func (a acme) tree(more ...acme) Options {
	files := map[string]string{}
	for name, text := range a {
		files[path.Join("components/acme", name)] = text
	}
	for _, other := range more {
		maps.Copy(files, other)
	}
	return Options{Source: sourcetree.Texts(files)}
}

const (
	fromCore = "from atlantide.core import AtlantideError, Component, EnvSchema, RegistryError, Stack, StateError, child, current_stack_region, region\nfrom atlantide.providers.test import B, W\n"
	useAcme  = "from atlantide.core import Stack, StackReference, child, output, region\nfrom atlantide.providers.test import B, W\nfrom atlantide.components.acme import Thing\n"
)

// thing is an acme whose one module declares Thing with this body of __init__.
func thing(params, body string) acme {
	text := fromCore + "class Thing(Component):\n    def __init__(self, name" + params + "):\n"
	for line := range strings.SplitSeq(body, "\n") {
		text += "        " + line + "\n"
	}
	return acme{"__init__.py": text}
}

// What a config with a component declares: node ids, and outputs by key.
func TestComponents(t *testing.T) {
	for _, c := range []struct {
		why    string
		acme   acme
		config string
		want   []string
	}{
		{"children get the component's name before their own", thing("", "child(W, 'a')\nW('b')"), "Thing('t')\nW('c')",
			[]string{"default:test.W:c", "default:test.W:t-a", "default:test.W:t-b"}},
		{"names accumulate, and init sees the plain one", thing(", *, deep=False", "self.name = name\nif deep:\n    self.inner = Thing('in')\nW('w', label=name)"),
			"t = Thing('out', deep=True)\noutput('n', [t.name, t.inner.name])",
			[]string{"default:test.W:out-in-w", "default:test.W:out-w", `default:n=["out","in"]`}},
		{"a component is declared like a resource", thing(", n=1", "if n:\n    child(Thing, 'x', n=n - 1)\nelse:\n    W('w')"), "Thing('t')",
			[]string{"default:test.W:t-x-w"}},
		{"the scope ends with init, not with a stack inside", thing("", "with Stack('s', region='r'):\n    B('b', bucket='x')\n    with region('q'):\n        W('w')"), "Thing('t')\nW('w')",
			[]string{"default:test.W:w", "s:test.B:t-b", "s:test.W:t-w"}},
		{"keyword-only arguments, defaults, annotations that name nothing", thing(": str, *, size: 'Nothing | None' = 3, label: list[Whatever]", "self.w: Unknown = W('w', size=size, label=label)"),
			"t = Thing('t', label='l')\noutput('o', [t.w.size, t.w.label])",
			[]string{"default:test.W:t-w", `default:o=[3,"l"]`}},
		{"stack and prefix reach the children", thing("", "self.b = child(B, 'b')\nself.where = current_stack_region()"),
			"with Stack('s', region='eu', name_prefix='p', tags={'k': 'v'}):\n    t = Thing('t')\n    output('o', [t.b.bucket, t.b.region, t.b.tags, t.where])",
			[]string{"s:test.B:t-b", `s:o=["p-t-b-s","eu",{"k":"v"},"eu"]`}},
		{"handles of children can be read", thing("", "self.arn = B('b', bucket='x').arn"), "output('o', Thing('t').arn)",
			[]string{"default:test.B:t-b", `default:o={"$ref":"default:test.B:t-b#arn"}`}},
		{"attributes in every form of assignment", thing("", "self.a, (self.b, *self.c) = 1, [2, 3, 4]\nself.a += 10\nself.d = self.e = 'x'\nfor self.f in [5, 6]:\n    pass\nself._p = self.a\nself.g = [self._p for i in range(2)]"),
			"t = Thing('t')\noutput('o', [t.a, t.b, t.c, t.d, t.e, t.f, t.g])", []string{`default:o=[11,2,[3,4],"x","x",6,[11,11]]`}},
		{"a name given by keyword", thing("", "W('w')"), "Thing(name='t')", []string{"default:test.W:t-w"}},
		{"no __init__ at all", acme{"__init__.py": fromCore + "class Thing(Component):\n    pass"}, "output('o', Thing('t').name)", []string{`default:o="t"`}},
	} {
		t.Run(c.why, func(t *testing.T) { wantDeclared(t, c.acme.tree(), useAcme+c.config, c.want) })
	}
}

func wantDeclared(t *testing.T, o Options, config string, want []string) {
	t.Helper()
	res, err := compile(t, config, o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range res.Document.Nodes {
		got = append(got, res.Document.Nodes[i].ID)
	}
	slices.Sort(got)
	for _, out := range res.Outputs {
		got = append(got, out.Key+"="+asJSON(t, out.Value))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("declared (-want +got):\n%s", diff)
	}
}

const members = `"""A component with everything a class may hold."""
from __future__ import annotations

from atlantide.core import Component
from atlantide.providers.test import W

__all__ = ["Thing", "Sub"]


class Thing(Component):
    """The base."""

    KIND = "k"
    PAIR: tuple[str, str] = (KIND, KIND + "2")
    later: int

    def __init__(self, name: str, size: int = 1) -> None:
        self.name = name
        self._size = size
        self.w = W("w", size=self.total(2), label=self.label)

    def total(self, n, *, plus=0):
        return self._size * n + plus

    @property
    def label(self):
        return self.KIND + str(self._size)

    @property
    def both(self):
        return [f() for f in [lambda: self._size]] + [self.twice(3)]

    @staticmethod
    def twice(n):
        return n * 2


class Sub(Thing):
    KIND = "sub"

    def __init__(self, name):
        super().__init__(name, size=5)
        self.extra = W("extra")


class Own(Component):
    def __init__(self, name):
        super().__init__(name)
`

func TestMembers(t *testing.T) {
	modules := acme{"__init__.py": members}
	wantDeclared(t, modules.tree(), `from atlantide.core import output
from atlantide.components.acme import Own, Sub, Thing
t, s = Thing("t"), Sub("s")
output("o", [t.total(3, plus=1), t.label, t.both, t.twice(4), Thing.twice(5), Thing.PAIR, t.KIND, s.KIND, s.label, s.name, Own("o").name])
`, []string{"default:test.W:s-extra", "default:test.W:s-w", "default:test.W:t-w",
		`default:o=[4,"k1",[1,6],8,10,["k","k2"],"k","sub","sub5","s","o"]`})
}

func TestTrees(t *testing.T) {
	plain := fromCore + "class Thing(Component):\n    def __init__(self, name):\n        W('w', label=%q)\n"
	thingSaying := func(label string) string { return fmt.Sprintf(plain, label) }
	vendored := acme{".atlantis/components/acme/__init__.py": thingSaying("vendored")}
	for _, c := range []struct {
		why, imports string
		o            Options
	}{
		{"a package", "from atlantide.components.acme import Thing", acme{"__init__.py": thingSaying("x")}.tree()},
		{"a module of it", "from atlantide.components.acme.sites.web import Thing", acme{"sites/web.py": thingSaying("x")}.tree()},
		{"a package goes before a module of its name", "from atlantide.components.acme.web import Thing",
			acme{"web/__init__.py": thingSaying("x"), "web.py": "x = eval"}.tree()},
		{"the vendored tree goes before the project's own", "from atlantide.components.acme import Thing", acme{"__init__.py": "x = eval"}.tree(vendored)},
		{"re-exported from a public module below", "from atlantide.components.acme import Thing",
			acme{"__init__.py": "from .web import Thing", "web.py": thingSaying("x")}.tree()},
		{"relative imports reach private modules; tests are never looked at", "from atlantide.components.acme.web.site import Thing", acme{
			"web/site.py": "from .._parts.names import _label\nfrom .sizes import SIZE\n" + fromCore +
				"class Thing(Component):\n    def __init__(self, name):\n        W('w', label=_label(), size=SIZE)\n",
			"web/sizes.py":     "SIZE = 3",
			"_parts/names.py":  "def _label(): return 'x'",
			"tests/test_it.py": "import pytest",
		}.tree()},
	} {
		t.Run(c.why, func(t *testing.T) { wantDeclared(t, c.o, c.imports+"\nThing('t')", []string{"default:test.W:t-w"}) })
	}
}

func TestASharedModuleRunsOnce(t *testing.T) {
	modules := acme{
		"__init__.py": "from .a import A\nfrom .b import B\n",
		"_log.py":     "SEEN = []\n",
		"a.py":        "from ._log import SEEN\nSEEN.append('a')\nA = 1\n",
		"b.py":        "from ._log import SEEN\nSEEN.append('b')\nB = SEEN\n",
	}
	wantDeclared(t, modules.tree(), "from atlantide.core import output\nfrom atlantide.components.acme import A, B\noutput('o', B)\n", []string{`default:o=["a","b"]`})
}

// refusedComponent says what an evaluation of a component ends in: the kind, the place
// in the file named, and texts.
type refusedComponent struct {
	why    string
	acme   acme
	config string
	kind   model.Kind
	file   string // "" = the config
	at     string
	says   []string
}

func (c refusedComponent) run(t *testing.T, o Options) {
	t.Helper()
	t.Run(c.why, func(t *testing.T) {
		t.Helper()
		_, err := compile(t, c.config, o)
		var got *model.Error
		if !errors.As(err, &got) {
			t.Fatalf("error %v", err)
		}
		if got.Kind != c.kind || got.Class != model.ClassUser {
			t.Errorf("%s of class %s, want %s of the user: %v", got.Kind, got.Class, c.kind, got)
		}
		file := c.file
		if file == "" {
			file = "infra.py"
		}
		if at := fmt.Sprintf("%d:%d", got.Line, got.Col); at != c.at || got.File != file {
			t.Errorf("at %s %s, want %s %s: %v", got.File, at, file, c.at, got)
		}
		if got.Source == "" {
			t.Errorf("shows no line: %v", got)
		}
		for _, s := range c.says {
			if !strings.Contains(got.Error(), s) {
				t.Errorf("%q lacks %q", got.Error(), s)
			}
		}
	})
}

// The config's call is the place; the component's own is a note.
func TestErrorsInsideComponents(t *testing.T) {
	const file = "components/acme/__init__.py"
	for _, c := range []refusedComponent{
		{why: "raise, with the class and the text", acme: thing(", *, where=None", "if not where:\n    raise RegistryError(f'{name} needs a place')"),
			config: useAcme + "x = Thing(\n  'web')", kind: model.RegistryError, at: "4:5", says: []string{"web needs a place", "raised in " + file + ", line 6"}},
		{why: "raise below a call of the module", acme: acme{"__init__.py": fromCore + "def fail(): raise AtlantideError('no')\nclass Thing(Component):\n    def __init__(self, name):\n        self.x = fail()"},
			config: useAcme + "def make(): return Thing('t')\nmake()", kind: model.AtlantideError, at: "4:20", says: []string{"no;", "line 3, col 13"}},
		{why: "an error of the language", acme: thing("", "self.x = 1 / 0"), config: useAcme + "Thing('t')", kind: model.LanguageError, at: "4:1", says: []string{"ZeroDivisionError", file}},
		{why: "a resource that is refused", acme: thing("", "child(B, 'b')"), config: useAcme + "Thing('t')", kind: model.LanguageError, at: "4:1",
			says: []string{"test.B 't-b'", "bucket: is required"}},
		{why: "a child declared twice", acme: thing("", "W('w')"), config: useAcme + "Thing('t')\nThing('t')", kind: model.RegistryError, at: "5:1", says: []string{"default:test.W:t-w"}},
		{why: "a name that is none", acme: thing("", "pass"), config: useAcme + "Thing('a b')", kind: model.RegistryError, at: "4:1", says: []string{"component name 'a b'"}},
		{why: "no name", acme: thing("", "pass"), config: useAcme + "Thing()", kind: model.LanguageError, at: "4:1", says: []string{"Thing()", "name"}},
		{why: "a missing argument", acme: thing(", *, size", "pass"), config: useAcme + "Thing('t')", kind: model.LanguageError, at: "4:1", says: []string{"Thing()", "'size'"}},
		{why: "keyword-only by position", acme: thing(", *, size", "pass"), config: useAcme + "Thing('t', 5)", kind: model.LanguageError, at: "4:1", says: []string{"takes 2 positional arguments but 3"}},
		{why: "child outside of a component", acme: thing("", "pass"), config: useAcme + "child(W, 'w')", kind: model.LanguageError, at: "4:1", says: []string{"child()"}},
		{why: "child in a method called later", acme: acme{"__init__.py": fromCore + "class Thing(Component):\n    def more(self): child(W, 'w')"},
			config: useAcme + "Thing('t').more()", kind: model.LanguageError, at: "4:1", says: []string{"child()"}},
		{why: "child of something else", acme: thing("", "child('W', 'w')"), config: useAcme + "Thing('t')", kind: model.LanguageError, at: "4:1", says: []string{"TypeError", "str"}},
		{why: "a component does not change after it was made", acme: acme{"__init__.py": fromCore + "class Thing(Component):\n    def set(self): self.x = 1"},
			config: useAcme + "Thing('t').set()", kind: model.LanguageError, at: "4:1", says: []string{"'x'", "does not change"}},
		{why: "a property is not set", acme: acme{"__init__.py": fromCore + "class Thing(Component):\n    def __init__(self, name):\n        self.p = 1\n    @property\n    def p(self): return 1"},
			config: useAcme + "Thing('t')", kind: model.LanguageError, at: "4:1", says: []string{"AttributeError", "'p'"}},
		{why: "an attribute that is not there", acme: thing("", "pass"), config: useAcme + "Thing('t').x", kind: model.LanguageError, at: "4:1", says: []string{"'Thing' object has no attribute 'x'"}},
		{why: "self that is no object any more", acme: thing("", "self = 5\nself.x = 1"), config: useAcme + "Thing('t')", kind: model.LanguageError, at: "4:1", says: []string{"AttributeError", "'int'"}},
		{why: "a component has no text", acme: thing("", "pass"), config: useAcme + "str(Thing('t'))", kind: model.LanguageError, at: "4:1", says: []string{"cannot render a Thing"}},
		{why: "nor is it a value of a field", acme: thing("", "pass"), config: useAcme + "W('w', data=Thing('t'))", kind: model.IRError, at: "4:1", says: []string{"Thing"}},
		{why: "or something to depend on", acme: thing("", "pass"), config: useAcme + "W('w', depends_on=[Thing('t')])", kind: model.IRError, at: "4:1", says: []string{"Thing"}},
		{why: "a constructor makes the object and nothing else", acme: thing("", "return self"), config: useAcme + "Thing('t')", kind: model.LanguageError, at: "4:1", says: []string{"TypeError", "None", "Thing"}},
		{why: "raising no error class", acme: thing("", "raise W('x')"), config: useAcme + "Thing('t')", kind: model.LanguageError, at: "4:1", says: []string{"TypeError", "error class"}},
		{why: "raising what is no text", acme: thing("", "raise RegistryError(5)"), config: useAcme + "Thing('t')", kind: model.LanguageError, at: "4:1", says: []string{"TypeError", "int"}},
		{why: "an error of the store cannot be made up", acme: thing("", "raise StateError('x')"), config: useAcme + "Thing('t')", kind: model.ComponentError, at: "4:1", says: []string{"StateError"}},
		{why: "a failure while the module runs is at the import", acme: acme{"__init__.py": "x = [][0]"}, config: useAcme, kind: model.LanguageError, at: "3:1", says: []string{"IndexError", file + ", line 1, col 5"}},
	} {
		c.run(t, c.acme.tree())
	}
}

func TestImportsOfComponents(t *testing.T) {
	const use = "x = 1\nfrom atlantide.components.acme import Thing\n"
	for _, c := range []refusedComponent{
		{why: "an alias that is not there", acme: acme{}, config: "x = 1\nfrom atlantide.components.other import Thing\n", kind: model.RegistryError, at: "2:1", says: []string{"'other'", "not vendored"}},
		{why: "a loose file is no component", acme: acme{"../loose.py": "Thing = 1"}, config: "from atlantide.components.loose import Thing\n", kind: model.RegistryError, at: "1:1", says: []string{"'loose'"}},
		{why: "a module that is not there", acme: acme{"__init__.py": ""}, config: "from atlantide.components.acme.web import Thing\n", kind: model.RegistryError, at: "1:1", says: []string{"'acme'", "'atlantide.components.acme.web'"}},
		{why: "a name that is not there", acme: acme{"__init__.py": ""}, config: use, kind: model.LanguageError, at: "2:39", says: []string{"'Thing'", "atlantide.components.acme"}},
		{why: "a module as a name", acme: acme{"Thing.py": ""}, config: use, kind: model.LanguageError, at: "2:1", says: []string{"is a module"}},
		{why: "re-exported from a private module", acme: acme{"__init__.py": "from ._web import Thing", "_web.py": thing("", "pass")["__init__.py"]}, config: use,
			kind: model.LanguageError, at: "2:1", says: []string{"'atlantide.components.acme._web'", "private"}},
		{why: "a function of a private module", acme: acme{"__init__.py": "from ._web import Thing", "_web.py": "def Thing(): pass"}, config: use, kind: model.LanguageError, at: "2:1", says: []string{"private"}},
		{why: "what a module only imports from beside itself", acme: acme{"a.py": "from .b import Thing", "b.py": "def Thing(): pass"}, config: "from atlantide.components.acme.a import Thing",
			kind: model.LanguageError, at: "1:1", says: []string{"'atlantide.components.acme.b'"}},
		{why: "what a module imports of the engine", acme: acme{"__init__.py": "from atlantide.core import Stack as Thing"}, config: use, kind: model.LanguageError, at: "2:1", says: []string{"only imports it"}},
		{why: "the base of a class from another tree", acme: acme{"__init__.py": "from atlantide.components.other import Base\nclass Thing(Base):\n    pass", "../other/__init__.py": fromCore + "class Base(Component):\n    pass"},
			config: use, kind: model.ComponentError, at: "2:1", says: []string{"components/acme/__init__.py", "same tree"}},
		{why: "a base that is no component", acme: acme{"__init__.py": "from atlantide.providers.test import W\nclass Thing(W):\n    pass"}, config: use, kind: model.ComponentError, at: "2:1", says: []string{"'Thing'"}},
	} {
		c.run(t, c.acme.tree())
	}
	t.Run("plain data may come from a private module", func(t *testing.T) {
		modules := acme{"__init__.py": "from ._data import SIZES", "_data.py": "SIZES = {'a': 1}"}
		wantDeclared(t, modules.tree(), "from atlantide.core import output\nfrom atlantide.components.acme import SIZES\noutput('o', SIZES)", []string{`default:o={"a":1}`})
	})
	t.Run("without a tree there are no components", func(t *testing.T) {
		_, err := compile(t, use, Options{})
		if model.KindOf(err) != model.RegistryError {
			t.Errorf("error %v", err)
		}
	})
}

// A published tree is a stranger's: it may neither hang, fill nor escape.
func TestHostileComponents(t *testing.T) {
	const use = "from atlantide.components.acme import Thing\n"
	module := func(text string) acme { return acme{"__init__.py": text} }
	for _, c := range []refusedComponent{
		{why: "modules in a circle", acme: acme{"__init__.py": "from .a import x", "a.py": "from .b import x", "b.py": "from .a import x"}, config: use, kind: model.ComponentError, at: "1:1",
			says: []string{"circle", "atlantide.components.acme -> atlantide.components.acme.a -> atlantide.components.acme.b -> atlantide.components.acme.a"}},
		{why: "a module that imports itself", acme: module("from . import Thing"), config: use, kind: model.ComponentError, at: "1:1", says: []string{"circle"}},
		{why: "a relative import out of the tree", acme: module("from ..other import Thing"), config: use, kind: model.ComponentError, at: "1:1", says: []string{"'..other'", "leads out"}},
		{why: "far out", acme: module("from ........ import Thing"), config: use, kind: model.ComponentError, at: "1:1", says: []string{"leads out"}},
		{why: "a loop without end in what it computes", acme: module("x = [1]\nfor i in x:\n    x.append(i)"), config: use, kind: model.FuelExhaustedError, at: "1:1", says: []string{"--fuel"}},
		{why: "a component within itself", acme: thing("", "Thing('t')"), config: use + "Thing('t')", kind: model.FuelExhaustedError, at: "2:1", says: []string{"nested"}},
		{why: "a property that reads itself", acme: module(fromCore + "class Thing(Component):\n    @property\n    def p(self): return self.p"), config: use + "Thing('t').p", kind: model.FuelExhaustedError, at: "2:1", says: []string{"nested"}},
		{why: "a name without end", acme: thing("", "Thing('a' * 400000)"), config: use + "Thing('t')", kind: model.RegistryError, at: "2:1", says: []string{"255"}},
		{why: "names that grow with each level", acme: thing("", "Thing('a' * 250)"), config: use + "Thing('t')", kind: model.FuelExhaustedError, at: "2:1"},
		{why: "attributes without number", acme: thing("", "for i in range(10**7):\n    self.x = i"), config: use + "Thing('t')", kind: model.FuelExhaustedError, at: "2:1"},
		{why: "a module that is too large", acme: module(strings.Repeat("# padding padding padding padding\n", 40_000)), config: use, kind: model.ComponentError, at: "1:1", says: []string{"more bytes than the 1048576"}},
		{why: "many modules", acme: manyModules(5, strings.Repeat("#", 1<<20-100)), config: use, kind: model.ComponentError, at: "1:1", says: []string{"4194304 bytes"}},
		{why: "very many modules", acme: manyModules(1001, ""), config: use, kind: model.ComponentError, at: "1:1", says: []string{"1000"}},
		{why: "a module that is no text", acme: module("\xff"), config: use, kind: model.ComponentError, at: "1:1", says: []string{"UTF-8"}},
	} {
		c.run(t, c.acme.tree())
	}
	t.Run("the end of the context is told from an error", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		o := thing("", "pass").tree()
		o.Schemas = testSchemas(t)
		_, err := Compile(ctx, Source{Filename: "infra.py", Text: use}, o)
		if model.ClassOf(err) != model.ClassTransient || !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}

// manyModules import one another in a row.
func manyModules(n int, padding string) acme {
	modules := acme{"__init__.py": "from .m0 import Thing"}
	for i := range n {
		modules[fmt.Sprintf("m%d.py", i)] = fmt.Sprintf("from .m%d import Thing\n%s\n", i+1, padding)
	}
	modules[fmt.Sprintf("m%d.py", n)] = "Thing = 1"
	return modules
}

// What is outside of the dialect is refused where it stands, in the component's file.
func TestOutsideTheDialect(t *testing.T) {
	const file, use = "components/acme/_site.py", "from atlantide.components.acme import x\n"
	for _, c := range []struct{ why, text, at, says string }{
		{"the standard library", "import os", "1:1", "'os'"},
		{"also of types", "from typing import Any", "1:1", "'typing'"},
		{"files", "x = open('/etc/passwd')", "1:5", "'open'"},
		{"another class", "class A: pass", "1:1", "ClassDef"},
		{"a loop without bound", "def f():\n    while True: pass", "2:5", "While"},
		{"a syntax error", "x = (", "1:5", "syntax error"},
	} {
		refusedComponent{
			why: c.why, config: use, kind: model.ComponentError, file: file, at: c.at, says: []string{file, c.says},
		}.run(t, acme{"__init__.py": "from ._site import x", "_site.py": c.text}.tree())
	}
}

// A module of any text ends in a result or in a typed error of the user.
func FuzzComponent(f *testing.F) {
	for _, seed := range []string{members, thing(", *, n=1", "self.a, *self.b = name\nchild(W, 'w')\nraise RegistryError(name)")["__init__.py"], manyModules(1, "")["__init__.py"], "class Thing(Thing): pass"} {
		f.Add(seed)
	}
	schemas := testSchemas(f)
	f.Fuzz(func(t *testing.T, text string) {
		o := acme{"__init__.py": text, "m0.py": "Thing = 1"}.tree()
		o.Schemas, o.Fuel, o.MaxTotalBytes = schemas, 20_000, 8<<20
		_, err := Compile(t.Context(), Source{Filename: "infra.py", Text: "from atlantide.components.acme import Thing\nThing('t')"}, o)
		if err != nil && (model.ClassOf(err) != model.ClassUser || model.KindOf(err) == model.AtlantideError && !strings.Contains(text, "AtlantideError")) {
			t.Errorf("error %v of class %s", err, model.ClassOf(err))
		}
	})
}
