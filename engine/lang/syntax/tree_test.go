package syntax_test

import (
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/lang/syntax"
)

// show writes a node as (Kind@line:col field …), a constant as its value.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case *syntax.Constant:
		switch value := v.Value.(type) {
		case nil:
			return "None"
		case *big.Int:
			return value.String()
		case string:
			return strconv.QuoteToASCII(value)
		case syntax.Bytes:
			return "b" + strconv.QuoteToASCII(string(value))
		case syntax.Imaginary:
			return fmt.Sprint(float64(value)) + "j"
		case syntax.Ellipsis:
			return "..."
		default:
			return fmt.Sprint(value)
		}
	case syntax.Node:
		return "(" + v.Kind() + fmt.Sprintf("@%d:%d", v.Start().Line, v.Start().Col) + fields(v) + ")"
	}
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Slice:
		parts := make([]string, r.Len())
		for i := range parts {
			parts[i] = show(r.Index(i).Interface())
		}
		return "[" + strings.Join(parts, " ") + "]"
	case reflect.Struct:
		return "<" + strings.TrimPrefix(fields(v), " ") + ">"
	case reflect.String:
		return r.String()
	}
	return fmt.Sprint(v)
}

// fields shows the fields of a node that are set.
func fields(n any) string {
	var b strings.Builder
	r := reflect.Indirect(reflect.ValueOf(n))
	for _, f := range r.Fields() {
		if f.IsZero() || f.Type() == reflect.TypeFor[syntax.Pos]() {
			continue
		}
		if f.Kind() == reflect.Uint8 {
			fmt.Fprintf(&b, " !%c", f.Uint())
			continue
		}
		b.WriteString(" " + show(f.Interface()))
	}
	return b.String()
}

func showText(t *testing.T, text string) string {
	t.Helper()
	m, err := syntax.Parse("infra.py", text)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(show(m.Body), "["), "]")
}

