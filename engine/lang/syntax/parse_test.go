package syntax_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/lang/syntax"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func TestSyntaxErrors(t *testing.T) {
	for _, c := range []struct{ reason, text, at, says string }{
		{"a bracket that is never closed is the error, not what follows", "x = [1\ny = 2", "1:5", "'[' was never closed"},
		{"the innermost open bracket is named", "x = (1, [2", "1:9", "'[' was never closed"},
		{"the end of the text inside a bracket", "f(a=1, 2", "1:2", "'(' was never closed"},
		{"an error on the bracket's own line is reported itself", "f(a = = 2", "1:7", "unexpected '='"},
		{"brackets must match", "x = (1]", "1:7", "']' does not match"},
		{"the other bracket's line is named when it is another", "x = (\n1]", "2:2", "on line 1"},
		{"a closing bracket alone", "x = 1)", "1:6", "unmatched ')'"},
		{"a string ends on its line", `x = "abc`, "1:5", "unterminated string"},
		{"a triple-quoted string ends somewhere", "x = r'''a\nb", "1:5", "unterminated triple-quoted string literal (detected at line 2)"},
		{"a block needs statements", "def f():\npass", "2:1", "expected an indented block after function definition on line 1"},
		{"also at the end of the file", "if a:\n", "1:6", "'if' statement on line 1"},
		{"elif names its own line", "if a: pass\nelif b:\nx", "3:1", "'elif' statement on line 2"},
		{"indentation needs an opener", "a\n  b", "2:2", "unexpected indent"},
		{"an unexpected indent comes before a later lexical error", "a\n  b\n)", "2:2", "unexpected indent"},
		{"a dedent must return to an open level", "if a:\n  b\n c", "3:3", "unindent does not match"},
		{"tabs and spaces that depend on the tab's width", "if a:\n\tb\n        c", "3:1", "inconsistent tabs"},
		{"= is no comparison", "if x = 1: pass", "1:4", "'=='"},
		{"a generator beside other arguments", "f(x for x in [1], 2)", "1:3", "generator expression"},
		{"a generator after other arguments", "f(2, x for x in [1])", "1:6", "generator expression"},
		{"a generator with a trailing comma", "f(x for x in [1],)", "1:3", "generator expression"},
		{"keywords are reserved", "for = 3", "1:5", "unexpected '='"},
		{"columns count code points", "é = 'ü'; x = = 3", "1:14", "unexpected '='"},
		{"juxtaposition in brackets", "f(a b)", "1:3", "comma"},
		{"juxtaposition before something wrong", "[a b>]", "1:2", "comma"},
		{"juxtaposition behind a star", "{*a b}", "1:3", "comma"},
		{"juxtaposition in a comprehension's iterable", "[x for x in a b]", "1:15", "unexpected 'b'"},
		{"a bracket left open behind a juxtaposition", "a b(", "1:4", "'(' was never closed"},
		{"not without in", "a not b", "1:7", "unexpected 'b'"},
		{"= without a value", "[x =]", "1:4", "unexpected '='"},
		{"= in a bracket left open", "[1 = x", "1:1", "'[' was never closed"},
		{"a star before a dictionary's colon", "{*a: 1}", "1:4", "starred"},
		{"a line ends at its comment", "if a  # why\n    pass", "1:7", "expected ':'"},
		{"also the last one", "x =  # why", "1:6", "end of line"},
		{"juxtaposition in a statement", "a b", "1:3", "unexpected 'b'"},
		{"print as a statement", "print x", "1:1", "parentheses"},
		{"positional after keyword", "f(a=1, 2)", "1:9", "positional argument follows keyword argument"},
		{"positional after **", "f(**a, b)", "1:9", "keyword argument unpacking"},
		{"* after **", "f(**a, *b)", "1:6", "iterable unpacking"},
		{"a keyword argument needs a value", "f(a=)", "1:3", "'a='"},
		{"an expression is no keyword", "f(a.b=1)", "1:3", "plain name"},
		{"defaults before plain parameters", "def f(a=1, b): pass", "1:12", "parameter without a default"},
		{"bare * needs names after it", "def f(a, *): pass", "1:10", "named parameters must follow"},
		{"two stars", "def f(*a, *b): pass", "1:11", "only once"},
		{"nothing after **", "def f(**a, b): pass", "1:12", "var-keyword"},
		{"/ after *", "def f(*a, /): pass", "1:11", "ahead of *"},
		{"/ first", "def f(/, a): pass", "1:7", "precede /"},
		{"/ twice", "def f(a, /, b, /): pass", "1:16", "only once"},
		{"a call is no target", "a.b() = 1", "1:1", "cannot assign to a function call"},
		{"a literal is no target", "a, 1 = x", "1:4", "cannot assign to a literal"},
		{"a loop target is checked", "for f() in x: pass", "1:5", "cannot assign to a function call"},
		{"None is no target", "None = 1", "1:1", "cannot assign to None"},
		{"a misspelt def", "deff(): pass", "1:7", "unexpected ':'"},
		{"a tuple cannot be annotated", "a, b: int", "1:1", "single target"},
		{"a tuple cannot be augmented", "(a, b) += 1", "1:1", "augmented"},
		{"a literal cannot be deleted", "del 1", "1:5", "cannot delete"},
		{"walrus outside parentheses", "x := 1", "1:3", "unexpected ':='"},
		{"walrus to an attribute", "(a.b := 1)", "1:2", "assignment expression"},
		{"conditional without else", "x = a if b", "1:5", "'else'"},
		{"a star alone in parentheses", "x = (*a)", "1:6", "starred"},
		{"a star in a comprehension", "[*a for a in b]", "1:2", "unpacking"},
		{"dict unpacking in a comprehension", "{**a for a in b}", "1:2", "unpacking"},
		{"a dict item needs ':'", "{'a': 1, 'b'}", "1:12", "':'"},
		{"an old operator", "a <> b", "1:3", "unexpected '<>'"},
		{"characters outside the grammar", "x = 1 ? 2", "1:7", "'?'"},
		{"$", "x = $y", "1:5", "'$'"},
		{"a character that no name holds", "x = a€", "1:6", "U+20AC"},
		{"a space that is none", "x =\u00a01", "1:4", "U+00A0"},
		{"a keyword in disguise", "𝐢𝐟 = 1", "1:1", "keyword 'if'"},
		{"leading zeros", "x = 0777", "1:5", "leading zeros"},
		{"two underscores", "x = 1__0", "1:6", "decimal literal"},
		{"an underscore at the end", "x = 1_", "1:6", "decimal literal"},
		{"a digit outside the base", "x = 0b12", "1:8", "binary"},
		{"only digits outside the base", "x = 0b2", "1:7", "invalid digit '2' in binary"},
		{"a keyword glued to a number must end", "x = 5or6", "1:5", "number literal"},
		{"no digits after the base", "x = 0x", "1:6", "hexadecimal"},
		{"a name glued to a number", "x = 1abc", "1:5", "number literal"},
		{"a short \\x", `x = "\x1"`, "1:5", `\x`},
		{"a short \\u", `x = "\u12"`, "1:5", `\u`},
		{"a \\U beyond Unicode", `x = "\U00110000"`, "1:5", `\U`},
		{"an unknown name", `x = "\N{NO SUCH NAME}"`, "1:5", `\N`},
		{"a \\N without braces", `x = "\N"`, "1:5", `\N`},
		{"an invalid prefix", `x = ur"a"`, "1:7", "unexpected"},
		{"bytes beside text", "x = 'a' b'c'", "1:13", "bytes"},
		{"bytes are ASCII", "x = b'é'", "1:5", "ASCII"},
		{"nothing may follow a backslash", "x = 1 \\ 2", "1:8", "line continuation"},
		{"nor may the file end there", "x = 1 \\\n", "1:8", "line continuation"},
		{"nor may an open bracket", "x = (1 \\", "1:5", "'(' was never closed"},
		{"an error of the grammar before a wrong continuation", "= 1 \\ 2", "1:1", "unexpected '='"},
		{"and before a wrong dedent", "a = = 1\nif b:\n    c\n  d", "1:5", "unexpected '='"},
		{"and before inconsistent tabs", "a = = 1\nif b:\n\tc\n        d", "1:5", "unexpected '='"},
		{"but not before a string without an end", "a = = 1\n'b", "2:1", "unterminated string"},
		{"two semicolons", "a;;b", "1:3", "unexpected ';'"},
		{"a compound statement after ':'", "if a: if b: c", "1:7", "unexpected 'if'"},
		{"else alone", "else: pass", "1:1", "unexpected 'else'"},
		{"try alone", "try:\n  a\nb", "3:1", "'except' or 'finally'"},
		{"except before the bare one only", "try: a\nexcept: b\nexcept c: d", "3:1", "last"},
		{"except and except*", "try: a\nexcept b: c\nexcept* d: e", "3:1", "except*"},
		{"a comma without parentheses", "from a import b,", "1:17", "parentheses"},
		{"NUL", "x = 'a\x00'", "1:7", "NUL"},
		{"not UTF-8", "x = 'é\xff'", "1:7", "UTF-8"},
		{"a lone brace in an f-string", "f'}'", "1:3", "single '}'"},
		{"an empty field", "f'{}'", "1:4", "required before '}'"},
		{"an empty field with a spec", "f'{:>3}'", "1:4", "required before ':'"},
		{"a wrong conversion", "f'{a!z}'", "1:6", "invalid conversion"},
		{"a missing conversion", "f'{a!:>3}'", "1:6", "missing"},
		{"a conversion apart from its mark", "f'{a! r}'", "1:7", "directly"},
		{"a lambda in a field", "f'{lambda x: 1}'", "1:4", "lambda"},
		{"a field that is not closed", "x = f'{a'", "1:9", "expecting '}'"},
		{"an f-string that is not closed", "x = f'{a}", "1:5", "unterminated f-string"},
		{"a wrong bracket in a field", "f'{a)}'", "1:5", "unmatched ')'"},
		{"a spec three levels deep", "f'{a:{b:{c:{d}}}}'", "1:11", "nested too deeply"},
		{"a wrong field before a wrong end", "f'{}", "1:4", "required before '}'"},
		{"a wrong conversion before a wrong end", "f'{a!z}", "1:6", "invalid conversion"},
		{"a field's bytes literal that the f-string's quotes end", "x = f'{a.b'", "1:10", "expecting '}'"},
		{"an error inside a field points there", "f'{a b}'", "1:4", "comma"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			e := syntaxError(t, c.text)
			if at := fmt.Sprintf("%d:%d", e.Line, e.Col); at != c.at {
				t.Errorf("at %s, want %s (%s)", at, c.at, e.Message)
			}
			if !strings.HasPrefix(e.Message, "syntax error: ") || !strings.Contains(e.Message, c.says) {
				t.Errorf("message %q, want a syntax error about %q", e.Message, c.says)
			}
		})
	}
}

