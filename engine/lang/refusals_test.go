package lang

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// The rows of lang.md §17 that no evaluation reaches: what the parser and the check
// refuse, at which place and in which words. Each row is compiled as a whole config.
func TestRefusals(t *testing.T) {
	for _, c := range []struct{ row, text, at, words string }{
		{"4", "from __future__ import annotations", "1:1", "__future__"},
		{"5", "from atlantide.ir import x", "1:1", "atlantide.ir"},
		{"5", "from atlantide.corex import y", "1:1", "atlantide.corex"},
		{"6", "from atlantide.core import (\n    Stack,\n    _x)", "1:1", "private '_x'"},
		{"8", "from atlantide.core import *", "1:1", "'*'"},
		{"9", "import atlantide", "1:1", "module"},
		{"11", "from atlantide.providers.aws.handlers.s3 import H", "1:1", "atlantide.providers.aws.handlers.s3"},
		{"14", `x = f"{eval}"`, "1:8", "'eval'"},
		{"15", `x = f"{1:{open}}"`, "1:11", "'open'"},
		{"16", "def f(a: open): pass", "1:10", "'open'"},
		{"17", `x = "{}".format(1)`, "1:5", "'format'"},
		{"18", "x = (1).__class__", "1:5", "'__class__'"},
		{"18", "x = __name__", "1:5", "'__name__'"},
		{"21", "input = 5", "1:1", "'input'"},
		{"22", "x = (y := 1)", "1:6", "NamedExpr"},
		{"23", "def f():\n    yield 1", "2:5", "Yield"},
		{"24", "assert True", "1:1", "Assert"},
		{"24", "match 1:\n    case 1: pass", "1:1", "Match"},
		{"25", "x = [1\ny = 2", "1:5", "'[' was never closed"},
		{"26", `x = "abc`, "1:5", "unterminated string"},
		{"27", "def f():\npass", "2:1", "expected an indented block"},
		{"28", "if x = 1: pass", "1:4", "syntax error"},
		{"29", "f(x for x in [1], 2)", "1:3", "syntax error"},
		{"30", "return 5", "1:1", "'return' outside function"},
		{"30", "break", "1:1", "'break' outside loop"},
		{"31", "r = [*[1], 2]", "1:6", "Starred"},
		{"31", "r = {**{}}", "1:5", "**"},
		{"31", "f(**{})", "1:1", "**"},
		{"32", "x = 1\nx.y = 2", "2:1", "Attribute"},
		{"33", "class A: pass", "1:1", "EnvSchema"},
		{"35", "if True:\n    class A(EnvSchema):\n        x: int", "2:5", "module level"},
		{"36", "@d\nclass A(EnvSchema): pass", "2:1", "decorator"},
		{"37", "class A(EnvSchema):\n    x: list[str]", "2:8", "generics"},
		{"38", "class A(EnvSchema):\n    x: None | str", "2:8", "X | None"},
		{"39", "class A(EnvSchema):\n    name: str", "2:5", "'name' reserved"},
		{"39", "class A(EnvSchema):\n    _x: str", "2:5", "'_x' underscore"},
		{"39", "class A(EnvSchema):\n    x: str\n    x: int", "3:5", "'x' twice"},
		{"40", "class A(EnvSchema):\n    x: str\n    \"later\"", "3:5", "Expr"},
		{"132", "x = \"é\"; eval(\"1\")", "1:10", "'eval'"},
		{"137", "a, *b, *c = [1]", "1:8", "multiple starred expressions"},
		{"138", "*a = [1]", "1:1", "Starred"},
		{"138", "for *a in [[1]]: pass", "1:5", "Starred"},
		{"139", "def f(*a): pass", "1:1", "'f' *a"},
		{"139", "f = lambda *a: 1", "1:5", "lambda *a"},
		{"140", "for i in [1]:\n    pass\nelse:\n    break", "4:5", "'break' outside loop"},
		{"140", "for i in [1]:\n    def f():\n        break", "3:9", "'break' outside loop"},
		{"141", "def f[T](): pass", "1:1", "'f' type parameters"},
		{"141", "type X = int", "1:1", "TypeAlias"},
		{"143", "x = atlantide._inputs", "1:5", "'_inputs'"},
		{"145", "from atlantide.core import active_registry", "1:1", "'active_registry'"},
		{"145", "from atlantide.core import Context as c", "1:1", "'Context'"},
		{"145", "from atlantide.core import Provider", "1:1", "'Provider'"},
		{"146", "from atlantide.core.tuning import X", "1:1", "atlantide.core.tuning"},
		{"146", "from atlantide.core._tree import X", "1:1", "atlantide.core._tree"},
		{"146", "from atlantide.testing import Compiled", "1:1", "atlantide.testing"},
		{"147", "from atlantide.core.stack import Literal", "1:34", "'Literal'"},
	} {
		_, err := compile(t, c.text, Options{})
		e, ok := errors.AsType[*model.Error](err)
		if !ok || e.Kind != model.LanguageError {
			t.Errorf("row %s: %q gave %v, want a LanguageError", c.row, c.text, err)
			continue
		}
		if at := fmt.Sprintf("%d:%d", e.Line, e.Col); at != c.at {
			t.Errorf("row %s: %q is refused at %s, want %s (%s)", c.row, c.text, at, c.at, e.Message)
		}
		for word := range strings.FieldsSeq(c.words) {
			if !strings.Contains(e.Message, word) {
				t.Errorf("row %s: %q: the message lacks %q: %s", c.row, c.text, word, e.Message)
			}
		}
	}
}

// The hints that a row names.
func TestRefusalHints(t *testing.T) {
	for _, c := range []struct{ row, text, hint string }{
		{"17", `x = "{}".format(1)`, "f-string"},
		{"17", `x = "{}".format(1)`, "interpolate"},
		{"37", "class A(EnvSchema):\n    x: list[str]", "use list"},
		{"141", "def f[T](): pass", "drop them"},
		{"141", "type X = int", "assign to a name"},
	} {
		_, err := compile(t, c.text, Options{})
		if e, ok := errors.AsType[*model.Error](err); !ok || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("row %s: %q has no hint of %q: %v", c.row, c.text, c.hint, err)
		}
	}
}

// Rows that are accepted against appearances.
func TestAcceptedRows(t *testing.T) {
	for _, c := range []struct{ row, text string }{
		{"19", `x = {"__class__": 1}["__class__"]`},
		{"20", "dict(type=1)"},
		{"43", "from atlantide.core import EnvSchema\nstr = 5\nclass A(EnvSchema):\n    x: str = \"a\""},
		{"134", "x = " + strings.Repeat("1+", 499) + "1"},
	} {
		if _, err := compile(t, c.text, Options{}); err != nil {
			t.Errorf("row %s: %q: %v", c.row, c.text, err)
		}
	}
	res, err := compile(t, "def f():\n    from atlantide.core import output\n    output(\"k\", 1)\nf()", Options{})
	if err != nil || len(res.Outputs) != 1 || res.Outputs[0].Key != "default:k" {
		t.Errorf("row 13: %v, %v", res, err)
	}
	res, err = compile(t, "atlantide.secret('t')", Options{Inputs: map[string]any{"t": "x"}})
	if err != nil || len(res.Inputs) != 0 {
		t.Errorf("row 126: a secret read an input: %v, %v", res, err)
	}
}