func TestExpressions(t *testing.T) {
	for _, c := range []struct{ reason, text, want string }{
		{"a call starts at its function", "a.b(1, *c, d=2)", "(Call@1:1 (Attribute@1:1 (Name@1:1 a) b) [1 (Starred@1:8 (Name@1:9 c))] [<d 2>])"},
		{"an operator starts at its left side, parentheses included", "(a) + b", "(BinOp@1:1 (Name@1:2 a) + (Name@1:7 b))"},
		{"parentheses leave no node", "(a)", "(Name@1:2 a)"},
		{"parentheses of an attribute's value", "(1).x", "(Attribute@1:1 1 x)"},
		{"a tuple in parentheses starts at them", "(a, b)", "(Tuple@1:1 [(Name@1:2 a) (Name@1:5 b)] true)"},
		{"a bare tuple starts at its first element", "a, b", "(Tuple@1:1 [(Name@1:1 a) (Name@1:4 b)])"},
		{"unary minus binds looser than **", "-2**2", "(UnaryOp@1:1 - (BinOp@1:2 2 ** 2))"},
		{"an exponent may be negative", "2**-1", "(BinOp@1:1 2 ** (UnaryOp@1:4 - 1))"},
		{"** groups to the right", "2**3**2", "(BinOp@1:1 2 ** (BinOp@1:4 3 ** 2))"},
		{"- groups to the left", "1-2-3", "(BinOp@1:1 (BinOp@1:1 1 - 2) - 3)"},
		{"binary levels", "1|2^3&4<<5+6*7", "(BinOp@1:1 1 | (BinOp@1:3 2 ^ (BinOp@1:5 3 & (BinOp@1:7 4 << (BinOp@1:10 5 + (BinOp@1:12 6 * 7))))))"},
		{"not covers a comparison", "not a in b", "(UnaryOp@1:1 not (Compare@1:5 (Name@1:5 a) [in] [(Name@1:10 b)]))"},
		{"comparisons are one level", "a < b is not c not in d", "(Compare@1:1 (Name@1:1 a) [< is not not in] [(Name@1:5 b) (Name@1:14 c) (Name@1:23 d)])"},
		{"and binds tighter than or", "a or b and c or d", "(BoolOp@1:1 or [(Name@1:1 a) (BoolOp@1:6 and [(Name@1:6 b) (Name@1:12 c)]) (Name@1:17 d)])"},
		{"conditional groups to the right", "a if b else c if d else e", "(IfExp@1:1 (Name@1:6 b) (Name@1:1 a) (IfExp@1:13 (Name@1:18 d) (Name@1:13 c) (Name@1:25 e)))"},
		{"lambda is loosest", "lambda x, y=1: x or y", "(Lambda@1:1 [<x> <y 1>] (BoolOp@1:16 or [(Name@1:16 x) (Name@1:21 y)]))"},
		{"walrus", "(y := 1)", "(NamedExpr@1:2 (Name@1:2 y) 1)"},
		{"a generator as the only argument starts at the call's parenthesis", "f(x for x in y)", "(Call@1:1 (Name@1:1 f) [(GeneratorExp@1:2 (Name@1:3 x) [<(Name@1:9 x) (Name@1:14 y)>])])"},
		{"a comprehension with every part", "[a for b, c in d if e if f async for g in h]", "(ListComp@1:1 (Name@1:2 a) [<(Tuple@1:8 [(Name@1:8 b) (Name@1:11 c)]) (Name@1:16 d) [(Name@1:21 e) (Name@1:26 f)]> <true (Name@1:38 g) (Name@1:43 h)>])"},
		{"displays", "[1, *a], {1, 2,}, {}, {'a': 1, **b}, ()", "(Tuple@1:1 [(List@1:1 [1 (Starred@1:5 (Name@1:6 a))]) (Set@1:10 [1 2]) (Dict@1:19) (Dict@1:23 [\"a\" -] [1 (Name@1:34 b)]) (Tuple@1:38 true)])"},
		{"slices", "a[1:2:3, :, b]", "(Subscript@1:1 (Name@1:1 a) (Tuple@1:3 [(Slice@1:3 1 2 3) (Slice@1:10) (Name@1:13 b)]))"},
		{"a starred index is a tuple", "a[*b]", "(Subscript@1:1 (Name@1:1 a) (Tuple@1:3 [(Starred@1:3 (Name@1:4 b))]))"},
		{"await", "[await f()]", "(List@1:1 [(Await@1:2 (Call@1:8 (Name@1:8 f)))])"},
		{"names are normalised", "ﬁ", "(Name@1:1 fi)"},
		{"soft keywords are names", "match, case, type, _", "(Tuple@1:1 [(Name@1:1 match) (Name@1:8 case) (Name@1:14 type) (Name@1:20 _)])"},
		{"a number may touch a keyword", "1if a else 2", "(IfExp@1:1 (Name@1:5 a) 1 2)"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			at := "1:1" // an expression statement starts where its first token does
			want := "(Expr@" + at + " " + c.want + ")"
			if got := showText(t, c.text); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestLiterals(t *testing.T) {
	for _, c := range []struct{ reason, text, want string }{
		{"integers of every base", "0, 00, 1_000, 0x_fF, 0o17, 0B1_1", "0 0 1000 255 15 3"},
		{"a large integer", "123456789012345678901234567890", "123456789012345678901234567890"},
		{"floats", "1., .5, 1e3, 1_0.5e-1_0, 0777.5, 1e400", "1 0.5 1000 1.05e-09 777.5 +Inf"},
		{"imaginary", "1j, 1.5J", "1j 1.5j"},
		{"singletons", "None, True, False, ...", "None true false ..."},
		{"escapes", `'\\\'\"\a\b\f\n\r\t\v\101\0\x41\u00e9\U0001F600\N{bullet}'`, strconv.QuoteToASCII("\\'\"\a\b\f\n\r\t\vA\x00Aé😀•")},
		{"an unknown escape keeps its backslash", `'\d'`, `"\\d"`},
		{"an escaped line end is nothing", "'a\\\nb'", `"ab"`},
		{"raw strings", `r'\n\'', R"\x"`, `"\\n\\'" "\\x"`},
		{"u is a prefix", `u'a', U"b"`, `"a" "b"`},
		{"triple quotes", "'''a\r\n'b''\"\"\"c'''", `"a\n'b''\"\"\"c"`},
		{"neighbours are one string", "('a' r'\\b'\n 'c')", `"a\\bc"`},
		{"bytes", `b'\xff\u1a' Rb'\n'`, `b"\xff\\u1a\\n"`},
		{"names of characters without a table entry", `'\N{LINE FEED}\N{hangul syllable gag}\N{CJK UNIFIED IDEOGRAPH-4E00}'`, strconv.QuoteToASCII("\n각一")},
		{"a lone surrogate is three bytes", `'\ud800'`, `"\xed\xa0\x80"`},
	} {
		t.Run(c.reason, func(t *testing.T) {
			m, err := syntax.Parse("infra.py", c.text)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			syntax.Inspect(m.Body[0], func(n syntax.Node) bool {
				if c, ok := n.(*syntax.Constant); ok {
					got = append(got, show(c))
				}
				return true
			})
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("got %s, want %s", text, c.want)
			}
		})
	}
}

func TestFStrings(t *testing.T) {
	for _, c := range []struct{ reason, text, want string }{
		{"text and fields", "f'a{b}c'", `(JoinedStr@1:1 ["a" (FormattedValue@1:4 (Name@1:5 b)) "c"])`},
		{"no field", "f''", "(JoinedStr@1:1)"},
		{"doubled braces", "f'{{{a}}}'", `(JoinedStr@1:1 ["{" (FormattedValue@1:5 (Name@1:6 a)) "}"])`},
		{"conversion and spec", "f'{a!r:>{w}}'", `(JoinedStr@1:1 [(FormattedValue@1:3 (Name@1:4 a) !r (JoinedStr@1:7 [">" (FormattedValue@1:9 (Name@1:10 w))]))])`},
		{"a spec in a spec's field", "f'{x:{y:{z}}}'", "(JoinedStr@1:1 [(FormattedValue@1:3 (Name@1:4 x) (JoinedStr@1:5 [(FormattedValue@1:6 (Name@1:7 y) (JoinedStr@1:8 [(FormattedValue@1:9 (Name@1:10 z))]))]))])"},
		{"= keeps the source and defaults to r", "f'{ a = }'", `(JoinedStr@1:1 [" a = " (FormattedValue@1:3 (Name@1:5 a) !r)])`},
		{"= with a spec", "f'{a=:>3}'", `(JoinedStr@1:1 ["a=" (FormattedValue@1:3 (Name@1:4 a) (JoinedStr@1:6 [">3"]))])`},
		{"= with a conversion", "f'{a=!s}'", `(JoinedStr@1:1 ["a=" (FormattedValue@1:3 (Name@1:4 a) !s)])`},
		{"the enclosing quote inside a field", `f"{"a"}"`, `(JoinedStr@1:1 [(FormattedValue@1:3 "a")])`},
		{"an f-string in an f-string", `f'{f'{a}'}'`, "(JoinedStr@1:1 [(FormattedValue@1:3 (JoinedStr@1:4 [(FormattedValue@1:6 (Name@1:7 a))]))])"},
		{"comments and line ends inside a field", "f'{a # b\n}'", "(JoinedStr@1:1 [(FormattedValue@1:3 (Name@1:4 a))])"},
		{"a comment is no part of the = text", "f'{a # b\n=}'", `(JoinedStr@1:1 ["a \n=" (FormattedValue@1:3 (Name@1:4 a) !r)])`},
		{"a walrus needs parentheses, else it is a spec", "f'{a:=5}'", `(JoinedStr@1:1 [(FormattedValue@1:3 (Name@1:4 a) (JoinedStr@1:5 ["=5"]))])`},
		{"!= is an operator", "f'{a!=b}'", "(JoinedStr@1:1 [(FormattedValue@1:3 (Compare@1:4 (Name@1:4 a) [!=] [(Name@1:7 b)]))])"},
		{"a bare tuple", "f'{a, b}'", "(JoinedStr@1:1 [(FormattedValue@1:3 (Tuple@1:4 [(Name@1:4 a) (Name@1:7 b)]))])"},
		{"escapes and names in the text", `f'\t\N{BULLET}{a}'`, `(JoinedStr@1:1 ["\t\u2022" (FormattedValue@1:15 (Name@1:16 a))])`},
		{"raw text keeps backslashes", `rf'\d{a:\n}'`, `(JoinedStr@1:1 ["\\d" (FormattedValue@1:6 (Name@1:7 a) (JoinedStr@1:8 ["\\n"]))])`},
		{"a backslash does not escape a brace", `f'\{a}'`, `(JoinedStr@1:1 ["\\" (FormattedValue@1:4 (Name@1:5 a))])`},
		{"neighbours merge", `'a' f'b{c}' 'd' f'e'`, `(JoinedStr@1:1 ["ab" (FormattedValue@1:8 (Name@1:9 c)) "de"])`},
		{"columns of a second line", "f'''a\n é{b}'''", `(JoinedStr@1:1 ["a\n \u00e9" (FormattedValue@2:3 (Name@2:4 b))])`},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := showText(t, c.text); got != "(Expr@1:1 "+c.want+")" {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestStatements(t *testing.T) {
	for _, c := range []struct{ reason, text, want string }{
		{"an empty file", "", ""},
		{"only comments", "# a\n\n   # b", ""},
		{"a leading byte order mark", "\ufeffpass", "(Pass@1:1)"},
		{"line ends of every kind", "a\r\nb\rc\n", "(Expr@1:1 (Name@1:1 a)) (Expr@2:1 (Name@2:1 b)) (Expr@3:1 (Name@3:1 c))"},
		{"semicolons", "a; b;", "(Expr@1:1 (Name@1:1 a)) (Expr@1:4 (Name@1:4 b))"},
		{"one-line suites", "if a: b = 1; pass\nelse: pass", "(If@1:1 (Name@1:4 a) [(Assign@1:7 [(Name@1:7 b)] 1) (Pass@1:14)] [(Pass@2:7)])"},
		{"elif is an if alone in orelse", "if a: pass\nelif b: pass\nelse: pass", "(If@1:1 (Name@1:4 a) [(Pass@1:7)] [(If@2:1 (Name@2:6 b) [(Pass@2:9)] [(Pass@3:7)])])"},
		{"a joined line", "a = \\\n 1", "(Assign@1:1 [(Name@1:1 a)] 1)"},
		{"tabs reach the next multiple of eight", "if a:\n\tb\n\tif c:\n\t\td", "(If@1:1 (Name@1:4 a) [(Expr@2:2 (Name@2:2 b)) (If@3:2 (Name@3:5 c) [(Expr@4:3 (Name@4:3 d))])])"},
		{"a form feed resets the indentation", "a\n  \fb", "(Expr@1:1 (Name@1:1 a)) (Expr@2:4 (Name@2:4 b))"},
		{"several targets", "a = b, *c = [d[0], e.f] = g", "(Assign@1:1 [(Name@1:1 a) (Tuple@1:5 [(Name@1:5 b) (Starred@1:8 (Name@1:9 c))]) (List@1:13 [(Subscript@1:14 (Name@1:14 d) 0) (Attribute@1:20 (Name@1:20 e) f)])] (Name@1:27 g))"},
		{"augmented", "a //= 2", "(AugAssign@1:1 (Name@1:1 a) // 2)"},
		{"annotated", "a: int\n(b): str = c\nd[0]: x", "(AnnAssign@1:1 (Name@1:1 a) (Name@1:4 int)) (AnnAssign@2:1 (Name@2:2 b) (Name@2:6 str) (Name@2:12 c) true) (AnnAssign@3:1 (Subscript@3:1 (Name@3:1 d) 0) (Name@3:7 x))"},
		{"for with else", "for a, in b, c:\n break\nelse: continue", "(For@1:1 (Tuple@1:5 [(Name@1:5 a)]) (Tuple@1:11 [(Name@1:11 b) (Name@1:14 c)]) [(Break@2:2)] [(Continue@3:7)])"},
		{"with in parentheses is several managers", "with (a as b, c,): pass", "(With@1:1 [<(Name@1:7 a) (Name@1:12 b)> <(Name@1:15 c)>] [(Pass@1:20)])"},
		{"also without as", "with (a, b): pass", "(With@1:1 [<(Name@1:7 a)> <(Name@1:10 b)>] [(Pass@1:14)])"},
		{"parentheses that are part of the manager", "with (a).b as c, (d): pass", "(With@1:1 [<(Attribute@1:6 (Name@1:7 a) b) (Name@1:15 c)> <(Name@1:19 d)>] [(Pass@1:23)])"},
		{"a tuple is one manager when as follows", "with (a, b) as c: pass", "(With@1:1 [<(Tuple@1:6 [(Name@1:7 a) (Name@1:10 b)] true) (Name@1:16 c)>] [(Pass@1:19)])"},
		{"a manager that is a generator", "with (a for a in b): pass", "(With@1:1 [<(GeneratorExp@1:6 (Name@1:7 a) [<(Name@1:13 a) (Name@1:18 b)>])>] [(Pass@1:22)])"},
		{"a decorated def starts at def", "@a.b(1)\ndef f(): pass", "(FunctionDef@2:1 f [(Pass@2:10)] [(Call@1:2 (Attribute@1:2 (Name@1:2 a) b) [1])])"},
		{"every kind of parameter", "def f(a, /, b: int = 1, *c, d=2, **e) -> g: ...", "(FunctionDef@1:1 f [<a 1> <b (Name@1:16 int) 1> <c 3> <d 2 2> <e 4>] (Name@1:42 g) [(Expr@1:45 ...)])"},
		{"async", "async def f():\n async for a in b: pass\n async with c: pass", "(AsyncFunctionDef@1:1 true f [(AsyncFor@2:2 true (Name@2:12 a) (Name@2:17 b) [(Pass@2:20)]) (AsyncWith@3:2 true [<(Name@3:13 c)>] [(Pass@3:16)])])"},
		{"type parameters", "def f[T: int, *U, **V](): pass\nclass C[T](B, k=1): pass", "(FunctionDef@1:1 f true [(Pass@1:27)]) (ClassDef@2:1 C true [(Name@2:12 B)] [<k 1>] [(Pass@2:21)])"},
		{"imports", "import a.b as c, d\nfrom ..e import (f as g, h,)\nfrom . import *", "(Import@1:1 [<a.b c> <d>]) (ImportFrom@2:1 2 e [<f g> <h>]) (ImportFrom@3:1 1 [<*>])"},
		{"a star of an ellipsis of dots", "from ....a import b", "(ImportFrom@1:1 4 a [<b>])"},
		{"simple statements", "def f():\n global a, b\n nonlocal c\n del d, e[0]\n assert f, g\n raise h from i\n return *j, k", "(FunctionDef@1:1 f [(Global@2:2 [a b]) (Nonlocal@3:2 [c]) (Delete@4:2 [(Name@4:6 d) (Subscript@4:9 (Name@4:9 e) 0)]) (Assert@5:2 (Name@5:9 f) (Name@5:12 g)) (Raise@6:2 (Name@6:8 h) (Name@6:15 i)) (Return@7:2 (Tuple@7:9 [(Starred@7:9 (Name@7:10 j)) (Name@7:13 k)]))])"},
		{"yield", "def f():\n yield\n a = yield b\n yield from c", "(FunctionDef@1:1 f [(Expr@2:2 (Yield@2:2)) (Assign@3:2 [(Name@3:2 a)] (Yield@3:6 (Name@3:12 b))) (Expr@4:2 (YieldFrom@4:2 (Name@4:13 c)))])"},
		{"try", "try: a\nexcept (b, c) as d: e\nelse: f\nfinally: g", "(Try@1:1 [(Expr@1:6 (Name@1:6 a))] [(Expr@2:21 (Name@2:21 e))] [(Expr@3:7 (Name@3:7 f))] [(Expr@4:10 (Name@4:10 g))])"},
		{"try with a group", "try: a\nexcept* b: c", "(TryStar@1:1 true [(Expr@1:6 (Name@1:6 a))] [(Expr@2:12 (Name@2:12 c))])"},
		{"match, with every pattern", "match x, *y:\n case -1 | 2+3j | 'a' 'b' | None: pass\n case [a, *_] | (b.c, d) | {'k': e, **f} | G(1, h=i) as j if k: pass\n case l, *m: pass", "(Match@1:1 (Tuple@1:7 [(Name@1:7 x) (Starred@1:10 (Name@1:11 y))]))"},
		{"match as a name", "match(x)\nmatch = match[0]\nmatch: int = 1", "(Expr@1:1 (Call@1:1 (Name@1:1 match) [(Name@1:7 x)])) (Assign@2:1 [(Name@2:1 match)] (Subscript@2:9 (Name@2:9 match) 0)) (AnnAssign@3:1 (Name@3:1 match) (Name@3:8 int) 1)"},
		{"type as a statement and as a name", "type X[T] = int\ntype = 1", "(TypeAlias@1:1 (Name@1:6 X)) (Assign@2:1 [(Name@2:1 type)] 1)"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := showText(t, c.text); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestInspectIsInSourceOrder(t *testing.T) {
	m, err := syntax.Parse("infra.py", `@a(b, c=d, *e)
def f(g: h = i, j=k) -> l:
    m[n:o, p] += q if r else s
    for t, u in v: w.x(y)
    return {z: aa, **bb}, f"{cc!r:{dd}}", lambda ee=ff: gg
`)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	syntax.Inspect(m.Body[0], func(n syntax.Node) bool {
		if n, ok := n.(*syntax.Name); ok {
			names = append(names, n.Name)
		}
		return true
	})
	want := "a b d e h i k l m n o p q r s t u v w y z aa bb cc dd ff gg"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	visited := 0
	syntax.Inspect(m.Body[0], func(syntax.Node) bool { visited++; return false })
	if visited != 1 {
		t.Errorf("visited %d nodes below a node that was declined", visited-1)
	}
}