// Texts that Python accepts against appearances.
func TestAccepted(t *testing.T) {
	for _, c := range []struct{ reason, text string }{
		{"a keyword glued to a number", "x = 5or 6"},
		{"a word with i after a number may run on, and then fails as a word", "x = 1in a"},
		{"a joined line at the start of its line has the indentation of what follows", "if a:\n\\\n        b"},
		{"a joined line has the indentation before its backslash", "if a:\n    b\n    \\\n  c"},
		{"a format spec over two lines", "f'{x:\n}'"},
	} {
		if _, err := syntax.Parse("infra.py", c.text); err != nil {
			t.Errorf("%s: %v", c.reason, err)
		}
	}
	if e := syntaxError(t, "\\\n  x = 1"); e.Line != 2 || e.Col != 2 {
		t.Errorf("an indented line behind a joined empty one is refused at %d:%d", e.Line, e.Col)
	}
}

func syntaxError(t *testing.T, text string) *model.Error {
	t.Helper()
	m, err := syntax.Parse("infra.py", text)
	var e *model.Error
	if !errors.As(err, &e) || m != nil {
		t.Fatalf("module %v, error %v; want no module and a *model.Error", m, err)
	}
	if e.Kind != model.LanguageError || e.Class != model.ClassUser || e.File != "infra.py" {
		t.Errorf("kind %s, class %s, file %q", e.Kind, e.Class, e.File)
	}
	return e
}

