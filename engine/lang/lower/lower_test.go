package lower

import (
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	star "go.starlark.net/syntax"

	"github.com/atlantide-org/atlantide-operator/engine/lang/check"
	"github.com/atlantide-org/atlantide-operator/engine/lang/syntax"
)

func builtin(name string) bool { return name == "len" || name == "str" }

func lowered(t *testing.T, text string) *star.File {
	t.Helper()
	m, err := syntax.Parse("case.py", text)
	if err != nil {
		t.Fatal(err)
	}
	file, _, ok := File(m, "case.py", builtin, 1<<20)
	if !ok {
		t.Fatal("too many nodes")
	}
	return file
}

// The recipes (lang.md §16.2): what a construct becomes.
func TestRecipes(t *testing.T) {
	for _, c := range []struct{ why, text, want string }{
		{"operators are calls", "x = a + b * -c", "if False {x = None}; x = %binary +(%undefined('a'), %binary *(%undefined('b'), %unary -(%undefined('c'))))"},
		{"a rebound builtin starts as the builtin", "len = len", "len = %builtin('len'); len = len"},
		{"a function reads the outer name until it assigns its own", "x = 1\ndef f(c):\n    if c:\n        x = 2\n    return x",
			"if False {x = None; f = None}; x = 1; def f(c) {x%t1 = %unset; if c {x%t1 = 2}; return x%t1 if %isset(x%t1) else x}"},
		{"a local that is assigned before every read stays plain", "x = 1\ndef f(c):\n    x = c\n    return x",
			"if False {x = None; f = None}; x = 1; def f(c) {x = c; return x}"},
		{"assigned by both branches", "def f(c):\n    if c:\n        y = 1\n    else:\n        y = 2\n    return y",
			"if False {f = None}; def f(c) {if c {y = 1} else {y = 2}; return y}"},
		{"a branch that leaves does not count", "def f(c):\n    if c:\n        return 0\n    else:\n        y = 2\n    return y",
			"if False {f = None}; def f(c) {if c {return 0} else {y = 2}; return y}"},
		{"a comprehension's variable has a name of its own", "x = [x for x in str]",
			"if False {x = None}; x = [x%t1 for x%t1 in %collect(str)]"},
		{"a closure in a comprehension gets a scope per round", "x = [lambda: i for i in str]",
			"if False {x = None}; x = [(lambda i%t1: %made(lambda: i%t1))(i%t1) for i%t1 in %collect(str)]"},
		{"patterns in a comprehension", "x = [a for (a, *b) in str]",
			"if False {x = None}; x = [a%t2 for %t1 in %collect(str) for (a%t2, b%t3) in [%unpack(%t1, 2, 1)]]"},
		{"for and else", "for i in str:\n    break\nelse:\n    i = 1",
			"if False {i = None}; %t1 = False; for i in %iter(str) {%t1 = True; break}; if %t1 {pass} else {i = 1}"},
		{"with, and return out of it", "def f():\n    with str as a, len:\n        return a",
			"if False {f = None}; def f() {%t1 = str; a = %enter(%t1); %t2 = len; %enter(%t2); %t3 = a; %exit(%t2); %exit(%t1); return %t3}"},
		{"a chain reads a name twice, anything else once", "x = 1 < str < len() < 2",
			"if False {x = None}; x = (%compare <(1, str) and (lambda %t1, %t2: (%compare <(%t1, %t2) and %compare <(%t2, 2)))(str, %call(len)))"},
		{"augmented assignment evaluates the container once", "str[0] += 1",
			"%t1 = str; %t2 = 0; %store(%binary +(%getitem(%t1, %t2), 1), %t1, %t2)"},
		{"several targets share one value", "a = b[0] = 1",
			"if False {a = None}; %t1 = 1; a = %t1; %store(%t1, %undefined('b'), 0)"},
		{"starred calls keep their order", "str(1, *len, 2, k=3)",
			"%apply(str, %chain([[1], len, [2]]), [('k', 3)])"},
		{"displays", "{1: 2}, {3}, str[1:]", "%made((%dict([(1, 2)]), %set([3]), %getitem(str, %slice(1, None, None))))"},
		{"an f-string is a list of parts", "f'a{str!r:>{len}}'", "%join(['a', %format(str, 'r', %join(['>', %format(len, '', '')]))])"},
		{"the class form", "class A(EnvSchema):\n    'doc'\n    x: int = 1\n    y: str | None",
			"if False {A = None}; A = %schema('A', %base('A', %undefined('EnvSchema')), [%field('A', 'x', 'int', False, 1), %field('A', 'y', 'str', True)])"},
		{"imports", "from atlantide.core import Stack as S, output",
			"if False {S = None; output = None}; S = %import('atlantide.core', 'Stack'); output = %import('atlantide.core', 'output')"},
		{"large numbers, bytes, ellipsis", "12345678901234567890123, b'x', ...", "%made((12345678901234567890123, %bytes('x'), %ellipsis))"},
	} {
		t.Run(c.why, func(t *testing.T) {
			if got := stmts(lowered(t, c.text).Stmts); got != c.want {
				t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
			}
		})
	}
}

// Whatever check admits must compile.
func TestVectorsCompile(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "conformance", "vectors", "*", "infra.py"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	predeclared := func(name string) bool { return name[0] == '%' || builtin(name) }
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, err := syntax.Parse(file, string(text))
		if err != nil || len(check.Check(m, check.Options{Filename: file})) > 0 {
			continue
		}
		lowered, _, _ := File(m, file, builtin, 1<<20)
		if _, err := starlark.FileProgram(lowered, predeclared); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// Calls carry the place of the construct that they stand for.
func TestPositions(t *testing.T) {
	f := lowered(t, "len\nx = (str\n  .upper)")
	assign := f.Stmts[len(f.Stmts)-1].(*star.AssignStmt)
	if pos := assign.RHS.(*star.CallExpr).Lparen; pos.Line != 2 || pos.Col != 6 {
		t.Errorf("the attribute is at %v", pos)
	}
}

// stmts writes a lowered tree on one line.
func stmts(list []star.Stmt) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = stmt(s)
	}
	return strings.Join(out, "; ")
}

func stmt(s star.Stmt) string {
	switch s := s.(type) {
	case *star.ExprStmt:
		return expr(s.X)
	case *star.AssignStmt:
		return expr(s.LHS) + " = " + expr(s.RHS)
	case *star.BranchStmt:
		return s.Token.String()
	case *star.ReturnStmt:
		return "return " + expr(s.Result)
	case *star.IfStmt:
		text := "if " + expr(s.Cond) + " {" + stmts(s.True) + "}"
		if s.False != nil {
			text += " else {" + stmts(s.False) + "}"
		}
		return text
	case *star.ForStmt:
		return "for " + expr(s.Vars) + " in " + expr(s.X) + " {" + stmts(s.Body) + "}"
	case *star.DefStmt:
		return "def " + s.Name.Name + "(" + exprs(s.Params) + ") {" + stmts(s.Body) + "}"
	}
	return fmt.Sprintf("?%T", s)
}

func exprs(list []star.Expr) string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = expr(e)
	}
	return strings.Join(out, ", ")
}

func expr(e star.Expr) string {
	switch e := e.(type) {
	case *star.Ident:
		return e.Name
	case *star.Literal:
		switch v := e.Value.(type) {
		case string:
			return "'" + v + "'"
		case *big.Int:
			return v.String()
		}
		return fmt.Sprint(e.Value)
	case *star.CallExpr:
		f := expr(e.Fn)
		if _, ok := e.Fn.(*star.LambdaExpr); ok {
			f = "(" + f + ")"
		}
		return f + "(" + exprs(e.Args) + ")"
	case *star.ListExpr:
		return "[" + exprs(e.List) + "]"
	case *star.TupleExpr:
		return "(" + exprs(e.List) + ")"
	case *star.BinaryExpr:
		return "(" + expr(e.X) + " " + e.Op.String() + " " + expr(e.Y) + ")"
	case *star.UnaryExpr:
		return "(" + e.Op.String() + " " + expr(e.X) + ")"
	case *star.CondExpr:
		return expr(e.True) + " if " + expr(e.Cond) + " else " + expr(e.False)
	case *star.LambdaExpr:
		params := exprs(e.Params)
		if params != "" {
			params = " " + params
		}
		return "lambda" + params + ": " + expr(e.Body)
	case *star.Comprehension:
		text := "[" + expr(e.Body)
		for _, c := range e.Clauses {
			switch c := c.(type) {
			case *star.ForClause:
				text += " for " + expr(c.Vars) + " in " + expr(c.X)
			case *star.IfClause:
				text += " if " + expr(c.Cond)
			}
		}
		return text + "]"
	}
	return fmt.Sprintf("?%T", e)
}