func TestErrorShowsItsLine(t *testing.T) {
	e := syntaxError(t, "a = 1\r\n\tb = 2\r\n")
	if e.Source != "\tb = 2" {
		t.Errorf("source line %q, want it as written, without its end", e.Source)
	}
}

func TestLimits(t *testing.T) {
	nested := func(n int) string { return "x = " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n) }
	indented := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.Repeat(" ", i) + "if a:\n")
		}
		return b.String() + strings.Repeat(" ", n) + "b\n"
	}
	for _, c := range []struct{ reason, text, says string }{
		{"500 terms are an ordinary chain", "x = " + strings.Repeat("1+", 499) + "1", ""},
		{"a chain that would overflow who walks it", "x = " + strings.Repeat("1+", 100_000) + "1", "expression nested too deeply"},
		{"a chain of attributes grows the same way", "x = a" + strings.Repeat(".b", 100_000), "expression nested too deeply"},
		{"a chain of calls", "a" + strings.Repeat("()", 100_000), "expression nested too deeply"},
		{"unary operators", "x = " + strings.Repeat("-", 100_000) + "1", "expression nested too deeply"},
		{"right operands", "x = " + strings.Repeat("1**", 100_000) + "1", "expression nested too deeply"},
		{"conditionals", "x = " + strings.Repeat("1 if a else ", 50_000) + "1", "expression nested too deeply"},
		{"lambdas", "x = " + strings.Repeat("lambda: ", 50_000) + "1", "expression nested too deeply"},
		{"and is flat, whatever its length", "x = " + strings.Repeat("a and ", 100_000) + "a", ""},
		{"and displays", "x = [" + strings.Repeat("1, ", 100_000) + "]", ""},
		{"and f-strings", "x = f'" + strings.Repeat("{a}", 100_000) + "'", ""},
		{"200 brackets", nested(200), ""},
		{"201 brackets", nested(201), "too many nested brackets"},
		{"100 levels of indentation", indented(100), ""},
		{"101 levels of indentation", indented(101), "too many levels of indentation"},
		{"an if with too many branches", "if a: b\n" + strings.Repeat("elif a: b\n", 1001), "too many branches"},
		{"4300 digits", "x = " + strings.Repeat("9", 4300), ""},
		{"4301 digits", "x = " + strings.Repeat("9", 4301), "4301 digits"},
		{"65536 bits", "x = 0x" + strings.Repeat("f", 16384), ""},
		{"zeros are no bits", "x = 0x" + strings.Repeat("0", 20000) + "f", ""},
		{"65537 bits", "x = 0b1" + strings.Repeat("0", 65536), "more than 65536 bits"},
		{"a comparison of 1000 links", "x = 1" + strings.Repeat(" < 2", 1000), ""},
		{"and no more: they nest when compiled", "x = 1" + strings.Repeat(" < 2", 1001), "too many parts in one comparison"},
		{"a comprehension of 1000 clauses", "x = [a for a in []" + strings.Repeat(" if 1", 999) + "]", ""},
		{"and no more conditions", "x = [a for a in []" + strings.Repeat(" if 1", 1000) + "]", "too many parts in one comprehension"},
		{"nor loops", "x = [a" + strings.Repeat(" for a in []", 1001) + "]", "too many parts in one comprehension"},
		{"a with of too many managers", "with " + strings.Repeat("a,", 1000) + "a: pass", "too many parts in one with"},
		{"in parentheses as well", "with (" + strings.Repeat("a,", 1001) + "): pass", "too many parts in one with"},
		{"1 MiB", "#" + strings.Repeat("-", syntax.MaxSource-1), ""},
		{"more than 1 MiB", "#" + strings.Repeat("-", syntax.MaxSource), "larger than"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if c.says == "" {
				if _, err := syntax.Parse("infra.py", c.text); err != nil {
					t.Fatal(err)
				}
				return
			}
			if e := syntaxError(t, c.text); !strings.Contains(e.Message, c.says) {
				t.Errorf("message %q, want %q", e.Message, c.says)
			}
		})
	}
}
